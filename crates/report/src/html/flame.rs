//! Both ends of each wait: the waiter's stack above the lock, and below it the stack that the waiting is blamed on.

use crate::aggregate::sum;
use crate::rows::{Row, callers, function, kind_name, place};
use crate::run::{BlamedKind, Class, Frame};
use crate::svg::{Column, flame};
use maud::Markup;
use std::cmp::Reverse;
use uncontended_figures as figures;

/// How many rows are shown.
const ROWS: usize = 8;
/// How many pieces of a row have columns of their own.
const PIECES: usize = 8;
/// The colours of what waiting is blamed on.
const HELD: usize = 2;
const IDLE: usize = 1;
const WOKEN: usize = 4;
const UNKNOWN: usize = 5;

/// A remark and the picture, if threads contended.
pub(super) fn both_ends(rows: &[Row<'_>]) -> Option<(&'static str, Markup)> {
    let is_shown = |row: &&Row<'_>| {
        matches!(row.class(), Class::Contention | Class::Gate) && row.wait_total() > 0
    };
    let columns: Vec<Column> = rows.iter().filter(is_shown).take(ROWS).flat_map(columns).collect();
    let remark = "Contended locks and gates; the width is waiting. Above each lock: where it was waited for longest. Below: the code \
                  that the waiting is blamed on, the innermost function first.";
    let title = "Waiting by lock, with the stacks of waiters and culprits";
    let picture = || flame(title, &columns, figures::duration_f);
    (!columns.is_empty()).then(|| (remark, picture()))
}

/// The pieces of a row's waiting, the largest first.
fn columns(row: &Row<'_>) -> Vec<Column> {
    let middle = format!("{} #{} {}", kind_name(row.kind()), row.first().id, place(row.first()));
    let waiter = row.longest_waited().and_then(|lock| lock.worst_wait.as_ref());
    let above = waiter.map_or_else(Vec::new, |worst| names(&worst.waiter));
    let column = |below: Vec<String>, colour: usize, ns: u64| Column {
        middle: middle.clone(),
        above: above.clone(),
        below,
        colour,
        weight: ns as f64,
    };
    let blamed = row.locks.iter().flat_map(|lock| lock.held_by.iter().chain(&lock.ended_by));
    let pieces = blamed.map(|by| {
        let colour = if by.kind == BlamedKind::Wake { WOKEN } else { HELD };
        let stack = names(&by.stack);
        let stack = if stack.is_empty() { vec!["code not recorded".to_owned()] } else { stack };
        (stack, colour, by.wait_ns)
    });
    let mut pieces: Vec<_> = pieces.collect();
    pieces.sort_by_key(|&(_, _, ns)| Reverse(ns));
    let rest = sum(pieces.iter().skip(PIECES).map(|&(_, _, ns)| ns));
    pieces.truncate(PIECES);
    let blames = || row.locks.iter().filter_map(|lock| lock.blame);
    pieces.push((vec!["elsewhere".to_owned()], HELD, rest));
    pieces.push((vec!["idle".to_owned()], IDLE, sum(blames().map(|blame| blame.idle_ns))));
    pieces.push((vec!["unknown".to_owned()], UNKNOWN, sum(blames().map(|blame| blame.unknown_ns))));
    pieces.into_iter().map(|(stack, colour, ns)| column(stack, colour, ns)).collect()
}

/// The functions of a stack without the lock's own, innermost first.
fn names(stack: &[Frame]) -> Vec<String> {
    callers(stack).map(function).collect()
}
