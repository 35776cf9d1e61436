//! Reports on what the kernel saw from outside: the record is made of plain values.

use uncontended_report::aggregate::{Symbols, report};
use uncontended_report::facts::{Facts, SeenFacts};
use uncontended_report::run::{AttachedTo, Class, Frame, Kind, Like, RunReport, Source, Woken};
use uncontended_report::{html, terminal};
use uncontended_trace::compose::{self, Composed};
use uncontended_trace::layout::{WAITED, WAKE, clock, kind};
use uncontended_trace::reader::{
    CausedRecord, CellRecord, ExtremeRecord, LockRecord, ModuleRecord, ProcessRecord, ThreadRecord,
    TimedOutRecord, TimesRecord,
};
use uncontended_trace::setup::{Holds, Setup};

const MS: u64 = 1_000_000;

/// Addresses are functions.
struct Names;

impl Symbols for Names {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        let name = match address {
            0x10 => "pthread_mutex_lock",
            0x20 => "want",
            0x30 => "hold",
            _ => "other",
        };
        vec![Frame {
            function: Some(name.into()),
            file: None,
            line: None,
            module: Some(module.into()),
            address: format!("{address:#x}").into(),
        }]
    }

    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame> {
        self.frames(module, offset)
    }
}

/// Three waits of thread 13 for one futex, the last of which timed out.
fn record() -> Vec<u8> {
    let worst = ExtremeRecord { ticks: 60 * MS, at: 100 * MS, mine: 1, other: 2, cause: 0 };
    let waits = CausedRecord { wait: 100 * MS, waits: 2, longest: 60 * MS, ..Default::default() };
    let cell = CellRecord {
        acquisitions: 3,
        blocked: 3,
        timed_out: TimedOutRecord { count: 1, total: 20 * MS, max: 20 * MS, served: 0 },
        idle_by: [90 * MS, 10 * MS, 0, 0],
        wait: TimesRecord {
            total: 120 * MS,
            buckets: vec![(1 << 24, 0, 1), (1 << 25, 0, 2)],
            worst: vec![worst],
        },
        caused: vec![
            CausedRecord { stack: 2, passed_to: WAKE, ..waits },
            CausedRecord { stack: 1, wait: 120 * MS, waits: 3, passed_to: WAITED, ..waits },
        ],
        ..CellRecord::default()
    };
    let thread = |tid| ThreadRecord { tid, start_ticks: 1, ..ThreadRecord::default() };
    let process = ProcessRecord {
        pid: 12,
        command: vec!["./server".into()],
        start_ticks: 1,
        locks: vec![LockRecord {
            unit: 1,
            address: 0x70,
            kind: kind::FUTEX,
            first_taken: 1,
            ..LockRecord::default()
        }],
        threads: vec![thread(12), thread(13)],
        stacks: [(1, vec![0x110, 0x120]), (2, vec![0x130])].into(),
        modules: vec![ModuleRecord {
            path: "/server".into(),
            bias: 0x100,
            start: 0x100,
            end: 0x900,
            ..ModuleRecord::default()
        }],
        ..ProcessRecord::default()
    };
    compose::record(&setup(), &[Composed { process, cells: vec![vec![], vec![(1, cell)]] }])
}

fn setup() -> Setup {
    Setup {
        clock: clock::MONOTONIC,
        start_ticks: 1,
        tick_ns: 1.0,
        step_ns: 1.0,
        holds: Holds::None,
        switches: false,
        lock_order: false,
        from_kernel: true,
        enabled: false,
        capacity: 0,
        available: 0,
    }
}

fn seen(seen: SeenFacts) -> RunReport {
    let facts = Facts {
        command: vec!["./server".into()],
        pid: Some(12),
        wall_ns: 200 * MS,
        seen: Some(seen),
        ..Facts::default()
    };
    report(&record(), facts, &mut Names).unwrap()
}

