//! Broadcasts for C: one producer, and consumers that each see every value or share them, some after others.
//!
//! # Contract
//! The sides are handles, as those of `spsc`: one thread at a time uses a handle, and each is closed once. A stage sees
//! a value once all stages that it follows have released it. The producer waits for the slowest stage.
//!
//! # State
//! I1: a handle points to a side in a box, from its creation until it is closed.
//! I2: only one thread at a time calls with a handle, so a call has exclusive access to it.
//!
//! # Evidence
//! tests/c_library.rs. The broadcast is that of the crate `ring`.

use super::cells::{self, Byte, Cell, with_cells};
use super::elements::store;
use super::status::Status;
use std::ffi::c_void;
use uncontended_ring::PopError;
use uncontended_ring::broadcast::{Batch, Consumer, Plan, PlanError, Producer};
use uncontended_wait::{Deadline, Sleepers};

/// The most stages of a broadcast.
const STAGES: usize = 64;

/// The most members of a stage.
const MEMBERS: usize = 1 << 16;

/// A stage of a broadcast.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// How many consumers share the values. 0 and 1: a single one, which sees every value.
    pub members: usize,
    /// Bit i: this stage follows stage i. 0: it follows the producer alone.
    pub after: u64,
}

/// The side that publishes.
pub struct BroadcastProducer {
    side: Box<dyn Publishes>,
    size: usize,
}

/// A consumer: a stage, or a member of one.
pub struct BroadcastConsumer {
    side: Box<dyn Reads>,
    size: usize,
    /// How many elements are being read in place.
    being_read: usize,
}

impl std::fmt::Debug for BroadcastProducer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BroadcastProducer").field("size", &self.size).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for BroadcastConsumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BroadcastConsumer").field("size", &self.size).finish_non_exhaustive()
    }
}

/// A producer, whatever its cells.
trait Publishes {
    /// Publishes elements that lie side by side, as many as there is room for, and returns their number.
    fn push(&mut self, elements: &[Byte], size: usize, deadline_ns: u64) -> Result<usize, Status>;
}

/// A consumer, whatever its cells.
trait Reads {
    /// Where the oldest elements are, and how many, at most `most`.
    fn read(&mut self, most: usize, deadline_ns: u64) -> Result<(*const c_void, usize), Status>;
    fn release(&mut self, count: usize) -> Result<(), Status>;
    /// Copies elements side by side and releases them, and returns their number.
    fn pop(&mut self, elements: &mut [Byte], size: usize, deadline: u64) -> Result<usize, Status>;
}

impl<const BYTES: usize> Publishes for Producer<Cell<BYTES>, Sleepers> {
    fn push(&mut self, elements: &[Byte], size: usize, deadline_ns: u64) -> Result<usize, Status> {
        let count = (elements.len() / size).min(self.room()).max(1);
        let mut claim = match deadline_ns {
            0 => self.claim(count),
            at => self.claim_deadline(count, Deadline::at_ns(at)),
        }?;
        for element in elements.chunks_exact(size).take(count) {
            let _ = claim.push(Cell::of(element));
        }
        Ok(claim.publish())
    }
}

fn batch<const BYTES: usize>(
    consumer: &mut Consumer<Cell<BYTES>, Sleepers>,
    most: usize,
    deadline_ns: u64,
) -> Result<Batch<'_, Cell<BYTES>, Sleepers>, PopError> {
    match deadline_ns {
        0 => consumer.read(most),
        at => consumer.read_deadline(most, Deadline::at_ns(at)),
    }
}

impl<const BYTES: usize> Reads for Consumer<Cell<BYTES>, Sleepers> {
    fn read(&mut self, most: usize, deadline_ns: u64) -> Result<(*const c_void, usize), Status> {
        // The elements stay in the ring until this consumer releases them.
        let batch = batch(self, most, deadline_ns)?;
        let (first, _) = batch.as_slices();
        Ok((first.as_ptr().cast(), first.len()))
    }

