//! A search shared by several processes gives the same report as one process.

mod searched;

use searched::adders_and_readers;
use uncontended_model::real::{Bound, Explorer, Memory, Report, Verdict, choose};

fn counts(report: &Report) -> (u64, u64, u64) {
    (report.executions, report.blocked, report.beyond)
}

#[test]
fn counts_are_those_of_one_process() {
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        for explorer in [Explorer::new(memory), Explorer::new(memory).preemptions(1)] {
            let one = explorer.clone().jobs(1).explore(adders_and_readers).unwrap();
            for processes in [2, 5] {
                let all = explorer.clone().jobs(processes).explore(adders_and_readers).unwrap();
                assert!(all.holds(), "{all}");
                assert_eq!(counts(&all), counts(&one), "{memory:?}, {processes} processes");
            }
        }
    }
}

#[test]
fn the_violation_is_the_one_that_one_process_finds() {
    // Many executions break the rule; only the order of the search decides which comes first.
    let program = || {
        let digits: Vec<u64> = (0..5).map(|_| choose(6)).collect();
        let number = digits.iter().fold(0, |number, digit| 6 * number + digit);
        assert!(number % 611 != 17, "{number}");
    };
    let find = |processes| Explorer::new(Memory::Sc).jobs(processes).explore(program).unwrap();
    let one = find(1);
    let expected = one.violation().expect("17 is such a number");
    for _ in 0..3 {
        let shared = find(3);
        let found = shared.violation().expect("found by one, found by three");
        assert_eq!((&found.schedule, found.after), (&expected.schedule, expected.after));
        assert_eq!(found.failure.to_string(), expected.failure.to_string());
    }
}

#[test]
fn a_bound_ends_all_processes() {
    let explorer = Explorer::new(Memory::C11).executions(500).jobs(2);
    let report = explorer.explore(adders_and_readers).unwrap();
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Executions(500))), "{report}");
    assert!((495..=505).contains(&report.executions), "{report}");
}

#[test]
fn what_only_another_process_sees_is_reported_as_hidden_state() {
    let parent = std::process::id();
    let program = move || {
        adders_and_readers();
        assert_eq!(std::process::id(), parent);
    };
    let told = Explorer::new(Memory::C11).jobs(2).explore(program).unwrap_err();
    assert!(told.to_string().contains("one process of the search breaks a rule"), "{told}");
}