#[test]
fn a_futex_is_a_lock_by_its_functions_and_its_culprit_is_who_woke() {
    let report = seen(SeenFacts { attached: vec![12], ..SeenFacts::default() });
    assert_eq!(report.source, Source::Kernel);
    let attached = AttachedTo { pids: vec![12], ..AttachedTo::default() };
    assert_eq!(report.attached, Some(attached));
    let [lock] = &report.processes[0].locks[..] else { panic!("one row: {report:?}") };
    assert_eq!(
        (lock.kind, lock.like, lock.class),
        (Kind::Futex, Some(Like::Mutex), Class::Contention)
    );
    let parts = Woken { not_woken_ns: 90 * MS, not_scheduled_ns: 10 * MS };
    assert_eq!((lock.woken, lock.idle_causes), (Some(parts), None));
    let name =
        |frame: &Option<Frame>| frame.as_ref().unwrap().function.clone().unwrap().to_string();
    assert_eq!(name(&lock.site), "want");
    assert_eq!((name(&lock.ended_by[0].site), lock.ended_by[0].wait_ns), ("hold".into(), 100 * MS));
    assert_eq!(name(&report.culprits[0].site), "hold");
    let text = terminal::render(&report, &terminal::Options::default());
    for part in [
        "attached to 12 (still running)",
        "90.0 ms until the wakeup, 10.0 ms from it until they ran",
        "Seen by the kernel, from outside",
        "culprits are the code that woke the waiters",
        "Waits that were in progress when it began",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["needs root", "--no-hold", "the observer's cost was not measured"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    assert!(html::run_page(&report).contains("attached to 12 (still running)"));
}

#[test]
fn losses_and_ends_are_told() {
    let facts = SeenFacts {
        attached: vec![12, 14, 15],
        ended: vec![12, 15],
        executed: vec![15],
        followed: 2,
        late_ns: 20 * MS,
        unseen_ns: None,
        children: (41..51).collect(),
        stopped: vec![14],
        lost_waits: 3,
        lost_ns: 5 * MS,
        lost_stacks: 4,
        woken_by_others: 6,
        missed: 7,
        summed_ns: 8 * MS,
        rest_ns: 9 * MS,
        forked: 40,
        forked_kept: vec![21, 22],
        forked_executed: 30,
        forked_executed_pids: (31..40).collect(),
        forked_unwatched: 10,
    };
    let text =
        terminal::render(&seen(facts), &terminal::Options { width: 400, ..Default::default() });
    for part in [
        "attached to 12 (has ended), 14 (still running), 15 (up to its exec)",
        "Watched up to the exec of another program: 15.",
        "were executed meanwhile, each watched from 20.0 ms after its start or earlier: 2.",
        "and are not watched: 10 (41, 42, 43, 44, 45, 46, 47, 48, 2 more).",
        "until it was continued: 14.",
        "in no figure: 3, 5.00 ms of them known.",
        "counted without code: 4.",
        "by code that is not known: 6.",
        "busy with our tables: 7.",
        "by the innermost functions alone: 8.00 ms.",
        "and watched from then on: 40. Of these called a futex, or are still there: 21, 22.",
        "up to the exec of another program: 31, 32, 33, 34, 35, 36, 37, 38, 22 more.",
        "and not watched, for lack of room: 10.",
        "counted without code: 9.00 ms.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// That a program has not waited is not known if it executed another one.
#[test]
fn without_waits_it_says_whether_another_program_was_executed() {
    let none = SeenFacts::default();
    let whole = SeenFacts { unseen_ns: Some(0), ..none.clone() };
    let late = SeenFacts { unseen_ns: Some(3 * MS), ..none.clone() };
    let followed = SeenFacts { followed: 2, late_ns: 20 * MS, ..whole.clone() };
    let first = SeenFacts { executed: vec![12], ..none.clone() };
    let forked = SeenFacts { forked_executed: 1, ..none.clone() };
    for (seen, why) in [
        (none, "no thread waited for a futex."),
        (whole, "no thread waited for a futex."),
        (late, "no thread waited for a futex after the first 3.00 ms, which were not watched."),
        (followed, "executed meanwhile, up to 20.0 ms each were not watched."),
        (first, "the program executed another one, which was not watched."),
        (forked, "executed other programs, which were not watched."),
    ] {
        let none = compose::record(&setup(), &[]);
        let facts = Facts { seen: Some(seen), ..Facts::default() };
        let report = report(&none, facts, &mut Names).unwrap();
        let said = report.coverage.nothing_seen.unwrap();
        assert!(said.ends_with(why), "{said}");
    }
}

/// Code that caused some microseconds of waiting is not the headline where seconds are of unknown class.
#[test]
fn a_culprit_of_little_is_not_told_next_to_much_of_unknown_class() {
    let mut report = seen(SeenFacts { attached: vec![12], ..SeenFacts::default() });
    let render = |report: &RunReport| terminal::render(report, &terminal::Options::default());
    assert!(render(&report).contains("share of all waiting"), "{}", render(&report));
    let locks = &mut report.processes[0].locks;
    let mut unknown = locks[0].clone();
    (unknown.id, unknown.class) = (1, Class::Unknown);
    locks[0].wait_ns.as_mut().unwrap().total = MS / 10;
    locks.push(unknown);
    let text = render(&report);
    assert!(!text.contains("share of all waiting"), "{text}");
    for part in ["none: all waiting at contended locks is 100 µs", "Not ranked: 120 ms"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A program that `unc run` started ends as any other.
#[test]
fn a_program_that_was_started_has_a_status() {
    let report = seen(SeenFacts::default());
    assert_eq!((report.source, &report.attached), (Source::Kernel, &None));
    let text = terminal::render(&report, &terminal::Options::default());
    assert!(text.contains("exit status 0"), "{text}");
    assert!(!text.contains("in progress when it began"), "{text}");
}
