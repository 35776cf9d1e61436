//! The engine on a scripted clock: time advances only when a subject says so, so the truth is known.

mod common;

use common::{Script, costs, cpus, options, row};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Place, Ratio, Report, Role, Stopped, Table};

fn bench(script: &Arc<Script>) -> Bench {
    Bench::new("scripted", "is the truth found").places([Place::Free]).on(script.clone(), cpus(2))
}

#[test]
fn twice_as_slow_is_a_ratio_of_two_and_the_control_shows_nothing() {
    let script = Script::new();
    let report = bench(&script)
        .subject("one", costs(&script, |_| 100))
        .subject("two", costs(&script, |_| 200))
        .run(&options());
    let table = report.tables[0].outcome.as_ref().unwrap();
    assert_eq!(table.stopped, Stopped::Narrow);
    let two = row(&report, "two");
    let ratio = two.ratio.unwrap();
    assert_eq!((ratio.median, ratio.low, ratio.high), (2.0, 2.0, 2.0));
    assert_eq!((two.ns_per_operation, two.cpu_ns_per_operation), (Some(200.0), Some(100.0)));
    let control = row(&report, "one again (A/A)").ratio.unwrap();
    assert_eq!((control.low, control.high), (1.0, 1.0));
    assert!(table.warnings.is_empty() && report.warnings.is_empty(), "{:?}", table.warnings);
    assert_eq!(
        table.rows.iter().map(|row| row.role.key()).collect::<Vec<_>>(),
        ["baseline", "control", "subject"]
    );
}

#[test]
fn noise_leaves_the_truth_inside_the_interval() {
    let script = Script::new();
    // Between 80 and 120 ns, different in each block, the same for all subjects.
    let noisy = |times: u64| {
        let mut random = uncontended_testkit::Random(times);
        costs(&script, move |_| times * (80 + random.below(41)))
    };
    let wide = uncontended_bench::Options { width: 0.1, ..options() };
    let report = bench(&script).subject("one", noisy(1)).subject("two", noisy(2)).run(&wide);
    for (name, truth) in [("one again (A/A)", 1.0), ("two", 2.0)] {
        let ratio = row(&report, name).ratio.unwrap();
        assert!(ratio.low <= truth && truth <= ratio.high, "{name}: {ratio:?}");
        assert!(
            ratio.high / ratio.low <= 1.1 + 1e-9,
            "it stopped because this is narrow: {ratio:?}"
        );
    }
}

#[test]
fn speed_and_cpu_time_are_ratios_too() {
    let script = Script::new();
    let run = |ratio: Ratio| {
        let report = bench(&script)
            .ratio(ratio)
            .subject("one", costs(&script, |_| 100))
            .subject("two", costs(&script, |_| 200))
            .run(&options());
        row(&report, "two").ratio.unwrap().median
    };
    assert_eq!((run(Ratio::Speed), run(Ratio::Cpu)), (0.5, 2.0));
}

#[test]
fn every_round_has_each_subject_once_in_an_order_drawn_anew() {
    let script = Script::new();
    let log = Arc::new(Mutex::new(String::new()));
    let logged = |letter: char| {
        let (log, mut cost) = (log.clone(), costs(&script, |_| 1_000_000));
        move |block: &mut Block| {
            log.lock().unwrap().push(letter);
            cost(block);
        }
    };
    let options = uncontended_bench::Options { rounds: 60, width: 1e-9, ..options() };
    let report = bench(&script)
        .block(Duration::from_micros(1))
        .subject("a", logged('a'))
        .subject(
            "b",
            costs(&script, {
                let mut calls = 0;
                move |_| {
                    calls += 1;
                    1_000_000 + calls
                }
            }),
        )
        .subject("c", logged('c'))
        .run(&options);
    assert!(report.tables[0].outcome.as_ref().unwrap().rounds >= 14);
    let log = log.lock().unwrap();
    let rounds: Vec<&[u8]> = log.as_bytes()[4..].chunks(3).collect();
    // The baseline twice, the other subject once.
    for round in &rounds {
        assert_eq!(round.iter().filter(|&&letter| letter == b'a').count(), 2, "{log}");
    }
    let mut orders: Vec<_> = rounds.clone();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 3, "aac, aca and caa all occur: {log}");
}

