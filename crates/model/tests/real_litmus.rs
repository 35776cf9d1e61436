//! Litmus tests as real code: the set of outcomes under each model, exactly.
//!
//! Sources of the sets: Lahav et al., PLDI 2017 (C11: SB, MP, IRIW, 2+2W, R, release sequences); Owens et al., TPHOLs
//! 2009 (TSO); Goldblatt, WG21 P1202 (light and heavy fences).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use uncontended_model::real::{
    AtomicU32, Explorer, Failure, Memory, UnsafeCell, fence, heavy_fence, light_fence, spawn,
    yield_now,
};

/// The shared words of a test.
struct Words {
    x: AtomicU32,
    y: AtomicU32,
    z: AtomicU32,
}

/// Stands where a fence could be.
fn nothing() {}

type Body = fn(&Words) -> Vec<u32>;

/// Runs one body a thread and returns all outcomes: what the bodies return, in order, then the final x and y.
fn outcomes(memory: Memory, bodies: &'static [Body]) -> BTreeSet<Vec<u32>> {
    let (outcomes, report) = Explorer::new(memory)
        .outcomes(move || {
            let words = Arc::new(Words {
                x: AtomicU32::new(0),
                y: AtomicU32::new(0),
                z: AtomicU32::new(0),
            });
            let threads: Vec<_> = bodies
                .iter()
                .map(|&body| {
                    let words = Arc::clone(&words);
                    spawn(move || body(&words))
                })
                .collect();
            let mut all: Vec<u32> =
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            all.push(words.x.load(Relaxed));
            all.push(words.y.load(Relaxed));
            all
        })
        .unwrap();
    assert!(report.holds(), "{report}");
    outcomes.into_keys().collect()
}

/// Whether some outcome begins with this.
fn can(memory: Memory, bodies: &'static [Body], wanted: &[u32]) -> bool {
    outcomes(memory, bodies).iter().any(|outcome| outcome.starts_with(wanted))
}

fn set<const N: usize>(outcomes: &[[u32; N]]) -> BTreeSet<Vec<u32>> {
    outcomes.iter().map(|outcome| outcome.to_vec()).collect()
}

macro_rules! store_buffering {
    ($store:expr, $load:expr, $left:expr, $right:expr) => {{
        const BODIES: &[Body] = &[
            |w| {
                w.x.store(1, $store);
                $left;
                vec![w.y.load($load)]
            },
            |w| {
                w.y.store(1, $store);
                $right;
                vec![w.x.load($load)]
            },
        ];
        BODIES
    }};
}

#[test]
fn store_buffering_needs_seqcst_or_fences() {
    let strong = set(&[[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]]);
    let weak: BTreeSet<_> = strong.iter().cloned().chain([vec![0, 0, 1, 1]]).collect();
    let relaxed = store_buffering!(Relaxed, Relaxed, nothing(), nothing());
    let released = store_buffering!(Release, Acquire, nothing(), nothing());
    let seqcst = store_buffering!(SeqCst, SeqCst, nothing(), nothing());
    let fenced = store_buffering!(Relaxed, Relaxed, fence(SeqCst), fence(SeqCst));
    let half = store_buffering!(Relaxed, Relaxed, fence(SeqCst), nothing());
    let weaker = store_buffering!(Relaxed, Relaxed, fence(AcqRel), fence(AcqRel));
    for body in [relaxed, released, half, weaker] {
        assert_eq!(outcomes(Memory::C11, body), weak);
        assert_eq!(outcomes(Memory::Tso, body), weak);
        assert_eq!(outcomes(Memory::Sc, body), strong);
    }
    for body in [seqcst, fenced] {
        for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
            assert_eq!(outcomes(memory, body), strong);
        }
    }
}

