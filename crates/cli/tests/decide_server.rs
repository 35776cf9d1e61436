//! `unc compare --server`: a fresh server for each run, which is never left behind.

mod decide;

use decide::{Folder, Said, TERMINATED, command, interrupt, said};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A server that is ready when the file `up` is there, which it removes when it is asked to end. Each start adds its
/// process to `started`.
const SERVER: &str = "#!/bin/sh
echo $$ >> started
trap 'rm -f up; exit 0' TERM
echo $1 > answer
touch up
while :; do sleep 0.02; done
";
const READY: [&str; 2] = ["--ready", "test -e up"];
const ASKED: [&str; 5] =
    ["--quiet", "--no-tail-guard", "--metric", "regex:[0-9]+", "--max-error=5%"];

/// A folder with that server.
fn place(server: &str) -> Folder {
    let folder = Folder::new();
    std::fs::write(folder.path().join("server"), server).unwrap();
    folder
}

fn compare(folder: &Folder, arguments: &[&str]) -> Said {
    let mut asked = command(&[&["compare"], &ASKED[..], arguments].concat());
    said(asked.current_dir(folder.path()).output().unwrap())
}

/// The servers that were started.
fn started(folder: &Folder) -> Vec<String> {
    let list = std::fs::read_to_string(folder.path().join("started")).unwrap_or_default();
    list.lines().map(String::from).collect()
}

/// Asserts that every server that was started has ended, and that there were at least this many.
fn assert_none_left(folder: &Folder, least: usize) {
    let started = started(folder);
    assert!(started.len() >= least, "{} servers", started.len());
    for pid in &started {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is left");
    }
}

#[test]
fn servers_are_compared_under_one_load() {
    let folder = place(SERVER);
    let servers = ["--server", "sh server 3", "--server", "sh server 5"];
    let load = ["--load", "cat answer", "--json", "verdict.json"];
    let said = compare(&folder, &[&servers[..], &READY, &load].concat());
    said.assert_status(1);
    assert!(
        said.out.starts_with("no: 'sh server 5' is worse by more than 2 %; median ratio 1.67"),
        "{}",
        said.out
    );
    let told = std::fs::read_to_string(folder.path().join("verdict.json")).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["hypothesis"]["lines"], serde_json::json!(["cat answer", "cat answer"]));
    let runs = told["runs"].as_array().unwrap().len();
    assert_eq!(started(&folder).len(), runs, "a fresh one for each run");
    assert_none_left(&folder, 10);
}

#[test]
fn a_suite_compares_servers() {
    let folder = place(SERVER);
    let suite = "max-error = 0.1\n[[compare]]\nserver = ['sh server 3', 'sh server 3']\n\
                 ready = 'test -e up'\nload = 'cat answer'\nmetric = 'regex:[0-9]+'\nno-tail-guard = true\n";
    std::fs::write(folder.path().join("suite.toml"), suite).unwrap();
    let mut asked = command(&["compare", "--quiet", "--suite", "suite.toml"]);
    let judged = said(asked.current_dir(folder.path()).output().unwrap());
    judged.assert_status(0);
    assert_none_left(&folder, 8);
    let refused = |from: &str, to: &str, words: &str| {
        let changed = suite.replace(from, to);
        assert_ne!(changed, suite);
        std::fs::write(folder.path().join("suite.toml"), changed).unwrap();
        let mut asked = command(&["compare", "--quiet", "--suite", "suite.toml"]);
        said(asked.current_dir(folder.path()).output().unwrap()).assert_refused(words);
    };
    refused("ready = 'test -e up'\n", "", "nothing tells when a server is ready");
    refused(", 'sh server 3']", "]", "there is nothing to compare the server 'sh server 3' with");
    refused("load = 'cat answer'\n", "", "server takes one load");
    refused("server = ['sh server 3', 'sh server 3']\n", "", "is given without a server");
    refused("load =", "rev = ['a', 'b']\nload =", "server cannot be used with rev");
}

#[test]
fn what_is_no_server_is_refused_and_leaves_nothing() {
    let folder = place(SERVER);
    let refused = |arguments: &[&str], words: &str| {
        compare(&folder, &[arguments, &["--load", "cat answer"]].concat()).assert_refused(words);
        assert_none_left(&folder, 0);
    };
    let two = |server: &'static str| ["--server", server, "--server", server];
    refused(
        &[&two("false")[..], &READY].concat(),
        "the server 'false' ended before it was ready (exit status: 1)",
    );
    refused(&[&two("./none")[..], &READY].concat(), "'./none' was not found");
    let never = ["--ready", "false", "--ready-timeout", "100ms"];
    refused(
        &[&two("sh server 1")[..], &never].concat(),
        "the server 'sh server 1' was not ready within 100 ms: 'false' kept failing",
    );
    refused(
        &[&two("sh server 1")[..], &["--ready", "true"]].concat(),
        "'true' succeeds before the server 'sh server 1' is started",
    );
    refused(&[&["--server", "sh server 1"][..], &READY].concat(), "nothing to compare the server");
    refused(&two("sh server 1"), "--ready");
    let short = place("echo $$ >> started; touch up; sleep 0.05; rm up; exit 7\n");
    let asked = [&two("sh server")[..], &READY, &["--load", "sh -c 'sleep 0.3; echo 1'"]].concat();
    compare(&short, &asked)
        .assert_refused("the server 'sh server' ended during the load (exit status: 7)");
    assert_none_left(&short, 1);
}

/// A server that does not end on SIGTERM is killed with its children, and the verdict says so.
#[test]
fn a_server_that_ignores_its_end_is_killed() {
    let ignores = SERVER.replace("'rm -f up; exit 0'", "''").replace("sleep 0.02", "sleep 1000");
    let folder = place(SERVER);
    std::fs::write(folder.path().join("stubborn"), ignores).unwrap();
    let servers = ["--server", "sh server 3", "--server", "sh stubborn 5"];
    let load = ["--conclude", "rm -f up", "--load", "cat answer", "--max-time", "4s"];
    let said = compare(&folder, &[&servers[..], &READY, &load].concat());
    said.assert_status(3);
    assert!(said.out.contains("did not end within 5 s of SIGTERM, and was killed"), "{}", said.out);
    assert_none_left(&folder, 2);
}

#[test]
fn an_interrupt_leaves_no_server() {
    let folder = place(SERVER);
    for load in ["sleep 1000", "cat answer"] {
        let before = started(&folder).len();
        let servers = ["--server", "sh server 3", "--server", "sh server 5"];
        let load = ["--load", load, "--max-error", "0.000001%"];
        let mut asked = command(&[&["compare"], &ASKED[..4], &servers, &READY, &load].concat());
        asked.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = asked.spawn().unwrap();
        let began = Instant::now();
        while started(&folder).len() <= before {
            assert!(began.elapsed() < Duration::from_secs(60), "no server");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        let (_, signal) = interrupt(child);
        assert!(signal == TERMINATED || signal.is_none(), "{signal:?}");
        assert_none_left(&folder, before + 1);
        assert!(!folder.path().join("up").exists(), "it was asked to end, not killed");
    }
}
