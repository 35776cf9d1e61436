//! The threads that the program makes: each is in the record from its beginning, even if it takes no lock.
//!
//! # Contract
//! `pthread_create` and `thrd_create`. The new thread begins in [`begin`], which enters it in the record, with the
//! thread that made it, and jumps to the program's function: nothing of it stays on the stack. Without a record or
//! memory, and before recording begins, the thread begins as the program says. A small stack is enlarged by what the
//! observer needs ([`room`]).
//! # Invariants
//! I1: a [`Made`] has memory of its own, and one owner: the call that makes the thread, and, from when it has made
//!     it, the new thread.
//! # Evidence
//! `tests/programs`: `computes.c`, `small_stack.c`, `tight_stack.c`.

use crate::caller::Caller;
use crate::here;
use crate::host::{self, Object};
use crate::pieces::Pieces;
use crate::room;
use crate::routine;
use libc::{c_int, c_void, pthread_t};
use std::arch::naked_asm;
use std::ptr::NonNull;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::site::Site;
use uncontended_sys::clock::ticks;
use uncontended_trace::layout::Unit;

/// The function that a thread begins with, and its argument; in two registers, where a function returns it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Start {
    function: usize,
    argument: usize,
}

/// A thread about to be made.
struct Made {
    start: Start,
    creator: Unit,
    at: u64,
}

static MADE: Pieces = Pieces::of(size_of::<Made>());

/// Gets memory for when the kernel may not be asked for any.
pub(crate) fn provide() {
    MADE.provide(|_| ());
}

impl Made {
    fn by(start: Start, caller: Caller) -> Option<NonNull<Made>> {
        let at = here::here(caller)?;
        let creator = at.recorder().arena.unit_of(at.recorder().thread);
        let made = MADE.get(|_| ())?.cast();
        // SAFETY: fresh memory of that size, page-aligned (M1).
        unsafe { made.write(Made { start, creator, at: ticks() }) };
        Some(made)
    }

    /// # Safety
    /// The caller owns it (I1).
    unsafe fn free(made: NonNull<Made>) {
        // SAFETY: its own memory, after its last use, by the contract (I1).
        unsafe { MADE.give(made.cast()) };
    }
}

/// Lets `make` make a thread, of a function and its argument; it returns 0 if it could.
fn make(
    (function, argument): (usize, *mut c_void),
    caller: Caller,
    make: impl FnOnce(usize, *mut c_void) -> c_int,
) -> c_int {
    let start = Start { function, argument: argument as usize };
    let Some(made) = Made::by(start, caller) else { return make(function, argument) };
    let answer = make(begin as *const () as usize, made.as_ptr().cast());
    if answer != 0 {
        // SAFETY: no thread has been made (I1).
        unsafe { Made::free(made) };
    }
    answer
}

pub(crate) unsafe extern "C-unwind" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const c_void,
    function: usize,
    argument: *mut c_void,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own attributes (P1).
    let enlarged = unsafe { room::enlarged(attributes) };
    let attributes = enlarged.as_ref().map_or(attributes, |own| std::ptr::from_ref(own).cast());
    make((function, argument), caller, |function, argument| {
        // SAFETY: the program's own call (P1), or with a function of the type that owns its argument (I1); with its
        // attributes, or a copy that has a larger stack.
        unsafe { host::pthread_create(thread, attributes, function, argument) }
    })
}

pub(crate) unsafe extern "C-unwind" fn thrd_create(
    thread: *mut Object,
    function: usize,
    argument: *mut c_void,
    caller: Caller,
) -> c_int {
    make((function, argument), caller, |function, argument| {
        // SAFETY: the program's own call (P1), or with a function of the type that owns its argument (I1).
        unsafe { host::thrd_create(thread, function, argument) }
    })
}

/// Enters the calling thread, which is new, and returns what it is to run.
unsafe extern "C" fn enter(made: NonNull<Made>) -> Start {
    // SAFETY: the new thread owns it (I1).
    let Made { start, creator, at: made_at } = unsafe { made.read() };
    // SAFETY: as above, and it has been read (I1).
    unsafe { Made::free(made) };
    if let Some(at) = here::here(Caller::nowhere()) {
        let busy = at.begin();
        let thread = at.recorder().thread;
        thread.creator.store(creator, Relaxed);
        thread.made_ticks.store(made_at, Relaxed);
        let began_in = routine::stack(at.recorder(), start.function, start.argument);
        thread.began_in.store(began_in, Relaxed);
        drop(busy);
    }
    start
}

/// Where a thread begins, with its [`Made`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {enter}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        enter = sym enter,
    )
}

/// Where a thread begins, with its [`Made`].
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset 29, -16",
        ".cfi_offset 30, -8",
        "bl {enter}",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        "mov x16, x0",
        "mov x0, x1",
        "br x16",
        ".cfi_endproc",
        enter = sym enter,
    )
}
