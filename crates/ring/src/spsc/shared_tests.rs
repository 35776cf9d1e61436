//! Provided memory is checked; roles are held and given up. Tests with several processes are in tests/processes.rs.

use super::shared::*;
use crate::Plain;
use crate::{CapacityError, PopError};
use std::ptr::NonNull;

/// Memory for tests: aligned, and larger than any ring here.
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// A page of the heap, accessed only by its address.
struct Heap(NonNull<Page>);

// SAFETY: any thread with the address may use the page as long as this lives (I1).
unsafe impl Send for Heap {}
// SAFETY: as for `Send`.
unsafe impl Sync for Heap {}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: `page` boxed it, and everything that it kept is gone (I1).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

fn page(byte: u8) -> (NonNull<u8>, Heap) {
    let page = NonNull::from(Box::leak(Box::new(Page([byte; 4096]))));
    (page.cast(), Heap(page))
}

/// A ring of `capacity` numbers, and its address.
fn ring(capacity: usize) -> (NonNull<u8>, Shared<u64>) {
    let (base, heap) = page(0xff);
    // SAFETY: the page is kept (I1).
    (base, unsafe { create(base, 4096, capacity, heap) }.unwrap())
}

fn attach_again<T: Plain>(base: NonNull<u8>) -> Result<Shared<T>, AttachError> {
    // SAFETY: a page that lives as long as the test (I1).
    unsafe { attach(base, 4096, ()) }
}

fn refusal<T>(result: Result<T, RoleError>) -> Option<RoleError> {
    result.err()
}

#[test]
fn a_ring_is_made_found_used_and_closed() {
    let (base, made) = ring(3);
    let found = attach_again::<u64>(base).unwrap();
    assert_eq!((made.capacity(), found.capacity()), (3, 3));
    let mut producer = made.producer().unwrap();
    let mut consumer = found.consumer().unwrap();
    for round in 0..5 {
        assert_eq!(producer.push_slice(&[round, 1, 2, 3]), 3);
        let batch = consumer.read(9).unwrap();
        assert_eq!(batch.iter().copied().collect::<Vec<_>>(), [round, 1, 2]);
        batch.release();
    }
    producer.push_wait(7).unwrap();
    drop(producer);
    assert_eq!((consumer.pop_wait(), consumer.pop()), (Some(7), Err(PopError::Closed)));
}

#[test]
fn a_second_holder_of_a_role_is_refused_and_a_role_given_up_is_closed() {
    let (base, made) = ring(2);
    let (producer, consumer) = (made.producer().unwrap(), made.consumer().unwrap());
    let found = attach_again::<u64>(base).unwrap();
    let held = Some(RoleError::Held { pid: std::process::id() });
    assert_eq!((refusal(found.producer()), refusal(found.consumer())), (held, held));
    assert_eq!(
        (refusal(found.take_over_producer()), refusal(found.take_over_consumer())),
        (held, held)
    );
    drop(producer);
    drop(consumer);
    let gone = Some(RoleError::GivenUp);
    assert_eq!((refusal(found.producer()), refusal(found.consumer())), (gone, gone));
    assert_eq!(
        (refusal(found.take_over_producer()), refusal(found.take_over_consumer())),
        (gone, gone)
    );
}

#[test]
fn what_is_kept_goes_with_the_last_that_needs_it() {
    let (base, memory) = page(0);
    let kept = std::sync::Arc::new(memory);
    // SAFETY: a page that is kept (I1).
    let shared = unsafe { create::<u64>(base, 4096, 2, std::sync::Arc::clone(&kept)) }.unwrap();
    let (mut producer, mut consumer) = (shared.producer().unwrap(), shared.consumer().unwrap());
    drop(shared);
    producer.push(1).unwrap();
    drop(producer);
    assert_eq!((consumer.pop(), std::sync::Arc::strong_count(&kept)), (Ok(1), 2));
    drop(consumer);
    assert_eq!(std::sync::Arc::strong_count(&kept), 1);
}

#[test]
fn memory_without_such_a_ring_is_refused() {
    let (base, _page) = page(0);
    // SAFETY: in all these, a page that lives to the end of this test (I1).
    let try_create = |at, bytes, capacity| unsafe { create::<u64>(at, bytes, capacity, ()) }.err();
    assert_eq!(attach_again::<u64>(base).err(), Some(AttachError::NoRing));
    assert_eq!(try_create(base, 4096, 0), Some(AttachError::Capacity(CapacityError::Zero)));
    let too_large = Some(AttachError::Capacity(CapacityError::TooLarge));
    assert_eq!(try_create(base, 4096, usize::MAX), too_large);
    assert_eq!(try_create(base, 640 + 31, 3), Some(AttachError::TooSmall { needed: 640 + 32 }));
    // SAFETY: within the page (I1).
    let odd = unsafe { base.add(64) };
    assert_eq!(try_create(odd, 2048, 3), Some(AttachError::Misaligned { to: 128 }));
    assert_eq!(try_create(base, 640 + 32, 3), None);
    let align = align_of::<u64>() as u64; // 4 on x86 of 32 bits
    assert_eq!(attach_again::<u32>(base).err(), Some(AttachError::Element { size: 8, align }));
    let garble = |offset: usize, byte: u8| {
        // SAFETY: within the page (I1).
        let at = unsafe { base.add(offset) };
        // SAFETY: within the page (I1), which only this thread accesses now.
        let byte = unsafe { at.replace(byte) };
        let found = attach_again::<u64>(base).err();
        // SAFETY: as for the replacement.
        unsafe { at.write(byte) };
        found
    };
    assert_eq!(garble(0, 1), Some(AttachError::NoRing));
    assert_eq!(garble(8, 9), Some(AttachError::Version { found: 9 }));
    assert_eq!(garble(12, 9), Some(AttachError::Kind { found: 9 }));
    assert_eq!(garble(16, 9), Some(AttachError::Element { size: 9, align }));
    assert_eq!(garble(32, 0), Some(AttachError::Capacity(CapacityError::Zero)));
    assert_eq!(garble(35, 1), Some(AttachError::TooSmall { needed: 640 + (8 << 25) }));
    assert_eq!(garble(39, 9), too_large);
    assert_eq!(garble(128 + 6, 9), Some(AttachError::Corrupt));
    assert_eq!(garble(256 + 6, 9), Some(AttachError::Corrupt));
    assert!(attach_again::<u64>(base).is_ok());
}
