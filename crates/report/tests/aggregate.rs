//! From records written here byte by byte to reports: sums, percentiles, classes, and the time for a large one.

mod written;

use std::mem::offset_of;
use std::time::Instant;
use uncontended_report::aggregate::{Activity, Event, report, timeline};
use uncontended_report::facts::{
    Facts, FutexFacts, FutexThread, SpanFact, SpanFacts, ThreadFacts, Unrecorded,
};
use uncontended_report::perfetto;
use uncontended_report::run::{
    Class, Frame, FutexSite, IdleCause, Kind, OnPath, PathTaken, SpanKind, Thread,
};
use uncontended_testkit::{Random, repetitions};
use uncontended_trace::layout::{self, Cell, Cold, Lock, Process, UNIT, Unit, logged};
use uncontended_trace::reader::LoggedRecord;
use written::*;

#[test]
fn the_parts_of_all_threads_are_put_together() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.module(process, "/bin/program", 0x1000, 0x9000);
    let (ours, theirs) =
        (writer.stack(process, &[0x1010, 0x1020]), writer.stack(process, &[0x8888, 0xf000_0000]));
    let lock = writer.lock(process, 0xabc0, layout::kind::MUTEX);
    writer.half(lock, offset_of!(Lock, first_taken), ours);
    let (first, second) = (writer.thread(process, 7), writer.thread(process, 8));
    let a = writer.cell(first, lock, 100);
    writer.holds(a, 2000, 100);
    let b = writer.cell(second, lock, 50);
    writer.holds(b, 200_000, 50);
    writer.waited(b, 1_000_000, 400_000, [ours, theirs]);
    writer.word(b, offset_of!(Cell, owner_changes), 2);
    let cold = writer.get(b, offset_of!(Cell, cold));
    writer.word(cold, offset_of!(Cold, try_failed), 4);
    writer.word(cold, offset_of!(Cold, slept_known), 1);
    writer.word(cold, offset_of!(Cold, slept), 1);

    let report = read(&writer, facts());
    assert_eq!(
        (report.exit_status, report.clock.source.as_str(), report.clock.step_ns),
        (3, "tsc", 5.0)
    );
    let [row] = &report.processes[0].locks[..] else { panic!("one row: {report:?}") };
    assert_eq!(
        (row.kind, row.class, row.address.as_str()),
        (Kind::Mutex, Class::Contention, "0xabc0")
    );
    assert_eq!((row.acquisitions, row.blocked, row.try_failed, row.threads), (150, 1, 4, 2));
    assert_eq!((row.slept, row.slept_known), (Some(1), None));
    assert_eq!(row.owner_changes, Some(2));
    let hold = row.hold_ns.as_ref().unwrap();
    assert_eq!((hold.count, hold.total, hold.max), (150, 100_000 + 5_000_000, 100_000));
    assert_eq!(row.utilisation, Some(0.51));
    assert!((800..=1300).contains(&hold.p50), "{}", hold.p50);
    let wait = row.wait_ns.as_ref().unwrap();
    assert_eq!((wait.count, wait.total, wait.p50, wait.max), (1, 500_000, 500_000, 500_000));
    assert_eq!(wait.worst, [500_000]);
    assert_eq!(row.mean_queue, Some(0.05));
    let worst = row.worst_idle.as_ref().unwrap();
    assert_eq!((worst.ns, worst.cause), (200_000, IdleCause::NotWoken));
    let addresses =
        |frames: &[Frame]| frames.iter().map(|frame| frame.address.to_string()).collect::<Vec<_>>();
    assert_eq!(addresses(&row.worst_wait.as_ref().unwrap().waiter), ["0x10", "0x20"]);
    assert_eq!(addresses(&worst.releaser), ["0x7888", "0xf0000000"]);
    assert_eq!(&*row.site.as_ref().unwrap().address, "0x10");
    // The wait ended 4,000,000 ticks after the start and took 1,000,000.
    assert_eq!(
        (row.moments[0].at_ns, row.moments[0].ns, row.moments[0].tid),
        (1_500_000, 500_000, Some(8))
    );
    assert_eq!(report.processes[0].threads[1].wait_ns, Some(500_000));
}

