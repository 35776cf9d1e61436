//! Delegation: a value that one thread owns, and that others change by sending it closures.
//!
//! The value never moves from CPU to CPU, and needs no lock: what is sent through a ring is the work. [`tell`] returns
//! at once, [`ask`] waits for a result.
//!
//! [`tell`]: Delegate::tell
//! [`ask`]: Delegate::ask
//!
//! # Contract
//! Closures run one at a time in the owner's thread, those of one sender in its order. A closure that was sent is run,
//! or dropped unrun once the owner has gone; an `ask` returns then. The owner ends when all senders have gone.
//! # Invariants
//! I1: the owner first says that it has gone, then takes what is there; an asker first sends its closure, then looks
//!     whether the owner has gone. With a fence between the two steps of either, one sees the other: a closure that
//!     arrives too late to be taken is not waited for. (Whether it was run, the lock of the result tells.)
//!
//! # Evidence
//! The tests below; tests/model_delegate.rs, tests/mutants/delegate.toml. (The checker found the closure that arrives
//! late.)
//! # Sources
//! The single writer of document 004; remote core locking (Lozi, David, Thomas, Lawall and Muller, USENIX ATC 2012) and
//! ffwd (Roghanchi, Eriksson and Basu, SOSP 2017), which delegate critical sections to a server.

use crate::mpsc::{self, BlockingConsumer, BlockingProducer};
use crate::{CapacityError, Closed};
use alloc::boxed::Box;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::Result as Outcome;
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_atomic::{Arc, AtomicBool, Mutex, Named, fence};
use uncontended_wait::{Parker, Unparker};

type Work<T> = Box<dyn FnOnce(&mut T) + Send>;

/// Makes a sender, to be cloned, and the owner of `value`, for a thread of its own; at most `capacity` closures queue.
///
/// ```
/// use uncontended_ring::delegate::delegate;
/// let (total, owner) = delegate(0_u64, 64)?;
/// let owner = std::thread::spawn(move || owner.run());
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         let total = total.clone();
///         threads.spawn(move || (0..100).try_for_each(|_| total.tell(|total| *total += 1)));
///     }
/// });
/// assert_eq!(total.ask(|total| *total), Ok(400));
/// drop(total);
/// assert_eq!(owner.join().unwrap(), 400);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// As for [`mpsc::blocking`].
pub fn delegate<T>(value: T, capacity: usize) -> Result<(Delegate<T>, Owner<T>), CapacityError> {
    let (producer, consumer) = mpsc::blocking(capacity)?;
    let gone = Arc::new(AtomicBool::new(false).named("gone"));
    let works = Works { consumer, gone: Arc::clone(&gone) };
    Ok((Delegate { producer, gone }, Owner { value, works }))
}

/// Sends closures to the owner of a value.
pub struct Delegate<T> {
    producer: BlockingProducer<Work<T>>,
    gone: Arc<AtomicBool>,
}

impl<T> Delegate<T> {
    /// Sends a closure, and does not wait until it is run; only for room, if the ring is full.
    ///
    /// # Errors
    /// The owner has gone.
    pub fn tell(&self, closure: impl FnOnce(&mut T) + Send + 'static) -> Result<(), Closed<()>> {
        self.producer.push_wait(Box::new(closure)).map_err(|_| Closed(()))
    }

    /// Sends a closure, and waits for its result.
    ///
    /// # Errors
    /// The owner has gone before it ran the closure.
    ///
    /// # Panics
    /// If the closure does, here; the owner continues.
    pub fn ask<R: Send + 'static>(
        &self,
        closure: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Result<R, Closed<()>> {
        let mut parker = Parker::new();
        let result = Arc::new(Mutex::new(None));
        let answer = Answer { result: Arc::clone(&result), asker: parker.unparker() };
        let work = move |value: &mut T| answer.give(outcome(closure, value));
        self.tell(work)?;
        // SeqCst: orders the closure's arrival before the look (I1).
        fence(SeqCst);
        if !self.gone.load(Relaxed) {
            parker.park();
        }
        let given = result.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        match given {
            Some(Ok(result)) => Ok(result),
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(Closed(())),
        }
    }
}

/// Runs a closure. The checker ends executions by panics of its own, which are not caught.
fn outcome<T, R>(closure: impl FnOnce(&mut T) -> R, value: &mut T) -> Outcome<R> {
    if cfg!(unc_model) {
        return Ok(closure(value));
    }
    catch_unwind(AssertUnwindSafe(|| closure(value)))
}

