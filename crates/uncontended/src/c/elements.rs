//! Elements of any fixed size in a ring: copied one by one or in batches, or written and read in place.
//!
//! # Contract
//! The functions for the handles of `spsc`, whatever the size of the ring's elements. Memory in place is aligned to 8
//! bytes, and elements lie `unc_ring_stride` bytes apart there. While elements are claimed, every other call to push
//! returns UNC_STATUS_INVALID; every call to pop ends a reading in place.
//!
//! # State
//! An element is `words` words of the ring, a power of two.
//!
//! I1: a handle points to a side in a box, as in `spsc`.
//! I2: only one thread at a time calls with a handle, as in `spsc`.
//! I3: all positions, the capacity and the length of the array are multiples of `words`, so no element is split at the
//!     end of the array, and there is never room for a part of one.
//! I4: a word may hold anything, so each word that was claimed holds a value, written or not.
//!
//! # Evidence
//! tests/c_library.rs: every function, every status.

use super::spsc::{Consumer, Producer, ended};
use super::status::Status;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use uncontended_ring::{ClaimError, PopError};
use uncontended_wait::Deadline;

/// Part of an element. Bytes that a program did not write, padding say, may be uninitialised.
pub(super) type Word = MaybeUninit<u64>;

const WORD: usize = size_of::<Word>();

/// The size of a ring's elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    size: usize,
    words: usize,
}

impl Shape {
    pub(super) fn of(size: usize) -> Result<Shape, Status> {
        match size.div_ceil(WORD).checked_next_power_of_two() {
            _ if size == 0 => Err(Status::Invalid),
            Some(words) => Ok(Shape { size, words }),
            None => Err(Status::TooLarge),
        }
    }

    /// Whether the elements are 64-bit values.
    #[inline(always)]
    pub(super) fn is_number(self) -> bool {
        self.size == WORD
    }

    /// The words of `count` elements; as many as there are, if that overflows.
    #[inline(always)]
    pub(super) fn words_of(self, count: usize) -> usize {
        count.saturating_mul(self.words)
    }

    /// Copies elements that lie side by side into `memory`, which has room for whole elements (I3), and returns their
    /// number.
    ///
    /// # Safety
    /// There are that many at `elements`.
    #[inline]
    unsafe fn fill(self, memory: &mut [Word], elements: *const u8) -> usize {
        let target = memory.as_mut_ptr().cast::<u8>();
        let (count, stride) = (memory.len() / self.words, self.words * WORD);
        if self.size == stride {
            // SAFETY: both have `count` elements (C1), and the ring's memory is not the caller's.
            unsafe { target.copy_from_nonoverlapping(elements, count * stride) };
            return count;
        }
        for index in 0..count {
            let (at, from) = (index * stride, elements.wrapping_add(index * self.size));
            // SAFETY: both have an element there, as above (C1).
            unsafe { target.wrapping_add(at).copy_from_nonoverlapping(from, self.size) };
        }
        count
    }

    /// Copies whole elements (I3) out of `memory`, side by side, and returns their number.
    ///
    /// # Safety
    /// There is memory for that many at `elements`.
    #[inline]
    unsafe fn empty(self, memory: &[Word], elements: *mut u8) -> usize {
        let source = memory.as_ptr().cast::<u8>();
        let (count, stride) = (memory.len() / self.words, self.words * WORD);
        if self.size == stride {
            // SAFETY: both have `count` elements (C1), and the ring's memory is not the caller's.
            unsafe { elements.copy_from_nonoverlapping(source, count * stride) };
            return count;
        }
        for index in 0..count {
            let (at, to) = (index * stride, elements.wrapping_add(index * self.size));
            // SAFETY: both have an element there, as above (C1).
            unsafe { to.copy_from_nonoverlapping(source.wrapping_add(at), self.size) };
        }
        count
    }
}

/// The bytes from one element of `size` bytes to the next in place: `size` rounded up to a power of two, at least 8.
/// 0: there can be no such ring.
#[unsafe(no_mangle)]
pub extern "C" fn unc_ring_stride(size: usize) -> usize {
    Shape::of(size).map_or(0, |shape| shape.words.saturating_mul(WORD))
}

