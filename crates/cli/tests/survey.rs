//! `unc survey` end to end: its topics in their forms, and what it says of bad input.

mod common;

use common::{Folder, status, stderr, stdout, unc, unc_reads};
use serde_json::Value;
use std::process::Output;

/// The survey of these topics within this time, as JSON.
fn survey(topics: &[&str], budget: &str) -> Value {
    let folder = Folder::new();
    let file = folder.file("survey.json");
    let output = unc()
        .args(["survey", "-q", "--budget", budget, "--json", &file])
        .args(topics)
        .output()
        .unwrap();
    assert!([0, 3].contains(&status(&output)), "{}", stderr(&output));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn topic<'v>(survey: &'v Value, name: &str) -> &'v Value {
    assert_eq!(survey["schema"], "uncontended.survey/1");
    let topics = survey["topics"].as_array().unwrap();
    topics.iter().find(|topic| topic["topic"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn mentions(topic: &Value, list: &str, words: &str) -> bool {
    let lines = topic[list].as_array().unwrap();
    lines.iter().any(|line| line.as_str().unwrap().contains(words))
}

/// A folder with the file `data`.
fn folder_with(data: &str) -> Folder {
    let folder = Folder::new();
    std::fs::write(folder.file("data"), data).unwrap();
    folder
}

/// Every line of a terminal of 80 columns is as wide at most.
fn fits(output: &Output) {
    let text = stdout(output);
    for line in text.lines() {
        assert!(uncontended_figures::text::width(line) <= 80, "{line}");
    }
}

/// The survey of a topic as a terminal of 80 columns shows it, from this CPU alone if there
/// is one; its words, however they are wrapped.
fn shown(topic: &str, budget: &str, cpu: Option<usize>) -> String {
    let mut command = unc();
    command.args(["survey", topic, "-q", "--budget", budget]).env("COLUMNS", "80");
    let output = std::thread::spawn(move || {
        // The command inherits the CPUs of the thread that starts it.
        if let Some(cpu) = cpu {
            uncontended_sys::affinity::pin(cpu).unwrap();
        }
        command.output().unwrap()
    });
    let output = output.join().unwrap();
    // On one CPU, there may be nothing to measure: that is status 2.
    let may_be_empty = cpu.is_some() && status(&output) == 2;
    assert!(may_be_empty || [0, 3].contains(&status(&output)), "{}", stderr(&output));
    fits(&output);
    stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One of the CPUs that this process may use.
fn a_cpu() -> usize {
    uncontended_sys::affinity::allowed().unwrap()[0]
}

/// Throughput by the law with a serial share of 0.08, a cost of 0.002 for each pair, and 1,500 for one thread.
fn planted(threads: u64) -> f64 {
    let n = threads as f64;
    1500.0 * n / (1.0 + 0.08 * (n - 1.0) + 0.002 * n * (n - 1.0))
}

#[test]
fn the_law_of_figures_from_a_file_is_the_planted_one() {
    let lines: String =
        [1, 2, 4, 8, 12, 16, 24].iter().map(|&n| format!("{n} {}\n", planted(n))).collect();
    let text = format!("# threads, requests per second\n\n{lines}");
    let output = unc_reads(&["survey", "scale", "--from", "-", "--json", "-"], &text);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let scale = topic(&found, "scale");
    let law = &scale["rows"][0]["usl"];
    let near = |value: &Value, expected: f64| {
        let found = value.as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}: {law}");
    };
    near(&law["sigma"]["value"], 0.08);
    near(&law["kappa"]["value"], 0.002);
    near(&law["gamma"]["value"], 1500.0);
    assert_eq!(law["peak"]["threads"], 21);
    for prediction in law["predicted"].as_array().unwrap() {
        let threads = prediction["threads"].as_u64().unwrap();
        assert!(threads > 24, "more than was measured: {prediction}");
        near(&prediction["throughput"]["value"], planted(threads));
    }
    let data = folder_with(&text);
    let file = data.file("data");
    let shown = unc().args(["survey", "scale", "--from", &file]).env("COLUMNS", "80").output();
    let shown = shown.unwrap();
    assert!(stdout(&shown).contains("predicted"), "{}", stdout(&shown));
    fits(&shown);
}

#[test]
fn figures_that_are_none_are_refused_with_their_line() {
    let refused = |text: &str| {
        let output = unc_reads(&["survey", "scale", "--from", "-"], text);
        assert_eq!(status(&output), 2, "{}", stdout(&output));
        stderr(&output)
    };
    let error = refused("1 10\n2 19\n4 many\n");
    assert!(error.contains("standard input: line 3: 'many' is not a throughput"), "{error}");
    assert!(error.contains("give lines such as `4 1200`"), "{error}");
    assert!(refused("1 10\n").contains("figures for 1 number of threads"));
    let output = unc_reads(&["survey", "locks", "--from", "-"], "1 1");
    assert!(status(&output) == 2 && stderr(&output).contains("name the topic scale"));
    let output = unc().args(["survey", "scale", "--from", "/no/such/file"]).output().unwrap();
    assert!(status(&output) == 2 && stderr(&output).contains("there is no such file"));
}

#[test]
fn without_figures_of_a_user_the_rows_of_the_survey_are_fitted() {
    let found = survey(&["scale"], "2s");
    let scale = topic(&found, "scale");
    let rows = scale["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["name"] == "compare-and-swap"), "{scale}");
    assert!(rows.iter().all(|row| row["usl"]["points"].as_array().unwrap().len() >= 3), "{scale}");
    let is_small = found["machine"]["cpus"].as_u64().unwrap() < 4;
    assert_eq!(mentions(scale, "warnings", "the fit is not to be trusted"), is_small, "{scale}");
    let found = survey(&["scale", "locks"], "3s");
    assert_eq!(found["topics"][0]["topic"], "locks", "what is fitted is measured first");
    let scale = topic(&found, "scale");
    let is_fitted =
        scale["rows"].as_array().unwrap().iter().any(|row| row["name"] == "Futex (lock)");
    assert_ne!(is_fitted, mentions(scale, "not_measured", "Futex (lock)"), "{scale}");
    let has_enough = [2, 3].contains(&found["machine"]["cpus"].as_u64().unwrap());
    assert_eq!(is_fitted, has_enough, "one thread, one for each CPU, and twice as many: {scale}");
}

#[test]
fn threads_and_tasks_are_spawned_where_there_are_cpus_for_it() {
    let found = survey(&["spawn"], "2s");
    let spawn = topic(&found, "spawn");
    let cpus = found["machine"]["cpus"].as_u64().unwrap();
    let rows = spawn["rows"].as_array().unwrap();
    for name in ["thread", "64 threads", "small thread", "64 small threads", "pooled task"] {
        let row = rows.iter().find(|row| row["name"] == format!("one CPU: {name}")).unwrap();
        assert!(row["failed"].is_null() && row["ns"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["operations"].as_u64().unwrap() > 0, "{row}");
    }
    let many = rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with("each CPU"));
    let spawners: Vec<_> = many.map(|row| row["threads"].as_u64().unwrap()).collect();
    assert_eq!(spawners, vec![cpus; if cpus > 1 { 6 } else { 0 }]);
    assert!(mentions(spawn, "notes", "on a processor that is not named"), "{spawn}");
    let one = shown("spawn", "1s", Some(a_cpu()));
    assert!(one.contains("only one CPU is allowed") && !one.contains("each CPU: thread"), "{one}");
    shown("spawn", "1s", None);
}

#[test]
fn every_cpu_has_its_gaps_with_what_they_are_due_to() {
    // What the kernel's tracer says is taken from the program of that name.
    let folder = Folder::new();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let line = "0 #1 1000000 2000 99.8 1500 700 3 0 40 5 6";
    let write = format!(
        "cat > '{0}' <<'END'\n#!/bin/sh\necho '{line}'\nEND\nchmod 755 '{0}'",
        folder.file("rtla")
    );
    assert!(std::process::Command::new("sh").args(["-c", &write]).status().unwrap().success());
    let output = unc()
        .args(["survey", "jitter", "-q", "--budget", "1s", "--json", "-"])
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let jitter = topic(&found, "jitter");
    let rows = jitter["rows"].as_array().unwrap();
    assert_eq!(rows.len() as u64, found["machine"]["cpus"].as_u64().unwrap());
    for row in rows {
        let gaps = &row["gaps"];
        let count = |value: &Value| value.as_u64().unwrap();
        let all = gaps["by"].as_array().unwrap();
        assert_eq!(all.iter().map(|by| count(&by["count"])).sum::<u64>(), count(&gaps["count"]));
        assert!(count(&gaps["total_ns"]) <= count(&gaps["watched_ns"]), "{row}");
        let longest = gaps["longest"].as_array().unwrap();
        assert!(
            longest.windows(2).all(|two| count(&two[0]["ns"]) >= count(&two[1]["ns"])),
            "{row}"
        );
        assert!(longest.iter().all(|gap| count(&gap["ns"]) >= count(&gaps["threshold_ns"])));
        let noise = &gaps["osnoise"];
        assert!(row["name"] != "CPU 0" || noise["max_single_ns"] == 700_000, "{row}");
    }
    let text = shown("jitter", "1s", Some(a_cpu()));
    assert!(text.contains("the longest gaps"), "{text}");
}

#[test]
fn two_threads_exchange_messages_free_and_pinned_and_every_pair_of_cpus_has_a_latency() {
    let found = survey(&["affinity"], "2s");
    let affinity = topic(&found, "affinity");
    let cpus = uncontended_sys::affinity::allowed().unwrap();
    if cpus.len() > 1 {
        let matrix = &affinity["matrix"];
        assert_eq!(matrix["cpus"], Value::from(cpus.clone()));
        for (one, row) in matrix["ns"].as_array().unwrap().iter().enumerate() {
            assert_eq!(row.as_array().unwrap().len(), cpus.len(), "{matrix}");
            for (other, entry) in row.as_array().unwrap().iter().enumerate() {
                assert_eq!(entry, &matrix["ns"][other][one], "{matrix}");
                assert!(one != other || entry.is_null(), "{matrix}");
            }
        }
        let rows = affinity["rows"].as_array().unwrap();
        for name in ["ring, free", "ring, pinned", "futex, free", "futex, pinned"] {
            let row = rows.iter().find(|row| row["name"] == name).unwrap();
            assert!(row["ns"].as_f64().unwrap() > 0.0 && row["failed"].is_null(), "{row}");
            let slices = row["over_time"]["slices"].as_array().unwrap();
            assert!(!slices.is_empty() && row["over_time"]["steps"].is_array(), "{row}");
        }
        let has_multicast = rows.iter().any(|row| row["name"] == "UDP multicast, pinned");
        assert_eq!(has_multicast, !mentions(affinity, "not_measured", "UDP multicast: "));
        let text = shown("affinity", "2s", None);
        assert!(text.contains("from CPU to CPU"), "{text}");
    }
    let one = shown("affinity", "2s", Some(a_cpu()));
    assert!(one.contains("everything: only one CPU is allowed, and it takes two"), "{one}");
}

#[test]
fn an_interrupted_survey_prints_what_is_finished_and_ends_by_the_signal() {
    use std::os::unix::process::ExitStatusExt as _;
    let topics = ["survey", "machine", "affinity", "jitter", "-q", "--budget", "60s"];
    let child = unc()
        .args(topics)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let begun = std::time::Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(output.status.signal(), Some(2), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("machine: ") && text.contains("interrupted"), "{text}");
}
