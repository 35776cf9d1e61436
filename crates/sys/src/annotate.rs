//! Annotations for a program's own locks: the Rust side of `crates/uncontended/include/uncontended.h`.
//!
//! # Contract
//! Each call identifies the lock by an address of the caller's choice. [`wait_begin`] comes before the first moment of
//! waiting, [`acquired`] right after the caller got the lock (after a wait or not), [`released`] right before it is
//! released, and [`gave_up`] ends a wait without the lock. Without an observer a call is a load, a comparison and a
//! branch not taken.
//! # Invariants
//! I1: a symbol `uncontended_hooks` is the observer's table of functions, which lives as long as the process: a
//!     preloaded library is never unloaded.
//! I2: the hooks use an address as a name and never dereference it.
//! # Evidence
//! The test below; `tests/programs/annotated.c` through the C side.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type Hook = unsafe extern "C" fn(*const c_void);

/// The observer's functions; the same as `struct uncontended_hooks` in C.
#[repr(C)]
struct Hooks {
    wait_begin: Hook,
    acquired: Hook,
    released: Hook,
    gave_up: Hook,
}

/// The address of the hooks; 0 before the first call, [`ABSENT`] without an observer.
static FOUND: AtomicUsize = AtomicUsize::new(0);
const ABSENT: usize = 1;

#[inline(always)]
fn call(lock: *const c_void, hook: fn(&Hooks) -> Hook) {
    let found = FOUND.load(Relaxed);
    if found != ABSENT {
        observed(found, lock, hook);
    }
}

#[cold]
#[inline(never)]
fn observed(mut found: usize, lock: *const c_void, hook: fn(&Hooks) -> Hook) {
    if found == 0 {
        // SAFETY: a name (L7).
        found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"uncontended_hooks".as_ptr()) } as usize;
        // Relaxed: the table was complete before the program's first instruction.
        FOUND.store(if found == 0 { ABSENT } else { found }, Relaxed);
    }
    // SAFETY: the observer's table, if it is there (I1).
    if let Some(hooks) = unsafe { (found as *const Hooks).as_ref() } {
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
            assert_eq!(FOUND.load(Relaxed), ABSENT);
        }
    }
}
