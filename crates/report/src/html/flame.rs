//! Both ends of each wait: the waiter's stack above the lock, and below it the stack that the waiting is blamed on.

use crate::aggregate::sum;
use crate::pieces::{Cause, Piece, pieces};
use crate::rows::{Row, callers, function, kind_of, place};
use crate::run::{Class, Frame};
use crate::svg::{Column, flame};
use maud::Markup;
use std::cmp::Reverse;
use uncontended_figures as figures;

/// How many rows are shown.
const ROWS: usize = 8;
/// How many pieces of a row have columns of their own.
const PIECES: usize = 8;

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
    let middle = format!("{} #{} {}", kind_of(row.first()), row.first().id, place(row.first()));
    let waiter = row.longest_waited().and_then(|lock| lock.worst_wait.as_ref());
    let above = waiter.map_or_else(Vec::new, |worst| names(&worst.waiter));
    let column = |below: Vec<String>, colour: usize, ns: u64| Column {
        middle: middle.clone(),
        above: above.clone(),
        below,
        colour,
        weight: ns as f64,
    };
    let of_row = row.locks.iter().flat_map(|lock| pieces(lock));
    let (mut with_code, others): (Vec<Piece<'_>>, Vec<_>) =
        of_row.partition(|piece| matches!(piece.cause, Cause::Held | Cause::Woken));
    with_code.sort_by_key(|piece| Reverse(piece.ns));
    let shown = with_code.iter().take(PIECES).map(|piece| {
        let names = names(piece.stack);
        let names = if names.is_empty() { vec![piece.cause.word().to_owned()] } else { names };
        column(names, colour(piece.cause), piece.ns)
    });
    let elsewhere = sum(with_code.iter().skip(PIECES).map(|piece| piece.ns));
    let rest = [Cause::Idle, Cause::Deadline, Cause::Unknown].map(|cause| {
        let ns = sum(others.iter().filter(|piece| piece.cause == cause).map(|piece| piece.ns));
        column(vec![cause.word().to_owned()], colour(cause), ns)
    });
    let elsewhere = column(vec!["elsewhere".to_owned()], colour(Cause::Held), elsewhere);
    shown.chain([elsewhere]).chain(rest).collect()
}

/// The colour of what waiting is blamed on.
fn colour(cause: Cause) -> usize {
    match cause {
        Cause::Idle => 1,
        Cause::Held => 2,
        Cause::Woken | Cause::Deadline => 4,
        Cause::Unknown => 5,
    }
}

/// The functions of a stack without the lock's own, innermost first.
fn names(stack: &[Frame]) -> Vec<String> {
    callers(stack).map(function).collect()
}
