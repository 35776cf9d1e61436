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

#[test]
fn bounds_and_loops_that_give_up_are_those_of_one_process() {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
    use uncontended_model::real::{AtomicU32, spawn, spin_loop};
    let program = |rounds: u32, swaps: bool, bytes: u64| {
        move || {
            let words = Arc::new([0; 2].map(AtomicU32::new));
            let writers = [0, 1].map(|at| {
                let words = Arc::clone(&words);
                spawn(move || words[at].store(1, Release))
            });
            for _ in 0..rounds {
                let seen = if swaps { words[0].swap(0, AcqRel) } else { words[0].load(Acquire) };
                if seen == 1 {
                    break;
                }
                spin_loop();
            }
            let seen = words[1].load(Acquire);
            let kept: Vec<_> = (0..bytes * u64::from(seen)).map(|_| AtomicU32::new(1)).collect();
            drop(kept);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        }
    };
    for (rounds, swaps, bytes, bound) in [
        (100, false, 0, None),
        (100, true, 0, Some(Bound::Spins(3))),
        (2, false, 100, Some(Bound::Memory(4_000))),
    ] {
        let explorer = Explorer::new(Memory::C11).memory_bytes(bound.map_or(1 << 20, |_| 4_000));
        let one = explorer.clone().jobs(1).explore(program(rounds, swaps, bytes)).unwrap();
        let all = explorer.jobs(3).explore(program(rounds, swaps, bytes)).unwrap();
        let of = |report: &Report| match report.verdict {
            Verdict::Unknown(bound) => Some(bound),
            _ => None,
        };
        assert_eq!((of(&one), counts(&one)), (bound, counts(&all)), "{one}; {all}");
        assert_eq!(of(&all), bound, "{all}");
        assert_eq!((one.forced, one.left_waiting), (all.forced, all.left_waiting), "{one}; {all}");
    }
}
