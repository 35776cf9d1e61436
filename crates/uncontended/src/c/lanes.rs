//! Lanes for C: many producers, each with a ring of its own, and one consumer that takes from all in turn.
//!
//! # Contract
//! The sides are handles, as those of `spsc`: one thread at a time uses a handle, and each is closed once. A producer's
//! values arrive in its order; between producers there is no order. A producer that is closed gives its lane back.
//!
//! # State
//! I1: a handle points to a side in a box, from its creation until it is closed.
//! I2: only one thread at a time calls with a handle, so a call has exclusive access to it.
//!
//! # Evidence
//! tests/c_library.rs. The lanes are those of the crate `ring`.

use super::cells::{self, Byte, Cell, with_cells};
use super::elements::store;
use super::status::Status;
use std::ffi::c_void;
use uncontended_ring::lanes;
use uncontended_ring::notifier::Joint;
use uncontended_wait::Deadline;

/// The most lanes.
const LANES: usize = 1 << 16;

/// A producer with a lane of its own.
pub struct LaneProducer {
    side: Box<dyn Pushes>,
    size: usize,
}

/// The consumer of all lanes.
pub struct LaneConsumer {
    side: Box<dyn Pops>,
    size: usize,
}

impl std::fmt::Debug for LaneProducer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneProducer").field("size", &self.size).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LaneConsumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneConsumer").field("size", &self.size).finish_non_exhaustive()
    }
}

/// A producer, whatever its cells.
trait Pushes {
    fn push(&mut self, element: &[Byte], deadline_ns: u64) -> Result<(), Status>;
    fn another(&self) -> Option<Box<dyn Pushes>>;
}

/// A consumer, whatever its cells.
trait Pops {
    fn pop(&mut self, element: &mut [Byte], deadline_ns: u64) -> Result<(), Status>;
}

impl<const BYTES: usize> Pushes for lanes::Producer<Cell<BYTES>, Joint> {
    fn push(&mut self, element: &[Byte], deadline_ns: u64) -> Result<(), Status> {
        let cell = Cell::of(element);
        match deadline_ns {
            0 => lanes::Producer::push(self, cell),
            at => self.push_deadline(cell, Deadline::at_ns(at)),
        }
        .map_err(Status::from)
    }

    fn another(&self) -> Option<Box<dyn Pushes>> {
        Some(Box::new(self.try_clone()?))
    }
}

impl<const BYTES: usize> Pops for lanes::Consumer<Cell<BYTES>, Joint> {
    fn pop(&mut self, element: &mut [Byte], deadline_ns: u64) -> Result<(), Status> {
        let popped = match deadline_ns {
            0 => lanes::Consumer::pop(self),
            at => self.pop_deadline(Deadline::at_ns(at)),
        };
        popped.map(|cell| cell.copy_to(element)).map_err(Status::from)
    }
}

/// Both sides.
type Sides = (Box<dyn Pushes>, Box<dyn Pops>);

fn sides<const BYTES: usize>(lanes: usize, capacity: usize) -> Result<Sides, Status> {
    let (producer, consumer) = lanes::blocking::<Cell<BYTES>>(lanes, capacity)?;
    Ok((Box::new(producer), Box::new(consumer)))
}

/// Makes `lanes` lanes for `capacity` elements each, of `size` bytes, and stores the first producer and the consumer.
/// An element takes `size` rounded up to a power of two, at least 8 bytes. On failure, returns why and stores nothing.
/// UNC_STATUS_TOO_LONG: `size` is above 4096. UNC_STATUS_TOO_LARGE: there are more than 65536 lanes, or not enough
/// memory. UNC_STATUS_ZERO_CAPACITY: there is no lane, or none with room.
///
/// # Safety
/// `producer` and `consumer` point to memory for a pointer each, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_create(
    size: usize,
    lanes: usize,
    capacity: usize,
    producer: *mut *mut LaneProducer,
    consumer: *mut *mut LaneConsumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    if lanes > LANES {
        return Status::TooLarge;
    }
    let made: Result<Sides, Status> = with_cells!(size, BYTES => sides::<BYTES>(lanes, capacity));
    match made {
        Ok((pushes, pops)) => {
            let pushes = Box::new(LaneProducer { side: pushes, size });
            let pops = Box::new(LaneConsumer { side: pops, size });
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { producer.write(Box::into_raw(pushes)) };
            // SAFETY: as above (I1).
            unsafe { consumer.write(Box::into_raw(pops)) };
            Status::Ok
        }
        Err(status) => status,
    }
}

