//! Blame: the code whose holds caused the waiting, per lock and over all locks.
//!
//! # Invariants
//! I1: the parts of a row's blame sum to its total wait. Waits that are unfinished when the record ends have pieces
//!     booked but no total; so the pieces are bounded by it.

use super::site::{called_by, caller, holding};
use super::stacks::Stacks;
use crate::code::line;
use crate::findings::cause;
use crate::run::{Blame, Blamed, BlamedKind, Frame, Lock, Process, WaitedIn};
use std::cmp::Reverse;
use std::collections::HashMap;
use uncontended_trace::layout::{CHAIN, CHAINED, DIED, PASSED, WAITED, WAKE, WOKEN_INTO};
use uncontended_trace::reader::{CausedRecord, CellRecord, Record};

/// How many callers of a culprit are kept.
const CALLERS: usize = 4;

/// The stack of the release for each stack of an acquisition, where one is known.
pub(super) struct Sites {
    releases: HashMap<u32, (u64, u32)>,
}

impl Sites {
    /// From all cells of the record: no two images have a stack of the same number.
    pub(super) fn new(record: &Record<'_>) -> Self {
        let mut releases = HashMap::new();
        let threads = record.processes.iter().flat_map(|image| &image.threads);
        let cells = threads.flat_map(|thread| &thread.cells);
        let caused = cells.flat_map(|&cell| record.caused(cell));
        for caused in caused.filter(|caused| caused.release != 0) {
            let longest = (caused.longest, caused.release);
            let kept = releases.entry(caused.stack).or_insert(longest);
            *kept = longest.max(*kept);
        }
        Sites { releases }
    }

    /// The line of code to blame for holds, or wakeups, with this stack.
    pub(super) fn line(
        &self,
        kind: BlamedKind,
        stack: u32,
        stacks: &mut Stacks<'_>,
    ) -> Option<Frame> {
        self.piece(kind, stack, stacks).site.as_ref().map(line)
    }

    /// Waiting that the holds, or wakeups, with this stack caused.
    pub(super) fn piece(&self, kind: BlamedKind, stack: u32, stacks: &mut Stacks<'_>) -> Blamed {
        let release = self.releases.get(&stack).map_or(0, |&(_, release)| release);
        let pids = stacks.pid(stack).into_iter().collect();
        let release = stacks.frames(release);
        let stack = match kind {
            BlamedKind::Wake => stacks.wakeup(stack),
            BlamedKind::Hold | BlamedKind::Idle => stacks.frames(stack),
        };
        let site = holding(&stack, &release, stacks.skipped);
        let caller = site.as_ref().and_then(|site| caller(site, &stack, stacks.skipped)).map(line);
        Blamed {
            site,
            callers: caller.into_iter().collect(),
            callers_wait_ns: Vec::new(),
            stack,
            kind,
            cause: None,
            wait_ns: 0,
            share: 0.0,
            waits: 0,
            holds: 0,
            longest_ns: 0,
            passed_on_ns: 0,
            woken_into_ns: 0,
            died_ns: 0,
            path_ns: None,
            gain_at_most_ns: None,
            may_move_to: Vec::new(),
            pids,
            locks: Vec::new(),
        }
    }
}

/// What a row was waited for.
#[derive(Default)]
pub(super) struct Division {
    /// Its parts.
    pub(super) blame: Option<Blame>,
    /// The code whose holds caused the waiting.
    pub(super) held_by: Vec<Blamed>,
    /// The code that ended the waiting, for what is not held.
    pub(super) ended_by: Vec<Blamed>,
    /// The same after chains: what a holder passed on is the other holder's.
    pub(super) followed: Vec<Blamed>,
    /// The share of the waiting that threads ended which had what the waiter wanted.
    pub(super) passed: f64,
}

/// Whether this is waiting that holds caused.
pub(super) fn is_held(caused: &CausedRecord) -> bool {
    ![WAKE, PASSED, CHAIN, CHAINED, WAITED, WOKEN_INTO, DIED].contains(&caused.passed_to)
}

/// A part of the waiting that the holds of each stack caused, by stack.
struct Parts(HashMap<u32, u64>);

