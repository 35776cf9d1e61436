//! Byte records between processes for C: the ring lies in memory that the caller maps.
//!
//! # Contract
//! One process lays the ring out, others attach to it. An attachment hands out producers and the consumer, whose
//! functions are those of `records`. One thread at a time uses an attachment. The memory stays mapped until the
//! attachment and all handles made from it are closed.
//!
//! # State
//! I1: an attachment points to a `Shared` in a box, until it is detached.
//! I2: only one thread at a time calls with it.
//! I3: the memory is mapped as long as an attachment or a handle made from it exists, and is used only as a ring.
//!
//! # Evidence
//! tests/c_library.rs, with two processes, one of which dies. The ring is that of the crate `ring`.

use super::records::{RecordConsumer, RecordProducer};
use super::status::Status;
use std::ffi::c_void;
use std::ptr::NonNull;
use uncontended_ring::records::shared::{self, AttachError, RoleError, Shared};

/// This process's attachment to a ring of records in memory that processes share.
#[derive(Debug)]
pub struct SharedRecords(Shared);

impl From<AttachError> for Status {
    fn from(error: AttachError) -> Status {
        match error {
            AttachError::TooSmall { .. } => Status::TooSmall,
            AttachError::Misaligned { .. } => Status::Invalid,
            AttachError::Capacity(error) => error.into(),
            AttachError::Corrupt => Status::Corrupt,
            AttachError::NoRing
            | AttachError::Version { .. }
            | AttachError::Kind { .. }
            | AttachError::Element { .. } => Status::NoRing,
        }
    }
}

impl From<RoleError> for Status {
    fn from(error: RoleError) -> Status {
        match error {
            RoleError::Held { .. } => Status::Held,
            RoleError::Died { .. } => Status::Died,
            RoleError::GivenUp => Status::Closed,
            RoleError::Corrupt => Status::Corrupt,
        }
    }
}

/// The bytes of memory that a ring of at least `capacity` bytes needs. 0: there can be no such ring.
#[unsafe(no_mangle)]
pub extern "C" fn unc_shared_records_bytes(capacity: usize) -> usize {
    shared::bytes_for(capacity).unwrap_or(0)
}

/// Lays out an empty ring of at least `capacity` bytes in the `bytes` bytes at `memory`, attaches to it, and stores the
/// attachment. On failure, returns why and stores nothing. UNC_STATUS_TOO_SMALL: it needs more memory.
/// UNC_STATUS_INVALID: the memory is not aligned to 128 bytes, as pages always are.
///
/// # Safety
/// `memory` points to `bytes` bytes or is null; they stay mapped until the attachment and all handles made from it are
/// closed, are not in use as a ring yet, and never used as anything else: all processes write to them only through this
/// library. If another one may not, copy a record before you look at it. `records` points to memory for a pointer or is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_create(
    memory: *mut c_void,
    bytes: usize,
    capacity: usize,
    records: *mut *mut SharedRecords,
) -> Status {
    let Some(base) = NonNull::new(memory.cast()).filter(|_| !records.is_null()) else {
        return Status::Invalid;
    };
    // SAFETY: by the contract the memory stays mapped, and is free (I3).
    let made = unsafe { shared::create(base, bytes, capacity, ()) };
    // SAFETY: by the contract, memory for a pointer (I1).
    unsafe { attached(made, records) }
}

/// Attaches to the ring in the `bytes` bytes at `memory`, and stores the attachment. On failure, returns why and stores
/// nothing. UNC_STATUS_NO_RING: none has been laid out there, or another kind, or by another version of this library.
///
/// # Safety
/// As for `unc_shared_records_create`, except that the memory is in use as a ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_attach(
    memory: *mut c_void,
    bytes: usize,
    records: *mut *mut SharedRecords,
) -> Status {
    let Some(base) = NonNull::new(memory.cast()).filter(|_| !records.is_null()) else {
        return Status::Invalid;
    };
    // SAFETY: by the contract the memory stays mapped, and is used only as a ring (I3).
    let found = unsafe { shared::attach(base, bytes, ()) };
    // SAFETY: by the contract, memory for a pointer (I1).
    unsafe { attached(found, records) }
}

