//! Chains that the observer does not follow: what the thread that had a lock waited for itself, meanwhile.
//!
//! # Contract
//! The observer passes on what a holder waited for another lock's holder, and so names the head of a chain of such
//! locks. From the threads' logs, [`follow`] adds the rest of each chain:
//! - a wait for a condition, a barrier, a post, a futex or another thread's end is passed on to the code that ended it,
//!   up to the time when it did that; the end of a thread to the function that the thread ran;
//! - what a thread waited for a lock after that, or while it had a lock that is seen by its wakeups, is passed on to
//!   the holds of that lock.
//!
//! Each thread of a chain is to blame for what only it did. What a thread waited for until its time ran out, or until
//! something that was not seen, is its own, unless it went straight back to wait for the same: then it is for what
//! ended the last wait; so is what was before the thread that ended the wait was made. Where the
//! logs keep the newest waits and holds alone, their shares are those of all. Of readers at once, each instant belongs
//! to the one that leaves last, as for the observer, which follows only those that leave no reader behind. Holders of
//! locks that several processes share pass nothing on.
//! # Invariants
//! I1: what the observer has passed on is divided as a part of what is blamed on the code that has it: it counts once.
//! # Evidence
//! `tests/chains.rs`; `tests/programs`: `blame_chain_condition.c`, `blame_chain_mixed.c`, `blame_chain_of_futexes.c`.

use super::blame::{Line, PassedOn, Sites, pass_on};
use super::joins::ran;
use super::locks::Rows;
use super::meanwhile::{Hold, Meanwhile, Wait, holds_in, is_held_by_one, of_both_sides, writers};
use super::passes::{Pass, is_passed};
use super::stacks::Stacks;
use super::waiting::Waiting;
use crate::code::line;
use crate::run::{Blamed, BlamedKind, Frame, Kind, Lock};
use std::collections::{BTreeMap, HashMap};
use uncontended_trace::reader::{ProcessRecord, Record};

/// How many threads of a chain are followed.
const LONGEST: usize = 64;
/// How many parts of holds are looked at: a bound on the time that this takes.
const MOST: usize = 1_000_000;

/// What may be to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Code {
    /// Holds of a row, with a stack.
    Hold(usize, u32),
    /// Wakeups of the waiters of a row, with a stack.
    Wake(usize, u32),
    /// What a thread did until its end.
    End(usize),
}

impl Code {
    fn kind(self) -> BlamedKind {
        match self {
            Code::Hold(..) => BlamedKind::Hold,
            Code::Wake(..) | Code::End(_) => BlamedKind::Wake,
        }
    }

    fn row(self) -> Option<usize> {
        match self {
            Code::Hold(row, _) | Code::Wake(row, _) => Some(row),
            Code::End(_) => None,
        }
    }
}

/// A time in which a thread had a lock that others waited for.
struct Root {
    row: usize,
    thread: usize,
    at: (u64, u64),
    code: Code,
    /// Whether the observer follows what the thread waited for.
    is_observed: bool,
}

/// What of the waiting for a row is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    /// The code that has it so far (I1).
    code: Code,
    /// Whether that is the code of the row's own holds or passes.
    is_direct: bool,
}

/// A place in a chain.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: Source,
    thread: usize,
    /// What is to blame for what the thread does itself.
    code: Code,
    length: usize,
    /// Whether the observer has come here, too.
    is_observed: bool,
}

/// What there is to follow.
struct Chains<'a> {
    meanwhile: &'a Meanwhile,
    rows: &'a Rows,
    /// The row of the writers for each row of readers.
    writers: HashMap<usize, usize>,
    /// The holds of both, by the row of the writers.
    shared: HashMap<usize, Vec<Hold>>,
    /// How many more parts are looked at.
    left: usize,
}

