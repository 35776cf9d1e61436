//! Whether the calling thread runs destructors: one that retires more does not start to reclaim inside them, or a long
//! list would be freed by as many nested calls.

#[cfg(not(unc_model))]
mod flag {
    use std::cell::Cell;

    thread_local! {
        static RUNS: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn get() -> bool {
        RUNS.get()
    }

    pub(super) fn set(runs: bool) {
        RUNS.set(runs);
    }
}

/// The checker's threads share their thread-locals; no destructor that it explores retires more.
#[cfg(unc_model)]
mod flag {
    pub(super) fn get() -> bool {
        false
    }

    pub(super) fn set(_: bool) {}
}

/// Destructors run in this thread while it exists.
pub(crate) struct Running {
    before: bool,
}

impl Running {
    pub(crate) fn begin() -> Running {
        let before = flag::get();
        flag::set(true);
        Running { before }
    }

    /// Whether one exists in this thread.
    pub(crate) fn is_under_way() -> bool {
        flag::get()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        flag::set(self.before);
    }
}
