//! Modules whose functions have no names, where that hides code that waits or that others wait for.

use super::sum;
use crate::run::{Frame, Lock, Process, SymbolsMismatch};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use uncontended_figures::text::clean;

/// How many modules are named.
const NAMED: usize = 3;
/// A lock with less than one part in this many of all waiting does not matter.
const LEAST: u64 = 100;
/// The innermost frames of a stack, which a person reads first.
const FRAMES: usize = 4;

/// The modules, in a sentence with what to do; none if all code that matters has names. Of those in `mismatch`, the
/// files may well have symbols.
pub(super) fn unnamed(processes: &[Process], mismatch: &[SymbolsMismatch]) -> Option<String> {
    let is_other = |frame: &&Frame| {
        mismatch.iter().any(|other| Some(other.module.as_str()) == frame.module.as_deref())
    };
    let locks = || processes.iter().flat_map(|process| &process.locks);
    let waited = |lock: &Lock| lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    let least = sum(locks().map(waited)) / LEAST;
    let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
    for lock in locks().filter(|lock| waited(lock) > least) {
        for module in
            frames(lock).filter(|frame| !is_other(frame)).filter_map(module).collect::<HashSet<_>>()
        {
            let total = modules.entry(module).or_default();
            *total = total.saturating_add(waited(lock));
        }
    }
    let mut modules: Vec<(&str, u64)> = modules.into_iter().collect();
    modules.sort_by_key(|&(_, ns)| Reverse(ns));
    let names = modules.iter().take(NAMED).map(|(module, _)| clean(module)).collect::<Vec<_>>();
    (!names.is_empty()).then(|| {
        format!(
            "Functions without names in {}: build it with symbols (-g), or install its debug package.",
            names.join(", ")
        )
    })
}

/// The frames by which a report names a lock, its waiters and its holders.
fn frames(lock: &Lock) -> impl Iterator<Item = &Frame> {
    let blamed =
        lock.held_by.iter().chain(&lock.ended_by).filter_map(|blamed| blamed.site.as_ref());
    let waiter = lock.worst_wait.iter().flat_map(|worst| worst.waiter.iter().take(FRAMES));
    lock.site.iter().chain(blamed).chain(waiter)
}

/// The file name of a frame's module, if its function has no name.
fn module(frame: &Frame) -> Option<&str> {
    let module = frame.module.as_deref().filter(|_| frame.function.is_none())?;
    Path::new(module).file_name()?.to_str()
}
