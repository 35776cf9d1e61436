//! What futexes and conditions are used for, from records written byte by byte.

mod common;
mod written;

use common::rules::says;
use std::mem::offset_of;
use uncontended_report::aggregate::{Symbols, report};
use uncontended_report::facts::Facts;
use uncontended_report::rows::{kind_of, place};
use uncontended_report::run::{BlamedKind, Class, Frame, Kind, Like, Lock, RunReport};
use uncontended_report::terminal::{self, Options};
use uncontended_trace::layout::{
    self, CHAIN, CHAINED, Caused, Cell, Cold, PASSED, WAITED, WAKE, kind::CONDITION, kind::FUTEX,
    kind::SEMAPHORE,
};
use uncontended_trace::reader::LoggedRecord;
use written::{Writer, facts};

/// Names the function at address `n` by the `n`th name.
struct Names<'a>(&'a [&'a str]);

impl Symbols for Names<'_> {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        vec![Frame {
            function: self
                .0
                .get(address as usize - 1)
                .filter(|name| !name.is_empty())
                .map(|&name| name.into()),
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

/// The report on a run in which a thread waited 1,000,000 ticks for one object of `kind`, in the functions `waiter`
/// (innermost first), and wakeups of these kinds in these functions were to blame for these ticks.
fn run_of(kind: u8, waiter: &[&str], wakeups: &[(u32, &[&str], u64)], facts: Facts) -> RunReport {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let mut names: Vec<&str> = Vec::new();
    let mut stack = |writer: &mut Writer, functions: &[&'static str]| {
        let first = names.len() as u64 + 1;
        names.extend(functions);
        let frames: Vec<u64> = (first..=names.len() as u64).map(|number| 0x1000 + number).collect();
        writer.stack(process, &frames)
    };
    let leaked = |functions: &[&str]| -> Vec<&'static str> {
        functions.iter().map(|name| &*name.to_string().leak()).collect()
    };
    writer.module(process, "/bin/program", 0x1000, 0x9000);
    let thread = writer.thread(process, 7);
    let object = writer.lock(process, 0xabc0, kind);
    if kind == SEMAPHORE {
        // Threads post it for others.
        writer.bytes[object as usize * layout::UNIT + offset_of!(layout::Lock, crossed)] = 1;
    }
    let cell = writer.cell(thread, object, 1);
    let waited = stack(&mut writer, &leaked(waiter));
    writer.half(object, offset_of!(layout::Lock, first_taken), waited);
    writer.waited(cell, 1_000_000, 1, [waited, 0]);
    for &(how, functions, ticks) in wakeups {
        let site = stack(&mut writer, &leaked(functions));
        let entry = writer.entry(size_of::<Caused>());
        writer.half(entry, offset_of!(Caused, stack), site);
        writer.half(entry, offset_of!(Caused, passed_to), how);
        for (offset, value) in [
            (offset_of!(Caused, wait), ticks),
            (offset_of!(Caused, waits), 4),
            (offset_of!(Caused, holds), 1),
        ] {
            writer.word(entry, offset, value);
        }
        writer.push(cell, offset_of!(Cell, caused), entry, offset_of!(Caused, next));
    }
    report(&writer.bytes, facts, &mut Names(&names)).unwrap()
}

fn only(report: &RunReport) -> &Lock {
    let [lock] = &report.processes[0].locks[..] else { panic!("one lock") };
    lock
}

fn row_of(kind: u8, waiter: &[&str], wakeups: &[(u32, &[&str], u64)]) -> Lock {
    only(&run_of(kind, waiter, wakeups, facts())).clone()
}

fn site(lock: &Lock) -> &str {
    lock.site.as_ref().and_then(|frame| frame.function.as_deref()).unwrap()
}

