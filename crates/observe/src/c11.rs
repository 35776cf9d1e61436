//! C11's `mtx_*` and `cnd_*`. In glibc they are mutexes and condition variables, but it calls those internally, where
//! they cannot be observed.
//!
//! # Contract
//! Each function does to the object what its POSIX counterpart does, and returns C11's codes as glibc does.
//! # Invariants
//! I1: a `mtx_t` is a `pthread_mutex_t`, and a `cnd_t` a `pthread_cond_t` (Sources).
//! # Sources
//! glibc 2.36, nptl/thrd_priv.h (the codes) and nptl/mtx_*.c, cnd_*.c: the objects are POSIX's own.
//! # Evidence
//! `tests/programs/c11.c`.

use crate::caller::Caller;
use crate::host::{self, Object};
use crate::{condition, here, mutex};
use libc::{EBUSY, ENOMEM, ETIMEDOUT, c_int, timespec};
use uncontended_trace::layout::kind;

/// `thrd_success` to `thrd_timedout`.
fn code(result: c_int) -> c_int {
    match result {
        0 => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

pub(crate) unsafe extern "C-unwind" fn mtx_init(
    mutex: *mut Object,
    plain_or_timed: c_int,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::mtx_init(mutex, plain_or_timed) };
    if result == 0 {
        here::created(mutex as u64, kind::MUTEX, caller);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn mtx_destroy(mutex: *mut Object, caller: Caller) {
    // SAFETY: the same object by its POSIX name (P1, I1).
    unsafe { mutex::destroy(mutex, caller) };
}

pub(crate) unsafe extern "C-unwind" fn mtx_lock(mutex: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { mutex::lock(mutex, caller) })
}

pub(crate) unsafe extern "C-unwind" fn mtx_timedlock(
    mutex: *mut Object,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { mutex::timedlock(mutex, until, caller) })
}

pub(crate) unsafe extern "C-unwind" fn mtx_trylock(mutex: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { mutex::trylock(mutex, caller) })
}

pub(crate) unsafe extern "C-unwind" fn mtx_unlock(mutex: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { mutex::unlock(mutex, caller) })
}

pub(crate) unsafe extern "C-unwind" fn cnd_init(condition: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::cnd_init(condition) };
    if result == 0 {
        here::created(condition as u64, kind::CONDITION, caller);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn cnd_destroy(condition: *mut Object, caller: Caller) {
    // SAFETY: the same object by its POSIX name (P1, I1).
    unsafe { condition::destroy(condition, caller) };
}

pub(crate) unsafe extern "C-unwind" fn cnd_wait(
    condition: *mut Object,
    mutex: *mut Object,
    caller: Caller,
) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { condition::wait(condition, mutex, caller) })
}

pub(crate) unsafe extern "C-unwind" fn cnd_timedwait(
    condition: *mut Object,
    mutex: *mut Object,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { condition::timedwait(condition, mutex, until, caller) })
}

pub(crate) unsafe extern "C-unwind" fn cnd_signal(condition: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { condition::signal(condition, caller) })
}

pub(crate) unsafe extern "C-unwind" fn cnd_broadcast(
    condition: *mut Object,
    caller: Caller,
) -> c_int {
    // SAFETY: the same object by its POSIX name (P1, I1).
    code(unsafe { condition::broadcast(condition, caller) })
}
