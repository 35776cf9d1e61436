//! Where in the code a thread of an exploration panics, and whether that is printed.
//!
//! # Contract
//! A panic hook goes in front of the one that is there, once in a process. It notes the place of a panic in explored
//! code, and keeps those from being printed that come from running a violation again.

use super::context::is_inside;
use std::cell::{Cell, RefCell};
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Puts the hook in, unless it is there.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if is_inside() {
                PLACE.set(info.location().map(ToString::to_string));
            }
            if !QUIET.get() {
                before(info);
            }
        }));
    });
}

/// The place of the last panic on this OS thread, once.
pub(crate) fn place() -> Option<String> {
    PLACE.take()
}

/// Runs `f` without panics being printed.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let before = QUIET.replace(true);
    let result = f();
    QUIET.set(before);
    result
}
