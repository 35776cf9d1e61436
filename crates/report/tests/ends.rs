//! The ends of process images, of records written here: the start is at 1000 ticks, and a tick is 0.5 ns.

mod written;

use std::mem::offset_of;
use uncontended_report::facts::{EndedBy, Facts, ProcessEnd};
use uncontended_report::run::Process as Reported;
use uncontended_trace::layout::{self, Cell, Lock, Process, Thread, WaiterList};
use written::{Writer, facts, read};

/// A process 7 from 2000 ticks on, whose thread has waited for a lock since 3000, that another one has had since 2500.
fn waiting() -> (Writer, u32) {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.word(process, offset_of!(Process, start_ticks), 2000);
    let lock = writer.lock(process, 0x1000, layout::kind::MUTEX);
    let [holder, waiter] = [7, 8].map(|tid| writer.thread(process, tid));
    let cell = writer.cell(holder, lock, 1);
    writer.half(cell, offset_of!(Cell, depth), 1);
    writer.word(cell, offset_of!(Cell, hold_start), 2500);
    writer.half(lock, offset_of!(Lock, owner), cell);
    writer.cell(waiter, lock, 0);
    let list = writer.entry(size_of::<WaiterList>());
    writer.half(lock, offset_of!(Lock, waiters), list);
    writer.word(list, offset_of!(WaiterList, arrivals), 3000);
    writer.half(waiter, offset_of!(Thread, wants), lock);
    writer.word(waiter, offset_of!(Thread, wants_since), 3000);
    writer.word(waiter, offset_of!(Thread, asleep_since), 3000);
    (writer, process)
}

fn seen(ends: &[(u32, u64)]) -> Facts {
    let ends = ends
        .iter()
        .map(|&(pid, ended_ns)| ProcessEnd { pid, ended_ns, by: EndedBy::Unknown })
        .collect();
    Facts { pid: Some(1), ends, ..facts() }
}

fn first(writer: &Writer, facts: Facts) -> Reported {
    read(writer, facts).processes.swap_remove(0)
}

/// When the process ended, and how long its thread had waited and held the lock then.
fn figures(process: &Reported) -> (Option<u64>, u64, Option<u64>) {
    let left = process.locks[0].unfinished.unwrap();
    assert_eq!(process.threads[1].unfinished_wait_ns, Some(left.longest_ns));
    assert_eq!(left.waiters_ended, process.ended_ns.is_some());
    (process.ended_ns, left.longest_ns, left.held_ns)
}

#[test]
fn what_a_process_waited_for_ends_when_it_was_seen_to_have_ended() {
    let (writer, _) = waiting();
    assert_eq!(figures(&first(&writer, seen(&[]))), (None, 9_999_000, Some(9_999_250)));
    let ended = (Some(1500), 500, Some(750));
    assert_eq!(figures(&first(&writer, seen(&[(7, 1500), (7, 4000), (8, 1200)]))), ended);
    // It has waited since then, so it was another process of this number that ended.
    assert_eq!(figures(&first(&writer, seen(&[(7, 800), (7, 1500)]))), ended);
    // The end of the program itself is the run's.
    let main = Facts { pid: Some(7), ..seen(&[]) };
    assert_eq!(first(&writer, main).ended_ns, None);
}

#[test]
fn a_program_ends_when_its_process_executes_another() {
    let (mut writer, _) = waiting();
    let announced = writer.process(7);
    writer.half(announced, offset_of!(Process, parent), layout::ANNOUNCED);
    writer.word(announced, offset_of!(Process, start_ticks), 3600);
    assert_eq!(figures(&first(&writer, seen(&[(7, 1500)]))), (Some(1300), 300, Some(550)));
    writer.half(announced, offset_of!(Process, pid), 0); // It could not.
    assert_eq!(figures(&first(&writer, seen(&[(7, 1500)]))), (Some(1500), 500, Some(750)));
    let next = writer.process(7);
    writer.word(next, offset_of!(Process, start_ticks), 3800);
    let main = Facts { pid: Some(7), ..seen(&[(7, 1500)]) };
    assert_eq!(figures(&first(&writer, main)), (Some(1400), 400, Some(650)));
}

/// What coverage says of processes that did not end themselves.
fn cut(writer: &Writer, facts: Facts) -> String {
    let coverage = read(writer, facts).coverage;
    let lines = coverage.unseen.into_iter().filter(|line| line.starts_with("Ended"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_process_that_did_not_end_itself_is_named_with_its_locks() {
    let (mut writer, process) = waiting();
    let by = |by| Facts { ends: vec![ProcessEnd { pid: 7, ended_ns: 1500, by }], ..seen(&[]) };
    let said = cut(&writer, by(EndedBy::Signal(9)));
    assert!(said.starts_with("Ended by SIGKILL: process 7 at 1.50 µs, while thread 7"), "{said}");
    assert!(said.contains("held #0 ("), "{said}");
    let said = cut(&writer, by(EndedBy::Unknown));
    assert!(
        said.starts_with("Ended, it is not known by what") && said.contains("held #0"),
        "{said}"
    );
    for by in [by(EndedBy::Exec), by(EndedBy::Exit), seen(&[])] {
        assert_eq!(cut(&writer, by), "");
    }
    // The program's own end is the run's, and the head of the report says what it was.
    let program = |signal| Facts { pid: Some(7), signal, ..facts() };
    assert_eq!(cut(&writer, program(None)), "");
    assert!(cut(&writer, program(Some(15))).contains("by SIGTERM: process 7 at"));
    let mut bare = Writer::new();
    bare.process(7);
    assert_eq!(cut(&bare, program(Some(15))), "");
    assert!(cut(&bare, by(EndedBy::Signal(11))).contains("by SIGSEGV: process 7"));
    // The observer saw it end.
    writer.word(process, offset_of!(Process, end_ticks), 3500);
    assert_eq!(cut(&writer, by(EndedBy::Signal(9))), "");
}

#[test]
fn of_many_processes_that_were_ended_three_are_named() {
    let mut writer = Writer::new();
    let ends = (1..=9).map(|pid| {
        writer.process(100 + pid);
        let by = if pid < 9 { EndedBy::Signal(15) } else { EndedBy::Signal(6) };
        ProcessEnd { pid: 100 + pid, ended_ns: 10_000 + u64::from(pid), by }
    });
    let ends = ends.collect();
    let said = cut(&writer, Facts { ends, ..seen(&[]) });
    let lines: Vec<&str> = said.lines().collect();
    let [aborted, ended] = lines[..] else { panic!("a line for each signal: {said}") };
    assert!(aborted.contains("SIGABRT: process 109"), "{said}");
    assert!(ended.contains("process 103") && !ended.contains("process 104"), "{said}");
    assert!(ended.ends_with("; 5 more processes."), "{said}");
}
