//! How the deciding commands run other programs: fresh processes, nothing left behind, nothing lost.

mod decide;

use decide::{Folder, TERMINATED, command, interrupt, unc};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn lines(path: &str) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[test]
fn a_timed_out_run_is_killed_with_its_children_and_has_failed() {
    let folder = Folder::new();
    let late = folder.file("late");
    let line = format!("(sleep 2; echo late >> {late}) & wait");
    let started = Instant::now();
    let said = unc(&[
        "slo",
        "--at-most",
        "1h",
        "--rate",
        "60%",
        "--timeout",
        "30ms",
        "--bursts",
        "1",
        "--json",
        "-",
        "--",
        &line,
    ]);
    let json = said.json();
    assert_eq!(
        (said.status, &json["runs"][0]["outcome"]),
        (1, &"timed-out".into()),
        "{}",
        said.err
    );
    let wall = json["runs"][0]["wall_ns"].as_u64().unwrap();
    assert!(wall >= 30_000_000, "{wall}");
    // If the children were alive, they would have written by now.
    std::thread::sleep(Duration::from_millis(2500).saturating_sub(started.elapsed()));
    assert_eq!(lines(&late), 0);
}

/// As on kernels before 5.3, in some sandboxes, and on other systems than Linux.
#[test]
fn runs_are_followed_where_no_descriptor_of_a_process_can_be_had() {
    const PIDFD_OPEN: i64 = 434;
    const NO_SUCH_CALL: u16 = 38;
    let folder = Folder::new();
    let late = folder.file("late");
    let printing = ["--metric", "regex:x=(.*)", "--", "echo x=7s"];
    let hanging = format!("(sleep 2; echo late >> {late}) & wait");
    let timed_out = ["--timeout", "30ms", "--", &hanging];
    let started = Instant::now();
    let both = || {
        let forbidden = uncontended_sys::filter::forbid(PIDFD_OPEN as _, NO_SUCH_CALL);
        let once = |rest: &[&str]| {
            let flags = ["slo", "--at-most", "1h", "--rate", "60%", "--bursts", "1", "--json", "-"];
            unc(&[&flags[..], rest].concat())
        };
        forbidden.map(|()| [once(&printing), once(&timed_out)])
    };
    let both = std::thread::scope(|scope| scope.spawn(both).join().unwrap());
    let [printing, timed_out] = match both {
        Ok(both) => both,
        Err(error) => {
            let name = "runs_are_followed_where_no_descriptor_of_a_process_can_be_had";
            return uncontended_testkit::skip!(name, "no filter of system calls: {error}");
        }
    };
    let first = &printing.json()["runs"][0];
    assert_eq!((&first["value"], &first["outcome"]), (&7e9.into(), &"ok".into()));
    assert_eq!(timed_out.json()["runs"][0]["outcome"], "timed-out", "{}", timed_out.err);
    // If the children were alive, they would have written by now.
    std::thread::sleep(Duration::from_millis(2500).saturating_sub(started.elapsed()));
    assert_eq!(lines(&late), 0);
}

#[test]
fn commands_around_the_runs_run_as_often_as_they_should() {
    let folder = Folder::new();
    let [setup, prepare, conclude, cleanup, run] =
        ["setup", "prepare", "conclude", "cleanup", "run"].map(|name| folder.file(name));
    let write = |path: &str| format!("echo x >> {path}");
    let said = unc(&[
        "slo",
        "--at-most",
        "1h",
        "--rate",
        "60%",
        "--max-runs",
        "13",
        "--warmup",
        "3",
        "--setup",
        &write(&setup),
        "--prepare",
        &write(&prepare),
        "--conclude",
        &write(&conclude),
        "--cleanup",
        &write(&cleanup),
        "--json",
        "-",
        "--",
        &write(&run),
    ]);
    assert_eq!(said.json()["n"], 13, "{}", said.err);
    assert_eq!(
        [&setup, &prepare, &run, &conclude, &cleanup].map(|path| lines(path)),
        [1, 16, 16, 16, 1]
    );
}

#[test]
fn each_command_has_its_own_preparation() {
    let folder = Folder::new();
    let [a, b] = ["a", "b"].map(|name| folder.file(name));
    let said = unc(&[
        "compare",
        "--max-runs",
        "14",
        "--margin",
        "90%",
        "--json",
        "-",
        "--prepare",
        &format!("touch {a}"),
        "--prepare",
        &format!("touch {b}"),
        "--",
        // Fails unless its own preparation ran directly before it.
        &format!("rm {a}"),
        &format!("rm {b}"),
    ]);
    assert_ne!(said.status, 2, "{}", said.err);
    unc(&["compare", "--prepare", "a", "--prepare", "b", "--prepare", "c", "--", "true", "true"])
        .assert_refused("--prepare is given 3 times for 2 commands");
}

