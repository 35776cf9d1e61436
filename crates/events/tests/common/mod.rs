//! Shared by the tests of the core: a record in memory, and threads in it whose clock the test sets.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_types)] // The clock.

pub(crate) mod party;
pub(crate) mod rows;

use std::ptr::NonNull;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::generations;
use uncontended_events::site::{Recorder, Row, Site};
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{self, Process, STACK_SLOTS, Thread, UNIT, kind::MUTEX};
use uncontended_trace::setup::Holds;

/// Enough units for what one test records.
pub(crate) const ROOM: u32 = if cfg!(unc_model) { 16_384 } else { 4_096 };

#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page {
    _bytes: [u8; 4096],
}

/// An image in a fresh record with `room` units.
pub(crate) fn image(room: u32) -> (Arena, &'static Process) {
    let units = layout::HEADER_UNITS + room;
    let pages = vec![Page { _bytes: [0; 4096] }; units as usize * UNIT / 4096 + 1];
    let base = NonNull::from(Box::leak(pages.into_boxed_slice())).cast();
    // SAFETY: that many units were leaked just now (I1 of `arena`).
    let arena = unsafe { Arena::new(base, units, |_, _| false) };
    arena.header().allocated.store(layout::HEADER_UNITS, Relaxed);
    arena.header().available.store(units, Relaxed);
    arena.header().capacity.store(units, Relaxed);
    if cfg!(unc_model) {
        // No log is kept: no other thread reads one, and it would only make scenes longer.
        arena.header().log_parts.store(u32::MAX, Relaxed);
    }
    let image = begin(arena);
    arena.header().dropped_room.store(0, Relaxed);
    image
}

/// Another image in the same record.
pub(crate) fn another((arena, _): (Arena, &'static Process)) -> (Arena, &'static Process) {
    begin(arena)
}

fn begin(arena: Arena) -> (Arena, &'static Process) {
    let (unit, process) = arena.make::<Process>().expect("room for the image");
    if let Some(index) = arena.allocate(layout::word_units(STACK_SLOTS)) {
        process.stack_index.store(index, Relaxed);
    }
    // Most scenes of the checker go without: it would explore each look at it.
    if !cfg!(unc_model) {
        add_filter((arena, process));
    }
    arena.push::<Process>(&arena.header().processes, unit);
    (arena, process)
}

/// Gives the image a filter, if there is room.
pub(crate) fn add_filter((arena, process): (Arena, &'static Process)) {
    let filter = arena.allocate_if_room(layout::word_units(layout::FILTER_WORDS));
    process.filter.store(filter.unwrap_or(0), Relaxed);
}

/// A thread of the image.
pub(crate) fn recorder(image: (Arena, &'static Process)) -> &'static Recorder {
    recorder_of(image, Holds::All)
}

/// The same, which records these holds.
pub(crate) fn recorder_of(
    (arena, process): (Arena, &'static Process),
    holds: Holds,
) -> &'static Recorder {
    let (unit, thread) = arena.make::<Thread>().expect("room for the thread");
    arena.push::<Thread>(&process.threads, unit);
    Box::leak(Box::new(Recorder { arena, process, thread, holds, lock_order: true }))
}

/// A thread, with a clock that the checker does not explore.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) recorder: &'static Recorder,
    pub(crate) clock: &'static std::sync::atomic::AtomicU64,
    /// The number of its call stack.
    pub(crate) stack: u32,
    /// Whether that is known without unwinding.
    pub(crate) is_known: bool,
    /// How often it has slept, if that is counted.
    pub(crate) sleeps: Option<&'static std::sync::atomic::AtomicU64>,
    /// Where it runs, if that is known.
    pub(crate) cpu: Option<u32>,
}

impl At {
    pub(crate) fn new(recorder: &'static Recorder, now: u64) -> Self {
        At {
            recorder,
            clock: Box::leak(Box::new(now.into())),
            stack: 7,
            is_known: true,
            sleeps: None,
            cpu: None,
        }
    }

    /// Sets the time to `now`.
    pub(crate) fn set(self, now: u64) {
        self.clock.store(now, std::sync::atomic::Ordering::Relaxed);
    }

    /// The mutex at `key`.
    pub(crate) fn row(self, key: u64) -> Row {
        generations::enter(self, key, MUTEX).expect("room for a lock")
    }
}

impl Site for At {
    type Thread = Self;
    type Place = ();
    type Busy = ();

    fn split(self) -> (Self, ()) {
        (self, ())
    }

    fn join(thread: Self, (): ()) -> Self {
        thread
    }

    fn recorder(self) -> &'static Recorder {
        self.recorder
    }

    fn is_here(self) -> bool {
        true
    }

    fn ticks(self) -> u64 {
        self.clock.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn sleeps(self) -> Option<u64> {
        self.sleeps.map(|sleeps| sleeps.load(std::sync::atomic::Ordering::Relaxed))
    }

    fn cpu(self) -> Option<u32> {
        self.cpu
    }

    fn begin(self) {}

    fn known_stack(self) -> Option<u32> {
        self.is_known.then_some(self.stack)
    }

    fn site(self) -> u32 {
        self.stack
    }

    fn stack(self) -> u32 {
        self.stack
    }
}
