//! One state of a running program: memory, registers, the position of each thread, and the store buffers.
//!
//! # Contract
//! A [`State`] is compared and hashed whole; equal states have the same future. `clone_from` does not allocate once the
//! target has grown.
//! # State
//! I1: `words` holds memory first, then the registers of thread 0, 1, …
//! I2: `buffer` is sorted by thread, and holds each thread's stores oldest first.
//! I3: `sleepers` is sorted by futex, and holds the threads of each in the order of arrival.

use crate::program::{Loc, Value};

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// About to run the operation at `pc`.
    #[default]
    Running,
    /// Between the load and the store of a read-modify-write without LOCK, which will write this value.
    Half(Loc, Value),
    /// Asleep on a futex.
    Asleep,
    /// Waiting for interrupts on the threads in this mask.
    Interrupting(u32),
    /// Waiting until this many ticks have passed.
    Delayed(u8),
    /// Past its last operation.
    Ended,
    /// Stopped: it accessed a location that does not exist.
    Faulted,
    /// Stopped by the bound on loops.
    Cut,
}

/// The control state of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Control {
    /// The next operation.
    pub pc: u16,
    /// Backward jumps so far, if they are counted.
    pub loops: u16,
    /// What the thread is doing.
    pub status: Status,
}

/// A store that has not reached memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The storing thread.
    pub thread: u8,
    /// Ticks it has waited, in a model that bounds them.
    pub age: u8,
    /// The location.
    pub loc: Loc,
    /// The value.
    pub value: Value,
}

/// The state of a running program.
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub struct State {
    pub(crate) words: Vec<Value>,
    pub(crate) threads: Vec<Control>,
    pub(crate) buffer: Vec<Entry>,
    pub(crate) sleepers: Vec<(Loc, u8)>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        State {
            words: self.words.clone(),
            threads: self.threads.clone(),
            buffer: self.buffer.clone(),
            sleepers: self.sleepers.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
        self.threads.clone_from(&other.threads);
        self.buffer.clone_from(&other.buffer);
        self.sleepers.clone_from(&other.sleepers);
    }
}

impl State {
    /// The value in memory; stores that wait in buffers are not included.
    pub fn memory(&self, loc: Loc) -> Value {
        self.words[usize::from(loc)]
    }

    /// The control state of a thread.
    pub fn thread(&self, thread: u8) -> Control {
        self.threads[usize::from(thread)]
    }

    /// The stores of a thread that have not reached memory, oldest first.
    pub fn waiting(&self, thread: u8) -> impl DoubleEndedIterator<Item = &Entry> {
        self.buffer.iter().filter(move |entry| entry.thread == thread)
    }

    /// The newest store of the thread to `loc` that has not reached memory.
    pub fn newest(&self, thread: u8, loc: Loc) -> Option<Value> {
        self.buffer.iter().rev().find(|e| e.thread == thread && e.loc == loc).map(|e| e.value)
    }

    /// Whether the thread's buffer is empty.
    pub fn drained(&self, thread: u8) -> bool {
        self.buffer.iter().all(|e| e.thread != thread)
    }

    /// Appends the thread to the sleepers of the futex (I3).
    pub(crate) fn put_to_sleep(&mut self, loc: Loc, thread: u8) {
        let at = self.sleepers.partition_point(|&(other, _)| other <= loc);
        self.sleepers.insert(at, (loc, thread));
    }

    /// Appends to the buffer of the thread (I2).
    pub(crate) fn buffer_store(&mut self, entry: Entry) {
        let at =
            self.buffer.iter().rposition(|e| e.thread <= entry.thread).map_or(0, |last| last + 1);
        self.buffer.insert(at, entry);
    }

    /// Removes the oldest store of the thread from its buffer.
    pub(crate) fn take_oldest(&mut self, thread: u8) -> Option<Entry> {
        let at = self.buffer.iter().position(|e| e.thread == thread)?;
        Some(self.buffer.remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_keeps_each_threads_order_however_stores_arrive() {
        let mut state = State::default();
        for (thread, value) in [(1, 10), (0, 20), (1, 11), (0, 21), (2, 30)] {
            state.buffer_store(Entry { thread, age: 0, loc: 0, value });
        }
        let order: Vec<_> = state.buffer.iter().map(|e| e.value).collect();
        assert_eq!(order, [20, 21, 10, 11, 30]);
        assert_eq!(state.newest(1, 0), Some(11));
        assert_eq!(state.take_oldest(1).map(|e| e.value), Some(10));
        assert!(!state.drained(1) && state.drained(3));
    }
}