/// Adds a producer with a free lane, and stores its handle in `*another`. UNC_STATUS_FULL: all lanes have a producer.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `another` points to memory for a pointer or is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_clone_producer(
    producer: *mut LaneProducer,
    another: *mut *mut LaneProducer,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(producer) = (unsafe { producer.as_mut() }).filter(|_| !another.is_null()) else {
        return Status::Invalid;
    };
    match producer.side.another() {
        Some(side) => {
            let made = Box::new(LaneProducer { side, size: producer.size });
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { another.write(Box::into_raw(made)) };
            Status::Ok
        }
        None => Status::Full,
    }
}

/// Pushes a copy of `*element` into the producer's lane. Sleeps until there is room, at most until `deadline_ns`; with
/// UNC_NOW it never sleeps. UNC_STATUS_FULL: there is no room. UNC_STATUS_CLOSED: the consumer is gone.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `element` points to an element or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_push(
    producer: *mut LaneProducer,
    element: *const c_void,
    deadline_ns: u64,
) -> Status {
    // SAFETY: the same contract (I1, I2).
    unsafe { unc_lanes_push_many(producer, element, 1, deadline_ns, std::ptr::null_mut()) }
}

/// Pushes copies of the `count` elements at `elements`, each as `unc_lanes_push`, and stores in `*pushed` how many were
/// pushed, whatever the result.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `elements` points to `count` elements or is
/// null; `pushed` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_push_many(
    producer: *mut LaneProducer,
    elements: *const c_void,
    count: usize,
    deadline_ns: u64,
    pushed: *mut usize,
) -> Status {
    let mut done = 0;
    // SAFETY: by the contract (I1, I2).
    let status = match unsafe { producer.as_mut() } {
        // SAFETY: by the contract the elements are there (C1).
        Some(producer) => match unsafe { cells::elements(elements, producer.size, count) } {
            Ok(bytes) => {
                let mut each = bytes.chunks_exact(producer.size);
                let pushes = each.try_for_each(|element| {
                    producer.side.push(element, deadline_ns).inspect(|()| done += 1)
                });
                pushes.err().unwrap_or(Status::Ok)
            }
            Err(status) => status,
        },
        None => Status::Invalid,
    };
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(pushed, done) };
    status
}

/// Closes the handle: another producer may have its lane. Null is ignored.
///
/// # Safety
/// `producer` is null or a producer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_close_producer(producer: *mut LaneProducer) {
    if !producer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(producer) });
    }
}

/// Pops the oldest element of a lane into `*element`. Sleeps until there is one, at most until `deadline_ns`; with
/// UNC_NOW it never sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: there is none, and all producers are
/// gone.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `element` points to memory for an element or
/// is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_pop(
    consumer: *mut LaneConsumer,
    element: *mut c_void,
    deadline_ns: u64,
) -> Status {
    // SAFETY: the same contract (I1, I2).
    unsafe { unc_lanes_pop_many(consumer, element, 1, deadline_ns, std::ptr::null_mut()) }
}

/// Pops as many elements as there are, at most `count`, into `elements`, and stores their number in `*popped`. Sleeps
/// until there is one, at most until `deadline_ns`; with UNC_NOW it never sleeps. For the status of none, see
/// `unc_lanes_pop`.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `elements` points to memory for `count`
/// elements or is null; `popped` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_pop_many(
    consumer: *mut LaneConsumer,
    elements: *mut c_void,
    count: usize,
    deadline_ns: u64,
    popped: *mut usize,
) -> Status {
    let mut done = 0;
    // SAFETY: by the contract (I1, I2).
    let status = match unsafe { consumer.as_mut() } {
        // SAFETY: by the contract there is memory for the elements (C1).
        Some(consumer) => match unsafe { cells::elements_mut(elements, consumer.size, count) } {
            Ok(bytes) => {
                let mut each = bytes.chunks_exact_mut(consumer.size);
                // Only the first is waited for.
                let pops = each.try_for_each(|element| {
                    let deadline_ns = if done == 0 { deadline_ns } else { 0 };
                    consumer.side.pop(element, deadline_ns).inspect(|()| done += 1)
                });
                pops.err().filter(|_| done == 0).unwrap_or(Status::Ok)
            }
            Err(status) => status,
        },
        None => Status::Invalid,
    };
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(popped, done) };
    status
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_lanes_close_consumer(consumer: *mut LaneConsumer) {
    if !consumer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(consumer) });
    }
}
