//! Threads that are told apart by nothing: the door to `symmetry`.

use super::runtime;
use super::thread::{JoinHandle, start};
use std::fmt;
use std::panic::Location as Site;

/// Threads that [`spawn_symmetric`] started.
pub struct SymmetricHandle<T>(Vec<JoinHandle<T>>);

impl<T: Ord> SymmetricHandle<T> {
    /// Waits for the end of all of them and returns their results, sorted: which thread has which is not told.
    ///
    /// # Errors
    /// As in `std`; an explored thread that panics ends its execution instead.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<Vec<T>> {
        let mut results = Vec::new();
        for handle in self.0 {
            results.push(handle.join()?);
        }
        results.sort();
        Ok(results)
    }
}

impl<T> fmt::Debug for SymmetricHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SymmetricHandle({})", self.0.len())
    }
}

/// Starts `count` threads that run the same code on the same values. Executions that differ in the names of these
/// threads alone are explored once, and the report says so: "up to the order of 3 symmetric threads". Several groups
/// are sorted each by itself.
///
/// What makes threads symmetric:
/// - Each runs a clone of `body`, all made before the first thread starts; what it has taken over must be equal in all.
/// - Nothing tells them apart: [`current`](super::current) and [`spawn`](super::spawn) in one of them are errors
///   ([`Diverged`](super::Diverged)), and they have no handles of their own. State outside of the checker's sight must
///   not either (a `static` that numbers them, a thread-local).
/// - Their results come sorted, so that the one who joins them cannot tell them apart. `T`'s order must be of its
///   values; equal ones must be alike.
///
/// Checked is: neighbours that have found the same so far must do the same next; and in each sampled execution (see
/// [`Explorer::explore`](super::Explorer::explore)), if it came to its end, every thread takes every place of its group once:
/// that must be an execution too, and return the same. Otherwise [`Diverged`](super::Diverged) says what does not fit.
/// What shows in no sample is not seen.
///
/// Under SC and TSO each class of executions is explored exactly once. So it is under C11, with few exceptions: relaxed
/// accesses of three threads and more can lead to executions that are explored under more than one naming
/// (`real/symmetry.rs`). Reads that a waiting loop repeats beyond its bound of rounds can be explored more often too.
/// Bounds on preemptions and contexts, samples and estimates are of all executions: there these are threads like any
/// others, as they are with [`Explorer::symmetry`](super::Explorer::symmetry) off, and outside an exploration.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::Ordering::Relaxed;
/// use uncontended_model::real::{AtomicU32, Explorer, Memory, spawn_symmetric};
///
/// let report = Explorer::new(Memory::C11).explore(|| {
///     let x = Arc::new(AtomicU32::new(0));
///     let threads = spawn_symmetric(3, move || x.fetch_add(1, Relaxed));
///     assert_eq!(threads.join().unwrap(), [0, 1, 2]);
/// });
/// // Not 6: who comes first has no name.
/// let said = "holds in all 1 executions, up to the order of 3 symmetric threads";
/// assert!(report.unwrap().to_string().starts_with(said));
/// ```
#[track_caller]
pub fn spawn_symmetric<T: Ord + Send + 'static>(
    count: usize,
    body: impl FnOnce() -> T + Clone + Send + 'static,
) -> SymmetricHandle<T> {
    let site = Site::caller();
    let bodies = vec![body; count];
    let mut threads: Vec<JoinHandle<T>> = Vec::new();
    for body in bodies {
        let left = threads.last().and_then(JoinHandle::number);
        let body = move || {
            runtime::set_symmetric();
            body()
        };
        threads.push(start(body, left, site));
    }
    SymmetricHandle(threads)
}
