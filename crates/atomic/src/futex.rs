//! Sleeping on a word, in the kernel, in the checker, or in the table of a program that is built to run without Linux's
//! futexes (`unc_portable`).

use crate::{AtomicU32, AtomicU64};
pub use uncontended_sys::futex::{Scope, Wait};

/// A word to sleep on: 32 bits, or the low half of 64.
#[cfg(not(unc_model))]
pub trait FutexWord: sealed::Word {}

/// A word to sleep on: 32 bits, or the low half of 64.
#[cfg(unc_model)]
pub trait FutexWord: Modelled {}

impl FutexWord for AtomicU32 {}
impl FutexWord for AtomicU64 {}

#[cfg(not(unc_model))]
#[expect(unnameable_types, reason = "sealed")]
mod sealed {
    use super::{AtomicU32, AtomicU64};

    pub trait Word {
        #[cfg(not(any(not(target_os = "linux"), unc_portable)))]
        fn low(&self) -> &AtomicU32;
        /// Miri reports an access to half of an atomic as a race with accesses to the whole.
        #[cfg(not(any(not(target_os = "linux"), unc_portable)))]
        fn is_half(&self) -> bool;
        #[cfg(any(not(target_os = "linux"), unc_portable))]
        fn address(&self) -> usize;
        /// The word, of which the low half counts.
        #[cfg(any(not(target_os = "linux"), unc_portable))]
        fn value(&self) -> u64;
    }

    impl Word for AtomicU32 {
        #[cfg(not(any(not(target_os = "linux"), unc_portable)))]
        fn low(&self) -> &AtomicU32 {
            self
        }

        #[cfg(not(any(not(target_os = "linux"), unc_portable)))]
        fn is_half(&self) -> bool {
            false
        }

        #[cfg(any(not(target_os = "linux"), unc_portable))]
        fn address(&self) -> usize {
            self.as_ptr().addr()
        }

        #[cfg(any(not(target_os = "linux"), unc_portable))]
        fn value(&self) -> u64 {
            // Relaxed: the mutex of the table orders it.
            self.load(crate::Ordering::Relaxed).into()
        }
    }

    impl Word for AtomicU64 {
        #[cfg(not(any(not(target_os = "linux"), unc_portable)))]
        fn low(&self) -> &AtomicU32 {
            let low = self.as_ptr().cast::<u32>();
            let low = if cfg!(target_endian = "big") { low.wrapping_add(1) } else { low };
            // SAFETY: I1: half of an atomic that is borrowed as long, and more strictly aligned; only the kernel reads
            // through it, as it may read any memory.
            unsafe { AtomicU32::from_ptr(low) }
        }

        #[cfg(not(any(not(target_os = "linux"), unc_portable)))]
        fn is_half(&self) -> bool {
            true
        }

        #[cfg(any(not(target_os = "linux"), unc_portable))]
        fn address(&self) -> usize {
            self.as_ptr().addr()
        }

        #[cfg(any(not(target_os = "linux"), unc_portable))]
        fn value(&self) -> u64 {
            // Relaxed: the mutex of the table orders it.
            self.load(crate::Ordering::Relaxed)
        }
    }
}

#[cfg(unc_model)]
use uncontended_model::real::FutexWord as Modelled;

/// Sleeps while `word` (its low half) holds `expected`, until a wakeup or until `CLOCK_MONOTONIC` reaches
/// `deadline_ns`.
///
/// Under the checker the clock stands still: a sleep with a deadline may end by itself at any time.
#[cfg_attr(unc_model, track_caller)]
pub fn futex_wait(
    word: &impl FutexWord,
    expected: u32,
    deadline_ns: Option<u64>,
    scope: Scope,
) -> Wait {
    #[cfg(all(not(unc_model), any(not(target_os = "linux"), unc_portable)))]
    {
        crate::pause::step();
        let holds = || word.value() as u32 == expected;
        uncontended_sys::parking::wait(word.address(), holds, deadline_ns, scope)
    }
    #[cfg(not(any(unc_model, not(target_os = "linux"), unc_portable)))]
    {
        crate::pause::step();
        if cfg!(miri) && word.is_half() {
            std::thread::yield_now();
            let is_over =
                deadline_ns.is_some_and(|at| at <= uncontended_sys::clock::monotonic_ns());
            return if is_over { Wait::TimedOut } else { Wait::Woken };
        }
        uncontended_sys::futex::wait(word.low().raw(), expected, deadline_ns, scope)
    }
    #[cfg(unc_model)]
    {
        use uncontended_model::real;
        let _ = scope;
        let ended = match deadline_ns {
            None => real::futex_wait(word, expected),
            Some(_) => real::futex_wait_timeout(word, expected),
        };
        match ended {
            real::Wait::Woken => Wait::Woken,
            real::Wait::Changed => Wait::Changed,
            real::Wait::TimedOut => Wait::TimedOut,
        }
    }
}

/// Wakes the `count` threads that have slept longest on `word` (its low half), and returns how many were woken.
#[cfg_attr(unc_model, track_caller)]
pub fn futex_wake(word: &impl FutexWord, count: u32, scope: Scope) -> usize {
    #[cfg(all(not(unc_model), any(not(target_os = "linux"), unc_portable)))]
    {
        crate::pause::step();
        let _ = scope;
        uncontended_sys::parking::wake(word.address(), count)
    }
    #[cfg(not(any(unc_model, not(target_os = "linux"), unc_portable)))]
    {
        crate::pause::step();
        if cfg!(miri) && word.is_half() {
            return 0;
        }
        uncontended_sys::futex::wake(word.low().raw(), count, scope)
    }
    #[cfg(unc_model)]
    {
        let _ = scope;
        uncontended_model::real::futex_wake(word, count)
    }
}
