//! Rings between processes: streams, a second holder, a killed holder. The children run this test program.
#![cfg(not(unc_model))]

mod mapped;

use mapped::{as_child, beside_a_copy, die, killed, memory, start, while_stopped};
use std::time::Duration;
use uncontended_ring::PopError;
use uncontended_ring::spsc::shared::{self, Holder, RoleError, Shared};

const VALUES: u64 = 5_000;

/// A ring for `capacity` numbers in a file that children inherit.
fn ring(capacity: usize) -> (Shared<u64>, i32) {
    let (mapping, fd) = memory(shared::bytes_for::<u64>(capacity).unwrap());
    let (base, bytes) = (mapping.base, mapping.bytes);
    // SAFETY: the mapping is kept, and used only as a ring (I1 of `spsc::shared`).
    (unsafe { shared::create(base, bytes, capacity, mapping) }.unwrap(), fd)
}

/// The work of child processes. In the test's own process it does nothing.
#[test]
fn as_a_child() {
    let Some((child, mapping)) = as_child() else { return };
    let (base, bytes) = (mapping.base, mapping.bytes);
    // SAFETY: the mapping is kept, and used only as a ring (I1 of `spsc::shared`).
    let ring: Shared<u64> = unsafe { shared::attach(base, bytes, mapping) }.unwrap();
    match child.as_str() {
        "consume" => {
            let mut consumer = ring.consumer().unwrap();
            for expected in 0..VALUES {
                assert_eq!(consumer.pop_wait(), Some(expected));
            }
            assert_eq!(consumer.pop_wait(), None);
        }
        "second" => {
            // SAFETY: takes no argument and returns a number.
            let parent = unsafe { libc::getppid() } as u32;
            let held = Some(RoleError::Held { pid: parent });
            assert_eq!((ring.producer().err(), ring.take_over_producer().err()), (held, held));
        }
        "die producing" => {
            let mut producer = ring.producer().unwrap();
            assert_eq!(producer.push_slice(&[1, 2]), 2);
            let mut claim = producer.claim(1).unwrap();
            claim.push(99).unwrap();
            die();
        }
        "die consuming" => {
            let mut consumer = ring.consumer().unwrap();
            assert_eq!(consumer.pop_wait(), Some(1));
            let batch = consumer.read(1).unwrap();
            assert_eq!(batch.iter().next(), Some(&2));
            die();
        }
        _ => panic!("no such child"),
    }
}

#[test]
fn a_stream_goes_to_another_process_and_ends() {
    for capacity in [1, 64] {
        let (ring, fd) = ring(capacity);
        let mut producer = ring.producer().unwrap();
        let mut child = start("consume", fd);
        (0..VALUES).for_each(|value| producer.push_wait(value).unwrap());
        drop(producer);
        assert!(child.wait().unwrap().success());
        assert_eq!(ring.consumer().err(), Some(RoleError::GivenUp));
    }
}

#[test]
fn a_second_producer_in_another_process_is_refused() {
    let (ring, fd) = ring(2);
    let _producer = ring.producer().unwrap();
    assert!(start("second", fd).wait().unwrap().success());
}

#[test]
fn a_producer_that_was_killed_is_found_out_and_followed() {
    let (ring, fd) = ring(4);
    let mut consumer = ring.consumer().unwrap();
    let mut child = start("die producing", fd);
    assert_eq!((consumer.pop_wait(), consumer.pop_wait()), (Some(1), Some(2)));
    let pid = child.id();
    assert!(killed(child.wait().unwrap()));
    assert_eq!(consumer.pop(), Err(PopError::Empty), "no side closed it");
    assert_eq!(ring.producer().err(), Some(RoleError::Died { pid }));
    let mut successor = ring.take_over_producer().unwrap();
    assert_eq!(ring.producer().err(), Some(RoleError::Held { pid: std::process::id() }));
    successor.push(3).unwrap();
    drop(successor);
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(3), Err(PopError::Closed)));
}

#[test]
fn a_consumer_that_was_killed_is_followed_by_one_that_reads_again_what_was_not_given_back() {
    let (ring, fd) = ring(2);
    let mut producer = ring.producer().unwrap();
    let mut child = start("die consuming", fd);
    assert_eq!(producer.push_slice(&[1, 2]), 2);
    let pid = child.id();
    assert!(killed(child.wait().unwrap()));
    assert_eq!(ring.consumer().err(), Some(RoleError::Died { pid }));
    let mut successor = ring.take_over_consumer().unwrap();
    producer.push(3).unwrap();
    drop(producer);
    assert_eq!(std::iter::from_fn(|| successor.pop_wait()).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_child_that_was_forked_drops_its_copies_and_the_sides_remain() {
    let (ring, _fd) = ring(2);
    let sides = (ring.producer().unwrap(), ring.consumer().unwrap());
    let (mut producer, mut consumer) = beside_a_copy(sides, drop);
    assert_eq!((producer.push(1), consumer.pop()), (Ok(()), Ok(1)));
    assert_eq!(consumer.pop(), Err(PopError::Empty), "the producer has not gone");
    let here = Holder::Lives { pid: std::process::id() };
    assert_eq!((ring.producer_holder(), ring.consumer_holder()), (here, here));
    drop(producer);
    assert_eq!(consumer.pop(), Err(PopError::Closed));
}

#[test]
fn a_consumer_that_is_stopped_is_waited_for_and_not_succeeded() {
    let (ring, fd) = ring(64);
    let mut producer = ring.producer().unwrap();
    let mut child = start("consume", fd);
    let (pid, short) = (child.id(), Duration::from_millis(2));
    let mut next = 0;
    for _ in 0..10 {
        for _ in 0..VALUES / 20 {
            producer.push_wait(next).unwrap();
            next += 1;
        }
        while_stopped(&child, || {
            while producer.push_timeout(next, short).is_ok() {
                next += 1;
            }
            assert_eq!(ring.consumer_holder(), Holder::Lives { pid });
            assert_eq!(ring.take_over_consumer().err(), Some(RoleError::Held { pid }));
        });
    }
    (next..VALUES).for_each(|value| producer.push_wait(value).unwrap());
    drop(producer);
    assert!(child.wait().unwrap().success());
}
