//! Panics in explored code: where they are, what is printed of them, and those that would end the process.
//!
//! # Contract
//! A panic hook goes in front of the one that is there, once in a process. It notes panics in explored code, and keeps
//! those from being printed that come from running a violation again, or after another one in the same run.
//!
//! A destructor that panics while its thread unwinds makes Rust abort the process. In explored code that is kept from
//! happening (`signals`): the coroutine stays where it is, and [`settle`] says what there was.
//!
//! # Invariants
//! P1: a coroutine left in the middle of unwinding has counted as panicking on its OS thread, and never stops to.
//!     [`settle`] takes that count back: a panic that is caught lowers it by one, and raises it by one unless a hook
//!     caught another one meanwhile.
//!
//! # Evidence
//! tests/real_bad.rs.

use super::context::is_inside;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{PanicHookInfo, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static NOTED: RefCell<Vec<Panic>> = const { RefCell::new(Vec::new()) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static SETTLING: Cell<bool> = const { Cell::new(false) };
    static ABORTED: Cell<bool> = const { Cell::new(false) };
}

/// A panic in explored code.
#[derive(Default)]
pub(crate) struct Panic {
    /// File, line and column.
    pub(crate) place: Option<String>,
    pub(crate) message: String,
}

/// Tries to take a count of panics back (P1): a thread has few at once.
const MOST_PANICS: u32 = 16;

/// Puts the hook in, unless it is there.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if SETTLING.get() {
                drop(catch_unwind(|| resume_unwind(Box::new(()))));
                return;
            }
            let before_it = if is_inside() { note(info) } else { 0 };
            // After the first one may come one that cannot unwind, and a hook that takes the process to be lost.
            if !QUIET.get() && before_it == 0 {
                before(info);
            }
        }));
    });
}

/// Notes a panic; how many there were before it.
fn note(info: &PanicHookInfo<'_>) -> usize {
    let place = info.location().map(ToString::to_string);
    let panic = Panic { place, message: message(info.payload()) };
    NOTED.with_borrow_mut(|noted| {
        noted.push(panic);
        noted.len() - 1
    })
}

/// What a panic said.
pub(crate) fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "(no message)".into())
}

/// The panics of this OS thread since it was asked last.
pub(crate) fn noted() -> Vec<Panic> {
    NOTED.take()
}

/// The process is being aborted. True: because a destructor of explored code has panicked on this OS thread.
pub(crate) fn is_abort_of_unwinding() -> bool {
    let is = is_inside() && std::thread::panicking();
    ABORTED.set(is);
    is
}

/// Takes back that this OS thread panics, which has left a coroutine in the middle of unwinding (P1). True: because a
/// destructor had panicked.
pub(crate) fn settle() -> bool {
    SETTLING.set(true);
    for _ in 0..MOST_PANICS {
        if std::thread::panicking() {
            drop(catch_unwind(|| panic!("taken back")));
        }
    }
    SETTLING.set(false);
    ABORTED.replace(false)
}

/// Runs `f` without panics being printed.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let before = QUIET.replace(true);
    let result = f();
    QUIET.set(before);
    result
}