impl Parts {
    /// What is booked apart with `which` in [`CausedRecord::passed_to`].
    fn of<'c>(
        caused: impl Iterator<Item = &'c CausedRecord>,
        which: u32,
        ns: impl Fn(u64) -> u64,
    ) -> Parts {
        let mut parts: HashMap<u32, u64> = HashMap::new();
        for part in caused.filter(|caused| caused.passed_to == which) {
            let sum = parts.entry(part.stack).or_default();
            *sum = sum.saturating_add(ns(part.wait));
        }
        Parts(parts)
    }

    /// What a piece of that stack's waiting has of it.
    fn take(&mut self, stack: u32, wait_ns: u64) -> u64 {
        self.0.get_mut(&stack).map_or(0, |left| {
            let of_piece = wait_ns.min(*left);
            *left -= of_piece;
            of_piece
        })
    }
}

/// Divides the `total_ns` of a row.
pub(super) fn divide<'c>(
    cells: impl Iterator<Item = &'c CellRecord> + Clone,
    total_ns: u64,
    ns: impl Fn(u64) -> u64,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Division {
    let free_ns = super::sum(cells.clone().map(|cell| ns(cell.wait_free)));
    let (mut held_by, mut followed) = (Vec::new(), Vec::new());
    let of_holds = || cells.clone().flat_map(|cell| &cell.caused);
    let [mut woken_into, mut died] =
        [WOKEN_INTO, DIED].map(|which| Parts::of(of_holds(), which, &ns));
    for caused in of_holds().filter(|caused| is_held(caused)) {
        let piece = Blamed {
            wait_ns: ns(caused.wait),
            waits: caused.waits,
            holds: caused.holds,
            longest_ns: ns(caused.longest),
            passed_on_ns: ns(caused.passed_on.min(caused.wait)),
            woken_into_ns: woken_into.take(caused.stack, ns(caused.wait)),
            died_ns: died.take(caused.stack, ns(caused.wait)),
            ..sites.piece(BlamedKind::Hold, caused.stack, stacks)
        };
        let direct_ns = piece.wait_ns - piece.passed_on_ns;
        followed.push(Blamed { wait_ns: direct_ns, passed_on_ns: 0, ..piece.clone() });
        if piece.passed_on_ns > 0 {
            followed.push(Blamed {
                wait_ns: piece.passed_on_ns,
                waits: piece.waits,
                holds: piece.holds,
                ..sites.piece(BlamedKind::Hold, caused.passed_to, stacks)
            });
        }
        held_by.push(piece);
    }
    let (mut held_by, booked_ns) = booked(held_by, total_ns);
    let mut followed = merged(followed);
    for pieces in [&mut held_by, &mut followed] {
        add_waiters(pieces, cells.clone(), stacks);
    }
    let held_ns = booked_ns.min(total_ns);
    let idle_ns = free_ns.min(total_ns - held_ns);
    let unknown_ns = total_ns - held_ns - idle_ns;
    let blame = Blame { held_ns, ended_ns: 0, idle_ns, unknown_ns };
    debug_assert_eq!(sum_of(&blame), total_ns, "I1: the parts are the whole");
    Division { blame: Some(blame), held_by, followed, ..Division::default() }
}

/// What the holds of one stack are to blame for.
pub(super) struct Held {
    pub(super) stack: u32,
    pub(super) wait_ns: u64,
    pub(super) waits: u64,
    pub(super) holds: u64,
    pub(super) longest_ns: u64,
}