impl Producer {
    /// Copies up to `count` elements into the ring, as many as there is room for, and returns their number.
    ///
    /// # Safety
    /// There are `count` elements at `elements`.
    #[inline]
    unsafe fn push_some(
        &mut self,
        elements: *const u8,
        count: usize,
        deadline_ns: u64,
    ) -> Result<usize, ClaimError> {
        let (shape, most) = (self.shape, self.shape.words_of(count));
        let mut claim = match deadline_ns {
            0 => self.ring.claim_up_to(most),
            at => self.ring.claim_up_to_deadline(most, Deadline::at_ns(at)),
        }?;
        let words = claim.room();
        let (one, two) = claim.as_uninit();
        // SAFETY: the claim is for at most `count` elements (C1).
        let first = unsafe { shape.fill(as_words(one), elements) };
        let rest = elements.wrapping_add(first * shape.size);
        // SAFETY: as above (C1).
        let second = if two.is_empty() { 0 } else { unsafe { shape.fill(as_words(two), rest) } };
        // SAFETY: each word holds a value (I4).
        unsafe { claim.assume_written(words) };
        claim.publish();
        Ok(first + second)
    }
}

/// The memory of words, which may hold anything (I4).
fn as_words(memory: &mut [MaybeUninit<Word>]) -> &mut [Word] {
    let (words, len) = (memory.as_mut_ptr().cast(), memory.len());
    // SAFETY: a word of any content is a valid one (I4), and this is the same memory.
    unsafe { std::slice::from_raw_parts_mut(words, len) }
}

/// Pushes a copy of `*element`. Sleeps until there is room, at most until `deadline_ns`; with UNC_NOW it never sleeps.
/// UNC_STATUS_FULL: there is no room. UNC_STATUS_CLOSED: the consumer is gone.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `element` points to an element or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_push_copy(
    producer: *mut Producer,
    element: *const c_void,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    match unsafe { producer.as_mut() } {
        Some(side) if side.shape.words == 1 && side.claimed == 0 && !element.is_null() => {
            let mut word = Word::uninit();
            let target = word.as_mut_ptr().cast::<u8>();
            // SAFETY: by the contract an element is there (C1), which is not larger than a word.
            unsafe { target.copy_from_nonoverlapping(element.cast(), side.shape.size) };
            ended(match deadline_ns {
                0 => side.ring.push(word),
                at => side.ring.push_deadline(word, Deadline::at_ns(at)),
            })
        }
        // SAFETY: the same contract (I1, I2, C1).
        _ => unsafe { unc_ring_push_many(producer, element, 1, deadline_ns, std::ptr::null_mut()) },
    }
}

/// Pushes copies of the `count` elements at `elements`, in parts as large as there is room for. Sleeps in between until
/// all are pushed, at most until `deadline_ns`; with UNC_NOW it never sleeps. Stores in `*pushed` how many were pushed,
/// whatever the result. UNC_STATUS_FULL: there was no room for the rest. UNC_STATUS_CLOSED: the consumer is gone.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `elements` points to `count` elements or is
/// null; `pushed` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_push_many(
    producer: *mut Producer,
    elements: *const c_void,
    count: usize,
    deadline_ns: u64,
    pushed: *mut usize,
) -> Status {
    let mut done = 0;
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() }.filter(|side| side.claimed == 0);
    let status = match producer {
        Some(producer) if !elements.is_null() => loop {
            if done == count {
                break Status::Ok;
            }
            let rest = elements.cast::<u8>().wrapping_add(done * producer.shape.size);
            // SAFETY: the rest of the elements are there, by the contract (C1).
            match unsafe { producer.push_some(rest, count - done, deadline_ns) } {
                Ok(some) => done += some,
                Err(error) => break error.into(),
            }
        },
        _ => Status::Invalid,
    };
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(pushed, done) };
    status
}

