//! Shared by the tests of `unc`: running it, temporary folders, programs compiled on the spot.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Atomics of the user's own.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod attached;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
pub(crate) use uncontended_testkit::Folder;

/// Two threads, one of which waits 150 ms for a mutex. It prints `done`.
pub(crate) const WAITS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    pthread_mutex_lock(&lock);
    usleep(150000);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"#;

/// `unc run` with `flags`, then `--`, ready for the program.
pub(crate) fn unc_run(flags: &[&str]) -> Command {
    let mut command = unc();
    command.arg("run").args(flags).arg("--no-history").arg("--");
    command
}

/// `unc`.
pub(crate) fn unc() -> Command {
    Command::new(env!("CARGO_BIN_EXE_unc"))
}

/// `unc` with `input` on its standard input.
pub(crate) fn unc_reads(arguments: &[&str], input: &str) -> Output {
    let mut child = unc()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unc starts");
    // A child that refuses its arguments or its input does not read it all.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("unc ends")
}

/// What was printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A shell script under `unc run`.
pub(crate) fn script(flags: &[&str], text: &str) -> Output {
    unc_run(flags).args(["sh", "-c", text]).output().unwrap()
}

pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("unc was ended by a signal: {output:?}"))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Compiles a C program into `folder`; nothing if the compiler refuses (a missing static library, say).
pub(crate) fn compile(folder: &Folder, source: &str, flags: &[&str]) -> Option<String> {
    let (text, program) = (folder.file("program.c"), folder.file("program"));
    std::fs::write(&text, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-pthread", "-o", &program, &text]).args(flags);
    compiler.output().unwrap().status.success().then_some(program)
}

/// The JSON report of `unc run` on a program, and the program's output.
pub(crate) fn report(flags: &[&str], program: &[&str]) -> (serde_json::Value, Output) {
    let folder = Folder::new();
    let json = folder.file("run.json");
    let mut all = vec!["--json", &json];
    all.extend(flags);
    let output = unc_run(&all).args(program).output().unwrap();
    let text = std::fs::read(&json).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (serde_json::from_slice(&text).unwrap(), output)
}

/// Whether `program` is installed; prints a skip if it is not.
pub(crate) fn installed(test: &str, program: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join(program).is_file());
    if !found {
        uncontended_testkit::skip!(test, "{program} is not installed");
    }
    found
}
