//! A reader-writer lock whose phases alternate: a reader waits for one writer at most, and a writer that is next for
//! one phase of readers.
//!
//! # Contract
//! A reader that comes while a writer is present, waiting for readers or inside, waits for the end of that writer,
//! and then goes in before the next one, together with all that came as it did. A writer that is present waits only for
//! the readers that came before it. Writers are next in order of arrival.
//!
//! # Weak spot
//! Every reader changes two words that all readers share, so that readers alone do not scale: see
//! [`Bravo`](crate::Bravo). A writer that leaves wakes each sleeping reader, one call to the kernel each. Until the
//! last reader of a phase runs again, all others wait: on two CPUs, with one access in ten a write, two threads take
//! 1.28 times as long as with std's `RwLock`, and eight 2.8 times (`l2_readers`, AMD EPYC). A waiter cannot give up,
//! and a thread that reads twice at a time waits for itself if a writer came between.
//!
//! # State
//! `arrived`: PRESENT while a writer is; PHASE, the parity of the last writer that was; above them, the number of
//! readers that ever came. `left`: the number of readers that left; or, while a writer waits for readers, WAITED and
//! the number of them, negative. `drained`: the turn of that writer. `waiting`: for each parity, the readers that wait
//! for the end of its phase, a stack of nodes on their own stacks; ENDED after it. `writers`: the queue of writers; its
//! holder is the writer that is present.
//!
//! # Invariants
//! I1: only the holder of `writers` changes PRESENT, PHASE and WAITED, and makes a stack of `waiting` empty. The
//!     holder that set PRESENT has the lock once `left` has reached the number of readers that came before.
//! I2: while the holder is inside, no reader leaves: those before it have left, those after it wait.
//! I3: a stack is made empty for a phase only when all readers have left that came before the previous phase: so a
//!     reader that has yet to look at the stack of an ended phase finds ENDED.
//! I4: a node stays on its reader's stack until its turn is granted, once, by the writer that replaced the stack.
//! I5: the writer's turn stays on its stack until it is granted, once, by the reader that brings the number to zero.
//!
//! # Edges
//! readers-in: `write`, `try_write`, `unlock_write` -> `read`, `try_read`, `wait`. What it did; the empty stack.
//! readers-out: `unlock_read` -> `drain`, `try_write`, `readers`, the last reader. What they did.
//! drained: `wait_for_readers` -> `unlock_read`. The turn.
//! readers-node: `wait` -> `end_phase`. The nodes.
//! readers-ended: `end_phase` -> `wait`. What the writer did.
//! turn: see `turn`. What the writer, or the readers, did.
//!
//! # Evidence
//! tests/model_readers.rs, tests/mutants/readers.toml; tests/stress_readers.rs.
//! # Sources
//! Brandenburg and Anderson, "Spin-based reader-writer synchronization for multiprocessor real-time systems",
//! Real-Time Systems 46 (2010): PF-T, its tickets and phases, and PF-Q, its waiters in queues. Different from those:
//! writers queue in [`Mcs`], so that a holder needs no node; the turns may sleep.

use crate::pause::HINT_NS;
use crate::{Mcs, RawLock, RawRwLock, SpinThenPark, Turn};
use std::ptr;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, AtomicU64, Named, spin_for_ns};

const PRESENT: u64 = 1;
const PHASE: u64 = 2;
const READER: u64 = 4;
/// In `left`.
const WAITED: u64 = 1;
/// Looks at a word that all look at, about a microsecond, before a waiter makes a turn of its own. Under the checker,
/// where a wait of any length is the same, one.
const LOOKS: u32 = if cfg!(unc_model) { 1 } else { 40 };

/// Readers and writers in turns, that wait by `W`. 56 bytes.
///
/// ```
/// use uncontended_locks::{PhaseFair, RwLock, SpinThenYield};
/// static NAMES: RwLock<Vec<String>, PhaseFair<SpinThenYield>> = RwLock::with(PhaseFair::new(), Vec::new());
/// NAMES.write().push("first".into());
/// assert_eq!(NAMES.read().len(), 1);
/// ```
#[derive(Debug)]
pub struct PhaseFair<W = SpinThenPark> {
    arrived: AtomicU64,
    left: AtomicU64,
    drained: AtomicPtr<W>,
    waiting: [AtomicPtr<Node<W>>; 2],
    writers: Mcs<W>,
}

