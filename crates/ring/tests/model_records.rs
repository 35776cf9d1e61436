//! The byte rings, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_records --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{holds, holds_in_three_rounds};
use uncontended_atomic::{Arc, UnsafeCell};
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::records::{RecordError, mpsc, spsc};
use uncontended_ring::{ClaimError, Silent};
use uncontended_wait::Sleepers;

/// Four words: a record of eight bytes takes two, an empty one takes one.
const CAPACITY: usize = 32;

/// A payload that equals the header of a record of eight bytes, to catch code that takes a payload for a header.
const FORGED: [u8; 8] = (2u64 << 32 | 8).to_ne_bytes();

/// Reads all records, to the end.
macro_rules! drain {
    ($consumer:expr) => {{
        let mut seen: Vec<Vec<u8>> = Vec::new();
        loop {
            match $consumer.read() {
                Ok(record) => {
                    seen.push(record.to_vec());
                    assert!(seen.len() < 6, "more records than were written");
                    record.release();
                }
                Err(RecordError::Empty) => spin_loop(),
                Err(error) => {
                    assert_eq!(error, RecordError::Closed);
                    break seen;
                }
            }
        }
    }};
}

macro_rules! push {
    ($producer:expr, $bytes:expr) => {
        while let Err(error) = $producer.push($bytes) {
            assert_eq!(error, ClaimError::Full);
            spin_loop();
        }
    };
}

/// A record that leaves one word before the end, one that does not fit there, and an aborted one.
fn from_one() {
    let (mut producer, mut consumer) = spsc::ring(CAPACITY).unwrap();
    let sender = spawn(move || {
        push!(producer, &[1; 8]);
        push!(producer, &[]);
        drop(producer.claim(3));
        push!(producer, &[2; 8]);
    });
    assert_eq!(drain!(consumer), [vec![1; 8], vec![], vec![2; 8]]);
    sender.join().unwrap();
}

/// The same with one word of room too few.
fn from_one_tightly() {
    let (mut producer, mut consumer) = spsc::ring(CAPACITY).unwrap();
    let sender = spawn(move || {
        push!(producer, &[]);
        push!(producer, &[1; 8]);
        push!(producer, &[2; 8]);
    });
    assert_eq!(drain!(consumer), [vec![], vec![1; 8], vec![2; 8]]);
    sender.join().unwrap();
}

/// Three records; two fill the ring before its consumer starts.
macro_rules! three {
    ($name:ident, $kind:ident) => {
        fn $name() {
            let (mut producer, mut consumer) = $kind::ring(CAPACITY).unwrap();
            (1..=2).for_each(|byte| producer.push(&[byte; 8]).unwrap());
            let sender = spawn(move || push!(producer, &[3; 8]));
            assert_eq!(drain!(consumer), [[1; 8], [2; 8], [3; 8]]);
            sender.join().unwrap();
        }
    };
}

three!(three_from_one, spsc);
three!(three_from_one_of_many, mpsc);

#[test]
fn records_of_one_pass_however_often_the_sides_ask() {
    holds_in_three_rounds(three_from_one);
}

#[test]
fn records_of_many_pass_however_often_the_sides_ask() {
    holds_in_three_rounds(three_from_one_of_many);
}