/// The division of the `total_ns` of a row of which these holds have their parts, and none passes anything on.
pub(super) fn held_in_parts(
    held: impl Iterator<Item = Held>,
    total_ns: u64,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Division {
    let piece = |held: Held| Blamed {
        wait_ns: held.wait_ns,
        waits: held.waits,
        holds: held.holds,
        longest_ns: held.longest_ns,
        ..sites.piece(BlamedKind::Hold, held.stack, stacks)
    };
    let (held_by, booked_ns) = booked(held.map(piece).collect(), total_ns);
    let held_ns = booked_ns.min(total_ns);
    let blame = Blame { held_ns, unknown_ns: total_ns - held_ns, ..Blame::default() };
    let followed = held_by.clone();
    Division { blame: Some(blame), held_by, followed, ..Division::default() }
}

/// Fewer passes than this may be chance: a thread that lets another begin may also let it end.
const PASSES: u64 = 3;

/// The same for what no thread holds: a wait is ended by another thread, by its deadline, or by nothing that was seen.
///
/// Of a lock (`is_lock`), each wakeup of a chain is to blame for its own part.
pub(super) fn ended<'c>(
    cells: impl Iterator<Item = &'c CellRecord> + Clone,
    total_ns: u64,
    is_lock: bool,
    ns: impl Fn(u64) -> u64,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Division {
    let piece = |caused: &CausedRecord| Blamed {
        wait_ns: ns(caused.wait),
        waits: caused.waits,
        longest_ns: ns(caused.longest),
        ..sites.piece(BlamedKind::Wake, caused.stack, stacks)
    };
    let timed_out_ns = super::sum(cells.clone().map(|cell| {
        let lost = cell.timed_out;
        ns(lost.total.saturating_sub(lost.served))
    }));
    let chains = if is_lock { CHAINED } else { CHAIN };
    let of = |caused: &&CausedRecord| [WAKE, PASSED, chains].contains(&caused.passed_to);
    let caused = cells.clone().flat_map(|cell| &cell.caused).filter(of);
    let passed = caused.clone().filter(|caused| caused.passed_to == PASSED);
    let passed_ns = super::sum(passed.clone().map(|caused| ns(caused.wait)));
    let passes = super::sum(passed.map(|caused| caused.waits));
    let is_usual =
        passes >= PASSES && 2 * passes >= super::sum(caused.clone().map(|all| all.waits));
    let (mut ended_by, booked_ns) = booked(caused.map(piece).collect(), total_ns);
    add_waiters(&mut ended_by, cells, stacks);
    let passed_ns = if is_usual { passed_ns } else { 0 };
    let passed = passed_ns as f64 / total_ns.max(booked_ns).max(1) as f64;
    let ended_ns = booked_ns.saturating_add(timed_out_ns).min(total_ns);
    let blame = Blame { ended_ns, unknown_ns: total_ns - ended_ns, ..Blame::default() };
    debug_assert_eq!(sum_of(&blame), total_ns, "I1: the parts are the whole");
    Division { blame: Some(blame), ended_by, passed, ..Division::default() }
}

/// The code in which the threads of a row waited, the most waiting first.
pub(super) fn waited_in<'c>(
    cells: impl Iterator<Item = &'c CellRecord>,
    total_ns: u64,
    ns: impl Fn(u64) -> u64,
    stacks: &mut Stacks<'_>,
) -> Vec<WaitedIn> {
    let waits = cells.flat_map(|cell| &cell.caused).filter(|waits| waits.passed_to == WAITED);
    let mut sites: HashMap<Option<Frame>, WaitedIn> = HashMap::new();
    for waits in waits {
        let stack = stacks.frames(waits.stack);
        let site = stacks.skipped.site(&stack).cloned();
        let line = site.as_ref().map(line);
        let new = WaitedIn { site, stack, wait_ns: 0, share: 0.0, waits: 0, longest_ns: 0 };
        let sum = sites.entry(line).or_insert(new);
        sum.wait_ns = sum.wait_ns.saturating_add(ns(waits.wait));
        sum.waits = sum.waits.saturating_add(waits.waits);
        sum.longest_ns = sum.longest_ns.max(ns(waits.longest));
    }
    let mut sites: Vec<WaitedIn> = sites.into_values().collect();
    sites.sort_by(|a, b| (b.wait_ns, &a.stack).cmp(&(a.wait_ns, &b.stack)));
    for site in &mut sites {
        site.share = if total_ns > 0 { site.wait_ns as f64 / total_ns as f64 } else { 0.0 };
    }
    sites
}

/// The pieces of a row that waited for `total_ns`, merged and with their shares, and the waiting booked in them.
fn booked(pieces: Vec<Blamed>, total_ns: u64) -> (Vec<Blamed>, u64) {
    let mut pieces = merged(pieces);
    let booked_ns = super::sum(pieces.iter().map(|piece| piece.wait_ns));
    share_out(&mut pieces, total_ns.max(booked_ns));
    (pieces, booked_ns)
}

