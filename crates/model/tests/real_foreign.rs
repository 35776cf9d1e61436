//! Threads that the checker does not run: what they do to an exploration's objects is an error, never a verdict.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Threads of std's are the subject.

use std::sync::Arc;
use uncontended_model::real::{
    AtomicU32, Condvar, Explorer, Memory, Mutex, Ordering::Relaxed, UnsafeCell, futex_wake, spawn,
};

/// What a foreign thread takes part in is refused, with the place and the remedy.
fn refused(body: impl Fn() + 'static) {
    let error = Explorer::new(Memory::C11).explore(body).expect_err("a foreign thread takes part");
    let told = error.to_string();
    assert!(told.contains("a thread that the checker does not run"), "{told}");
    assert!(told.contains("real_foreign.rs:") && told.contains("the checker's `spawn`"), "{told}");
}

struct Shared(UnsafeCell<u32>);

// SAFETY: each test has one thread write at a time, or none at all.
unsafe impl Sync for Shared {}

#[test]
fn a_cell() {
    refused(|| {
        let cell = Arc::new(Shared(UnsafeCell::new(0)));
        let theirs = Arc::clone(&cell);
        let other = std::thread::spawn(move || theirs.0.with(|value| value.is_null()));
        assert!(other.join().is_err(), "the thread ends before it touches the cell");
    });
}

#[test]
fn an_atomic_of_a_scope() {
    refused(|| {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| word.store(word.load(Relaxed) + 1, Relaxed));
        });
    });
}

#[test]
fn a_mutex_and_an_atomic_from_outside() {
    let mutex = Arc::new(Mutex::new(0));
    refused(move || {
        *mutex.lock().unwrap() += 1;
        let theirs = Arc::clone(&mutex);
        let _ = std::thread::spawn(move || *theirs.lock().unwrap() += 1).join();
    });
    let word = Arc::new(AtomicU32::new(0));
    refused(move || {
        word.store(1, Relaxed);
        let theirs = Arc::clone(&word);
        let _ = std::thread::spawn(move || theirs.load(Relaxed)).join();
    });
}

#[test]
fn a_condition_and_a_futex() {
    refused(|| {
        let condition = Arc::new(Condvar::new());
        let theirs = Arc::clone(&condition);
        let _ = std::thread::spawn(move || theirs.notify_all()).join();
    });
    refused(|| {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&word);
        let _ = std::thread::spawn(move || futex_wake(&*theirs, 1)).join();
    });
}

#[test]
fn in_a_later_execution() {
    refused(|| {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&word);
        let other = spawn(move || theirs.store(1, Relaxed));
        if word.load(Relaxed) == 1 {
            let theirs = Arc::clone(&word);
            let _ = std::thread::spawn(move || theirs.load(Relaxed)).join();
        }
        other.join().unwrap();
    });
}

#[test]
fn a_foreign_thread_that_uses_its_own_objects_is_none_of_our_business() {
    let report = Explorer::new(Memory::C11)
        .explore(|| {
            let mine = AtomicU32::new(1);
            let theirs = std::thread::spawn(|| AtomicU32::new(1).fetch_add(1, Relaxed));
            assert_eq!(mine.load(Relaxed), theirs.join().unwrap());
        })
        .unwrap();
    assert!(report.holds(), "{report}");
}

#[test]
fn an_object_may_be_used_elsewhere_after_its_exploration() {
    let word = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&word);
    Explorer::new(Memory::C11).explore(move || theirs.store(1, Relaxed)).unwrap();
    let found = std::thread::spawn(move || word.fetch_add(1, Relaxed)).join();
    assert!(found.is_ok());
}
