//! Rings for C: values of a fixed size from one thread to another, with sleeping on both sides. Here: making and
//! closing them, and values of 64 bits (numbers or pointers). `elements` has the functions for values of any size.
//!
//! # Contract
//! The two sides are handles. One thread at a time uses a handle. Each handle is closed once, by
//! `unc_ring_close_producer` or `unc_ring_close_consumer`; the other side then gets the values already pushed and after
//! them UNC_STATUS_CLOSED. A call with null for a handle or for the memory of values returns UNC_STATUS_INVALID, and so
//! does a call for 64-bit values with a ring of other ones.
//!
//! # State
//! I1: a handle points to a side in a box, from `unc_ring_create` until it is closed.
//! I2: only one thread at a time calls with a handle, so a call has exclusive access to it.
//!
//! # Evidence
//! tests/c_library.rs. The ring is that of the crate `ring`.

use super::elements::{Shape, Word};
use super::status::Status;
use std::mem::MaybeUninit;
use uncontended_ring::spsc;
use uncontended_wait::{Deadline, Sleepers};

/// The side that pushes.
#[derive(Debug)]
pub struct Producer {
    pub(super) ring: spsc::Producer<Word, Sleepers>,
    pub(super) shape: Shape,
    /// How many elements are claimed and not committed yet.
    pub(super) claimed: usize,
}

/// The side that pops.
#[derive(Debug)]
pub struct Consumer {
    pub(super) ring: spsc::Consumer<Word, Sleepers>,
    pub(super) shape: Shape,
    /// How many elements are being read in place.
    pub(super) being_read: usize,
}

impl Producer {
    /// Whether 64-bit values can be pushed now.
    #[inline(always)]
    fn takes_numbers(&self) -> bool {
        self.shape.is_number() && self.claimed == 0
    }
}

/// Makes a ring for `capacity` 64-bit values and stores its two sides. On failure, returns why and stores nothing.
///
/// # Safety
/// `producer` and `consumer` point to memory for a pointer each, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_create(
    capacity: usize,
    producer: *mut *mut Producer,
    consumer: *mut *mut Consumer,
) -> Status {
    // SAFETY: the same contract (I1).
    unsafe { unc_ring_create_of(size_of::<u64>(), capacity, producer, consumer) }
}

/// Makes a ring for `capacity` elements of `size` bytes each and stores its two sides. An element takes `size` rounded
/// up to a power of two, at least 8 bytes. On failure, returns why and stores nothing. UNC_STATUS_INVALID: `size` is
/// zero.
///
/// # Safety
/// `producer` and `consumer` point to memory for a pointer each, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_create_of(
    size: usize,
    capacity: usize,
    producer: *mut *mut Producer,
    consumer: *mut *mut Consumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    let shape = match Shape::of(size) {
        Ok(shape) => shape,
        Err(status) => return status,
    };
    match spsc::blocking(shape.words_of(capacity)) {
        Ok((pushes, pops)) => {
            let pushes = Producer { ring: pushes, shape, claimed: 0 };
            let pops = Consumer { ring: pops, shape, being_read: 0 };
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { producer.write(Box::into_raw(Box::new(pushes))) };
            // SAFETY: as above (I1).
            unsafe { consumer.write(Box::into_raw(Box::new(pops))) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Pushes a 64-bit value. Sleeps until there is room, at most until `deadline_ns`. UNC_STATUS_FULL: the deadline has
/// passed. UNC_STATUS_CLOSED: the consumer is gone.
///
/// # Safety
/// `producer` is a producer's handle, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_push(
    producer: *mut Producer,
    value: u64,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(producer) = (unsafe { producer.as_mut() }).filter(|side| side.takes_numbers()) else {
        return Status::Invalid;
    };
    ended(producer.ring.push_deadline(MaybeUninit::new(value), Deadline::at_ns(deadline_ns)))
}

/// Pushes `value` if there is room. Never sleeps.
///
/// # Safety
/// `producer` is a producer's handle, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_push(producer: *mut Producer, value: u64) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(producer) = (unsafe { producer.as_mut() }).filter(|side| side.takes_numbers()) else {
        return Status::Invalid;
    };
    ended(producer.ring.push(MaybeUninit::new(value)))
}

