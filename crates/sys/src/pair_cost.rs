//! The cost of an interposed lock and unlock over the plain ones, measured inside one process.
//!
//! # Contract
//! Meaningful in a process with a preloaded library that defines `pthread_mutex_lock`: calls by that name reach that
//! library, while the C library's own functions are found through the C library's handle. The two are timed in turn.
//! # Invariants
//! I1: `find` is called only for `pthread_mutex_lock` and `pthread_mutex_unlock`.
//! I2: the mutex is on the stack of the one thread that locks it, does not move, and is unlocked after each lock.

use std::ffi::CStr;
use std::sync::mpsc;
use std::time::Instant;

type Operation = unsafe extern "C" fn(*mut libc::pthread_mutex_t) -> libc::c_int;

// Half a millisecond in all, because every run of a program begins with this.
const ROUNDS: usize = 15;
const PAIRS: u32 = 400;

/// The cost of an interposed uncontended lock and unlock minus that of the plain ones, in nanoseconds, with a second
/// thread alive: the median over several rounds. `None` if nothing is interposed.
pub fn over_plain_ns() -> Option<f64> {
    let library = c"libc.so.6";
    // SAFETY: a name (L7); with RTLD_NOLOAD nothing new is loaded, so no constructor runs.
    let library = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if library.is_null() {
        return None;
    }
    let plain = [find(library, c"pthread_mutex_lock")?, find(library, c"pthread_mutex_unlock")?];
    let reached = [
        find(libc::RTLD_DEFAULT, c"pthread_mutex_lock")?,
        find(libc::RTLD_DEFAULT, c"pthread_mutex_unlock")?,
    ];
    if reached == plain {
        return None;
    }
    // glibc omits atomic instructions while there is only one thread.
    let (end, ended) = mpsc::channel::<()>();
    let second = std::thread::spawn(move || ended.recv().is_err());
    let mut over: Vec<f64> = (0..ROUNDS).map(|_| pair_ns(reached) - pair_ns(plain)).collect();
    drop(end);
    second.join().ok()?;
    over.sort_by(f64::total_cmp);
    Some(over[ROUNDS / 2])
}

/// The address of the C function `name`, searched from `handle`.
fn find(handle: *mut libc::c_void, name: &CStr) -> Option<usize> {
    // SAFETY: the handle is RTLD_DEFAULT or that of a loaded library; a name (L7).
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

fn pair_ns(addresses: [usize; 2]) -> f64 {
    let [lock, unlock] = addresses.map(|address| {
        // SAFETY: a function of that type (I1).
        unsafe { std::mem::transmute::<usize, Operation>(address) }
    });
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let start = Instant::now();
    for _ in 0..PAIRS {
        // SAFETY: an initialised mutex of our own, which does not move (I2).
        unsafe { lock(&mut mutex) };
        // SAFETY: this thread holds it (I2).
        unsafe { unlock(&mut mutex) };
    }
    start.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}
