//! The examples do what they say; each checks its own result. `cargo test` builds them next to this test.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Runs an example with these arguments and this input. `cargo test --test examples` alone builds none: then it skips
/// the test.
fn run(name: &str, arguments: &[&str], input: &[u8]) -> Option<Output> {
    let mut path: PathBuf = std::env::current_exe().expect("the path of this test");
    path.pop();
    path.pop();
    path.extend(["examples", name]);
    if !path.exists() {
        uncontended_testkit::skip(
            &name,
            &"the example is not built: `cargo test -p uncontended` builds it",
        );
        return None;
    }
    let mut child = Command::new(path)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    child.stdin.take().expect("a pipe").write_all(input).expect("the example reads its input");
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success(), "{name}: {output:?}");
    Some(output)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn orders_are_answered_once_though_the_engine_is_killed() {
    let Some(output) = run("order_gateway", &["20000"], b"") else { return };
    let said = text(&output);
    assert!(said.starts_with("20000 orders, one every 10µs: each was answered once\n"), "{said}");
}

#[test]
fn all_ticks_are_accounted_for() {
    let Some(output) = run("market_data", &["20000"], b"") else { return };
    let said = text(&output);
    assert!(said.contains("all accounted for"), "{said}");
    assert!(said.contains("told 10 times what to show, and showed instrument 9 last"), "{said}");
}

#[test]
fn all_jobs_are_done() {
    run("work_queue", &["3"], b"");
}

#[test]
fn a_copy_is_what_was_read() {
    let bytes: Vec<u8> = (0..50_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    let Some(output) = run("buffered_copy", &[], &bytes) else { return };
    assert_eq!(output.stdout, bytes);
}
