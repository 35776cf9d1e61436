//! Blame: the code whose holds caused the waiting, per lock and over all locks.
//!
//! # Invariants
//! I1: the parts of a row's blame sum to its total wait. Waits that are unfinished when the record ends have pieces
//!     booked but no total; so the pieces are bounded by it.

use super::locks::site;
use super::stacks::Stacks;
use crate::run::{Blame, Blamed, BlamedKind, Class, Frame, Lock, Process};
use std::cmp::Reverse;
use std::collections::HashMap;
use uncontended_trace::reader::{CausedRecord, CellRecord};

/// The blame of a row with `total_ns` of waiting, and the code whose holds caused it.
pub(super) fn of_row<'c>(
    cells: impl Iterator<Item = &'c CellRecord> + Clone,
    total_ns: u64,
    ns: impl Fn(u64) -> u64,
    stacks: &mut Stacks<'_>,
) -> (Blame, Vec<Blamed>) {
    let free_ns = super::sum(cells.clone().map(|cell| ns(cell.wait_free)));
    let mut by_stack: HashMap<u32, CausedRecord> = HashMap::new();
    for caused in cells.flat_map(|cell| &cell.caused) {
        let sum = by_stack.entry(caused.stack).or_default();
        sum.wait = sum.wait.saturating_add(caused.wait);
        sum.waits = sum.waits.saturating_add(caused.waits);
        sum.holds = sum.holds.saturating_add(caused.holds);
        if caused.release != 0 && (sum.release == 0 || caused.longest > sum.longest) {
            sum.release = caused.release;
        }
        sum.longest = sum.longest.max(caused.longest);
    }
    let pieces = by_stack.into_iter().map(|(stack, caused)| {
        let (stack, release) = (stacks.frames(stack), stacks.frames(caused.release));
        Blamed {
            site: holding(&stack, &release),
            stack,
            kind: BlamedKind::Hold,
            wait_ns: ns(caused.wait),
            share: 0.0,
            waits: caused.waits,
            holds: caused.holds,
            longest_ns: ns(caused.longest),
            locks: Vec::new(),
        }
    });
    let mut held_by = merged(pieces);
    let booked_ns = super::sum(held_by.iter().map(|piece| piece.wait_ns));
    share_out(&mut held_by, total_ns.max(booked_ns));
    let held_ns = booked_ns.min(total_ns);
    let idle_ns = free_ns.min(total_ns - held_ns);
    let unknown_ns = total_ns - held_ns - idle_ns;
    (Blame { held_ns, ended_ns: 0, idle_ns, unknown_ns }, held_by)
}

/// The code that held a lock: the innermost function of the acquisition's stack that the release's stack contains too.
/// Functions that wrap an acquisition have returned by then. Without such a function, the acquisition's site.
fn holding(acquisition: &[Frame], release: &[Frame]) -> Option<Frame> {
    let is_same = |a: &Frame, b: &Frame| {
        a.module == b.module && a.function == b.function && a.function.is_some()
    };
    let first = site(acquisition);
    let skipped = acquisition.iter().skip_while(|&frame| Some(frame) != first.as_ref());
    let mut both = skipped.filter(|a| release.iter().any(|b| is_same(a, b)));
    both.next().cloned().or(first)
}

/// Pieces of one kind and site become one; the greatest waiting comes first.
fn merged(pieces: impl Iterator<Item = Blamed>) -> Vec<Blamed> {
    let mut all: Vec<Blamed> = pieces.filter(|piece| piece.wait_ns > 0).collect();
    // The order within a site decides whose stack stays.
    all.sort_by(|a, b| (b.wait_ns, &a.stack, &a.locks).cmp(&(a.wait_ns, &b.stack, &b.locks)));
    let mut places = HashMap::new();
    let mut sites: Vec<Blamed> = Vec::new();
    for piece in all {
        let place = *places.entry((piece.kind, piece.site.clone())).or_insert(sites.len());
        let Some(sum) = sites.get_mut(place) else {
            sites.push(piece);
            continue;
        };
        sum.wait_ns = sum.wait_ns.saturating_add(piece.wait_ns);
        sum.waits = sum.waits.saturating_add(piece.waits);
        sum.holds = sum.holds.saturating_add(piece.holds);
        sum.longest_ns = sum.longest_ns.max(piece.longest_ns);
        sum.locks.extend(piece.locks);
    }
    sites.sort_by_key(|site| Reverse(site.wait_ns));
    sites
}

fn share_out(pieces: &mut [Blamed], total_ns: u64) {
    for piece in pieces {
        piece.share = if total_ns > 0 { piece.wait_ns as f64 / total_ns as f64 } else { 0.0 };
    }
}

/// The code that caused the waiting at all locks of class contention or gate, the most first. A gate's keeper may mean
/// to hold the others up, but it does.
pub(super) fn culprits(processes: &[Process]) -> Vec<Blamed> {
    let locks = processes.iter().flat_map(|process| &process.locks);
    let is_ranked = |lock: &&Lock| matches!(lock.class, Class::Contention | Class::Gate);
    let contended: Vec<&Lock> = locks.filter(is_ranked).collect();
    let total = |lock: &&Lock| lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    let total_ns = super::sum(contended.iter().map(total));
    let held = contended.iter().flat_map(|lock| {
        lock.held_by.iter().map(|piece| Blamed { locks: vec![lock.id], ..piece.clone() })
    });
    let idle = contended.iter().filter_map(|lock| {
        let blame = lock.blame.filter(|blame| blame.idle_ns > 0)?;
        Some(Blamed {
            site: None,
            stack: Vec::new(),
            kind: BlamedKind::Idle,
            wait_ns: blame.idle_ns,
            share: 0.0,
            waits: lock.wait_ns.as_ref().map_or(0, |wait| wait.count),
            holds: 0,
            longest_ns: lock.idle_ns.as_ref().map_or(0, |idle| idle.max),
            locks: vec![lock.id],
        })
    });
    let mut culprits = merged(held);
    culprits.extend(idle);
    culprits.sort_by_key(|culprit| Reverse(culprit.wait_ns));
    share_out(&mut culprits, total_ns);
    culprits
}