/// The record dates the longest hold of a thread; the log dates the others, if it has them.
#[test]
fn the_longest_holds_have_their_moments() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let (lock, other) = (
        writer.lock(process, 0xabc0, layout::kind::MUTEX),
        writer.lock(process, 0xdef0, layout::kind::MUTEX),
    );
    let thread = writer.thread(process, 7);
    let cell = writer.cell(thread, lock, 5);
    writer.holds(cell, 90_000, 5);
    writer.word(cell, offset_of!(Cell, hold_worst_at), 501_000);
    writer.word(cell, offset_of!(Cell, hold_worst) + 8, 60_000);
    writer.word(cell, offset_of!(Cell, hold_worst) + 16, 60_000);
    writer.word(cell, offset_of!(Cell, hold_fourth), 50_000);
    let hold = |lock, began, length: u64| LoggedRecord {
        what: logged::HOLD,
        began,
        ended: began + length,
        lock,
        ..LoggedRecord::default()
    };
    let logged = [
        hold(other, 11_000, 50_000),
        hold(lock, 101_000, 60_000),
        hold(lock, 301_000, 60_000),
        hold(lock, 501_000, 90_000),
    ];
    writer.logs(thread, &logged);
    let report = read(&writer, facts());
    let moments = report.processes[0].locks[0].moments.iter();
    let moments: Vec<_> = moments.map(|moment| (moment.at_ns, moment.ns, moment.tid)).collect();
    let known = [(250_000, 45_000), (50_000, 30_000), (150_000, 30_000)];
    assert_eq!(moments, known.map(|(at, ns)| (at, ns, Some(7))), "the log has no fourth one");
}

/// A semaphore that a started thread holds until its end, for most of its life, is waited for to join it. Each figure
/// at the last value that makes a join, and at the next.
#[test]
fn a_semaphore_held_until_a_threads_end_is_a_hand_off() {
    let class = |tid, start: u64, end: u64, begun: u64, held: u64| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        let lock = writer.lock(process, 0xabc0, layout::kind::SEMAPHORE);
        let (joiner, keeper) = (writer.thread(process, 9), writer.thread(process, tid));
        writer.word(keeper, offset_of!(layout::Thread, start_ticks), start);
        writer.word(keeper, offset_of!(layout::Thread, end_ticks), end);
        let kept = writer.cell(keeper, lock, 1);
        writer.holds(kept, held, 1);
        writer.word(kept, offset_of!(Cell, hold_worst_at), begun);
        let passed = writer.cell(joiner, lock, 1);
        writer.waited(passed, 1_000_000, 1_000, [0, 0]);
        read(&writer, facts()).processes[0].locks[0].class
    };
    assert_eq!(class(8, 10_000, 110_000, 50_000, 50_000), Class::HandOff);
    for (tid, start, end, begun, held) in [
        (8, 10_000, 110_000, 50_000, 49_999),
        (8, 10_000, 110_000, 49_999, 50_000),
        (8, 10_000, 0, 50_000, 50_000),
        (8, 10_000, 110_000, 0, 110_000),
        (7, 10_000, 110_000, 50_000, 50_000),
    ] {
        let found = class(tid, start, end, begun, held);
        assert_eq!(found, Class::Contention, "{tid} {start} {end} {begun} {held}");
    }
}

