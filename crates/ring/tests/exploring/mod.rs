//! What the explorations have in common.

use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH};

/// A poll that finds nothing, or no room, is repeated: once in every way, then it waits for news (`Report::rounds` says
/// so).
fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).rounds(1).spins(12)
}

/// Holds under both memory models.
pub(crate) fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

/// The same where polls are in vain up to three times, each in every way: for bugs that only the second or third one
/// meets.
#[allow(dead_code, reason = "not every test file has such a one")]
pub(crate) fn holds_patiently(scenario: fn()) {
    explored::holds(&BOTH, |memory| explorer(memory).rounds(3), || scenario);
}

/// Holds under both; of a scenario of this name that is too large for a short test, the first executions do.
#[allow(dead_code, reason = "not every test file has such a one")]
pub(crate) fn begins(name: &str, scenario: fn()) {
    explored::begins(name, (10_000, None), &BOTH, explorer, || scenario);
}