#[test]
fn store_buffering_with_asymmetric_fences() {
    let strong = set(&[[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]]);
    let weak: BTreeSet<_> = strong.iter().cloned().chain([vec![0, 0, 1, 1]]).collect();
    for memory in [Memory::C11, Memory::Tso] {
        let pair = store_buffering!(Relaxed, Relaxed, light_fence(), heavy_fence());
        let heavies = store_buffering!(Relaxed, Relaxed, heavy_fence(), heavy_fence());
        let lights = store_buffering!(Relaxed, Relaxed, light_fence(), light_fence());
        let light_full = store_buffering!(Relaxed, Relaxed, light_fence(), fence(SeqCst));
        assert_eq!(outcomes(memory, pair), strong, "{memory:?}");
        assert_eq!(outcomes(memory, heavies), strong, "{memory:?}");
        assert_eq!(outcomes(memory, lights), weak, "{memory:?}");
        assert_eq!(outcomes(memory, light_full), weak, "{memory:?}");
    }
    // Without a light fence C11 guarantees nothing; the hardware's interrupt comes wherever the thread is.
    let bare = store_buffering!(Relaxed, Relaxed, nothing(), heavy_fence());
    assert_eq!(outcomes(Memory::C11, bare), weak);
    assert_eq!(outcomes(Memory::Tso, bare), strong);
}

/// Whether a plain cell, written before a fence and a flag and read after the flag and a fence, is free of races.
fn hands_over(left: fn(), right: fn(), relayed: bool) -> bool {
    struct Shared(UnsafeCell<u32>, AtomicU32);
    // SAFETY: the test asks whether sharing it is sound.
    unsafe impl Sync for Shared {}
    let report = Explorer::new(Memory::C11).explore(move || {
        let shared = Arc::new(Shared(UnsafeCell::new(0), AtomicU32::new(0)));
        let (writer, relay) = (Arc::clone(&shared), Arc::clone(&shared));
        let writer = spawn(move || {
            // SAFETY: the reader reads only after the flag; the test asks whether that suffices.
            writer.0.with_mut(|data| unsafe { *data = 1 });
            left();
            writer.1.store(1, Relaxed);
        });
        let relay = relayed.then(|| {
            spawn(move || {
                // A read-modify-write continues what the write before it announced.
                let _ = relay.1.compare_exchange(1, 2, Relaxed, Relaxed);
            })
        });
        if shared.1.load(Relaxed) == if relayed { 2 } else { 1 } {
            right();
            // SAFETY: as above.
            assert_eq!(shared.0.with(|data| unsafe { *data }), 1);
        }
        writer.join().unwrap();
        relay.into_iter().for_each(|relay| relay.join().unwrap());
    });
    let report = report.unwrap();
    assert!(report.holds() || matches!(report.violation().unwrap().failure, Failure::Race { .. }));
    report.holds()
}

#[test]
fn a_light_and_a_heavy_fence_synchronise_and_no_other_pair_with_a_light_one() {
    for relayed in [false, true] {
        for (left, right) in
            [(light_fence as fn(), heavy_fence as fn()), (heavy_fence, light_fence)]
        {
            assert!(hands_over(left, right, relayed));
        }
        assert!(
            hands_over(heavy_fence, || fence(Acquire), relayed),
            "a heavy one is an ordinary one too"
        );
        for other in [nothing as fn(), light_fence, || fence(SeqCst)] {
            assert!(!hands_over(light_fence, other, relayed));
            assert!(!hands_over(other, light_fence, relayed));
        }
    }
}

macro_rules! message_passing {
    ($store:expr, $load:expr, $left:expr, $right:expr) => {{
        const BODIES: &[Body] = &[
            |w| {
                w.x.store(1, Relaxed);
                $left;
                w.y.store(1, $store);
                vec![]
            },
            |w| {
                let flag = w.y.load($load);
                $right;
                vec![flag, w.x.load(Relaxed)]
            },
        ];
        BODIES
    }};
}