/// The life of a thread is divided into what it ran, waited for, and the rest.
#[test]
fn a_threads_time_is_divided() {
    let thread = |end: u64, runnable_ns, asleep_since: u64| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        let thread = writer.thread(process, 8);
        let lock = writer.lock(process, 0x10, layout::kind::MUTEX);
        let cell = writer.cell(thread, lock, 1);
        writer.waited(cell, 1_000_000, 1_000, [0, 0]);
        let mut set = |offset, value| writer.word(thread, offset, value);
        // Two ticks are a nanosecond, the run starts at 1,000 and takes 10 ms.
        set(offset_of!(layout::Thread, start_ticks), 1_001_000);
        set(offset_of!(layout::Thread, end_ticks), end);
        set(offset_of!(layout::Thread, asleep_since), asleep_since);
        set(offset_of!(layout::Thread, joined), 200_000);
        let has_ended = end != 0;
        set(offset_of!(layout::Thread, cpu_ns), if has_ended { 2_000_000 } else { 0 });
        set(offset_of!(layout::Thread, system_ns), if has_ended { 500_000 } else { 0 });
        let thread = Thread { tid: 8, runnable_ns, cpu_ns: Some(1_000_000), ..Thread::default() };
        let sampled = ThreadFacts { pid: 7, thread };
        let report = read(&writer, Facts { threads: vec![sampled], ..facts() });
        let found = report.processes[0].threads.iter().find(|thread| thread.tid == 8).unwrap();
        let share = report.processes[0].locks[0].wait_share.unwrap();
        assert_eq!(found.unfinished_wait_ns, (asleep_since > 0).then_some(1_000_000));
        (found.lived_ns, found.user_ns, found.system_ns, found.other_wait_ns, share)
    };
    let (lived, user, system, other, share) = thread(13_001_000, Some(300_000), 0);
    assert_eq!((lived, user, system), (Some(6_000_000), Some(1_500_000), Some(500_000)));
    assert_eq!(other, Some(6_000_000 - 2_000_000 - 300_000 - 500_000 - 100_000));
    assert_eq!(share, 500_000.0 / 5_900_000.0);
    assert_eq!(thread(13_001_000, None, 0).3, Some(3_400_000));
    // It lived to the end, and waited since the ninth millisecond.
    let (lived, user, .., other, _) = thread(0, None, 18_001_000);
    assert_eq!((lived, user), (Some(9_500_000), None));
    assert_eq!(other, Some(9_500_000 - 1_000_000 - 500_000 - 100_000 - 1_000_000));
}

#[test]
fn what_has_no_meaning_for_a_kind_is_null() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let thread = writer.thread(process, 7);
    let never_posted = 10;
    for kind in 1..=never_posted {
        let is_posted = kind != never_posted;
        let of = if is_posted { kind } else { layout::kind::SEMAPHORE };
        let lock = writer.lock(process, u64::from(kind) << 12, of);
        writer.bytes[lock as usize * layout::UNIT + offset_of!(layout::Lock, passing)] *=
            u8::from(is_posted);
        let cell = writer.cell(thread, lock, 10);
        writer.holds(cell, 500, 10);
        writer.waited(cell, 1000, 500, [0, 0]);
    }
    let report = read(&writer, facts());
    let locks = &report.processes[0].locks;
    let has = |kind: Kind| {
        let row = locks.iter().find(|lock| lock.kind == kind).unwrap();
        (
            row.hold_ns.is_some(),
            row.idle_ns.is_some(),
            row.worst_idle.is_some(),
            row.owner_changes.is_some(),
        )
    };
    for kind in [Kind::Mutex, Kind::RwlockWrite, Kind::Spin, Kind::Annotated, Kind::Semaphore] {
        assert_eq!(has(kind), (true, true, true, true), "{kind:?}");
    }
    assert_eq!(has(Kind::RwlockRead), (true, false, false, false));
    for kind in [Kind::Condition, Kind::Barrier, Kind::Futex] {
        assert_eq!(has(kind), (false, false, false, false), "{kind:?}");
    }
    let open = locks.iter().find(|lock| lock.address == "0xa000").unwrap();
    assert_eq!((&open.hold_ns, open.class, &open.held_by[..]), (&None, Class::Unknown, &[][..]));
    assert!(locks.iter().all(|lock| lock.wait_ns.is_some()));
    let ids: Vec<u64> = locks.iter().map(|lock| lock.id).collect();
    assert_eq!(ids, (0..10).collect::<Vec<u64>>());
}

#[test]
fn a_program_of_which_nothing_was_seen_says_why() {
    let thread =
        ThreadFacts { pid: 7, thread: Thread { tid: 7, name: "main".into(), ..Thread::default() } };
    let futex = FutexFacts {
        waits: 2,
        total_ns: 1_000,
        threads: vec![FutexThread { pid: 7, tid: 7, total_ns: 1_000 }],
        ..FutexFacts::default()
    };
    let with = Facts { threads: vec![thread], futex: Some(futex), ..facts() };
    let report = read(&Writer::new(), with.clone());
    assert_eq!(report.coverage.futex_share_unaccounted, Some(1.0));
    assert_eq!((report.coverage.processes_observed, report.processes[0].pid), (0, 7));
    assert_eq!(report.processes[0].command, ["program"]);
    assert!(report.coverage.nothing_seen.unwrap().contains("not loaded"));
    let unobserved = Some("it is statically linked".to_owned());
    let with = Facts { unobserved, pid: Some(7), ..with };
    let report = read(&Writer::new(), with);
    let text = uncontended_report::terminal::render(&report, &Default::default());
    assert!(!text.contains("Observing added"), "{text}");
    assert!(report.coverage.nothing_seen.unwrap().contains("statically linked"));
    // No sample met it.
    let reasons: Vec<(u32, &str)> =
        report.coverage.not_recording.iter().map(|one| (one.pid, one.reason.as_str())).collect();
    assert_eq!(reasons, [(7, "it is statically linked")]);
    assert!(!report.coverage.unseen.is_empty());
}

