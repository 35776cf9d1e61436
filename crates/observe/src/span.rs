//! Spans that the program announces (`include/uncontended.h`, and `uncontended_sys::annotate` for Rust).
//!
//! # Contract
//! [`begin`] tells the time, which the program keeps; [`end`] keeps the span in the log of the thread that ends it.
//! # Invariants
//! I1: a name ends in NUL and stays until the hook returns.
//! # Evidence
//! `tests/programs`: `spans.c`.

use crate::caller::Caller;
use crate::here::here;
use std::ffi::c_char;
use uncontended_events::site::Site;
use uncontended_events::spans;
use uncontended_trace::layout::SPAN_NAME;

/// 0 if the thread may not record now.
pub(crate) extern "C" fn begin(_: *const c_char, caller: Caller) -> u64 {
    here(caller).map_or(0, Site::ticks)
}

pub(crate) extern "C" fn end(name: *const c_char, began: u64, caller: Caller) {
    let Some(at) = here(caller) else { return };
    let busy = at.begin();
    spans::end(at, began, name as u64, || text(name));
    drop(busy);
}

/// A name, as much as there is room for.
fn text(name: *const c_char) -> [u8; SPAN_NAME] {
    let mut text = [0; SPAN_NAME];
    for (nth, place) in text.iter_mut().take(SPAN_NAME - 1).enumerate() {
        // SAFETY: up to the NUL that ends it (I1).
        *place = unsafe { name.wrapping_add(nth).read() } as u8;
        if *place == 0 {
            break;
        }
    }
    text
}
