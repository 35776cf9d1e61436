//! Byte records of any length for C: from one producer or many to one consumer, copied, or written and read in place.
//!
//! # Contract
//! The sides are handles, as those of `spsc`: one thread at a time uses a handle, and each is closed once. With many
//! producers, each has a handle of its own, and the records arrive in the order of the claims. Memory in place is
//! aligned to 8 bytes. While a record is claimed, every other call to push, claim or clone returns
//! UNC_STATUS_INVALID; every call to read or pop ends a reading in place.
//!
//! # State
//! I1: a handle points to a side in a box, from its creation until it is closed.
//! I2: only one thread at a time calls with a handle, so a call has exclusive access to it.
//! I3: `held` borrows `*side`, which is accessed only through it while it is there. `side` was leaked from a box.
//!
//! # Evidence
//! tests/c_library.rs: every function, every status. The rings are those of the crate `ring`.

use super::elements::store;
use super::spsc::ended;
use super::status::Status;
use std::ffi::c_void;
use std::ptr::NonNull;
use uncontended_ring::records::{Chunk, Record, mpsc, spsc};
use uncontended_wait::{Deadline, Sleepers};

/// The consumer of a ring that has many producers.
/// cbindgen:ignore
pub(super) type ManyConsumer = mpsc::Consumer<Sleepers>;

/// A side, and what it has claimed or is reading.
#[derive(Debug)]
struct Side<S, H> {
    held: Option<H>,
    side: NonNull<S>,
}

impl<S, H> Side<S, H> {
    fn new(side: S) -> Side<S, H> {
        Side { held: None, side: NonNull::from(Box::leak(Box::new(side))) }
    }

    /// The side. What it held is dropped: a claim is aborted, a record is read again.
    ///
    /// # Safety
    /// The result, and what borrows it, is used no longer than `held` of this `Side`, or until the next call.
    unsafe fn free<'s>(&mut self) -> &'s mut S {
        self.held = None;
        // SAFETY: the box lives, and nothing is held that borrows it (I3).
        unsafe { self.side.as_mut() }
    }
}

impl<S, H> Drop for Side<S, H> {
    fn drop(&mut self) {
        self.held = None;
        // SAFETY: it was leaked from a box, and nothing borrows it any more (I3).
        drop(unsafe { Box::from_raw(self.side.as_ptr()) });
    }
}

/// The side that writes records.
#[derive(Debug)]
pub struct RecordProducer(Writes);

