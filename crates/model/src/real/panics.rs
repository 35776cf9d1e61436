//! Panics in explored code: records them, filters what is printed, and prevents those that would abort the process.
//!
//! # Contract
//! A panic hook is installed once per process, in front of the existing one. It records panics in explored code, and
//! suppresses the output of panics from repeating a violation, or after another panic in the same run.
//!
//! Rust aborts the process if a destructor panics while its thread unwinds. In explored code that is prevented
//! (`signals`): the coroutine is abandoned where it is, and [`settle`] reports what happened.
//!
//! # Invariants
//! P1: a coroutine abandoned while unwinding has counted as panicking on its OS thread, and never stops to. [`settle`]
//!     takes that count back: catching a panic lowers it by one, and raising that panic adds one unless a hook caught
//!     another one meanwhile.
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

/// Attempts to take a count of panics back (P1): a thread has only a few at once.
const MOST_PANICS: u32 = 16;

/// Installs the hook unless it is installed.
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
            // A panic that cannot unwind may follow, with a hook that assumes that the process is lost.
            if !QUIET.get() && before_it == 0 {
                before(info);
            }
        }));
    });
}

/// Records a panic; returns how many there were before it.
fn note(info: &PanicHookInfo<'_>) -> usize {
    let place = info.location().map(ToString::to_string);
    let panic = Panic { place, message: message(info.payload()) };
    NOTED.with_borrow_mut(|noted| {
        noted.push(panic);
        noted.len() - 1
    })
}

/// The message of a panic.
pub(crate) fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "(no message)".into())
}

/// The panics of this OS thread since the last call.
pub(crate) fn noted() -> Vec<Panic> {
    NOTED.take()
}

/// Whether this abort of the process was caused by a destructor of explored code that panicked on this OS thread.
pub(crate) fn is_abort_of_unwinding() -> bool {
    let is = is_inside() && std::thread::panicking();
    ABORTED.set(is);
    is
}

/// Resets this OS thread's panicking state, which a coroutine abandoned while unwinding has left set (P1). True: a
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

/// Runs `f` with the output of panics suppressed.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let before = QUIET.replace(true);
    let result = f();
    QUIET.set(before);
    result
}