#[test]
fn a_futex_is_what_the_functions_say_that_waited() {
    let wakeups: &[(u32, &[&str], u64)] = &[(WAKE, &["std::sys::futex_wake", "work"], 1_000_000)];
    for (waiter, like, class, kind) in [
        (
            &["std::sys::futex_wait", "<std::sys::sync::mutex::futex::Mutex>::lock", "mine"][..],
            Some(Like::Mutex),
            Class::Contention,
            "futex mutex",
        ),
        (
            &[
                "parking_lot_core::parking_lot::park",
                "parking_lot::raw_mutex::RawMutex::lock_slow",
                "mine",
            ],
            Some(Like::Mutex),
            Class::Contention,
            "futex mutex",
        ),
        (
            &["std::sys::futex_wait", "std::sys::sync::rwlock::futex::RwLock::write", "mine"],
            Some(Like::Mutex),
            Class::Contention,
            "futex mutex",
        ),
        (
            &["std::sys::futex_wait", "std::sys::sync::condvar::Condvar::wait", "mine"],
            Some(Like::Condition),
            Class::Queue,
            "futex condition",
        ),
        // The mutex of a condition, after the wait.
        (
            &[
                "std::sys::sync::mutex::Mutex::lock",
                "std::sys::sync::condvar::Condvar::wait",
                "mine",
            ],
            Some(Like::Mutex),
            Class::Contention,
            "futex mutex",
        ),
        (
            &["std::sys::futex_wait", "std::thread::park", "crossbeam_channel::recv", "mine"],
            Some(Like::Condition),
            Class::Queue,
            "futex condition",
        ),
        (
            &["QBasicMutex::lockInternal", "mine"],
            Some(Like::Mutex),
            Class::Contention,
            "futex mutex",
        ),
        (&["g_cond_wait", "mine"], Some(Like::Condition), Class::Queue, "futex condition"),
        (
            &["absl::lts_2022::Mutex::Lock", "mine"],
            Some(Like::Mutex),
            Class::Contention,
            "futex mutex",
        ),
        // Code of the program's own says nothing by its name.
        (&["mine", "my_mutex_user"], None, Class::Unknown, "futex"),
    ] {
        let row = row_of(FUTEX, waiter, wakeups);
        assert_eq!((row.like, row.class, kind_of(&row)), (like, class, kind), "{waiter:?}");
        assert_eq!(site(&row), "mine");
    }
}

#[test]
fn without_names_wakeups_tell_what_an_object_is() {
    let row = |kind, passed: u64| {
        let of: &[(u32, &[&str], u64)] =
            &[(PASSED, &["keep"], passed), (WAKE, &["announce"], 1_000_000 - passed)];
        row_of(kind, &["mine"], of)
    };
    assert_eq!(
        (row(FUTEX, 800_000).like, row(FUTEX, 800_000).class),
        (Some(Like::Mutex), Class::Contention)
    );
    assert_eq!((row(FUTEX, 799_990).like, row(FUTEX, 799_990).class), (None, Class::Unknown));
    assert_eq!(
        (row(CONDITION, 800_000).like, row(CONDITION, 800_000).class),
        (None, Class::Contention)
    );
    assert_eq!(row(CONDITION, 799_990).class, Class::Queue);
}

/// PostgreSQL's LWLocks and MariaDB's table locks are made of semaphores and conditions, one for each thread.
#[test]
fn what_a_known_lock_makes_threads_sleep_on_is_that_lock() {
    let postgres = ["PGSemaphoreLock", "LWLockAcquireOrWait", "XLogFlush", "main"];
    let mariadb = ["psi_cond_timedwait", "", "thr_multi_lock", "mysql_lock_tables", "main"];
    let group = ["PGSemaphoreLock", "ProcArrayEndTransaction", "main"];
    let of = |kind, waiter: &[&str], in_locks: u64| {
        let others = 1_000_000 - in_locks;
        let mut waits: Vec<(u32, &[&str], u64)> = vec![(WAITED, waiter, in_locks)];
        waits.extend((others > 0).then_some((WAITED, &group[..], others)));
        row_of(kind, &["PGSemaphoreReset", "InitProcess"], &waits)
    };
    for (kind, waiter, caller) in
        [(SEMAPHORE, &postgres[..], "XLogFlush"), (CONDITION, &mariadb, "mysql_lock_tables")]
    {
        let row = of(kind, waiter, 1_000_000);
        assert_eq!((row.like, row.class), (Some(Like::Mutex), Class::Contention), "{waiter:?}");
        assert_eq!(site(&row), caller, "not where the thread was made");
        assert_eq!(row.waited_in[0].site.as_ref().unwrap().function.as_deref(), Some(caller));
        assert_eq!(kind_of(&row), if kind == SEMAPHORE { "semaphore" } else { "condition" });
    }
    assert_eq!(of(SEMAPHORE, &postgres, 500_000).class, Class::Contention);
    let mostly_others = of(SEMAPHORE, &postgres, 499_000);
    assert_eq!((mostly_others.like, mostly_others.class), (None, Class::Queue));
    assert_eq!(site(&mostly_others), "InitProcess");
    // Functions without names are passed over only on the way to such a lock.
    let unnamed = row_of(CONDITION, &["psi_cond_wait", "", "wait_for_work", "main"], &[]);
    assert_eq!((unnamed.class, unnamed.site.unwrap().function), (Class::Queue, None));
}

