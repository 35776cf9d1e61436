//! The C library's own functions, found behind ours.
//!
//! # Contract
//! Each function here is the one that the program would have called without us. They are looked up once, at start or at
//! the first call, whichever is earlier (another preloaded library may lock before our constructor runs).
//! # Invariants
//! I1: an address in a slot is that of a function of the slot's type, because the C library declares it so.
//! # Sources
//! dlsym(3), dlvsym(3): RTLD_NEXT. `pthread_cond_*` exists in two versions that take different objects.

use libc::{c_char, c_int, c_long, c_uint, c_void, timespec};
use std::ffi::CStr;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};

/// A mutex, of which only its address matters here. Likewise the types below.
pub(crate) type Object = c_void;

macro_rules! host {
    ($($name:ident $version:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[inline(always)]
            pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
                static SLOT: AtomicUsize = AtomicUsize::new(0);
                let mut address = SLOT.load(Relaxed);
                if address == 0 {
                    address = find(concat!(stringify!($name), "\0"), concat!($version, "\0"));
                    SLOT.store(address, Relaxed);
                }
                // SAFETY: the slot holds the address of this very function (I1).
                let function: unsafe extern "C-unwind" fn($($type),*) -> $result = unsafe { std::mem::transmute(address) };
                // SAFETY: the program called the interposed function with these arguments.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

host! {
    pthread_mutex_init "" (mutex: *mut Object, attributes: *const c_void) -> c_int;
    pthread_mutex_destroy "" (mutex: *mut Object) -> c_int;
    pthread_mutex_lock "" (mutex: *mut Object) -> c_int;
    pthread_mutex_trylock "" (mutex: *mut Object) -> c_int;
    pthread_mutex_timedlock "" (mutex: *mut Object, until: *const timespec) -> c_int;
    pthread_mutex_clocklock "" (mutex: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_mutex_unlock "" (mutex: *mut Object) -> c_int;
    pthread_rwlock_init "" (lock: *mut Object, attributes: *const c_void) -> c_int;
    pthread_rwlock_destroy "" (lock: *mut Object) -> c_int;
    pthread_rwlock_rdlock "" (lock: *mut Object) -> c_int;
    pthread_rwlock_tryrdlock "" (lock: *mut Object) -> c_int;
    pthread_rwlock_timedrdlock "" (lock: *mut Object, until: *const timespec) -> c_int;
    pthread_rwlock_clockrdlock "" (lock: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_rwlock_wrlock "" (lock: *mut Object) -> c_int;
    pthread_rwlock_trywrlock "" (lock: *mut Object) -> c_int;
    pthread_rwlock_timedwrlock "" (lock: *mut Object, until: *const timespec) -> c_int;
    pthread_rwlock_clockwrlock "" (lock: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_rwlock_unlock "" (lock: *mut Object) -> c_int;
    pthread_spin_init "" (lock: *mut Object, shared: c_int) -> c_int;
    pthread_spin_destroy "" (lock: *mut Object) -> c_int;
    pthread_spin_lock "" (lock: *mut Object) -> c_int;
    pthread_spin_trylock "" (lock: *mut Object) -> c_int;
    pthread_spin_unlock "" (lock: *mut Object) -> c_int;
    pthread_cond_init "GLIBC_2.3.2" (condition: *mut Object, attributes: *const c_void) -> c_int;
    pthread_cond_destroy "GLIBC_2.3.2" (condition: *mut Object) -> c_int;
    pthread_cond_wait "GLIBC_2.3.2" (condition: *mut Object, mutex: *mut Object) -> c_int;
    pthread_cond_timedwait "GLIBC_2.3.2" (condition: *mut Object, mutex: *mut Object, until: *const timespec) -> c_int;
    pthread_cond_clockwait "" (condition: *mut Object, mutex: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_cond_signal "GLIBC_2.3.2" (condition: *mut Object) -> c_int;
    pthread_cond_broadcast "GLIBC_2.3.2" (condition: *mut Object) -> c_int;
    pthread_barrier_init "" (barrier: *mut Object, attributes: *const c_void, count: c_uint) -> c_int;
    pthread_barrier_destroy "" (barrier: *mut Object) -> c_int;
    pthread_barrier_wait "" (barrier: *mut Object) -> c_int;
    pthread_join "" (thread: libc::pthread_t, result: *mut *mut c_void) -> c_int;
    sem_init "" (semaphore: *mut Object, shared: c_int, value: c_uint) -> c_int;
    sem_destroy "" (semaphore: *mut Object) -> c_int;
    sem_wait "" (semaphore: *mut Object) -> c_int;
    sem_trywait "" (semaphore: *mut Object) -> c_int;
    sem_timedwait "" (semaphore: *mut Object, until: *const timespec) -> c_int;
    sem_clockwait "" (semaphore: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    sem_post "" (semaphore: *mut Object) -> c_int;
    mtx_init "" (mutex: *mut Object, plain_or_timed: c_int) -> c_int;
    cnd_init "" (condition: *mut Object) -> c_int;
    prctl "" (option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int;
    syscall "" (number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long;
}

/// The older version of conditions, which programs linked before 2003 use: its objects hold a pointer.
#[cfg(target_arch = "x86_64")]
pub(crate) mod old {
    use super::*;

    host! {
        pthread_cond_init "GLIBC_2.2.5" (condition: *mut Object, attributes: *const c_void) -> c_int;
        pthread_cond_destroy "GLIBC_2.2.5" (condition: *mut Object) -> c_int;
        pthread_cond_wait "GLIBC_2.2.5" (condition: *mut Object, mutex: *mut Object) -> c_int;
        pthread_cond_timedwait "GLIBC_2.2.5" (condition: *mut Object, mutex: *mut Object, until: *const timespec) -> c_int;
        pthread_cond_signal "GLIBC_2.2.5" (condition: *mut Object) -> c_int;
        pthread_cond_broadcast "GLIBC_2.2.5" (condition: *mut Object) -> c_int;
    }
}

/// The address of the C library's function. A program that calls one that its C library lacks could not have started, so
/// the process cannot go on without it.
#[cold]
fn find(name: &'static str, version: &'static str) -> usize {
    let name: *const c_char = name.as_ptr().cast();
    let mut address = std::ptr::null_mut();
    if version.len() > 1 && cfg!(target_arch = "x86_64") {
        // SAFETY: both names end in NUL.
        address = unsafe { libc::dlvsym(libc::RTLD_NEXT, name, version.as_ptr().cast()) };
    }
    if address.is_null() {
        // SAFETY: the name ends in NUL.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
    }
    if address.is_null() {
        // SAFETY: ends the process; called with nothing held.
        unsafe { libc::abort() };
    }
    address as usize
}

/// A function that not every C library has; none if this one lacks it.
pub(crate) fn optional(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends in NUL.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}
