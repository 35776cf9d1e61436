//! Reports on what was recorded so far: `--every` and SIGUSR1. The program runs until a file appears.

mod common;
use common::{Folder, compile, status, stderr, unc, unc_run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TURNS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *end;
static void *turns(void *unused) {
    while (access(end, F_OK) != 0) {
        pthread_mutex_lock(&lock);
        usleep(2000);
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return unused;
}
int main(int count, char **arguments) {
    end = arguments[count - 1];
    puts("begun");
    fflush(stdout);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, turns, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 7;
}
"#;

/// The latest report in a file, once it is whole and `is_it`.
fn await_report(path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let report = serde_json::from_str(&text).unwrap_or(Value::Null);
        if !report.is_null() && is_it(&report) {
            return report;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no such report: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn waits(report: &Value) -> u64 {
    let locks = report["processes"].as_array().unwrap().iter();
    let rows = locks.flat_map(|process| process["locks"].as_array().unwrap());
    rows.map(|row| row["blocked"].as_u64().unwrap()).sum()
}

fn wall_ns(report: &Value) -> u64 {
    report["wall_ns"].as_u64().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// The program's first line.
fn await_line(child: &mut Child) -> BufReader<std::process::ChildStdout> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_ne!(line, "");
    output
}

#[test]
fn every_so_often_there_is_a_report_on_the_run_so_far() {
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &["-pthread"]).expect("a C compiler");
    let (path, end) = (folder.file("run.json"), folder.file("end"));
    let mut run = unc_run(&["--every", "150ms", "--json", &path]);
    let run = run.args([&program, &end]).stdout(Stdio::null()).stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    let first = await_report(&path, |report| report["so_far"] == true && waits(report) > 0);
    let later = await_report(&path, |report| waits(report) > waits(&first));
    assert!(wall_ns(&later) > wall_ns(&first) && later["exit_status"] == 0, "{later:#}");
    std::fs::write(&end, "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(status(&output), 7);
    let last = await_report(&path, |_| true);
    assert!(last["so_far"].is_null() && last["exit_status"] == 7, "{last:#}");
    assert!(waits(&last) >= waits(&later) && wall_ns(&last) > wall_ns(&later));
    let text = stderr(&output);
    let (so_far, ended) =
        (text.matches("so far: still running").count(), text.matches("exit status 7"));
    assert!(so_far >= 2 && ended.count() == 1, "{text}");
}

#[test]
fn a_report_that_was_moved_or_deleted_is_made_again() {
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &["-pthread"]).expect("a C compiler");
    let [path, end, moved] = ["run.json", "end", "moved.json"].map(|name| folder.file(name));
    let mut run = unc_run(&["--quiet", "--every", "150ms", "--json", &path]);
    let mut run = run.args([&program, &end]).stdout(Stdio::null()).spawn().unwrap();
    let first = await_report(&path, |report| waits(report) > 0);
    std::fs::rename(&path, &moved).unwrap();
    let second = await_report(&path, |report| waits(report) > waits(&first));
    assert!(
        waits(&await_report(&moved, |_| true)) < waits(&second),
        "the one that was moved stays"
    );
    std::fs::remove_file(&path).unwrap();
    let third = await_report(&path, |report| waits(report) > waits(&second));
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&end, "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(7));
    let last = await_report(&path, |_| true);
    assert!(last["so_far"].is_null() && waits(&last) >= waits(&third), "{last:#}");
}

#[test]
fn a_signal_asks_for_a_report_and_ends_no_program() {
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &["-pthread"]).expect("a C compiler");
    let (path, end) = (folder.file("run.json"), folder.file("end"));
    let mut run = unc_run(&["--quiet", "--json", &path]);
    let mut run = run.args([&program, &end]).stdout(Stdio::piped()).spawn().unwrap();
    let _output = await_line(&mut run);
    signal(&run, "USR1");
    let report = await_report(&path, |_| true);
    assert!(report["so_far"] == true, "{report:#}");
    std::fs::write(&end, "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(7), "the program does not catch this signal");
    assert!(await_report(&path, |_| true)["so_far"].is_null());
}

#[test]
fn processes_that_are_attached_to_are_reported_so_far_too() {
    const NAME: &str = "processes_that_are_attached_to_are_reported_so_far_too";
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &["-pthread"]).expect("a C compiler");
    let (path, end) = (folder.file("run.json"), folder.file("end"));
    let mut child = Command::new(&program).arg(&end).stdout(Stdio::piped()).spawn().unwrap();
    let _output = await_line(&mut child);
    let mut attach = unc();
    let pid = child.id().to_string();
    attach.args(["attach", "--no-history", "--every", "200ms", "--json", &path, &pid]);
    let mut attach = attach.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(attach.stderr.take().unwrap());
    let mut first = String::new();
    errors.read_line(&mut first).unwrap();
    if !first.contains("watching") {
        std::fs::write(&end, "").unwrap();
        assert_eq!(
            (attach.wait().unwrap().code(), child.wait().unwrap().code()),
            (Some(125), Some(7))
        );
        return uncontended_testkit::skip(&NAME, &first.trim());
    }
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let report = await_report(&path, |report| report["so_far"] == true && waits(report) > 0);
    let later = await_report(&path, |later| waits(later) > waits(&report));
    std::fs::write(&end, "").unwrap();
    assert!(attach.wait().unwrap().success(), "it ends with the program");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let last = await_report(&path, |_| true);
    assert!(last["so_far"].is_null() && waits(&last) >= waits(&later), "{last:#}");
    assert!(wall_ns(&last) > wall_ns(&report));
}
