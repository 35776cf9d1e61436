//! The C library's own functions, found after ours.
//!
//! # Contract
//! Each function here is the one that the program would have called without us. All are looked up at start, because a
//! lookup takes the loader's lock, which another thread may hold while it waits for this one. A function called
//! earlier (another preloaded library may lock before our constructor runs) is looked up then.
//! # Invariants
//! I1: an address in a slot is that of the function with the slot's name (`lookup`), whose type the C library declares.
//!     `mremap`, `prctl` and `syscall` take their variable arguments in the registers of a function with that many
//!     arguments, on both architectures.
//! # Sources
//! `pthread_cond_*` exists in two versions that take different objects.

use crate::lookup;
use libc::{c_char, c_int, c_long, c_uint, c_void, timespec};
use std::ffi::CStr;
use uncontended_atomic::Ordering::Relaxed;

/// `text`, which ends in NUL.
const fn c_text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

/// A mutex, used only by its address; likewise the other objects below.
pub(crate) type Object = c_void;

/// A word of a program's arguments or environment.
pub(crate) type Words = *const c_char;

macro_rules! host {
    ($($name:ident $version:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The address of each function; 0 before it is looked up.
        #[allow(non_upper_case_globals, reason = "named like the functions")]
        mod slots {
            use uncontended_atomic::AtomicUsize;

            $(pub(super) static $name: AtomicUsize = AtomicUsize::new(0);)*
        }

        /// Looks up all of them.
        pub(crate) fn prepare() {
            $(
                let found = find(c_text(concat!(stringify!($name), "\0")), $version);
                slots::$name.store(found.unwrap_or(0), Relaxed);
            )*
        }

        $(
            #[inline(always)]
            pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
                let mut address = slots::$name.load(Relaxed);
                if address == 0 {
                    address = find_late(c_text(concat!(stringify!($name), "\0")), $version);
                    slots::$name.store(address, Relaxed);
                }
                debug_assert_ne!(address, 0, "I1");
                // SAFETY: the slot's own function and type (I1).
                let function = unsafe {
                    std::mem::transmute::<usize, unsafe extern "C-unwind" fn($($type),*) -> $result>(address)
                };
                // SAFETY: the program's arguments (P1), some of them tried first (P3).
                unsafe { function($($argument),*) }
            }
        )*
    };
}

