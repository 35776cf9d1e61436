//! Records what the threads of a test do, as a history.
//!
//! # Contract
//! The recorded interval of an operation contains the true one. Times are tickets of one counter, taken right before
//! the call and right after the return. If one operation's return has a smaller ticket than another's call, the first
//! happened before the second in the sense of C11, so that a structure whose operations synchronise has no excuse.
//!
//! It costs two atomic additions to a counter that all threads share, some 10 ns each alone and up to a hundred under
//! contention, and an entry in a log of the thread's own. The additions are full barriers on x86: an operation that is
//! wrong because its last store waits in a store buffer is not caught so; [`crate::real`] is for that.
//!
//! # State
//! - R1: an operation is in its thread's log as pending before it is called, and as done after it returned: an
//!   operation that panics stays pending.
//! - R2: a history is complete only when every client has given its log back, by being dropped.
//!
//! # Edges
//! ticket: an addition -> every later addition, through the counter. What was done before the first.

use super::operation::Operation;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Collects the operations of clients.
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
    /// What clients have given back, and how many of them.
    given: Mutex<(Vec<Operation<C, O>>, u32)>,
}

/// A caller: one for each thread.
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
    /// A new client.
    pub fn client(&self) -> Client<C, O> {
        let number = self.0.clients.fetch_add(1, Ordering::Relaxed);
        Client { shared: Arc::clone(&self.0), number, log: Vec::new() }
    }

    /// Everything that was recorded.
    ///
    /// # Panics
    /// If a client is still there: without its operations the history would be another one (R2).
    pub fn history(self) -> Vec<Operation<C, O>> {
        let mut given = self.0.given.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = self.0.clients.load(Ordering::Relaxed);
        assert_eq!(given.1, clients, "clients that are still there, or were forgotten");
        std::mem::take(&mut given.0)
    }
}

impl<C: Clone, O> Client<C, O> {
    /// Runs an operation and records it; `output` says what came back.
    pub fn record<T>(
        &mut self,
        call: C,
        operation: impl FnOnce() -> T,
        output: impl FnOnce(&T) -> O,
    ) -> T {
        self.record_some(call, operation, |came| Some(output(came)))
    }

    /// The same for operations of which some are not to be recorded: those for which `output` says nothing. It must not
    /// have had an effect.
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
    #[should_panic(expected = "still there")]
    fn a_history_without_all_clients_is_refused() {
        let recorder = Recorder::<(), ()>::default();
        let client = recorder.client();
        std::mem::forget(client);
        recorder.history();
    }
}
