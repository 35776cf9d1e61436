//! A lock, what it guards, and how scenarios of it are explored.

use uncontended_atomic::{Arc, UnsafeCell};
use uncontended_locks::RawLock;
use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH};

pub(crate) fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(300)
}

/// A number that no two threads may reach at once: the checker reports a race otherwise.
pub(crate) struct Guarded<L> {
    pub(crate) lock: L,
    number: UnsafeCell<u32>,
}

// SAFETY: the lock guards the number. That it does is what is explored.
unsafe impl<L: Sync> Sync for Guarded<L> {}

impl<L: RawLock> Guarded<L> {
    pub(crate) fn new() -> Arc<Guarded<L>> {
        Arc::new(Guarded { lock: L::default(), number: UnsafeCell::new(0) })
    }

    pub(crate) fn add(&self) -> u32 {
        // SAFETY: the lock lets one thread in at a time: that it does is what is explored.
        self.number.with_mut(|number| unsafe {
            *number += 1;
            *number
        })
    }

    pub(crate) fn add_locked(&self) -> u32 {
        self.lock.lock();
        let number = self.add();
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { self.lock.unlock() };
        number
    }
}

pub(crate) fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

pub(crate) fn begins(name: &str, scenario: fn()) {
    explored::begins(name, (10_000, None), &BOTH, explorer, || scenario);
}

/// Of scenarios that have more executions than can be explored.
pub(crate) fn begins_only(name: &str, scenario: fn()) {
    explored::begins(name, (10_000, Some(50_000)), &BOTH, explorer, || scenario);
}
