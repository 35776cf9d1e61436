//! How a waiter in a queue waits for its turn: on a word of its own.
//!
//! # Contract
//! A waiter makes a turn, lets others find it, and calls [`Turn::wait`]. Once it is found, one thread calls
//! [`Turn::grant`], once, after which the turn may be gone.
//!
//! # Edges
//! turn: `grant` -> `wait`. What the granting thread did.
//! parked: `ParkTurn::wait` -> `grant`. The handle by which it is woken.
//!
//! # Invariants
//! I1: a parked waiter returns only with the token of its parker, so its turn lives until `grant` has taken the handle
//!     out of it; the handle itself outlives the turn.
//! I2: a turn is GRANTED once, by `grant`; until then its waiter waits, and the turn is there.

use crate::pause::HINT_NS;
use std::fmt;
use std::time::Duration;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Release};
use uncontended_atomic::{AtomicU32, Named, UnsafeCell, spin_for_ns, yield_now};
use uncontended_wait::{Deadline, Parker, Unparker};

const WAITING: u32 = 0;
const GRANTED: u32 = 1;
const PARKED: u32 = 2;

/// How long a waiter spins before it parks: about what a sleep and a wakeup cost in a virtual machine.
const SPIN: Duration = Duration::from_micros(10);

/// A way to wait for one's turn.
///
/// # Safety
/// `wait` returns only after `grant`, and what came before `grant` happens before what follows it.
pub unsafe trait Turn: Default + fmt::Debug + Send + Sync + 'static {
    /// Waits until the turn is granted.
    fn wait(&self);

    /// Grants the turn.
    ///
    /// # Safety
    /// `turn` points to a turn whose owner waits, or will; this is its only grant.
    unsafe fn grant(turn: *const Self);
}

/// Spins.
#[derive(Debug)]
pub struct Spin(AtomicU32);

/// Spins for ten microseconds, then yields the CPU to other threads between looks.
#[derive(Debug)]
pub struct SpinThenYield(AtomicU32);

macro_rules! looks {
    ($turn:ident, $wait:expr) => {
        impl Default for $turn {
            fn default() -> $turn {
                $turn(AtomicU32::new(WAITING).named("turn"))
            }
        }

        // SAFETY: it waits until it is GRANTED, by `grant` alone (I2, edge turn).
        unsafe impl Turn for $turn {
            #[cfg_attr(unc_model, track_caller)]
            fn wait(&self) {
                let wait: fn(&AtomicU32) = $wait;
                wait(&self.0);
            }

            #[cfg_attr(unc_model, track_caller)]
            unsafe fn grant(turn: *const $turn) {
                // SAFETY: it is there until this store (I2).
                let word = unsafe { &(*turn).0 };
                // EDGE turn (release): what this thread did.
                word.store(GRANTED, Release);
            }
        }
    };
}

looks!(Spin, |word| {
    // EDGE turn (acquire): what the granting thread did.
    while word.load(Acquire) != GRANTED {
        spin_for_ns(HINT_NS);
    }
});

looks!(SpinThenYield, |word| {
    if !spin(word, SPIN) {
        // EDGE turn (acquire): what the granting thread did.
        while word.load(Acquire) != GRANTED {
            yield_now();
        }
    }
});

/// Looks at a word for about `time`; true if the turn was granted. Never looks under the checker, where a wait of any
/// length is the same.
#[cfg_attr(unc_model, track_caller)]
fn spin(word: &AtomicU32, time: Duration) -> bool {
    if cfg!(unc_model) {
        return false;
    }
    let end = Deadline::after(time);
    loop {
        for _ in 0..8 {
            // EDGE turn (acquire): what the granting thread did.
            if word.load(Acquire) == GRANTED {
                return true;
            }
            spin_for_ns(HINT_NS);
        }
        if end.has_passed() {
            return false;
        }
    }
}

/// A word, and the handle of a waiter that sleeps.
#[derive(Debug)]
struct ParkTurn {
    word: AtomicU32,
    unparker: UnsafeCell<Option<Unparker>>,
}

// SAFETY: the handle is written before PARKED, and taken after it was seen (I1, edge parked).
unsafe impl Sync for ParkTurn {}

impl Default for ParkTurn {
    fn default() -> ParkTurn {
        ParkTurn { word: AtomicU32::new(WAITING).named("turn"), unparker: UnsafeCell::new(None) }
    }
}

impl ParkTurn {
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, spins: Duration) {
        if spin(&self.word, spins) {
            return;
        }
        let mut parker = Parker::new();
        // SAFETY: only this thread reaches the handle until the word is PARKED (I1).
        self.unparker.with_mut(|unparker| unsafe { *unparker = Some(parker.unparker()) });
        // EDGE parked (release): the handle.
        // EDGE turn (acquire): what the granting thread did.
        if self.word.compare_exchange(WAITING, PARKED, Release, Acquire).is_ok() {
            parker.park(); // I1
        }
    }

    /// # Safety
    /// That of [`Turn::grant`].
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn grant(turn: *const ParkTurn) {
        // SAFETY: it is there until the swap (I2).
        let word = unsafe { &(*turn).word };
        // EDGE turn (release): what this thread did.
        // EDGE parked (acquire): the handle.
        if word.swap(GRANTED, AcqRel) == PARKED {
            // SAFETY: the waiter sleeps until it has the token, so the turn is there (I1).
            let cell = unsafe { &(*turn).unparker };
            // SAFETY: the waiter wrote the handle before PARKED, and no longer touches it (I1).
            let unparker = cell.with_mut(|unparker| unsafe { (*unparker).take() });
            unparker.expect("a parked waiter has left its handle").unpark();
        }
    }
}

/// Sleeps at once. A waiter that sleeps allocates a parker.
#[derive(Debug, Default)]
pub struct Park(ParkTurn);

/// Spins for ten microseconds, then sleeps. A waiter that sleeps allocates a parker.
#[derive(Debug, Default)]
pub struct SpinThenPark(ParkTurn);

macro_rules! parks {
    ($turn:ident, $spins:expr) => {
        // SAFETY: `ParkTurn::wait` returns only after its grant (I2).
        unsafe impl Turn for $turn {
            #[cfg_attr(unc_model, track_caller)]
            fn wait(&self) {
                self.0.wait($spins);
            }

            #[cfg_attr(unc_model, track_caller)]
            unsafe fn grant(turn: *const $turn) {
                // SAFETY: the turn is there until it is granted (I2).
                let inner = unsafe { &raw const (*turn).0 };
                // SAFETY: the caller's turn waits, and this is its only grant (I2).
                unsafe { ParkTurn::grant(inner) };
            }
        }
    };
}

parks!(Park, Duration::ZERO);
parks!(SpinThenPark, SPIN);
