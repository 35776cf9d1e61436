//! The table of `uncontended_sys::parking`. Relaxed loads: its mutexes order them.

use crate::{AtomicU32, AtomicU64, Ordering::Relaxed};
use uncontended_sys::futex::{Scope, Wait};
use uncontended_sys::parking;

pub trait Word {
    fn address(&self) -> usize;
    /// The word, of which the low half counts.
    fn value(&self) -> u64;
}

impl Word for AtomicU32 {
    fn address(&self) -> usize {
        self.as_ptr().addr()
    }

    fn value(&self) -> u64 {
        self.load(Relaxed).into()
    }
}

impl Word for AtomicU64 {
    fn address(&self) -> usize {
        self.as_ptr().addr()
    }

    fn value(&self) -> u64 {
        self.load(Relaxed)
    }
}

pub(crate) fn wait(
    word: &impl Word,
    expected: u32,
    deadline_ns: Option<u64>,
    scope: Scope,
) -> Wait {
    crate::pause::step();
    let holds = || word.value() as u32 == expected;
    parking::wait(word.address(), holds, deadline_ns, scope)
}

pub(crate) fn wake(word: &impl Word, count: u32, _: Scope) -> usize {
    crate::pause::step();
    parking::wake(word.address(), count)
}
