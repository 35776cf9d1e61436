//! The index of stacks: an image's record holds each list of addresses once.
//!
//! # State
//! `Process::stack_index`: a table of stack numbers, open-addressed by the hash of the frames.
//! # Edges
//! index: `enter` stores a slot of the table -> `enter` in another thread loads it. Carries the stack.
//! # Invariants
//! I1: a slot once taken keeps its stack. Stacks with the same hash are treated as equal.
//! # Evidence
//! `tests/places.rs`, `tests/model.rs`.

use crate::site::Recorder;
use uncontended_atomic::{AtomicU64, Ordering::*};
use uncontended_trace::layout::{self, DIED, STACK_SLOTS, Stack};

/// The number of a stack in the record, that of an equal stack if there is one; 0 if there is no room.
pub fn enter(recorder: &Recorder, frames: &[u64]) -> u32 {
    let Recorder { arena, process, .. } = recorder;
    let hash = frames.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &frame| {
        (hash ^ frame).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    });
    let table = process.stack_index.load(Relaxed);
    if frames.is_empty() || table == 0 {
        return 0;
    }
    let slots = arena.words(table, STACK_SLOTS);
    let mut fresh = 0;
    for probe in 0..64 {
        let Some(slot) = slots.get((hash as usize).wrapping_add(probe) % STACK_SLOTS) else {
            return 0;
        };
        // EDGE index (acquire): the stack behind the slot.
        let mut found = slot.load(Acquire);
        if found == 0 {
            if fresh == 0 {
                let Some(unit) = write(recorder, frames, hash) else { return 0 };
                fresh = unit;
            }
            // EDGE index (acq-rel): the fresh stack, or the one that another thread put there in the meantime.
            match slot.compare_exchange(0, fresh, AcqRel, Acquire) {
                Ok(_) => {
                    arena.push::<Stack>(&process.stacks, fresh);
                    return fresh;
                }
                Err(other) => {
                    debug_assert_ne!(other, 0, "I1");
                    found = other;
                }
            }
        }
        if arena.at::<Stack>(found).hash.load(Relaxed) == hash {
            return found;
        }
    }
    arena.header().dropped_room.fetch_add(1, Relaxed);
    0
}

/// The number of the stack of its inner frames alone, at most two: where there is no room to tell all stacks apart,
/// what took the lock or wraps it, and its caller. A marker stays as it is.
#[cold]
pub(crate) fn inner(recorder: &Recorder, number: u32, frames: usize) -> u32 {
    if number == 0 || number >= DIED {
        return number;
    }
    let stack: &Stack = recorder.arena.at(number);
    if stack.count.load(Relaxed) as usize <= frames {
        return number;
    }
    let inner: [u64; 2] = std::array::from_fn(|nth| stack.frames[nth].load(Relaxed));
    enter(recorder, &inner[..frames])
}

/// Writes a stack that is not in the index yet.
fn write(recorder: &Recorder, frames: &[u64], hash: u64) -> Option<u32> {
    debug_assert!((1..=layout::FRAMES).contains(&frames.len()));
    let bytes = std::mem::offset_of!(Stack, frames) + size_of::<AtomicU64>() * frames.len();
    let unit = recorder.arena.allocate(layout::units(bytes))?;
    let stack: &Stack = recorder.arena.at(unit);
    stack.hash.store(hash, Relaxed);
    for (to, from) in stack.frames.iter().zip(frames) {
        to.store(*from, Relaxed);
    }
    stack.count.store(frames.len() as u32, Relaxed);
    Some(unit)
}