/// Adds what a hold has cost that went on when the record ended; `followed` is the row's code after chains, of which
/// the hold has these parts. The row's total has none of it.
pub(super) fn add_unfinished(
    lock: &mut Lock,
    followed: &mut Vec<Blamed>,
    direct: Blamed,
    parts: [Blamed; 2],
) {
    let total_ns = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    let mut held_by = std::mem::take(&mut lock.held_by);
    held_by.push(direct);
    (lock.held_by, _) = booked(held_by, total_ns);
    lock.blame = Some(lock.blame.unwrap_or_default());
    followed.extend(parts);
    *followed = merged(std::mem::take(followed));
}

/// What some code did, or what is to be blamed for it, and the line.
pub(super) type Line = (BlamedKind, Option<Frame>);

/// A part of the waiting that other code is to blame for.
pub(super) struct PassedOn {
    /// The other code, with the longest part of one hold.
    pub(super) to: Blamed,
    /// Which share it is of what is blamed on the code that passes it on.
    pub(super) share: f64,
    /// The part of that for the code's own holds or wakeups: the rest it had from another chain.
    pub(super) direct: f64,
}

/// Passes on parts of what the code on a line is to blame for; `followed` is the row's code after chains.
pub(super) fn pass_on(
    lock: &mut Lock,
    followed: &mut Vec<Blamed>,
    of: &Line,
    parts: Vec<PassedOn>,
) {
    let is_it = |piece: &&mut Blamed| {
        piece.kind == of.0 && piece.site.as_ref().map(line).as_ref() == of.1.as_ref()
    };
    let Some(own) = followed.iter_mut().find(is_it) else { return };
    let Blamed { wait_ns: all_ns, waits, holds, longest_ns, .. } = *own;
    let (mut passed_on, mut direct_ns) = (Vec::new(), 0u64);
    for PassedOn { to, share, direct } in parts {
        let part = |share: f64| (all_ns as f64 * share) as u64;
        let wait_ns = part(share).min(own.wait_ns);
        own.wait_ns -= wait_ns;
        direct_ns = direct_ns.saturating_add(part(direct).min(wait_ns));
        let holds = if to.kind == BlamedKind::Hold { holds.max(1) } else { 0 };
        let longest_ns = to.longest_ns.min(longest_ns);
        passed_on.push(Blamed { wait_ns, waits, holds, longest_ns, ..to });
    }
    if let Some(direct) = lock.held_by.iter_mut().chain(&mut lock.ended_by).find(is_it) {
        let passed_on_ns = direct.passed_on_ns.saturating_add(direct_ns);
        direct.passed_on_ns = passed_on_ns.min(direct.wait_ns);
    }
    followed.extend(passed_on);
    *followed = merged(std::mem::take(followed));
}

fn sum_of(blame: &Blame) -> u64 {
    let &Blame { held_ns, ended_ns, idle_ns, unknown_ns } = blame;
    super::sum([held_ns, ended_ns, idle_ns, unknown_ns])
}

/// Pieces of one kind and line become one; the greatest waiting comes first. Where waits ended during a hold, one piece
/// has their waiting, and another counts the hold: at least one, if that went on to the end.
fn merged(mut all: Vec<Blamed>) -> Vec<Blamed> {
    all.retain(|piece| piece.wait_ns > 0 || piece.holds > 0);
    for piece in &mut all {
        // Of one that is not merged yet, all is its only caller's.
        piece.callers_wait_ns.resize(piece.callers.len(), piece.wait_ns);
    }
    // The order within a site decides whose stack stays.
    all.sort_by(|a, b| (b.wait_ns, &a.stack, &a.locks).cmp(&(a.wait_ns, &b.stack, &b.locks)));
    let mut places = HashMap::new();
    let mut sites: Vec<Blamed> = Vec::new();
    for piece in all {
        let line = piece.site.as_ref().map(line);
        let place = *places.entry((piece.kind, line)).or_insert(sites.len());
        let Some(sum) = sites.get_mut(place) else {
            sites.push(piece);
            continue;
        };
        sum.wait_ns = sum.wait_ns.saturating_add(piece.wait_ns);
        sum.waits = sum.waits.saturating_add(piece.waits);
        sum.holds = sum.holds.saturating_add(piece.holds);
        sum.longest_ns = sum.longest_ns.max(piece.longest_ns);
        sum.passed_on_ns = sum.passed_on_ns.saturating_add(piece.passed_on_ns);
        sum.woken_into_ns = sum.woken_into_ns.saturating_add(piece.woken_into_ns);
        sum.died_ns = sum.died_ns.saturating_add(piece.died_ns);
        sum.locks.extend(piece.locks);
        let callers = piece.callers.into_iter().zip(piece.callers_wait_ns);
        callers.for_each(|(caller, wait_ns)| add_caller(sum, caller, wait_ns));
        sum.pids.extend(piece.pids);
        sum.pids.sort_unstable();
        sum.pids.dedup();
    }
    sites.retain(|site| site.wait_ns > 0);
    for site in sites.iter_mut().filter(|site| site.kind == BlamedKind::Hold) {
        site.holds = site.holds.max(1);
    }
    sites.sort_by_key(|site| Reverse(site.wait_ns));
    sites.iter_mut().for_each(rank_callers);
    sites
}

