//! Every lock, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, spawn, spin_loop};
use uncontended_locks::*;
use uncontended_model::real::{Explorer, Memory, spawn_symmetric};
use uncontended_testkit::explored::{self, BOTH};

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(300)
}

/// A number that no two threads may reach at once: the checker reports a race otherwise.
struct Guarded<L> {
    lock: L,
    number: UnsafeCell<u32>,
}

// SAFETY: the lock guards the number. That it does is what is explored.
unsafe impl<L: Sync> Sync for Guarded<L> {}

impl<L: RawLock> Guarded<L> {
    fn new() -> Arc<Guarded<L>> {
        Arc::new(Guarded { lock: L::default(), number: UnsafeCell::new(0) })
    }

    fn add(&self) -> u32 {
        // SAFETY: by one thread at a time, if the lock does what it promises.
        self.number.with_mut(|number| unsafe {
            *number += 1;
            *number
        })
    }

    fn add_locked(&self) -> u32 {
        self.lock.lock();
        let number = self.add();
        // SAFETY: it was taken above.
        unsafe { self.lock.unlock() };
        number
    }
}

/// Two threads add one each, one after the other.
fn two_threads<L: RawLock + 'static>() {
    let guarded = Guarded::<L>::new();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || theirs.add_locked());
    guarded.add_locked();
    other.join().unwrap();
    assert_eq!(guarded.add_locked(), 3);
}

/// Two more threads come while one holds it: there is a queue, and its end leaves.
fn three_threads<L: RawLock + 'static>() {
    let guarded = Guarded::<L>::new();
    let others = spawn_symmetric(2, {
        let guarded = Arc::clone(&guarded);
        move || {
            guarded.add_locked();
        }
    });
    guarded.add_locked();
    others.join().unwrap();
    assert_eq!(guarded.add_locked(), 4);
}

/// A thread that tries takes it or not, and never waits.
fn a_try<L: RawLock + 'static>() {
    let guarded = Guarded::<L>::new();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || {
        let taken = theirs.lock.try_lock();
        if taken {
            theirs.add();
            // SAFETY: it was taken above.
            unsafe { theirs.lock.unlock() };
        }
        u32::from(taken)
    });
    guarded.add_locked();
    let tried = other.join().unwrap();
    assert_eq!(guarded.add_locked(), 2 + tried);
    assert!(!guarded.lock.is_locked());
}

macro_rules! explored {
    ($($name:ident: $lock:ty;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn two_threads_exclude_each_other() {
                explored::holds(&BOTH, explorer, || two_threads::<$lock>);
            }

            #[test]
            fn three_threads_exclude_each_other() {
                let name = concat!("three threads, ", stringify!($name));
                explored::begins(name, (10_000, None), &BOTH, explorer, || three_threads::<$lock>);
            }

            #[test]
            fn a_try_takes_it_or_not() {
                explored::holds(&BOTH, explorer, || a_try::<$lock>);
            }
        }
    )*};
}

explored! {
    tas: Tas;
    ttas: Ttas<Hint>;
    ttas_yield: Ttas<HintThenYield>;
    ticket: Ticket<Hint>;
    futex: Futex;
    mcs: Mcs<Spin>;
    mcs_yield: Mcs<SpinThenYield>;
    mcs_park: Mcs<Park>;
}

/// Who came while it was held gets it before who comes later.
fn in_order<L: RawLock + 'static>(has_waiters: fn(&L) -> bool) {
    let guarded = Guarded::<L>::new();
    guarded.lock.lock();
    let theirs = Arc::clone(&guarded);
    let first = spawn(move || theirs.add_locked());
    while !has_waiters(&guarded.lock) {
        spin_loop();
    }
    let theirs = Arc::clone(&guarded);
    let second = spawn(move || theirs.add_locked());
    // SAFETY: it was taken above.
    unsafe { guarded.lock.unlock() };
    assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 2));
}

#[test]
fn queues_keep_the_order_of_arrival() {
    explored::holds(&BOTH, explorer, || || in_order(Ticket::<Hint>::has_waiters));
    explored::holds(&BOTH, explorer, || || in_order(Mcs::<Spin>::has_waiters));
    explored::holds(&BOTH, explorer, || || in_order(Mcs::<Park>::has_waiters));
}

/// A wait that may end by its deadline at any moment: whoever gives up has left nothing behind.
fn a_deadline<L: Timed + 'static>() {
    let guarded = Guarded::<L>::new();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || {
        let taken = theirs.lock.lock_deadline(Deadline::at_ns(2)).is_ok();
        if taken {
            theirs.add();
            // SAFETY: it was taken above.
            unsafe { theirs.lock.unlock() };
        }
        u32::from(taken)
    });
    guarded.add_locked();
    let taken = other.join().unwrap();
    assert_eq!(guarded.add_locked(), 2 + taken);
    assert!(!guarded.lock.is_locked());
}

#[test]
fn a_waiter_that_gives_up_takes_no_wakeup_from_others() {
    explored::holds(&BOTH, explorer, || a_deadline::<Futex>);
}

/// One waits until the other has changed what the lock guards.
fn a_condition<L: RawLock + 'static>() {
    let shared = Arc::new((Mutex::<u32, L>::new(0), Condvar::new()));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || {
        let (number, changed) = &*theirs;
        let mut number = number.lock();
        changed.wait_while(&mut number, |number| *number == 0);
        *number
    });
    *shared.0.lock() = 7;
    shared.1.notify_one();
    assert_eq!(waiter.join().unwrap(), 7);
}

#[test]
fn a_change_wakes_who_waits_for_it() {
    explored::holds(&BOTH, explorer, || a_condition::<Ttas>);
    explored::holds(&BOTH, explorer, || a_condition::<Futex>);
}

/// What is read outside the lock is ordered by the lock alone.
#[test]
fn a_holder_sees_what_the_last_one_did_elsewhere() {
    fn scenario() {
        let shared = Arc::new((Mutex::<(), Ticket>::new(()), AtomicU32::new(0)));
        let theirs = Arc::clone(&shared);
        let other = spawn(move || {
            let _guard = theirs.0.lock();
            theirs.1.store(theirs.1.load(Relaxed) + 1, Relaxed);
        });
        {
            let _guard = shared.0.lock();
            shared.1.store(shared.1.load(Relaxed) + 1, Relaxed);
        }
        other.join().unwrap();
        assert_eq!(shared.1.load(Acquire), 2);
        shared.1.store(0, Release);
    }
    explored::holds(&BOTH, explorer, || scenario);
}
