//! Lock order inversions, each thread with the stacks of both acquisitions.

use super::worst::lines;
use super::{Options, Paint, heading};
use crate::inversions::{REMARK, TITLE, advice, held, taken};
use crate::run::{Inversion, RunReport};
use uncontended_figures::text::wrap;

/// How many inversions are shown.
const SHOWN: usize = 5;

pub(super) fn inversions(report: &RunReport, options: &Options, paint: Paint) -> String {
    let Some(order) = &report.lock_order else { return String::new() };
    let shown = order.inversions.iter().take(SHOWN);
    let mut text: String =
        shown.map(|inversion| block(report, inversion, options, paint)).collect();
    if let Some(more) = order.inversions.len().checked_sub(SHOWN + 1) {
        let more = super::several(more as u64 + 1, "inversion", "inversions");
        text.push_str(&format!("\n… and {more}; --json and --html have them all\n"));
    }
    text
}

fn block(report: &RunReport, inversion: &Inversion, options: &Options, paint: Paint) -> String {
    let mut text = heading(TITLE, REMARK, options, paint);
    for thread in &inversion.threads {
        text.push_str(&wrap(&held(report, thread), "  ", options.width));
        text.push_str(&lines(&thread.held_stack, options));
        text.push_str(&wrap(&taken(report, thread), "  ", options.width));
        text.push_str(&lines(&thread.taken_stack, options));
    }
    text + &wrap(&advice(report, inversion), "  ", options.width)
}