#[derive(Debug)]
struct Node<W> {
    below: AtomicPtr<Node<W>>,
    turn: W,
}

/// The word when the next writer is present.
const fn present(word: u64) -> u64 {
    word ^ (PRESENT | PHASE)
}

/// No node is there: nodes are aligned.
const fn ended<W>() -> *mut Node<W> {
    ptr::without_provenance_mut(1)
}

impl<W> PhaseFair<W> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> PhaseFair<W> {
        PhaseFair {
            arrived: AtomicU64::new(0),
            left: AtomicU64::new(0),
            drained: AtomicPtr::new(ptr::null_mut()),
            waiting: [AtomicPtr::new(ended()), AtomicPtr::new(ended())],
            writers: Mcs::new(),
        }
    }
}

impl<W> Default for PhaseFair<W> {
    fn default() -> PhaseFair<W> {
        PhaseFair {
            arrived: AtomicU64::new(0).named("arrived"),
            left: AtomicU64::new(0).named("left"),
            drained: AtomicPtr::new(ptr::null_mut()).named("drained"),
            waiting: [
                AtomicPtr::new(ended()).named("waiting, even"),
                AtomicPtr::new(ended()).named("waiting, odd"),
            ],
            writers: Mcs::default(),
        }
    }
}

impl<W: Turn> PhaseFair<W> {
    /// Whether a writer is inside, or next: readers that come wait for it. Others may change that at once.
    pub fn is_writer_present(&self) -> bool {
        self.arrived.load(Relaxed) & PRESENT != 0
    }

    /// Whether a writer waits in the queue for another one to leave; others may change that at once.
    pub fn has_waiting_writers(&self) -> bool {
        self.writers.has_waiters()
    }

    /// How many readers came that have not left, inside or waiting; zero while a writer waits for readers. Others may
    /// change that at once.
    pub fn readers(&self) -> u64 {
        // EDGE readers-out (acquire): that those that left had come.
        let left = self.left.load(Acquire);
        if left & WAITED != 0 {
            return 0;
        }
        (self.arrived.load(Relaxed) / READER).saturating_sub(left / READER)
    }

    fn waiting(&self, word: u64) -> &AtomicPtr<Node<W>> {
        &self.waiting[usize::from(word & PHASE != 0)]
    }

    /// A reader waits for the end of the phase that it came in: it looks at the word, then at its own turn.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, word: u64) {
        let phase = word & (PRESENT | PHASE);
        for _ in 0..LOOKS {
            // EDGE readers-in (acquire): what the writer did.
            if self.arrived.load(Acquire) & (PRESENT | PHASE) != phase {
                return;
            }
            spin_for_ns(HINT_NS);
        }
        let node =
            Node { below: AtomicPtr::new(ptr::null_mut()).named("below"), turn: W::default() };
        let own = (&raw const node).cast_mut();
        let stack = self.waiting(word);
        // EDGE readers-ended (acquire): what the writer did.
        let mut top = stack.load(Acquire);
        while top != ended() {
            node.below.store(top, Relaxed);
            // EDGE readers-node (release): the node.
            // EDGE readers-ended (acquire): what the writer did.
            match stack.compare_exchange(top, own, Release, Acquire) {
                Ok(_) => return node.turn.wait(),
                Err(found) => top = found,
            }
        }
    }

    /// Makes the stack empty that the readers of the next phase wait in (I3). The holder of the queue alone changes the
    /// parity in `word`.
    #[cfg_attr(unc_model, track_caller)]
    fn begin_phase(&self, word: u64) {
        self.waiting(present(word)).store(ptr::null_mut(), Relaxed);
    }

    /// Lets in the readers that wait for the end of the phase of `word`, and those that are about to.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn end_phase(&self, word: u64) {
        // EDGE readers-ended (release): what this writer did.
        // EDGE readers-node (acquire): the nodes.
        let mut node = self.waiting(word).swap(ended(), AcqRel);
        while !node.is_null() {
            // SAFETY: the node is there until its turn is granted, below (I4).
            let Node { below, turn } = unsafe { &*node };
            node = below.load(Relaxed);
            // SAFETY: its reader waits, and this is its only grant: it is no longer in the stack (I4).
            unsafe { W::grant(turn) };
        }
    }

    /// The writer that is present waits for the readers that came before it.
    #[cfg_attr(unc_model, track_caller)]
    fn drain(&self, came: u64) {
        // EDGE readers-out (acquire): what the readers did.
        if self.left.load(Acquire) != came {
            self.wait_for_readers(came);
        }
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_readers(&self, came: u64) {
        // Under the checker, where a wait of any length is the same, `drain` has looked.
        let looks = if cfg!(unc_model) { 0 } else { LOOKS };
        for _ in 0..looks {
            // EDGE readers-out (acquire): what the readers did.
            if self.left.load(Acquire) == came {
                return;
            }
            spin_for_ns(HINT_NS);
        }
        let turn = W::default();
        self.drained.store((&raw const turn).cast_mut(), Relaxed);
        // EDGE drained (release): the turn.
        // EDGE readers-out (acquire): what the readers did.
        if self.left.fetch_add(WAITED.wrapping_sub(came), AcqRel) != came {
            turn.wait(); // I5
        }
        self.left.store(came, Relaxed); // I2
    }
}

