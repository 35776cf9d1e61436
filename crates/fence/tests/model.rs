//! Store buffering, explored: with a light fence on one side and a heavy one on the other, at least one side sees the
//! other.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicU32, spawn};
use uncontended_fence::{bare, heavy, light};
use uncontended_model::real::{Explorer, Memory};

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
fn a_light_and_a_heavy_fence_forbid_store_buffering_and_neither_is_spare() {
    let pay: fn() = || heavy().unwrap();
    let bare_pay: fn() = || bare::heavy(uncontended_fence::Scope::Private).unwrap();
    for memory in [Memory::C11, Memory::Tso] {
        let explore =
            |fast, slow| Explorer::new(memory).explore(store_buffering(fast, slow)).unwrap();
        for right in [explore(light, pay), explore(bare::light, bare_pay)] {
            assert!(right.holds(), "{memory:?}: {right}");
        }
        for wrong in [explore(light, light), explore(light, || {})] {
            assert!(wrong.violation().is_some(), "{memory:?}: {wrong}");
        }
    }
    // Only C11 needs the light half: TSO keeps program order except for buffers, which the heavy half drains.
    let none: fn() = || {};
    let bare = Explorer::new(Memory::C11).explore(store_buffering(none, pay)).unwrap();
    assert!(bare.violation().is_some(), "{bare}");
}