    fn release(&mut self, count: usize) -> Result<(), Status> {
        if count > 0 {
            batch(self, count, 0)?.release_first(count);
        }
        Ok(())
    }

    fn pop(&mut self, elements: &mut [Byte], size: usize, deadline: u64) -> Result<usize, Status> {
        let batch = batch(self, elements.len() / size, deadline)?;
        for (cell, element) in batch.iter().zip(elements.chunks_exact_mut(size)) {
            cell.copy_to(element);
        }
        let count = batch.len();
        batch.release();
        Ok(count)
    }
}

impl From<PlanError> for Status {
    fn from(error: PlanError) -> Status {
        match error {
            PlanError::Capacity(error) => error.into(),
            _ => Status::Invalid,
        }
    }
}

/// The producer, and all consumers in the order of the stages.
type Sides = (Box<dyn Publishes>, Vec<Box<dyn Reads>>);

fn sides<const BYTES: usize>(capacity: usize, stages: &[Stage]) -> Result<Sides, Status> {
    let names: Vec<String> = (0..STAGES).map(|index| index.to_string()).collect();
    let mut plan = Plan::new(capacity);
    for (stage, name) in stages.iter().zip(&names) {
        let is_after = |&index: &usize| stage.after >> index & 1 == 1;
        let after: Vec<&str> = (0..STAGES).filter(is_after).map(|index| &*names[index]).collect();
        plan = match stage.members {
            0 | 1 => plan.consumer(name, &after),
            members => plan.group(name, members, &after),
        };
    }
    let (producer, mut consumers) = plan.blocking::<Cell<BYTES>>()?;
    let mut all: Vec<Box<dyn Reads>> = Vec::new();
    for name in &names[..stages.len()] {
        while let Some(consumer) = consumers.take(name) {
            all.push(Box::new(consumer));
        }
    }
    Ok((Box::new(producer), all))
}

/// Makes a broadcast of `capacity` elements of `size` bytes each to the `count` stages at `stages`. Stores the
/// producer, and at `consumers` the consumers of the first stage, then those of the second, and so on. The producer
/// waits for each consumer that is not closed. On failure, returns why and stores nothing. UNC_STATUS_INVALID: there is
/// no stage, or more than 64; or one has more than 65536 members; or one follows itself, directly or through others, or
/// one that is not there. UNC_STATUS_TOO_LONG: `size` is above 4096.
///
/// # Safety
/// `stages` points to `count` stages, `producer` to memory for a pointer, and `consumers` to memory for as many
/// pointers as all stages have consumers; or each is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_create(
    size: usize,
    capacity: usize,
    stages: *const Stage,
    count: usize,
    producer: *mut *mut BroadcastProducer,
    consumers: *mut *mut BroadcastConsumer,
) -> Status {
    if stages.is_null() || producer.is_null() || consumers.is_null() || count > STAGES {
        return Status::Invalid;
    }
    // SAFETY: by the contract the stages are there (C1).
    let stages = unsafe { std::slice::from_raw_parts(stages, count) };
    if stages.iter().any(|stage| stage.members > MEMBERS) {
        return Status::Invalid;
    }
    let made: Result<Sides, Status> = with_cells!(size, BYTES => sides::<BYTES>(capacity, stages));
    match made {
        Ok((side, all)) => {
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { producer.write(Box::into_raw(Box::new(BroadcastProducer { side, size }))) };
            for (index, side) in all.into_iter().enumerate() {
                let consumer = Box::new(BroadcastConsumer { side, size, being_read: 0 });
                // SAFETY: by the contract, memory for that many pointers (I1).
                unsafe { consumers.wrapping_add(index).write(Box::into_raw(consumer)) };
            }
            Status::Ok
        }
        Err(status) => status,
    }
}

