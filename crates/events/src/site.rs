//! The thread that an event happens to, and where.

use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{Cell, Lock, Process, Thread};

/// A thread's place in the record.
#[derive(Debug)]
pub struct Recorder {
    /// The record.
    pub arena: Arena,
    /// The image that the thread belongs to.
    pub process: &'static Process,
    /// The thread's own entry.
    pub thread: &'static Thread,
    /// Whether holds are recorded.
    pub holds: bool,
}

/// The former name of [`Recorder`].
#[deprecated(note = "use `Recorder`")]
pub type Seat = Recorder;

/// The calling thread, and the place in the program from which it called.
pub trait Site: Copy {
    /// The thread alone.
    type Thread: Copy;

    /// The place alone.
    type Place: Copy;

    /// Marks the thread as recording, until it is dropped.
    type Busy;

    /// Both by themselves: two that fit into registers, where a site as a whole may not.
    fn split(self) -> (Self::Thread, Self::Place);

    /// The site of both.
    fn join(thread: Self::Thread, place: Self::Place) -> Self;

    /// The thread's place in the record.
    fn recorder(self) -> &'static Recorder;

    /// The clock.
    fn ticks(self) -> u64;

    /// Nothing else of this thread records until the answer is dropped.
    fn begin(self) -> Self::Busy;

    /// The number of the stack that leads to the call, if it needs no unwinding.
    fn known_stack(self) -> Option<u32>;

    /// The number of that stack; 0 if there is no room for it. The thread must be marked as recording.
    fn stack(self) -> u32;
}

/// One lock as one thread sees it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What the thread did to it; only this thread writes there.
    pub cell: &'static Cell,
    /// The lock.
    pub lock: &'static Lock,
}
