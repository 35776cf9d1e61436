//! What the locks of the survey guard, and how it is reached: one trait over mutexes, combining and delegation.
//!
//! # Contract
//! [`every`] goes through std's mutex, the C library's, those of this library, and the two ways to do without a lock:
//! [`Combining`], and a thread that owns the value and is sent closures. What is done with the lock captures nothing,
//! so that it can be sent.

use std::thread::JoinHandle;
use uncontended_atomic::CachePadded;
use uncontended_locks::{Combining, Mutex, Order, RawLock, Visit, Waits, each};
use uncontended_ring::delegate::{Delegate, delegate};
use uncontended_sys::c_mutex::CMutex;

/// What the locks are compared with.
pub(crate) const BASELINE: &str = "std";
const C_LIBRARY: &str = "pthread";
/// What an owner's value is sent closures by.
pub(crate) const DELEGATE: &str = "delegate";
/// Closures that queue for an owner.
const QUEUED: usize = 1024;

/// The work of a thread, in cache lines that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// With the lock; all threads change the same.
    pub inside: usize,
    /// Between two acquisitions; each thread changes its own.
    pub outside: usize,
}

impl Default for Work {
    fn default() -> Work {
        Work { inside: 1, outside: 8 }
    }
}

/// What the lock guards.
#[derive(Debug, Default)]
pub struct Inside {
    lines: Vec<CachePadded<u64>>,
    /// How often it was changed: the number of acquisitions, if the lock is one.
    pub changes: u64,
}

impl Inside {
    pub(crate) fn new(work: Work) -> Inside {
        Inside { lines: vec![CachePadded::new(0); work.inside], changes: 0 }
    }

    pub(crate) fn change(&mut self) {
        self.changes += 1;
        self.lines.iter_mut().for_each(|line| **line += 1);
    }
}

/// A lock around [`Inside`].
pub trait Guarding: Sync {
    /// A free lock around `inside`.
    fn around(inside: Inside) -> Self;
    /// Runs `f` with the lock.
    fn with<R: Send + 'static>(&self, f: impl FnOnce(&mut Inside) -> R + Send + 'static) -> R;
}

impl<L: RawLock> Guarding for Mutex<Inside, L> {
    fn around(inside: Inside) -> Self {
        Mutex::with(L::default(), inside)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        f(&mut self.lock())
    }
}

impl Guarding for std::sync::Mutex<Inside> {
    fn around(inside: Inside) -> Self {
        std::sync::Mutex::new(inside)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        f(&mut self.lock().expect("no holder panics"))
    }
}

impl Guarding for CMutex<Inside> {
    fn around(inside: Inside) -> Self {
        CMutex::new(inside)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        CMutex::with(self, f)
    }
}

impl Guarding for Combining<Inside> {
    fn around(inside: Inside) -> Self {
        Combining::new(inside)
    }

    #[inline(always)]
    fn with<R: Send + 'static>(&self, f: impl FnOnce(&mut Inside) -> R + Send + 'static) -> R {
        self.run(f)
    }
}

/// A value that a thread of its own owns, which runs the closures of the others.
#[derive(Debug)]
pub(crate) struct Owned {
    sender: Option<Delegate<Inside>>,
    owner: Option<JoinHandle<Inside>>,
}

impl Guarding for Owned {
    fn around(inside: Inside) -> Self {
        let (sender, owner) = delegate(inside, QUEUED).expect("a small capacity");
        let owner = std::thread::spawn(move || owner.run());
        Owned { sender: Some(sender), owner: Some(owner) }
    }

    #[inline(always)]
    fn with<R: Send + 'static>(&self, f: impl FnOnce(&mut Inside) -> R + Send + 'static) -> R {
        let sender = self.sender.as_ref().expect("it goes when this is dropped");
        sender.ask(f).expect("the owner runs as long as there are senders")
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.sender.take();
        // What it panicked with was passed to the thread that asked.
        let _ = self.owner.take().map(JoinHandle::join);
    }
}

/// What to do with each lock that is measured.
pub(crate) trait Guards {
    fn add<G: Guarding + Send + 'static>(&mut self, name: &'static str, order: Order, waits: Waits);
}

/// Calls `guards` for std's mutex, and for every other lock, or those named.
pub(crate) fn every(only: &[&'static str], guards: &mut impl Guards) {
    struct Library<'g, G>(&'g mut G, &'g [&'static str]);
    impl<G: Guards> Library<'_, G> {
        fn add<L: Guarding + Send + 'static>(
            &mut self,
            name: &'static str,
            order: Order,
            waits: Waits,
        ) {
            if self.1.is_empty() || self.1.contains(&name) {
                self.0.add::<L>(name, order, waits);
            }
        }
    }
    impl<G: Guards> Visit for Library<'_, G> {
        fn visit<L: RawLock + 'static>(&mut self, name: &'static str, order: Order, waits: Waits) {
            self.add::<Mutex<Inside, L>>(name, order, waits);
        }
    }
    guards.add::<std::sync::Mutex<Inside>>(BASELINE, Order::Barging, Waits::Parks);
    let mut library = Library(guards, only);
    library.add::<CMutex<Inside>>(C_LIBRARY, Order::Barging, Waits::Parks);
    each(&mut library);
    library.add::<Combining<Inside>>("Combining", Order::Barging, Waits::Parks);
    library.add::<Owned>(DELEGATE, Order::Barging, Waits::Parks);
}
