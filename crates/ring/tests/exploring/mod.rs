//! Shared by the explorations.

use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH};

/// A poll that finds no value or no room is repeated: once in every way, then it waits for a change (`Report::rounds`
/// reports that).
fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).rounds(1).spins(12)
}

/// Asserts that the scenario holds under both memory models.
pub(crate) fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

/// The same with polls that fail up to three times, each in every way: for bugs that only the second or third failure
/// reveals.
#[allow(dead_code, reason = "not every test file has such a one")]
pub(crate) fn holds_in_three_rounds(scenario: fn()) {
    explored::holds(&BOTH, |memory| explorer(memory).rounds(3), || scenario);
}

/// The same for a large scenario: the short form explores only its first executions.
#[allow(dead_code, reason = "not every test file has such a one")]
pub(crate) fn begins(name: &str, scenario: fn()) {
    begins_with(10_000, name, scenario);
}

/// The same with more executions in the short form: its mutants show late.
#[allow(dead_code, reason = "not every test file has such a one")]
pub(crate) fn begins_with(short: u64, name: &str, scenario: fn()) {
    // The longest is one of 20 million executions.
    let explorer = |memory| explorer(memory).executions(60_000_000);
    explored::begins(name, (short, None), &BOTH, explorer, || scenario);
}