/// Claims room for up to `most` elements in place, at least one, and stores a pointer to the first in `*memory` and
/// their number in `*count`. Sleeps until there is room for one, at most until `deadline_ns`; with UNC_NOW it never
/// sleeps. Write the elements `unc_ring_stride` bytes apart, then call `unc_ring_commit`. The memory is not cleared.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; `memory` and `count` point to memory for a
/// pointer and a number, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_claim(
    producer: *mut Producer,
    most: usize,
    memory: *mut *mut c_void,
    count: *mut usize,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() }.filter(|side| side.claimed == 0);
    let Some(producer) = producer.filter(|_| !memory.is_null() && !count.is_null()) else {
        return Status::Invalid;
    };
    let words = producer.shape.words_of(most.max(1));
    let claimed = match deadline_ns {
        0 => producer.ring.claim_up_to(words),
        at => producer.ring.claim_up_to_deadline(words, Deadline::at_ns(at)),
    };
    match claimed {
        Ok(mut claim) => {
            // The claim ends here, unpublished; the room stays, since only this handle takes it (I2).
            let (first, _) = claim.as_uninit();
            let (at, len) = (first.as_mut_ptr(), first.len());
            drop(claim);
            producer.claimed = len / producer.shape.words;
            // SAFETY: by the contract, memory for a pointer (C1).
            unsafe { memory.write(at.cast()) };
            // SAFETY: by the contract, memory for a number (C1).
            unsafe { count.write(producer.claimed) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Publishes the first `count` of the elements claimed last, and gives the rest of the claim up. UNC_STATUS_INVALID:
/// there is no claim, or it is for fewer; it stays then.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it; the claimed memory is not accessed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_commit(producer: *mut Producer, count: usize) -> Status {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() };
    let is_claimed = |side: &&mut Producer| side.claimed > 0 && count <= side.claimed;
    let Some(producer) = producer.filter(is_claimed) else { return Status::Invalid };
    producer.claimed = 0;
    if count == 0 {
        return Status::Ok;
    }
    match producer.ring.claim(producer.shape.words_of(count)) {
        Ok(mut claim) => {
            let words = claim.room();
            // SAFETY: each word holds a value (I4).
            unsafe { claim.assume_written(words) };
            claim.publish();
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// How many elements there is room for now. Room only grows until the next push; 0 once the consumer has gone.
///
/// # Safety
/// `producer` is a producer's handle or null, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_room(producer: *mut Producer) -> usize {
    // SAFETY: by the contract (I1, I2).
    let producer = unsafe { producer.as_mut() };
    producer.map_or(0, |side| side.ring.room() / side.shape.words)
}

/// Pops the oldest element into `*element`. Sleeps until there is one, at most until `deadline_ns`; with UNC_NOW it
/// never sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: the ring is empty and the producer is gone.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `element` points to memory for an element or
/// is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_pop_copy(
    consumer: *mut Consumer,
    element: *mut c_void,
    deadline_ns: u64,
) -> Status {
    // SAFETY: by the contract (I1, I2).
    match unsafe { consumer.as_mut() } {
        Some(side) if side.shape.words == 1 && !element.is_null() => {
            side.being_read = 0;
            let popped = match deadline_ns {
                0 => side.ring.pop(),
                at => side.ring.pop_deadline(Deadline::at_ns(at)),
            };
            ended(popped.map(|word| {
                let source = word.as_ptr().cast::<u8>();
                // SAFETY: by the contract there is memory for an element (C1), which is not larger than a word.
                unsafe { element.cast::<u8>().copy_from_nonoverlapping(source, side.shape.size) };
            }))
        }
        // SAFETY: the same contract (I1, I2, C1).
        _ => unsafe { unc_ring_pop_many(consumer, element, 1, deadline_ns, std::ptr::null_mut()) },
    }
}

/// Pops as many elements as there are, at most `count`, into `elements`, and stores their number in `*popped`. Sleeps
/// until there is one, at most until `deadline_ns`; with UNC_NOW it never sleeps. For the status of none, see
/// `unc_ring_pop_copy`.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `elements` points to memory for `count`
/// elements or is null; `popped` points to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_pop_many(
    consumer: *mut Consumer,
    elements: *mut c_void,
    count: usize,
    deadline_ns: u64,
    popped: *mut usize,
) -> Status {
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(popped, 0) };
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() };
    let Some(consumer) = consumer.filter(|_| !elements.is_null()) else { return Status::Invalid };
    if count == 0 {
        return Status::Ok;
    }
    let shape = consumer.shape;
    let batch = match consumer.read(count, deadline_ns) {
        Ok(batch) => batch,
        Err(error) => return error.into(),
    };
    let (one, two) = batch.as_slices();
    // SAFETY: the batch has at most `count` elements (C1).
    let first = unsafe { shape.empty(one, elements.cast()) };
    let rest = elements.cast::<u8>().wrapping_add(first * shape.size);
    // SAFETY: as above (C1).
    let second = if two.is_empty() { 0 } else { unsafe { shape.empty(two, rest) } };
    batch.release();
    // SAFETY: by the contract a number is there, or null (C1).
    unsafe { store(popped, first + second) };
    Status::Ok
}

