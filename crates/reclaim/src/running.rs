//! Whose destructors the calling thread runs: one that retires more does not start to reclaim in the same domain or
//! collector, or a long list would be freed by as many nested calls. In another one it does.
//!
//! # Invariants
//! I1: `INNERMOST` is null, or leads to frames of calls of [`run`] that have not returned, in this thread.

#[cfg(not(unc_model))]
pub(crate) use real::{is_under_way, run};

#[cfg(not(unc_model))]
mod real {
    use std::cell::Cell;
    use std::ptr::null;

    /// A call of `run`.
    struct Frame {
        whose: usize,
        has_more: Cell<bool>,
        outer: *const Frame,
    }

    thread_local! {
        static INNERMOST: Cell<*const Frame> = const { Cell::new(null()) };
    }

    impl Drop for Frame {
        fn drop(&mut self) {
            INNERMOST.set(self.outer);
        }
    }

    /// Runs destructors of the domain or collector at `whose`; also whether they have retired more into it.
    pub(crate) fn run<R>(whose: usize, destructors: impl FnOnce() -> R) -> (R, bool) {
        let frame = Frame { whose, has_more: Cell::new(false), outer: INNERMOST.get() };
        INNERMOST.set(&raw const frame);
        (destructors(), frame.has_more.get())
    }

    /// Whether the calling thread runs such destructors, one of which then retires something.
    pub(crate) fn is_under_way(whose: usize) -> bool {
        let mut next = INNERMOST.get();
        // SAFETY: null, or the frame of a call that has not returned (I1).
        while let Some(frame) = unsafe { next.as_ref() } {
            if frame.whose == whose {
                frame.has_more.set(true);
                return true;
            }
            next = frame.outer;
        }
        false
    }
}

/// The checker's threads share their thread-locals; no destructor that it explores retires more.
#[cfg(unc_model)]
pub(crate) fn run<R>(_: usize, destructors: impl FnOnce() -> R) -> (R, bool) {
    (destructors(), false)
}

#[cfg(unc_model)]
pub(crate) fn is_under_way(_: usize) -> bool {
    false
}
