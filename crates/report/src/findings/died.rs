//! Locks whose holders died with them: no work under the lock explains these waits. Those of a robust mutex end with
//! the lock; those of another one do not, or by their deadlines.

use super::Subject;
use super::rules::Said;
use crate::helpers::blamed;
use crate::run::Lock;
use crate::terminal::several;
use uncontended_figures::{duration, percent};

/// A smaller share of the waiting is not worth a sentence.
const MUCH: f64 = 0.1;
/// From this share on, nothing else needs an explanation.
const MOSTLY: f64 = 0.5;

const ADVICE: &str = ": let no thread or process end before it has released the lock";

/// The waiting that was for holds of threads that died.
fn waited_ns(subject: &Subject) -> u64 {
    crate::aggregate::sum(subject.lock.held_by.iter().map(|by| by.died_ns))
}

fn share(subject: &Subject) -> f64 {
    (waited_ns(subject) as f64 / subject.waited_ns().max(1) as f64).min(1.0)
}

/// Whether most of the waiting was for dead holders.
pub(super) fn explains(subject: &Subject) -> bool {
    share(subject) >= MOSTLY
}

/// Threads died while others waited for the lock that they held.
pub(super) fn holder_died(subject: &Subject) -> Option<Said> {
    let (lock, share, waited_ns) = (subject.lock, share(subject), waited_ns(subject));
    if lock.owner_died == 0 || share < MUCH || !(subject.is_costly() || subject.is_long()) {
        return None;
    }
    let first = lock.held_by.iter().max_by_key(|by| by.died_ns);
    let code = first.and_then(blamed);
    let code = code.map_or_else(String::new, |code| format!(", mostly in {code}"));
    Some(Said {
        cost_ns: waited_ns,
        text: format!(
            "threads died while they held it, {}, and {} of the {} that others waited was for these holds{code}",
            several(lock.owner_died, "time", "times"),
            percent(share),
            duration(subject.waited_ns())
        ),
        advice: ADVICE.to_owned(),
        evidence: vec![
            ("owner_died", lock.owner_died as f64),
            ("died_ns", waited_ns as f64),
            ("died_share", share),
            ("total_wait_ns", subject.waited_ns() as f64),
        ],
    })
}

/// Why waits of this length in all ended without the lock, and what to do, if most of that was after the end of the
/// thread that had it.
pub(super) fn left_with(lock: &Lock, lost_ns: u64) -> Option<(String, String)> {
    let left = lock.left.filter(|left| left.wait_ns as f64 >= MOSTLY * lost_ns as f64)?;
    let code = lock.held_by.first().and_then(blamed);
    let code = code.map_or_else(String::new, |code| format!(", in {code},"));
    let why = format!("thread {} had taken it{code} and had ended without a release", left.tid);
    Some((why, ADVICE.to_owned()))
}
