//! Locks that threads took in different orders: they may deadlock, though they did not. It costs no time, so it comes
//! after what does.

use crate::inversions::sentence;
use crate::run::{Finding, RunReport};

/// The rule's name.
pub(super) const RULE: &str = "lock-order";

/// A finding for the first inversion, which says how many there are.
pub(super) fn find(report: &RunReport) -> Option<Finding> {
    let order = report.lock_order.as_ref()?;
    let first = order.inversions.first()?;
    let evidence =
        [("inversions", order.inversions.len() as f64), ("threads", first.threads.len() as f64)];
    Some(Finding {
        rule: RULE.to_owned(),
        text: sentence(report, &order.inversions),
        lock: first.threads.first().map(|thread| thread.held),
        locks: Vec::new(),
        wait_share: None,
        evidence: evidence.map(|(name, value)| (name.to_owned(), value)).into(),
    })
}
