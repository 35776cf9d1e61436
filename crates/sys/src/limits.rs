//! What a process does at its limits, instead of dying by a signal.
//!
//! # Contract
//! With [`Heap`] as its allocator, a process without memory says so and exits with the status that [`exit_with`] set.
//! After [`survive_file_size`], a write beyond the limit on the size of files is an error. Programs that this process
//! executes have the disposition that it found. [`with_stack`] gives the work a stack of sufficient size.
//! # State
//! `STATUS` is one word that is written before it matters, and read once.
//! # Invariants
//! I1: without memory, nothing is allocated: a constant text is written, and the process ends at once.
//! I2: the handler does nothing.
//! I3: each function of the heap is the system allocator's with the same arguments, or does not return; so what its
//!     caller must keep is what the system's caller must.
//! I4: a thread that only waits for the one that works has all signals blocked, and the other one has the mask from
//!     before: each signal reaches the one that works.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};

static STATUS: AtomicU8 = AtomicU8::new(2);
const TEXT: &str =
    "unc: there is no memory left\n     raise the limit, if one is set: `ulimit -v unlimited`\n";

/// Sets the status with which a process without memory exits.
pub fn exit_with(status: u8) {
    STATUS.store(status, Ordering::Relaxed);
}

/// The system's allocator.
#[derive(Debug)]
pub struct Heap;

// SAFETY: I3.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's (I3).
        there_is(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's (I3).
        there_is(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's (I3).
        there_is(unsafe { System.realloc(old, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's (I3).
        unsafe { System.dealloc(memory, layout) }
    }
}

fn there_is(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        give_up();
    }
    memory
}

#[cold]
fn give_up() -> ! {
    // SAFETY: a text and its length (L2), which is constant (I1).
    unsafe { libc::write(2, TEXT.as_ptr().cast(), TEXT.len()) };
    // SAFETY: `_exit` runs no code of ours (I1).
    unsafe { libc::_exit(STATUS.load(Ordering::Relaxed).into()) }
}

/// The limit on the stack of the first thread, in bytes.
fn stack_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a pointer to `limit` (L2), which stays as it is on failure.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    #[allow(clippy::unnecessary_cast, reason = "32 bits on some processors")]
    let bytes = limit.rlim_cur as u64;
    bytes
}

/// Runs `work`: in this thread, which must be the only one, or, if the limit on its stack is below `least` bytes, in
/// one that has a stack of `least` bytes.
///
/// # Errors
/// That of starting the thread.
pub fn with_stack<T: Send>(least: usize, work: fn() -> T) -> io::Result<T> {
    if stack_limit() >= least as u64 {
        return Ok(work());
    }
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: a pointer to `all` (L2).
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: pointers to both masks (L2), of which `all` is initialised (L6).
    let rc = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    if rc != 0 {
        return Err(io::Error::from_raw_os_error(rc));
    }
    // SAFETY: pthread_sigmask succeeded (L6).
    let before = unsafe { before.assume_init() };
    let work = || {
        // SAFETY: an initialised mask; the old one is not requested (L2). I4 holds from here on.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
        work()
    };
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("main".into()).stack_size(least);
        let worker = worker.spawn_scoped(scope, work)?;
        Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

extern "C" fn nothing(_: libc::c_int) {}

/// Makes a write beyond the limit on the size of files an error, also for the program's own threads.
///
/// # Errors
/// Those of `sigaction`.
pub fn survive_file_size() -> io::Result<()> {
    // SAFETY: zeroed (L5).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action makes this a query into `action` (L2).
    if unsafe { libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &mut action) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if action.sa_sigaction != libc::SIG_DFL {
        return Ok(());
    }
    // Unlike being ignored, a handler does not outlive an exec.
    action.sa_sigaction = nothing as extern "C" fn(i32) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler keeps I2 (L9), and `action` lives until the call returns (L2).
    match unsafe { libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
