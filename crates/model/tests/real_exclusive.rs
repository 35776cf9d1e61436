//! `get_mut`, `into_inner` and `take` are plain writes: races with uses that nothing orders, and with nothing else.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{
    AtomicU32, Explorer, Failure, Memory, Mutex, Named, OnceLock, RwLock, spawn,
};
use uncontended_testkit::one_line;

/// An object, and a flag that says that a thread is done with it.
struct Shared<T>(UnsafeCell<T>, AtomicU32);

// SAFETY: the checker reports each exclusive borrow that is not ordered with all other uses.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: the object is one of those that std sends.
unsafe impl<T> Send for Shared<T> {}

/// How to make, share and exclusively borrow an object.
type Uses<T> = (fn() -> T, fn(&T), fn(&mut T));

/// One thread shares the object and sets the flag; the other one borrows it exclusively if it finds the flag set.
fn hand_over<T: 'static>((new, share, own): Uses<T>, is_ordered: bool) -> impl Fn() + 'static {
    let (sets, finds) = if is_ordered { (Release, Acquire) } else { (Relaxed, Relaxed) };
    move || {
        let shared = Arc::new(Shared(UnsafeCell::new(new()), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = spawn(move || {
            // SAFETY: the checker ends the execution before a borrow that is not ordered with this use.
            share(unsafe { &*other.0.get() });
            other.1.store(1, sets);
        });
        if shared.1.load(finds) == 1 {
            // SAFETY: the checker ends the execution before a borrow that is not ordered with this use.
            own(unsafe { &mut *shared.0.get() });
        }
        thread.join().unwrap();
    }
}

/// The same the other way round: the object is borrowed first.
fn own_first<T: 'static>((new, share, own): Uses<T>, is_ordered: bool) -> impl Fn() + 'static {
    let (sets, finds) = if is_ordered { (Release, Acquire) } else { (Relaxed, Relaxed) };
    move || {
        let shared = Arc::new(Shared(UnsafeCell::new(new()), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = spawn(move || {
            // SAFETY: the checker ends the execution before a borrow that is not ordered with this use.
            own(unsafe { &mut *other.0.get() });
            other.1.store(1, sets);
        });
        if shared.1.load(finds) == 1 {
            // SAFETY: the checker ends the execution before a borrow that is not ordered with this use.
            share(unsafe { &*shared.0.get() });
        }
        thread.join().unwrap();
    }
}

#[track_caller]
fn races<T: 'static>(uses: Uses<T>) {
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        // Only C11 lets relaxed accesses go unordered.
        for is_ordered in [true, false] {
            let found = Explorer::new(memory).explore(hand_over(uses, is_ordered)).unwrap();
            let first = Explorer::new(memory).explore(own_first(uses, is_ordered)).unwrap();
            for report in [found, first] {
                let failure = report.violation().map(|violation| &violation.failure);
                let is_right = match failure {
                    None => is_ordered || memory != Memory::C11,
                    Some(Failure::Race { .. }) => !is_ordered && memory == Memory::C11,
                    Some(_) => false,
                };
                assert!(is_right, "{memory:?} {is_ordered}: {report}");
            }
        }
    }
}

#[test]
fn an_exclusive_borrow_races_with_what_nothing_orders() {
    races((|| AtomicU32::new(0), |x| x.store(1, Relaxed), |x| *x.get_mut() = 2));
    races((|| AtomicU32::new(0), |x| _ = x.load(Relaxed), |x| _ = *x.get_mut()));
    races((|| Mutex::new(0), |x| *x.lock().unwrap() = 1, |x| *x.get_mut().unwrap() = 2));
    races((|| RwLock::new(0), |x| *x.write().unwrap() = 1, |x| *x.get_mut().unwrap() = 2));
    races((|| RwLock::new(0), |x| drop(x.read().unwrap()), |x| *x.get_mut().unwrap() = 2));
    races((OnceLock::new, |x| _ = x.set(1), |x| _ = x.get_mut()));
    races((OnceLock::new, |x| _ = x.get(), |x: &mut OnceLock<u32>| _ = x.take()));
    let taken: Uses<Option<Mutex<u32>>> = (
        || Some(Mutex::new(0)),
        |x| *x.as_ref().unwrap().lock().unwrap() = 1,
        |x| _ = x.take().unwrap().into_inner(),
    );
    for (is_ordered, holds) in [(true, true), (false, false)] {
        let report = Explorer::new(Memory::C11).explore(hand_over(taken, is_ordered)).unwrap();
        assert_eq!(report.holds(), holds, "{report}");
    }
}

#[test]
fn a_trace_shows_both_uses() {
    let uses: Uses<Mutex<u32>> =
        (|| Mutex::new(0).named("lock"), |x| *x.lock().unwrap() = 1, |x| *x.get_mut().unwrap() = 2);
    let told = one_line(Explorer::new(Memory::C11).explore(hand_over(uses, false)).unwrap());
    assert!(told.contains("uses lock"), "{told}");
    assert!(told.contains("writes lock, plain"), "{told}");
}

#[test]
fn who_joins_all_threads_may_borrow_and_take() {
    let report = Explorer::new(Memory::C11).explore(|| {
        let shared = Arc::new((AtomicU32::new(0), Mutex::new(0), RwLock::new(0)));
        let threads = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            spawn(move || {
                shared.0.fetch_add(1, Relaxed);
                *shared.1.lock().unwrap() += 1;
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let (mut count, mut locked, shared) = Arc::try_unwrap(shared).unwrap();
        *count.get_mut() += 1;
        *locked.get_mut().unwrap() += 1;
        assert_eq!((count.into_inner(), locked.into_inner().unwrap()), (3, 3));
        assert_eq!(shared.into_inner().unwrap(), 0);
    });
    let report = report.unwrap();
    assert!(report.holds(), "{report}");
}
