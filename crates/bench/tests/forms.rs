//! The output forms of a report, and real threads with the real instruments.

mod common;

use common::{Script, costs, cpus, options, row};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Report};

fn report() -> Report {
    let script = Script::new();
    let mut timed = costs(&script, |_| 300);
    Bench::new("forms", "what does a report look like")
        .places([Place::Free, Place::TwoPackages])
        .per("item")
        .on(script.clone(), cpus(2))
        .case("small")
        .subject("one", costs(&script, |_| 100))
        .subject("three | times", move |block: &mut Block| {
            timed(block);
            block.latencies_ns(1..=10_000);
            block.figure("lag items", 7.0);
        })
        .note("Not measured: anything.")
        .run(&Options { rounds: 20, ..options() })
}

/// The names of an object's fields.
fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_json_has_the_documented_fields_and_the_figures() {
    let text = uncontended_bench::json(&report());
    let value: Value = serde_json::from_str(&text).unwrap();
    let documented = std::fs::read_to_string("../../docs/json.md").unwrap();
    let section = documented.split("## `uncontended.bench/1`").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let measured = &value["tables"][0];
    let subject = &measured["subjects"][2];
    let objects = [
        &value,
        &value["machine"],
        measured,
        &value["tables"][1],
        subject,
        &subject["ratio"],
        &subject["latency_ns"],
    ];
    for key in objects.into_iter().flat_map(keys) {
        assert!(section.contains(&format!("`{key}`")), "docs/json.md does not describe {key}");
    }
    assert_eq!(value["schema"], "uncontended.bench/1");
    assert_eq!(subject["ns_per_operation"], 300.0);
    assert_eq!(subject["ratio"]["median"], 3.0);
    assert_eq!(subject["figures"]["lag items"], 7.0);
    let p99 = subject["latency_ns"]["p99"].as_f64().unwrap();
    assert!(
        (9_900.0..9_999.0).contains(&p99) && subject["latency_ns"]["max"] == 10_000,
        "{subject}"
    );
    assert_eq!(value["tables"][1]["skipped"], "all allowed CPUs are in one package");
}

#[test]
fn text_is_aligned_and_says_how_it_ended() {
    let text = uncontended_bench::text(&report());
    assert!(text.contains("small, not pinned: 12 rounds in"), "{text}");
    assert!(text.contains("every interval is within 5 %"), "{text}");
    assert!(text.contains("Not measured: anything."), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("one") || line.starts_with("three")).collect();
    let ends = |line: &str| line.chars().count();
    assert!(rows.len() == 3 && ends(rows[1]) <= ends(rows[2]), "{text}");
    let heading = text.lines().find(|line| line.contains("ns/item")).unwrap();
    let at = |line: &str, part: &str| {
        line.find(part).map(|at| line[..at].chars().count() + part.chars().count())
    };
    assert_eq!(
        at(heading, "ns/item"),
        at(rows[0], "100"),
        "figures end below their heading:\n{text}"
    );
}

#[test]
fn markdown_has_as_many_cells_in_every_row() {
    for (text, tables) in
        [(uncontended_bench::markdown(&report()), 1), (uncontended_bench::matrix(&report()), 2)]
    {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        assert_eq!(lines.len(), 5 * tables, "{text}");
        for table in lines.chunks(5) {
            assert!(table.iter().all(|line| cells(line) == cells(table[0])), "{text}");
        }
    }
}

#[test]
fn two_threads_run_on_their_cpus_at_the_same_time_and_are_timed_on_the_machine() {
    let report = Bench::new("pair", "do both run")
        .places([Place::OneCpu, Place::Free])
        .block(Duration::from_micros(200))
        .subject("pair", |block: &mut Block| {
            let (pinning, n) = (block.pinning().clone(), block.operations());
            let (send, receive) = std::sync::mpsc::sync_channel(4);
            let where_allowed = || uncontended_sys::affinity::allowed().unwrap();
            let check = move || pinning.cpus().is_empty() || pinning.cpus() == where_allowed();
            let other = check.clone();
            block.pair(
                move || {
                    assert!(check());
                    (0..n).for_each(|i| send.send(i).unwrap());
                },
                move || {
                    assert!(other());
                    assert_eq!(receive.iter().sum::<u64>(), n * (n - 1) / 2);
                },
            );
        })
        .run(&Options { seconds: 0.2, quiet: true, rounds: 5, ..Options::default() });
    let pair = row(&report, "pair");
    assert_eq!(pair.failed, None);
    assert!(pair.ns_per_operation.unwrap() > 0.0 && pair.cpu_share.unwrap() > 0.0, "{pair:?}");
}

#[test]
fn a_matrix_gathers_the_warnings_of_its_tables() {
    let script = Script::new();
    script.steals(1, 2);
    let bench = Bench::new("forms", "what is gathered").places([Place::Free]);
    let report =
        ["small", "large"].iter().fold(bench.on(script.clone(), cpus(2)), |bench, case| {
            bench
                .case(*case)
                .subject("one", costs(&script, |_| 100))
                .subject("gone", |_| panic!("gone"))
        });
    let text = uncontended_bench::matrix(&report.run(&Options { rounds: 20, ..options() }));
    assert!(text.contains("- warning: in 2 of 2 tables; small: the hypervisor took"), "{text}");
    assert!(text.contains("in 2 of 2 tables; small: gone: panicked: gone"), "{text}");
    assert!(text.contains("| one | 100 ns | 100 ns |"), "{text}");
}
