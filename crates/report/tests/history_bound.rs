//! A kept run takes at most 2 MiB, and its sums are those of the whole report.

mod common;

use common::*;
use uncontended_report::history::{ENTRY_BYTES, History, OTHERS};
use uncontended_report::run::*;
use uncontended_testkit::Folder;

/// What is kept of a report, and the bytes of its file.
fn kept(report: &RunReport) -> (RunReport, u64) {
    let folder = Folder::new();
    let history = History::at(folder.path());
    let number = history.add(report, 0).unwrap();
    let (summary, back) = history.load(number).unwrap();
    assert_eq!((summary.command, summary.exit_status), (back.command.clone(), report.exit_status));
    assert_eq!(summary.all_wait_ns, Some(waited(report)));
    (back, std::fs::metadata(folder.path().join(format!("{number}.jsonl"))).unwrap().len())
}

fn locks(report: &RunReport) -> impl Iterator<Item = &Lock> + Clone {
    report.processes.iter().flat_map(|process| &process.locks)
}

fn waited(report: &RunReport) -> u64 {
    locks(report).filter_map(|lock| lock.wait_ns.as_ref()).map(|wait| wait.total).sum()
}

/// Acquisitions, waits, the time waited, and that of the threads.
fn sums(report: &RunReport) -> [u64; 4] {
    let of = |figure: fn(&Lock) -> u64| locks(report).map(figure).sum();
    let threads = report.processes.iter().flat_map(|process| &process.threads);
    let cpu_ns = threads.filter_map(|thread| thread.cpu_ns).sum();
    [of(|lock| lock.acquisitions), of(|lock| lock.blocked), waited(report), cpu_ns]
}

fn is_bounded(bytes: u64) {
    assert!(bytes <= 2 << 20, "{bytes}");
    assert!(bytes >= ENTRY_BYTES as u64 / 8, "{bytes}: more could have been kept");
}

/// A lock that was waited for, the more the greater its number.
fn waited_for(id: u64, kind: Kind) -> Lock {
    let wait_ns = times(&[id * US + 1, 2 * US]);
    Lock { blocked: 2, wait_ns, worst_wait: None, ..lock(id, kind, "hold") }
}

#[test]
fn the_costliest_locks_are_kept_and_the_others_summed() {
    let kind = |id: u64| if id.is_multiple_of(3) { Kind::Spin } else { Kind::Mutex };
    let all: Vec<Lock> = (0..5_000).map(|id| waited_for(id, kind(id))).collect();
    let report = RunReport { processes: vec![process(7, all, vec![])], ..run(&["many"]) };
    let (back, bytes) = kept(&report);
    is_bounded(bytes);
    assert_eq!(sums(&back), sums(&report));
    let [of_process] = &back.processes[..] else { panic!("{}", back.processes.len()) };
    assert_eq!((of_process.pid, of_process.locks.len() < 5_000), (7, true));
    assert!(of_process.locks.iter().any(|lock| *lock == report.processes[0].locks[4_999]));
    let others: Vec<Kind> =
        locks(&back).filter(|lock| lock.address == OTHERS).map(|lock| lock.kind).collect();
    assert_eq!(others, [Kind::Mutex, Kind::Spin]);
    let of_others = locks(&back).filter(|lock| lock.address == OTHERS);
    assert!(of_others.clone().all(|lock| lock.class == Class::Unknown && lock.site.is_none()));
    assert!(of_others.clone().all(|lock| lock.wait_ns.as_ref().unwrap().count == lock.blocked));
}

#[test]
fn threads_and_processes_are_summed_too() {
    let all = (0..3_000).map(|pid| {
        let threads = (0..2).map(|nth| thread(pid * 2 + nth, "worker")).collect();
        process(pid + 1, vec![waited_for(pid.into(), Kind::Mutex)], threads)
    });
    let report = RunReport { processes: all.collect(), ..run(&["many"]) };
    let (back, bytes) = kept(&report);
    is_bounded(bytes);
    assert_eq!(sums(&back), sums(&report));
    let last = back.processes.last().unwrap();
    assert_eq!((last.pid, &last.command[..]), (0, &[OTHERS.to_owned()][..]));
    let one = RunReport {
        processes: vec![process(1, vec![], (0..10_000).map(|tid| thread(tid, "worker")).collect())],
        ..run(&["many"])
    };
    let (back, bytes) = kept(&one);
    is_bounded(bytes);
    assert_eq!(
        (sums(&back), &*back.processes[0].threads.last().unwrap().name),
        (sums(&one), OTHERS)
    );
}

#[test]
fn whatever_is_long_is_cut() {
    let long = "x".repeat(3 << 20);
    let report = RunReport {
        processes: vec![process(1, vec![waited_for(1, Kind::Mutex)], vec![thread(1, "main")])],
        ..run(&[&long, "second"])
    };
    let (back, bytes) = kept(&report);
    assert!(bytes <= 2 << 20, "{bytes}");
    assert_eq!((back.command.len(), sums(&back)), (1, sums(&report)));
    assert_eq!(back.processes[0].locks[0].address, OTHERS);
}

#[test]
fn what_fits_is_kept_whole() {
    let report = many(200, 24);
    let (back, _) = kept(&report);
    assert_eq!(back, report);
}