#[test]
fn the_budget_ends_what_does_not_become_narrow_and_few_rounds_are_warned_about() {
    let script = Script::new();
    let options = uncontended_bench::Options { seconds: 1.0, ..options() };
    let report = bench(&script)
        .subject("one", costs(&script, |_| 100_000_000))
        .subject("two", costs(&script, |_| 200_000_000))
        .run(&options);
    let table = report.tables[0].outcome.as_ref().unwrap();
    assert_eq!(table.stopped, Stopped::Time);
    assert!(
        table.rounds < 10 && table.warnings.iter().any(|it| it.contains("too few")),
        "{table:?}"
    );
}

#[test]
fn a_block_is_as_long_as_asked_for() {
    let script = Script::new();
    let report = bench(&script)
        .block(Duration::from_millis(3))
        .subject("one", costs(&script, |_| 100))
        .run(&options());
    let one = row(&report, "one");
    assert_eq!(one.operations / one.blocks, 30_000);
}

#[test]
fn one_slow_block_does_not_make_all_blocks_short() {
    let script = Script::new();
    let mut calls = 0;
    let hiccup = costs(&script, move |_| {
        calls += 1;
        if calls == 3 { 1_000_000 } else { 100 }
    });
    let report = bench(&script).subject("one", hiccup).run(&options());
    let one = row(&report, "one");
    assert!(one.operations / one.blocks > 50_000, "of 10 ms, 100 ns each: {one:?}");
}

#[test]
fn a_subject_that_is_slow_only_in_long_blocks_does_not_take_all_the_time() {
    let script = Script::new();
    // Fast until a queue is full: 100 ns, then a millisecond per operation.
    let filling = costs(&script, |n| if n < 1_000 { 100 } else { 1_000_000 });
    let options = uncontended_bench::Options { rounds: 100, width: 1e-9, ..options() };
    let report = bench(&script)
        .subject("steady", costs(&script, |_| 100))
        .subject("filling", filling)
        .run(&options);
    let table = report.tables[0].outcome.as_ref().unwrap();
    assert!(
        table.seconds < 20.0,
        "a block of 1,000 takes a second; few are tried: {}",
        table.seconds
    );
}

#[test]
fn a_panic_is_reported_and_the_others_go_on() {
    let script = Script::new();
    let mut left = 20;
    let report = bench(&script)
        .subject("fine", costs(&script, |_| 100))
        .subject("also fine", costs(&script, |_| 100))
        .subject("breaks at once", |_| panic!("no such thing"))
        .subject("measures nothing", |_| {})
        .subject("breaks later", {
            let mut cost = costs(&script, |_| 100);
            move |block: &mut Block| {
                left -= 1;
                assert!(left > 0, "worn out");
                cost(block);
            }
        })
        .run(&options());
    assert_eq!(row(&report, "breaks at once").failed.as_deref(), Some("panicked: no such thing"));
    assert_eq!(row(&report, "measures nothing").failed.as_deref(), Some("measured nothing"));
    assert_eq!(row(&report, "also fine").ratio.unwrap().high, 1.0);
    let text = uncontended_bench::text(&report);
    assert!(text.contains("warning: breaks at once: panicked: no such thing"), "{text}");
}

#[test]
fn a_hang_is_reported_and_the_others_go_on() {
    let script = Script::new();
    let report = bench(&script)
        .limit(Duration::from_millis(100))
        .places([Place::Free, Place::Free])
        .subject("fine", costs(&script, |_| 100))
        .subject("hangs", |block: &mut Block| {
            block.pair(
                || panic!("the other waits forever"),
                || loop {
                    std::thread::park()
                },
            );
        })
        .run(&options());
    let failed = |table: &Table| {
        let rows = &table.outcome.as_ref().unwrap().rows;
        rows.iter().find(|row| row.name == "hangs").unwrap().failed.clone().unwrap()
    };
    assert_eq!(failed(&report.tables[0]), "hung: a block did not end within 100ms");
    assert_eq!(failed(&report.tables[1]), "hung earlier");
    assert!(uncontended_bench::text(&report).contains("its threads may still run"));
}

#[test]
fn without_the_baseline_there_are_figures_but_no_ratios() {
    let script = Script::new();
    let report = bench(&script)
        .subject("gone", |_| panic!("gone"))
        .subject("one", costs(&script, |_| 100))
        .run(&uncontended_bench::Options { rounds: 3, ..options() });
    let one = row(&report, "one");
    assert_eq!((one.ns_per_operation, one.ratio), (Some(100.0), None));
    assert_eq!(report.tables[0].outcome.as_ref().unwrap().rows[0].role, Role::Baseline);
}

