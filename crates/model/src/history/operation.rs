//! An operation: who called what when, and what came back when.
//!
//! # Contract
//! Times are numbers of one clock, in any unit. One operation comes before another if it returned at a smaller number
//! than the other's call. Equal numbers order nothing: the two count as concurrent, even where both are one client's,
//! because a clock that shows the same number twice cannot tell. This errs to "linearizable".
//!
//! # State
//! - H1: an operation has returned if and only if it has an output; its call is not later than its return.

/// The return time of what never returned.
const NEVER: u64 = u64::MAX;

/// One operation of a history. `C` is what was called, `O` what came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation<C, O> {
    called_at: u64,
    returned_at: u64,
    call: C,
    output: Option<O>,
    client: u32,
}

impl<C, O> Operation<C, O> {
    /// An operation that returned.
    ///
    /// # Panics
    /// If it returned before it was called, or at `u64::MAX`.
    pub fn done(client: u32, called_at: u64, call: C, returned_at: u64, output: O) -> Self {
        assert!(called_at <= returned_at, "an operation returned before it was called");
        assert!(returned_at != NEVER, "u64::MAX is not a time");
        Operation { called_at, returned_at, call, output: Some(output), client }
    }

    /// An operation that never returned: it may have taken effect at any time after its call, or not at all.
    pub fn pending(client: u32, called_at: u64, call: C) -> Self {
        Operation { called_at, returned_at: NEVER, call, output: None, client }
    }

    /// The client, thread or process that called it.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// When it was called.
    pub fn called_at(&self) -> u64 {
        self.called_at
    }

    /// When it returned, if it did.
    pub fn returned_at(&self) -> Option<u64> {
        self.output.as_ref().map(|_| self.returned_at)
    }

    /// What was called.
    pub fn call(&self) -> &C {
        &self.call
    }

    /// What came back; nothing if it never returned.
    pub fn output(&self) -> Option<&O> {
        self.output.as_ref()
    }

    /// Whether it never returned.
    pub fn is_pending(&self) -> bool {
        self.output.is_none()
    }

    /// The same call with its times and its output forgotten: it may have taken effect at any time, or not at all.
    pub(super) fn forgotten(&self) -> Self
    where
        C: Clone,
    {
        Operation::pending(self.client, 0, self.call.clone())
    }

    /// What was known of it at `time`: nothing, that it was called, or all.
    pub(super) fn until(&self, time: u64) -> Option<Self>
    where
        C: Clone,
        O: Clone,
    {
        if self.called_at > time {
            None
        } else if self.returned_at > time {
            Some(Operation::pending(self.client, self.called_at, self.call.clone()))
        } else {
            Some(self.clone())
        }
    }
}
