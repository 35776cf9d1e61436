//! A failing execution replays from a line of text; a line that does not fit is an error with its reason.
//!
//! tests/real_code.rs replays the violation of every mutant there.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use uncontended_model::real::{AtomicU32, Bound, Explorer, Memory, Verdict, choose, spawn};

fn lost_update() {
    let x = Arc::new(AtomicU32::new(0));
    let threads = [0, 1].map(|_| {
        let x = Arc::clone(&x);
        spawn(move || x.store(x.load(Relaxed) + 1, Release))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(x.load(Relaxed), 2);
}

fn explorer() -> Explorer {
    Explorer::new(Memory::C11)
}

#[test]
fn a_violation_runs_again_alone() {
    let found = explorer().explore(lost_update).unwrap();
    let violation = found.violation().unwrap();
    let again = explorer().replay(&violation.schedule, lost_update).unwrap();
    assert_eq!(again.violation().unwrap().trace.text(), violation.trace.text());
    assert!(violation.to_string().contains(&format!("UNC_REPLAY='{}'", violation.schedule)));
}

#[test]
fn a_schedule_that_breaks_no_rule_is_no_proof() {
    let report = explorer().replay("c11@x:1 0p 0p 1r0.0 1w0 1p 2r1.3 2w1 2p", lost_update).unwrap();
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Replayed)), "{report}");
}

#[test]
fn a_schedule_that_does_not_fit_is_an_error() {
    for (schedule, why) in [
        ("", "a schedule is MODEL@FILE:LINE and steps"),
        ("x", "a schedule is MODEL@FILE:LINE and steps"),
        ("x@x:1 0p", "it begins with 'x', not with the memory model, 'c11'"),
        ("sc@x:1 0p", "it begins with 'sc', not with the memory model, 'c11'"),
        ("c11@x:1 0r1", "'0r1' is not a step"),
        ("c11@x:1 999999999999999999999999p", "is not a step"),
        ("c11@x:1 é", "'é' is not a step"),
        ("c11@x:1 256p", "thread 256 cannot move"),
        ("c11@x:1 0c0", "'0c0', but thread 0 "),
        ("c11@x:1 0z", "'0z' is not a step"),
        ("c11@x:1 3p", "thread 3 cannot move"),
        ("c11@x:1 0w0", "'0w0', but thread 0 "),
        ("c11@x:1 0p 0p 1r2.2", "'1r2.2', but thread 1 reads at "),
        ("c11@x:1 0p 0p 1r0.0 1w7", "'1w7', but thread 1 writes "),
        ("c11@x:1 0p 0p 1r0.0 1w0 1p 2r0.0 2w1 2p 0p 0p 0r1.3", "'0r1.3', but thread 0 reads at "),
    ] {
        let misfit = explorer().replay(schedule, lost_update).unwrap_err().to_string();
        assert!(misfit.contains(why) && misfit.contains("does not fit"), "{schedule}: {misfit}");
    }
    let more = explorer().replay("c11@x:1 0c1 0c1 0p", || assert!(choose(2) == 1)).unwrap_err();
    assert!(more.to_string().contains("'0c1', but thread 0 "), "{more}");
}

#[test]
fn a_failure_names_the_command_that_replays_it() {
    let replaying = std::env::var_os("UNC_REPLAY").is_some();
    let report = explorer().explore(lost_update).unwrap();
    let violation = report.violation().unwrap();
    if replaying {
        assert_eq!(report.executions, 0, "nothing else was explored");
        return;
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_failure_names_the_command_that_replays_it"])
        .env("UNC_REPLAY", &violation.schedule)
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
    assert!(String::from_utf8_lossy(&again.stdout).contains("1 passed"), "it ran");
}

#[test]
fn a_replay_that_does_not_fit_says_so_and_explores() {
    let report = explorer().explore(lost_update).unwrap();
    let schedule = &report.violation().unwrap().schedule;
    if std::env::var_os("UNC_REPLAY").is_some() {
        return;
    }
    let name = schedule.split(' ').next().unwrap();
    for (steps, why) in [
        (
            "9p",
            "the schedule does not fit this program: thread 9 cannot move; exploring everything",
        ),
        (
            "0p 0p 1r0.0 1w0 1p 2r1.3 2w1 2p",
            "the schedule breaks no rule here; exploring everything",
        ),
    ] {
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "a_replay_that_does_not_fit_says_so_and_explores"])
            .env("UNC_REPLAY", format!("{name} {steps}"))
            .output()
            .unwrap();
        assert!(again.status.success());
        let told = String::from_utf8_lossy(&again.stderr);
        assert!(told.contains(&format!("UNC_REPLAY: {why}")), "{told}");
    }
}

#[test]
fn a_variable_without_meaning_is_an_error() {
    const TEST: &str = "a_variable_without_meaning_is_an_error";
    if std::env::var_os("UNC_TRIED").is_some() {
        println!("{}", explorer().explore(|| ()).expect_err("refused"));
        if std::env::var_os("UNC_REPLAY").is_none() {
            explorer().outcomes(|| ()).expect_err("refused");
        }
        return;
    }
    for (variable, value, why) in [
        ("UNC_TIME", "abc", "invalid float literal"),
        ("UNC_TIME", "-1", "not a number of seconds"),
        ("UNC_TIME", "NaN", "not a number of seconds"),
        ("UNC_JOBS", "two", "invalid digit found in string"),
        ("UNC_REPLAY", "garbage", "a schedule is"),
        ("UNC_REPLAY", "", "a schedule is"),
    ] {
        let tried = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", TEST])
            .env("UNC_TRIED", "1")
            .env(variable, value)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&tried.stdout);
        let expected = format!("the environment variable {variable} is {value:?}: {why}");
        assert!(tried.status.success() && told.contains(&expected), "{expected}: {told}");
    }
}

#[test]
fn a_schedule_of_another_exploration_is_told() {
    const TEST: &str = "a_schedule_of_another_exploration_is_told";
    if std::env::var_os("UNC_TRIED").is_some() {
        assert!(explorer().explore(|| ()).unwrap().holds());
        return;
    }
    let tried = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", TEST])
        .env("UNC_TRIED", "1")
        .env("UNC_REPLAY", "c11@tests/moved.rs:12 0p")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&tried.stderr);
    assert!(tried.status.success(), "{told}");
    assert!(
        told.contains("UNC_REPLAY: the schedule is of c11@tests/moved.rs:12, this is "),
        "{told}"
    );
}