/// Adds waiting that was for this caller of the function.
fn add_caller(of: &mut Blamed, caller: Frame, wait_ns: u64) {
    match of.callers.iter().position(|known| known.function == caller.function) {
        Some(at) => of.callers_wait_ns[at] = of.callers_wait_ns[at].saturating_add(wait_ns),
        None => {
            of.callers.push(caller);
            of.callers_wait_ns.push(wait_ns);
        }
    }
}

/// Brings those of the most waiting to the front, and drops the last.
fn rank_callers(of: &mut Blamed) {
    let mut callers: Vec<(Frame, u64)> =
        of.callers.drain(..).zip(of.callers_wait_ns.drain(..)).collect();
    callers.sort_by_key(|&(_, wait_ns)| Reverse(wait_ns));
    callers.truncate(CALLERS);
    (of.callers, of.callers_wait_ns) = callers.into_iter().unzip();
}

/// Adds those that waited in the same functions: they call these, too.
fn add_waiters<'c>(
    pieces: &mut [Blamed],
    cells: impl Iterator<Item = &'c CellRecord>,
    stacks: &mut Stacks<'_>,
) {
    for waits in cells.flat_map(|cell| &cell.caused).filter(|of| of.passed_to == WAITED) {
        let stack = stacks.frames(waits.stack);
        for piece in pieces.iter_mut() {
            let site = piece.site.as_ref();
            let caller = site.and_then(|site| called_by(site, &stack, stacks.skipped)).map(line);
            caller.into_iter().for_each(|caller| add_caller(piece, caller, 0));
        }
    }
    pieces.iter_mut().for_each(rank_callers);
}

fn share_out(pieces: &mut [Blamed], total_ns: u64) {
    for piece in pieces {
        piece.share = if total_ns > 0 { piece.wait_ns as f64 / total_ns as f64 } else { 0.0 };
    }
}

/// The code that caused the waiting at all locks of class contention or gate, after chains, the most first: `followed`
/// is each lock's.
pub(super) fn culprits(processes: &[Process], followed: Vec<Vec<Blamed>>) -> Vec<Blamed> {
    let locks = processes.iter().flat_map(|process| &process.locks);
    let is_ranked = |(lock, _): &(&Lock, _)| lock.class.is_caused_by_holders();
    let (contended, followed): (Vec<&Lock>, Vec<Vec<Blamed>>) =
        locks.zip(followed).filter(is_ranked).unzip();
    // The pieces have waits that were unfinished at the end, too.
    let total = |(lock, pieces): (&&Lock, &Vec<Blamed>)| {
        let idle_ns = lock.blame.map_or(0, |blame| blame.idle_ns);
        let pieces_ns = super::sum(pieces.iter().map(|piece| piece.wait_ns));
        lock.wait_ns.as_ref().map_or(0, |wait| wait.total).max(pieces_ns.saturating_add(idle_ns))
    };
    let total_ns = super::sum(contended.iter().zip(&followed).map(total));
    let held = contended.iter().zip(followed).flat_map(|(lock, pieces)| {
        pieces.into_iter().map(|piece| Blamed { locks: vec![lock.id], ..piece })
    });
    let mut culprits = merged(held.collect());
    culprits.extend(processes.iter().flat_map(idle));
    culprits.sort_by_key(|culprit| Reverse(culprit.wait_ns));
    share_out(&mut culprits, total_ns);
    culprits
}

