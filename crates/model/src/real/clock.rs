//! Vector clocks over events: which events of each thread are known.

/// The most threads that one execution may have, the first included.
pub const MAX_THREADS: usize = 16;

/// `clock[t]` = n: the first n events of thread t are known. Zero knows nothing but the initial values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Clock([u16; MAX_THREADS]);

impl Clock {
    /// Knows nothing but the initial values.
    pub(crate) const NONE: Clock = Clock([0; MAX_THREADS]);

    pub(crate) fn get(&self, thread: usize) -> usize {
        usize::from(self.0[thread])
    }

    pub(crate) fn set(&mut self, thread: usize, events: usize) {
        self.0[thread] = u16::try_from(events).expect("the limit on events is far below 2^16");
    }

    /// The least clock that knows what both know: their join.
    pub(crate) fn join(&mut self, other: &Clock) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Whether event number `index` (from 1) of `thread` is known. Number 0, an initial value, always is.
    pub(crate) fn knows(&self, event: super::graph::EventId) -> bool {
        self.0[usize::from(event.thread)] >= event.index
    }
}