/// A lock of which nothing but waits is known is said to have no known cause, and its code is named.
#[test]
fn waits_for_another_process_are_said_to_have_no_known_cause() {
    let postgres: &[&str] = &["PGSemaphoreLock", "LWLockAcquire", "XLogFlush", "main"];
    let waits: &[(u32, &[&str], u64)] = &[(WAITED, postgres, 1_000_000)];
    let report = run_of(SEMAPHORE, postgres, waits, Facts { wall_ns: 600_000, ..facts() });
    assert_eq!(report.culprits, []);
    let text = terminal::render(&report, &Options { width: 120, ..Options::default() });
    let page = uncontended_report::html::run_page(&report);
    for words in
        ["100 % of that waiting has no known cause", "who made threads wait for #0 was not seen"]
    {
        assert!(text.contains(words) && page.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("the holder's stack"), "{text}");
    // Enough waiting for a finding.
    let mut row = only(&report).clone();
    row.wait_ns = common::times(&[40_000_000; 8]);
    assert!(says(&row, "who held the lock then was not seen; threads waited in XLogFlush program"));
}

/// Each thread of such a lock sleeps little on what is its own; together they sleep much.
#[test]
fn threads_that_sleep_in_one_lock_are_judged_together() {
    let waits: &[(u32, &[&str], u64)] = &[
        (WAITED, &["thr_multi_lock", "update"], 800_000),
        (WAKE, &["thr_unlock", "end"], 800_000),
    ];
    let mut report = run_of(CONDITION, &["thr_multi_lock"], waits, facts());
    let mut row = only(&report).clone();
    row.wait_ns = common::times(&[1_000_000; 30]);
    report.wall_ns = 1_000_000_000;
    let rows = |report: &mut RunReport, number: u64| {
        let rows = (0..number).map(|id| Lock { id, address: format!("{id:#x}"), ..row.clone() });
        report.processes[0].locks = rows.collect();
        uncontended_report::findings::find(report)
    };
    assert_eq!(rows(&mut report, 1), [], "30 ms");
    let found = rows(&mut report, 20);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(finding.rule, "heavy");
    for words in [
        "update program, one of 20",
        "20 threads waited 600 ms",
        "ended when end program released it",
    ] {
        assert!(finding.text.contains(words), "{words}: {}", finding.text);
    }
}

/// Waits that run out of time are not passed on, however the few others end.
#[test]
fn a_periodic_wait_is_not_passed_on() {
    let class = |passed: u64| row_of(CONDITION, &["mine"], &[(PASSED, &["keep"], passed)]).class;
    assert_eq!((class(800_000), class(799_990)), (Class::Contention, Class::Queue));
}

/// Of a lock, each wakeup of a chain has its part; of a condition, the last one has ended the wait.
#[test]
fn a_chain_counts_at_locks_alone() {
    let of: &[(u32, &[&str], u64)] = &[
        (CHAIN, &["last"], 1_000_000),
        (CHAINED, &["last"], 100_000),
        (CHAINED, &["first"], 900_000),
    ];
    let enders = |waiter: &str| {
        let report = run_of(FUTEX, &[waiter, "mine"], of, facts());
        let row = only(&report);
        let blame = row.blame.unwrap();
        assert_eq!((blame.ended_ns, blame.unknown_ns), (500_000, 0));
        let name =
            |site: &Option<Frame>| site.as_ref().unwrap().function.clone().unwrap().to_string();
        let enders = row.ended_by.iter().map(|piece| (name(&piece.site), piece.wait_ns));
        let enders: Vec<_> = enders.collect();
        let culprits: Vec<_> = report.culprits.iter().map(|c| (name(&c.site), c.kind)).collect();
        (enders, culprits)
    };
    let (enders_of_lock, culprits) = enders("std::sync::Mutex::lock");
    assert_eq!(enders_of_lock, [("first".to_owned(), 450_000), ("last".to_owned(), 50_000)]);
    assert_eq!(culprits, [("first".into(), BlamedKind::Wake), ("last".into(), BlamedKind::Wake)]);
    let (enders_of_condition, culprits) = enders("std::sync::Condvar::wait");
    assert_eq!(enders_of_condition, [("last".to_owned(), 500_000)]);
    assert_eq!(culprits, []);
}

#[test]
fn a_wait_that_timed_out_and_continued_is_in_its_wakeups_share() {
    let of = |served: u64| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        let thread = writer.thread(process, 7);
        let object = writer.lock(process, 0xabc0, CONDITION);
        let cell = writer.cell(thread, object, 1);
        writer.waited(cell, 1_000_000, 1, [0, 0]);
        let cold = writer.get(cell, offset_of!(Cell, cold));
        writer.word(cold, offset_of!(Cold, timed_out), 1);
        writer.word(cold, offset_of!(Cold, timed_out_total), 600_000);
        writer.word(cold, offset_of!(Cold, served), served);
        only(&report(&writer.bytes, facts(), &mut Names(&[])).unwrap()).blame.unwrap()
    };
    // What timed out for good was ended by its deadline.
    assert_eq!((of(0).ended_ns, of(0).unknown_ns), (300_000, 200_000));
    assert_eq!((of(600_000).ended_ns, of(600_000).unknown_ns), (0, 500_000));
}