impl Consumer {
    /// At most `most` elements. An earlier reading ends.
    #[inline]
    fn read(
        &mut self,
        most: usize,
        deadline_ns: u64,
    ) -> Result<uncontended_ring::spsc::Batch<'_, Word, uncontended_wait::Sleepers>, PopError> {
        self.being_read = 0;
        let words = self.shape.words_of(most.max(1));
        match deadline_ns {
            0 => self.ring.read(words),
            at => self.ring.read_deadline(words, Deadline::at_ns(at)),
        }
    }
}

/// Finds up to `most` of the oldest elements in place, and stores a pointer to the first in `*memory` and their number
/// in `*count`, without popping them. They lie `unc_ring_stride` bytes apart. Sleeps until there is one, at most until
/// `deadline_ns`; with UNC_NOW it never sleeps. For the status of none, see `unc_ring_pop_copy`.
///
/// ELEMENTS THAT ARE NOT RELEASED (`unc_ring_release`) ARE FOUND AGAIN by the next read: a loop that releases none
/// never ends, and the producer waits for room.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; `memory` and `count` point to memory for a
/// pointer and a number, or are null. The elements may be read until the next call with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_read(
    consumer: *mut Consumer,
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
    let (at, len) = match consumer.read(most, deadline_ns) {
        // The elements stay in the ring until they are released, since only this handle releases them (I2).
        Ok(batch) => (batch.as_slices().0.as_ptr(), batch.as_slices().0.len()),
        Err(error) => return error.into(),
    };
    consumer.being_read = len / consumer.shape.words;
    // SAFETY: by the contract, memory for a pointer (C1).
    unsafe { memory.write(at.cast()) };
    // SAFETY: by the contract, memory for a number (C1).
    unsafe { count.write(consumer.being_read) };
    Status::Ok
}

/// Pops the first `count` of the elements read last. The others are read again. UNC_STATUS_INVALID: fewer are being
/// read.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it; the elements are not accessed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_release(consumer: *mut Consumer, count: usize) -> Status {
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() };
    let is_read = |side: &&mut Consumer| side.being_read > 0 && count <= side.being_read;
    let Some(consumer) = consumer.filter(is_read) else { return Status::Invalid };
    let words = consumer.shape.words_of(count);
    match consumer.read(count, 0) {
        Ok(batch) => {
            batch.release_first(words);
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// How many elements can be popped now. The number only grows until the next pop.
///
/// # Safety
/// `consumer` is a consumer's handle or null, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unc_ring_available(consumer: *mut Consumer) -> usize {
    // SAFETY: by the contract (I1, I2).
    let consumer = unsafe { consumer.as_mut() };
    consumer.map_or(0, |side| side.ring.available() / side.shape.words)
}

/// Stores a number, unless the pointer is null.
///
/// # Safety
/// `place` points to a number or is null.
pub(super) unsafe fn store(place: *mut usize, number: usize) {
    if !place.is_null() {
        // SAFETY: by the contract a number is there (C1).
        unsafe { place.write(number) };
    }
}
