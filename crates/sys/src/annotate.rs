//! Annotations for a program's own locks and spans: the Rust side of `crates/uncontended/include/uncontended.h`.
//!
//! # Contract
//! Each call identifies the lock by an address of the caller's choice. [`wait_begin`] comes before the first moment of
//! waiting, [`acquired`] right after the caller got the lock (after a wait or not), [`released`] right before it is
//! released, and [`gave_up`] ends a wait without the lock. A [`Span`] is a part of the program's work with a name.
//! Without an observer a call is a load, a comparison and a branch not taken.
//! # Invariants
//! I1: a symbol `uncontended_hooks` or `uncontended_span_hooks` is the observer's table of functions, which lives as
//!     long as the process: a preloaded library is never unloaded.
//! I2: the hooks of locks use an address as a name and never dereference it.
//! I3: the hooks of spans read a name up to its NUL.
//! # Evidence
//! The test below; `tests/programs`: `annotated.c` and `spans.c` through the C side.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type Hook = unsafe extern "C" fn(*const c_void);

/// The observer's functions for locks; the same as `struct uncontended_hooks` in C.
#[repr(C)]
struct Hooks {
    wait_begin: Hook,
    acquired: Hook,
    released: Hook,
    gave_up: Hook,
}

/// The observer's functions for spans; the same as `struct uncontended_span_hooks` in C.
#[repr(C)]
struct SpanHooks {
    begin: unsafe extern "C" fn(*const c_char) -> u64,
    end: unsafe extern "C" fn(*const c_char, u64),
}

/// The address of a table of functions of the observer; 0 before the first call, [`ABSENT`] without an observer.
type Found = AtomicUsize;
static HOOKS: Found = Found::new(0);
static SPAN_HOOKS: Found = Found::new(0);
const ABSENT: usize = 1;

/// The observer's table of functions that has this symbol.
#[cold]
#[inline(never)]
fn observer(found: &Found, symbol: &CStr) -> *const c_void {
    let mut table = found.load(Relaxed);
    if table == 0 {
        table = address_of(symbol);
        table = if table == 0 { ABSENT } else { table };
        // Relaxed: the table was complete before the program's first instruction.
        found.store(table, Relaxed);
    }
    if table == ABSENT { std::ptr::null() } else { table as *const c_void }
}

/// The address of a symbol of the program or a library; 0 without one.
#[cfg(unix)]
fn address_of(symbol: &CStr) -> usize {
    // SAFETY: a name (L7).
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) as usize }
}

/// No observer can be preloaded.
#[cfg(not(unix))]
fn address_of(_: &CStr) -> usize {
    0
}

#[inline(always)]
fn call(lock: *const c_void, hook: fn(&Hooks) -> Hook) {
    if HOOKS.load(Relaxed) == ABSENT {
        return;
    }
    let table: *const Hooks = observer(&HOOKS, c"uncontended_hooks").cast();
    // SAFETY: the observer's table, if it is there (I1).
    if let Some(hooks) = unsafe { table.as_ref() } {
        // SAFETY: any address will do (I2).
        unsafe { hook(hooks)(lock) };
    }
}

/// The calling thread begins to wait for `lock`.
#[inline(always)]
pub fn wait_begin<T>(lock: *const T) {
    call(lock.cast(), |hooks| hooks.wait_begin);
}

/// The calling thread has acquired `lock`.
#[inline(always)]
pub fn acquired<T>(lock: *const T) {
    call(lock.cast(), |hooks| hooks.acquired);
}

/// The calling thread is about to release `lock`.
#[inline(always)]
pub fn released<T>(lock: *const T) {
    call(lock.cast(), |hooks| hooks.released);
}

/// The calling thread stops waiting without `lock`.
#[inline(always)]
pub fn gave_up<T>(lock: *const T) {
    call(lock.cast(), |hooks| hooks.gave_up);
}

/// A part of the program's work, from [`Span::begin`] until it is dropped; `struct uncontended_span` in C.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped"]
pub struct Span {
    name: &'static CStr,
    /// 0 without an observer.
    began: u64,
}

impl Span {
    /// Begins a span. The report has the first 39 bytes of its name.
    #[inline(always)]
    pub fn begin(name: &'static CStr) -> Span {
        let is_absent = SPAN_HOOKS.load(Relaxed) == ABSENT;
        Span { name, began: if is_absent { 0 } else { begin(name) } }
    }
}

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if self.began != 0 {
            end(self);
        }
    }
}

/// The observer's table, if there is an observer.
fn span_hooks() -> Option<&'static SpanHooks> {
    let table: *const SpanHooks = observer(&SPAN_HOOKS, c"uncontended_span_hooks").cast();
    // SAFETY: the observer's table, if it is there (I1).
    unsafe { table.as_ref() }
}

#[cold]
#[inline(never)]
fn begin(name: &'static CStr) -> u64 {
    // SAFETY: a name that stays (I3).
    span_hooks().map_or(0, |hooks| unsafe { (hooks.begin)(name.as_ptr()) })
}

#[cold]
#[inline(never)]
fn end(span: &Span) {
    if let Some(hooks) = span_hooks() {
        // SAFETY: a name that stays (I3).
        unsafe { (hooks.end)(span.name.as_ptr(), span.began) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_observer_nothing_happens_and_that_is_remembered() {
        let lock = 0u32;
        for _ in 0..2 {
            wait_begin(&lock);
            acquired(&lock);
            released(&lock);
            gave_up(&lock);
            assert_eq!(HOOKS.load(Relaxed), ABSENT);
            let span = Span::begin(c"request");
            assert_eq!(span.began, 0);
            assert_eq!(SPAN_HOOKS.load(Relaxed), ABSENT);
        }
    }
}
