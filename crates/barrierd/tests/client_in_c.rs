//! A second program, in C, that comes by the stamps through the documented protocol.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]

mod common;

use common::Running;
use std::process::Command;
use uncontended_testkit::skip;

#[test]
fn a_client_in_c_waits_for_a_fence() {
    let Some(daemon) = Running::start("a_client_in_c", None) else { return };
    let program = daemon.folder.path().join("client");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/stamps_client.c");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-O2", "-o"])
        .arg(&program)
        .arg(source)
        .output();
    match compiled {
        Err(error) => return skip!("a_client_in_c", "no C compiler: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr))
        }
    }
    let output = Command::new(program).arg(daemon.socket()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("CPUs, a fence in "), "{said}");
}
