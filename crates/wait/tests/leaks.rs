//! Leaked handles, waiters and futures (`mem::forget`), and conditions that panic: nothing is freed twice, and the
//! remaining threads continue.
//!
//! What is leaked stays reachable, so Miri's leak check can stay on for all tests of this crate.
#![cfg(not(unc_model))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::any::Any;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use uncontended_wait::{ClaimError, Deadline, EventCount, Parker, Sleepers, WaitError, single};

/// Values that are never dropped.
static LEAKED: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

fn leak(value: impl Any + Send) {
    LEAKED.lock().unwrap().push(Box::new(value));
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(2))
}

#[test]
fn a_leaked_producer_keeps_its_claim_and_its_events() {
    let count = single::EventCount64::new();
    let mut producer = count.producer().unwrap();
    producer.add(3);
    forget(producer);
    assert_eq!(count.producer().err(), Some(ClaimError::Taken));
    assert_eq!((count.wait(0), count.is_closed()), (Ok(3), false));
    assert_eq!(count.wait_deadline(3, soon()), Err(WaitError::TimedOut), "not closed");
    let shared = Arc::new(single::EventCount32::new());
    leak(uncontended_wait::Producer::claim(Arc::clone(&shared)).unwrap());
    assert_eq!((shared.value(), shared.producer().err()), (0, Some(ClaimError::Taken)));
}

#[test]
fn a_leaked_parker_or_unparker_leaves_the_others_their_token() {
    let mut parker = Parker::new();
    leak(parker.unparker());
    let other = parker.unparker();
    other.unpark();
    parker.park();
    leak(parker);
    other.unpark();
    other.clone().unpark();
}

/// Counts its wakeups.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, woken: &Arc<Woken>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(woken));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn a_leaked_future_takes_no_wake_up_from_later_waiters_at_its_address() {
    let mut place = Box::new(Sleepers::new());
    let (gone, here) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    let mut leaked = place.until(|| None::<()>);
    assert!(poll(&mut leaked, &gone).is_pending());
    forget(leaked);
    *place = Sleepers::new();
    let ready = AtomicU32::new(0);
    let mut future = place.until(|| ready.load(SeqCst) == 1);
    assert!(poll(&mut future, &here).is_pending());
    ready.store(1, SeqCst);
    place.wake_one();
    assert_eq!((gone.0.load(SeqCst), here.0.load(SeqCst)), (0, 1));
    assert!(poll(&mut future, &here).is_ready());
}

#[test]
fn a_condition_that_panics_changes_nothing() {
    let count = EventCount::<uncontended_wait::event_count::TwoWords<u32>>::new();
    let mut producer = count.producer().unwrap();
    for _ in 0..2 {
        let look = AssertUnwindSafe(|| count.wait_until(|_| panic!("a condition that panics")));
        assert!(catch_unwind(look).is_err());
    }
    let sleepers = Sleepers::new();
    let mut looks = 0;
    let second = AssertUnwindSafe(|| {
        sleepers.sleep_until_deadline(
            || {
                looks += 1;
                assert!(looks < 2, "a condition that panics once the flag is set");
                None::<()>
            },
            Deadline::NEVER,
        )
    });
    assert!(catch_unwind(second).is_err());
    let mut future = sleepers.until(|| -> Option<()> { panic!("a task's condition that panics") });
    let woken = Arc::new(Woken::default());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut future, &woken))).is_err());
    drop(future);
    producer.increment();
    assert_eq!(count.wait(0), Ok(1));
    sleepers.wake();
    assert!(!sleepers.has_waiters());
}
