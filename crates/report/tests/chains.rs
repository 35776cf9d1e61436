//! Chains from the threads' logs: what a holder waited for itself is blamed on the code that ended that wait.
//!
//! Thread 8 waits for a mutex from 1,000 to 3,000 ms; thread 9 holds it until 2,900 and waits itself from 1,200 to
//! 2,500, until thread 10 does something at 2,400.

mod written;

use std::mem::offset_of;
use uncontended_report::aggregate::{Symbols, report};
use uncontended_report::facts::Facts;
use uncontended_report::run::{Blamed, BlamedKind, Frame, Lock, RankedBy, RunReport};
use uncontended_report::terminal::{Options, render};
use uncontended_trace::layout::{self, Caused, Cell, Process, Thread, kind, logged};
use uncontended_trace::reader::LoggedRecord;
use written::{Writer, facts};

const MS: u64 = 1_000_000;
const HOLD: u64 = 0x1010;
const WAKE: u64 = 0x1020;
const FURTHER: u64 = 0x1030;
const BEGAN_IN: u64 = 0x1040;

/// Ticks are half a nanosecond, from 1000 on.
fn at(ms: u64) -> u64 {
    1_000 + 2 * ms * MS
}

/// Functions with the names of their addresses.
struct Addresses;

impl Symbols for Addresses {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        let function = match address & 0xff {
            0x50 => "std::sys::futex_wait".to_owned(),
            0x51 => "<std::sys::sync::mutex::futex::Mutex>::lock".to_owned(),
            number => format!("f{number:x}"),
        };
        let function = Some(function.into());
        let (module, address) = (Some(module.into()), format!("{address:#x}").into());
        vec![Frame { function, file: None, line: None, module, address }]
    }

    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame> {
        self.frames(module, offset)
    }
}

/// A record, and its parts.
struct Run {
    writer: Writer,
    process: u32,
    mutex: u32,
    condition: u32,
    threads: [u32; 4],
    stacks: [u32; 4],
    /// The log of thread 8, if it does not wait for the mutex.
    waits: Vec<LoggedRecord>,
    /// The logs of threads 9 and 10.
    logs: [Vec<LoggedRecord>; 2],
    /// What the hold passes on by the observer's own account.
    observed: (u32, u64),
}

fn hold(lock: u32, stack: u32, (began, ended): (u64, u64)) -> LoggedRecord {
    let (what, began, ended) = (logged::HOLD, at(began), at(ended));
    LoggedRecord { what, began, ended, lock, stack, ..Default::default() }
}

fn wait(
    lock: u32,
    (began, ended): (u64, u64),
    (by, by_at): (u32, u64),
    by_stack: u32,
) -> LoggedRecord {
    let (began, ended, by_at) = (at(began), at(ended), at(by_at));
    LoggedRecord { began, ended, by_at, lock, by, by_stack, ..Default::default() }
}

impl Run {
    fn new() -> Self {
        Run::of(kind::MUTEX)
    }

    fn of(kind: u8) -> Self {
        let mut writer = Writer::new();
        let process = writer.process(7);
        writer.module(process, "/bin/program", 0x1000, 0x9000);
        let mutex = writer.lock(process, 0xabc0, kind);
        let condition = writer.lock(process, 0xdef0, kind::CONDITION);
        let threads = [7, 8, 9, 10].map(|tid| writer.thread(process, tid));
        let stacks =
            [HOLD, WAKE, FURTHER, BEGAN_IN].map(|address| writer.stack(process, &[address]));
        for thread in threads {
            writer.word(thread, offset_of!(Thread, start_ticks), at(0));
        }
        writer.word(process, offset_of!(Process, start_ticks), at(0));
        writer.word(process, offset_of!(Process, end_ticks), at(5_000));
        writer.half(process, offset_of!(Process, ended_by), threads[0]);
        writer.word(threads[1], offset_of!(Thread, handle), 77);
        writer.word(threads[1], offset_of!(Thread, end_ticks), at(4_000));
        let (what, joined) = (logged::JOIN, 77);
        let (began, ended) = (at(100), at(4_000));
        writer
            .logs(threads[0], &[LoggedRecord { what, began, ended, joined, ..Default::default() }]);
        let logs = [
            vec![
                wait(condition, (1_200, 2_500), (threads[3], 2_400), stacks[1]),
                hold(mutex, stacks[0], (500, 2_900)),
            ],
            Vec::new(),
        ];
        // Its wakeups are in the record.
        let cell = writer.cell(threads[2], condition, 0);
        writer.waited(cell, 2 * 1_300 * MS, 0, [0, 0]);
        caused(&mut writer, cell, (stacks[1], 1_300), (layout::WAKE, 0));
        Run {
            writer,
            process,
            mutex,
            condition,
            threads,
            stacks,
            waits: vec![],
            logs,
            observed: (0, 0),
        }
    }

