//! Both ends of each wait: the waiter's stack above the lock, and below it the stack that the waiting is blamed on.

use crate::aggregate::sum;
use crate::pieces::{Cause, Piece, pieces};
use crate::rows::{Row, callers, function, kind_of};
use crate::run::{Class, Frame, WaitedIn};
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
    let remark = "Contended locks and gates; the width is waiting. Above each lock: the code that waited. Below: the code that the \
                  waiting is blamed on. The innermost functions are next to the lock. The two sides are divided apart: \
                  what is above need not have waited for what is below.";
    let title = "Waiting by lock, with the stacks of waiters and culprits";
    let picture = || flame(title, &columns, figures::duration_f);
    (!columns.is_empty()).then(|| (remark, picture()))
}

/// A part of a side: its stack, the colour and the waiting.
struct Part {
    names: Vec<String>,
    colour: usize,
    ns: u64,
}

/// The columns of a row: the record has the waiting of each waiter and of each culprit, but not which of them met, so
/// the sides are divided apart.
fn columns(row: &Row<'_>) -> Vec<Column> {
    let middle = format!("{} {} {}", kind_of(row.first()), row.label(), row.place());
    let (mut above, mut below) = (waiters(row).into_iter(), culprits(row).into_iter());
    let (mut up, mut down) = (above.next(), below.next());
    let mut columns = Vec::new();
    while let (Some(waiter), Some(culprit)) = (&mut up, &mut down) {
        let ns = waiter.ns.min(culprit.ns);
        columns.push(Column {
            middle: middle.clone(),
            above: waiter.names.clone(),
            below: culprit.names.clone(),
            colour: culprit.colour,
            weight: ns as f64,
        });
        (waiter.ns, culprit.ns) = (waiter.ns - ns, culprit.ns - ns);
        if waiter.ns == 0 {
            up = above.next();
        }
        if down.as_ref().is_some_and(|culprit| culprit.ns == 0) {
            down = below.next();
        }
    }
    columns
}

/// The places that waited, the most waiting first; they sum to the row's waiting.
fn waiters(row: &Row<'_>) -> Vec<Part> {
    let mut places: Vec<&WaitedIn> = row.locks.iter().flat_map(|lock| &lock.waited_in).collect();
    places.sort_by_key(|place| Reverse(place.wait_ns));
    let mut left = row.wait_total();
    let mut parts: Vec<Part> = Vec::new();
    for place in places.into_iter().take(PIECES) {
        let ns = place.wait_ns.min(left);
        left -= ns;
        parts.push(Part { names: names(&place.stack), colour: 0, ns });
    }
    let rest = Part { names: vec!["elsewhere".to_owned()], colour: 0, ns: left };
    parts.into_iter().chain([rest]).filter(|part| part.ns > 0).collect()
}

/// What the waiting of a row is blamed on, the largest part first.
fn culprits(row: &Row<'_>) -> Vec<Part> {
    let of_row = row.locks.iter().flat_map(|lock| pieces(lock));
    let (mut with_code, others): (Vec<Piece<'_>>, Vec<_>) =
        of_row.partition(|piece| matches!(piece.cause, Cause::Held | Cause::Woken));
    with_code.sort_by_key(|piece| Reverse(piece.ns));
    let shown = with_code.iter().take(PIECES).map(|piece| {
        let names = names(piece.stack);
        let names = if names.is_empty() { vec![piece.cause.word().to_owned()] } else { names };
        Part { names, colour: colour(piece.cause), ns: piece.ns }
    });
    let elsewhere = sum(with_code.iter().skip(PIECES).map(|piece| piece.ns));
    let rest = [Cause::Idle, Cause::Deadline, Cause::Unknown].map(|cause| {
        let ns = sum(others.iter().filter(|piece| piece.cause == cause).map(|piece| piece.ns));
        Part { names: vec![cause.word().to_owned()], colour: colour(cause), ns }
    });
    let elsewhere =
        Part { names: vec!["elsewhere".to_owned()], colour: colour(Cause::Held), ns: elsewhere };
    shown.chain([elsewhere]).chain(rest).filter(|part| part.ns > 0).collect()
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
