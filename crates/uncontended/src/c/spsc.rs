//! Rings for C: 64-bit values (numbers or pointers) from one thread to another, with sleeping on both sides.
//!
//! # Contract
//! The two sides are handles. One thread at a time uses a handle. Each handle is closed once, by
//! `unc_ring_close_producer` or `unc_ring_close_consumer`; the other side then gets the values already pushed and after
//! them UNC_STATUS_CLOSED.
//!
//! # State
//! I1: a handle points to a side in a box, from `unc_ring_create` until it is closed.
//! I2: only one thread at a time calls with a handle, so a call has exclusive access to it.
//!
//! # Evidence
//! tests/c_library.rs. The ring is that of the crate `ring`.

use super::status::Status;
use uncontended_ring::spsc;
use uncontended_wait::{Deadline, Sleepers};

/// The side that pushes.
#[derive(Debug)]
pub struct Producer(spsc::Producer<u64, Sleepers>);

/// The side that pops.
#[derive(Debug)]
pub struct Consumer(spsc::Consumer<u64, Sleepers>);

/// Makes a ring for `capacity` values and stores its two sides. On failure, returns why and stores nothing.
///
/// # Safety
/// `producer` and `consumer` point to memory for a pointer each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_create(
    capacity: usize,
    producer: *mut *mut Producer,
    consumer: *mut *mut Consumer,
) -> Status {
    match spsc::blocking(capacity) {
        Ok((pushes, pops)) => {
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { producer.write(Box::into_raw(Box::new(Producer(pushes)))) };
            // SAFETY: as above (I1).
            unsafe { consumer.write(Box::into_raw(Box::new(Consumer(pops)))) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Pushes `value`. Sleeps until there is room, at most until `deadline_ns`. UNC_STATUS_FULL: the deadline has passed.
/// UNC_STATUS_CLOSED: the consumer is gone.
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
    let producer = unsafe { &mut *producer };
    ended(producer.0.push_deadline(value, Deadline::at_ns(deadline_ns)))
}

/// Pushes `value` if there is room. Never sleeps.
///
/// # Safety
/// `producer` is a producer's handle, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_push(producer: *mut Producer, value: u64) -> Status {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { &mut *producer };
    ended(producer.0.push(value))
}

/// Pushes as many of the `count` values as there is room for, and returns their number. Never sleeps.
///
/// # Safety
/// `producer` is a producer's handle, and no other call uses it; `values` points to `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_push_many(
    producer: *mut Producer,
    values: *const u64,
    count: usize,
) -> usize {
    if count == 0 {
        return 0;
    }
    // SAFETY: by the contract there are that many values (C1).
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    // SAFETY: by the contract (I1, I2).
    unsafe { &mut *producer }.0.push_slice(values)
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `producer` is null or a producer's handle that is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_close_producer(producer: *mut Producer) {
    if !producer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(producer) });
    }
}

/// Pops the oldest value. Sleeps until there is one, at most until `deadline_ns`. UNC_STATUS_EMPTY: the deadline has
/// passed. UNC_STATUS_CLOSED: the ring is empty and the producer is gone.
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
    let popped = unsafe { &mut *consumer }.0.pop_deadline(Deadline::at_ns(deadline_ns));
    // SAFETY: by the contract there is memory for a value (C1).
    ended(popped.map(|popped| unsafe { value.write(popped) }))
}

/// Pops the oldest value if there is one. Never sleeps.
///
/// # Safety
/// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_pop(consumer: *mut Consumer, value: *mut u64) -> Status {
    // SAFETY: by the contract (I1, I2).
    let popped = unsafe { &mut *consumer }.0.pop();
    // SAFETY: by the contract there is memory for a value (C1).
    ended(popped.map(|popped| unsafe { value.write(popped) }))
}

/// Pops as many values as there are, at most `count`, and returns their number. Never sleeps.
///
/// # Safety
/// `consumer` is a consumer's handle, and no other call uses it; `values` points to `count` initialised values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_try_pop_many(
    consumer: *mut Consumer,
    values: *mut u64,
    count: usize,
) -> usize {
    if count == 0 {
        return 0;
    }
    // SAFETY: by the contract there are that many values (C1).
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    // SAFETY: by the contract (I1, I2).
    unsafe { &mut *consumer }.0.pop_slice(values)
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `consumer` is null or a consumer's handle that is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_close_consumer(consumer: *mut Consumer) {
    if !consumer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(consumer) });
    }
}

fn ended<E: Into<Status>>(result: Result<(), E>) -> Status {
    result.map_or_else(E::into, |()| Status::Ok)
}
