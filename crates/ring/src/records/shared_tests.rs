//! Rings in provided memory: attached, refused, shared, closed.

use super::RecordError;
use super::shared::{AttachError, RoleError, Shared, attach, create};
use crate::CapacityError;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};

const BYTES: usize = 1024;

#[repr(align(128))]
struct Memory {
    _bytes: [u8; BYTES],
}

/// Memory that outlives the rings of a test, and is used only for rings (I1 of `shared`).
struct Given(NonNull<Memory>);

impl Given {
    fn new() -> Given {
        Given(NonNull::from(Box::leak(Box::new(Memory { _bytes: [0; BYTES] }))))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // SAFETY: `new` leaked it from a box (I1 of `shared`).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

fn make(base: NonNull<u8>, bytes: usize, capacity: usize) -> Result<Shared, AttachError> {
    // SAFETY: the memory belongs to a `Given` (I1 of `shared`).
    unsafe { create(base, bytes, capacity, ()) }
}

fn find(base: NonNull<u8>, bytes: usize) -> Result<Shared, AttachError> {
    // SAFETY: as for `create` (I1).
    unsafe { attach(base, bytes, ()) }
}

#[test]
fn unsuitable_memory_is_refused() {
    let given = Given::new();
    let base = given.0.cast();
    assert_eq!(find(base, BYTES).err(), Some(AttachError::NoRing));
    assert_eq!(make(base, 800, 64).err(), Some(AttachError::TooSmall { needed: 832 }));
    let zero = AttachError::Capacity(CapacityError::Zero);
    assert_eq!(make(base, BYTES, 0).err(), Some(zero));
    let (made, found) = (make(base, BYTES, 64).unwrap(), find(base, BYTES).unwrap());
    assert_eq!((made.longest(), found.longest()), (24, 24));
    assert_eq!(find(base, 800).err(), Some(AttachError::TooSmall { needed: 832 }));
    // SAFETY: eight bytes on is within the memory (I1 of `shared`).
    let off = unsafe { base.add(8) };
    assert_eq!(find(off, BYTES - 8).err(), Some(AttachError::Misaligned { to: 128 }));
    for (at, error) in [
        (8, AttachError::Version { found: 77 }),
        (12, AttachError::Kind { found: 77 }),
        (16, AttachError::Corrupt),
    ] {
        // SAFETY: the header is within the memory (I1 of `shared`).
        let field = unsafe { base.add(at) }.cast::<u32>();
        // SAFETY: as above, and only this thread uses it.
        let before = unsafe { field.replace(77) };
        assert_eq!(find(base, BYTES).err(), Some(error));
        // SAFETY: as above.
        unsafe { field.write(before) };
    }
}

#[test]
fn sides_come_and_go_until_the_ring_is_closed() {
    let given = Given::new();
    let base = given.0.cast();
    let (made, found) = (make(base, BYTES, 64).unwrap(), find(base, BYTES).unwrap());
    let mut consumer = found.consumer().unwrap();
    assert!(matches!(made.consumer(), Err(RoleError::Held { .. })));
    for value in 0..20u8 {
        made.producer().unwrap().push_wait(&[value; 9]).unwrap();
        let record = consumer.read_wait().unwrap();
        assert_eq!(&*record, [value; 9]);
        record.release();
    }
    assert_eq!(consumer.read().err(), Some(RecordError::Empty), "others may come");
    let mut last = found.producer().unwrap();
    last.push(b"last").unwrap();
    made.close();
    made.close();
    assert_eq!([made.producer().err(), found.producer().err()], [Some(RoleError::GivenUp); 2]);
    last.clone().push(b"a clone's").unwrap();
    consumer.read().unwrap().release();
    consumer.read().unwrap().release();
    assert_eq!(consumer.read().err(), Some(RecordError::Empty), "one may go on");
    drop(last);
    assert_eq!(consumer.read_wait().err(), Some(RecordError::Closed));
    drop(consumer);
    assert!(matches!(made.take_over_consumer(), Err(RoleError::GivenUp)));
    assert_eq!(made.producer().err(), Some(RoleError::GivenUp), "nor does a producer come");
}

#[test]
fn positions_that_no_side_wrote_do_no_harm() {
    if cfg!(miri) {
        uncontended_testkit::skip!(
            "positions that no side wrote",
            "Miri loses track of words that are plain and atomic by turns"
        );
        return;
    }
    for (tail, head) in [
        (1, 0),
        (u64::MAX - 3, u64::MAX - 5),
        (u64::MAX, 0),
        (u64::MAX - 1, 2),
        (8, u64::MAX),
        (2, 1 << 63),
    ] {
        let given = Given::new();
        let base = given.0.cast::<u8>();
        let ring = make(base, BYTES, 64).unwrap();
        for (at, position) in [(128, tail), (256, head)] {
            // SAFETY: the positions are within the memory (I1 of `shared`).
            let field = unsafe { base.add(at) }.cast::<u64>();
            // SAFETY: as above, and no side has been made yet.
            unsafe { field.write(position) };
        }
        let (mut producer, mut consumer) = (ring.producer().unwrap(), ring.consumer().unwrap());
        for round in 0..20 {
            let _ = producer.push(&[1; 24][..round]);
            if let Ok(record) = consumer.read() {
                assert!(record.len() <= 24);
                record.release();
            }
            // SAFETY: only this thread uses the ring, and it holds no chunk.
            let _ = unsafe { consumer.unblock() };
        }
    }
}

/// Another process writes to a record while it is read.
#[test]
fn a_copy_of_a_record_does_not_change() {
    if cfg!(miri) {
        uncontended_testkit::skip!("a copy of a record", "Miri finds the race");
        return;
    }
    let given = Given::new();
    let base = given.0.cast::<u8>();
    let ring = make(base, BYTES, 128).unwrap();
    ring.producer().unwrap().push(&[b'a'; 40]).unwrap();
    // The last word of the record: "aaaaaaaa", or begun with a character of four bytes that are not there.
    // SAFETY: within the memory, which outlives the other thread (I1 of `shared`), and atomic for all but the reader.
    let word = unsafe { AtomicU64::from_ptr(base.as_ptr().wrapping_add(768 + 40).cast()) };
    let (whole, torn) = (u64::from_ne_bytes([b'a'; 8]), u64::from_ne_bytes(*b"aaaaaaa\xf0"));
    let end = Arc::new(());
    let theirs = Arc::downgrade(&end);
    let mut seen = [false; 2];
    thread::scope(|threads| {
        threads.spawn(move || {
            while theirs.strong_count() > 0 {
                word.store(torn, Relaxed);
                word.store(whole, Relaxed);
            }
        });
        // It goes when this closure ends, by a panic, too.
        let _end = end;
        let mut consumer = ring.consumer().unwrap();
        let mut copy = Vec::new();
        while seen != [true; 2] {
            consumer.read().unwrap().copy_into(&mut copy);
            let is_whole = std::str::from_utf8(&copy).is_ok();
            assert_eq!(copy.len(), 40);
            assert_eq!(copy.last(), Some(if is_whole { &b'a' } else { &0xf0 }));
            seen[usize::from(is_whole)] = true;
        }
    });
}
