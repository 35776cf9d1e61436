//! A stand-in for `std::sync::RwLock`, never poisoned: a thread that panics ends its execution.
//!
//! # Contract
//! A writer's unlock happens before every later lock, and a reader's before every later lock of a writer. Readers are
//! not ordered among each other. Which thread enters next is what `std`'s lock on Linux allows: a writer that finds
//! readers inside keeps further readers out until the last one leaves; then any thread may enter, and the writer, if
//! readers come first, keeps further ones out again. So a thread that reads twice, with a writer in between, is a
//! deadlock; and a thread that saw a writer wait (its `try_read` failed) may still write before that writer. A
//! `try_read` fails only if a thread writes, or waits to while others read; a `try_write` only if a thread is inside.
//! Outside an exploration it is `std`'s own.
//!
//! All orders of the steps are explored, those of readers among themselves included: three threads that read once have
//! 90 executions, or 15 up to their order ([`spawn_symmetric`](super::spawn_symmetric)).
//!
//! # State
//! W1: one word holds the number of readers, or [`WRITER`]. [`WAITS`] is added while a writer waits for readers, and
//!     removed by the last of them. Every lock and unlock changes it in one step; a try that fails only reads it.
//!
//! # Edges
//! written: a writer's unlock -> later readers and writers. Carries what it wrote.
//! read: a reader's unlock -> later writers. Carries its uses of the value.

use super::atomics::Word;
use super::named::Named;
use super::op::{Effect, Op, Order};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Site;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// In the word: a thread writes.
pub(crate) const WRITER: u64 = 1 << 16;
/// In the word: a writer waits for readers.
pub(crate) const WAITS: u64 = 1 << 17;

/// What a thread does to the lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    Read,
    TryRead,
    EndRead,
    /// Locks it; or, if threads read, says that a writer waits.
    Write,
    TryWrite,
    EndWrite,
}

impl Step {
    /// The effect on finding `word` (W1).
    pub(crate) fn effect(self, word: u64) -> Effect {
        let is_free = is_free(word);
        let write = |value, order| Effect::Write { value, order };
        match self {
            // EDGE written (acquire): what the last writer wrote.
            Step::Read | Step::TryRead if word & (WRITER | WAITS) == 0 => {
                write(word + 1, Order::ACQUIRE)
            }
            // EDGE written (acquire): what the last writer wrote.
            // EDGE read (acquire): the uses of all readers.
            Step::Write | Step::TryWrite if is_free => write(WRITER, Order::ACQUIRE),
            Step::Write if word & (WRITER | WAITS) == 0 => write(word | WAITS, Order::RELAXED),
            Step::Read | Step::Write => Effect::Blocked,
            Step::TryRead | Step::TryWrite => Effect::Read(Order::RELAXED),
            // EDGE read (release): this guard's uses.
            Step::EndRead if word & !WAITS == 1 => write(0, Order::RELEASE),
            Step::EndRead => write(word.wrapping_sub(1), Order::RELEASE),
            // EDGE written (release): what this guard wrote.
            Step::EndWrite => write(0, Order::RELEASE),
        }
    }

    /// Whether it acquires what readers have released: only a writer's lock does.
    pub(crate) fn takes_all(self, word: u64) -> bool {
        matches!(self, Step::Write | Step::TryWrite) && is_free(word)
    }
}

/// Whether no thread is inside (W1). A writer that waits does not keep other writers out.
fn is_free(word: u64) -> bool {
    word & !WAITS == 0
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Read => "read-locks",
            Step::TryRead => "tries to read-lock",
            Step::EndRead => "read-unlocks",
            Step::Write => "write-locks",
            Step::TryWrite => "tries to write-lock",
            Step::EndWrite => "write-unlocks",
        })
    }
}

/// Stands in for `std::sync::RwLock`.
pub struct RwLock<T: ?Sized> {
    /// The threads inside, and whether a writer waits (W1).
    word: Word,
    /// Locked as the word says.
    data: std::sync::RwLock<T>,
}

impl<T> RwLock<T> {
    /// A new lock.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T> {
        RwLock { word: Word::new(0), data: std::sync::RwLock::new(value) }
    }

    /// See `std`: no other thread uses it.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        self.word.own(Site::caller());
        Ok(self.data.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread writes, nor waits to while others read.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let site = Site::caller();
        self.perform(Step::Read, site);
        let data = self.data.read().unwrap_or_else(PoisonError::into_inner);
        Ok(RwLockReadGuard { lock: self, data: Some(data), site })
    }

    /// Locks it for reading if no thread writes, or waits to while others read.
    ///
    /// # Errors
    /// `WouldBlock` if one does.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let site = Site::caller();
        let found = self.perform(Step::TryRead, site);
        if found.is_some_and(|word| matches!(Step::TryRead.effect(word), Effect::Read(_))) {
            return Err(TryLockError::WouldBlock);
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
        // The first step may only say that a writer waits.
        while self.perform(Step::Write, site).is_some_and(|word| !is_free(word)) {}
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
        if self.perform(Step::TryWrite, site).is_some_and(|word| !is_free(word)) {
            return Err(TryLockError::WouldBlock);
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
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.word.own(Site::caller());
        Ok(self.data.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a step and returns the word that it found; `None` outside an exploration.
    #[track_caller]
    fn perform(&self, step: Step, site: &'static Site<'static>) -> Option<u64> {
        self.word.location()?;
        Some(self.word.perform(Op::RwLock(step), false, site))
    }
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
        self.word.name(name);
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
        self.lock.perform(Step::EndRead, self.site);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        self.lock.perform(Step::EndWrite, self.site);
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