/// What no row has is the kernel's to name, also where rows have something.
#[test]
fn the_kernel_s_sites_are_kept_where_locks_are_seen() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let thread = writer.thread(process, 7);
    let lock = writer.lock(process, 0x10, layout::kind::MUTEX);
    let cell = writer.cell(thread, lock, 1);
    writer.waited(cell, 600, 0, [0, 0]);
    let site = FutexSite { stack: vec![], waits: 2, total_ns: 900 };
    let (sites, total_ns) = (vec![site.clone()], 1_000);
    let futex = FutexFacts { sites, total_ns, ..FutexFacts::default() };
    let coverage = read(&writer, Facts { futex: Some(futex), ..facts() }).coverage;
    assert_eq!((coverage.nothing_seen, coverage.futex_sites), (None, vec![site]));
    assert_eq!(coverage.futex_wait_ns, Some(1_000));
}

/// Waiting that the observer knows of a thread hides none of another's; a wait to the end of the run is known.
#[test]
fn futex_waiting_is_accounted_for_thread_by_thread() {
    let share = |waited, still_waits: bool| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        let [first, second] = [7, 8].map(|tid| writer.thread(process, tid));
        let lock = writer.lock(process, 0x10, layout::kind::MUTEX);
        let cell = writer.cell(first, lock, 1);
        writer.waited(cell, waited, 0, [0, 0]);
        writer.word(first, offset_of!(layout::Thread, joined), 400);
        // The run of 10 ms ends 20,000,000 ticks after its start.
        writer.word(second, offset_of!(layout::Thread, asleep_since), 1_000 + 19_998_000);
        let end = if still_waits { 0 } else { 20_000_000 };
        writer.word(second, offset_of!(layout::Thread, end_ticks), end);
        let threads = [(7, 1_000), (8, 2_000)];
        let futex = FutexFacts {
            total_ns: 3_000,
            threads: threads.map(|(tid, total_ns)| FutexThread { pid: 7, tid, total_ns }).to_vec(),
            ..FutexFacts::default()
        };
        read(&writer, Facts { futex: Some(futex), ..facts() }).coverage.futex_share_unaccounted
    };
    // Of the first, 300 ns of waiting and 200 ns of a join; of the second, 1,000 ns to the end.
    assert_eq!(share(600, true), Some((500.0 + 1_000.0) / 3_000.0));
    assert_eq!(share(600, false), Some((500.0 + 2_000.0) / 3_000.0), "it woke");
    assert_eq!(share(1_000_000, true), Some(1_000.0 / 3_000.0), "more than the kernel's");
}

/// A program of one process has "one thread"; of several, no process has more.
#[test]
fn programs_without_threads_are_counted_by_process() {
    let seen = |pids: &[u32]| {
        let mut writer = Writer::new();
        for &pid in pids {
            let process = writer.process(pid);
            writer.thread(process, pid);
        }
        read(&writer, facts()).coverage.nothing_seen.expect("no locks")
    };
    assert!(seen(&[7]).contains("the program has one thread and took no lock"));
    assert!(seen(&[7, 7]).contains("the program has one thread and took no lock"), "an exec");
    assert!(
        seen(&[7, 8, 9]).contains("none of its 3 processes took a lock, and each has one thread")
    );
}

