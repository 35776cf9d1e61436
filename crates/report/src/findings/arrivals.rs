//! The rule about what no thread holds, and is not known to be waited for on purpose: barriers, and futexes whose use
//! the names of functions do not tell (C++20's barriers, latches and waits for atomics).
//!
//! # Contract
//! The record has the code that ended each wait: the last thread to arrive, or the one that woke the others. The rule
//! says that, and not what the waiting was for, which is not in the record.

use super::Subject;
use super::rules::Said;
use super::weight::HEAVY_NS;
use crate::helpers::blamed;
use crate::run::{Class, Kind};
use uncontended_figures::{duration, percent};

/// The share of the threads' time from which such waiting is worth a finding, since it may be meant.
const MUCH: f64 = 0.2;
/// The part of the waiting whose end must have been seen.
const MOSTLY: f64 = 0.5;

/// Threads wait for others to arrive, or to wake them.
pub(super) fn waited_for(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let is_barrier = lock.kind == Kind::Barrier;
    let is_unknown = lock.kind == Kind::Futex && lock.class == Class::Unknown;
    let waited_ns = subject.waited_ns();
    let first = lock.ended_by.first()?;
    let seen = lock.ended_by.iter().map(|by| by.share).sum::<f64>();
    if !(is_barrier || is_unknown)
        || subject.share() < MUCH
        || waited_ns < HEAVY_NS
        || seen < MOSTLY
    {
        return None;
    }
    let (waited, share) = (duration(waited_ns), percent(first.share.min(1.0)));
    let code = blamed(first).unwrap_or_else(|| "unrecorded code".to_owned());
    // Threads that meet often run the same code.
    let keeper = lock.keeper.filter(|keeper| keeper.share >= MOSTLY);
    let which = keeper.map_or_else(String::new, |keeper| {
        format!(" (for {} of it, thread {})", percent(keeper.share), keeper.tid)
    });
    let delayed = first.passed_on_ns as f64 / first.wait_ns.max(1) as f64;
    let (text, advice) = if is_barrier {
        let text = format!(
            "threads waited {waited} for the last one to arrive, and {share} of that ended when {code} arrived{which}"
        );
        if delayed >= MOSTLY {
            let delayed = percent(delayed.min(1.0));
            let text = format!("{text}, which itself waited for {delayed} of that time");
            (text, ": see which code the culprits name")
        } else {
            (text, ": divide the work before it more evenly, if that is not intended")
        }
    } else {
        (
            format!(
                "threads waited {waited} to be woken, and {share} of that ended when {code} woke them{which}"
            ),
            ": see what it does before that; whether they wait for work, for an event or for a lock of the program's own \
             was not seen",
        )
    };
    Some(Said {
        cost_ns: waited_ns,
        text,
        advice: advice.to_owned(),
        evidence: vec![
            ("total_wait_ns", waited_ns as f64),
            ("ended_share", seen),
            ("first_share", first.share),
        ]
        .into_iter()
        .chain(lock.keeper.map(|keeper| ("keeper_share", keeper.share)))
        .collect(),
    })
}
