//! The rule about conditions that wake several threads where one would do (a thundering herd).
//!
//! # Contract
//! Most wakeups were for nothing, as the threads' logs show it, and what they cost is much: what the threads waited for
//! the mutex on their way back, which is as much as a lock's waiting must be for a finding. Wakeups for nothing that
//! cost no such waiting have none.

use super::rules::Said;
use super::{MATERIAL_QUEUE, MATERIAL_SHARE, Subject};
use crate::helpers::blamed;
use uncontended_figures::{count, duration, percent};

/// Fewer wakeups for nothing are not worth a sentence.
const MANY: u64 = 100;
/// The part of the wakeups that must have been for nothing.
const MOSTLY: f64 = 0.5;

const ADVICE: &str = ": if any one of these threads can do what there is to do, wake one (pthread_cond_signal, notify_one); else \
                      use one condition for each thing that they wait for";

/// Threads are woken together, find nothing to do and wait again.
pub(super) fn woken_for_nothing(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let herd = lock.herd?;
    let share = herd.for_nothing as f64 / herd.wakeups.max(1) as f64;
    // The logs keep the newest of all waits.
    let kept =
        lock.wait_ns.as_ref().map_or(1.0, |wait| wait.count as f64 / herd.wakeups.max(1) as f64);
    let cost_ns = (herd.wait_ns as f64 * kept.max(1.0)) as u64;
    let queue = cost_ns as f64 / subject.wall_ns.max(1) as f64;
    let is_costly = subject.share_of(cost_ns) >= MATERIAL_SHARE || queue >= MATERIAL_QUEUE;
    if herd.for_nothing < MANY || share < MOSTLY || !is_costly {
        return None;
    }
    let by = lock.ended_by.first().filter(|by| by.share >= MOSTLY);
    let by = by.and_then(blamed).map_or_else(String::new, |code| format!(", most by {code}"));
    let mutex = herd.mutex.map_or_else(String::new, |id| format!(" #{id}"));
    Some(Said {
        cost_ns,
        text: format!(
            "{} of {} wakeups were for nothing{by}: they woke several threads, which found nothing to do and waited again, after \
             waiting {} for the mutex{mutex} ({} of the threads' time)",
            count(herd.for_nothing),
            count(herd.wakeups),
            duration(cost_ns),
            percent(subject.share_of(cost_ns).min(1.0))
        ),
        advice: ADVICE.to_owned(),
        evidence: vec![
            ("wakeups", herd.wakeups as f64),
            ("for_nothing", herd.for_nothing as f64),
            ("mutex_wait_ns", cost_ns as f64),
            ("mutex_wait_per_wall", queue),
        ],
    })
}