impl<T> Clone for Delegate<T> {
    fn clone(&self) -> Delegate<T> {
        Delegate { producer: self.producer.clone(), gone: Arc::clone(&self.gone) }
    }
}

impl<T> fmt::Debug for Delegate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delegate")
    }
}

/// What an asker waits for. It is woken when this is dropped, with a result or without.
struct Answer<R> {
    result: Arc<Mutex<Option<Outcome<R>>>>,
    asker: Unparker,
}

impl<R> Answer<R> {
    fn give(self, result: Outcome<R>) {
        *self.result.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
    }
}

impl<R> Drop for Answer<R> {
    fn drop(&mut self) {
        self.asker.unpark();
    }
}

/// The value, and the closures that wait for it.
pub struct Owner<T> {
    value: T,
    works: Works<T>,
}

struct Works<T> {
    consumer: BlockingConsumer<Work<T>>,
    gone: Arc<AtomicBool>,
}

impl<T> Drop for Works<T> {
    fn drop(&mut self) {
        self.gone.store(true, Relaxed);
        // SeqCst: orders the word before the look for closures (I1).
        fence(SeqCst);
        while self.consumer.pop().is_ok() {}
    }
}

impl<T> Owner<T> {
    /// Runs closures until every sender has gone, and returns the value.
    ///
    /// # Panics
    /// If a closure that was told does.
    pub fn run(mut self) -> T {
        while let Some(work) = self.works.consumer.pop_wait() {
            work(&mut self.value);
        }
        self.value
    }

    /// Runs the closures that are there, at most `most`, without waiting; how many there were.
    ///
    /// # Panics
    /// If a closure that was told does.
    pub fn run_some(&mut self, most: usize) -> usize {
        let next = || self.works.consumer.pop().ok();
        let works = core::iter::from_fn(next).take(most);
        works.map(|work| work(&mut self.value)).count()
    }

    /// The value, between closures.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn closures_run_in_a_senders_order_and_none_is_lost() {
        let (list, owner) = delegate(Vec::new(), 2).unwrap();
        let owner = std::thread::spawn(move || owner.run());
        let senders = [0, 1].map(|sender| {
            let list = list.clone();
            std::thread::spawn(move || {
                let each = if cfg!(miri) { 10 } else { 500 };
                (0..each).try_for_each(|n| list.tell(move |list| list.push((sender, n)))).unwrap();
                list.ask(move |list| list.iter().filter(|(own, _)| *own == sender).count())
            })
        });
        let counts = senders.map(|sender| sender.join().unwrap().unwrap());
        drop(list);
        let list: Vec<(i32, i32)> = owner.join().unwrap();
        assert_eq!(counts.iter().sum::<usize>(), list.len());
        for sender in [0, 1] {
            let own: Vec<i32> =
                list.iter().filter(|(own, _)| *own == sender).map(|(_, n)| *n).collect();
            assert!(own.is_sorted() && own.len() == counts[0], "{own:?}");
        }
    }

    #[test]
    fn a_panic_is_the_askers_and_the_owner_continues() {
        let (value, owner) = delegate(1, 4).unwrap();
        let owner = std::thread::spawn(move || owner.run());
        let asks = AssertUnwindSafe(|| value.ask(|_| -> () { panic!("asked") }));
        let panic = catch_unwind(asks).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"asked"));
        assert_eq!(value.ask(|value| std::mem::replace(value, 2)), Ok(1));
        drop(value);
        assert_eq!(owner.join().unwrap(), 2);
    }

    #[test]
    fn an_asker_whose_owner_goes_is_told() {
        let (value, owner) = delegate(1, 4).unwrap();
        let other = value.clone();
        let asker = std::thread::spawn(move || other.ask(|value| *value));
        while value.producer.is_empty() {
            std::thread::yield_now();
        }
        drop(owner); // With the closure in its ring.
        assert_eq!(asker.join().unwrap(), Err(Closed(())));
        assert_eq!(value.tell(|_| {}), Err(Closed(())));
    }

    #[test]
    fn an_owner_with_other_work_runs_what_is_there() {
        let (value, mut owner) = delegate(0, 4).unwrap();
        (0..3).try_for_each(|_| value.tell(|value| *value += 1)).unwrap();
        assert_eq!((owner.run_some(2), *owner.get_mut()), (2, 2));
        assert_eq!((owner.run_some(9), *owner.get_mut()), (1, 3));
    }
}