impl Chains<'_> {
    /// The threads that a wait in this time was for, with the times in which it was for them: apart, the oldest first.
    fn behind(&self, of: Place, wait: &Wait, (from, to): (u64, u64)) -> Vec<(Place, (u64, u64))> {
        let lock = wait.row.map(|row| &self.rows.locks[row]);
        let Some((row, _)) = wait.row.zip(lock).filter(|(_, lock)| is_held(lock)) else {
            return self.ended(of, wait, (from, to)).into_iter().collect();
        };
        let row = self.writers.get(&row).copied().unwrap_or(row);
        let mut since = from;
        let mut behind = Vec::new();
        let holds = self.shared.get(&row).or_else(|| self.meanwhile.holds.get(&row));
        let holds = holds_in(holds.map_or(&[], Vec::as_slice), (from, to));
        for hold in holds.filter(|by| by.thread != of.thread) {
            let &Hold { thread, began, ended, stack, is_last } = hold;
            let at = (began.max(since), ended.min(to));
            if at.0 < at.1 {
                let code = Code::Hold(row, stack);
                let own = Source { code, is_direct: false };
                let source = if of.is_observed { own } else { of.source };
                let is_observed = of.is_observed && is_last;
                behind.push((Place { source, thread, code, is_observed, ..of.next() }, at));
                since = at.1;
            }
        }
        behind
    }

    /// The same for a wait that another thread ended.
    fn ended(&self, of: Place, wait: &Wait, (from, to): (u64, u64)) -> Option<(Place, (u64, u64))> {
        let (thread, at) = wait.by.filter(|&(by, _)| by != of.thread)?;
        let code = wait.row.map_or(Code::End(thread), |row| Code::Wake(row, wait.by_stack));
        let made = self.meanwhile.made.get(thread).copied().unwrap_or(0);
        let at = (from.max(made), at.min(to));
        (at.0 < at.1).then_some((Place { thread, code, is_observed: false, ..of.next() }, at))
    }

    /// Divides the time from `from` to `to`, in which others waited for what is done at a place of a chain.
    fn divide(
        &mut self,
        of: Place,
        (from, to): (u64, u64),
        add: &mut impl FnMut(Place, (u64, u64)),
    ) {
        let mut own_since = from;
        let meanwhile = self.meanwhile;
        for wait in meanwhile.waits_in(of.thread, (from, to)) {
            if of.length >= LONGEST || self.left == 0 {
                break;
            }
            self.left -= 1;
            let within = (wait.began.max(from), wait.ended.min(to));
            for (next, at) in self.behind(of, wait, within) {
                add(of, (own_since, at.0));
                self.divide(next, at, add);
                own_since = at.1;
            }
        }
        add(of, (own_since, to));
    }
}

impl Place {
    fn next(self) -> Self {
        Place { length: self.length + 1, ..self }
    }
}

/// Whether waits for this are for holds.
fn is_held(lock: &Lock) -> bool {
    is_held_by_one(lock) || lock.kind == Kind::RwlockRead
}

/// The times in which threads had locks that others waited for, of rows that culprits are of.
fn roots(rows: &Rows, meanwhile: &Meanwhile, passes: &[Pass], chains: &Chains<'_>) -> Vec<Root> {
    let is_one = |row: &usize| {
        let lock = &rows.locks[*row];
        lock.class.is_caused_by_holders() && lock.processes.len() < 2
    };
    let pass = |pass: &Pass| Root {
        row: pass.row,
        thread: pass.thread,
        at: (pass.from, pass.to),
        code: Code::Wake(pass.row, pass.stack),
        is_observed: false,
    };
    let mut roots: Vec<Root> = passes.iter().map(pass).collect();
    let held = |row: &usize| is_held_by_one(&rows.locks[*row]) && !chains.shared.contains_key(row);
    let own = meanwhile.holds.iter().filter(|(row, _)| held(row));
    // The waiting of both sides is for the holds of both.
    let both = chains.writers.iter().flat_map(|(readers, writers)| {
        let holds = chains.shared.get(writers);
        [readers, writers].into_iter().filter_map(move |row| Some((row, holds?)))
    });
    for (&row, holds) in own.chain(both).filter(|(row, _)| is_one(row)) {
        roots.extend(holds.iter().map(|hold| Root {
            row,
            thread: hold.thread,
            at: (hold.began, hold.ended),
            code: Code::Hold(row, hold.stack),
            is_observed: hold.is_last,
        }));
    }
    roots.retain(|root| root.at.0 < root.at.1);
    // The order decides which are followed where there are too many.
    roots.sort_unstable_by_key(|root| (root.at, root.thread, root.code));
    roots
}

/// A part of the waiting for a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    ticks: u64,
    /// The longest time of one thread in it.
    longest: u64,
}

impl Part {
    fn add(&mut self, other: Part) {
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.longest = self.longest.max(other.longest);
    }
}

/// The waiting for each row that is blamed on some code so far, by the code that it is to be blamed on.
type Shares = BTreeMap<(usize, Source), BTreeMap<Code, Part>>;

/// A thread, its code, and when it did what a holder waited for.
type Delayed = (usize, Code, (u64, u64));

/// A time in which a thread did what a holder waited for, of code that no hold or pass tells of.
pub(super) struct Delay {
    pub(super) thread: usize,
    pub(super) at: (u64, u64),
    pub(super) line: Option<Frame>,
}

/// The shares, and the times in which other code than that of holds and passes was to blame.
fn shares(
    roots: &[Root],
    waiting: &HashMap<usize, Waiting>,
    chains: &mut Chains<'_>,
) -> (Shares, Vec<Delayed>) {
    let (mut shares, mut delays) = (Shares::new(), Vec::new());
    let rows = chains.rows;
    let is_delay = |code: Code| code.row().is_none_or(|row| !is_passed(&rows.locks[row]));
    for root in roots {
        let Some(waiting) = waiting.get(&root.row) else { continue };
        if waiting.within(root.at.0, root.at.1) == 0 {
            continue;
        }
        let source = Source { code: root.code, is_direct: true };
        let &Root { thread, code, is_observed, .. } = root;
        let first = Place { source, thread, code, length: 0, is_observed };
        chains.divide(first, root.at, &mut |of, at| {
            let ticks = if at.0 < at.1 { waiting.within(at.0, at.1) } else { 0 };
            if ticks == 0 {
                return;
            }
            let of_source = shares.entry((root.row, of.source)).or_default();
            of_source.entry(of.code).or_default().add(Part { ticks, longest: at.1 - at.0 });
            if of.code.kind() == BlamedKind::Wake && is_delay(of.code) {
                delays.push((of.thread, of.code, at));
            }
        });
    }
    (shares, delays)
}