/// What was not seen is said, and only then.
#[test]
fn every_gap_has_its_sentence() {
    let unseen = |facts: Facts| read(&Writer::new(), facts).coverage.unseen.join("\n");
    let program =
        |pid, loaded| Unrecorded { pid, command: vec!["sh".to_owned()], loaded, elsewhere: false };
    let none = unseen(Facts { futex: Some(FutexFacts::default()), ..facts() });
    assert_eq!(none.lines().count(), 1, "{none}");
    let lost = Some(FutexFacts { lost: 3, ..FutexFacts::default() });
    let unrecorded = (1..=5).map(|pid| program(pid, pid == 5)).collect();
    for (with, sentence) in [
        (Facts { delay_ns: 1_500_000, ..facts() }, "The first 1.5 ms were not recorded (--delay)."),
        (Facts { left_running: 2, ..facts() }, "when the program ended, reported up to then: 2."),
        (Facts { other_users: 1, ..facts() }, "whose programs cannot open the record: 1."),
        (Facts { futex: lost, ..facts() }, "3 threads, processes or futex calls were left out"),
        (facts(), "that needs root, outside a container."),
        (
            Facts { unrecorded, ..facts() },
            "statically linked, or privileged): sh (1), sh (2), sh (3) and 1 more.\n\
             Not recorded, because the record could not be opened (another user, a user namespace, or a PID \
             namespace with its own /proc): sh (5).",
        ),
    ] {
        assert!(!none.contains(sentence));
        let said = unseen(with);
        assert!(sentence.lines().all(|line| said.contains(line)), "{sentence}: {said}");
    }
}

#[test]
fn an_exec_keeps_both_images_and_gives_the_kernels_figures_to_the_last() {
    let mut writer = Writer::new();
    for address in [0x10, 0x20] {
        let process = writer.process(7);
        let (thread, lock) =
            (writer.thread(process, 7), writer.lock(process, address, layout::kind::MUTEX));
        writer.cell(thread, lock, address);
    }
    let thread = Thread { tid: 7, name: "last".into(), migrations: Some(3), ..Thread::default() };
    let report = read(&writer, Facts { threads: vec![ThreadFacts { pid: 7, thread }], ..facts() });
    let seen: Vec<_> = report
        .processes
        .iter()
        .map(|p| (p.pid, p.locks[0].acquisitions, p.threads[0].migrations))
        .collect();
    assert_eq!(seen, [(7, 0x10, None), (7, 0x20, Some(3))]);
}

#[test]
fn a_report_on_many_locks_and_threads_asks_for_each_address_once() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.module(process, "/bin/program", 0x1000, 0x90_0000);
    let threads: Vec<u32> = (0..100).map(|tid| writer.thread(process, tid)).collect();
    let stacks: Vec<u32> =
        (0..500).map(|n| writer.stack(process, &[0x2000 + n * 16, 0x8_0000 + n, 0x4001])).collect();
    let locks = repetitions("locks", 1_000, 10_000) as usize;
    for number in 0..locks {
        let lock = writer.lock(process, 0x10_0000 + number as u64 * 64, layout::kind::MUTEX);
        let stack = stacks[number % stacks.len()];
        writer.half(lock, offset_of!(Lock, first_taken), stack);
        for step in 0..5 {
            let cell = writer.cell(threads[(number + step * 17) % threads.len()], lock, 10);
            writer.holds(cell, 5000, 10);
            if step == 0 {
                writer.waited(cell, 50_000, 1000, [stack, stack]);
            }
        }
    }
    let mut symbols = Plain::default();
    let start = Instant::now();
    let report = report(&writer.bytes, facts(), &mut symbols).unwrap();
    let json = serde_json::to_vec(&report).unwrap();
    println!("{locks} locks, 100 threads: {:?}, {} bytes of JSON", start.elapsed(), json.len());
    assert_eq!(report.processes[0].locks.len(), locks);
    assert_eq!(symbols.asked, 500 + 500 + 1);
}

