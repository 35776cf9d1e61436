//! A report on a program that still runs says nothing of an end.

mod common;
mod written;

use common::*;
use uncontended_report::facts::Facts;
use uncontended_report::html::run_page;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};
use uncontended_report::terms::TERMS;
use uncontended_report::{findings, findings::none};
use written::{Writer, read};

/// What only a report on a run that is over may say.
const ENDS: [&str; 5] =
    ["when the run", "at the end", "run's end", "program ended", "end of the run"];

/// A thread that has waited for `lock` all along.
fn waiting(tid: u32, lock: u64) -> Thread {
    Thread {
        unfinished_wait_ns: Some(4_000 * MS),
        unfinished_lock: Some(lock),
        unfinished_stack: vec![frame("take", "sort.c", 10)],
        ..thread(tid, "stuck")
    }
}

/// A mutex for which threads have waited, and still do.
fn wanted(id: u64) -> Lock {
    let unfinished = Unfinished {
        count: 2,
        longest_ns: 4_000 * MS,
        total_ns: 8_000 * MS,
        held_ns: Some(4_100 * MS),
        holder: Some(9),
        holder_ended: false,
        waiters_ended: false,
    };
    Lock { unfinished: Some(unfinished), ..lock(id, Kind::Mutex, "make") }
}

/// Every form of a report for people.
fn said(mut report: RunReport) -> String {
    report.findings = findings::find(&report);
    let options = Options { width: 400, ..Options::default() };
    let none = none(&report);
    let text = [render(&report, &options), run_page(&report), none];
    text.join("\n")
}

fn reports() -> Vec<(&'static str, RunReport)> {
    let with = |threads: Vec<Thread>| {
        let mut report = run(&["program"]);
        report.processes = vec![process(7, vec![wanted(1), wanted(2)], threads)];
        report
    };
    let stuck = |tid, lock| Stuck {
        tid,
        name: "stuck".to_owned(),
        lock: Some(lock),
        shared: false,
        holder: 15 - tid,
        holds: true,
        wait_ns: 4_000 * MS,
        held_ns: Some(4_100 * MS),
        has_deadline: false,
        stack: vec![],
        taken: vec![],
    };
    let mut deadlock = with(vec![waiting(7, 1), waiting(8, 2)]);
    deadlock.deadlocks =
        vec![Deadlock { pid: 7, threads: vec![stuck(7, 1), stuck(8, 2)], behind: 1 }];
    let mut hung = with(vec![waiting(7, 1), waiting(8, 2)]);
    hung.processes[0].hung = Some(Hung { threads: 2, since_ns: 4_000 * MS });
    let mut from_kernel = hung.clone();
    from_kernel.source = Source::Kernel;
    let short = Thread { unfinished_wait_ns: Some(40 * MS), ..waiting(7, 1) };
    let mut shortly = with(vec![short]);
    shortly.processes[0].locks = vec![lock(1, Kind::Mutex, "make")];
    let held = with(vec![waiting(7, 1), thread(8, "other")]);
    vec![
        ("deadlock", deadlock),
        ("hung", hung),
        ("from the kernel", from_kernel),
        ("shortly", shortly),
        ("held", held),
        ("sort", sort()),
    ]
}

#[test]
fn while_the_program_runs_nothing_is_said_of_its_end() {
    let mut of_ended = 0;
    for (name, report) in reports() {
        of_ended += u32::from(ENDS.iter().any(|end| said(report.clone()).contains(end)));
        let text = said(RunReport { so_far: true, ..report });
        let found: Vec<_> = ENDS.iter().filter_map(|end| text.find(end)).collect();
        let found: Vec<_> = found.iter().map(|&at| &text[at.saturating_sub(60)..]).collect();
        let found: Vec<_> = found.iter().map(|text| text.chars().take(120)).collect();
        let found: Vec<String> = found.into_iter().map(Iterator::collect).collect();
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
    assert!(of_ended >= 3, "the texts of a run that is over say so: {of_ended}");
}

/// The words are explained for both.
#[test]
fn the_terms_are_of_a_run_so_far_too() {
    for (_, terms) in TERMS {
        for (term, meaning) in *terms {
            let is_of_an_end = meaning.contains("when the run");
            assert!(!is_of_an_end || meaning.contains("so far"), "{term}: {meaning}");
        }
    }
}

#[test]
fn a_program_that_is_not_recorded_yet_has_not_ended() {
    let nothing = |so_far| {
        let facts = Facts { so_far, delay_ns: 1 << 40, ..written::facts() };
        let mut writer = Writer::new();
        let unloaded = read(&writer, facts.clone()).coverage.nothing_seen.unwrap();
        writer.process(7);
        [unloaded, read(&writer, facts).coverage.nothing_seen.unwrap()]
    };
    assert!(nothing(false).iter().all(|text| text.contains("the program ended")));
    assert!(nothing(true).iter().all(|text| !text.contains("ended")), "{:?}", nothing(true));
}
