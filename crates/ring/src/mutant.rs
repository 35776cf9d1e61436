//! Bugs seeded at run time, for the checker to find; nothing of them is compiled without `--cfg unc_model`.

use uncontended_atomic::Ordering;

#[cfg(unc_model)]
thread_local! {
    // All threads of an exploration run on the thread that explores.
    static SEEDED: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

/// Seeds the bug of this name in the code that this thread explores from now on; `""` is none.
#[cfg(unc_model)]
pub fn seed(name: &'static str) {
    SEEDED.set(name);
}

/// Whether the bug of this name is seeded.
#[cfg(unc_model)]
pub(crate) fn is(name: &str) -> bool {
    SEEDED.get() == name
}

#[cfg(not(unc_model))]
#[inline(always)]
pub(crate) const fn is(_: &str) -> bool {
    false
}

/// `order`, or Relaxed where the bug of this name is seeded.
#[inline(always)]
pub(crate) fn order(name: &str, order: Ordering) -> Ordering {
    if is(name) { Ordering::Relaxed } else { order }
}