/// A record with every kind of entry.
fn small() -> Writer {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.module(process, "/bin/program", 0x1000, 0x9000);
    let stack = writer.stack(process, &[0x1010, 0x1020, 0xffff_0000]);
    for tid in 7..10 {
        let thread = writer.thread(process, tid);
        for kind in 1..=9 {
            let lock = writer.lock(process, u64::from(kind) << 12, kind);
            writer.half(lock, offset_of!(Lock, created), stack);
            let cell = writer.cell(thread, lock, 10);
            writer.holds(cell, 500, 10);
            writer.waited(cell, 1000, 500, [stack, stack]);
        }
        let by = writer.get(process, offset_of!(Process, threads));
        let wait = |what: u32| {
            let (began, ended) = (2_000 + 300 * u64::from(what), 2_200 + 300 * u64::from(what));
            let lock = writer.get(process, offset_of!(Process, locks));
            let by_at = ended - 10;
            LoggedRecord {
                what,
                began,
                ended,
                by_at,
                joined: 77,
                free: 20,
                between: 30,
                lock,
                stack,
                by,
                by_stack: stack,
            }
        };
        let entries: Vec<LoggedRecord> = (0..4).chain(0..4).map(wait).collect();
        writer.logs(thread, &entries);
        writer.word(thread, offset_of!(layout::Thread, handle), 77);
        writer.word(process, offset_of!(Process, end_ticks), 9_000);
        writer.half(process, offset_of!(Process, ended_by), thread);
    }
    writer
}

#[test]
fn a_record_with_any_bytes_changed_gives_a_report_or_an_error() {
    let good = small().bytes;
    let mut numbers = Random(1);
    let mut random = |below: usize| numbers.below(below as u64) as usize;
    let rounds = repetitions("changed records", 300, 20_000);
    let mut reports = 0;
    for _ in 0..rounds {
        let mut bytes = good.clone();
        for _ in 0..=random(40) {
            let at = random(bytes.len() / 8) * 8;
            let value: u64 = match random(4) {
                0 => u64::MAX,
                1 => random(bytes.len() / UNIT) as u64,
                2 => (random(1 << 30) as u64) << 33,
                _ => 1 << random(64),
            };
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes.truncate(bytes.len() - random(2) * random(good.len()));
        let made = report(&bytes, facts(), &mut Plain::default());
        let timelines = timeline(&bytes, &facts(), &mut Plain::default());
        let (Ok(made), Ok(timelines)) = (made, timelines) else { continue };
        perfetto::render(&made, &timelines);
        reports += u64::from(serde_json::to_vec(&made).is_ok());
    }
    println!("{reports} reports");
    assert!(reports > rounds / 4);
}

/// A thread made another one at this time.
fn made(writer: &mut Writer, thread: Unit, (creator, at): (Unit, u64)) {
    writer.half(thread, offset_of!(layout::Thread, creator), creator);
    writer.word(thread, offset_of!(layout::Thread, made_ticks), at);
}

/// Ticks are half a nanosecond, from 1000 on: the worker waits for a hold of the other one, and the main thread for the
/// worker's end.
#[test]
fn the_path_leads_from_the_end_through_joins_and_holds() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let lock = writer.lock(process, 0xabc0, layout::kind::MUTEX);
    let [main, worker, other] = [7, 8, 9].map(|tid| writer.thread(process, tid));
    let held = writer.cell(other, lock, 1);
    let cell = writer.cell(worker, lock, 1);
    writer.waited(cell, 4_000, 0, [0, 0]);
    let ns = |ns: u64| 1_000 + 2 * ns;
    for (thread, start) in [(main, 0), (worker, 110), (other, 200)] {
        writer.word(thread, offset_of!(layout::Thread, start_ticks), ns(start));
    }
    made(&mut writer, worker, (main, ns(100)));
    writer.word(process, offset_of!(Process, start_ticks), ns(0));
    writer.word(process, offset_of!(Process, end_ticks), ns(5_000));
    writer.half(process, offset_of!(Process, ended_by), main);
    writer.word(worker, offset_of!(layout::Thread, handle), 77);
    writer.word(worker, offset_of!(layout::Thread, end_ticks), ns(4_000));
    let (what, began, ended) = (logged::JOIN, ns(300), ns(4_100));
    writer.logs(main, &[LoggedRecord { what, began, ended, joined: 77, ..Default::default() }]);
    let (began, ended, by_at, by) = (ns(1_000), ns(3_000), ns(2_900), held);
    let wait = LoggedRecord { began, ended, by_at, by, lock, ..Default::default() };
    writer.logs(worker, &[wait]);
    let (what, began, ended) = (logged::HOLD, ns(250), ns(2_900));
    writer.logs(other, &[LoggedRecord { what, began, ended, lock, ..Default::default() }]);

    // The first one is of a thread that took no lock.
    let span = |tid, began_ns, ended_ns| SpanFact { pid: 7, tid, began_ns, ended_ns };
    let calls = vec![span(10, 900, 950), span(8, 900, 3_050)];
    let (name, kind) = ("work".to_owned(), SpanKind::Function);
    let spans = Some(SpanFacts { name, kind, spans: calls, earlier: 5, lost: 2, cost_ns: Some(9) });
    let made = report(&writer.bytes, Facts { spans, ..facts() }, &mut Plain::default()).unwrap();
    let path = PathTaken {
        pid: 7,
        until_ns: 5_000,
        own_ns: 4_800,
        asleep_ns: 1_900, // The worker, before its wait and after it: it had no CPU time.
        handed_over_ns: 100 + 100,
        handovers: 2,
        // Unknown is nothing: which thread made the worker is known; that the other's maker is not does not matter.
        mainly: Some(OnPath { tid: 8, own_ns: 1_900, body: None }),
        ..Default::default()
    };
    assert_eq!(made.paths, std::slice::from_ref(&path));
    // Of another process than the first, it is not known what set the rest of the run's length.
    let later = report(&writer.bytes, Facts { pid: Some(6), ..facts() }, &mut Plain::default());
    assert_eq!(later.unwrap().paths[0].outside_ns, facts().wall_ns - path.length_ns());
    let [spans] = made.spans.as_slice() else { panic!("spans of one function") };
    assert_eq!((spans.count, spans.not_kept, spans.lost, spans.max_ns), (2, 5, 2, 2_150));
    let slowest = &spans.slowest;
    // Its own 150 ns, and the other thread's hold since it waited; no culprit has caused any of it.
    let parts = [slowest.own_ns, slowest.handed_over_ns, slowest.unknown_ns];
    assert_eq!((slowest.count, slowest.ns, parts), (1, 2_150, [2_050, 100, 0]));
    let median = &spans.median;
    assert_eq!((median.count, median.ns, median.own_ns), (1, 50, 50));
    let timelines = timeline(&writer.bytes, &facts(), &mut Plain::default()).unwrap();
    let event = |what, tid, lock, (at_ns, end): (u64, u64), by| Event {
        what,
        tid,
        lock,
        at_ns,
        ns: end - at_ns,
        by,
        code: None,
    };
    let join = event(Activity::Wait, 7, None, (300, 4_100), Some((8, 4_000)));
    let wait = event(Activity::Wait, 8, Some(0), (1_000, 3_000), Some((9, 2_900)));
    let hold = event(Activity::Hold, 9, Some(0), (250, 2_900), None);
    assert_eq!(timelines[0].events, [join, wait, hold]);
}

