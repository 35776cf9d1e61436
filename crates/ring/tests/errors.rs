//! Errors that contain a value: `?`, `expect` and `Box<dyn Error>` take them, whatever the value is.

#![cfg(not(unc_model))]

use std::error::Error;
use uncontended_ring::broadcast::Plan;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::{Closed, PushError, mpsc, spsc};
use uncontended_wait::Deadline;
use uncontended_wait::idle::Yield;

/// Neither `Debug` nor `Display`, as a job of a pool of threads.
type Job = Box<dyn Fn() -> u32 + Send + Sync>;

fn job(value: u32) -> Job {
    Box::new(move || value)
}

/// Calls each way to push, and passes its error on.
macro_rules! passes_errors_on {
    ($ring:expr) => {{
        #[allow(unused_mut, reason = "mpsc needs none")]
        let (mut producer, consumer) = $ring;
        #[allow(unused_mut, reason = "mpsc needs none")]
        let mut push = |way: u32| -> Result<(), Box<dyn Error + Send + Sync>> {
            match way {
                0 => producer.push(job(way))?,
                1 => producer.push_wait(job(way))?,
                2 => producer.push_deadline(job(way), Deadline::at_ns(0))?,
                3 => producer.push_timeout(job(way), std::time::Duration::ZERO)?,
                _ => producer.push_idling(job(way), &mut Yield)?,
            }
            Ok(())
        };
        push(1).expect("there is room");
        for way in [0, 2, 3] {
            assert!(push(way).unwrap_err().is::<PushError<Job>>(), "{way}");
            assert_eq!(push(way).unwrap_err().to_string(), "the ring is full");
        }
        drop(consumer);
        for way in 0..5 {
            let error = push(way).unwrap_err();
            assert_eq!(error.to_string(), "the ring is closed: no consumer is left");
            assert_eq!(format!("{error:?}"), "Closed(..)");
            assert_eq!(error.is::<Closed<Job>>(), [1, 4].contains(&way), "{way}");
        }
        let Err(back) = producer.push_wait(job(7)) else { panic!("no consumer is left") };
        assert_eq!(back.into_inner()(), 7);
    }};
}

#[test]
fn every_ring_has_errors_that_can_be_passed_on() {
    passes_errors_on!(spsc::blocking(1).unwrap());
    passes_errors_on!(mpsc::blocking(1).unwrap());
    passes_errors_on!(lanes::blocking(1, 1).unwrap());
    passes_errors_on!(group::blocking(1, 1).unwrap());
    passes_errors_on!({
        let (producer, mut consumers) = Plan::new(1).consumer("a", &[]).blocking().unwrap();
        (producer, consumers.take("a").unwrap())
    });
}

#[test]
fn a_claim_that_is_full_says_so() {
    let (mut producer, _consumer) = spsc::ring(1).unwrap();
    let mut claim = producer.claim(1).unwrap();
    claim.push(job(1)).expect("there is room");
    let error: Box<dyn Error> = Box::new(claim.push(job(2)).unwrap_err());
    assert_eq!(error.to_string(), "the ring is full");
}
