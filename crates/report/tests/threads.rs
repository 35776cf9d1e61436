//! The figures of threads, from the record and from the kernel.

mod written;

use std::mem::offset_of;
use uncontended_report::facts::{Facts, ThreadFacts};
use uncontended_report::run::Thread;
use uncontended_trace::layout;
use written::{Writer, facts, read};

/// Threads of the program that a process executed before are not those of the last one.
#[test]
fn threads_of_an_earlier_program_are_not_the_last_ones() {
    let mut writer = Writer::new();
    let [first, last] = [writer.process(7), writer.process(7)];
    for (process, tids) in [(first, [7, 8]), (last, [7, 9])] {
        for tid in tids {
            writer.thread(process, tid);
        }
    }
    let counted = |tid| {
        let thread = Thread { tid, cpu_ns: Some(5_000), ..Thread::default() };
        ThreadFacts { pid: 7, thread }
    };
    let facts = Facts { threads: [7, 8, 9, 10].map(counted).to_vec(), ..facts() };
    let report = read(&writer, facts);
    let tids = |of: usize| report.processes[of].threads.iter().map(|thread| thread.tid);
    assert!(tids(0).eq([7, 8]) && tids(1).eq([7, 9, 10]), "{:#?}", report.processes);
}

/// A main thread has what it used since it was observed.
#[test]
fn what_ran_in_a_process_before_is_left_out() {
    let of = |end: u64| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        let main = writer.thread(process, 7);
        let before = [600_000, 100_000, 50_000, 3, 2].into_iter().enumerate();
        for (nth, figure) in before {
            writer.word(process, offset_of!(layout::Process, before) + 8 * nth, figure);
        }
        if end != 0 {
            writer.word(main, offset_of!(layout::Thread, cpu_ns), 900_000);
            writer.word(main, offset_of!(layout::Thread, system_ns), 200_000);
        }
        writer.word(main, offset_of!(layout::Thread, end_ticks), end);
        let thread = Thread {
            tid: 7,
            cpu_ns: Some(800_000),
            user_ns: Some(640_000),
            system_ns: Some(160_000),
            runnable_ns: Some(70_000),
            voluntary_switches: Some(5),
            involuntary_switches: Some(1),
            ..Thread::default()
        };
        let facts = Facts { threads: vec![ThreadFacts { pid: 7, thread }], ..facts() };
        let found = read(&writer, facts).processes[0].threads[0].clone();
        let switches = (found.voluntary_switches, found.involuntary_switches);
        (
            [found.cpu_ns, found.user_ns, found.system_ns, found.runnable_ns].map(Option::unwrap),
            switches,
        )
    };
    assert_eq!(of(0), ([200_000, 140_000, 60_000, 20_000], (Some(2), Some(0))));
    assert_eq!(of(13_001_000).0, [300_000, 200_000, 100_000, 20_000]);
}