/// Ticks are half a nanosecond, from 1000 on.
#[test]
fn announced_spans_of_one_name_belong_together() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let threads = [8, 9].map(|tid| writer.thread(process, tid));
    let span = |name: u32, began: u64, ended: u64| LoggedRecord {
        what: logged::SPAN,
        began: 1_000 + 2 * began,
        ended: 1_000 + 2 * ended,
        lock: name,
        ..Default::default()
    };
    for (thread, offset) in threads.into_iter().zip([0, 500]) {
        let [serve, scan] = ["serve", "scan"].map(|name| writer.span_name(thread, name, 4));
        let entries = [
            span(serve, offset + 20, offset + 30),
            span(scan, offset + 40, offset + 45),
            span(serve, offset + 10, offset + 110),
            span(serve, offset + 120, offset + 121),
        ];
        writer.logs(thread, &entries);
    }
    let made = report(&writer.bytes, facts(), &mut Plain::default()).unwrap();
    let found = made.spans.iter().map(|of| {
        (of.name.as_str(), of.kind, [of.count, of.not_kept], [of.p50_ns, of.max_ns], of.cost_ns)
    });
    let kind = SpanKind::Annotation;
    assert_eq!(
        found.collect::<Vec<_>>(),
        [("serve", kind, [6, 2], [10, 100], None), ("scan", kind, [2, 6], [5, 5], None),]
    );
    let timelines = timeline(&writer.bytes, &facts(), &mut Plain::default()).unwrap();
    let [first, second] = [&timelines[0].events[0], &timelines[0].events[1]];
    let name = |event: &Event| timelines[0].codes[event.code.unwrap()].clone();
    assert_eq!((first.what, first.lock, first.by), (Activity::Span, None, None));
    assert_eq!([name(first), name(second)], ["serve", "scan"]);
}
