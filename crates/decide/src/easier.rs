//! An easier question that the rest of a budget would decide.
//!
//! # Contract
//! It is advice, given before the end: it assumes that pairs vary as so far, and decides nothing.
//! # Evidence
//! `crates/decide/tests/session.rs`.

use crate::guard::Watch;
use crate::question::{Claim, Compare, Shares};
use uncontended_stats::{self as stats, Counts, Method, Rate};

/// The smallest margin at which `more` pairs would give a yes to a candidate with these cost ratios.
pub(crate) fn margin(costs: &[f64], more: u64, compare: &Compare, shares: Shares) -> Option<f64> {
    let seen = costs.len() as u64;
    let all = seen.saturating_add(more);
    let fewest = compare.guard.as_ref().map_or(0, Watch::fewest_pairs);
    if compare.claim != Claim::NoWorse || all < fewest {
        return None;
    }
    let question = stats::Question::about(Rate::HALF, Method::OneSided, shares.median);
    let is_yes = |&margin: &f64| {
        let inside = costs.iter().filter(|cost| **cost <= 1.0 + margin).count() as u64;
        // Half a pair is added to either side, as in the estimate of what remains; advice is rather too careful.
        let n = seen as f64 + 1.0;
        let share = (inside as f64 + 0.5) / n;
        let share = share - (share * (1.0 - share) / n).sqrt();
        let expected = inside + (share * more as f64) as u64;
        let counts = Counts::new(all, expected);
        counts.is_ok_and(|counts| question.verdict(counts) == stats::Verdict::Yes)
    };
    let margins = (1..10).map(|one| f64::from(one) / 100.0);
    let mut margins = margins.chain((2..20).map(|five| f64::from(five) / 20.0));
    margins.find(|margin| *margin > compare.margin && is_yes(margin))
}
