//! The rule about threads that still waited when the run ended: the waits that matter most when a program hangs.
//!
//! # Contract
//! Threads that wait for work wait to the end too, but no thread holds what they wait for. Where the holder waits
//! itself, the sentence follows to the head of the chain, and names the code in which that took its lock.

use super::Subject;
use super::rules::Said;
use crate::deadlocks::named;
use crate::rows::{callers, code, place};
use crate::run::{Head, Kind, Lock, Unfinished};
use crate::terminal::several;
use uncontended_figures::duration;

/// A shorter wait might have ended a moment later.
const STUCK_NS: u64 = 1_000_000_000;
/// The share of the run that the wait must take.
const STUCK_SHARE: f64 = 0.1;

/// Threads waited, for long, for a lock that another held.
pub(super) fn unfinished(subject: &Subject) -> Option<Said> {
    let left = subject.lock.unfinished?;
    let share = left.longest_ns as f64 / subject.wall_ns.max(1) as f64;
    if left.longest_ns < STUCK_NS || share < STUCK_SHARE {
        return None;
    }
    let Some((holder, held_ns)) = left.holder.zip(left.held_ns) else {
        return behind_no_one(subject.lock.kind, left);
    };
    let ended = if left.holder_ended { ", which has ended," } else { "" };
    let head = subject.lock.hung_behind.as_ref();
    let behind = head.map_or(left.count, |head| left.count.max(head.behind.into()));
    Some(Said {
        cost_ns: left.longest_ns.saturating_mul(behind),
        text: format!(
            "{} still waited for it when the run ended, the longest for {}: thread {holder}{ended} had held it for {} {}",
            several(left.count, "thread", "threads"),
            duration(left.longest_ns),
            duration(held_ns),
            head.map_or_else(
                || "without releasing it".to_owned(),
                |head| of_head(subject, left, head)
            )
        ),
        advice: String::new(),
        evidence: vec![
            ("waiting_threads", left.count as f64),
            ("longest_unfinished_wait_ns", left.longest_ns as f64),
            ("held_ns", held_ns as f64),
        ],
    })
}

/// The same of a lock whose holder is not known, or is not one thread.
fn behind_no_one(kind: Kind, left: Unfinished) -> Option<Said> {
    let why = match kind {
        Kind::RwlockRead | Kind::RwlockWrite => {
            "readers that come and go may keep it taken, or its holder was not seen"
        }
        Kind::Mutex | Kind::Spin | Kind::Annotated => {
            "its holder was not seen (it may have been taken before a fork, or unobserved)"
        }
        _ => return None,
    };
    let threads = several(left.count, "thread", "threads");
    Some(Said {
        cost_ns: left.longest_ns.saturating_mul(left.count),
        text: format!(
            "{threads} still waited for it when the run ended, the longest for {}: {why}",
            duration(left.longest_ns)
        ),
        advice: String::new(),
        evidence: vec![
            ("waiting_threads", left.count as f64),
            ("longest_unfinished_wait_ns", left.longest_ns as f64),
        ],
    })
}

/// What the holder did, or the thread that it waited for in the end.
fn of_head(subject: &Subject, left: Unfinished, head: &Head) -> String {
    let taken = callers(&head.taken).next().or(head.taken.first());
    let taken =
        taken.map_or_else(String::new, |frame| format!(", which it took in {}", code(frame)));
    let asleep =
        if head.is_asleep { "; it was asleep itself, for no lock that is known" } else { "" };
    if head.through == 0 {
        let others = u64::from(head.behind).saturating_sub(left.count);
        let more = match others {
            0 => String::new(),
            others => format!("; {} behind these", several(others, "more waits", "more wait")),
        };
        return format!("without releasing it{taken}{asleep}{more}");
    }
    let lock =
        subject.lock_of(head.lock).map_or_else(String::new, |lock| format!(" ({})", place(lock)));
    let held = head.held_ns.map_or_else(String::new, |ns| format!(" for {}", duration(ns)));
    format!(
        "and waited itself: in the end, {} for {}, which has held lock #{}{lock}{held}{taken}{asleep}",
        several(head.behind.into(), "thread waits", "threads wait"),
        named(head.tid, &head.name),
        head.lock
    )
}

/// Whether what is said of this lock is said of the head's too, which is one of `others`.
pub(super) fn is_said(lock: &Lock, others: &[u64]) -> bool {
    let head = lock.hung_behind.as_ref().filter(|head| head.through > 0 && head.lock != lock.id);
    head.is_some_and(|head| others.contains(&head.lock))
}
