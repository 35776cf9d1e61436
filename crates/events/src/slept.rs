//! Whether a thread slept during a wait, or got by without.
//!
//! # Contract
//! [`Before`] is taken when a wait begins, and asked at its end. What a thread slept for in between is not known: a
//! page of its memory may have been on a disk.
//! # Evidence
//! `tests/slept.rs`; `tests/programs`: `slept.c`.

use crate::counter::bump;
use crate::site::Site;
use uncontended_trace::layout::Cold;

/// How often a thread had slept before a wait.
#[derive(Debug, Clone, Copy)]
pub struct Before(Option<u64>);

impl Before {
    /// The calling thread's, which must be marked as recording.
    #[inline]
    pub fn now(at: impl Site) -> Before {
        Before(at.sleeps())
    }

    /// Whether the calling thread has slept since; none if that is unknown. It must be marked as recording.
    #[inline]
    pub fn slept(self, at: impl Site) -> Option<bool> {
        let before = self.0?;
        Some(at.sleeps()? > before)
    }
}

/// Counts a wait.
pub(crate) fn note(cold: &Cold, slept: Option<bool>) {
    let Some(slept) = slept else { return };
    bump(&cold.slept_known);
    if slept {
        bump(&cold.slept);
    }
}
