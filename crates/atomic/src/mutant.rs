//! Bugs that the checker, or injected faults, must find: seeded by name at run time, under `--cfg unc_model` and
//! `--cfg unc_pause` only. Elsewhere nothing is left of them.

use crate::Ordering;

#[cfg(unc_model)]
thread_local! {
    /// Explored threads share the thread-locals of the one that explores.
    static SEEDED: core::cell::Cell<&'static str> = const { core::cell::Cell::new("") };
}

/// Real threads share it.
#[cfg(all(unc_pause, not(unc_model)))]
static SEEDED: std::sync::RwLock<&'static str> = std::sync::RwLock::new("");

/// Seeds the bug of that name from now on, under the checker in what this thread explores; none by the empty name.
#[cfg(any(unc_model, unc_pause))]
pub fn seed_mutant(name: &'static str) {
    #[cfg(unc_model)]
    SEEDED.set(name);
    #[cfg(not(unc_model))]
    {
        *SEEDED.write().unwrap_or_else(std::sync::PoisonError::into_inner) = name;
    }
}

/// Whether the bug of that name is seeded.
#[inline(always)]
pub fn mutant(name: &'static str) -> bool {
    #[cfg(unc_model)]
    return SEEDED.get() == name;
    #[cfg(all(unc_pause, not(unc_model)))]
    return *SEEDED.read().unwrap_or_else(std::sync::PoisonError::into_inner) == name;
    #[cfg(not(any(unc_model, unc_pause)))]
    {
        let _ = name;
        false
    }
}

/// The ordering of a correct access, or `Relaxed` where the bug of that name is seeded.
#[inline(always)]
pub fn unless_mutant(name: &'static str, order: Ordering) -> Ordering {
    if mutant(name) { Ordering::Relaxed } else { order }
}
