//! Futex waiting that no row contains: the kernel counted it, but the observer did not see its lock.

use super::MATERIAL_SHARE;
use crate::aggregate::sum;
use crate::rows;
use crate::run::{Finding, Frame, FutexSite, Kind, Lock, RunReport, WaitedIn};
use std::cmp::Reverse;
use uncontended_figures::{duration, percent};

/// From this share of all futex waiting on, what the rows show is not the whole answer, and that is said first.
const MUCH: f64 = 0.2;
/// The code of how many sites is named.
const SITES: usize = 3;
/// A site with less than one part in this many of the waiting is not.
const LEAST: u64 = 1_000;
/// Functions of glibc's allocator. Those that wait there wait for an arena, which other threads use.
const ALLOCATOR: [&str; 14] = [
    "malloc",
    "__libc_malloc",
    "__GI___libc_malloc",
    "_int_malloc",
    "calloc",
    "__libc_calloc",
    "realloc",
    "__libc_realloc",
    "free",
    "__libc_free",
    "__GI___libc_free",
    "_int_free",
    "arena_get2",
    "arena_get_retry",
];
/// How glibc's own locks wait.
const OWN_WAIT: [&str; 2] = ["__lll_lock_wait_private", "__GI___lll_lock_wait_private"];

fn is_named(frame: &Frame, names: &[&str]) -> bool {
    frame.function.as_deref().is_some_and(|name| names.contains(&name))
}

/// Whether a lock of glibc's own was waited for.
fn is_own(site: &FutexSite) -> bool {
    site.stack.iter().any(|frame| is_named(frame, &OWN_WAIT))
}

/// The code that waited. A stack of the kernel often ends in glibc, which keeps no frame pointers; the way in which its
/// own locks wait tells them from others even then. Else it is the outermost function of the lock's own that has a name
/// (`__pthread_once_slow`).
fn code(site: &FutexSite) -> String {
    let is_own = is_own(site);
    let is_known = |frame: &&Frame| frame.function.is_some() && frame.module.is_some();
    let named = || rows::callers(&site.stack).filter(is_known);
    let caller = named().find(|frame| !is_named(frame, &OWN_WAIT));
    let wait = site.stack.iter().rev().find(is_known);
    match (caller, wait) {
        (Some(frame), _) if is_own && is_named(frame, &ALLOCATOR) => {
            "glibc's arena locks inside malloc".to_owned()
        }
        (Some(frame), _) => rows::code(frame),
        (None, _) if is_own => "glibc's own locks (malloc's arenas, stdio)".to_owned(),
        (None, Some(frame)) => rows::code(frame),
        (None, None) => "unknown code".to_owned(),
    }
}

/// How many callers identify a futex wait.
const CALLERS: usize = 3;

/// The code that waited, with its callers.
pub(crate) fn waited_at(site: &FutexSite) -> String {
    let callers = rows::callers(&site.stack).take(CALLERS).map(rows::function);
    let callers: Vec<String> = callers.collect();
    if callers.is_empty() { code(site) } else { callers.join(" ← ") }
}

/// The part of a row's waiting that the kernel must have seen at a site for the site to be the row's.
const SAME: f64 = 0.9;

/// Whether these were waits for another thread's end, as far as the stack shows: those lasted as long.
fn is_join(report: &RunReport, site: &FutexSite) -> bool {
    let is_of_joins = |frame: &Frame| {
        let name = frame.function.as_deref().unwrap_or_default();
        name.starts_with("__futex_abstimed_wait") || name.contains("join")
    };
    if !site.stack.iter().all(is_of_joins) {
        return false;
    }
    let joins = report.processes.iter().flat_map(|process| &process.joins);
    sum(joins.map(|join| join.wait_ns)) as f64 >= SAME * site.total_ns as f64
}

/// Whether rows have the waiting of this site: those of futexes, whose waits come from the C library's `syscall`, or
/// one whose threads waited in the same function; or whether it was for threads' ends.
fn is_in_rows(report: &RunReport, sites: &[FutexSite], site: &FutexSite) -> bool {
    let is_call =
        |site: &FutexSite| site.stack.first().is_some_and(|frame| is_named(frame, &["syscall"]));
    let locks = || report.processes.iter().flat_map(|process| &process.locks);
    let has = |waited_ns: u64, total_ns: u64| waited_ns as f64 >= SAME * total_ns as f64;
    let waited = |lock: &Lock| lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    if is_call(site) {
        let futexes = locks().filter(|lock| lock.kind == Kind::Futex);
        let calls = sites.iter().filter(|site| is_call(site));
        return has(sum(futexes.map(waited)), sum(calls.map(|site| site.total_ns)));
    }
    if is_own(site) {
        return false;
    }
    let Some(caller) = rows::callers(&site.stack).next() else { return is_join(report, site) };
    let is_its = |at: &&WaitedIn| {
        let is_same = |of: &Frame| of.function == caller.function && of.module == caller.module;
        caller.function.is_some() && at.site.as_ref().is_some_and(is_same)
    };
    let waits = locks().flat_map(|lock| &lock.waited_in).filter(is_its);
    has(sum(waits.map(|at| at.wait_ns)), site.total_ns)
}

/// The longest waits by the code that waited, without those that rows have. Those for glibc's own locks come first,
/// since they are surely in no row.
fn longest(report: &RunReport, waited_ns: u64) -> String {
    let sites = &report.coverage.futex_sites;
    let mut by_code: Vec<(bool, String, u64)> = Vec::new();
    for site in sites.iter().filter(|site| !is_in_rows(report, sites, site)) {
        let code = code(site);
        match by_code.iter_mut().find(|known| known.1 == code) {
            Some(known) => known.2 = known.2.saturating_add(site.total_ns),
            None => by_code.push((!is_own(site), code, site.total_ns)),
        }
    }
    by_code.retain(|&(_, _, total_ns)| total_ns >= waited_ns / LEAST);
    by_code.sort_by_key(|&(is_other, _, total_ns)| (is_other, Reverse(total_ns)));
    let words =
        |(_, code, total_ns): &(bool, String, u64)| format!("{} at {code}", duration(*total_ns));
    let longest = by_code.iter().take(SITES).map(words).collect::<Vec<_>>().join(", ");
    if longest.is_empty() {
        return String::new();
    }
    format!(" The kernel's longest waits, without those that rows surely have: {longest}.")
}

/// The finding, if the unseen waiting is a large part of all futex waiting and of the threads' time.
pub(super) fn find(report: &RunReport) -> Option<Finding> {
    let coverage = &report.coverage;
    let share = coverage.futex_share_unaccounted.filter(|&share| share > MUCH)?.min(1.0);
    let waited_ns = coverage.futex_wait_ns?;
    let lives = report.processes.iter().map(|process| process.lived_ns(report.wall_ns));
    let wait_share = share * waited_ns as f64 / sum(lives).max(1) as f64;
    if wait_share < MATERIAL_SHARE {
        return None;
    }
    let text = format!(
        "{} of all futex waiting is in no row: its locks were not seen.{} `unc run --source kernel` shows each, and what ended it",
        percent(share),
        longest(report, waited_ns)
    );
    let evidence = [("futex_share_unaccounted", share), ("futex_wait_ns", waited_ns as f64)];
    let evidence = evidence.map(|(name, value)| (name.to_owned(), value)).into();
    Some(Finding {
        rule: "unseen".to_owned(),
        text,
        lock: None,
        locks: Vec::new(),
        wait_share: Some(wait_share),
        evidence,
    })
}
