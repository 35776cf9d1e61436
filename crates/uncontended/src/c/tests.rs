//! What C programs do with memory in place, in Rust, so that Miri can check it: pointers that outlive the call that
//! gave them, and handles that hold what borrows them. Every status is checked from C (tests/c_library.rs).

use super::broadcast::{
    Stage, unc_broadcast_close_consumer, unc_broadcast_close_producer, unc_broadcast_create,
    unc_broadcast_pop, unc_broadcast_push, unc_broadcast_read, unc_broadcast_release,
};
use super::elements::{
    unc_ring_claim, unc_ring_commit, unc_ring_pop_many, unc_ring_push_many, unc_ring_read,
    unc_ring_release, unc_ring_stride,
};
use super::event_count::{EventCount, unc_event_count_wait_for};
use super::lanes::{
    unc_lanes_clone_producer, unc_lanes_close_consumer, unc_lanes_close_producer, unc_lanes_create,
    unc_lanes_pop_many, unc_lanes_push_many,
};
use super::records::{
    unc_records_claim, unc_records_clone_producer, unc_records_close_consumer,
    unc_records_close_producer, unc_records_commit, unc_records_create, unc_records_create_many,
    unc_records_pop, unc_records_push, unc_records_read, unc_records_release,
};
use super::spsc::{unc_ring_close_consumer, unc_ring_close_producer, unc_ring_create_of};
use super::status::Status;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Runs a function that a test calls as a C program would.
macro_rules! call {
    ($call:expr) => {
        // SAFETY: handles are those that were stored, pointers those of living variables (C1).
        unsafe { $call }
    };
}

macro_rules! succeeds {
    ($($call:expr;)*) => {
        $(assert_eq!(call!($call), Status::Ok);)*
    };
}

/// An element of part of two words.
type Element = [u32; 3];
const SIZE: usize = size_of::<Element>();

#[test]
fn elements_in_place_stay_until_they_are_committed_and_released() {
    let (mut producer, mut consumer) = (null_mut(), null_mut());
    succeeds! { unc_ring_create_of(SIZE, 3, &raw mut producer, &raw mut consumer); }
    let (mut memory, mut found, mut count) = (null_mut(), null(), 0);
    for round in 0..7 {
        let some = [[round; 3], [round + 1; 3]];
        succeeds! {
            unc_ring_claim(producer, 1, &raw mut memory, &raw mut count, 0);
            { memory.cast::<Element>().write([100 + round; 3]); unc_ring_commit(producer, 1) };
            unc_ring_push_many(producer, some.as_ptr().cast(), 2, 0, null_mut());
            unc_ring_read(consumer, 1, &raw mut found, &raw mut count, 0);
        }
        assert_eq!((call!(found.cast::<Element>().read()), count), ([100 + round; 3], 1));
        let mut popped = [[0; 3]; 2];
        succeeds! {
            unc_ring_release(consumer, 1);
            unc_ring_pop_many(consumer, popped.as_mut_ptr().cast(), 2, 0, &raw mut count);
        }
        assert_eq!((popped, count), (some, 2));
    }
    assert_eq!(unc_ring_stride(SIZE), 16);
    call!(unc_ring_close_producer(producer));
    call!(unc_ring_close_consumer(consumer));
}

#[test]
fn records_in_place_stay_until_they_are_committed_and_released() {
    for create in [unc_records_create, unc_records_create_many] {
        let (mut producer, mut consumer) = (null_mut(), null_mut());
        succeeds! { create(64, &raw mut producer, &raw mut consumer); }
        let (mut memory, mut found, mut length) = (null_mut(), null(), 0);
        for round in 0..9u8 {
            let (bytes, mut buffer) = ([round; 5], [0u8; 5]);
            succeeds! {
                unc_records_claim(producer, 3, &raw mut memory, 0);
                { memory.cast::<[u8; 3]>().write([round; 3]); unc_records_commit(producer) };
                unc_records_push(producer, bytes.as_ptr().cast(), 5, 0);
                unc_records_read(consumer, &raw mut found, &raw mut length, 0);
                unc_records_read(consumer, &raw mut found, &raw mut length, 0);
            }
            assert_eq!((call!(found.cast::<[u8; 3]>().read()), length), ([round; 3], 3));
            succeeds! {
                unc_records_release(consumer);
                unc_records_pop(consumer, buffer.as_mut_ptr().cast(), 5, &raw mut length, 0);
            }
            assert_eq!((buffer, length), (bytes, 5));
        }
        // Both are closed while they hold something.
        succeeds! {
            unc_records_push(producer, found, 0, 0);
            unc_records_read(consumer, &raw mut found, &raw mut length, 0);
            unc_records_claim(producer, 3, &raw mut memory, 0);
        }
        call!(unc_records_close_producer(producer));
        call!(unc_records_close_consumer(consumer));
    }
}

