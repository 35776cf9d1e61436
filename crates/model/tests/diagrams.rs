//! Diagrams compared with stored files: minimal executions of the classics, as text and SVG. `UNC_BLESS=1` rewrites the
//! files.

use uncontended_model::classics::named;
use uncontended_model::diagram::Diagram;
use uncontended_model::litmus::{Memory, parse};
use uncontended_model::outcome::Limits;
use uncontended_model::search::Verdict;

fn golden(name: &str, found: &str) {
    uncontended_testkit::golden(env!("CARGO_MANIFEST_DIR"), name, found);
}

fn execution(name: &str) -> Option<Diagram> {
    let test = parse(named(name).unwrap().text).unwrap();
    match test.witness(Memory::Tso, Limits::default()) {
        Verdict::Allowed(trace) => {
            let title = format!("{}: {}", test.name, test.condition);
            Some(Diagram::of_trace(title, &test.program, &trace, test.line(&trace.outcome)))
        }
        _ => None,
    }
}

#[test]
fn minimal_executions_of_the_classics() {
    for name in ["SB", "n6", "EVENTCOUNT", "FSSF", "LOST-WAKEUP"] {
        let diagram = execution(name).unwrap();
        golden(&format!("{name}.txt"), &diagram.text());
    }
    golden("EVENTCOUNT.svg", &execution("EVENTCOUNT").unwrap().svg());
    assert_eq!(execution("FSSF+heavy"), None);
}
