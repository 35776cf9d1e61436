//! Records the operations of the threads of a test as a history.
//!
//! # Contract
//! The recorded interval of an operation contains the true one. Times are tickets of one counter, taken right before
//! the call and right after the return. If one operation's return has a smaller ticket than another's call, the first
//! happens before the second in the sense of C11, so a structure whose operations synchronise must respect that order.
//!
//! Recording costs two atomic additions to a counter that all threads share (some 10 ns each without contention, up to
//! a hundred with it) and an entry in the thread's own log. The additions are full barriers on x86, so they hide
//! operations that are wrong because their last store waits in a store buffer; [`crate::real`] finds those.
//!
//! # State
//! - R1: an operation is in its thread's log as pending before it is called, and as done after it returned, so an
//!   operation that panics stays pending.
//! - R2: a history is complete only once every client has returned its log, by being dropped.
//!
//! # Edges
//! ticket: an addition -> every later addition, through the counter. Carries everything before the first.

use super::operation::Operation;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Collects the operations of clients into a history.
///
/// ```
/// use std::sync::Mutex;
/// use uncontended_model::history::specs::{Put, Stack, Took};
/// use uncontended_model::history::{Limits, Recorder, Verdict, check};
///
/// let stack = Mutex::new(Vec::new());
/// let recorder = Recorder::default();
/// std::thread::scope(|scope| {
///     for thread in 0..4 {
///         let (stack, mut client) = (&stack, recorder.client());
///         scope.spawn(move || {
///             for round in 0..10 {
///                 let value = thread * 100 + round;
///                 client.record(Put::In(value), || stack.lock().unwrap().push(value), |()| Took::Done);
///                 let seen = |seen: &Option<i64>| seen.map_or(Took::Empty, Took::Value);
///                 client.record(Put::Out, || stack.lock().unwrap().pop(), seen);
///             }
///         });
///     }
/// });
/// let report = check(&Stack::default(), &recorder.history(), &mut Limits::default());
/// assert_eq!(report.verdict, Verdict::Linearizable);
/// ```
#[derive(Debug)]
pub struct Recorder<C, O>(Arc<Shared<C, O>>);

#[derive(Debug)]
struct Shared<C, O> {
    ticket: AtomicU64,
    clients: AtomicU32,
    /// The logs that clients have returned, and their number.
    given: Mutex<(Vec<Operation<C, O>>, u32)>,
}

/// Records the operations of one thread.
#[derive(Debug)]
pub struct Client<C, O> {
    shared: Arc<Shared<C, O>>,
    number: u32,
    log: Vec<Operation<C, O>>,
}

impl<C, O> Default for Recorder<C, O> {
    fn default() -> Self {
        Recorder(Arc::new(Shared {
            ticket: AtomicU64::new(0),
            clients: AtomicU32::new(0),
            given: Mutex::new((Vec::new(), 0)),
        }))
    }
}

impl<C, O> Recorder<C, O> {
    /// Adds a client.
    pub fn client(&self) -> Client<C, O> {
        let number = self.0.clients.fetch_add(1, Ordering::Relaxed);
        Client { shared: Arc::clone(&self.0), number, log: Vec::new() }
    }

    /// The recorded history.
    ///
    /// # Panics
    /// If a client has not been dropped: the history would lack its operations (R2).
    pub fn history(self) -> Vec<Operation<C, O>> {
        let mut given = self.0.given.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = self.0.clients.load(Ordering::Relaxed);
        assert_eq!(given.1, clients, "every client must be dropped before the history is taken");
        std::mem::take(&mut given.0)
    }
}

impl<C: Clone, O> Client<C, O> {
    /// Runs an operation and records it; `output` converts the result.
    pub fn record<T>(
        &mut self,
        call: C,
        operation: impl FnOnce() -> T,
        output: impl FnOnce(&T) -> O,
    ) -> T {
        self.record_some(call, operation, |came| Some(output(came)))
    }

    /// Like [`Client::record`], but drops the operation if `output` returns `None`. A dropped operation must not have
    /// had an effect.
    pub fn record_some<T>(
        &mut self,
        call: C,
        operation: impl FnOnce() -> T,
        output: impl FnOnce(&T) -> Option<O>,
    ) -> T {
        self.log.reserve(1);
        let called_at = self.shared.now();
        self.log.push(Operation::pending(self.number, called_at, call.clone())); // R1.
        let came = operation();
        let returned_at = self.shared.now();
        self.log.pop();
        if let Some(output) = output(&came) {
            self.log.push(Operation::done(self.number, called_at, call, returned_at, output));
        }
        came
    }
}

impl<C, O> Shared<C, O> {
    fn now(&self) -> u64 {
        // EDGE ticket (release)
        // EDGE ticket (acquire)
        self.ticket.fetch_add(1, Ordering::AcqRel)
    }
}

impl<C, O> Drop for Client<C, O> {
    fn drop(&mut self) {
        let mut given = self.shared.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.0.append(&mut self.log);
        given.1 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Recorder;

    #[test]
    fn an_operation_that_panics_stays_pending() {
        let recorder = Recorder::default();
        let mut client = recorder.client();
        client.record('a', || (), |()| 1);
        client.record_some('b', || (), |()| None::<i32>);
        let panics = || client.record('c', || panic!("on purpose"), |()| 3);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        drop(client);
        let history = recorder.history();
        let seen: Vec<_> = history.iter().map(|o| (*o.call(), o.output().copied())).collect();
        assert_eq!(seen, [('a', Some(1)), ('c', None)]);
        assert_eq!(history[0].called_at() + 1, history[0].returned_at().unwrap());
    }

    #[test]
    #[should_panic(expected = "must be dropped")]
    fn a_history_without_all_clients_is_refused() {
        let recorder = Recorder::<(), ()>::default();
        let client = recorder.client();
        std::mem::forget(client);
        recorder.history();
    }
}