#[derive(Debug)]
enum Writes {
    One(Side<spsc::Producer<Sleepers>, Chunk<'static, spsc::Producer<Sleepers>>>),
    Many(Side<mpsc::Producer<Sleepers>, Chunk<'static, mpsc::Producer<Sleepers>>>),
}

/// The side that reads records.
#[derive(Debug)]
pub struct RecordConsumer(Reads);

#[derive(Debug)]
enum Reads {
    One(Side<spsc::Consumer<Sleepers>, Record<'static, spsc::Consumer<Sleepers>>>),
    Many(Side<mpsc::Consumer<Sleepers>, Record<'static, mpsc::Consumer<Sleepers>>>),
}

/// The same code for either kind of side.
macro_rules! either {
    ($kind:ident, $handle:expr, $side:ident => $body:expr) => {
        match &mut $handle.0 {
            $kind::One($side) => $body,
            $kind::Many($side) => $body,
        }
    };
}

impl RecordProducer {
    fn has_claimed(&self) -> bool {
        match &self.0 {
            Writes::One(side) => side.held.is_some(),
            Writes::Many(side) => side.held.is_some(),
        }
    }

    /// A producer of a ring that has many.
    pub(super) fn many(side: mpsc::Producer<Sleepers>) -> *mut RecordProducer {
        Box::into_raw(Box::new(RecordProducer(Writes::Many(Side::new(side)))))
    }
}

impl RecordConsumer {
    /// The consumer of a ring that has many producers.
    pub(super) fn of_many(side: ManyConsumer) -> *mut RecordConsumer {
        Box::into_raw(Box::new(RecordConsumer(Reads::Many(Side::new(side)))))
    }
}

/// Makes a ring of at least `bytes` bytes for records from one producer, and stores its two sides. A record takes 8
/// bytes and its length, rounded up to a multiple of 8; the longest is a little less than half of the ring. On failure,
/// returns why and stores nothing.
///
/// # Safety
/// `producer` and `consumer` point to memory for a pointer each, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_create(
    bytes: usize,
    producer: *mut *mut RecordProducer,
    consumer: *mut *mut RecordConsumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    match spsc::blocking(bytes) {
        Ok((writes, reads)) => {
            let writes = RecordProducer(Writes::One(Side::new(writes)));
            let reads = RecordConsumer(Reads::One(Side::new(reads)));
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { producer.write(Box::into_raw(Box::new(writes))) };
            // SAFETY: as above (I1).
            unsafe { consumer.write(Box::into_raw(Box::new(reads))) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// The same for records from many producers, of which it stores the first.
///
/// # Safety
/// As for `unc_records_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_create_many(
    bytes: usize,
    producer: *mut *mut RecordProducer,
    consumer: *mut *mut RecordConsumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    match mpsc::blocking(bytes) {
        Ok((writes, reads)) => {
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { producer.write(RecordProducer::many(writes)) };
            // SAFETY: as above (I1).
            unsafe { consumer.write(RecordConsumer::of_many(reads)) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Adds a producer to a ring that has many, and stores its handle in `*another`. UNC_STATUS_INVALID: the ring has one
/// producer.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `another` points to memory for a pointer or is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_clone_producer(
    producer: *mut RecordProducer,
    another: *mut *mut RecordProducer,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    match unsafe { producer.as_mut() } {
        Some(RecordProducer(Writes::Many(side))) if side.held.is_none() && !another.is_null() => {
            // SAFETY: the borrow ends here (I3).
            let cloned = unsafe { side.free() }.clone();
            // SAFETY: by the contract, memory for a pointer (I1).
            unsafe { another.write(RecordProducer::many(cloned)) };
            Status::Ok
        }
        _ => Status::Invalid,
    }
}

/// Pushes a record with a copy of the `length` bytes at `bytes`. Sleeps until there is room, at most until
/// `deadline_ns`; with UNC_NOW it never sleeps. UNC_STATUS_FULL: there is no room. UNC_STATUS_TOO_LONG: there never
/// will be. UNC_STATUS_CLOSED: the consumer is gone.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `bytes` points to `length` bytes, or is null
/// if `length` is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_push(
    producer: *mut RecordProducer,
    bytes: *const c_void,
    length: usize,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() }.filter(|side| !side.has_claimed());
    let Some(producer) = producer.filter(|_| length == 0 || !bytes.is_null()) else {
        return Status::Invalid;
    };
    either!(Writes, producer, side => {
        // SAFETY: the borrow ends in this block (I3).
        let side = unsafe { side.free() };
        let claimed = match deadline_ns {
            0 => side.claim(length),
            at => side.claim_deadline(length, Deadline::at_ns(at)),
        };
        ended(claimed.map(|mut chunk| {
            if length > 0 {
                // SAFETY: by the contract `length` bytes are there (C1), and the chunk has as many.
                unsafe { chunk.as_mut_ptr().copy_from_nonoverlapping(bytes.cast(), length) };
            }
            chunk.commit();
        }))
    })
}

/// Claims room for a record of `length` bytes in place and stores a pointer to it in `*memory`; waits and fails as
/// `unc_records_push`. Write the bytes, then call `unc_records_commit` or `unc_records_abort`. The memory is not
/// cleared. Records that other producers claim later wait for this one.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `memory` points to memory for a pointer or is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_claim(
    producer: *mut RecordProducer,
    length: usize,
    memory: *mut *mut c_void,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() }.filter(|side| !side.has_claimed());
    let Some(producer) = producer.filter(|_| !memory.is_null()) else { return Status::Invalid };
    either!(Writes, producer, side => {
        // SAFETY: what borrows it is held (I3).
        let free = unsafe { side.free() };
        let claimed = match deadline_ns {
            0 => free.claim(length),
            at => free.claim_deadline(length, Deadline::at_ns(at)),
        };
        ended(claimed.map(|mut chunk| {
            // SAFETY: by the contract, memory for a pointer (C1).
            unsafe { memory.write(chunk.as_mut_ptr().cast()) };
            side.held = Some(chunk);
        }))
    })
}

/// Publishes the claimed record. UNC_STATUS_INVALID: none is claimed.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; the claimed memory is not accessed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_commit(producer: *mut RecordProducer) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(producer) = (unsafe { producer.as_mut() }) else { return Status::Invalid };
    either!(Writes, producer, side => match side.held.take() {
        Some(chunk) => {
            chunk.commit();
            Status::Ok
        }
        None => Status::Invalid,
    })
}

/// Gives the claimed record up: the consumer never sees it. UNC_STATUS_INVALID: none is claimed.
///
/// # Safety
/// As for `unc_records_commit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_abort(producer: *mut RecordProducer) -> Status {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() }.filter(|side| side.has_claimed());
    let Some(producer) = producer else { return Status::Invalid };
    either!(Writes, producer, side => side.held = None);
    Status::Ok
}

/// The length of the longest record of the ring, in bytes. 0 while one is claimed.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_longest(producer: *mut RecordProducer) -> usize {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() }.filter(|side| !side.has_claimed());
    let Some(producer) = producer else { return 0 };
    // SAFETY: the borrow ends here (I3).
    either!(Writes, producer, side => unsafe { side.free() }.longest())
}

/// Closes the handle. A claimed record is given up. Null is ignored.
///
/// # Safety
/// `producer` is null or a producer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_close_producer(producer: *mut RecordProducer) {
    if !producer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(producer) });
    }
}

