//! Threads that sleep until a condition holds, and pay for those who make it hold.
//!
//! # Contract
//! A *publisher* makes a condition hold by a release store of its own, wherever that is, then calls [`Sleepers::wake`]. A
//! *waiter* gives a closure that looks (with acquire loads) whether the condition holds. No wake-up is lost: a waiter whose
//! condition was made to hold before a `wake` returns. Any number of either, conditions of any kind.
//!
//! While nobody sleeps, `wake` is a load and a branch; there is no atomic read-modify-write and no fence in it. The waiter
//! pays: before it sleeps, it runs a heavy fence (a membarrier), in whose eyes every publisher is either before its
//! store or past its load. Where barriers are refused, waiters sleep for bounded times instead (`patience`), so that a
//! wake-up missed is a delay of at most 16 ms, never a hang.
//!
//! # State
//! ```text
//! word:  31 bits: how often sleepers were woken | 1 bit ASLEEP: somebody may sleep
//! mode:  bit 0 SHARED: between processes | bit 1 TIMED: some process is not reached by heavy fences
//! ```
//! The futex is the word. It wraps after 2^31 wake-ups; a waiter that is preempted between setting the flag and sleeping
//! for exactly that many can miss them all.
//!
//! # Edges
//! woken: `wake` that finds the flag -> `sleep_until` that comes back. What the publisher wrote before.
//! And one of fences, `bare::light` in `wake` against `bare::heavy` in `sleep_until`, which is the argument itself:
//! - The light fence first: what the publisher stored before it is seen by the look after the heavy fence (I3).
//! - The heavy fence first: the flag set before it is seen by the publisher's load after the light one, unless it was
//!   cleared since; then the word has changed (I2), and the kernel does not let the waiter sleep on it.
//!
//! # Invariants
//! I1: the flag is set only by a compare-and-swap that keeps the count, and cleared only with the count advanced.
//! I2: so the word never holds the same flagged value again after a clear, and every clear is followed by a wake-up of all.
//! I3: a waiter sleeps on a word only after: the flag seen set in it, a heavy fence, a look, in that order. Without the
//!     fence it sleeps with a time limit.
//! I4: `wake_one` leaves the flag while it finds somebody asleep, advances the count, and clears the flag by I2 otherwise.
//! I5: a waiter that unwinds out of its look wakes all others: it may have been the one that a `wake_one` chose.
//!
//! # Evidence
//! tests/model.rs: explored under C11 and TSO with mutants; tests/sleepers.rs.
//! # Sources
//! Seastar issue 856 (a barrier prepaid by who sleeps); Concurrency Kit's `ck_ec`; futex(2), membarrier(2).

use crate::deadline::{Deadline, TimedOut};
use crate::patience::{Naps, spin};
use std::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Scope, Wait, futex_wait, futex_wake, mutant, unless_mutant};
use uncontended_fence::{Refused, bare};

const ASLEEP: u32 = 1;
const ONE_WAKE: u32 = 2;
const SHARED: u32 = 1;
const TIMED: u32 = 2;

/// Threads that sleep until a condition holds.
///
/// ```
/// use uncontended_wait::Sleepers;
/// use std::sync::atomic::{AtomicU64, Ordering::{Acquire, Release}};
/// let (sleepers, cursor) = (Sleepers::new(), AtomicU64::new(0));
/// std::thread::scope(|threads| {
///     let reader = threads.spawn(|| {
///         sleepers.sleep_until(|| Some(cursor.load(Acquire)).filter(|&cursor| cursor > 0))
///     });
///     cursor.store(3, Release);
///     sleepers.wake();
///     assert_eq!(reader.join().unwrap(), 3);
/// });
/// ```
#[derive(Default)]
#[repr(C)]
pub struct Sleepers {
    word: AtomicU32,
    mode: AtomicU32,
}

#[cfg(not(unc_model))]
const _: () = assert!(size_of::<Sleepers>() == 8 && align_of::<Sleepers>() == 4);

