//! The thread that an event happens to, and the place of the call.

use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{Cell, Lock, Process, Thread};
use uncontended_trace::setup::Holds;

/// A thread's access to the record.
#[derive(Debug)]
pub struct Recorder {
    /// The record.
    pub arena: Arena,
    /// The image that the thread belongs to.
    pub process: &'static Process,
    /// The thread's own entry.
    pub thread: &'static Thread,
    /// Which holds are recorded.
    pub holds: Holds,
    /// Whether it is recorded which locks are held while another is taken.
    pub lock_order: bool,
}

/// The former name of [`Recorder`].
#[deprecated(note = "use `Recorder`")]
pub type Seat = Recorder;

/// The calling thread, and the place in the program where it called.
pub trait Site: Copy {
    /// The thread alone.
    type Thread: Copy;

    /// The place of the call alone.
    type Place: Copy;

    /// Marks the thread as recording until dropped.
    type Busy;

    /// Splits the site into two parts that each fit into a register, where the whole may not.
    fn split(self) -> (Self::Thread, Self::Place);

    /// Joins the two parts.
    fn join(thread: Self::Thread, place: Self::Place) -> Self;

    /// The thread's access to the record.
    fn recorder(self) -> &'static Recorder;

    /// Whether the thread is still in the process in which its event began: not so in a child that a signal handler
    /// forked during a wait. What the child waited for is not recorded.
    fn is_here(self) -> bool;

    /// The current time in ticks.
    fn ticks(self) -> u64;

    /// How often the thread has slept so far: it gave up its CPU of its own accord. `None` if that is unknown. The
    /// thread must be marked as recording.
    fn sleeps(self) -> Option<u64> {
        None
    }

    /// The CPU on which the thread runs; `None` if that is unknown.
    fn cpu(self) -> Option<u32> {
        None
    }

    /// Marks the thread as recording until the result is dropped: no other event of this thread is recorded meanwhile.
    fn begin(self) -> Self::Busy;

    /// The number of the call stack, if it is known without unwinding.
    fn known_stack(self) -> Option<u32>;

    /// The number of the call stack as the site of a hold; 0 if it is unknown and too much work to find out now.
    fn site(self) -> u32;

    /// The number of the call stack; 0 if there is no room. The thread must be marked as recording.
    fn stack(self) -> u32;

    /// The thread is about to release the lock of `row`, which it was not seen to take.
    fn releases_unseen(self, row: Row) {
        let _ = row;
    }
}

/// One lock as one thread sees it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What the thread did to the lock; only this thread writes there.
    pub cell: &'static Cell,
    /// The lock.
    pub lock: &'static Lock,
}
