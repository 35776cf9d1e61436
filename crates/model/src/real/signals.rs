//! Handlers for the signals that explored code can raise: a stack overflow, and the abort after a panic in a
//! destructor.
//!
//! # Contract
//! Handlers for SIGSEGV and SIGABRT are installed once per process, in front of the existing ones. A fault in the guard
//! page of a coroutine is reported with its remedy before the process is aborted: no code can run without a stack. An
//! abort caused by a panic in a destructor of explored code is suppressed: the coroutine is suspended forever
//! (`panics`). Everything else goes to the previous handlers.
//!
//! # Invariants
//! S1: both signals are raised by the code that runs on this OS thread, so a handler may read the thread's
//!     thread-locals. It calls only async-signal-safe functions, except if the abort came from `abort` itself, which
//!     holds no lock while its signal is raised.
//! S2: `BEFORE` is written once, before the handlers are installed.
//!
//! # Evidence
//! tests/real_bad.rs.
#![allow(unsafe_code)]

use super::context::{overflown_bytes, suspend};
use super::panics;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The previous handlers of SIGSEGV and SIGABRT.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// Installs the handlers unless they are installed.
pub(crate) fn install() {
    BEFORE.get_or_init(|| {
        [handle(libc::SIGSEGV, on_fault as *const ()), handle(libc::SIGABRT, on_abort as *const ())]
    });
}

/// Installs a handler and returns the previous one.
fn handle(signal: i32, handler: *const ()) -> libc::sigaction {
    // A handler that is left by a stack switch must not keep its signal blocked or the alternate stack in use.
    handle_with(signal, handler, libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER)
}

/// Installs a handler that runs on the stack of the code it interrupts and restarts its system call.
pub(crate) fn handle_here(signal: i32, handler: extern "C" fn(i32)) {
    handle_with(signal, handler as *const (), libc::SA_RESTART);
}

fn handle_with(signal: i32, handler: *const (), flags: i32) -> libc::sigaction {
    // SAFETY: all zeroes are a valid `sigaction` without a handler; the handler is set before it is used (S2).
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
        say("\nA thread of an exploration overflowed its stack of ");
        say_number(bytes / 1024);
        say(" KiB. Fix unbounded recursion, or raise `Explorer::stack_bytes`.\n");
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

/// Passes the signal to the previous handler.
fn pass_on(which: usize, signal: i32, info: Info, context: *mut libc::c_void) {
    let Some(before) = BEFORE.get().map(|before| &before[which]) else { return };
    match before.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: restores the previous handler (S2); the signal is raised again when this handler returns, or by
            // `raise`.
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
    // SAFETY: async-signal-safe, on initialised bytes (S1).
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
