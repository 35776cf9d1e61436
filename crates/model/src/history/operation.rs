//! An operation of a history: the client, the call, the output, and the times of call and return.
//!
//! # Contract
//! Times are numbers of one clock, in any unit. One operation precedes another if its return time is smaller than the
//! other's call time. Equal times do not order: the two operations count as concurrent, even if both are by one client,
//! because equal clock readings do not show which came first. This errs towards "linearizable".
//!
//! # State
//! - H1: an operation has returned if and only if it has an output; its call is not later than its return.

/// The return time of an operation that never returned.
const NEVER: u64 = u64::MAX;

/// One operation of a history. `C` is the type of calls, `O` that of outputs.
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

    /// The client, thread or process that made the call.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// The time of the call.
    pub fn called_at(&self) -> u64 {
        self.called_at
    }

    /// The time of the return, if it returned.
    pub fn returned_at(&self) -> Option<u64> {
        self.output.as_ref().map(|_| self.returned_at)
    }

    /// The call.
    pub fn call(&self) -> &C {
        &self.call
    }

    /// The output; `None` if it never returned.
    pub fn output(&self) -> Option<&O> {
        self.output.as_ref()
    }

    /// Whether it never returned.
    pub fn is_pending(&self) -> bool {
        self.output.is_none()
    }

    /// The same call without its times and output: it may have taken effect at any time, or not at all.
    pub(super) fn forgotten(&self) -> Self
    where
        C: Clone,
    {
        Operation::pending(self.client, 0, self.call.clone())
    }

    /// What was known of it at `time`: nothing, the call, or everything.
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
