//! Futex waiting that no row contains: the kernel counted it, but the observer did not see its lock.

use super::MATERIAL_SHARE;
use crate::rows;
use crate::run::{Finding, Frame, FutexSite, RunReport};
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
/// own locks wait tells them from others even then.
fn code(site: &FutexSite) -> String {
    let is_own = is_own(site);
    let caller = rows::callers(&site.stack).find(|frame| !is_named(frame, &OWN_WAIT));
    match caller.filter(|frame| frame.function.is_some() || !is_own) {
        Some(frame) if is_own && is_named(frame, &ALLOCATOR) => {
            "glibc's arena locks inside malloc".to_owned()
        }
        Some(frame) => rows::code(frame),
        None if is_own => "glibc's own locks (malloc's arenas, stdio)".to_owned(),
        None => "unknown code".to_owned(),
    }
}

/// The longest waits by the code that waited. Those for glibc's own locks come first, since they are surely in no row;
/// of the others, the rows may have all.
fn longest(sites: &[FutexSite], waited_ns: u64) -> String {
    let mut by_code: Vec<(bool, String, u64)> = Vec::new();
    for site in sites {
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
    by_code.iter().take(SITES).map(words).collect::<Vec<_>>().join(", ")
}

/// The finding, if the unseen waiting is a large part of all futex waiting and of the threads' time.
pub(super) fn find(report: &RunReport) -> Option<Finding> {
    let coverage = &report.coverage;
    let share = coverage.futex_share_unaccounted.filter(|&share| share > MUCH)?.min(1.0);
    let waited_ns = coverage.futex_wait_ns?;
    let lives = report.processes.iter().map(|process| process.lived_ns(report.wall_ns));
    let wait_share = share * waited_ns as f64 / crate::aggregate::sum(lives).max(1) as f64;
    if wait_share < MATERIAL_SHARE {
        return None;
    }
    let text = format!(
        "{} of all futex waiting is in no row: its locks were not seen. The kernel's longest waits, seen or not: {}. \
         `unc run --source kernel` shows each, and what ended it",
        percent(share),
        longest(&coverage.futex_sites, waited_ns)
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
