//! The division of the waiting against a program that logs its own locks.

use super::{observed, unmet};
use uncontended_testkit::skip;

/// Each schedule is divided as its log says, except for what threads without a CPU move; most without that, too.
#[test]
fn random_schedules_are_divided_as_their_own_logs_say() {
    let schedules = uncontended_testkit::repetitions("random divisions", 8, 200);
    let mut far: Vec<String> = Vec::new();
    for seed in 0..schedules {
        let (report, said) = observed(&[], "random_blame", &[&seed.to_string()], 0);
        let wrong = unmet(&report, &said);
        assert!(wrong.is_empty(), "seed {seed}:\n{}\n{report:#}", wrong.join("\n"));
        let close: Vec<&str> =
            said.lines().filter_map(|line| line.strip_prefix("close ")).collect();
        let close: Vec<String> = close.iter().map(|line| format!("expect {line}")).collect();
        far.extend(
            unmet(&report, &close.join("\n")).first().map(|line| format!("seed {seed}: {line}")),
        );
    }
    if std::env::var_os("UNC_EMULATED").is_some() {
        skip!(
            "most random schedules are divided closely",
            "a call takes as long as the waits that it measures"
        );
        return;
    }
    assert!(2 * far.len() as u64 <= schedules, "{}", far.join("\n"));
}
