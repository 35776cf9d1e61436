//! The rule about locks whose holders wait for another lock: less work under them would change nothing.

use super::Subject;
use super::rules::Said;
use crate::rows::code;
use uncontended_figures::{duration, percent};

/// The share of a lock's waiting that its holders pass on, from which it is not their own work that matters.
const MOSTLY_PASSED_ON: f64 = 0.5;

/// Holders wait for another lock while they hold this one.
pub(super) fn passed_on(subject: &Subject) -> Option<Said> {
    let passed_on = subject.lock.held_by.iter().map(|by| by.passed_on_ns);
    let passed_on_ns = passed_on.fold(0, u64::saturating_add);
    let share = passed_on_ns as f64 / subject.waited_ns().max(1) as f64;
    if share < MOSTLY_PASSED_ON || !subject.is_costly() {
        return None;
    }
    let first = subject.lock.held_by.iter().max_by_key(|by| by.passed_on_ns)?;
    let holder = first.site.as_ref().map_or_else(|| "unknown code".to_owned(), code);
    Some(Said {
        cost_ns: passed_on_ns,
        text: format!(
            "for {} of the {} that threads waited, its holder waited for another lock (mostly in {holder}): see which \
             code the culprits name; or let go of this lock before waiting for the other",
            percent(share),
            duration(subject.waited_ns())
        ),
        evidence: vec![
            ("passed_on_ns", passed_on_ns as f64),
            ("passed_on_share", share),
            ("total_wait_ns", subject.waited_ns() as f64),
        ],
    })
}
