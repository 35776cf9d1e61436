//! `unc attach` in tests, and what its report says.

use super::{Folder, unc};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

/// `unc attach` to a process, once it watches; nothing, with a skip, if it may not.
pub(crate) fn attach(test: &str, pid: &str, flags: &[&str]) -> Option<(Child, String)> {
    let mut command = unc();
    command.args(["attach", "--no-history"]).args(flags).arg(pid);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut first).unwrap();
    if first.contains("watching") {
        // The rest of what it says is read aside, so that it is never blocked.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let mut report = child.stdout.take().unwrap();
        std::thread::spawn(move || std::io::copy(&mut report, &mut std::io::sink()));
        return Some((child, first));
    }
    let refused =
        ["permission", "kernel", "x86-64", "container"].iter().any(|why| first.contains(why));
    assert!(refused, "{first}");
    assert_eq!(child.wait().unwrap().code(), Some(125));
    uncontended_testkit::skip!(test, "{}", first.trim());
    None
}

pub(crate) fn row<'r>(report: &'r Value, address: &str) -> &'r Value {
    let processes = report["processes"].as_array().unwrap().iter();
    let mut locks = processes.flat_map(|process| process["locks"].as_array().unwrap());
    locks.find(|lock| lock["address"] == address).unwrap_or_else(|| panic!("{address}: {report:#}"))
}

pub(crate) fn names(stack: &Value) -> Vec<&str> {
    stack.as_array().unwrap().iter().filter_map(|frame| frame["function"].as_str()).collect()
}

pub(crate) fn json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// What `unc attach` saw of a program.
pub(crate) struct Watched {
    /// The words that the program said first.
    pub(crate) words: Vec<String>,
    /// What it said afterwards.
    pub(crate) rest: String,
    pub(crate) status: Option<i32>,
    pub(crate) pid: u32,
    pub(crate) report: Value,
}

/// Starts `command`, which says a line and waits for one, attaches to it from there until its end, with `flags`.
/// Nothing, with a skip, if that may not be.
pub(crate) fn watched(
    test: &str,
    folder: &Folder,
    command: Command,
    flags: &[&str],
) -> Option<Watched> {
    watched_as(test, folder, command, flags, |pid| pid)
}

/// The same, if the process to attach to is another one than that which is started: `of` gives its number.
pub(crate) fn watched_as(
    test: &str,
    folder: &Folder,
    mut command: Command,
    flags: &[&str],
    of: impl FnOnce(u32) -> u32,
) -> Option<Watched> {
    let path = folder.file("seen.json");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let flags = [flags, &["--json", &path]].concat();
    if line.is_empty() {
        uncontended_testkit::skip!(test, "the program cannot be started so here");
        child.wait().unwrap();
        return None;
    }
    let pid = of(child.id());
    let attached = attach(test, &pid.to_string(), &flags);
    drop(child.stdin.take());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap().code();
    let (mut unc, _) = attached?;
    assert!(unc.wait().unwrap().success(), "it ends with the program");
    let words = line.split_whitespace().map(str::to_owned).collect();
    Some(Watched { words, rest, status, pid, report: json(&path) })
}

/// The sentences of the report's coverage.
pub(crate) fn unseen(report: &Value) -> Vec<&str> {
    report["coverage"]["unseen"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}
