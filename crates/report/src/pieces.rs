//! A lock's waiting in pieces: the code that each is blamed on, or why it is blamed on none.

use crate::run::{BlamedKind, Frame, Lock};

/// A part of a lock's waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) cause: Cause,
    /// The stack that it is blamed on, innermost frame first; empty if there is none.
    pub(crate) stack: &'a [Frame],
    pub(crate) ns: u64,
}

/// What a piece is blamed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The lock was held.
    Held,
    /// A thread ended the wait.
    Woken,
    /// The lock was free.
    Idle,
    /// The deadline ended the wait.
    Deadline,
    /// That is not known.
    Unknown,
}

impl Cause {
    /// A word in place of a stack.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Cause::Held | Cause::Woken => "code not recorded",
            Cause::Idle => "idle",
            Cause::Deadline => "deadline",
            Cause::Unknown => "unknown",
        }
    }
}

/// The pieces of a lock's waiting, those with code first.
pub(crate) fn pieces(lock: &Lock) -> impl Iterator<Item = Piece<'_>> {
    let blamed = lock.held_by.iter().chain(&lock.ended_by).map(|by| {
        let cause = if by.kind == BlamedKind::Wake { Cause::Woken } else { Cause::Held };
        Piece { cause, stack: &by.stack, ns: by.wait_ns }
    });
    let woken_ns = lock.ended_by.iter().fold(0u64, |sum, by| sum.saturating_add(by.wait_ns));
    let total_ns = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    let [idle_ns, deadline_ns, unknown_ns] = match lock.blame {
        Some(blame) => [blame.idle_ns, blame.ended_ns.saturating_sub(woken_ns), blame.unknown_ns],
        None => [0, 0, total_ns],
    };
    let rest =
        [(Cause::Idle, idle_ns), (Cause::Deadline, deadline_ns), (Cause::Unknown, unknown_ns)];
    blamed.chain(rest.map(|(cause, ns)| Piece { cause, stack: &[], ns })).filter(|p| p.ns > 0)
}
