//! `unc run --load`: a client decides when the observed server ends, and how `unc` does.

mod common;

use common::{Folder, compile, report, script, status, stderr, stdout, text, unc_run};
use serde_json::Value;
use std::time::{Duration, Instant};

/// A server that is ready once a file exists, ends on SIGTERM with a status, and says so.
const SERVER: &str = "trap 'echo ended; exit 5' TERM; sleep 0.2; touch $READY; echo ready; \
                      while :; do sleep 0.02; done";

#[test]
fn the_load_begins_when_the_server_is_ready_and_its_end_ends_the_server() {
    let folder = Folder::new();
    let (ready, json) = (folder.file("ready"), folder.file("run.json"));
    let asks = format!("test -e {ready}");
    let flags = ["--quiet", "--json", &json, "--load", "echo loading; exit 3", "--ready", &asks];
    let output = unc_run(&flags).args(["sh", "-c", SERVER]).env("READY", &ready).output().unwrap();
    assert_eq!((status(&output), stdout(&output)), (3, "ready\nloading\nended\n".to_owned()));
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!((&report["exit_status"], &report["signal"]), (&Value::from(5), &Value::Null));
    let load = &report["load"];
    assert_eq!(load["exit_status"], 3);
    assert_eq!(load["command"], "echo loading; exit 3");
    let [begun, ended] = ["begun_ns", "ended_ns"].map(|field| load[field].as_u64().unwrap());
    assert!((200_000_000..=ended).contains(&begun), "{load}");
    assert!(ended <= report["wall_ns"].as_u64().unwrap(), "{load}");
}

#[test]
fn the_status_is_that_of_the_load() {
    for (load, expected) in [("true", 0), ("exit 9", 9), ("kill -9 $$", 137), ("false", 1)] {
        let output = script(&["--quiet", "--load", load], "exec sleep 30");
        assert_eq!((status(&output), stderr(&output)), (expected, String::new()), "{load}");
    }
    let (report, output) = report(&["--load", "exec true"], &["sleep", "30"]);
    assert_eq!(report["signal"], 15, "its end ended the program");
    let head = stderr(&output);
    assert!(head.lines().any(|line| line.starts_with("load: exec true · from ")), "{head}");
}

#[test]
fn a_server_that_ends_first_takes_its_load_with_it() {
    let folder = Folder::new();
    let (load_ran, still) = (folder.file("ran"), folder.file("still"));
    let load = format!("trap 'exit 0' TERM; touch {load_ran}; sleep 30 & wait; touch {still}");
    let server = format!("while ! test -e {load_ran}; do sleep 0.01; done; exit 4");
    let begun = Instant::now();
    let output = script(&["--quiet", "--load", &load], &server);
    assert_eq!(status(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("ended while its load was running"), "{}", stderr(&output));
    assert!(!std::path::Path::new(&still).exists() && begun.elapsed() < Duration::from_secs(60));
    // A server that ends well is still no success: nothing was measured.
    for (flags, expected) in [
        (&["--quiet", "--load", "true", "--ready", "false"][..], "before its load began"),
        (&["--quiet", "--load", "sleep 30"], "ended"),
    ] {
        let output = script(flags, "exit 0");
        assert_eq!(status(&output), 125, "{flags:?}");
        assert!(stderr(&output).contains(expected), "{flags:?}: {}", stderr(&output));
    }
}

#[test]
fn loads_that_cannot_be_started_are_refused_before_the_server() {
    for (flags, expected) in [
        (&["--load", "no-such-program-anywhere x"][..], "nothing was started"),
        (&["--load", "true", "--ready", "/no/such/file"], "nothing was started"),
        (&["--load", " "], "a command is empty"),
        (&["--ready", "true"], "--load"),
    ] {
        let output = script(flags, "echo started");
        assert_eq!((status(&output), stdout(&output)), (125, String::new()), "{flags:?}");
        assert!(stderr(&output).contains(expected), "{flags:?}: {}", stderr(&output));
    }
}

#[test]
fn the_report_goes_to_a_file_instead() {
    let folder = Folder::new();
    let file = folder.file("report.txt");
    let output = script(&["--report", &file], "exit 6");
    assert_eq!((status(&output), stderr(&output)), (6, String::new()));
    let written = text(&std::fs::read(&file).unwrap());
    assert!(written.starts_with("sh -c 'exit 6'\nwall "), "{written}");
    let output = script(&["--report", "/no/such/folder/file"], "echo started");
    assert_eq!((status(&output), stdout(&output)), (125, String::new()));
}

/// Two threads that contend, 40 times each with two arguments, else until they are stopped; the first argument names
/// a file that is then there.
const CONTENDS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int rounds = 1 << 30;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        usleep(3000);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(int count, char **arguments) {
    pthread_t threads[2];
    if (count > 2) rounds = 40;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    if (count > 1) fclose(fopen(arguments[1], "w"));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
"#;

/// The advice on a server can be followed: the command starts it, waits until it is ready, and ends it after the load.
/// So can that on a program that ends by itself.
#[test]
fn the_command_that_tries_a_change_runs_as_printed() {
    let folder = Folder::new();
    let program = compile(&folder, CONTENDS, &[]).expect("a C compiler");
    let inside = std::path::Path::new(&program).parent().unwrap();
    let name = "it's ready, and has a name longer than what fits into a terminal's line";
    let asks = format!("test -e 'ready' || test -e \"{name}\"");
    let server = ["--load", "sleep '0.2'", "--ready", &asks];
    for (flags, arguments, says) in [
        (&server[..], &["ready"][..], "(sleep '\\''0.2'\\'')"),
        (&server, &[name], "CHANGED & for i in"),
        (&[], &[name, "40"], "'./program \"it'\\''s ready, and has a name"),
    ] {
        let mut run = unc_run(flags);
        let output = run.arg("./program").args(arguments).current_dir(inside).output().unwrap();
        let said = stderr(&output);
        let command = said.lines().find(|line| line.contains("unc compare"));
        let command = command.unwrap_or_else(|| panic!("{said}")).trim();
        assert!(command.contains("CHANGED") && command.contains(says), "{command}");
        let changed = match flags {
            [] => command.replace("CHANGED", "'./program ready 40'"),
            _ => command.replace("CHANGED", "./program ready"),
        };
        let unc = env!("CARGO_BIN_EXE_unc");
        let tries = format!("{unc} compare --max-runs 14 --timeout 20s");
        let changed = changed.replace("unc compare", &tries);
        let mut shell = std::process::Command::new("sh");
        let tried = shell.args(["-c", &changed]).current_dir(inside).output().unwrap();
        let verdict = format!("{}{}", stdout(&tried), stderr(&tried));
        assert!(matches!(status(&tried), 0 | 1 | 3), "{changed}: {verdict}");
        assert!(verdict.contains("14 pairs") && !verdict.contains("failed"), "{verdict}");
    }
}