impl Sleepers {
    /// For threads of one process. Zeroed memory is the same.
    #[cfg(not(unc_model))]
    pub const fn new() -> Sleepers {
        Sleepers { word: AtomicU32::new(0), mode: AtomicU32::new(0) }
    }

    /// For threads of one process.
    #[cfg(unc_model)]
    pub fn new() -> Sleepers {
        Sleepers { word: AtomicU32::new(0), mode: AtomicU32::new(0) }
    }

    /// For threads of several processes that map its memory. Each process calls [`attach`](Sleepers::attach) before
    /// anything else, the one that made it too.
    pub fn shared() -> Sleepers {
        Sleepers { word: AtomicU32::new(0), mode: AtomicU32::new(SHARED) }
    }

    /// Makes this process's publishers ones that the waiters' heavy fences reach. Where that is refused, every waiter sleeps
    /// for bounded times from now on, in all processes. Within one process it is not needed and does nothing.
    ///
    /// # Errors
    /// Why it was refused; the sleepers can be used all the same.
    pub fn attach(&self) -> Result<(), Refused> {
        if self.scope() == Scope::Private {
            return Ok(());
        }
        let registered = bare::register(Scope::Shared);
        if registered.is_err() {
            self.mode.fetch_or(TIMED, Relaxed);
        }
        // SeqCst: keeps what is written above (registration included) before the look for a flag below; a waiter's heavy
        // fence keeps its flag before its look at the mode. So either it knows of us, or we wake it to find out.
        uncontended_atomic::fence(uncontended_atomic::Ordering::SeqCst);
        self.wake_all();
        registered
    }

    /// Who may sleep here.
    pub fn scope(&self) -> Scope {
        if self.mode.load(Relaxed) & SHARED == 0 { Scope::Private } else { Scope::Shared }
    }