/// Publishes copies of the `count` elements at `elements`, in parts as large as there is room for. Sleeps in between
/// until all are published, at most until `deadline_ns`; with UNC_NOW it never sleeps. Stores in `*pushed` how many
/// were, whatever the result. UNC_STATUS_FULL: there was no room for the rest. UNC_STATUS_CLOSED: all consumers are
/// gone.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `elements` points to `count` elements or is
/// null; `pushed` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_push(
    producer: *mut BroadcastProducer,
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
            Ok(bytes) => loop {
                let rest = &bytes[done * producer.size..];
                if rest.is_empty() {
                    break Status::Ok;
                }
                match producer.side.push(rest, producer.size, deadline_ns) {
                    Ok(some) => done += some,
                    Err(status) => break status,
                }
            },
            Err(status) => status,
        },
        None => Status::Invalid,
    };
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(pushed, done) };
    status
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `producer` is null or a producer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_close_producer(producer: *mut BroadcastProducer) {
    if !producer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(producer) });
    }
}

/// Copies the oldest elements that this consumer has not released, at most `count`, into `elements`, releases them, and
/// stores their number in `*popped`. Sleeps until there is one, at most until `deadline_ns`; with UNC_NOW it never
/// sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: there will never be one.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `elements` points to memory for `count`
/// elements or is null; `popped` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_pop(
    consumer: *mut BroadcastConsumer,
    elements: *mut c_void,
    count: usize,
    deadline_ns: u64,
    popped: *mut usize,
) -> Status {
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(popped, 0) };
    // SAFETY: by the contract (I1, I2).
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    consumer.being_read = 0;
    // SAFETY: by the contract there is memory for the elements (C1).
    match unsafe { cells::elements_mut(elements, consumer.size, count) } {
        Ok([]) => Status::Ok,
        Ok(bytes) => match consumer.side.pop(bytes, consumer.size, deadline_ns) {
            Ok(some) => {
                // SAFETY: by the contract a number is there, or null (C1).
                unsafe { store(popped, some) };
                Status::Ok
            }
            Err(status) => status,
        },
        Err(status) => status,
    }
}

/// Finds up to `most` of the oldest elements that this consumer has not released, in place, and stores a pointer to the
/// first in `*memory` and their number in `*count`. They lie `unc_ring_stride` bytes apart. A member of a stage takes
/// up to `most` elements for itself. Waits and fails as `unc_broadcast_pop`.
///
/// ELEMENTS THAT ARE NOT RELEASED (`unc_broadcast_release`) ARE FOUND AGAIN by the next read: a loop that releases none
/// never ends, and the producer waits for it.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `memory` and `count` point to memory for a
/// pointer and a number, or are null. The elements may be read until the next call with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_read(
    consumer: *mut BroadcastConsumer,
    most: usize,
    memory: *mut *const c_void,
    count: *mut usize,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() };
    let Some(consumer) = consumer.filter(|_| !memory.is_null() && !count.is_null()) else {
        return Status::Invalid;
    };
    consumer.being_read = 0;
    match consumer.side.read(most, deadline_ns) {
        Ok((first, some)) => {
            consumer.being_read = some;
            // SAFETY: by the contract, memory for a pointer (C1).
            unsafe { memory.write(first) };
            // SAFETY: by the contract, memory for a number (C1).
            unsafe { count.write(some) };
            Status::Ok
        }
        Err(status) => status,
    }
}

/// Releases the first `count` of the elements read last. The others are read again. UNC_STATUS_INVALID: fewer are being
/// read.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; the elements are not accessed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_release(
    consumer: *mut BroadcastConsumer,
    count: usize,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() };
    let is_read = |side: &&mut BroadcastConsumer| side.being_read > 0 && count <= side.being_read;
    let Some(consumer) = consumer.filter(is_read) else { return Status::Invalid };
    consumer.being_read = 0;
    consumer.side.release(count).err().unwrap_or(Status::Ok)
}

/// Closes the handle. The producer no longer waits for this consumer; stages after it see only what it released. Null
/// is ignored.
///
/// # Safety
/// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_broadcast_close_consumer(consumer: *mut BroadcastConsumer) {
    if !consumer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(consumer) });
    }
}
