//! Byte rings between processes: many producers, one killed in a claim, and a consumer killed before it released.
#![cfg(not(unc_model))]

mod mapped;

use mapped::{as_child, beside_a_copy, die, killed, memory, start, while_stopped};
use std::time::Duration;
use uncontended_ring::records::RecordError;
use uncontended_ring::records::shared::{self, Holder, RoleError, Shared};
use uncontended_wait::Deadline;

const RECORDS: u32 = 5_000;

fn ring(capacity: usize) -> (Shared, i32) {
    let (mapping, fd) = memory(shared::bytes_for(capacity).unwrap());
    let (base, bytes) = (mapping.base, mapping.bytes);
    // SAFETY: the mapping is kept, and used only as a ring (I1 of `records::shared`).
    (unsafe { shared::create(base, bytes, capacity, mapping) }.unwrap(), fd)
}

/// The work of child processes. In the test's own process it does nothing.
#[test]
fn as_a_child() {
    let Some((child, mapping)) = as_child() else { return };
    let (base, bytes) = (mapping.base, mapping.bytes);
    // SAFETY: the mapping is kept, and used only as a ring (I1 of `records::shared`).
    let ring = unsafe { shared::attach(base, bytes, mapping) }.unwrap();
    match child.as_str() {
        "produce" => {
            let mut producer = ring.producer().unwrap();
            for value in 0..RECORDS {
                let mut chunk = producer.claim_wait(4 + (value % 9) as usize).unwrap();
                chunk[..4].copy_from_slice(&value.to_ne_bytes());
                chunk.commit();
            }
        }
        "die producing" => {
            let mut producer = ring.producer().unwrap();
            producer.push(b"before").unwrap();
            producer.claim(9).unwrap().fill(0xFF);
            let mut chunk = producer.claim(9).unwrap();
            chunk.fill(0xFF);
            die();
        }
        "die consuming" => {
            let mut consumer = ring.consumer().unwrap();
            consumer.read_wait().unwrap().release();
            assert_eq!(&*consumer.read_wait().unwrap(), b"two");
            die();
        }
        _ => panic!("no such child"),
    }
}

#[test]
fn producers_in_other_processes_lose_nothing() {
    let (ring, fd) = ring(256);
    let mut consumer = ring.consumer().unwrap();
    let mut children = [start("produce", fd), start("produce", fd)];
    let mut seen = [0; RECORDS as usize];
    for _ in 0..2 * RECORDS {
        let record = consumer.read_wait().unwrap();
        let value = u32::from_ne_bytes(record[..4].try_into().unwrap());
        assert_eq!(record.len(), 4 + (value % 9) as usize);
        record.release();
        seen[value as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times == 2));
    children.iter_mut().for_each(|child| assert!(child.wait().unwrap().success()));
    assert_eq!(consumer.read().err(), Some(RecordError::Empty), "more may come");
    ring.close();
    assert_eq!(consumer.read_wait().err(), Some(RecordError::Closed));
}

#[test]
fn a_producer_that_was_killed_in_a_claim_is_passed_over() {
    let (ring, fd) = ring(128);
    let mut consumer = ring.consumer().unwrap();
    assert!(killed(start("die producing", fd).wait().unwrap()));
    let mut producer = ring.producer().unwrap();
    producer.push(b"after").unwrap();
    let record = consumer.read().unwrap();
    assert_eq!(&*record, b"before");
    record.release();
    let soon = Deadline::after(Duration::from_millis(5));
    assert_eq!(consumer.read_deadline(soon).err(), Some(RecordError::Empty), "it is in the way");
    // SAFETY: the process that claimed it is dead, and the only other producer belongs to this thread.
    assert_eq!(unsafe { consumer.unblock() }, Ok(24));
    assert_eq!(&*consumer.read().unwrap(), b"after");
}

#[test]
fn a_consumer_that_was_killed_is_followed_by_one_that_reads_again_what_was_not_released() {
    let (ring, fd) = ring(128);
    let mut producer = ring.producer().unwrap();
    ["one", "two", "three"].iter().for_each(|text| producer.push(text.as_bytes()).unwrap());
    let mut child = start("die consuming", fd);
    let pid = child.id();
    assert!(killed(child.wait().unwrap()));
    assert_eq!(ring.consumer().err(), Some(RoleError::Died { pid }));
    let mut successor = ring.take_over_consumer().unwrap();
    // SAFETY: no claim is in the way, and no other thread uses the ring.
    assert_eq!(unsafe { successor.unblock() }, Ok(0));
    for text in ["two", "three"] {
        let record = successor.read().unwrap();
        assert_eq!(&*record, text.as_bytes());
        record.release();
    }
    assert_eq!(successor.read().err(), Some(RecordError::Empty));
}

#[test]
fn a_child_that_was_forked_drops_its_copies_and_the_sides_remain() {
    let (ring, _fd) = ring(128);
    let sides = (ring.producer().unwrap(), ring.consumer().unwrap());
    let (mut producer, mut consumer) = beside_a_copy(sides, drop);
    producer.push(b"one").unwrap();
    consumer.read().unwrap().release();
    assert_eq!(consumer.read().err(), Some(RecordError::Empty), "the producer is still counted");
    assert_eq!(ring.consumer_holder(), Holder::Lives { pid: std::process::id() });
    // A clone that the child makes is a producer of its own.
    producer = beside_a_copy(producer, |copy| {
        let mut clone = copy.clone();
        drop(copy);
        clone.push(b"two").unwrap();
    });
    assert_eq!(&*consumer.read().unwrap(), b"two");
    consumer.read().unwrap().release();
    assert_eq!(consumer.read().err(), Some(RecordError::Empty));
    ring.close();
    drop(producer);
    assert_eq!(consumer.read().err(), Some(RecordError::Closed));
}

#[test]
fn a_producer_that_is_stopped_anywhere_loses_no_record() {
    let (ring, fd) = ring(256);
    let mut consumer = ring.consumer().unwrap();
    let mut children = [start("produce", fd), start("produce", fd)];
    let mut sum = 0;
    let mut read = |count: u32, limit: Duration| {
        (0..count).all(|_| match consumer.read_timeout(limit) {
            Ok(record) => {
                sum += u64::from(u32::from_ne_bytes(record[..4].try_into().unwrap()));
                record.release();
                true
            }
            Err(_) => false,
        })
    };
    let mut left = 2 * RECORDS;
    // So few that neither child has ended.
    for stop in 0..10 {
        assert!(read(RECORDS / 20, Duration::MAX));
        left -= RECORDS / 20;
        // The other continues, unless a claim of this one is in the way.
        while_stopped(&children[stop % 2], || {
            left -= (0..100).take_while(|_| read(1, Duration::from_millis(2))).count() as u32;
        });
    }
    assert!(read(left, Duration::MAX));
    children.iter_mut().for_each(|child| assert!(child.wait().unwrap().success()));
    assert_eq!(sum, u64::from(RECORDS) * u64::from(RECORDS - 1));
}
