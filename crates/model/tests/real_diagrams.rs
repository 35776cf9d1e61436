//! Diagrams of violations of real code, against stored files, as text and SVG. `UNC_BLESS=1` rewrites the files; they
//! name lines of this file, so scenarios come before the tests.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use uncontended_model::real::{
    AtomicU32, Explorer, Memory, Named, RwLock, UnsafeCell, Violation, fence, futex_wait,
    futex_wake, heavy_fence, spawn,
};

/// Dekker's entry without a fence: both see their own flag, neither the other's.
fn both_enter() {
    let flags = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let enter = |flags: &[AtomicU32; 2], me: usize| {
        flags[me].store(1, Release);
        assert_eq!(flags[me].load(Relaxed), 1, "a thread sees its own store");
        flags[1 - me].load(Acquire) == 0
    };
    let shared = Arc::clone(&flags);
    let other = spawn(move || enter(&shared, 1));
    let first = enter(&flags, 0);
    assert!(!(first & other.join().unwrap()), "both are inside");
}

/// The same fenced on one side only, by an instruction that drains that side's buffer.
fn one_side_fenced() {
    let flags = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let shared = Arc::clone(&flags);
    let other = spawn(move || {
        shared[1].fetch_add(1, AcqRel);
        shared[0].load(Acquire) == 0
    });
    flags[0].store(1, Release);
    let first = flags[1].load(Acquire) == 0;
    assert!(!(first & other.join().unwrap()), "both are inside");
}

/// Data published through a relaxed flag.
fn published_relaxed() {
    let (data, ready) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (d, r) = (Arc::clone(&data), Arc::clone(&ready));
    let writer = spawn(move || {
        d.store(1, Relaxed);
        r.store(1, Relaxed);
    });
    if ready.load(Acquire) == 1 {
        assert_eq!(data.load(Relaxed), 1);
    }
    writer.join().unwrap();
}

/// A sleeper that checks, then sleeps, on a word that no thread changes.
fn lost_wakeup() {
    let (data, bed) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (d, b) = (Arc::clone(&data), Arc::clone(&bed));
    let waiter = spawn(move || {
        if d.load(SeqCst) == 0 {
            futex_wait(&*b, 0);
        }
    });
    data.store(1, SeqCst);
    futex_wake(&*bed, 1);
    waiter.join().unwrap();
}

struct Cell(UnsafeCell<u32>, AtomicU32);

// SAFETY: sharing this is unsound; the test is that the checker reports it.
unsafe impl Sync for Cell {}

/// A plain cell read after a relaxed flag.
fn races() {
    let cell = Arc::new(Cell(UnsafeCell::new(0), AtomicU32::new(0)));
    let shared = Arc::clone(&cell);
    let writer = spawn(move || {
        // SAFETY: none; the test expects the race.
        shared.0.with_mut(|n| unsafe { *n = 1 });
        shared.1.store(1, Relaxed);
    });
    heavy_fence();
    if cell.1.load(Relaxed) == 1 {
        // SAFETY: as above.
        cell.0.with(|n| unsafe { *n });
    }
    fence(SeqCst);
    writer.join().unwrap();
}

/// A lock that is read twice, while a writer waits; and two threads that have nothing to do with it.
fn read_twice() {
    let idle = [(); 2].map(|()| spawn(|| ()));
    let lock = Arc::new(RwLock::new(0).named("lock"));
    let other = Arc::clone(&lock);
    let writer = spawn(move || *other.write().unwrap() = 1);
    let first = lock.read().unwrap();
    let second = lock.read().unwrap();
    drop((first, second));
    writer.join().unwrap();
    idle.into_iter().for_each(|idle| idle.join().unwrap());
}

fn golden(name: &str, found: &str) {
    uncontended_testkit::golden(env!("CARGO_MANIFEST_DIR"), name, found);
}

fn violation(memory: Memory, body: fn()) -> Box<Violation> {
    let report = Explorer::new(memory).explore(body).unwrap();
    match report.verdict {
        uncontended_model::real::Verdict::Violated(violation) => violation,
        _ => panic!("{report}"),
    }
}

fn drawn(name: &str, memory: Memory, body: fn()) -> String {
    let violation = violation(memory, body);
    let text = violation.trace.text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    golden(&format!("real-{name}.txt"), &text);
    violation.trace.svg()
}

#[test]
fn a_violation_is_drawn_in_columns_by_thread_and_buffer() {
    golden("real-both-enter.svg", &drawn("both-enter", Memory::Tso, both_enter));
    drawn("one-side-fenced", Memory::Tso, one_side_fenced);
    golden("real-races.svg", &drawn("races", Memory::C11, races));
    drawn("published-relaxed", Memory::C11, published_relaxed);
    drawn("lost-wakeup", Memory::Sc, lost_wakeup);
    drawn("read-twice", Memory::Tso, read_twice);
    assert!(Explorer::new(Memory::Sc).explore(both_enter).unwrap().holds());
}

#[test]
fn under_tso_and_sc_no_drawn_read_misses_a_newer_write() {
    for (memory, body) in [
        (Memory::Tso, both_enter as fn()),
        (Memory::Tso, one_side_fenced),
        (Memory::Tso, lost_wakeup),
        (Memory::Sc, lost_wakeup),
    ] {
        let text = violation(memory, body).trace.text();
        assert!(!text.contains("stale"), "{text}");
    }
}
