//! Deadlocks, each thread with the stacks of its wait and of the acquisition that it waits for; and what other threads
//! still waited for.

use super::worst::lines;
use super::{Options, Paint, heading};
use crate::deadlocks::{behind, holder, remark, title, waits};
use crate::hangs;
use crate::run::{Deadlock, RunReport};
use uncontended_figures::text::wrap;

/// How many threads of a deadlock are shown.
const THREADS: usize = 6;

pub(super) fn deadlocks(report: &RunReport, options: &Options, paint: Paint) -> String {
    report.deadlocks.iter().map(|deadlock| block(report, deadlock, options, paint)).collect()
}

fn block(report: &RunReport, deadlock: &Deadlock, options: &Options, paint: Paint) -> String {
    let mut text = heading(title(deadlock), remark(deadlock), options, paint);
    for thread in deadlock.threads.iter().take(THREADS) {
        text.push_str(&wrap(&waits(report, thread), "  ", options.width));
        text.push_str(&lines(&thread.stack, options));
        if thread.stack.is_empty() {
            text.push_str("    code not recorded\n");
        }
        if let Some(holder) = holder(deadlock, thread) {
            text.push_str(&wrap(&holder, "  ", options.width));
            text.push_str(&lines(&thread.taken, options));
        }
    }
    if let Some(more) = deadlock.threads.len().checked_sub(THREADS + 1) {
        text.push_str(&format!(
            "  … and {}\n",
            super::several(more as u64 + 1, "thread", "threads")
        ));
    }
    let behind = behind(deadlock).map(|behind| wrap(&behind, "  ", options.width));
    text + &behind.unwrap_or_default()
}

/// How many stacks of threads that still waited are shown.
const GROUPS: usize = 5;

/// What threads waited for when the run ended, if that kept them from going on.
pub(super) fn still_waiting(report: &RunReport, options: &Options, paint: Paint) -> String {
    let groups = hangs::shown(report);
    if groups.is_empty() {
        return String::new();
    }
    let mut text = heading(hangs::TITLE, hangs::remark(report), options, paint);
    for group in groups.iter().take(GROUPS) {
        text.push_str(&wrap(&group.waits(report), "  ", options.width));
        text.push_str(&lines(group.stack(), options));
        if group.stack().is_empty() {
            text.push_str("    code not recorded\n");
        }
        if let Some((holder, taken)) = hangs::holder(report, group) {
            text.push_str(&wrap(&holder, "  ", options.width));
            text.push_str(&lines(taken, options));
        }
    }
    let rest = hangs::beyond(&groups, GROUPS);
    if rest > 0 {
        let more = super::several(rest, "more thread waits", "more threads wait");
        text.push_str(&format!("  … and {more}\n"));
    }
    text
}