    fn report(mut self) -> RunReport {
        let [_, waiter, holder, head] = self.threads;
        let held = self.writer.cell(holder, self.mutex, 1);
        caused(&mut self.writer, held, (self.stacks[0], 1_900), self.observed);
        let waited = self.writer.cell(waiter, self.mutex, 1);
        self.writer.waited(waited, 2 * 2_000 * MS, 0, [0, 0]);
        if self.waits.is_empty() {
            self.waits.push(wait(self.mutex, (1_000, 3_000), (held, 2_900), self.stacks[0]));
        }
        self.writer.logs(waiter, &self.waits);
        for (thread, log) in [holder, head].into_iter().zip(self.logs) {
            if !log.is_empty() {
                self.writer.logs(thread, &log);
            }
        }
        let facts = Facts { wall_ns: 5_000 * MS, ..facts() };
        report(&self.writer.bytes, facts, &mut Addresses).unwrap()
    }
}

/// Waiting that a cell's code caused.
fn caused(writer: &mut Writer, cell: u32, (stack, ms): (u32, u64), (to, on): (u32, u64)) {
    let entry = writer.entry(size_of::<Caused>());
    writer.half(entry, offset_of!(Caused, stack), stack);
    writer.half(entry, offset_of!(Caused, passed_to), to);
    for (offset, value) in [
        (offset_of!(Caused, wait), 2 * ms * MS),
        (offset_of!(Caused, waits), 1),
        (offset_of!(Caused, holds), 1),
        (offset_of!(Caused, longest), 2 * ms * MS),
        (offset_of!(Caused, passed_on), 2 * on * MS),
    ] {
        writer.word(entry, offset, value);
    }
    writer.push(cell, offset_of!(Cell, caused), entry, offset_of!(Caused, next));
}

/// What each culprit did, where, and the waiting that it caused, in milliseconds.
fn culprits(report: &RunReport) -> Vec<(BlamedKind, &str, u64)> {
    let of = |culprit: &Blamed| culprit.kind != BlamedKind::Idle;
    let mut all: Vec<_> = report
        .culprits
        .iter()
        .filter(|culprit| of(culprit))
        .map(|culprit| {
            let function = culprit.site.as_ref().and_then(|site| site.function.as_deref());
            (culprit.kind, function.unwrap_or("?"), (culprit.wait_ns as f64 / 1e6).round() as u64)
        })
        .collect();
    all.sort_unstable();
    all
}

/// What the holds of the first mutex passed on, in milliseconds.
fn passed_on(report: &RunReport) -> u64 {
    let locks = &report.processes[0].locks;
    let is_it = |lock: &&Lock| lock.address == "0xabc0" && !lock.held_by.is_empty();
    let mutex = locks.iter().find(is_it).unwrap();
    (mutex.held_by[0].passed_on_ns as f64 / 1e6).round() as u64
}

use BlamedKind::{Hold, Wake};

#[test]
fn what_a_holder_waited_for_is_blamed_on_who_ended_that() {
    let report = Run::new().report();
    assert_eq!(culprits(&report), [(Hold, "f10", 700), (Wake, "f20", 1_200)]);
    assert_eq!(passed_on(&report), 1_200);
    // The run would be as much shorter as the code took while the holder waited for it.
    let [first, second] = &report.culprits[..] else { panic!("two: {:#?}", report.culprits) };
    assert_eq!(report.ranked_by, RankedBy::Gain);
    assert_eq!((first.kind, first.path_ns), (Wake, Some(1_200 * MS)));
    assert_eq!((second.kind, second.path_ns), (Hold, Some(400 * MS)));
    let near = |ns: Option<u64>, ms: u64| ns.is_some_and(|ns| ns.abs_diff(ms * MS) < 20 * MS);
    assert!(near(first.gain_at_most_ns, 1_200), "{:?}", first.gain_at_most_ns);
    assert_eq!((first.holds, first.longest_ns), (0, 1_200 * MS));
    let text = render(&report, &Options::default());
    let line = text.lines().find(|line| line.contains("f20")).unwrap();
    assert!(line.contains("delays #0"), "{text}");
    assert!(text.contains("the condition #1"), "{text}");
    assert!(text.contains("Of code that delays a holder"), "{text}");
}

#[test]
fn what_no_thread_ended_is_the_holders_own() {
    let mut run = Run::new();
    run.logs[0][0].by = 0;
    let report = run.report();
    assert_eq!(culprits(&report), [(Hold, "f10", 1_900)]);
    assert_eq!(passed_on(&report), 0);
    // Nor is what it does to itself another thread's.
    let mut run = Run::new();
    run.logs[0][0].by = run.threads[2];
    assert_eq!(passed_on(&run.report()), 0);
}

