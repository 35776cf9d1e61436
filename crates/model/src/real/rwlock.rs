//! A stand-in for `std::sync::RwLock`, never poisoned: a thread that panics ends its execution.
//!
//! # Contract
//! A writer's unlock happens before every later lock, and a reader's before every later lock of a writer. Readers are
//! not ordered among each other. A writer that waits keeps further readers out, as `std` allows: a thread that reads
//! twice, with a writer in between, is a deadlock. (A policy that lets them in shows nothing more: the writer may
//! always come later.) A `try_write` that fails may make a `try_read` at the same time fail. Outside an exploration it
//! is `std`'s own. A writer takes 51 events to lock and to unlock, because it passes the word of every thread there
//! could be.
//!
//! # State
//! W1: each thread has a word of its own, which counts its reads and has `WRITER` added while a writer waits or writes.
//!     Readers change only their own thread's word, so nothing orders them among each other.
//! W2: writers hold `gate`. A writer first announces itself in every word, then waits until none counts a read.
//!
//! # Edges
//! written: a writer's unlock -> later readers and writers. Carries what it wrote.
//! read: a reader's unlock -> later writers. Carries its uses of the value.

use super::atomics::Word;
use super::clock::MAX_THREADS;
use super::core::Request;
use super::named::Named;
use super::op::{Function, Op, Order};
use super::{heap, runtime};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Site;
use std::sync::{LockResult, Mutex, PoisonError, TryLockError, TryLockResult};

/// In a thread's word: a writer waits or writes.
pub(crate) const WRITER: u64 = 1 << 16;

/// Stands in for `std::sync::RwLock`.
pub struct RwLock<T: ?Sized> {
    /// 1 while a writer waits or writes.
    gate: Word,
    /// The run, and the reads that each of its threads holds.
    reads: Mutex<(u32, [u64; MAX_THREADS])>,
    /// Locked as the words say.
    data: std::sync::RwLock<T>,
}

impl<T> RwLock<T> {
    /// A new lock.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T> {
        let reads = Mutex::new((0, [0; MAX_THREADS]));
        RwLock { gate: Word::new(0), reads, data: std::sync::RwLock::new(value) }
    }

    /// See `std`: no other thread uses it.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.data.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread writes, nor waits to.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let site = Site::caller();
        if let Some(location) = self.enter(site) {
            let (word, reads) = self.own(location, site);
            // EDGE written (acquire): what the last writer wrote.
            let order = Order::ACQUIRE;
            ask(Op::AwaitCas { expected: reads, new: reads + 1, order, timed: false }, word, site);
            self.count(1);
        }
        let data = self.data.read().unwrap_or_else(PoisonError::into_inner);
        Ok(RwLockReadGuard { lock: self, data: Some(data), site })
    }

    /// Locks it for reading if no thread writes, or waits to.
    ///
    /// # Errors
    /// `WouldBlock` if one does.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let site = Site::caller();
        if let Some(location) = self.enter(site) {
            let (word, reads) = self.own(location, site);
            // EDGE written (acquire): what the last writer wrote.
            if !exchange((reads, reads + 1), word, site) {
                return Err(TryLockError::WouldBlock);
            }
            self.count(1);
        }
        let data = match self.data.try_read() {
            Ok(data) => data,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
        };
        Ok(RwLockReadGuard { lock: self, data: Some(data), site })
    }

    /// Waits until no other thread reads or writes.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let site = Site::caller();
        if let Some(location) = self.enter(site) {
            // EDGE written (acquire): what the last writer wrote.
            let order = Order::ACQUIRE;
            ask(Op::AwaitCas { expected: 0, new: 1, order, timed: false }, location, site);
            let function = Function::Or;
            let announce = Op::Rmw { function, operand: WRITER, bits: 64, order };
            let reads = words(location).map(|word| (word, ask(announce, word, site)));
            let read: Vec<_> = reads.filter(|&(_, reads)| reads > 0).collect();
            for (word, _) in read {
                // EDGE read (acquire): the uses of that thread.
                let ended = Op::AwaitCas { expected: WRITER, new: WRITER, order, timed: false };
                ask(ended, word, site);
            }
        }
        let data = self.data.write().unwrap_or_else(PoisonError::into_inner);
        Ok(RwLockWriteGuard { lock: self, data: Some(data), site })
    }

    /// Locks it for writing if no thread reads or writes.
    ///
    /// # Errors
    /// `WouldBlock` if one does.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let site = Site::caller();
        if let Some(location) = self.enter(site) {
            // EDGE written (acquire): what the last writer wrote.
            if !exchange((0, 1), location, site) {
                return Err(TryLockError::WouldBlock);
            }
            // EDGE read (acquire): the uses of each thread.
            let is_read = |&word: &u32| !exchange((0, WRITER), word, site);
            if let Some(read) = words(location).find(is_read) {
                let announced = words(location).take_while(|&word| word != read);
                let free = Op::Store { value: 0, order: Order::RELAXED };
                announced.chain([location]).for_each(|word| _ = ask(free, word, site));
                return Err(TryLockError::WouldBlock);
            }
        }
        let data = match self.data.try_write() {
            Ok(data) => data,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
        };
        Ok(RwLockWriteGuard { lock: self, data: Some(data), site })
    }

    /// See `std`: no other thread uses it.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.data.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The location of `gate`, inside an exploration.
    fn enter(&self, site: &'static Site<'static>) -> Option<u32> {
        let location = self.gate.location()?;
        heap::touch((&raw const self.gate).addr(), site);
        Some(location)
    }

    /// The running thread's word, and the reads that it holds.
    fn own(&self, location: u32, site: &'static Site<'static>) -> (u32, u64) {
        runtime::refuse_in_symmetric("reads a `RwLock`", site);
        let thread = runtime::with_core(|_, thread| thread).expect("inside an exploration");
        (word_of(location, thread), self.count(0))
    }

    /// Adds to the reads that the running thread holds; returns their number before.
    fn count(&self, added: i64) -> u64 {
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        let (epoch, thread) =
            runtime::with_core(|core, thread| (core.epoch, thread)).expect("inside an exploration");
        if reads.0 != epoch {
            *reads = (epoch, [0; MAX_THREADS]);
        }
        let own = &mut reads.1[thread];
        let before = *own;
        *own = before.saturating_add_signed(added);
        before
    }
}

