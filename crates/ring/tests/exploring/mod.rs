//! What the explorations have in common.

use uncontended_model::real::{Explorer, Memory, Report};
use uncontended_ring::mutant;

const BOTH: [Memory; 2] = [Memory::C11, Memory::Tso];

/// A poll that finds nothing, or no room, is repeated: once in every way, then it waits for news (`Report::rounds` says
/// so).
fn explore(memory: Memory, bug: &'static str, scenario: impl Fn() + 'static) -> Report {
    mutant::seed(bug);
    let report = Explorer::new(memory).rounds(1).spins(12).explore(scenario).unwrap();
    mutant::seed("");
    report
}

/// Holds under both memory models.
pub(crate) fn holds(scenario: fn()) {
    for memory in BOTH {
        let report = explore(memory, "", scenario);
        assert!(report.holds(), "{memory:?}: {report}");
        println!("{memory:?}: {report}");
    }
}

/// Every bug is caught under C11; those named `on_tso` under TSO too.
pub(crate) fn caught(scenario: fn(), bugs: &[&'static str], on_tso: &[&'static str]) {
    let runs = bugs.iter().map(|bug| (Memory::C11, bug));
    for (memory, bug) in runs.chain(on_tso.iter().map(|bug| (Memory::Tso, bug))) {
        let report = explore(memory, bug, scenario);
        let violation = report.violation().unwrap_or_else(|| panic!("{memory:?}: {bug}: {report}"));
        println!("{memory:?}: {bug}: {} (after {})", violation.failure, violation.after);
    }
}