/// The idle time of a process's contended locks and gates: those of one kind, class and site are one culprit.
fn idle(process: &Process) -> Vec<Blamed> {
    let mut culprits: Vec<Blamed> = Vec::new();
    let mut places = HashMap::new();
    let is_blamed = |lock: &&Lock| lock.class.is_caused_by_holders();
    let idle_ns = |lock: &Lock| lock.blame.map_or(0, |blame| blame.idle_ns);
    let mut locks: Vec<&Lock> = process.locks.iter().filter(is_blamed).collect();
    locks.retain(|lock| idle_ns(lock) > 0);
    // Its cause and its code are those of the worst one.
    locks.sort_by_key(|lock| (Reverse(idle_ns(lock)), lock.id));
    for lock in locks {
        let alone = if lock.site.is_none() { Some(lock.id) } else { None };
        let key = (lock.kind, lock.class, lock.site.as_ref(), alone);
        let place = *places.entry(key).or_insert(culprits.len());
        if place == culprits.len() {
            let most = lock.waited_in.first();
            culprits.push(Blamed {
                site: most.and_then(|at| at.site.clone()),
                callers: Vec::new(),
                callers_wait_ns: Vec::new(),
                stack: most.map_or_else(Vec::new, |at| at.stack.clone()),
                kind: BlamedKind::Idle,
                cause: Some(cause(lock)),
                wait_ns: 0,
                share: 0.0,
                waits: 0,
                holds: 0,
                longest_ns: 0,
                passed_on_ns: 0,
                woken_into_ns: 0,
                died_ns: 0,
                path_ns: None,
                gain_at_most_ns: None,
                may_move_to: Vec::new(),
                pids: Vec::new(),
                locks: Vec::new(),
            });
        }
        let sum = &mut culprits[place];
        sum.wait_ns = sum.wait_ns.saturating_add(idle_ns(lock));
        let waits = lock.wait_ns.as_ref().map_or(0, |wait| wait.count);
        sum.waits = sum.waits.saturating_add(waits);
        sum.longest_ns = sum.longest_ns.max(lock.idle_ns.as_ref().map_or(0, |idle| idle.max));
        sum.locks.push(lock.id);
    }
    culprits
}

#[cfg(test)]
mod tests {
    use super::super::site::stack;
    use super::*;
    use crate::code::Skipped;

    #[test]
    fn the_callers_of_one_culprit_are_kept_those_of_the_most_waiting_first() {
        let outside =
            Frame { module: Some("libc.so.6".into()), ..stack(&[("start", "9")])[0].clone() };
        let piece = |caller: &str, wait_ns| {
            let mut stack =
                stack(&[("unlock", "1"), ("give", "2"), ("x", "3"), (caller, "4"), ("main", "5")]);
            stack[2] = outside.clone();
            let site = Some(stack[1].clone());
            let callers = super::caller(&stack[1], &stack, &Skipped::default())
                .cloned()
                .into_iter()
                .collect();
            Blamed { site, stack, callers, wait_ns, ..blamed() }
        };
        let pieces = vec![piece("b", 2), piece("a", 3), piece("b", 2), piece("c", 1)];
        let [one] = &merged(pieces)[..] else { panic!("one culprit") };
        let names: Vec<_> =
            one.callers.iter().map(|frame| frame.function.as_deref().unwrap()).collect();
        assert_eq!((names, one.wait_ns), (vec!["b", "a", "c"], 8));
        assert_eq!(one.callers_wait_ns, [4, 3, 1]);
        let many = ["a", "b", "c", "d", "e"].map(|name| piece(name, 1)).to_vec();
        assert_eq!(merged(many)[0].callers.len(), CALLERS);
    }

    fn blamed() -> Blamed {
        Blamed {
            site: None,
            callers: Vec::new(),
            callers_wait_ns: Vec::new(),
            stack: Vec::new(),
            kind: BlamedKind::Wake,
            cause: None,
            wait_ns: 0,
            share: 0.0,
            waits: 0,
            holds: 0,
            longest_ns: 0,
            passed_on_ns: 0,
            woken_into_ns: 0,
            died_ns: 0,
            path_ns: None,
            gain_at_most_ns: None,
            may_move_to: Vec::new(),
            pids: Vec::new(),
            locks: Vec::new(),
        }
    }
}