/// The word of a thread (W1).
fn word_of(location: u32, thread: usize) -> u32 {
    runtime::with_core(|core, _| core.reads_of(location, thread)).expect("inside an exploration")
}

/// The words of all threads that there could be.
fn words(location: u32) -> impl Iterator<Item = u32> {
    (0..MAX_THREADS).map(move |thread| word_of(location, thread))
}

fn exchange((old, new): (u64, u64), word: u32, site: &'static Site<'static>) -> bool {
    let (success, failure) = (Order::ACQUIRE, Order::RELAXED);
    ask(Op::Cas { expected: old, new, success, failure }, word, site) == old
}

fn ask(op: Op, location: u32, site: &'static Site<'static>) -> u64 {
    runtime::request(Request { op, location, address: false, site }).expect("inside an exploration")
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T> Named for RwLock<T> {
    fn named(mut self, name: &'static str) -> RwLock<T> {
        self.gate.name(name);
        self
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RwLock")
    }
}

/// A guard that holds a [`RwLock`] for reading.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    data: Option<std::sync::RwLockReadGuard<'a, T>>,
    site: &'static Site<'static>,
}

/// A guard that holds a [`RwLock`] for writing.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    data: Option<std::sync::RwLockWriteGuard<'a, T>>,
    site: &'static Site<'static>,
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        if let Some(location) = self.lock.enter(self.site) {
            let (word, _) = self.lock.own(location, self.site);
            // EDGE read (release): this guard's uses.
            let (function, order) = (Function::Sub, Order::RELEASE);
            ask(Op::Rmw { function, operand: 1, bits: 64, order }, word, self.site);
            self.lock.count(-1);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        if let Some(location) = self.lock.enter(self.site) {
            // EDGE written (release): what this guard wrote.
            let free = Op::Store { value: 0, order: Order::RELEASE };
            words(location).chain([location]).for_each(|word| _ = ask(free, word, self.site));
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect("held until it is dropped")
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect("held until it is dropped")
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.data.as_mut().expect("held until it is dropped")
    }
}

impl<T: ?Sized> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RwLockReadGuard")
    }
}

impl<T: ?Sized> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RwLockWriteGuard")
    }
}