    /// Wakes everybody who sleeps, if anybody does: the condition that the caller's last release store made hold may be
    /// theirs.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn wake(&self) {
        if self.is_flagged_after_publishing() {
            self.wake_all();
        }
    }

    /// Wakes one of those who sleep, the one who has slept longest: for conditions that any of them can make use of, and
    /// that no two can. A waiter that is looking just now may be faster.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn wake_one(&self) {
        if self.is_flagged_after_publishing() {
            self.wake_oldest();
        }
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn is_flagged_after_publishing(&self) -> bool {
        if !mutant("sleepers: no light fence") {
            bare::light();
        }
        self.word.load(Relaxed) & ASLEEP != 0
    }

    /// Whether somebody may be asleep.
    pub fn has_waiters(&self) -> bool {
        self.word.load(Relaxed) & ASLEEP != 0
    }

    /// How often somebody was woken, modulo 2^31.
    pub fn wakes(&self) -> u32 {
        self.word.load(Relaxed) / ONE_WAKE
    }

    /// Waits until `ready` gives a value, and returns it. It is called at least once and more often than somebody wakes,
    /// must not wait by itself, and must not give up after losing a race: it says "nothing there" only if nothing is.
    #[cfg_attr(unc_model, track_caller)]
    pub fn sleep_until<R>(&self, mut ready: impl FnMut() -> Option<R>) -> R {
        loop {
            if let Ok(value) = self.sleep_until_deadline(&mut ready, Deadline::NEVER) {
                return value;
            }
        }
    }

    /// The same, but not longer than to `deadline`, never a moment less; if that has passed, `ready` is asked once.
    ///
    /// # Errors
    /// The deadline has passed, and `ready` had still nothing to give.
    #[cfg_attr(unc_model, track_caller)]
    pub fn sleep_until_deadline<R>(
        &self,
        mut ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut> {
        let on_unwind = WakeOthers(self);
        let result = match ready() {
            Some(value) => Ok(value),
            None => self.sleep(&mut ready, deadline),
        };
        std::mem::forget(on_unwind);
        result
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn sleep<R>(
        &self,
        ready: &mut impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut> {
        let mut naps = Naps::default();
        if !deadline.has_passed()
            && let Some(value) = spin(&mut *ready)
        {
            return Ok(value);
        }
        while !deadline.has_passed() {
            let Some(word) = self.flag() else {
                // Somebody woke meanwhile, or set the flag first: look again.
                if let Some(value) = ready() {
                    return Ok(value);
                }
                continue;
            };
            let is_ordered = self.order_before_publishers();
            if !mutant("sleepers: no look after the fence")
                && let Some(value) = ready()
            {
                return Ok(value);
            }
            // I3: the flag, the fence, the look; now the kernel compares and queues in one step.
            let until = if is_ordered { deadline } else { naps.next(deadline) };
            let end = if is_ordered || cfg!(not(unc_model)) {
                futex_wait(&self.word, word, until.limit_ns(), self.scope())
            } else {
                // To the checker a bounded sleep is a poll: one that may end at any time is more executions than can be.
                uncontended_atomic::spin_loop();
                Wait::Woken
            };
            // EDGE woken (acquire): the publisher's store is seen by the look below.
            self.word.load(unless_mutant("sleepers: woken is relaxed", Acquire));
            if let Some(value) = ready() {
                return Ok(value);
            }
            if end == Wait::TimedOut && until == deadline {
                return Err(TimedOut);
            }
        }
        Err(TimedOut)
    }

    /// The word with the flag set; `None` if it changed under our hands.
    #[cfg_attr(unc_model, track_caller)]
    fn flag(&self) -> Option<u32> {
        let found = self.word.load(Relaxed);
        if found & ASLEEP != 0 {
            return Some(found);
        }
        if mutant("sleepers: heavy fence before the flag") {
            let _ = bare::heavy(self.scope());
        }
        self.word.compare_exchange(found, found | ASLEEP, Relaxed, Relaxed).ok()?;
        Some(found | ASLEEP)
    }

    /// The heavy fence between flag and look. False: some publisher may be neither before its store nor past its load.
    #[cfg_attr(unc_model, track_caller)]
    fn order_before_publishers(&self) -> bool {
        if mutant("sleepers: no heavy fence") || mutant("sleepers: heavy fence before the flag") {
            return true;
        }
        if mutant("timed") {
            return false;
        }
        bare::heavy(self.scope()).is_ok() && self.mode.load(Relaxed) & TIMED == 0
    }

    /// Clears the flag, then wakes all who slept under it (I2).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wake_all(&self) {
        let mut found = self.word.load(Relaxed);
        while found & ASLEEP != 0 {
            if mutant("sleepers: wake before the flag is cleared") {
                futex_wake(&self.word, u32::MAX, self.scope());
            }
            // EDGE woken (release): what was published. The carry out of the flag advances the count (I1).
            let order = unless_mutant("sleepers: woken is relaxed", Release);
            match self.word.compare_exchange(found, found.wrapping_add(ASLEEP), order, Relaxed) {
                Ok(_) if mutant("sleepers: wake before the flag is cleared") => return,
                Ok(_) => {
                    futex_wake(&self.word, u32::MAX, self.scope());
                    return;
                }
                Err(now) => found = now,
            }
        }
    }

    /// Advances the count, then wakes one; if none slept there, clears the flag as `wake_all` does (I4).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wake_oldest(&self) {
        let mut found = self.word.load(Relaxed);
        while found & ASLEEP != 0 {
            // EDGE woken (release): what was published.
            match self.word.compare_exchange(found, found.wrapping_add(ONE_WAKE), Release, Relaxed)
            {
                Ok(_) => {
                    if futex_wake(&self.word, 1, self.scope()) == 0 {
                        self.wake_all();
                    }
                    return;
                }
                Err(now) => found = now,
            }
        }
    }
}

impl fmt::Debug for Sleepers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleepers")
            .field("wakes", &self.wakes())
            .field("has_waiters", &self.has_waiters())
            .field("scope", &self.scope())
            .finish()
    }
}

/// Wakes everybody when a look panics (I5).
struct WakeOthers<'s>(&'s Sleepers);

impl Drop for WakeOthers<'_> {
    fn drop(&mut self) {
        self.0.wake_all();
    }
}