#[test]
fn pythons_lock_is_called_by_its_name() {
    let passed: &[(u32, &[&str], u64)] =
        &[(PASSED, &["drop_gil", "eval_frame", "main"], 1_000_000)];
    for waiter in [
        &["PyCOND_TIMEDWAIT", "take_gil", "PyEval_RestoreThread", "sock_recv"][..],
        &["pthread_cond_timedwait", "PyEval_RestoreThread", "sock_recv"],
        &["_PyEval_EvalFrameDefault", "main"],
    ] {
        let row = row_of(CONDITION, waiter, passed);
        assert_eq!(row.known_as.as_deref(), Some("Python's interpreter lock"), "{waiter:?}");
        assert!(place(&row).starts_with("Python's interpreter lock, "), "{}", place(&row));
        let code = row.ended_by[0].site.as_ref().unwrap().function.as_deref();
        assert_eq!(code, Some("eval_frame"), "the code that had it");
    }
    assert_eq!(row_of(CONDITION, &["wait_for_a_job", "_PyEval_Vector"], passed).known_as, None);
    // A thread that got it without waiting is not seen to pass it on; but what is waited for is the same.
    let woken: &[(u32, &[&str], u64)] = &[(WAKE, &["drop_gil"], 1_000_000)];
    for (waiter, is_lock) in
        [("take_gil", true), ("PyEval_RestoreThread", true), ("_PyEval_EvalFrameDefault", false)]
    {
        let row = row_of(CONDITION, &[waiter], woken);
        assert_eq!(row.known_as.is_some(), is_lock, "{waiter}");
        assert_eq!(row.class == Class::Contention, is_lock, "{waiter}");
    }
}

/// The row of a semaphore made of a futex, for which two threads waited in `work`, and which is posted in the function
/// `poster`: how long the waits of the first one took, and which thread ended each. The second is 1, and a third, which
/// never waits for it, 2.
fn semaphore(waits: &[(u64, usize)], poster: &str) -> Lock {
    let names = ["std::__atomic_wait", "std::counting_semaphore<1l>::acquire()", "work", poster];
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.module(process, "/bin/program", 0x1000, 0x9000);
    let [first, second, third] = [7, 8, 9].map(|tid| writer.thread(process, tid));
    let object = writer.lock(process, 0xabc0, FUTEX);
    let stack = writer.stack(process, &[0x1001, 0x1002, 0x1003]);
    let post = writer.stack(process, &[0x1004]);
    for thread in [first, second] {
        let cell = writer.cell(thread, object, 1);
        writer.waited(cell, 1_000_000, 1, [stack, 0]);
        for (how, stack) in [(WAITED, stack), (WAKE, post)] {
            let entry = writer.entry(size_of::<Caused>());
            writer.half(entry, offset_of!(Caused, stack), stack);
            writer.half(entry, offset_of!(Caused, passed_to), how);
            writer.word(entry, offset_of!(Caused, wait), 1_000_000);
            writer.word(entry, offset_of!(Caused, waits), 1);
            writer.push(cell, offset_of!(Cell, caused), entry, offset_of!(Caused, next));
        }
    }
    let mut began = 2_000;
    let entry = |&(ticks, by): &(u64, usize)| {
        began += ticks;
        let (ended, by) = (began + ticks, [first, second, third][by]);
        LoggedRecord { began, ended, by_at: ended, by, lock: object, ..LoggedRecord::default() }
    };
    let entries: Vec<LoggedRecord> = waits.iter().map(entry).collect();
    writer.logs(first, &entries);
    only(&report(&writer.bytes, facts(), &mut Names(&names)).unwrap()).clone()
}

