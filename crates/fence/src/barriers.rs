//! Barriers that serve many: one orders everything that was asked for before it began.
//!
//! # Contract
//! [`request`](Barriers::request) returns a number. The request is served once a barrier has ended that began after
//! it; [`serve`](Barriers::serve) runs one if none is under way. So N threads that ask at the same time pay for two
//! barriers at most, and do not queue for the kernel's lock.
//!
//! # State
//! The numbers of the last request and of the last one served, and the lease: since when a thread has been running a
//! barrier, or 0. A thread that holds the lease for longer than [`PATIENCE_NS`] was preempted, or remained in the
//! parent of a fork: another one may then run a barrier too. The lease only saves barriers; no order depends on it.
//!
//! # Edges
//! request: `request` -> `serve`. What the requester did comes before the barrier. All of `requested`'s writes are
//!     read-modify-writes, so its last value comes after each request.
//! served: `serve` -> `is_served`. The barrier comes before what the requester, or another thread, does then. All of
//!     `served`'s writes are read-modify-writes as well, so a greater number served by a slower thread takes nothing
//!     away.
//!
//! # Invariants
//! I1: `served` is at most a number that was requested before a barrier began that has ended.
//!
//! # Evidence
//! tests/model_tickets.rs. Real threads: tests/tickets.rs.
//! # Sources
//! liburcu's polled grace periods; Seastar issue 2143 (the kernel runs expedited barriers of a process one by one).

use crate::backoff::now_ns;
use crate::reason::Refused;
use uncontended_atomic::AtomicU64;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// A barrier takes microseconds. A thread that has waited this long for another's is better off with its own.
const PATIENCE_NS: u64 = 1_000_000;

const FREE: u64 = 0;

/// The barriers of one backend.
pub(crate) struct Barriers {
    requested: AtomicU64,
    served: AtomicU64,
    lease: AtomicU64,
}

impl Barriers {
    #[cfg(not(unc_model))]
    pub(crate) const fn new() -> Barriers {
        Barriers {
            requested: AtomicU64::new(0),
            served: AtomicU64::new(0),
            lease: AtomicU64::new(FREE),
        }
    }

    #[cfg(unc_model)]
    pub(crate) const fn new() -> Barriers {
        Barriers {
            requested: AtomicU64::new_static(0),
            served: AtomicU64::new_static(0),
            lease: AtomicU64::new_static(FREE),
        }
    }

    /// Asks for a barrier that begins from now on, and returns the request's number.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn request(&self) -> u64 {
        // EDGE request (release)
        self.requested.fetch_add(1, Release) + 1
    }

    /// Whether a barrier that began after this request has ended.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn is_served(&self, number: u64) -> bool {
        // EDGE served (acquire)
        self.served.load(Acquire) >= number
    }

    /// Whether the request is served, after `barrier` if none is under way.
    ///
    /// # Errors
    /// Those of `barrier`.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn serve(
        &self,
        number: u64,
        barrier: impl FnOnce() -> Result<(), Refused>,
    ) -> Result<bool, Refused> {
        if self.is_served(number) {
            return Ok(true);
        }
        let Some(since) = self.lease() else { return Ok(false) };
        // EDGE request (acquire)
        let last = self.requested.load(Acquire);
        let result = barrier();
        if result.is_ok() {
            // EDGE served (release): I1, as `last` was read before the barrier.
            self.served.fetch_max(last, Release);
        }
        // Relaxed: it saves barriers only. It fails if another thread has taken the lease over.
        let _ = self.lease.compare_exchange(since, FREE, Relaxed, Relaxed);
        result.map(|()| true)
    }

    /// Since when this thread has the lease; none if another one has it.
    fn lease(&self) -> Option<u64> {
        let (held, now) = (self.lease.load(Relaxed), now_ns());
        let is_up = held == FREE || now.saturating_sub(held) > PATIENCE_NS;
        // Relaxed: as above.
        let is_taken = || self.lease.compare_exchange(held, now, Relaxed, Relaxed).is_ok();
        (is_up && is_taken()).then_some(now)
    }
}