/// Finds the oldest record in place, and stores a pointer to its bytes in `*bytes` and their number in `*length`. It
/// stays in the ring until `unc_records_release`. Sleeps until there is one, at most until `deadline_ns`; with UNC_NOW
/// it never sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: there is none, and all producers are gone.
///
/// A RECORD THAT IS NOT RELEASED IS FOUND AGAIN by the next read: a loop that does not release it never ends, and the
/// producers wait for room.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `bytes` and `length` point to memory for a
/// pointer and a number, or are null. The bytes may be read until the next call with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_read(
    consumer: *mut RecordConsumer,
    bytes: *mut *const c_void,
    length: *mut usize,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() };
    let Some(consumer) = consumer.filter(|_| !bytes.is_null() && !length.is_null()) else {
        return Status::Invalid;
    };
    either!(Reads, consumer, side => {
        // SAFETY: what borrows it is held (I3).
        let free = unsafe { side.free() };
        let found = match deadline_ns {
            0 => free.read(),
            at => free.read_deadline(Deadline::at_ns(at)),
        };
        ended(found.map(|record| {
            // SAFETY: by the contract, memory for a pointer (C1).
            unsafe { bytes.write(record.as_ptr().cast()) };
            // SAFETY: by the contract, memory for a number (C1).
            unsafe { length.write(record.len()) };
            side.held = Some(record);
        }))
    })
}

/// Pops the record that is being read. UNC_STATUS_INVALID: none is.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; the record is not accessed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_release(consumer: *mut RecordConsumer) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    either!(Reads, consumer, side => match side.held.take() {
        Some(record) => {
            record.release();
            Status::Ok
        }
        None => Status::Invalid,
    })
}

/// Skips a claim whose producer died, and stores in `*skipped` how many bytes that gave back; 0: no claim was in the
/// way. UNC_STATUS_INVALID: the ring has one producer.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `skipped` points to a number or is null. The
/// next claim will never be committed, given up or written, and no living producer is inside a call to claim or push
/// now. Producers may hold other claims.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_unblock(
    consumer: *mut RecordConsumer,
    skipped: *mut usize,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let Some(RecordConsumer(Reads::Many(side))) = (unsafe { consumer.as_mut() }) else {
        return Status::Invalid;
    };
    // SAFETY: the borrow ends here (I3).
    let side = unsafe { side.free() };
    // SAFETY: the same contract (I2).
    match unsafe { side.unblock() } {
        Ok(bytes) => {
            // SAFETY: by the contract a number is there, or null (C1).
            unsafe { store(skipped, bytes) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Pops the oldest record into the `room` bytes at `buffer`, and stores its length in `*length`. Waits and fails as
/// `unc_records_read`. UNC_STATUS_TOO_LONG: it has more than `room` bytes; `*length` says how many, and it stays.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `buffer` points to memory for `room` bytes, or
/// is null if `room` is zero; `length` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_pop(
    consumer: *mut RecordConsumer,
    buffer: *mut c_void,
    room: usize,
    length: *mut usize,
    deadline_ns: u64,
) -> Status {
    if buffer.is_null() && room > 0 {
        return Status::Invalid;
    }
    let (mut bytes, mut found) = (std::ptr::null(), 0);
    // SAFETY: the same contract (I1, I2); the places are ours (C1).
    let status = unsafe { unc_records_read(consumer, &raw mut bytes, &raw mut found, deadline_ns) };
    if status != Status::Ok {
        return status;
    }
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(length, found) };
    if found > room {
        return Status::TooLong;
    }
    if found > 0 {
        // SAFETY: the record has that many bytes until it is released, and the buffer has room for them (C1).
        unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(bytes.cast(), found) };
    }
    // SAFETY: the same contract (I1, I2).
    unsafe { unc_records_release(consumer) }
}

/// Closes the handle. Null is ignored.
///
/// # Safety
/// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_records_close_consumer(consumer: *mut RecordConsumer) {
    if !consumer.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(consumer) });
    }
}