#[test]
fn a_semaphore_made_of_a_futex_is_a_lock_if_those_who_post_it_have_taken_it() {
    // In another function than the one that waits, and in the same.
    for (waits, other, same) in [
        (&[(80, 1), (20, 2)][..], Class::Contention, Class::Contention),
        (&[(79, 1), (21, 2)], Class::Unknown, Class::Contention),
        (&[(6, 1), (94, 2)], Class::Unknown, Class::Contention),
        (&[(5, 1), (95, 2)], Class::Unknown, Class::Unknown),
        (&[], Class::Unknown, Class::Unknown),
    ] {
        for (poster, class) in [("post", other), ("work", same)] {
            let row = semaphore(waits, poster);
            assert_eq!((row.like, row.class), (Some(Like::Semaphore), class), "{waits:?} {poster}");
            assert_eq!(kind_of(&row), "futex semaphore");
        }
    }
}

#[test]
fn waiting_of_unknown_class_is_said_not_to_be_ranked() {
    let at = |like: &[&str], ticks| {
        let report = run_of(FUTEX, like, &[(WAKE, &["work"], ticks)], facts());
        let mut row = only(&report).clone();
        row.wait_ns = common::times(&[ticks]);
        let mut report = report;
        report.processes[0].locks = vec![row];
        terminal::render(&report, &Options { width: 200, ..Options::default() })
    };
    let words = "Not ranked: 10.0 ms of waiting at #0, of class unknown";
    let text = at(&["mine"], 10_000_000);
    assert!(text.contains(words), "{text}");
    assert!(!at(&["mine"], 9_999_999).contains("Not ranked"));
    assert!(!at(&["std::sync::Mutex::lock", "mine"], 10_000_000).contains("Not ranked"));
}

#[test]
fn skipped_frames_do_not_name_a_lock() {
    let waiter = ["my_lock", "my_locks::Guard::new", "work", "main"];
    let wakeups: &[(u32, &[&str], u64)] = &[(WAKE, &["my_unlock", "finish"], 1_000_000)];
    let named = |patterns: &[&str]| {
        let skip_frames = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let report = run_of(FUTEX, &waiter, wakeups, Facts { skip_frames, ..facts() });
        let row = only(&report);
        let ender = row.ended_by[0].site.as_ref().unwrap().function.clone().unwrap().to_string();
        (site(row).to_owned(), ender)
    };
    assert_eq!(named(&[]), ("my_lock".to_owned(), "my_unlock".to_owned()));
    assert_eq!(named(&["my_lock"]).0, "my_locks::Guard::new");
    assert_eq!(named(&["my_*"]), ("work".to_owned(), "finish".to_owned()));
    assert_eq!(named(&["my_*lock", "*Guard*"]), ("work".to_owned(), "finish".to_owned()));
    // All of them: the innermost.
    assert_eq!(named(&["program"]).0, "my_lock");
}

/// A function that only takes a lock, or gives it back, is said to be one, with the option that names its callers.
#[test]
fn a_culprit_that_may_be_a_lock_of_the_programs_own_has_the_option() {
    let notes = |function: &str, kind, callers: &[&str]| {
        let mut report = common::sort();
        report.culprits.truncate(1);
        report.culprits[0].kind = kind;
        report.culprits[0].site = Some(common::frame(function, "own.c", 4));
        report.culprits[0].callers =
            callers.iter().map(|name| common::frame(name, "own.c", 9)).collect();
        terminal::render(&report, &Options { width: 200, ..Options::default() })
    };
    for (function, kind, callers, words) in [
        (
            "my_lock",
            BlamedKind::Hold,
            &["work"][..],
            "my_lock is called by work. If it only takes the lock or gives it back",
        ),
        ("my_lock", BlamedKind::Hold, &["work"], "names its callers: --skip-frames my_lock\n"),
        ("my::Lock::lock(int)", BlamedKind::Hold, &["work"], "--skip-frames 'my::Lock::lock*'\n"),
        (
            "main::{lambda()#1}::operator()() const",
            BlamedKind::Wake,
            &["a", "b"],
            "--skip-frames 'main::{lambda()#1}::operator()() const'\n",
        ),
        ("Task::operator()(int)", BlamedKind::Wake, &["a", "b"], "'Task::operator()(int)'\n"),
        (
            "a::(anonymous namespace)::ready()",
            BlamedKind::Wake,
            &["b", "c"],
            "namespace)::ready()'\n",
        ),
        ("void my::lock<int>(int)", BlamedKind::Hold, &["b"], "--skip-frames 'void my::lock*'\n"),
        ("ready", BlamedKind::Wake, &["a", "b"], "ready is called by a, b. If"),
        ("ready", BlamedKind::Wake, &["a", "b", "c", "d"], "ready is called by a, b, c, …. If"),
    ] {
        let text = notes(function, kind, callers);
        assert!(text.contains(words), "{words}: {text}");
    }
    for (function, kind, callers) in [
        ("ready", BlamedKind::Wake, &["a"][..]),
        ("ready", BlamedKind::Hold, &["a", "b"]),
        ("operator()", BlamedKind::Wake, &["a", "b"]),
        ("my_lock", BlamedKind::Hold, &[]),
        ("clock_tick", BlamedKind::Hold, &["a"]),
        ("free_blocks", BlamedKind::Hold, &["a"]),
    ] {
        let text = notes(function, kind, callers);
        assert!(!text.contains("--skip-frames"), "{function}: {text}");
    }
}

