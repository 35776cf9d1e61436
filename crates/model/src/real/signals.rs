//! Signals that explored code brings upon the process: an overflow of a thread's stack, and the abort that follows a
//! panic in a destructor.
//!
//! # Contract
//! Handlers for SIGSEGV and SIGABRT go in front of those that are there, once in a process. A fault in the guard page
//! of a coroutine is told, with its remedy, before the process is aborted: nothing can be run where no stack is left.
//! An abort by a panic in a destructor of explored code is none: the coroutine is suspended for ever (`panics`).
//! Everything else goes to the handlers that were there.
//!
//! # Invariants
//! S1: both signals are raised by the code that runs on this OS thread, so a handler may look at its thread-locals. It
//!     calls nothing that is not async-signal-safe, except where the abort came from `abort` itself, which holds no
//!     lock while its signal is raised.
//! S2: `BEFORE` is written once, before the handlers are there.
//!
//! # Evidence
//! tests/real_bad.rs.
#![allow(unsafe_code)]

use super::context::{overflown_bytes, suspend};
use super::panics;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// What was there for SIGSEGV and SIGABRT.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// Puts the handlers in, unless they are there.
pub(crate) fn install() {
    BEFORE.get_or_init(|| {
        [handle(libc::SIGSEGV, on_fault as *const ()), handle(libc::SIGABRT, on_abort as *const ())]
    });
}

/// Puts a handler in; what was there.
fn handle(signal: i32, handler: *const ()) -> libc::sigaction {
    // A handler that is left by a switch of stacks leaves its signal open, and the other stack free.
    handle_with(signal, handler, libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER)
}

/// Puts a handler in that runs on the stack of the code that it interrupts, whose system call goes on.
pub(crate) fn handle_here(signal: i32, handler: extern "C" fn(i32)) {
    handle_with(signal, handler as *const (), libc::SA_RESTART);
}

fn handle_with(signal: i32, handler: *const (), flags: i32) -> libc::sigaction {
    // SAFETY: all zeroes are a `sigaction` without a handler, which is put in before it is used (S2).
    let mut new: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut old = new;
    new.sa_sigaction = handler as usize;
    new.sa_flags = flags;
    // SAFETY: both are valid, and the handler is a function of the type that the flags ask for (S1).
    let failed = unsafe { libc::sigaction(signal, &raw const new, &raw mut old) };
    assert_eq!(failed, 0, "a handler of signal {signal}");
    old
}

type Info = *mut libc::siginfo_t;

extern "C" fn on_fault(signal: i32, info: Info, context: *mut libc::c_void) {
    // SAFETY: the kernel's information lives until the handler returns (S1).
    let told = unsafe { &*info };
    // SAFETY: SIGSEGV comes with an address (S1).
    let address = unsafe { told.si_addr() }.addr();
    if let Some(bytes) = overflown_bytes(address) {
        say("\nA thread of an exploration has used up its stack of ");
        say_number(bytes / 1024);
        say(" KiB. If it does not call itself for ever, `Explorer::stack_bytes` gives it more.\n");
        // SAFETY: async-signal-safe (S1).
        unsafe { libc::abort() };
    }
    pass_on(0, signal, info, context);
}

extern "C" fn on_abort(signal: i32, info: Info, context: *mut libc::c_void) {
    if panics::is_abort_of_unwinding() {
        loop {
            suspend();
        }
    }
    pass_on(1, signal, info, context);
}

/// Does what would have been done without us.
fn pass_on(which: usize, signal: i32, info: Info, context: *mut libc::c_void) {
    let Some(before) = BEFORE.get().map(|before| &before[which]) else { return };
    match before.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: puts back what was there (S2); the signal comes again when the handler returns, or is raised.
            unsafe { libc::sigaction(signal, before, null_mut()) };
            if signal == libc::SIGABRT {
                // SAFETY: async-signal-safe (S1).
                unsafe { libc::raise(signal) };
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler set with SA_SIGINFO has this type (S2).
            let handler: extern "C" fn(i32, Info, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: a handler set without SA_SIGINFO has this type (S2).
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// Writes to stderr, which no test captures.
pub(crate) fn say(text: &str) {
    // SAFETY: async-signal-safe, on bytes that are there (S1).
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

fn say_number(number: usize) {
    let digits = number.checked_ilog10().unwrap_or(0);
    for digit in (0..=digits).rev() {
        let digit = b'0' + (number / 10usize.pow(digit) % 10) as u8;
        // SAFETY: as in `say` (S1).
        unsafe { libc::write(2, (&raw const digit).cast(), 1) };
    }
}