/// The same times, each once: several locks may have been waited for meanwhile.
fn joined(mut delays: Vec<Delayed>) -> Vec<Delayed> {
    delays.sort_unstable();
    delays.dedup_by(|next, last| {
        let is_met = (next.0, next.1) == (last.0, last.1) && next.2.0 <= last.2.1;
        if is_met {
            last.2.1 = last.2.1.max(next.2.1);
        }
        is_met
    });
    delays
}

/// What is to be blamed on some code.
#[derive(Default)]
struct Target {
    part: Part,
    /// What of it the code that passes it on had of its own.
    direct: u64,
}

impl Target {
    fn add(&mut self, part: Part, is_direct: bool) {
        self.part.add(part);
        self.direct = self.direct.saturating_add(if is_direct { part.ticks } else { 0 });
    }
}

/// What names code.
struct Names<'a, 's> {
    record: &'a Record<'a>,
    image: &'a ProcessRecord,
    sites: &'a Sites,
    stacks: &'a mut Stacks<'s>,
    ends: HashMap<usize, Option<Frame>>,
    lines: HashMap<Code, Line>,
}

impl Names<'_, '_> {
    /// The code to blame; none for the end of a thread of which it is not known what it ran.
    fn piece(&mut self, code: Code) -> Option<Blamed> {
        match code {
            Code::Hold(_, stack) | Code::Wake(_, stack) => {
                Some(self.sites.piece(code.kind(), stack, self.stacks))
            }
            Code::End(thread) => {
                let site = self.end(thread)?;
                let nameless = self.sites.piece(BlamedKind::Wake, 0, self.stacks);
                Some(Blamed { stack: vec![site.clone()], site: Some(site), ..nameless })
            }
        }
    }

    fn end(&mut self, thread: usize) -> Option<Frame> {
        let ran = || ran(self.record, self.image.threads.get(thread)?, self.stacks);
        self.ends.entry(thread).or_insert_with(ran).clone()
    }

    fn line(&mut self, code: Code) -> Line {
        if let Some(line) = self.lines.get(&code) {
            return line.clone();
        }
        let site = match code {
            Code::Hold(_, stack) | Code::Wake(_, stack) => {
                self.sites.line(code.kind(), stack, self.stacks)
            }
            Code::End(thread) => self.end(thread).as_ref().map(line),
        };
        let line = (code.kind(), site);
        self.lines.insert(code, line.clone());
        line
    }
}

/// Passes on the waiting for `rows` along chains, and returns when threads did what the last ones of them waited for.
pub(super) fn follow(
    (record, image): (&Record<'_>, &ProcessRecord),
    (meanwhile, passes): (&Meanwhile, &[Pass]),
    rows: &mut Rows,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Vec<Delay> {
    let writers = writers(rows);
    let shared = of_both_sides(meanwhile, &writers);
    let mut chains = Chains { meanwhile, rows, writers, shared, left: MOST };
    let roots = roots(rows, meanwhile, passes, &chains);
    let (shares, delays) = shares(&roots, &meanwhile.waiting, &mut chains);
    let mut names =
        Names { record, image, sites, stacks, ends: HashMap::new(), lines: HashMap::new() };
    // Several stacks may be of one line of code.
    let mut by_line: BTreeMap<(usize, Line), BTreeMap<Option<Code>, Target>> = BTreeMap::new();
    for ((row, Source { code, is_direct }), to) in shares {
        let line = names.line(code);
        for (target, part) in to {
            let to = names.line(target);
            let is_unknown = matches!(target, Code::End(_)) && to.1.is_none();
            let is_own = is_unknown || target.row() == code.row() && to == line;
            let of_line = by_line.entry((row, line.clone())).or_default();
            // Each stack has its own caller.
            let of_target = of_line.entry((!is_own).then_some(target));
            of_target.or_default().add(part, is_direct);
        }
    }
    for ((row, line), parts) in by_line {
        let all = super::sum(parts.values().map(|of| of.part.ticks)).max(1);
        let passed_on = parts.into_iter().filter_map(|(code, Target { part, direct })| {
            let to = Blamed { longest_ns: record.ns(part.longest), ..names.piece(code?)? };
            let [share, direct] = [part.ticks, direct].map(|ticks| ticks as f64 / all as f64);
            Some(PassedOn { to, share, direct })
        });
        let passed_on: Vec<PassedOn> = passed_on.collect();
        pass_on(&mut rows.locks[row], &mut rows.followed[row], &line, passed_on);
    }
    let delays = joined(delays).into_iter().filter_map(|(thread, code, at)| {
        let (_, line) = names.line(code);
        (line.is_some() || code.row().is_some()).then_some(Delay { thread, at, line })
    });
    delays.collect()
}