/// What a wait that continues has waited before counts with it: not what its thread did in between, if that was much.
#[test]
fn a_wait_that_continues_is_one_with_what_it_waited_before() {
    let culprits_if = |between_ms: u64| {
        let mut run = Run::new();
        let head = run.threads[3];
        let noise = run.writer.thread(run.process, 11);
        run.writer.word(noise, offset_of!(Thread, start_ticks), at(0));
        let first = wait(run.condition, (1_200, 1_700), (noise, 1_600), run.stacks[2]);
        let between = 2 * between_ms as u32 * MS as u32;
        let last = wait(run.condition, (2_000, 2_500), (head, 2_400), run.stacks[1]);
        let last = LoggedRecord { what: logged::CONTINUED, between, ..last };
        run.logs[0].splice(..1, [first, last]);
        culprits(&run.report())
            .into_iter()
            .filter(|of| of.2 != 0)
            .map(|of| (of.1.to_owned(), of.2))
            .collect()
    };
    let whole: Vec<(String, u64)> = culprits_if(1);
    assert_eq!(whole, [("f10".to_owned(), 700), ("f20".to_owned(), 1_200)]);
    let apart: Vec<(String, u64)> = culprits_if(300);
    assert_eq!(
        apart,
        [("f10", 1_100), ("f20", 400), ("f30", 400)].map(|(of, ms)| (of.to_owned(), ms))
    );
}

/// Before it was made, the thread that ended the wait did nothing.
#[test]
fn the_time_before_a_thread_is_not_its_own() {
    let mut run = Run::new();
    let [main, .., head] = run.threads;
    run.writer.half(head, offset_of!(Thread, creator), main);
    run.writer.word(head, offset_of!(Thread, made_ticks), at(2_000));
    let report = run.report();
    assert_eq!(culprits(&report), [(Hold, "f10", 1_500), (Wake, "f20", 400)]);
}

#[test]
fn a_threads_end_is_blamed_on_what_it_ran() {
    let joins = || {
        let mut run = Run::new();
        let head = run.threads[3];
        run.writer.word(head, offset_of!(Thread, handle), 88);
        run.writer.word(head, offset_of!(Thread, end_ticks), at(2_400));
        let (began, ended) = (at(1_200), at(2_500));
        let (what, joined) = (logged::JOIN, 88);
        run.logs[0][0] = LoggedRecord { what, began, ended, joined, ..Default::default() };
        run
    };
    let mut run = joins();
    run.writer.half(run.threads[3], offset_of!(Thread, began_in), run.stacks[3]);
    let report = run.report();
    assert_eq!(culprits(&report), [(Hold, "f10", 700), (Wake, "f40", 1_200)]);
    assert_eq!(report.culprits[0].path_ns, Some(1_200 * MS));
    // It stays with the holder if that is not known.
    let report = joins().report();
    assert_eq!(culprits(&report), [(Hold, "f10", 1_900)]);
    assert_eq!(passed_on(&report), 0);
}

/// A thread that ends a wait may have waited for a lock itself, meanwhile.
#[test]
fn a_chain_continues_through_locks() {
    let mut run = Run::new();
    let other = run.writer.lock(run.process, 0x1230, kind::MUTEX);
    let last = run.writer.thread(run.process, 11);
    let cell = run.writer.cell(last, other, 1);
    run.writer.logs(last, &[hold(other, run.stacks[2], (1_000, 2_000))]);
    run.logs[1] = vec![wait(other, (1_500, 2_050), (cell, 2_000), run.stacks[2])];
    let report = run.report();
    let expected = [(Hold, "f10", 700), (Hold, "f30", 500), (Wake, "f20", 700)];
    assert_eq!(culprits(&report), expected);
    assert_eq!(passed_on(&report), 1_200);
}

/// One line may wake threads for several callers.
#[test]
fn each_wakeup_is_its_callers() {
    let mut run = Run::new();
    let [early, late] =
        [0x1061, 0x1062].map(|caller| run.writer.stack(run.process, &[WAKE, caller]));
    let (hold, head) = (run.logs[0][1], run.threads[3]);
    let first = wait(run.condition, (1_200, 1_500), (head, 1_450), early);
    let second = wait(run.condition, (1_550, 2_500), (head, 2_400), late);
    run.logs[0] = vec![first, second, hold];
    let report = run.report();
    let of = report.culprits.iter().find(|of| of.kind == Wake).unwrap();
    let callers = of.callers.iter().map(|caller| caller.function.as_deref().unwrap());
    let ms = of.callers_wait_ns.iter().map(|ns| ns / MS);
    assert_eq!(callers.zip(ms).collect::<Vec<_>>(), [("f62", 850), ("f61", 250)]);
}

