//! A program can see which backend it was built with; without membarrier both halves order all the same.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A user's own atomics.
#![cfg(not(any(miri, unc_model)))]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use uncontended_fence::{Backend, Reason, Refused, Scope, backend, bare, heavy, light};

const IS_PORTABLE: bool = cfg!(any(not(target_os = "linux"), unc_portable));

#[test]
fn the_backend_says_that_it_was_built_without_membarrier() {
    let built = Backend::FullFences(Refused { reason: Reason::Portable, errno: 0 });
    assert_eq!(backend() == built, IS_PORTABLE, "{}", backend());
    assert!(
        !IS_PORTABLE || bare::register(Scope::Shared).is_err(),
        "other processes are not reached"
    );
}

/// Store buffering: at least one of both sides sees what the other stored.
fn nobody_misses_the_other(light: fn(), heavy: fn() -> Result<(), Refused>) {
    let (mine, theirs, together) = (AtomicU32::new(0), AtomicU32::new(0), Barrier::new(2));
    let rounds =
        uncontended_testkit::repetitions("rounds of store buffering", 2_000, 100_000) as u32;
    let often = || {
        let saw = |round| {
            together.wait();
            mine.store(round, Relaxed);
            light();
            theirs.load(Relaxed) == round
        };
        (1..=rounds).map(saw).collect::<Vec<_>>()
    };
    let seldom = || {
        let saw = |round| {
            together.wait();
            theirs.store(round, Relaxed);
            heavy().expect("barriers are not forbidden");
            mine.load(Relaxed) == round
        };
        (1..=rounds).map(saw).collect::<Vec<_>>()
    };
    std::thread::scope(|threads| {
        let often = threads.spawn(often);
        let seldom = seldom();
        for (round, (i_saw, they_saw)) in often.join().unwrap().into_iter().zip(seldom).enumerate()
        {
            assert!(i_saw || they_saw, "round {round}");
        }
    });
}

#[test]
fn both_halves_order_whatever_the_backend() {
    nobody_misses_the_other(light, heavy);
    nobody_misses_the_other(bare::light, || bare::heavy(Scope::Private));
}
