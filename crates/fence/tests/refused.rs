//! Membarrier refused by a filter, before the first fence or after it. Each case runs in its own process: a filter
//! cannot be removed, and the backend is decided once.

#![cfg(all(target_os = "linux", not(any(miri, unc_model, unc_portable))))]

use std::process::Command;
use uncontended_fence::{Backend, Reason, Scope, backend, bare, heavy, light};
use uncontended_sys::{filter, membarrier};
use uncontended_testkit::skip;

const CASE: &str = "UNC_FENCE_CASE";

fn forbid() -> bool {
    let number = membarrier::NUMBER.try_into().unwrap();
    match filter::forbid(number, 1) {
        Ok(()) => true,
        Err(error) => {
            skip!("refused", "filters are not available: {error}");
            false
        }
    }
}

/// Runs the test with that name again, alone, in a process that knows it is the case.
fn in_a_process_of_its_own(test: &str) {
    let exe = std::env::current_exe().unwrap();
    if !Command::new(&exe).arg("--list").output().is_ok_and(|output| output.status.success()) {
        skip!(test, "this program cannot start itself (an emulator?)");
        return;
    }
    let mut child = Command::new(exe);
    child.args(["--exact", test, "--nocapture"]).env(CASE, test);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

fn is_child(test: &str) -> bool {
    std::env::var(CASE).is_ok_and(|case| case == test)
}

#[test]
fn forbidden_from_the_start() {
    if !is_child("forbidden_from_the_start") {
        return in_a_process_of_its_own("forbidden_from_the_start");
    }
    if !forbid() {
        return;
    }
    let Backend::FullFences(refused) = backend() else { panic!("{}", backend()) };
    assert_eq!((refused.reason, refused.errno), (Reason::Forbidden, 1));
    assert_eq!(backend().to_string(), "full fences: a seccomp filter forbids membarrier");
    light();
    assert_eq!(heavy(), Ok(()), "full fences on both sides");
    assert_eq!(bare::heavy(Scope::Private), Err(refused));
    assert_eq!(bare::register(Scope::Shared), Err(refused));
}

#[test]
fn forbidden_after_it_worked() {
    if !is_child("forbidden_after_it_worked") {
        return in_a_process_of_its_own("forbidden_after_it_worked");
    }
    if backend() != Backend::Expedited {
        skip!("forbidden_after_it_worked", "{}", backend());
        return;
    }
    assert_eq!(heavy(), Ok(()));
    // On one thread only: there it is an error, elsewhere it keeps working.
    let elsewhere = std::thread::spawn(|| forbid().then(heavy)).join().unwrap();
    if let Some(result) = elsewhere {
        assert_eq!(result.unwrap_err().reason, Reason::Forbidden);
    }
    assert_eq!(heavy(), Ok(()));
    if forbid() {
        assert_eq!(heavy().unwrap_err().reason, Reason::Forbidden);
        assert_eq!(backend(), Backend::Expedited, "the decision stays: light fences rely on it");
    }
}
