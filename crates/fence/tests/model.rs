//! Store buffering, explored: with a light fence on one side and a heavy one on the other, at least one side sees the
//! other.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicU32, spawn};
use uncontended_fence::{Scope, bare, heavy, light};
use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH};

fn store_buffering(fast: fn(), slow: fn()) -> impl Fn() {
    move || {
        let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let theirs = Arc::clone(&words);
        let other = spawn(move || {
            theirs.0.store(1, Relaxed);
            fast();
            theirs.1.load(Relaxed)
        });
        words.1.store(1, Relaxed);
        slow();
        let seen = words.0.load(Relaxed);
        assert!(seen + other.join().unwrap() > 0, "neither saw the other");
    }
}

#[test]
fn a_light_and_a_heavy_fence_forbid_store_buffering() {
    explored::holds(&BOTH, Explorer::new, || store_buffering(light, || heavy().unwrap()));
}

#[test]
fn bare_fences_forbid_store_buffering() {
    explored::holds(&BOTH, Explorer::new, || store_buffering(bare::light, pay));
}

#[test]
fn full_fences_on_both_sides_forbid_store_buffering_where_barriers_are_refused() {
    uncontended_fence::refuse_barriers();
    explored::holds(&BOTH, Explorer::new, || store_buffering(light, || heavy().unwrap()));
}

fn pay() {
    bare::heavy(Scope::Private).unwrap();
}

#[test]
fn neither_half_is_spare() {
    let lost = |memory, fast: fn(), slow: fn()| {
        let report = Explorer::new(memory).explore(store_buffering(fast, slow)).unwrap();
        assert!(report.violation().is_some(), "{memory:?}: {report}");
    };
    let none: fn() = || {};
    for memory in BOTH {
        lost(memory, light, light);
        lost(memory, light, none);
    }
    // Only C11 needs the light half: TSO keeps program order except for buffers, which the heavy half drains.
    lost(Memory::C11, none, pay);
}
