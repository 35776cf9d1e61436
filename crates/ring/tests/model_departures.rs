//! Sides that go, explored: a side that sees that another has gone sees everything that it did.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_departures --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::holds;
use std::sync::atomic::Ordering::Relaxed;
use uncontended_model::real::{Arc, AtomicU32, spawn, spin_loop};
use uncontended_ring::broadcast::Plan;
use uncontended_ring::{PopError, mpsc, records, spsc};

/// A push into the slot of a value that the consumer took before it went.
#[test]
fn the_consumer_of_one_has_read_before_it_goes() {
    holds(|| {
        let (mut producer, mut consumer) = spsc::ring(1).unwrap();
        producer.push(1).unwrap();
        let goes = spawn(move || assert_eq!(consumer.pop(), Ok(1)));
        let _ = producer.push(2);
        goes.join().unwrap();
    });
}

#[test]
fn the_consumer_of_many_has_read_before_it_goes() {
    holds(|| {
        let (producer, mut consumer) = mpsc::ring(1).unwrap();
        producer.push(1).unwrap();
        let goes = spawn(move || assert_eq!(consumer.pop(), Ok(1)));
        let _ = producer.push(2);
        goes.join().unwrap();
    });
}

macro_rules! read_and_go {
    ($kind:ident) => {
        let (mut producer, mut consumer) = records::$kind::ring(32).unwrap();
        producer.push(&[1; 8]).unwrap();
        producer.push(&[2; 8]).unwrap();
        let goes = spawn(move || {
            let record = consumer.read().unwrap();
            assert_eq!(record.to_vec(), [1; 8]);
            record.release();
        });
        let _ = producer.push(&[3; 8]);
        goes.join().unwrap();
    };
}

#[test]
fn the_consumer_of_records_of_one_has_read_before_it_goes() {
    holds(|| {
        read_and_go!(spsc);
    });
}

#[test]
fn the_consumer_of_records_of_many_has_read_before_it_goes() {
    holds(|| {
        read_and_go!(mpsc);
    });
}

/// One of two consumers goes; the other one has already released.
#[test]
fn a_consumer_of_a_broadcast_has_read_before_it_goes() {
    holds(|| {
        let plan = Plan::new(1).consumer("a", &[]).consumer("b", &[]);
        let (mut producer, mut consumers) = plan.polling().unwrap();
        let (mut a, mut b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
        producer.push(1).unwrap();
        b.read(1).unwrap().release();
        let goes = spawn(move || {
            let batch = a.read(1).unwrap();
            assert!(batch.iter().eq(&[1]));
            batch.release();
        });
        let _ = producer.push(2);
        goes.join().unwrap();
    });
}

/// One of two members goes.
#[test]
fn a_member_has_read_before_it_goes() {
    holds(|| {
        let (mut producer, mut consumers) = Plan::new(1).group("g", 2, &[]).polling().unwrap();
        let (mut one, _other) = (consumers.take("g").unwrap(), consumers.take("g").unwrap());
        producer.push(1).unwrap();
        let goes = spawn(move || {
            let batch = one.read(1).unwrap();
            assert!(batch.iter().eq(&[1]));
            batch.release();
        });
        let _ = producer.push(2);
        goes.join().unwrap();
    });
}

/// A member that fails to claim a second value has read the first.
#[test]
fn a_member_that_fails_to_claim_has_read_what_it_had() {
    holds(|| {
        let (mut producer, mut consumers) = Plan::new(2).group("g", 2, &[]).polling().unwrap();
        let members = [consumers.take("g").unwrap(), consumers.take("g").unwrap()];
        producer.push(1).unwrap();
        producer.push(2).unwrap();
        let mut tries = [2, 1].into_iter();
        let members = members.map(|mut member| {
            let tries = tries.next().unwrap();
            spawn(move || {
                for _ in 0..tries {
                    let _ = member.read(1).map(|batch| {
                        assert!(batch.iter().all(|value| (1..=3).contains(value)));
                        batch.release();
                    });
                }
                member
            })
        });
        let _ = producer.push(3);
        members.into_iter().for_each(|member| drop(member.join().unwrap()));
    });
}

/// Both members of a group go, one with a value read: the later stage sees that value, and what was done to it.
#[test]
fn a_stage_after_a_group_that_has_gone_sees_what_it_read() {
    holds(|| {
        let plan = Plan::new(1).group("g", 2, &[]).consumer("after", &["g"]);
        let (mut producer, mut consumers) = plan.polling().unwrap();
        let (mut one, other) = (consumers.take("g").unwrap(), consumers.take("g").unwrap());
        let mut after = consumers.take("after").unwrap();
        let done = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&done);
        producer.push(1).unwrap();
        let goes = spawn(move || {
            let batch = one.read(1).unwrap();
            theirs.store(1, Relaxed);
            batch.release();
        });
        let too = spawn(move || drop(other));
        loop {
            match after.read(1) {
                Ok(batch) => {
                    assert!(batch.iter().eq(&[1]));
                    break assert_eq!(done.load(Relaxed), 1);
                }
                Err(error) => assert_eq!(error, PopError::Empty, "a value was released"),
            }
            spin_loop();
        }
        goes.join().unwrap();
        too.join().unwrap();
    });
}
