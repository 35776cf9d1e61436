//! The page of a run.

use super::{Page, flame, list, sections, stacks, timeline};
use crate::called::title as title_of_run;
use crate::cost::warning;
use crate::deadlocks::{remark, title};
use crate::findings::{none, tried_by};
use crate::hangs;
use crate::inversions::{self, seen};
use crate::rows;
use crate::run::RunReport;
use crate::spans::{remark as remark_of, title as title_of};
use crate::summary::summary;
use crate::terminal::{
    about, beside_none, ended, futex_waiting, load, matching, negligible, notes, observer, ranked,
    several,
};
use maud::{Markup, html};
use uncontended_figures as figures;

/// The whole report as one page: findings, culprits, locks with bars and percentile curves, the timeline of the worst
/// minute, threads, coverage.
pub fn run_page(report: &RunReport) -> String {
    let threads = rows::threads(report);
    let mut facts = vec![
        format!("wall {}", figures::duration(report.wall_ns)),
        ended(report),
        several(report.processes.len() as u64, "process", "processes"),
        several(threads, "thread", "threads"),
        matching(report),
    ];
    facts.extend(load(report));
    let rows = rows::rows(report);
    let mut page = Page::new(&title_of_run(report), &facts);
    for line in [summary(report), warning(report)].into_iter().flatten() {
        page = page.lead(&format!("{line}."));
    }
    let findings: Vec<String> =
        report.findings.iter().map(|finding| finding.text.clone()).collect();
    page = if let Some(why) = &report.coverage.nothing_seen {
        page.section("Nothing was seen", "", &list(std::slice::from_ref(why), false))
    } else if findings.is_empty() {
        let about = about(report);
        let none = format!("None{about}: {}.", none(report));
        page.section("Findings", &none, &Markup::default())
    } else {
        let tried = html! {
            (list(&findings, true))
            @if let Some(trial) = tried_by(report) { p { (trial.introduction) br; code { (trial.command) } } }
        };
        page.section("Findings", "", &tried)
    };
    page = deadlocks(page, report);
    page = culprits(page, report);
    if !rows.is_empty() {
        let remark = "By total wait: the time that blocked calls took, over all threads. Waiting for work (queue), a turn \
                      (hand-off) or at a gate may be intended. Idle is the part of the wait in which the lock was free.";
        page = page.section("Locks", remark, &sections::locks(report, &rows));
    }
    if let Some((remark, html)) = flame::both_ends(&rows) {
        page = page.section("Waiters and culprits", remark, &html);
    }
    if let Some((remark, html)) = timeline::worst_minute(report) {
        page = page.section("Timeline", &remark, &html);
    }
    if rows.iter().any(|row| row.wait.is_some()) {
        let remark = "The share of all times that were no longer than this. A curve that rises to the right has a long tail.";
        page = page.section("Percentiles and worst cases", remark, &sections::details(&rows));
    }
    if threads > 0 {
        page = page.section(
            "Threads",
            "By wait for locks, then by time on a CPU.",
            &sections::threads(report),
        );
    }
    let mut unseen = report.coverage.unseen.clone();
    if let Some(share) = report.coverage.futex_share_unaccounted {
        unseen.push(futex_waiting(share));
    }
    unseen.extend(report.lock_order.as_ref().map(seen));
    unseen.push(observer(report));
    let sites = sections::futex_sites(report);
    page.section(
        "Coverage",
        "What this run could not see, and what observing cost.",
        &html! { (list(&unseen, false)) (sites) },
    )
    .html()
}

/// The code that made threads wait, and what the slowest spans waited for.
fn culprits(mut page: Page, report: &RunReport) -> Page {
    if let Some(none) = negligible(report) {
        let content = html! { @for rest in beside_none(report) { p class="more" { (rest) } } };
        page = page.section("Culprits", &format!("{none}."), &content);
    } else if notes(report).next().is_some() || !report.culprits.is_empty() {
        let remark = format!("Code, {}.", ranked(report));
        page = page.section("Culprits", &remark, &sections::culprits(report));
    }
    for spans in &report.spans {
        let content = sections::spans(report, spans);
        page = page.section(&title_of(spans), &remark_of(spans), &content);
    }
    page
}

/// The cycles of waits, the waits that had not ended, and the cycles that the order of the locks allows.
fn deadlocks(mut page: Page, report: &RunReport) -> Page {
    for deadlock in &report.deadlocks {
        let content = stacks::deadlock(report, deadlock);
        page = page.section(title(deadlock), remark(deadlock), &content);
    }
    if let Some(content) = stacks::still_waiting(report) {
        page = page.section(hangs::TITLE, hangs::remark(report), &content);
    }
    for inversion in report.lock_order.iter().flat_map(|order| &order.inversions) {
        let content = stacks::inversion(report, inversion);
        page = page.section(inversions::TITLE, inversions::REMARK, &content);
    }
    page
}