/// Two producers with one record each.
fn from_two() {
    let (mut one, mut consumer) = mpsc::ring(CAPACITY).unwrap();
    let mut two = one.clone();
    let senders = [spawn(move || push!(one, &[1; 8])), spawn(move || push!(two, &[2; 5]))];
    let mut seen = drain!(consumer);
    seen.sort();
    assert_eq!(seen, [vec![1; 8], vec![2; 5]]);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

/// Records that wrap around and look like headers, and an aborted one.
fn from_one_of_many() {
    let (mut producer, mut consumer) = mpsc::ring(CAPACITY).unwrap();
    let sender = spawn(move || {
        push!(producer, &FORGED);
        push!(producer, &[]);
        drop(producer.claim(0));
        push!(producer, &[]);
        push!(producer, &[3; 8]);
    });
    assert_eq!(drain!(consumer), [FORGED.to_vec(), vec![], vec![], vec![3; 8]]);
    sender.join().unwrap();
}

/// A record that is aborted after it was written: the consumer that skips it clears it.
fn written_and_aborted() {
    let (mut producer, mut consumer) = mpsc::ring(CAPACITY).unwrap();
    let sender = spawn(move || {
        let mut chunk = producer.claim(8).unwrap();
        chunk.copy_from_slice(&FORGED);
        drop(chunk);
        push!(producer, &[1]);
    });
    assert_eq!(drain!(consumer), [[1]]);
    sender.join().unwrap();
}

/// One producer may be faster than the other three times in a row.
fn three_against_one() {
    let (mut one, mut consumer) = mpsc::ring(CAPACITY).unwrap();
    let mut two = one.clone();
    let first = spawn(move || (0..3).for_each(|_| one.push(&[]).unwrap()));
    two.push(&[]).unwrap();
    first.join().unwrap();
    drop(two);
    assert_eq!(drain!(consumer).len(), 4);
}

/// Two producers compete for the last room, then one of them waits for more.
fn for_the_last_room() {
    let (mut one, mut consumer) = mpsc::ring(CAPACITY).unwrap();
    let mut two = one.clone();
    push!(one, &FORGED);
    push!(one, &[1]);
    consumer.read().unwrap().release();
    let senders = [spawn(move || push!(one, &[2])), spawn(move || push!(two, &[3]))];
    let mut seen = drain!(consumer);
    seen[1..].sort();
    assert_eq!(seen, [[1], [2], [3]]);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

#[test]
fn one_producer_passes_all() {
    holds(from_one);
}

#[test]
fn one_producer_passes_all_where_a_word_is_missing() {
    holds(from_one_tightly);
}

#[test]
fn two_producers_pass_all() {
    holds(from_two);
}

#[test]
fn one_of_many_passes_all() {
    holds(from_one_of_many);
}

#[test]
fn an_aborted_record_is_cleared_after_it_was_written() {
    holds(written_and_aborted);
}

#[test]
fn one_producer_competes_with_three_records_of_another() {
    holds(three_against_one);
}

#[test]
fn two_producers_compete_for_the_last_room() {
    holds(for_the_last_room);
}

macro_rules! asleep {
    ($kind:ident, $record:ident, $end:ident, $room:ident, $go:ident) => {
        /// A consumer that sleeps for a record.
        fn $record() {
            let (mut producer, mut consumer) = $kind::blocking(CAPACITY).unwrap();
            let sender = spawn(move || {
                producer.push(&[1]).unwrap();
                producer
            });
            let record = consumer.read_wait().unwrap();
            assert_eq!(record.to_vec(), [1]);
            record.release();
            drop(sender.join().unwrap());
        }

        /// A consumer that sleeps for a record, then for the end.
        fn $end() {
            let (mut producer, mut consumer) = $kind::blocking(CAPACITY).unwrap();
            let sender = spawn(move || producer.push(&[1]).unwrap());
            consumer.read_wait().unwrap().release();
            assert_eq!(consumer.read_wait().err(), Some(RecordError::Closed));
            sender.join().unwrap();
        }

        /// A producer that sleeps for room.
        fn $room() {
            let (mut producer, mut consumer) = $kind::blocking(CAPACITY).unwrap();
            producer.push(&[1; 8]).unwrap();
            producer.push(&[2; 8]).unwrap();
            let reader = spawn(move || {
                consumer.read().unwrap().release();
                consumer
            });
            producer.push_wait(&[3]).unwrap();
            reader.join().unwrap();
        }

        /// A producer that sleeps for room learns that the consumer has gone.
        fn $go() {
            let (mut producer, consumer) = $kind::blocking(CAPACITY).unwrap();
            producer.push(&[1; 8]).unwrap();
            producer.push(&[2; 8]).unwrap();
            let goes = spawn(move || drop(consumer));
            assert_eq!(producer.push_wait(&[]), Err(ClaimError::Closed));
            goes.join().unwrap();
        }
    };
}

asleep!(spsc, one_for_a_record, one_for_the_end, one_for_room, one_told);
asleep!(mpsc, many_for_a_record, many_for_the_end, many_for_room, many_told);

/// A claim that is in the way is aborted while the consumer sleeps for the record after it.
fn an_abort_wakes() {
    let (mut one, mut consumer) = mpsc::blocking(CAPACITY).unwrap();
    let mut two = one.clone();
    let aborts = spawn(move || {
        let chunk = one.claim(0).unwrap();
        two.push(&[2]).unwrap();
        drop(chunk);
        (one, two)
    });
    let record = consumer.read_wait().unwrap();
    assert_eq!(record.to_vec(), [2]);
    record.release();
    aborts.join().unwrap();
}

#[test]
fn the_consumer_of_one_sleeps_for_a_record() {
    holds(one_for_a_record);
}

#[test]
fn the_consumer_of_one_sleeps_for_the_end() {
    holds(one_for_the_end);
}

#[test]
fn the_only_producer_sleeps_for_room() {
    holds(one_for_room);
}

#[test]
fn the_only_sleeping_producer_learns_that_the_consumer_has_gone() {
    holds(one_told);
}

#[test]
fn the_consumer_of_many_sleeps_for_a_record() {
    holds(many_for_a_record);
}

#[test]
fn the_consumer_of_many_sleeps_for_the_end() {
    holds(many_for_the_end);
}

#[test]
fn one_of_many_sleeps_for_room() {
    holds(many_for_room);
}

#[test]
fn one_of_many_sleeping_producers_learns_that_the_consumer_has_gone() {
    holds(many_told);
}

#[test]
fn an_aborted_record_wakes_the_consumer() {
    holds(an_abort_wakes);
}

/// A producer asks to join while the ring is closed. If it was let in, the consumer waits for what it pushes.
fn joins_or_not() {
    let (door, mut consumer) = mpsc::open::<Silent>(CAPACITY).unwrap();
    let door = Arc::new(door);
    let theirs = Arc::clone(&door);
    let sender = spawn(move || {
        let producer = theirs.producer();
        producer.map(|mut producer| producer.push(&[1]).unwrap()).is_some()
    });
    door.close();
    let seen = drain!(consumer);
    assert!(door.producer().is_none(), "closed");
    assert_eq!(seen.len(), usize::from(sender.join().unwrap()));
}

/// A producer clones itself after the close: it lives, so the ring does.
fn clones_after_the_close() {
    let (door, mut consumer) = mpsc::open::<Silent>(CAPACITY).unwrap();
    let mut one = door.producer().unwrap();
    door.close();
    let sender = spawn(move || {
        let mut two = one.clone();
        one.push(&[1]).unwrap();
        drop(one);
        two.push(&[2]).unwrap();
    });
    assert_eq!(drain!(consumer), [[1], [2]]);
    sender.join().unwrap();
}

/// A consumer that sleeps while there is no producer, until the ring is closed.
fn sleeps_until_the_close() {
    let (door, mut consumer) = mpsc::open::<Sleepers>(CAPACITY).unwrap();
    let closer = spawn(move || door.close());
    assert_eq!(consumer.read_wait().err(), Some(RecordError::Closed));
    closer.join().unwrap();
}

struct Letter(UnsafeCell<u32>);

// SAFETY: the test accesses it from one thread at a time, which is what the checker verifies.
unsafe impl Sync for Letter {}

/// What the closer did before is seen after the end.
fn carried_by_the_close() {
    let (door, mut consumer) = mpsc::open::<Silent>(CAPACITY).unwrap();
    let letter = Arc::new(Letter(UnsafeCell::new(0)));
    let theirs = Arc::clone(&letter);
    let closer = spawn(move || {
        // SAFETY: no thread reads before the end (edge `records-last`).
        theirs.0.with_mut(|letter| unsafe { *letter = 7 });
        door.close();
    });
    assert!(drain!(consumer).is_empty());
    // SAFETY: the end was seen (edge `records-last`).
    assert_eq!(letter.0.with(|letter| unsafe { *letter }), 7);
    closer.join().unwrap();
}

#[test]
fn no_producer_joins_once_the_ring_is_closed() {
    holds(joins_or_not);
}

#[test]
fn a_producer_is_cloned_after_the_close() {
    holds(clones_after_the_close);
}

#[test]
fn a_close_wakes_the_consumer() {
    holds(sleeps_until_the_close);
}

#[test]
fn the_end_carries_what_was_done_before_the_close() {
    holds(carried_by_the_close);
}