host! {
    pthread_mutex_init c"" (mutex: *mut Object, attributes: *const c_void) -> c_int;
    pthread_mutex_destroy c"" (mutex: *mut Object) -> c_int;
    pthread_mutex_lock c"" (mutex: *mut Object) -> c_int;
    pthread_mutex_trylock c"" (mutex: *mut Object) -> c_int;
    pthread_mutex_timedlock c"" (mutex: *mut Object, until: *const timespec) -> c_int;
    pthread_mutex_clocklock c"" (mutex: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_mutex_unlock c"" (mutex: *mut Object) -> c_int;
    pthread_rwlock_init c"" (lock: *mut Object, attributes: *const c_void) -> c_int;
    pthread_rwlock_destroy c"" (lock: *mut Object) -> c_int;
    pthread_rwlock_rdlock c"" (lock: *mut Object) -> c_int;
    pthread_rwlock_tryrdlock c"" (lock: *mut Object) -> c_int;
    pthread_rwlock_timedrdlock c"" (lock: *mut Object, until: *const timespec) -> c_int;
    pthread_rwlock_clockrdlock c"" (lock: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_rwlock_wrlock c"" (lock: *mut Object) -> c_int;
    pthread_rwlock_trywrlock c"" (lock: *mut Object) -> c_int;
    pthread_rwlock_timedwrlock c"" (lock: *mut Object, until: *const timespec) -> c_int;
    pthread_rwlock_clockwrlock c"" (lock: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_rwlock_unlock c"" (lock: *mut Object) -> c_int;
    pthread_spin_init c"" (lock: *mut Object, shared: c_int) -> c_int;
    pthread_spin_destroy c"" (lock: *mut Object) -> c_int;
    pthread_spin_lock c"" (lock: *mut Object) -> c_int;
    pthread_spin_trylock c"" (lock: *mut Object) -> c_int;
    pthread_spin_unlock c"" (lock: *mut Object) -> c_int;
    pthread_cond_init c"GLIBC_2.3.2" (condition: *mut Object, attributes: *const c_void) -> c_int;
    pthread_cond_destroy c"GLIBC_2.3.2" (condition: *mut Object) -> c_int;
    pthread_cond_wait c"GLIBC_2.3.2" (condition: *mut Object, mutex: *mut Object) -> c_int;
    pthread_cond_timedwait c"GLIBC_2.3.2" (condition: *mut Object, mutex: *mut Object, until: *const timespec) -> c_int;
    pthread_cond_clockwait c""
        (condition: *mut Object, mutex: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    pthread_cond_signal c"GLIBC_2.3.2" (condition: *mut Object) -> c_int;
    pthread_cond_broadcast c"GLIBC_2.3.2" (condition: *mut Object) -> c_int;
    pthread_barrier_init c"" (barrier: *mut Object, attributes: *const c_void, count: c_uint) -> c_int;
    pthread_barrier_destroy c"" (barrier: *mut Object) -> c_int;
    pthread_barrier_wait c"" (barrier: *mut Object) -> c_int;
    pthread_testcancel c"" () -> ();
    pthread_create c""
        (thread: *mut libc::pthread_t, attributes: *const c_void, function: usize, argument: *mut c_void) -> c_int;
    pthread_join c"" (thread: libc::pthread_t, result: *mut *mut c_void) -> c_int;
    pthread_timedjoin_np c""
        (thread: libc::pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int;
    pthread_clockjoin_np c""
        (thread: libc::pthread_t, result: *mut *mut c_void, clock: c_int, until: *const timespec) -> c_int;
    pthread_cancel c"" (thread: libc::pthread_t) -> c_int;
    thrd_create c"" (thread: *mut Object, function: usize, argument: *mut c_void) -> c_int;
    thrd_join c"" (thread: libc::pthread_t, result: *mut c_int) -> c_int;
    sem_init c"" (semaphore: *mut Object, shared: c_int, value: c_uint) -> c_int;
    sem_destroy c"" (semaphore: *mut Object) -> c_int;
    sem_wait c"" (semaphore: *mut Object) -> c_int;
    sem_trywait c"" (semaphore: *mut Object) -> c_int;
    sem_timedwait c"" (semaphore: *mut Object, until: *const timespec) -> c_int;
    sem_clockwait c"" (semaphore: *mut Object, clock: c_int, until: *const timespec) -> c_int;
    sem_post c"" (semaphore: *mut Object) -> c_int;
    sem_close c"" (semaphore: *mut Object) -> c_int;
    mmap c"" (address: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    mmap64 c""
        (address: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    mremap c"" (address: *mut c_void, bytes: usize, new: usize, flags: c_int, to: *mut c_void) -> *mut c_void;
    munmap c"" (address: *mut c_void, bytes: usize) -> c_int;
    shmdt c"" (address: *const c_void) -> c_int;
    mtx_init c"" (mutex: *mut Object, plain_or_timed: c_int) -> c_int;
    cnd_init c"" (condition: *mut Object) -> c_int;
    dlclose c"" (library: *mut c_void) -> c_int;
    execve c"" (path: *const c_char, words: *const Words, environment: *const Words) -> c_int;
    execv c"" (path: *const c_char, words: *const Words) -> c_int;
    execvp c"" (file: *const c_char, words: *const Words) -> c_int;
    execvpe c"" (file: *const c_char, words: *const Words, environment: *const Words) -> c_int;
    fexecve c"" (file: c_int, words: *const Words, environment: *const Words) -> c_int;
    posix_spawn c"" (pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        words: *const Words, environment: *const Words) -> c_int;
    posix_spawnp c"" (pid: *mut c_int, file: *const c_char, actions: *const c_void, attributes: *const c_void,
        words: *const Words, environment: *const Words) -> c_int;
    _exit c"" (status: c_int) -> !;
    quick_exit c"" (status: c_int) -> !;
    prctl c"" (option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int;
    setrlimit c"" (resource: c_uint, limit: *const libc::rlimit) -> c_int;
    setrlimit64 c"" (resource: c_uint, limit: *const libc::rlimit) -> c_int;
    prlimit c""
        (process: libc::pid_t, resource: c_uint, limit: *const libc::rlimit, old: *mut libc::rlimit) -> c_int;
    prlimit64 c""
        (process: libc::pid_t, resource: c_uint, limit: *const libc::rlimit, old: *mut libc::rlimit) -> c_int;
    syscall c"" (number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long;
}

/// The older version of condition variables, used by programs linked before 2003: its objects hold a pointer.
#[cfg(target_arch = "x86_64")]
pub(crate) mod old {
    use super::*;

    host! {
        pthread_cond_init c"GLIBC_2.2.5" (condition: *mut Object, attributes: *const c_void) -> c_int;
        pthread_cond_destroy c"GLIBC_2.2.5" (condition: *mut Object) -> c_int;
        pthread_cond_wait c"GLIBC_2.2.5" (condition: *mut Object, mutex: *mut Object) -> c_int;
        pthread_cond_timedwait c"GLIBC_2.2.5" (condition: *mut Object, mutex: *mut Object, until: *const timespec) -> c_int;
        pthread_cond_signal c"GLIBC_2.2.5" (condition: *mut Object) -> c_int;
        pthread_cond_broadcast c"GLIBC_2.2.5" (condition: *mut Object) -> c_int;
    }
}

/// The same before the constructor ran. A program that calls a function missing from its C library could not have
/// started, so the process cannot continue without it.
#[cold]
fn find_late(name: &'static CStr, version: &'static CStr) -> usize {
    match find(name, version) {
        Some(address) => address,
        // SAFETY: a call without arguments (L1).
        None => unsafe { libc::abort() },
    }
}

/// The address of the C library's function, or of another library's between ours and the C library.
fn find(name: &'static CStr, version: &'static CStr) -> Option<usize> {
    let version = if cfg!(target_arch = "x86_64") { version } else { c"" };
    lookup::next(name, version)
}
