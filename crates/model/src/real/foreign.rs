//! Threads that the checker does not run, but that use what an exploration shares.
//!
//! # Contract
//! A thread of std's that explored code starts would take steps that are not explored. While a run lasts, the first
//! operation of such a thread on an object of the run ends the run with an error, and the thread with a panic, before
//! it touches the object. An operation after the run's end goes unseen.

use super::runtime;
use super::trace::place;
use std::panic::Location as Site;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The explorations of this process.
static ALL: Mutex<Vec<Weak<Running>>> = Mutex::new(Vec::new());

/// What other threads know of an exploration.
#[derive(Debug, Default)]
pub(crate) struct Running {
    /// The number of its current run; 0 between runs.
    epoch: AtomicU32,
    refused: Mutex<Option<String>>,
}

impl Running {
    pub(crate) fn new() -> Arc<Running> {
        let running = Arc::new(Running::default());
        let mut all = locked(&ALL);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&running));
        running
    }

    pub(crate) fn begin(&self, epoch: u32) {
        self.epoch.store(epoch, Relaxed);
    }

    /// Ends the run; why it cannot count, if a foreign thread took part.
    pub(crate) fn end(&self) -> Option<String> {
        self.epoch.store(0, Relaxed);
        locked(&self.refused).take()
    }
}

/// Refuses an operation on an object that the run with this number used last, if that run lasts and the caller does not
/// belong to a run.
///
/// # Panics
/// Panics if the operation is refused.
pub(crate) fn refuse(epoch: u32, site: &'static Site<'static>) {
    if epoch == 0 || runtime::here().is_some() {
        return;
    }
    let found = {
        let all = locked(&ALL);
        all.iter().filter_map(Weak::upgrade).find(|running| running.epoch.load(Relaxed) == epoch)
    };
    let Some(running) = found else { return };
    let why = format!(
        "a thread that the checker does not run, such as one of std::thread, takes part at {}: its steps are not \
         explored. Start threads by the checker's `spawn`",
        place(site)
    );
    *locked(&running.refused) = Some(why.clone());
    assert!(std::thread::panicking(), "{why}");
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