#[test]
fn clones_outlive_what_they_were_cloned_from() {
    let (mut producer, mut another, mut consumer) = (null_mut(), null_mut(), null_mut());
    let (mut buffer, mut length) = ([0u8; 5], 0);
    succeeds! {
        unc_records_create_many(64, &raw mut producer, &raw mut consumer);
        unc_records_clone_producer(producer, &raw mut another);
        { unc_records_close_producer(producer); Status::Ok };
        unc_records_push(another, b"hello".as_ptr().cast(), 5, 0);
        unc_records_pop(consumer, buffer.as_mut_ptr().cast(), 5, &raw mut length, 0);
    }
    assert_eq!((&buffer, length), (b"hello", 5));
    call!(unc_records_close_producer(another));
    call!(unc_records_close_consumer(consumer));
    let (mut producer, mut another, mut consumer) = (null_mut(), null_mut(), null_mut());
    let (some, mut popped, mut count) = ([[1; 3], [2; 3]], [[0u32; 3]; 3], 0);
    succeeds! {
        unc_lanes_create(SIZE, 2, 2, &raw mut producer, &raw mut consumer);
        unc_lanes_clone_producer(producer, &raw mut another);
        { unc_lanes_close_producer(producer); Status::Ok };
        unc_lanes_push_many(another, some.as_ptr().cast(), 2, 0, null_mut());
        unc_lanes_pop_many(consumer, popped.as_mut_ptr().cast(), 3, 0, &raw mut count);
    }
    assert_eq!((&popped[..2], count), (&some[..], 2));
    call!(unc_lanes_close_producer(another));
    call!(unc_lanes_close_consumer(consumer));
}

#[test]
fn broadcast_elements_in_place_stay_until_they_are_released() {
    let stages = [Stage { members: 1, after: 0 }, Stage { members: 2, after: 1 }];
    let (mut producer, mut consumers) = (null_mut(), [null_mut(); 3]);
    let (mut memory, mut count) = (null(), 0);
    succeeds! {
        unc_broadcast_create(SIZE, 3, stages.as_ptr(), 2, &raw mut producer, consumers.as_mut_ptr());
    }
    for round in 0..5u32 {
        let (some, mut popped) = ([[round; 3], [round + 1; 3]], [[0; 3]; 2]);
        succeeds! {
            unc_broadcast_push(producer, some.as_ptr().cast(), 2, 0, null_mut());
            unc_broadcast_read(consumers[0], 1, &raw mut memory, &raw mut count, 0);
        }
        assert_eq!((call!(memory.cast::<Element>().read()), count), (some[0], 1));
        succeeds! {
            unc_broadcast_release(consumers[0], 1);
            unc_broadcast_pop(consumers[0], popped.as_mut_ptr().cast(), 2, 0, &raw mut count);
            unc_broadcast_pop(consumers[1], popped.as_mut_ptr().cast(), 1, 0, null_mut());
            unc_broadcast_pop(consumers[2], popped[1..].as_mut_ptr().cast(), 1, 0, null_mut());
        }
        assert_eq!((popped, count), (some, 1));
    }
    call!(unc_broadcast_close_producer(producer));
    consumers.into_iter().for_each(|consumer| call!(unc_broadcast_close_consumer(consumer)));
}

#[test]
fn conditions_are_asked_with_their_context() {
    /// True when it is asked for the third time.
    unsafe extern "C" fn third(context: *mut c_void) -> bool {
        // SAFETY: the context is the number of the test below (C1).
        let asked = unsafe { &mut *context.cast::<u32>() };
        *asked += 1;
        *asked == 3
    }
    let (mut count, mut asked) = (EventCount { version: 0, sleepers: [0; 4] }, 0u32);
    let answers = [(); 3].map(|()| {
        let context = (&raw mut asked).cast();
        call!(unc_event_count_wait_for(&raw mut count, Some(third), context, 1))
    });
    assert_eq!(answers, [Status::TimedOut, Status::TimedOut, Status::Ok]);
}
