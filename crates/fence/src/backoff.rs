//! Waiting without being woken: each pause lasts a tenth of what was waited so far, so the end is noticed
//! late by a tenth of the wait at most, however long it is.
//!
//! # Sources
//! P. Khuong, "Preemption is GC for memory reordering": a backoff factor of 1.1 bounds the added latency to 10 %.

use std::time::Duration;
use uncontended_atomic::{spin_for_ns, yield_now};
use uncontended_sys::clock::monotonic_ns;

/// The factor is 1 + 1 / this.
const SHARE: u64 = 10;
/// Shorter pauses are hints to the processor. From here on, the CPU can be of use to another thread meanwhile.
const YIELD_NS: u64 = 1_000;
/// From here on the thread sleeps. Linux adds up to 50 microseconds to a sleep (`PR_SET_TIMERSLACK`).
const SLEEP_NS: u64 = 100_000;

/// The pauses of one wait.
pub(crate) struct Backoff {
    start_ns: u64,
    limit_ns: u64,
}

impl Backoff {
    /// A wait that begins now and lasts `limit` at most.
    pub(crate) fn new(limit: Option<Duration>) -> Backoff {
        let limit = limit.and_then(|limit| u64::try_from(limit.as_nanos()).ok());
        Backoff { start_ns: now_ns(), limit_ns: limit.unwrap_or(u64::MAX) }
    }

    /// Pauses; returns false, at once, if the time is up.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn pause(&self) -> bool {
        let waited_ns = now_ns().saturating_sub(self.start_ns);
        let left_ns = self.limit_ns.saturating_sub(waited_ns);
        if left_ns > 0 {
            pause((waited_ns / SHARE).min(left_ns));
        }
        left_ns > 0
    }
}

/// Under the checker no time passes.
pub(crate) fn now_ns() -> u64 {
    if cfg!(unc_model) { 1 } else { monotonic_ns().max(1) }
}

#[cfg_attr(unc_model, track_caller)]
fn pause(ns: u64) {
    match ns {
        0..YIELD_NS => spin_for_ns(ns as u32),
        YIELD_NS..SLEEP_NS => yield_now(),
        // No explored wait gets here.
        SLEEP_NS.. => std::thread::sleep(Duration::from_nanos(ns)),
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_wait_and_end_at_its_limit() {
        let limit = Duration::from_millis(20);
        let (backoff, mut pauses) = (Backoff::new(Some(limit)), 0);
        while backoff.pause() {
            pauses += 1;
        }
        assert!(now_ns() - backoff.start_ns >= limit.as_nanos() as u64);
        assert!(pauses > 0, "it pauses before it ends");
        assert!(!Backoff::new(Some(Duration::ZERO)).pause());
        assert!(Backoff::new(None).pause());
    }
}