/// Stores an attachment.
///
/// # Safety
/// `records` points to memory for a pointer.
unsafe fn attached(made: Result<Shared, AttachError>, records: *mut *mut SharedRecords) -> Status {
    match made {
        Ok(made) => {
            // SAFETY: by the contract (I1).
            unsafe { records.write(Box::into_raw(Box::new(SharedRecords(made)))) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Adds a producer, and stores its handle. UNC_STATUS_CLOSED: the ring was closed to new producers. It belongs to this
/// process, as the consumer does: a copy that a fork leaves in a child may be closed, which changes nothing, but not
/// used.
///
/// # Safety
/// `records` is an attachment or null, and no other call uses it; `producer` points to memory for a pointer or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_producer(
    records: *mut SharedRecords,
    producer: *mut *mut RecordProducer,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    match unsafe { records.as_ref() } {
        Some(records) if !producer.is_null() => match records.0.producer() {
            Ok(side) => {
                // SAFETY: by the contract, memory for a pointer (I1).
                unsafe { producer.write(RecordProducer::many(side)) };
                Status::Ok
            }
            Err(error) => error.into(),
        },
        _ => Status::Invalid,
    }
}

/// Claims the role of the consumer, and stores its handle. UNC_STATUS_HELD: another holder has the role.
/// UNC_STATUS_DIED: the process that had it died; take it over. UNC_STATUS_CLOSED: the consumer has been closed.
///
/// # Safety
/// `records` is an attachment or null, and no other call uses it; `consumer` points to memory for a pointer or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_consumer(
    records: *mut SharedRecords,
    consumer: *mut *mut RecordConsumer,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    match unsafe { records.as_ref() } {
        // SAFETY: by the contract, memory for a pointer (I1).
        Some(records) => unsafe { claimed(|| records.0.consumer(), consumer) },
        None => Status::Invalid,
    }
}

/// Takes the role of the consumer over from a process that died, and stores the new handle. It reads again what the
/// dead one had not released; call `unc_records_unblock` first. Otherwise as `unc_shared_records_consumer`.
///
/// # Safety
/// As for `unc_shared_records_consumer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_take_over(
    records: *mut SharedRecords,
    consumer: *mut *mut RecordConsumer,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    match unsafe { records.as_ref() } {
        // SAFETY: by the contract, memory for a pointer (I1).
        Some(records) => unsafe { claimed(|| records.0.take_over_consumer(), consumer) },
        None => Status::Invalid,
    }
}

/// Claims the role, and stores the consumer.
///
/// # Safety
/// `consumer` points to memory for a pointer or is null.
unsafe fn claimed(
    claim: impl FnOnce() -> Result<super::records::ManyConsumer, RoleError>,
    consumer: *mut *mut RecordConsumer,
) -> Status {
    if consumer.is_null() {
        return Status::Invalid;
    }
    match claim() {
        Ok(side) => {
            // SAFETY: by the contract (I1).
            unsafe { consumer.write(RecordConsumer::of_many(side)) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Announces that no more producers will join, in any process. Once the present ones are closed, the consumer gets
/// UNC_STATUS_CLOSED. Null is ignored.
///
/// # Safety
/// `records` is an attachment or null, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_close(records: *mut SharedRecords) {
    // SAFETY: by the contract (I1, I2).
    if let Some(records) = unsafe { records.as_ref() } {
        records.0.close();
    }
}

/// Frees the attachment. Handles made from it stay valid. Null is ignored.
///
/// # Safety
/// `records` is null or an attachment that is open. To close it twice, or to use it
/// after this, is undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_shared_records_detach(records: *mut SharedRecords) {
    if !records.is_null() {
        // SAFETY: by the contract the box exists, and now it is ours (I1).
        drop(unsafe { Box::from_raw(records) });
    }
}
