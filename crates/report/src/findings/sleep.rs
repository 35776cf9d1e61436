//! The rule about locks whose threads wait for longer than anyone holds them: perhaps because they sleep.

use super::Subject;
use super::rules::{MOSTLY_IDLE, SHORT_HOLD_NS, Said};
use crate::rows::{idle_share, idle_wait_ns};
use crate::run::Kind;
use uncontended_figures::{count, duration, percent};

/// The median wait must be this many median holds.
const SLEEP_TIMES_HOLD: u64 = 10;
/// Fewer waits do not make a pattern.
const MANY_WAITS: u64 = 1_000;
/// Above this share of blocked acquisitions every release finds a sleeper: a convoy.
const CONVOY: f64 = 0.5;

/// Threads go to sleep for a lock that is released before they are asleep.
pub(super) fn short_holds(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let (wait, free, hold) = (lock.wait_ns.as_ref()?, idle_share(lock)?, lock.hold_ns.as_ref()?);
    let short = hold.p99 <= SHORT_HOLD_NS && wait.p50 / SLEEP_TIMES_HOLD >= hold.p50.max(1);
    if !short || wait.count < MANY_WAITS || free < MOSTLY_IDLE || lock.kind == Kind::Spin {
        return None;
    }
    let blocked = lock.blocked as f64 / lock.attempts().max(1) as f64;
    let convoy = if blocked >= CONVOY { "in a convoy, " } else { "" };
    let asleep = Asleep::of(subject);
    let why = Asleep::advice(asleep, wait.count);
    Some(Said {
        cost_ns: idle_wait_ns(lock)?,
        text: format!(
            "{convoy}{} acquisitions blocked for {} at the median, {} of it with the lock free, though holds{} are short (p99 \
             {})",
            count(wait.count),
            duration(wait.p50),
            percent(free),
            subject.which_holds(),
            duration(hold.p99)
        ),
        advice: format!(": {why}"),
        evidence: vec![
            ("waits", wait.count as f64),
            ("median_wait_ns", wait.p50 as f64),
            ("p99_hold_ns", hold.p99 as f64),
            ("idle_share_of_wait", free),
            ("blocked_share", blocked),
        ]
        .into_iter()
        .chain(asleep.map(Asleep::evidence))
        .collect(),
    })
}

/// In how many waits for a lock threads slept.
#[derive(Clone, Copy)]
enum Asleep {
    /// In this many.
    In(u64),
    /// In no more than the threads of the process switched on their own.
    AtMost(u64),
}

impl Asleep {
    /// Nothing if it is not known of a wait, and the switches of a thread neither.
    fn of(subject: &Subject) -> Option<Asleep> {
        if let (Some(slept), None) = (subject.lock.slept, subject.lock.slept_known) {
            return Some(Asleep::In(slept));
        }
        let threads = subject.threads();
        let own: Option<Vec<u64>> = threads.map(|thread| thread.voluntary_switches).collect();
        own.filter(|own| !own.is_empty()).map(crate::aggregate::sum).map(Asleep::AtMost)
    }

    /// What would help, if that is what `waits` were.
    fn advice(asleep: Option<Asleep>, waits: u64) -> String {
        let few = match asleep {
            Some(Asleep::In(slept)) if slept < waits / 2 => count(slept),
            Some(Asleep::AtMost(most)) if most < waits / 2 => format!("at most {}", count(most)),
            Some(Asleep::In(slept)) => {
                return format!(
                    "threads slept in {} of them, half or more, and sleeping and waking cost more than the hold; spin briefly first, or \
                     split the lock",
                    count(slept)
                );
            }
            _ => {
                return "sleeping and waking may cost more than the hold; spin briefly first, or split the lock"
                    .to_owned();
            }
        };
        format!(
            "threads slept in {few} of them, fewer than half, so spinning longer first would change few; take it less often, or split it"
        )
    }

    fn evidence(self) -> (&'static str, f64) {
        match self {
            Asleep::In(slept) => ("slept", slept as f64),
            Asleep::AtMost(most) => ("slept_at_most", most as f64),
        }
    }
}