#[test]
fn long_names_are_short_in_a_report_and_whole_in_json() {
    let whole = "shop::put<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >(int)";
    let mut report = common::sort();
    report.culprits[0].site = Some(common::frame(whole, "shop.cpp", 4));
    let text = terminal::render(&report, &Options { width: 200, ..Options::default() });
    assert!(text.contains(" shop::put<…>(int) shop.cpp:4 "), "{text}");
    let json = uncontended_report::json::text(&report).unwrap();
    assert!(String::from_utf8(json).unwrap().contains(whole));
}

#[test]
fn the_report_says_who_passes_it_on() {
    let long = |how, kind, waiter: &[&str]| {
        let wakeups: &[(u32, &[&str], u64)] = &[(how, &["keep"], 1_000_000)];
        run_of(kind, waiter, wakeups, Facts { wall_ns: 500_000, ..facts() })
    };
    let text = |report: &RunReport| {
        terminal::render(report, &Options { width: 100, ..Options::default() })
    };
    let condition = long(PASSED, CONDITION, &["mine"]);
    assert!(text(&condition).contains("passes #0 on"), "{}", text(&condition));
    let futex = long(WAKE, FUTEX, &["std::sync::Mutex::lock", "mine"]);
    assert!(text(&futex).contains("releases #0"), "{}", text(&futex));
    for (report, words) in [
        (
            condition,
            "threads pass it on as they do a lock, and 100 % of the waiting ended when keep program passed it on",
        ),
        (
            futex,
            "100 % of the waiting ended when keep program released it: hold it for less there, or split it",
        ),
    ] {
        // Enough waiting for a finding.
        let mut row = only(&report).clone();
        row.wait_ns = common::times(&[40_000_000; 8]);
        assert!(says(&row, words), "{words}");
        assert!(matches!(row.kind, Kind::Condition | Kind::Futex));
    }
}

#[test]
fn a_culprit_in_a_library_is_named_with_the_programs_own_code() {
    let mut report = common::sort();
    let own = common::frame("fill", "sort.c", 40);
    let allocate = Frame {
        module: Some("/usr/lib/libsqlite3.so.0".into()),
        ..common::frame("sqlite3Malloc", "malloc.c", 7)
    };
    report.processes[0].command = vec!["./program".to_owned()];
    report.culprits[0].site = Some(allocate.clone());
    report.culprits[0].stack =
        vec![allocate.clone(), own.clone(), common::frame("main", "sort.c", 90)];
    let text = |report: &RunReport| {
        terminal::render(report, &Options { width: 120, ..Options::default() })
    };
    assert!(
        text(&report).contains("sqlite3Malloc malloc.c:7 ← fill sort.c:40"),
        "{}",
        text(&report)
    );
    // A function without a name stands next to the first of its module that has one.
    let unnamed = Frame { function: None, file: None, line: None, ..allocate.clone() };
    report.processes[0].command = vec!["./another".to_owned()];
    report.culprits[0].site = Some(unnamed.clone());
    report.culprits[0].stack = vec![unnamed, own.clone(), allocate];
    assert!(text(&report).contains(" ← sqlite3Malloc malloc.c:7"), "{}", text(&report));
    report.processes[0].command = vec!["./program".to_owned()];
    report.culprits[0].site = Some(own);
    assert!(text(&report).contains(" fill sort.c:40 ") && !text(&report).contains('←'));
}
