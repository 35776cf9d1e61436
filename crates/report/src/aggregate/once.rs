//! A thread's waiting, each instant once: a signal handler that waits while its thread does makes it wait no longer.
//!
//! # Contract
//! Rows have both waits in full. A thread's sums have the one that ends later, as far as its log shows, which keeps
//! the newest waits; and no thread waits for longer than it lives.
//! # Evidence
//! `tests/aggregate.rs`; `tests/programs`: `wait_in_handler.c`.

use super::locks::Rows;
use super::logs::Logs;
use crate::run::Thread;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{ProcessRecord, ThreadRecord};

/// The ticks that a thread waited at locks, and for the ends of others.
pub(super) fn waited(thread: &ThreadRecord) -> (u64, u64) {
    let (mut waited, mut joined) = (thread.waited, thread.joined);
    for (wait, ticks) in thread.log.nested() {
        let sum = if wait.what == logged::JOIN { &mut joined } else { &mut waited };
        *sum = sum.saturating_sub(ticks);
    }
    (waited, joined)
}

/// Takes what counts twice from the waiting of each thread that holders caused.
pub(super) fn count_contended(rows: &mut Rows, image: &ProcessRecord, logs: &Logs<'_>) {
    let Rows { locks, contended, .. } = rows;
    for thread in &image.threads {
        let Some(sum) = contended.get_mut(&thread.unit) else { continue };
        for (wait, ticks) in thread.log.nested() {
            let row = logs.row(wait.lock).filter(|_| wait.what != logged::JOIN);
            if row.is_some_and(|row| locks[row].class.is_caused_by_holders()) {
                *sum = sum.saturating_sub(ticks);
            }
        }
    }
}

/// Bounds what a thread waited by its life.
pub(super) fn bound(thread: &mut Thread) {
    let Some(lived_ns) = thread.lived_ns else { return };
    let wait_ns = thread.wait_ns.unwrap_or(0).min(lived_ns);
    thread.wait_ns = thread.wait_ns.map(|_| wait_ns);
    thread.joined_ns = thread.joined_ns.map(|ns| ns.min(lived_ns - wait_ns));
}
