//! Tickets with real threads: they ripen, one barrier serves many, and a wait has an end.

#![cfg(not(unc_model))]

use std::time::{Duration, Instant};
use uncontended_fence::{Backend, Choice, Fences, Latency, Light, Reason, backend};
use uncontended_testkit::skip;

#[test]
fn every_way_to_a_ticket_completes_it() {
    let all = [Some(Fences::process()), Some(Fences::best()), Fences::with(Choice::Expedited).ok()];
    for fences in all.into_iter().flatten() {
        fences.light();
        fences.heavy().unwrap();
        fences.ticket().wait().unwrap();
        assert!(fences.ticket().poll().unwrap());
        assert!(fences.ticket().wait_for(Duration::from_secs(60)).unwrap());
    }
    assert!(Fences::with(Choice::FullFences).unwrap().ticket().is_complete());
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no membarrier")]
fn looking_runs_no_barrier_and_a_later_one_serves_all_before_it() {
    let fences = match Fences::with(Choice::Expedited) {
        Ok(fences) => fences,
        Err(refused) => return skip!("tickets that share barriers", "{refused}"),
    };
    let [first, second] = [fences.ticket(), fences.ticket()];
    // Other tests' barriers may serve them meanwhile, so only the direction is certain.
    assert!(first.is_complete() || !second.is_complete());
    second.wait().unwrap();
    assert!(first.is_complete() && second.is_complete());
}

#[test]
fn threads_that_ask_at_once_all_get_there() {
    let start = Instant::now();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..200).for_each(|_| Fences::best().heavy().unwrap()));
        }
    });
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_pair_says_what_it_is_and_costs() {
    let full = Fences::with(Choice::FullFences).unwrap();
    let Backend::FullFences(refused) = full.backend() else { panic!("{}", full.backend()) };
    assert_eq!(refused.reason, Reason::Unwanted);
    assert_eq!(full.backend().to_string(), "full fences: the program asked for them");
    assert_eq!(
        full.cost().to_string(),
        "light: a full fence; heavy: nanoseconds, interrupts no thread"
    );
    assert_eq!(Fences::default().backend(), backend());
    if let Ok(free) = Fences::with(Choice::Expedited) {
        assert_eq!(
            (free.cost().light, free.cost().latency),
            (Light::CompilerFence, Latency::Microseconds)
        );
        assert_eq!(
            free.cost().to_string(),
            "light: no instruction; heavy: microseconds, interrupts running threads"
        );
    }
}