// SAFETY: a reader goes in while no writer is present, or when the one that was has ended (readers-in, readers-ended,
// turn); a writer, alone among writers (I1), when the readers before it have left (readers-out, turn).
unsafe impl<W: Turn> RawRwLock for PhaseFair<W> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn read(&self) {
        // EDGE readers-in (acquire): what the last writer did, or that the stack is empty.
        let word = self.arrived.fetch_add(READER, Acquire);
        if word & PRESENT != 0 {
            self.wait(word);
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_read(&self) -> bool {
        let mut word = self.arrived.load(Relaxed);
        while word & PRESENT == 0 {
            // EDGE readers-in (acquire): what the last writer did.
            match self.arrived.compare_exchange(word, word + READER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock_read(&self) {
        // EDGE readers-out (release): what this reader did.
        // EDGE readers-out (acquire): what the other readers did, for the writer.
        // EDGE drained (acquire): the turn.
        if self.left.fetch_add(READER, AcqRel).wrapping_add(READER) == WAITED {
            let turn = self.drained.load(Relaxed);
            // SAFETY: the writer waits for this reader, the last one, which grants it once (I5).
            unsafe { W::grant(turn) };
        }
    }

    #[cfg_attr(unc_model, track_caller)]
    fn write(&self) {
        self.writers.lock();
        let seen = self.arrived.load(Relaxed);
        self.begin_phase(seen);
        // The bits are this thread's (I1), so adding changes them alone, whatever readers come meanwhile.
        let change = present(seen).wrapping_sub(seen);
        // EDGE readers-in (release): the stack is empty.
        let word = self.arrived.fetch_add(change, Release);
        self.drain(word & !PHASE);
    }

    #[cfg_attr(unc_model, track_caller)]
    fn try_write(&self) -> bool {
        if !self.writers.try_lock() {
            return false;
        }
        // EDGE readers-out (acquire): what the readers did.
        let left = self.left.load(Acquire);
        let word = self.arrived.load(Relaxed);
        if word & !PHASE == left {
            self.begin_phase(word);
            // EDGE readers-in (release): the stack is empty.
            if self.arrived.compare_exchange(word, present(word), Release, Relaxed).is_ok() {
                return true;
            }
        }
        // SAFETY: this thread took it above (I1).
        unsafe { self.writers.unlock() };
        false
    }

    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock_write(&self) {
        let left = self.left.load(Relaxed); // Before others go in, and leave (I2).
        // EDGE readers-in (release): what this writer did.
        let word = self.arrived.fetch_sub(PRESENT, Release);
        // If no reader came since, none looks at the stack.
        if word & !(PRESENT | PHASE) != left {
            self.end_phase(word);
        }
        // SAFETY: this thread, or the one that it acts for, holds it since it came (I1).
        unsafe { self.writers.unlock() };
    }

    fn is_locked(&self) -> bool {
        self.is_writer_present() || self.readers() != 0
    }
}
