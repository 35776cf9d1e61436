//! Bugs that the checker must find, seeded by name at run time: under `--cfg unc_model` only, elsewhere nothing is left.

use crate::Ordering;

#[cfg(unc_model)]
thread_local! {
    /// Explored threads share the thread-locals of the one that explores.
    static SEEDED: core::cell::Cell<&'static str> = const { core::cell::Cell::new("") };
}

/// Seeds the bug of that name in everything that this thread explores from now on; none by the empty name.
#[cfg(unc_model)]
pub fn seed_mutant(name: &'static str) {
    SEEDED.set(name);
}

/// Whether the bug of that name is seeded: never, but under the checker.
#[inline(always)]
pub fn mutant(name: &'static str) -> bool {
    #[cfg(unc_model)]
    return SEEDED.get() == name;
    #[cfg(not(unc_model))]
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
