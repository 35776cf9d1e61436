//! Which thread a reader is: its name and number, and whether it still exists.
//!
//! # State
//! `FORKS`: 0 until forks are watched, which begins before the first latch or place is taken. From then on it is
//! another number in each process that was forked. An identity has the number at which its thread was last seen to
//! exist: a fork's child counts on, and brings the identity of the forking thread, which is its only one, up to date.
//! All others have vanished.
//!
//! # Invariants
//! I1: `ADDRESS` is null, or the identity of its own thread, which `MINE` keeps.
//!
//! # Evidence
//! tests/fork.rs, tests/stalled.rs.

use std::fmt;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicBool, AtomicU32};

/// A thread that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Its name, if it had one at its first read.
    pub name: Option<String>,
    /// The kernel's number of it; 0 where the kernel is not Linux.
    pub tid: u32,
    /// Whether it still exists.
    pub life: Life,
}

/// Whether a thread still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Exists,
    /// It has ended, and leaked what it read with.
    Ended,
    /// It is a thread of the process that this one was forked from.
    Vanished,
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "thread '{name}' (tid {})", self.tid)?,
            None => write!(f, "thread {}", self.tid)?,
        }
        match self.life {
            Life::Exists => Ok(()),
            Life::Ended => f.write_str(", which has ended"),
            Life::Vanished => f.write_str(", of the process before its fork"),
        }
    }
}

/// A thread, as its slots and records refer to it.
#[derive(Debug)]
pub(crate) struct Identity {
    name: Option<String>,
    tid: AtomicU32,
    forks: AtomicU32,
    has_ended: AtomicBool,
}

impl Identity {
    fn new() -> Identity {
        let (name, tid) = here();
        Identity {
            name,
            tid: AtomicU32::new(tid),
            forks: AtomicU32::new(forks()),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Whether it is a thread of the process that this one was forked from.
    pub(crate) fn has_vanished(&self) -> bool {
        self.forks.load(Relaxed) != forks()
    }

    pub(crate) fn reader(&self) -> Reader {
        let life = match self.has_ended.load(Relaxed) {
            _ if self.has_vanished() => Life::Vanished,
            true => Life::Ended,
            false => Life::Exists,
        };
        Reader { name: self.name.clone(), tid: self.tid.load(Relaxed), life }
    }
}

#[cfg(not(unc_model))]
use real::here;
#[cfg(not(unc_model))]
pub(crate) use real::{current, forks};

#[cfg(not(unc_model))]
mod real {
    use super::Identity;
    use std::cell::Cell;
    use std::ptr::null;
    use std::sync::Arc;
    use uncontended_atomic::{AtomicU32, Ordering::Relaxed};

    static FORKS: AtomicU32 = AtomicU32::new(0);

    /// The number of this process; not 0.
    #[inline]
    pub(crate) fn forks() -> u32 {
        match FORKS.load(Relaxed) {
            0 => watch(),
            forks => forks,
        }
    }

    /// Two threads that do this at once install two handlers: a child then counts two, which is as good. A lock here
    /// might be one that a child waits for.
    #[cold]
    fn watch() -> u32 {
        uncontended_sys::fork::in_child(in_child);
        FORKS.compare_exchange(0, 1, Relaxed, Relaxed).map_or_else(|forks| forks, |_| 1)
    }

    pub(super) fn here() -> (Option<String>, u32) {
        (std::thread::current().name().map(str::to_owned), uncontended_sys::fork::thread_id())
    }

    /// The calling thread's own.
    struct Mine(Arc<Identity>);

    impl Drop for Mine {
        fn drop(&mut self) {
            self.0.has_ended.store(true, Relaxed);
            ADDRESS.set(null());
        }
    }

    thread_local! {
        static MINE: Mine = mine();
        /// Where the identity is, for the handler of forks, which must not make one.
        static ADDRESS: Cell<*const Identity> = const { Cell::new(null()) };
    }

    fn mine() -> Mine {
        let identity = Arc::new(Identity::new());
        ADDRESS.set(Arc::as_ptr(&identity));
        Mine(identity)
    }

    /// Runs in the child of a fork, in its only thread.
    extern "C" fn in_child() {
        let before = FORKS.load(Relaxed);
        FORKS.store(before.wrapping_add(1).max(1), Relaxed);
        // SAFETY: null, or inside `MINE`, whose destructor makes it null (I1).
        if let Some(mine) = unsafe { ADDRESS.get().as_ref() } {
            mine.forks.store(forks(), Relaxed);
            mine.tid.store(uncontended_sys::fork::thread_id(), Relaxed);
        }
    }

    pub(crate) fn current() -> Arc<Identity> {
        // A thread whose thread-locals are gone has one identity for each call.
        MINE.try_with(|mine| Arc::clone(&mine.0)).unwrap_or_else(|_| Arc::new(Identity::new()))
    }
}

#[cfg(unc_model)]
mod modelled {
    pub(crate) fn forks() -> u32 {
        1
    }

    pub(super) fn here() -> (Option<String>, u32) {
        (None, uncontended_atomic::thread_number())
    }

    pub(crate) fn current() -> std::sync::Arc<super::Identity> {
        std::sync::Arc::new(super::Identity::new())
    }
}
#[cfg(unc_model)]
use modelled::here;
#[cfg(unc_model)]
pub(crate) use modelled::{current, forks};
