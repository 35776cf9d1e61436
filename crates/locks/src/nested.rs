//! Closures of [`Combining`](crate::Combining) that would wait for themselves, for debug builds.
//!
//! # State
//! `RUNNING`: the addresses of the lists whose closures this thread runs, the innermost last.

use std::cell::RefCell;
use std::ptr;

thread_local! {
    static RUNNING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Panics if this thread runs closures of that list.
#[track_caller]
pub(crate) fn refuse<T>(requests: &T) {
    let at = ptr::from_ref(requests).addr();
    // While the thread ends, `RUNNING` may be gone.
    let is_nested = RUNNING.try_with(|running| running.borrow().contains(&at));
    assert!(
        is_nested != Ok(true),
        "a closure of Combining::run called run on the same value, and would wait for itself forever"
    );
}

/// That this thread runs closures of a list.
pub(crate) struct Running(());

impl Running {
    pub(crate) fn on<T>(requests: &T) -> Running {
        let at = ptr::from_ref(requests).addr();
        let _ = RUNNING.try_with(|running| running.borrow_mut().push(at));
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = RUNNING.try_with(|running| running.borrow_mut().pop());
    }
}
