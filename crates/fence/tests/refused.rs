//! Membarrier refused by a filter, before the first fence or after it. Each case runs in its own process: a filter
//! cannot be removed, and the backend is decided once.

#![cfg(all(target_os = "linux", not(any(miri, unc_model, unc_portable))))]

use std::process::Command;
use uncontended_fence::{Backend, Choice, Fences, Reason, Scope, backend, bare, heavy, light};
use uncontended_sys::{affinity, filter, membarrier};
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

/// Only what a program cannot try out, or what its processor does not do, is refused without a trial.
#[test]
fn changes_of_protection_are_refused_on_one_cpu() {
    if !is_child("changes_of_protection_are_refused_on_one_cpu") {
        return in_a_process_of_its_own("changes_of_protection_are_refused_on_one_cpu");
    }
    affinity::pin(affinity::allowed().unwrap()[0]).unwrap();
    let refused = Fences::with(Choice::Mprotect).unwrap_err();
    let is_x86 = cfg!(target_arch = "x86_64");
    let here = if is_x86 { [Reason::OneCpu, Reason::Processor] } else { [Reason::Processor; 2] };
    assert!(here.contains(&refused.reason), "{refused}");
    assert!(refused.to_string().ends_with("use membarrier"), "{refused}");
    assert_eq!(Fences::with(Choice::Mprotect).unwrap_err(), refused, "decided once");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn changes_of_protection_that_a_filter_forbids_are_refused() {
    if !is_child("changes_of_protection_that_a_filter_forbids_are_refused") {
        return in_a_process_of_its_own("changes_of_protection_that_a_filter_forbids_are_refused");
    }
    let before = Fences::with(Choice::Mprotect);
    if filter::forbid(libc::SYS_mprotect, 1).is_err() {
        return skip!("changes of protection", "filters are not available");
    }
    match before {
        Ok(fences) => {
            // A thread's stack needs a change of protection as well, so none can be started now.
            let refused = fences.heavy().unwrap_err();
            assert_eq!((refused.reason, refused.errno), (Reason::Failed, 1), "{refused}");
            assert!(!fences.ticket().is_complete());
        }
        Err(refused) => skip!("changes of protection", "{refused}"),
    }
}
