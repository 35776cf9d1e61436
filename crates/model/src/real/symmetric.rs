//! Symmetric threads: the public interface to `symmetry`.

use super::runtime;
use super::thread::{JoinHandle, start};
use std::fmt;
use std::panic::Location as Site;

/// Threads started by [`spawn_symmetric`].
pub struct SymmetricHandle<T>(Vec<JoinHandle<T>>);

impl<T: Ord> SymmetricHandle<T> {
    /// Joins all threads and returns their results, sorted: which thread returned which is not known.
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

/// Starts `count` threads that run the same code on the same values. Executions that differ only in the names of these
/// threads are explored once, and the report says so: "up to the order of 3 symmetric threads". Each group is sorted
/// separately.
///
/// Requirements:
/// - Each thread runs a clone of `body`; all are cloned before the first thread starts. What the clones capture must be
///   equal.
/// - Nothing distinguishes the threads: calling [`current`](super::current) or [`spawn`](super::spawn) in one of them
///   is an error ([`Diverged`](super::Diverged)), and they have no handles of their own. State that the checker does
///   not see must not distinguish them either (a `static` that numbers them, a thread-local).
/// - Their results are returned sorted, so that the joining thread cannot distinguish them. `T`'s order must depend
///   only on its values; equal results must be indistinguishable.
///
/// These checks are made: neighbours that have found the same so far must do the same next; and in each sampled
/// execution (see [`Explorer::explore`](super::Explorer::explore)) that was completed, every thread takes every place
/// of its group once: each exchange must be an execution too, and return the same. Otherwise
/// [`Diverged`](super::Diverged) says what does not match. What no sample shows is missed, so
/// [`Report::coverage`](super::Report::coverage) names [`Limit::Symmetric`](super::Limit::Symmetric).
///
/// Under SC and TSO each class of executions is explored exactly once. The same holds under C11, with few exceptions:
/// relaxed accesses of three threads and more can lead to executions that are explored under more than one naming
/// (`real/symmetry.rs`). Reads that a waiting loop repeats beyond its bound of rounds can be explored more often too.
/// Bounds on preemptions and contexts, samples and estimates cover all executions and treat these threads like any
/// others. So does an exploration with [`Explorer::symmetry`](super::Explorer::symmetry) off. Outside an exploration
/// they are ordinary threads.
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
/// // Not 6: which thread comes first does not matter.
/// let said = "holds in its only execution, up to the order of 3 symmetric threads";
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
