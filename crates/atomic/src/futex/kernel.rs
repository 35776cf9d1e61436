//! Linux's futexes.

use crate::{AtomicU32, AtomicU64};
use uncontended_sys::clock::monotonic_ns;
use uncontended_sys::futex::{self, Scope, Wait};

pub trait Word {
    fn low(&self) -> &AtomicU32;
    /// Miri reports an access to half of an atomic as a race with accesses to the whole.
    fn is_half(&self) -> bool;
}

impl Word for AtomicU32 {
    fn low(&self) -> &AtomicU32 {
        self
    }

    fn is_half(&self) -> bool {
        false
    }
}

impl Word for AtomicU64 {
    fn low(&self) -> &AtomicU32 {
        let low = self.as_ptr().cast::<u32>();
        let low = if cfg!(target_endian = "big") { low.wrapping_add(1) } else { low };
        // SAFETY: half of an atomic that is borrowed as long, and more strictly aligned; only the kernel reads
        // through it, as it may read any memory (I1 of the crate).
        unsafe { AtomicU32::from_ptr(low) }
    }

    fn is_half(&self) -> bool {
        true
    }
}

pub(crate) fn wait(
    word: &impl Word,
    expected: u32,
    deadline_ns: Option<u64>,
    scope: Scope,
) -> Wait {
    crate::pause::step();
    if cfg!(miri) && word.is_half() {
        std::thread::yield_now();
        let is_over = deadline_ns.is_some_and(|at| at <= monotonic_ns());
        return if is_over { Wait::TimedOut } else { Wait::Woken };
    }
    futex::wait(word.low().raw(), expected, deadline_ns, scope)
}

pub(crate) fn wake(word: &impl Word, count: u32, scope: Scope) -> usize {
    crate::pause::step();
    if cfg!(miri) && word.is_half() {
        return 0;
    }
    futex::wake(word.low().raw(), count, scope)
}
