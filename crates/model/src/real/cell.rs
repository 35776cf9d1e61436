//! A stand-in for `std::cell::UnsafeCell` that reports data races.
//!
//! # Contract
//! The memory is accessed inside a closure: [`UnsafeCell::with`] to read it, [`UnsafeCell::with_mut`] to write it. Two
//! accesses of which at least one writes must be ordered by happens-before in every execution, whether or not they
//! overlap in time. Creating the cell and taking the value out count as writes; dropping the cell does not.
//!
//! # Sources
//! Flanagan, Freund: FastTrack, PLDI 2009 (an access is a thread and a time; clocks decide).

use super::ending::{Access, Clash};
use super::named::Named;
use super::trace::place;
use super::verdict::Failure;
use super::{foreign, runtime};
use std::cell::RefCell;
use std::fmt;
use std::panic::Location as Site;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[derive(Default)]
struct History {
    write: Option<Access>,
    /// The last read of each thread since that write.
    reads: Vec<Access>,
}

/// Plain memory shared between threads, with race detection.
#[derive(Default)]
pub struct UnsafeCell<T: ?Sized> {
    /// Its name in traces, and where it was created.
    label: Option<&'static str>,
    made: Option<&'static Site<'static>>,
    /// The run that the history is about.
    epoch: AtomicU32,
    history: RefCell<History>,
    memory: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Creates the memory, which counts as a write.
    #[track_caller]
    pub fn new(value: T) -> UnsafeCell<T> {
        let memory = std::cell::UnsafeCell::new(value);
        let (label, made) = (None, Some(Site::caller()));
        let (epoch, history) = (AtomicU32::new(0), RefCell::default());
        let cell = UnsafeCell { label, made, epoch, history, memory };
        cell.access(true, Site::caller());
        cell
    }

    /// Takes the value out, which counts as a write.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.access(true, Site::caller());
        self.memory.into_inner()
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the memory. The pointer is valid only inside `f`.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.access(false, Site::caller());
        f(self.memory.get())
    }

    /// Writes the memory. The pointer is valid only inside `f`.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.access(true, Site::caller());
        f(self.memory.get())
    }

    /// The memory of a cell that is borrowed exclusively; counts as a write.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.access(true, Site::caller());
        self.memory.get_mut()
    }

    fn name(&self) -> String {
        let place =
            || self.made.map_or("a cell".into(), |made| format!("the cell of {}", place(made)));
        self.label.map_or_else(place, str::to_owned)
    }

    fn access(&self, writes: bool, site: &'static Site<'static>) {
        super::heap::touch((&raw const self.history).addr(), site);
        let against = runtime::with_core(|core, thread| {
            core.threads[thread].effects += u64::from(writes);
            let mut history = self.history.borrow_mut();
            if self.epoch.swap(core.epoch, Relaxed) != core.epoch {
                *history = History::default();
            }
            let what = if writes { "writes" } else { "reads" };
            let access = Access { thread, events: core.threads[thread].executed, site, what };
            let unknown = |other: &&Access| !other.is_known(core, thread);
            let mut against = history.write.iter().find(unknown).copied();
            if writes {
                against = against.or_else(|| history.reads.iter().find(unknown).copied());
                history.write = Some(access);
                history.reads.clear();
            } else {
                history.reads.retain(|read| read.thread != thread);
                history.reads.push(access);
            }
            let other = against?;
            core.clash = Some(Clash { of: self.name(), accesses: [other, access] });
            Some(Failure::Race { thread, site, other: other.site })
        });
        match against {
            Some(Some(race)) => runtime::fail(race),
            Some(None) => {}
            None => foreign::refuse(self.epoch.load(Relaxed), site),
        }
    }
}

impl<T> Named for UnsafeCell<T> {
    fn named(mut self, name: &'static str) -> UnsafeCell<T> {
        self.label = Some(name);
        self
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnsafeCell")
    }
}