/// A decision made before the cleanup stands, whether the cleanup fails or the user interrupts it.
#[test]
fn a_cleanup_that_fails_keeps_the_verdict() {
    let folder = Folder::new();
    let (json, log, mark) = (folder.file("json"), folder.file("log"), folder.file("mark"));
    let judged = |cleanup: &str| {
        let slo = ["slo", "--rate", "60%", "--at-most", "1h", "--quiet", "--bursts", "1"];
        let told = ["--json", &json, "--log", &log, "--cleanup", cleanup, "--", "true"];
        command(&[&slo[..], &told].concat()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let check = |out: &str, warning: &str| {
        assert!(out.starts_with("yes: ") && out.contains(warning), "{out}");
        let told: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        assert_eq!((&told["verdict"], &told["stopped_by"]), (&"yes".into(), &"decided".into()));
        assert!(told["warnings"].to_string().contains(warning), "{told}");
        assert_eq!(unc(&["verdict", &log]).status, 0);
    };
    let ended = judged("false").wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let warning = "the cleanup command 'false' failed with status 1";
    check(&String::from_utf8(ended.stdout).unwrap(), warning);

    let child = judged(&format!("touch {mark} && sleep 60"));
    while !std::path::Path::new(&mark).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (out, signal) = interrupt(child);
    assert_eq!(signal, None, "the verdict was there before the signal");
    check(&out, "a signal ended the cleanup command");

    let pairs = ["compare", "-q", "--metric", "regex:.+", "--cleanup", "exit 7"];
    let said = unc(&[&pairs[..], &["--", "echo 5", "echo 5"]].concat());
    said.assert_status(0);
    assert!(said.out.contains("the cleanup command 'exit 7' failed with status 7"), "{}", said.out);
}

#[test]
fn a_failing_preparation_ends_everything_but_the_cleanup() {
    let folder = Folder::new();
    let cleaned = folder.file("cleaned");
    let cleanup = format!("touch {cleaned}");
    unc(&["compare", "--cleanup", &cleanup, "--", "true", "false"])
        .assert_refused("'false' failed");
    assert!(std::path::Path::new(&cleaned).exists());
    unc(&["slo", "--at-most", "1h", "--rate", "60%", "--prepare", "exit 3", "--", "true"])
        .assert_refused("the prepare command 'exit 3' failed with status 3");
}

#[test]
fn environment_directory_input_and_shell_are_as_asked() {
    let folder = Folder::new();
    std::fs::write(folder.file("input"), "seven\n").unwrap();
    let input = folder.file("input");
    let dir = folder.path().display().to_string();
    let holds = |extra: &[&str], line: &[&str]| {
        let mut all = vec!["slo", "--at-most", "1h", "--rate", "60%", "--bursts", "1"];
        all.extend(extra);
        all.push("--");
        all.extend(line);
        unc(&all).status == 0
    };
    assert!(holds(&["--env", "X=1", "--env", "Y=a b"], &["test \"$X$Y\" = '1a b'"]));
    assert!(holds(&["--dir", &dir], &["test", "-f", "input"]));
    assert!(holds(&["--input", &input], &["grep", "-q", "seven"]));
    assert!(!holds(&[], &["grep", "-q", "seven"]), "standard input is empty");
    assert!(holds(&["--shell", "none"], &["test '$HOME' = \"\\$HOME\""]));
    assert!(holds(&["--shell", "bash"], &["[[ -n $BASH_VERSION ]]"]));
    // Several words never reach a shell.
    assert!(holds(&[], &["test", "$HOME", "=", "$HOME"]));
}

#[test]
fn printed_numbers_are_read() {
    let holds = |metric: &str, bound: &str, line: &str| {
        let said = unc(&[
            "slo",
            "--metric",
            metric,
            "--at-most",
            bound,
            "--rate",
            "60%",
            "--bursts",
            "1",
            "--",
            line,
        ]);
        assert_ne!(said.status, 2, "{}", said.err);
        said.status == 0
    };
    assert!(holds("regex:took ([0-9.]+)", "5", "echo a took 4.5 b"));
    assert!(!holds("regex:took ([0-9.]+)", "4", "echo a took 4.5 b"));
    assert!(holds("regex:took (\\S+)", "5ms", "echo took 4500us"));
    assert!(holds("json:stats.p99", "5", "echo '{\"stats\":{\"p99\":4}}'"));
    assert!(holds("max-rss", "8GiB", "true"));
    assert!(holds("cpu", "1h", "true"));
}

/// More output than a pipe holds, and a child that keeps the pipe open for longer than the run.
#[test]
fn output_never_blocks_a_run() {
    let said = unc(&[
        "slo",
        "--metric",
        "regex:[0-9]+$",
        "--at-least",
        "1",
        "--rate",
        "60%",
        "--max-runs",
        "13",
        "--json",
        "-",
        "--",
        "sleep 5 & head -c 300000 /dev/zero | tr '\\0' 'x'; echo; echo 7",
    ]);
    let json = said.json();
    assert_eq!(json["runs"][0]["value"], 7.0, "{}", said.err);
    assert!(json["runs"][0]["wall_ns"].as_u64().unwrap() < 5_000_000_000);
}

#[test]
fn an_interrupt_leaves_the_verdict_so_far() {
    let folder = Folder::new();
    let (log, cleaned) = (folder.file("log"), folder.file("cleaned"));
    let child = command(&[
        "slo",
        "--at-most",
        "1h",
        "--rate",
        "99.9%",
        "--log",
        &log,
        "--cleanup",
        &format!("touch {cleaned}"),
        "--",
        "sleep 0.01",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    while lines(&log) < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (out, signal) = interrupt(child);
    assert_eq!(signal, TERMINATED, "as a shell expects");
    assert!(
        out.starts_with("undecided")
            && out.contains("\nit was interrupted before either answer was certain"),
        "{out}"
    );
    assert!(std::path::Path::new(&cleaned).exists());
    let again = unc(&["verdict", &log, "--json", "-"]);
    assert_eq!((again.status, again.json()["stopped_by"].as_str()), (3, Some("interrupted")));
}

/// A figure of `unc run` on the command is a metric like any other.
#[test]
fn the_report_of_a_run_is_a_metric() {
    // Rates that few runs can decide, since each run starts an observer.
    let slo = |metric: &str, rate: &str, bound: &str| {
        unc(&[
            "slo",
            "--quiet",
            "--bursts",
            "1",
            "--rate",
            rate,
            "--metric",
            metric,
            "--at-most",
            bound,
            "--",
            "true",
        ])
    };
    let said = slo("run:max(processes[*].locks[*].wait_ns.max)", "20%", "1h");
    assert_eq!(said.status, 0, "{}", said.err);
    assert_eq!(slo("run:wall_ns", "90%", "1ns").status, 1);
    slo("run:no_such_field", "90%", "1").assert_refused("there is no field 'no_such_field'");
    slo("run:wall_ns", "90%", "1MiB").assert_refused("is not a time");
}

/// A count is that of the command and of its descendants, and of nothing else.
#[test]
fn moves_to_other_cpus_are_those_of_the_command_and_its_descendants() {
    const NAME: &str = "moves_to_other_cpus_are_those_of_the_command_and_its_descendants";
    let counted = |moves: u32, limit: &str| {
        let there_and_back = "taskset -pc 0 $$ && taskset -pc 1 $$ &&".repeat(moves as usize);
        let line = format!("sh -c '{there_and_back} true'");
        let said = unc(&[
            "slo",
            "--metric",
            "cpu-migrations",
            limit,
            "10",
            "--rate",
            "60%",
            "--bursts",
            "1",
            "--",
            &line,
        ]);
        (said.status, said.err)
    };
    let (status, err) = counted(10, "--at-least");
    if err.contains("does not permit") || status == 2 {
        return uncontended_testkit::skip!(NAME, "{}", err.trim());
    }
    assert_eq!(status, 0, "{err}");
    let (status, err) = counted(0, "--at-most");
    assert_eq!(status, 0, "{err}");
}

/// Where the processor counts: a million rounds of a loop take a million instructions or more. Elsewhere: the reason.
#[test]
fn a_counter_that_the_machine_lacks_is_refused_with_the_reason() {
    let line = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let flags =
        ["--metric", "instructions", "--at-least", "1000000", "--rate", "60%", "--bursts", "1"];
    let said = unc(&[&["slo"], &flags[..], &["--", line]].concat());
    if said.status != 0 {
        said.assert_refused("instructions cannot be counted: ");
        assert!(
            said.err.contains("permit") || said.err.contains("virtual machines"),
            "{}",
            said.err
        );
    }
}
