//! Tickets for grace periods.
//!
//! # State
//! A ticket is the number of the batch that was to be collected next when it was made. `over`, in the collector: the
//! batches below this number are free of readers.
//!
//! # Edges
//! ticket: the end of a round -> `is_over`. The last uses by all readers that were pinned when the ticket was made.
//!
//! # Evidence
//! tests/model_epochs.rs, tests/mutants/epochs.toml; tests/epochs.rs.

use super::collector::Inner;
use std::fmt;
use std::time::{Duration, Instant};
use uncontended_atomic::Ordering::Acquire;
use uncontended_fence::Refused;

const FIRST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// A grace period: it is over when no thread is pinned any more that was pinned when the ticket was made. Work may
/// continue meanwhile.
///
/// ```
/// use uncontended_reclaim::epoch::Collector;
///
/// let collector = Collector::new();
/// let ticket = collector.ticket();
/// while !ticket.is_over() {
///     collector.collect()?; // or other work, while other threads collect
/// }
/// # Ok::<(), uncontended_reclaim::Refused>(())
/// ```
#[derive(Clone, Copy)]
pub struct Ticket<'c> {
    inner: &'c Inner,
    number: u64,
}

impl<'c> Ticket<'c> {
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn new(inner: &'c Inner) -> Ticket<'c> {
        Ticket { inner, number: inner.queue.with(|queue| queue.ticket()) }
    }

    /// Whether the grace period is over. It ends only if threads collect.
    #[cfg_attr(unc_model, track_caller)]
    pub fn is_over(&self) -> bool {
        // EDGE ticket (acquire): the last uses by the readers of that time.
        self.inner.over.load(Acquire) > self.number
    }

    /// Collects until the grace period is over, or this much time has passed, to which only destructors add; whether
    /// it is over. It never is while the calling thread is pinned. Between collections it sleeps, each time a tenth
    /// longer, up to 10 ms.
    ///
    /// # Errors
    /// The heavy fence is refused.
    pub fn wait_for(&self, limit: Duration) -> Result<bool, Refused> {
        let (begun, mut sleep) = (Instant::now(), FIRST_SLEEP);
        let left = || limit.saturating_sub(begun.elapsed());
        while !self.is_over() {
            self.inner.collect_all(|fence| fence.wait_for(left()))?;
            if left().is_zero() {
                return Ok(self.is_over());
            }
            if !self.is_over() {
                std::thread::sleep(sleep.min(left()));
                sleep = (sleep + sleep / 10).min(LONGEST_SLEEP);
            }
        }
        Ok(true)
    }
}

impl fmt::Debug for Ticket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").field(&self.number).finish()
    }
}