/// What the observer has passed on to the holder of another mutex is divided there, and counts once.
#[test]
fn a_chain_continues_where_the_observer_left_it() {
    let mut run = Run::new();
    let [.., head] = run.threads;
    let last = run.writer.thread(run.process, 11);
    let other = run.writer.lock(run.process, 0x1230, kind::MUTEX);
    let held = run.writer.cell(head, other, 1);
    run.observed = (run.stacks[2], 1_200);
    run.logs[0][0] = wait(other, (1_200, 2_500), (held, 2_400), run.stacks[2]);
    run.logs[1] = vec![
        wait(run.condition, (1_500, 2_100), (last, 2_000), run.stacks[1]),
        hold(other, run.stacks[2], (1_000, 2_400)),
    ];
    let report = run.report();
    let expected = [(Hold, "f10", 700), (Hold, "f30", 700), (Wake, "f20", 500)];
    assert_eq!(culprits(&report), expected);
    assert_eq!(passed_on(&report), 1_200);
}

/// Readers wait for the writer, whose holds are of the other row.
#[test]
fn a_writer_passes_on_what_readers_waited() {
    let mut run = Run::of(kind::RWLOCK_READ);
    let writers = run.writer.lock(run.process, 0xabc0, kind::RWLOCK_WRITE);
    run.writer.cell(run.threads[2], writers, 1);
    run.logs[0][1].lock = writers;
    let report = run.report();
    assert_eq!(culprits(&report), [(Hold, "f10", 700), (Wake, "f20", 1_200)]);
    assert_eq!(passed_on(&report), 1_200);
}

/// Writers wait for readers. Of several, the one that leaves last is to blame for what all had in common.
#[test]
fn a_reader_passes_on_what_writers_waited() {
    let of = |own: (u64, u64), other: Option<(u64, u64)>| {
        let mut run = Run::of(kind::RWLOCK_WRITE);
        let readers = run.writer.lock(run.process, 0xabc0, kind::RWLOCK_READ);
        run.writer.cell(run.threads[2], readers, 1);
        run.logs[0][1] = hold(readers, run.stacks[0], own);
        if let Some(other) = other {
            let thread = run.writer.thread(run.process, 11);
            run.writer.cell(thread, readers, 1);
            run.writer.logs(thread, &[hold(readers, run.stacks[0], other)]);
        }
        let report = run.report();
        (passed_on(&report), culprits(&report).len())
    };
    assert_eq!(of((500, 2_900), None), (1_200, 2));
    assert_eq!(of((500, 2_900), Some((600, 2_700))), (1_200, 2));
    assert_eq!(of((500, 2_600), Some((1_000, 2_900))), (0, 1));
    // The first 500 ms of its wait fell into a time that was its own.
    assert_eq!(of((500, 2_600), Some((1_700, 2_900))), (500, 2));
}

/// Of locks that are seen by their wakeups, the thread that woke the waiter had the lock since it had come.
#[test]
fn a_lock_made_of_futexes_has_holders_too() {
    let mut run = Run::new();
    let [_, waiter, middle, head] = run.threads;
    let lock = run.writer.stack(run.process, &[0x1050, 0x1051, 0x1052]);
    let [first, second] = [0x2000, 0x3000].map(|at| run.writer.lock(run.process, at, kind::FUTEX));
    for (thread, futex, wake, ms) in
        [(middle, first, run.stacks[1], 1_300), (waiter, second, run.stacks[2], 2_000)]
    {
        let cell = run.writer.cell(thread, futex, 0);
        run.writer.waited(cell, 2 * ms * MS, 0, [lock, 0]);
        caused(&mut run.writer, cell, (wake, ms), (layout::WAKE, 0));
    }
    run.waits = vec![wait(second, (1_000, 3_000), (middle, 2_900), run.stacks[2])];
    run.logs = [vec![wait(first, (1_200, 2_500), (head, 2_400), run.stacks[1])], vec![]];
    let report = run.report();
    // Its wakeup came 100 ms before the wait's end: the shares are of the whole.
    let expected = [(Hold, "f10", 1_900), (Wake, "f20", 1_300 + 1_263), (Wake, "f30", 737)];
    assert_eq!(culprits(&report), expected);
    let is_it = |lock: &&Lock| lock.address == "0x3000";
    let locks = &report.processes[0].locks;
    let second = locks.iter().find(is_it).unwrap();
    assert_eq!((second.ended_by[0].passed_on_ns as f64 / 1e6).round(), 1_263.0);
}
