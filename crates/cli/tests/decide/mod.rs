//! Shared by the tests of the deciding commands: running `unc` and reading its output.
#![allow(dead_code, reason = "every test file uses its own part")]

#[path = "../common/mod.rs"]
mod common;

#[allow(unused_imports, reason = "each test file uses a part of it")]
pub(crate) use common::{Folder, compile};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Output, Stdio};

/// The output of one run of `unc`.
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.out, self.err))
    }

    /// Asserts an exit status.
    pub(crate) fn assert_status(&self, status: i32) {
        assert_eq!(self.status, status, "{} {}", self.out, self.err);
    }

    /// Asserts exit 2, a clear line that contains `words`, and no verdict.
    pub(crate) fn assert_refused(&self, words: &str) {
        assert_eq!(self.status, 2, "{} {}", self.out, self.err);
        assert!(self.err.contains(words), "'{words}' is not in: {}", self.err);
        assert_eq!(self.out, "", "a failure has no verdict");
    }
}

/// A command for `unc`.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unc"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs `unc`.
pub(crate) fn unc(arguments: &[&str]) -> Said {
    said(command(arguments).output().unwrap())
}

/// Runs `unc` with text on its standard input.
pub(crate) fn unc_reading(arguments: &[&str], input: &str) -> Said {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may decide and exit before it has read everything.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    said(child.wait_with_output().unwrap())
}

pub(crate) fn said(output: Output) -> Said {
    Said {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Interrupts `child` as a user would, and returns its output and the signal that ended it. Uses SIGTERM: a shell that
/// runs the tests in the background makes them ignore SIGINT.
pub(crate) fn interrupt(mut child: Child) -> (String, Option<i32>) {
    // Twice, as timeout(1) does: its command, and then all of its own group.
    let line = format!("kill -TERM {0} && {{ kill -TERM {0} || true; }}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    let status = child.wait().unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    (out, status.signal())
}

/// The signal of [`interrupt`].
pub(crate) const TERMINATED: Option<i32> = Some(15);
