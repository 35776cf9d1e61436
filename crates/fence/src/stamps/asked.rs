//! Fences that were asked for, and waiting for them.

use super::layout::word;
use super::lease::Lease;
use super::rule;
use crate::backoff::now_ns;
use crate::bare;
use crate::barriers::Barriers;
use crate::reason::Refused;
use std::time::Duration;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, Scope, futex_wait};

/// The shortest and longest sleep between two looks.
const SLEEP_NS: (u64, u64) = (200_000, 20_000_000);

/// The barriers that this process runs because a daemon is silent.
static BARRIERS: Barriers = Barriers::new();

/// A heavy fence that [`Stamps`](super::Stamps) were asked for. It keeps the memory of the daemon that it was asked of.
#[derive(Clone, Debug)]
pub struct Asked {
    lease: Arc<Lease>,
    since: Since,
    /// The number of a barrier that would do as well.
    barrier: u64,
    at_ns: u64,
}

#[derive(Clone, Debug)]
enum Since {
    /// The counts of each followed CPU.
    Counts(Box<[[u64; 2]]>),
    /// The daemon's turns.
    Turns(u64),
}

impl Asked {
    pub(super) fn by_counts(lease: Arc<Lease>) -> Asked {
        let since = Since::Counts(rule::ask(lease.counts()));
        Asked { lease, since, barrier: BARRIERS.request(), at_ns: now_ns() }
    }

    pub(super) fn by_turns(lease: Arc<Lease>) -> Asked {
        let since = Since::Turns(rule::ask_turns(lease.word(word::TURN)));
        Asked { lease, since, barrier: BARRIERS.request(), at_ns: now_ns() }
    }

    /// Whether the fence is complete: every CPU has been quiet since. It only looks.
    pub fn is_past(&self) -> bool {
        let is_past = match &self.since {
            Since::Counts(counts) => rule::is_past(self.lease.counts(), counts),
            &Since::Turns(turns) => rule::is_turned(self.lease.word(word::TURN), turns),
        };
        is_past || BARRIERS.is_served(self.barrier)
    }

    /// Whether the fence is complete. A fence that is late (by more than a tick) has the daemon see after the CPUs that
    /// lag; if the daemon is silent, this thread runs a barrier.
    ///
    /// # Errors
    /// The daemon is silent, and membarrier is refused. The fence remains incomplete.
    pub fn poll(&self) -> Result<bool, Refused> {
        let late_ns = self.at_ns.saturating_add(self.lease.facts.late_ns());
        match self.is_past() {
            false if now_ns() > late_ns => self.press(),
            is_past => Ok(is_past),
        }
    }

    /// Waits until the fence is complete, for `limit` at most. Returns whether it is. The daemon wakes the waiter at
    /// each turn; without a turn, it looks again after a tenth of what it has waited so far.
    ///
    /// # Errors
    /// Those of [`poll`](Asked::poll).
    pub fn wait(&self, limit: Option<Duration>) -> Result<bool, Refused> {
        let (start_ns, turns) = (now_ns(), self.lease.word(word::TURN));
        let limit = limit.and_then(|limit| u64::try_from(limit.as_nanos()).ok());
        let end_ns = start_ns.saturating_add(limit.unwrap_or(u64::MAX));
        loop {
            let turn = turns.load(Relaxed);
            if self.is_past() || self.press()? {
                return Ok(true);
            }
            let now = now_ns();
            if now >= end_ns {
                return Ok(false);
            }
            let pause_ns = ((now - start_ns) / 10).clamp(SLEEP_NS.0, SLEEP_NS.1);
            let until_ns = now.saturating_add(pause_ns).min(end_ns);
            futex_wait(turns, turn as u32, Some(until_ns), Scope::Shared);
        }
    }

    /// Tells the daemon that a thread waits, or does without it: by a barrier on all threads of this process and of
    /// those that have connected, unless another thread is running one. Whether such a barrier has ended.
    fn press(&self) -> Result<bool, Refused> {
        if self.lease.nudge() {
            return Ok(false);
        }
        BARRIERS.serve(self.barrier, || bare::heavy(Scope::Shared))
    }
}
