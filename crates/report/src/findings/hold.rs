//! The rule about holds as long as the waits: the work under the lock takes the time.
//!
//! # Contract
//! A sentence names a function only with the figures of that function's holds.

use super::rules::{
    LARGE_SHARE, LONG_WAIT_NS, NO_CPU, Said, is_exclusive, is_for_holds, longest_wait, with_wait,
    without_cpu,
};
use super::weight::asleep;
use super::{Subject, chain, fourth};
use crate::helpers::blamed_function;
use crate::run::{Distribution, Kind, Lock};
use uncontended_figures::{count, duration, number};

/// A hold is an exception if it is this many times the median.
const EXCEPTION: u64 = 10;
/// A lock held for this share of the run is taken nearly whenever a thread arrives.
const SATURATED: f64 = 0.8;
/// And on average this many threads wait: at least every second time one looks, there is a waiter.
const QUEUE: f64 = 0.5;
/// The longest hold explains the longest wait if it is at least this share of it.
const EXPLAINS: f64 = 0.5;
/// Waits as long as the holds: the work under the lock takes the time.
pub(super) fn long_hold(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let wait = lock.wait_ns.as_ref()?;
    let hold = lock.hold_ns.as_ref().filter(|_| !lock.is_apart());
    let used = lock.utilisation.unwrap_or(0.0);
    let queue = subject.queue();
    let also = chain::also(subject);
    // Readers hold concurrently: the sum of their holds says nothing about a queue.
    let is_saturated = used >= SATURATED && queue >= QUEUE && lock.kind != Kind::RwlockRead;
    if !is_saturated && !is_exclusive(lock.kind) {
        return long_hold_of_a_side(subject, wait);
    }
    let hold = hold?;
    let longest = longest_hold(lock, hold);
    let repeated = fourth(&hold.worst) >= LONG_WAIT_NS;
    let explains = explains(subject, wait, longest.ns, repeated) && is_for_holds(lock);
    let no_cpu = subject.cpu_wanted.filter(|&share| share >= NO_CPU);
    let (text, advice) = if is_saturated {
        let text = format!(
            "held for {} of the run, with {} threads waiting on average{also}",
            subject.held_for(used),
            number(queue)
        );
        let is_bottleneck = !subject.hardly_shortens();
        let why = if is_bottleneck { "it is the bottleneck; " } else { "" };
        let advice = match asleep(subject, hold.total) {
            Some(asleep) => format!("; {asleep}"),
            None => format!(": {why}do less while holding it, or split it"),
        };
        (text, advice)
    } else if explains && longest.ns / EXCEPTION >= hold.p50 {
        let why = match no_cpu {
            Some(share) => format!(
                "either some holds do rare long work, or the holder lost its CPU: {}",
                without_cpu(share)
            ),
            None => "move the rare long work out of the lock".to_owned(),
        };
        let text = format!(
            "{}, while half of its {} holds{} take at most {}{also}",
            behind(wait, &longest),
            count(hold.count),
            subject.which_holds(),
            duration(hold.p50)
        );
        (text, format!(": {why}"))
    } else if explains {
        let text = format!("{} (median {}){also}", behind(wait, &longest), duration(hold.p50));
        (text, DO_LESS.to_owned())
    } else {
        return None;
    };
    let mut evidence = hold_evidence(wait, (hold, longest.ns), used);
    evidence.extend(no_cpu.map(|share| ("cpu_wanted_share", share)));
    Some(Said { cost_ns: wait.total, text, advice, evidence })
}

/// What to do about holds that are all long.
const DO_LESS: &str = ": do less while holding it";

/// The same for a side of a read-write lock. What its waiters waited for may be holds of either side: those of the code
/// that caused most of the waiting have their own figures.
fn long_hold_of_a_side(subject: &Subject, wait: &Distribution) -> Option<Said> {
    let by = subject.lock.held_by.first()?;
    let longest = LongHold { ns: by.longest_ns, code: blamed_function(by) };
    let repeated = fourth(&wait.worst) >= LONG_WAIT_NS && by.holds >= MANY_HOLDS;
    let explains = explains(subject, wait, longest.ns, repeated) && is_for_holds(subject.lock);
    explains.then(|| Said {
        cost_ns: wait.total,
        text: behind(wait, &longest) + &chain::also(subject),
        advice: DO_LESS.to_owned(),
        evidence: with_wait(
            wait,
            &[("longest_hold_ns", longest.ns as f64), ("holds", by.holds as f64)],
        ),
    })
}

/// Fewer long holds than these may be unlucky moments.
const MANY_HOLDS: u64 = 4;

/// Whether holds of up to `hold_ns` explain the longest wait. `repeated`: as long ones came more than once.
fn explains(subject: &Subject, wait: &Distribution, hold_ns: u64, repeated: bool) -> bool {
    let large = wait.max as f64 >= LARGE_SHARE * subject.wall_ns as f64;
    hold_ns as f64 >= EXPLAINS * wait.max as f64 && hold_ns >= LONG_WAIT_NS && (repeated || large)
}

/// The longest wait, and the holds that it was for.
fn behind(wait: &Distribution, longest: &LongHold) -> String {
    let code = longest.in_code();
    format!("{}, behind holds of up to {}{code}", longest_wait(wait), duration(longest.ns))
}

/// The longest hold of a lock.
pub(super) struct LongHold {
    pub(super) ns: u64,
    /// Its code, if a thread waited for it.
    code: Option<String>,
}

impl LongHold {
    pub(super) fn in_code(&self) -> String {
        self.code.as_ref().map_or_else(String::new, |code| format!(" in {code}"))
    }
}

/// The longest hold of a lock that one thread holds at a time, with its own length and code if it is the longest for
/// which a thread waited. One that went on at the end, which may be longer, is none of those that waits ended after.
pub(super) fn longest_hold(lock: &Lock, hold: &Distribution) -> LongHold {
    let ended =
        lock.held_by.iter().filter(|by| by.longest_ns <= hold.max.saturating_add(hold.max / 10));
    let longest = ended.max_by_key(|by| by.longest_ns);
    match longest.filter(|by| by.longest_ns >= hold.max - hold.max / 10) {
        Some(by) => LongHold { ns: by.longest_ns, code: blamed_function(by) },
        None => LongHold { ns: hold.max, code: None },
    }
}

fn hold_evidence(
    wait: &Distribution,
    (hold, longest_ns): (&Distribution, u64),
    used: f64,
) -> Vec<(&'static str, f64)> {
    let holds = [
        ("longest_hold_ns", longest_ns as f64),
        ("fourth_longest_hold_ns", fourth(&hold.worst) as f64),
        ("median_hold_ns", hold.p50 as f64),
        ("holds", hold.count as f64),
        ("utilisation", used),
    ];
    with_wait(wait, &holds)
}