#[test]
fn message_passing_needs_both_ends() {
    let strong = set(&[[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]);
    let weak: BTreeSet<_> = strong.iter().cloned().chain([vec![1, 0, 1, 1]]).collect();
    let good = [
        message_passing!(Release, Acquire, nothing(), nothing()),
        message_passing!(SeqCst, SeqCst, nothing(), nothing()),
        message_passing!(Relaxed, Relaxed, fence(Release), fence(Acquire)),
        message_passing!(Release, Relaxed, nothing(), fence(Acquire)),
        message_passing!(Relaxed, Acquire, fence(Release), nothing()),
    ];
    let bad = [
        message_passing!(Relaxed, Relaxed, nothing(), nothing()),
        message_passing!(Release, Relaxed, nothing(), nothing()),
        message_passing!(Relaxed, Acquire, nothing(), nothing()),
        message_passing!(Relaxed, Relaxed, fence(Acquire), fence(Release)),
        message_passing!(Relaxed, Acquire, fence(Acquire), nothing()),
    ];
    for body in good {
        assert_eq!(outcomes(Memory::C11, body), strong);
    }
    for body in bad {
        assert_eq!(outcomes(Memory::C11, body), weak);
        assert_eq!(outcomes(Memory::Tso, body), strong);
    }
}

fn read(word: &AtomicU32, order: Ordering) -> u32 {
    word.load(order)
}

macro_rules! iriw {
    ($store:expr, $load:expr, $between:expr) => {{
        const BODIES: &[Body] = &[
            |w| {
                w.x.store(1, $store);
                vec![]
            },
            |w| {
                w.y.store(1, $store);
                vec![]
            },
            |w| {
                let first = read(&w.x, $load);
                $between;
                vec![first, read(&w.y, $load)]
            },
            |w| {
                let first = read(&w.y, $load);
                $between;
                vec![first, read(&w.x, $load)]
            },
        ];
        BODIES
    }};
}

#[test]
fn independent_reads_of_independent_writes() {
    let wanted = [1, 0, 1, 0];
    assert!(can(Memory::C11, iriw!(Release, Acquire, nothing()), &wanted));
    assert!(!can(Memory::Tso, iriw!(Release, Acquire, nothing()), &wanted));
    assert!(!can(Memory::C11, iriw!(SeqCst, SeqCst, nothing()), &wanted));
    assert!(!can(Memory::C11, iriw!(Relaxed, Relaxed, fence(SeqCst)), &wanted));
    // All the other fifteen outcomes remain.
    assert_eq!(outcomes(Memory::C11, iriw!(SeqCst, SeqCst, nothing())).len(), 15);
    assert_eq!(outcomes(Memory::C11, iriw!(Relaxed, Relaxed, nothing())).len(), 16);
}

#[test]
fn load_buffering_is_out_of_sight() {
    const BODIES: &[Body] = &[
        |w| {
            let seen = w.x.load(Relaxed);
            w.y.store(1, Relaxed);
            vec![seen]
        },
        |w| {
            let seen = w.y.load(Relaxed);
            w.x.store(1, Relaxed);
            vec![seen]
        },
    ];
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        assert_eq!(outcomes(memory, BODIES), set(&[[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]));
    }
}

#[test]
fn one_location_is_coherent() {
    const BODIES: &[Body] = &[
        |w| {
            w.x.store(1, Relaxed);
            w.x.store(2, Relaxed);
            vec![]
        },
        |w| vec![w.x.load(Relaxed), w.x.load(Relaxed)],
    ];
    let expected =
        set(&[[0, 0, 2, 0], [0, 1, 2, 0], [0, 2, 2, 0], [1, 1, 2, 0], [1, 2, 2, 0], [2, 2, 2, 0]]);
    assert_eq!(outcomes(Memory::C11, BODIES), expected);
    assert_eq!(outcomes(Memory::Tso, BODIES), expected);
}

#[test]
fn two_writes_each_may_cross_in_c11_only() {
    macro_rules! bodies {
        ($order:expr) => {{
            const BODIES: &[Body] = &[
                |w| {
                    w.x.store(1, $order);
                    w.y.store(2, $order);
                    vec![]
                },
                |w| {
                    w.y.store(1, $order);
                    w.x.store(2, $order);
                    vec![]
                },
            ];
            BODIES
        }};
    }
    assert!(can(Memory::C11, bodies!(Relaxed), &[1, 1]));
    assert!(can(Memory::C11, bodies!(Release), &[1, 1]));
    assert!(!can(Memory::C11, bodies!(SeqCst), &[1, 1]));
    assert!(!can(Memory::Tso, bodies!(Relaxed), &[1, 1]));
}

#[test]
fn a_release_sequence_goes_on_through_read_modify_writes_alone() {
    const RMW: &[Body] = &[
        |w| {
            w.x.store(1, Relaxed);
            w.y.store(1, Release);
            vec![]
        },
        |w| {
            let _ = w.y.compare_exchange(1, 2, Relaxed, Relaxed);
            vec![]
        },
        |w| vec![w.y.load(Acquire), w.x.load(Relaxed)],
    ];
    assert!(!can(Memory::C11, RMW, &[2, 0]));
    // C++20: a later relaxed store of the same thread is not part of the sequence any more.
    const STORE: &[Body] = &[
        |w| {
            w.x.store(1, Relaxed);
            w.y.store(1, Release);
            w.y.store(2, Relaxed);
            vec![]
        },
        |w| vec![w.y.load(Acquire), w.x.load(Relaxed)],
    ];
    assert!(can(Memory::C11, STORE, &[2, 0]));
    assert!(!can(Memory::Tso, STORE, &[2, 0]));
}

#[test]
fn a_redundant_load_loses_nothing() {
    // The shape of loom's issue 166, all SeqCst: with the extra load, loom no longer finds (1, 0).
    const PLAIN: &[Body] = &[
        |w| {
            w.x.store(1, SeqCst);
            w.y.store(1, SeqCst);
            w.y.store(0, SeqCst);
            w.x.store(0, SeqCst);
            vec![]
        },
        |w| vec![w.y.load(SeqCst), w.x.load(SeqCst)],
    ];
    const REDUNDANT: &[Body] = &[
        |w| {
            w.x.store(1, SeqCst);
            w.y.store(1, SeqCst);
            w.y.store(0, SeqCst);
            let _ = w.x.load(SeqCst);
            w.x.store(0, SeqCst);
            vec![]
        },
        |w| vec![w.y.load(SeqCst), w.x.load(SeqCst)],
    ];
    let all = set(&[[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]);
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        assert_eq!(outcomes(memory, PLAIN), all);
        assert_eq!(outcomes(memory, REDUNDANT), all);
    }
}

#[test]
fn the_reference_manuals_seqcst_example_ends() {
    // loom's issue 191: with the waiting loops of cppreference's example, loom never ends.
    macro_rules! bodies {
        ($order:expr) => {{
            const BODIES: &[Body] = &[
                |w| {
                    w.x.store(1, $order);
                    vec![]
                },
                |w| {
                    w.y.store(1, $order);
                    vec![]
                },
                |w| {
                    while w.x.load($order) == 0 {
                        yield_now();
                    }
                    vec![w.y.load($order)]
                },
                |w| {
                    while w.y.load($order) == 0 {
                        yield_now();
                    }
                    vec![w.x.load($order)]
                },
            ];
            BODIES
        }};
    }
    assert!(!can(Memory::C11, bodies!(SeqCst), &[0, 0]));
    assert!(can(Memory::C11, bodies!(Relaxed), &[0, 0]));
    assert!(can(Memory::C11, bodies!(SeqCst), &[1, 1]));
}

#[test]
fn seqcst_accesses_do_not_order_their_neighbours() {
    // RC11, 3.2: SeqCst stores to z between relaxed ones are no fences.
    const BODIES: &[Body] = &[
        |w| {
            w.x.store(1, Relaxed);
            w.z.store(1, SeqCst);
            vec![w.y.load(Relaxed)]
        },
        |w| {
            w.y.store(1, Relaxed);
            w.z.store(2, SeqCst);
            vec![w.x.load(Relaxed)]
        },
    ];
    assert!(can(Memory::C11, BODIES, &[0, 0]));
    assert!(!can(Memory::Tso, BODIES, &[0, 0]));
}

#[test]
fn increments_split_in_two_lose_and_locked_ones_do_not() {
    const SPLIT: &[Body] = &[
        |w| {
            w.x.fetch_add_unlocked(1, Relaxed);
            vec![]
        },
        |w| {
            w.x.fetch_add_unlocked(1, Relaxed);
            vec![]
        },
    ];
    const LOCKED: &[Body] = &[
        |w| {
            w.x.fetch_add(1, Relaxed);
            vec![]
        },
        |w| {
            w.x.fetch_add(1, Relaxed);
            vec![]
        },
    ];
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        assert_eq!(outcomes(memory, SPLIT), set(&[[1, 0], [2, 0]]));
        assert_eq!(outcomes(memory, LOCKED), set(&[[2, 0]]));
    }
}
