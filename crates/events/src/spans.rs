//! Spans: parts of the program's work that it announces by a name.
//!
//! # Contract
//! The program itself keeps when a span began, so spans can nest in any way, and one thread can end what another began.
//! [`end`] keeps it in the log of the calling thread. A name is known by its address: its text is read once for each
//! thread.
//! # Evidence
//! `tests/log.rs`; `tests/programs`: `spans.c`.

use crate::counter::bump;
use crate::log;
use crate::site::{Recorder, Site};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::{SPAN_NAME, SpanName, Unit};

/// Most names of a thread. Spans of further names are not kept.
pub const NAMES: usize = 256;

/// The calling thread ends a span that began at `began`. `name` is the address of its name, `text` reads the name. The
/// thread must be marked as recording.
pub fn end(at: impl Site, began: u64, name: u64, text: impl FnOnce() -> [u8; SPAN_NAME]) {
    let (recorder, now) = (at.recorder(), at.ticks());
    if began > now {
        return;
    }
    let found = named(recorder, name).or_else(|| fresh(recorder, name, text));
    let Some((unit, of)) = found else { return };
    bump(&of.count);
    log::span(recorder, unit, (began, now));
}

fn named(recorder: &Recorder, name: u64) -> Option<(Unit, &'static SpanName)> {
    let mut names = recorder.arena.list::<SpanName>(&recorder.thread.spans);
    names.find(|(_, of)| of.at.load(Relaxed) == name)
}

/// The thread's entry for a name that is new to it, if there is room.
#[cold]
fn fresh(
    recorder: &Recorder,
    name: u64,
    text: impl FnOnce() -> [u8; SPAN_NAME],
) -> Option<(Unit, &'static SpanName)> {
    let thread = recorder.thread;
    if recorder.arena.list::<SpanName>(&thread.spans).nth(NAMES - 1).is_some() {
        return None;
    }
    let (unit, entry) = recorder.arena.make::<SpanName>()?;
    entry.at.store(name, Relaxed);
    for (place, byte) in entry.text.iter().zip(text()) {
        place.store(byte, Relaxed);
    }
    recorder.arena.push::<SpanName>(&thread.spans, unit);
    Some((unit, entry))
}
