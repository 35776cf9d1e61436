//! Lock order inversions of random programs, against all schedules of these programs.

mod written;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::offset_of;
use uncontended_report::run::{Inversion, LockOrder, RunReport};
use uncontended_testkit::{Random, repetitions};
use uncontended_trace::layout::{self, Header, Held, Nested, READERS, kind};
use written::{Writer, facts, read};

/// One side of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Side {
    lock: usize,
    shared: bool,
}

impl Side {
    fn excludes(self, other: Side) -> bool {
        self.lock == other.lock && !(self.shared && other.shared)
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Take(Side),
    Drop(usize),
}

/// The steps of each thread.
type Program = Vec<Vec<Step>>;

const LOCKS: usize = 4;

/// The sides that a thread holds before its step `at`.
fn held(steps: &[Step], at: usize) -> Vec<Side> {
    let mut held = Vec::new();
    for step in &steps[..at] {
        match *step {
            Step::Take(side) => held.push(side),
            Step::Drop(lock) => held.retain(|side: &Side| side.lock != lock),
        }
    }
    held
}

/// A program of up to three threads. Locks from `readable` on are mutexes.
fn program(rng: &mut Random, readable: usize) -> Program {
    let threads = 2 + (rng.next() % 2) as usize;
    let thread = |rng: &mut Random| {
        let mut steps = Vec::new();
        for _ in 0..3 + rng.next() % 5 {
            let lock = (rng.next() % LOCKS as u64) as usize;
            let is_held = held(&steps, steps.len()).iter().any(|side| side.lock == lock);
            let shared = lock < readable && rng.next().is_multiple_of(2);
            steps.push(if is_held { Step::Drop(lock) } else { Step::Take(Side { lock, shared }) });
        }
        let left = held(&steps, steps.len());
        steps.extend(left.iter().map(|side| Step::Drop(side.lock)));
        steps
    };
    (0..threads).map(|_| thread(rng)).collect()
}

/// The locks of each cycle of waits that some schedule ends in.
fn deadlocks(program: &Program) -> HashSet<BTreeSet<usize>> {
    let mut met = HashSet::new();
    let mut found = HashSet::new();
    let mut open = vec![vec![0; program.len()]];
    while let Some(state) = open.pop() {
        if !met.insert(state.clone()) {
            continue;
        }
        let held: Vec<Vec<Side>> =
            program.iter().zip(&state).map(|(steps, &at)| held(steps, at)).collect();
        let waits = |thread: usize| -> Option<(usize, Vec<usize>)> {
            let Some(&Step::Take(side)) = program[thread].get(state[thread]) else { return None };
            let others = (0..program.len()).filter(|&other| other != thread);
            let holders = others.filter(|&other| held[other].iter().any(|h| h.excludes(side)));
            Some((side.lock, holders.collect()))
        };
        for thread in 0..program.len() {
            let is_free = waits(thread).is_none_or(|(_, holders)| holders.is_empty());
            if is_free && state[thread] < program[thread].len() {
                let mut next = state.clone();
                next[thread] += 1;
                open.push(next);
            }
        }
        let waits: Vec<_> = (0..program.len()).map(waits).collect();
        for first in 0..program.len() {
            cycles(&waits, &mut vec![first], &mut found);
        }
    }
    found
}

/// Adds the locks of the cycles that begin with `path`, whose first thread is the smallest.
fn cycles(
    waits: &[Option<(usize, Vec<usize>)>],
    path: &mut Vec<usize>,
    found: &mut HashSet<BTreeSet<usize>>,
) {
    let Some((_, holders)) = &waits[path[path.len() - 1]] else { return };
    for &next in holders {
        if next == path[0] {
            found.insert(path.iter().filter_map(|&t| Some(waits[t].as_ref()?.0)).collect());
        } else if next > path[0] && !path.contains(&next) {
            path.push(next);
            cycles(waits, path, found);
            path.pop();
        }
    }
}

/// The report on a program in which no two sets of locks are taken by the same code.
fn record(program: &Program, readable: usize) -> RunReport {
    let mut stack = 0;
    let mut code = |_: usize| {
        stack += 1;
        stack
    };
    record_of(program, readable, LOCKS, &mut code)
}

/// A record with the sets of locks that each thread of the program takes, as the observer keeps them. `code` numbers
/// the stack of a step.
fn record_of(
    program: &Program,
    readable: usize,
    count: usize,
    code: &mut dyn FnMut(usize) -> u32,
) -> RunReport {
    let mut writer = Writer::new();
    writer.half(0, offset_of!(Header, flags), layout::flag::LOCK_ORDER);
    let process = writer.process(7);
    let mut rows = HashMap::new();
    for lock in 0..count {
        let address = 0x1000 * (lock as u64 + 1);
        if lock < readable {
            rows.insert((lock, false), writer.lock(process, address, kind::RWLOCK_WRITE));
            rows.insert((lock, true), writer.lock(process, address | READERS, kind::RWLOCK_READ));
        } else {
            rows.insert((lock, false), writer.lock(process, address, kind::MUTEX));
        }
    }
    for (tid, steps) in (7..).zip(program) {
        let thread = writer.thread(process, tid);
        for &row in rows.values() {
            writer.cell(thread, row, 1);
        }
        let mut kept = HashSet::new();
        for (at, step) in steps.iter().enumerate() {
            let (Step::Take(taken), held) = (*step, held(steps, at)) else { continue };
            if held.is_empty() || !kept.insert((taken, held.clone())) {
                continue;
            }
            let entry = writer.entry(size_of::<Nested>());
            writer.half(entry, offset_of!(Nested, lock), rows[&(taken.lock, taken.shared)]);
            writer.half(entry, offset_of!(Nested, stack), code(at));
            writer.half(entry, offset_of!(Nested, count), held.len() as u32);
            for (nth, side) in held.iter().enumerate() {
                let at = offset_of!(Nested, held) + nth * size_of::<Held>();
                let row = rows[&(side.lock, side.shared)];
                writer.half(entry, at + offset_of!(Held, lock), row);
            }
            let next = offset_of!(Nested, next);
            writer.push(thread, offset_of!(layout::Thread, nested), entry, next);
        }
    }
    read(&writer, facts())
}

fn order(report: &RunReport) -> &LockOrder {
    report.lock_order.as_ref().expect("recorded")
}

/// The lock with this number, by its place among the program's.
fn place(report: &RunReport, id: u64) -> usize {
    let lock = report.processes[0].locks.iter().find(|lock| lock.id == id).expect("a row");
    let address = lock.address.trim_start_matches("0x");
    usize::from_str_radix(address, 16).expect("an address") / 0x1000 - 1
}

fn locks(report: &RunReport, found: &Inversion) -> BTreeSet<usize> {
    found.threads.iter().map(|thread| place(report, thread.taken)).collect()
}

#[test]
fn every_deadlock_of_every_schedule_is_foreseen_and_safe_programs_are_rarely_accused() {
    let mut rng = Random(11);
    let (mut stuck, mut safe, mut accused) = (0, 0, 0);
    for _ in 0..repetitions("random programs with locks", 2_000, 400_000) {
        let readable = (rng.next() % 3) as usize;
        let program = program(&mut rng, readable);
        let report = record(&program, readable);
        let found: HashSet<BTreeSet<usize>> =
            order(&report).inversions.iter().map(|found| locks(&report, found)).collect();
        let deadlocks = deadlocks(&program);
        assert!(order(&report).is_complete);
        // A cycle of readers and writers may contain a shorter one.
        let is_found = |locks: &BTreeSet<usize>| found.iter().any(|found| found.is_subset(locks));
        assert!(deadlocks.iter().all(is_found), "{program:?}: {deadlocks:?} is not in {found:?}");
        accused += u64::from(!found.is_empty() && deadlocks.is_empty());
        for inversion in &order(&report).inversions {
            for (nth, thread) in inversion.threads.iter().enumerate() {
                let next = &inversion.threads[(nth + 1) % inversion.threads.len()];
                assert_eq!(
                    place(&report, thread.taken),
                    place(&report, next.held),
                    "{inversion:?}"
                );
            }
        }
        stuck += u64::from(!deadlocks.is_empty());
        safe += u64::from(deadlocks.is_empty() && order(&report).sets > 1);
    }
    assert!(stuck > 400 && safe > 400, "{stuck} {safe}");
    // Threads may be unable to get there at the same time, because of other locks on their way.
    assert!(accused * 200 <= safe, "{accused} of {safe} safe programs are accused");
}

fn take(lock: usize) -> Step {
    Step::Take(Side { lock, shared: false })
}

/// `pairs` of locks, each taken by two threads in different orders.
fn transfers(pairs: usize) -> Program {
    let both = |pair: usize| [2 * pair, 2 * pair + 1];
    let ordered = |[one, two]: [usize; 2]| [take(one), take(two), Step::Drop(two), Step::Drop(one)];
    let reversed = |[one, two]: [usize; 2]| ordered([two, one]);
    let thread = |order: &dyn Fn([usize; 2]) -> [Step; 4]| {
        (0..pairs).flat_map(|pair| order(both(pair))).collect()
    };
    vec![thread(&ordered), thread(&reversed)]
}

#[test]
fn inversions_by_the_same_code_are_one() {
    let report = record_of(&transfers(5), 0, 10, &mut |at| 1 + at as u32 % 4);
    let [found] = &order(&report).inversions[..] else { panic!("{:?}", report.lock_order) };
    assert_eq!((found.more, found.pid, order(&report).sets), (4, 7, 10));
    let tids: Vec<u32> = found.threads.iter().map(|thread| thread.tid).collect();
    assert_eq!(tids, [7, 8]);
    let mut stack = 0;
    let mut fresh = |_: usize| {
        stack += 1;
        stack
    };
    let report = record_of(&transfers(5), 0, 10, &mut fresh);
    assert_eq!(order(&report).inversions.len(), 5);
}

#[test]
fn a_search_that_is_too_long_ends_and_says_so() {
    const MANY: usize = 60;
    // Each thread takes every other lock while it holds its own.
    let thread = |own: usize| {
        let others = (0..MANY).filter(move |&lock| lock != own);
        let inner = others.flat_map(|lock| [take(lock), Step::Drop(lock)]);
        std::iter::once(take(own)).chain(inner).chain([Step::Drop(own)]).collect()
    };
    let program: Program = (0..MANY).map(thread).collect();
    let report = record_of(&program, 0, MANY, &mut |_| 1);
    assert_eq!(order(&report).sets, (MANY * (MANY - 1)) as u64);
    assert_eq!(order(&report).inversions.len(), 1, "all of the same code");
    let text = uncontended_report::terminal::render(&report, &Default::default());
    assert!(text.contains("other sets of locks in these orders"), "{text}");
    assert_eq!(text.contains("too many combinations"), !order(&report).is_complete);
}

#[test]
fn without_the_flag_nothing_is_said() {
    let mut writer = Writer::new();
    writer.process(7);
    let report = read(&writer, facts());
    assert_eq!(report.lock_order, None);
    let text = uncontended_report::terminal::render(&report, &Default::default());
    assert!(!text.contains("Lock order"), "{text}");
}
