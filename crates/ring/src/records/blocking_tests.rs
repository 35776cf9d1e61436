//! Sides that sleep: hand-offs, departures and deadlines.

use super::{RecordError, mpsc, spsc};
use crate::ClaimError;
use std::thread;
use std::time::Duration;
use uncontended_wait::Deadline;

macro_rules! both {
    ($kind:ident, $module:ident) => {
        mod $module {
            use super::*;
            use $kind::blocking;

            #[test]
            fn a_stream_arrives_whole_however_often_sides_sleep() {
                let count = if cfg!(miri) { 8u32 } else { 10_000 };
                for capacity in [32, 256] {
                    let (mut producer, mut consumer) = blocking(capacity).unwrap();
                    let longest = producer.longest() as u32;
                    let sender = thread::spawn(move || {
                        for value in 0..count {
                            let mut chunk =
                                producer.claim_wait((value % longest) as usize).unwrap();
                            chunk.iter_mut().for_each(|byte| *byte = value as u8);
                            chunk.commit();
                            drop(producer.claim_wait(1));
                        }
                    });
                    for value in 0..count {
                        let record = consumer.read_wait().unwrap();
                        assert_eq!(*record, vec![value as u8; (value % longest) as usize]);
                        record.release();
                    }
                    assert_eq!(consumer.read_wait().err(), Some(RecordError::Closed));
                    sender.join().unwrap();
                }
            }

            #[test]
            fn deadlines_are_kept_and_one_that_has_passed_is_one_try() {
                let (mut producer, mut consumer) = blocking(32).unwrap();
                let past = Deadline::at_ns(0);
                assert_eq!(consumer.read_deadline(past).err(), Some(RecordError::Empty));
                let deadline = Deadline::after(Duration::from_millis(2));
                assert_eq!(consumer.read_deadline(deadline).err(), Some(RecordError::Empty));
                assert!(deadline.has_passed());
                producer.claim_deadline(8, past).unwrap().commit();
                producer.push_wait(&[1; 8]).unwrap();
                let deadline = Deadline::after(Duration::from_millis(2));
                assert_eq!(producer.claim_deadline(0, deadline).err(), Some(ClaimError::Full));
                assert!(deadline.has_passed());
                assert_eq!(producer.push_wait(&[0; 9]), Err(ClaimError::TooLong { most: 8 }));
                assert_eq!(consumer.read_deadline(past).unwrap().len(), 8);
            }

            #[test]
            fn a_sleeper_learns_that_the_other_side_has_gone() {
                let (producer, mut consumer) = blocking(32).unwrap();
                let sleeper = thread::spawn(move || consumer.read_wait().err());
                thread::sleep(Duration::from_millis(5));
                drop(producer);
                assert_eq!(sleeper.join().unwrap(), Some(RecordError::Closed));

                let (mut producer, consumer) = blocking(32).unwrap();
                producer.push(&[1; 8]).unwrap();
                producer.push(&[2; 8]).unwrap();
                let sleeper = thread::spawn(move || producer.push_wait(&[]));
                thread::sleep(Duration::from_millis(5));
                drop(consumer);
                assert_eq!(sleeper.join().unwrap(), Err(ClaimError::Closed));
            }
        }
    };
}

both!(spsc, one_producer);
both!(mpsc, many_producers);

/// A producer sleeps for room that an aborted record takes, and the consumer for a record. The abort must wake it.
#[test]
fn an_abort_in_a_full_ring_wakes_the_consumer() {
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let (mut one, mut consumer) = mpsc::blocking(32).unwrap();
        let mut two = one.clone();
        let chunks = [one.claim(8).unwrap()];
        let mut three = two.clone();
        let other = two.claim(8).unwrap();
        let sender = thread::spawn(move || three.push_wait(&[3; 8]));
        let reader = thread::spawn(move || {
            let record = consumer.read_wait().unwrap();
            assert_eq!(*record, [3; 8]);
            record.release();
        });
        thread::sleep(Duration::from_millis(1));
        drop((other, chunks));
        sender.join().unwrap().unwrap();
        reader.join().unwrap();
    }
}