#[test]
fn steal_and_other_processes_are_warned_about() {
    let script = Script::new();
    script.steals(1, 2);
    let report = bench(&script).subject("one", costs(&script, |_| 100)).run(&options());
    let table = report.tables[0].outcome.as_ref().unwrap();
    assert!((table.stolen - 0.5).abs() < 0.01, "of two CPUs, one: {}", table.stolen);
    assert!((table.others - 2.0).abs() < 0.01, "{}", table.others);
    let warned = |part: &str| table.warnings.iter().any(|it| it.contains(part));
    assert!(warned("hypervisor took 50.0 %") && warned("kept 2.00 CPUs"), "{:?}", table.warnings);
}

#[test]
fn a_drift_hits_all_alike() {
    let script = Script::new();
    let clock = script.clone();
    // Everything becomes ten times slower after a while.
    let drift =
        move || 1 + 9 * (uncontended_bench::Instruments::wall_ns(&*clock) / 1_000_000_000).min(1);
    let (first, second) = (drift.clone(), drift);
    let report = bench(&script)
        .subject("one", costs(&script, move |_| 100 * first()))
        .subject("three", costs(&script, move |_| 300 * second()))
        .run(&uncontended_bench::Options { rounds: 50, width: 1e-9, ..options() });
    let ratio = row(&report, "three").ratio.unwrap();
    assert!((ratio.median - 3.0).abs() < 1e-9, "{ratio:?}");
}

#[test]
fn a_place_that_the_machine_lacks_is_shown_as_skipped() {
    let script = Script::new();
    let report: Report = bench(&script)
        .places([Place::TwoPackages])
        .subject("one", costs(&script, |_| 100))
        .run(&options());
    assert!(report.tables[0].outcome.is_err());
    assert!(uncontended_bench::text(&report).contains("SKIPPED two packages: all allowed CPUs"));
}

#[test]
fn only_what_is_asked_for_runs_and_always_the_baseline() {
    let script = Script::new();
    let options = uncontended_bench::Options {
        only: vec!["bl".into()],
        cases: vec!["64".into()],
        ..options()
    };
    let report = ["64", "1,024"].iter().fold(bench(&script).baseline("base"), |bench, size| {
        ["able", "base", "baker"]
            .iter()
            .fold(bench.case(*size), |bench, name| bench.subject(name, costs(&script, |_| 100)))
    });
    let report = report.run(&options);
    assert_eq!(report.tables.len(), 1);
    let rows = &report.tables[0].outcome.as_ref().unwrap().rows;
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["able", "base", "base again (A/A)"]);
}

#[test]
fn an_interruption_ends_a_block_and_keeps_the_rounds_before_it() {
    static IS_OVER: OnceLock<()> = OnceLock::new();
    let script = Script::new();
    let mut random = uncontended_testkit::Random(7);
    let mut cost = costs(&script, move |_| 1_000_000 + random.below(1_000_000));
    let mut blocks = 0;
    let begun = std::time::Instant::now();
    let report = bench(&script)
        .case("first")
        .subject("one", costs(&script, |_| 1_000_000))
        .subject("two", move |block: &mut Block| {
            blocks += 1;
            if blocks == 30 {
                IS_OVER.get_or_init(|| ());
                std::thread::sleep(Duration::from_secs(30));
            }
            cost(block);
        })
        .case("second")
        .subject("one", costs(&script, |_| 1_000_000))
        .until(|| IS_OVER.get().is_some())
        .run(&uncontended_bench::Options { rounds: 60, width: 1e-9, ..options() });
    assert!(begun.elapsed() < Duration::from_secs(20), "the block was not waited for");
    let first = report.tables[0].outcome.as_ref().unwrap();
    assert_eq!(first.stopped, Stopped::Interrupted);
    let two = row(&report, "two");
    assert!(two.blocks > 10 && two.failed.is_none() && two.ratio.is_some(), "{two:?}");
    assert_eq!(report.tables[1].outcome.as_ref().unwrap_err(), "interrupted");
}

/// The report has the message of a panic. On standard error it would stand among the progress.
#[test]
fn a_subject_that_panics_prints_nothing() {
    const INNER: &str = "UNC_TEST_PANICS";
    if std::env::var_os(INNER).is_some() {
        let script = Script::new();
        let panics = |block: &mut Block| block.pair(|| (), || panic!("in a thread of the team"));
        let report = bench(&script)
            .subject("one", costs(&script, |_| 100))
            .subject("two", panics)
            .run(&options());
        assert!(row(&report, "two").failed.as_deref().unwrap().contains("in a thread of the team"));
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_subject_that_panics_prints_nothing", "--nocapture"])
        .env(INNER, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("panicked"), "{said}");
}