/// Pushes as many of the `count` values as there is room for, and returns their number. Never sleeps. 0 means full, or
/// that nothing will ever be pushed: the consumer has gone, or elements are not of 8 bytes. `unc_ring_try_push` says
/// which.
///
/// # Safety
/// `producer` is a producer's handle, and no other call uses it; `values` points to `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_push_many(
    producer: *mut Producer,
    values: *const u64,
    count: usize,
) -> usize {
    if count == 0 || values.is_null() {
        return 0;
    }
    // SAFETY: by the contract (I1, I2).
    let Some(producer) = (unsafe { producer.as_mut() }).filter(|side| side.takes_numbers()) else {
        return 0;
    };
    // SAFETY: by the contract there are that many values (C1); a number is a valid word.
    producer.ring.push_slice(unsafe { std::slice::from_raw_parts(values.cast::<Word>(), count) })
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `producer` is null or a producer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_close_producer(producer: *mut Producer) {
    if !producer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(producer) });
    }
}

/// Pops the oldest 64-bit value. Sleeps until there is one, at most until `deadline_ns`. UNC_STATUS_EMPTY: the deadline
/// has passed. UNC_STATUS_CLOSED: the ring is empty and the producer is gone.
///
/// # Safety
/// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_pop(
    consumer: *mut Consumer,
    value: *mut u64,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(consumer) = (unsafe { numbers(consumer) }).filter(|_| !value.is_null()) else {
        return Status::Invalid;
    };
    let popped = consumer.ring.pop_deadline(Deadline::at_ns(deadline_ns));
    // SAFETY: by the contract there is memory for a value (C1).
    ended(popped.map(|popped| unsafe { value.cast::<Word>().write(popped) }))
}

/// Pops the oldest value if there is one. Never sleeps.
///
/// # Safety
/// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_pop(consumer: *mut Consumer, value: *mut u64) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(consumer) = (unsafe { numbers(consumer) }).filter(|_| !value.is_null()) else {
        return Status::Invalid;
    };
    let popped = consumer.ring.pop();
    // SAFETY: by the contract there is memory for a value (C1).
    ended(popped.map(|popped| unsafe { value.cast::<Word>().write(popped) }))
}

/// Pops as many values as there are, at most `count`, and returns their number. Never sleeps. 0 means empty, or that
/// there will never be a value: `unc_ring_try_pop` says which.
///
/// # Safety
/// `consumer` is a consumer's handle, and no other call uses it; `values` points to memory for `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_pop_many(
    consumer: *mut Consumer,
    values: *mut u64,
    count: usize,
) -> usize {
    if count == 0 || values.is_null() {
        return 0;
    }
    // SAFETY: by the contract (I1, I2).
    let Some(consumer) = (unsafe { numbers(consumer) }) else { return 0 };
    // SAFETY: by the contract there is memory for that many (C1).
    consumer.ring.pop_slice(unsafe { std::slice::from_raw_parts_mut(values.cast::<Word>(), count) })
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_close_consumer(consumer: *mut Consumer) {
    if !consumer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(consumer) });
    }
}

/// The consumer, if its ring holds 64-bit values. What it was reading in place is read no longer.
///
/// # Safety
/// `consumer` is null or a consumer's handle, and no other call uses it.
#[inline(always)]
unsafe fn numbers<'c>(consumer: *mut Consumer) -> Option<&'c mut Consumer> {
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() }?;
    consumer.being_read = 0;
    consumer.shape.is_number().then_some(consumer)
}

/// What a call returns in the end.
pub(super) fn ended<E: Into<Status>>(result: Result<(), E>) -> Status {
    result.map_or_else(E::into, |()| Status::Ok)
}
