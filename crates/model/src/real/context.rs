//! Stackful coroutines: functions that can be suspended and resumed, on one OS thread.
//!
//! # Contract
//! [`Coroutine::resume`] runs the function until it calls [`suspend`] or ends. A coroutine never leaves its OS thread.
//! The function must not unwind out of its body: the creator of a coroutine catches panics inside. A coroutine that has
//! ended can be given another body, and keeps its stack. Dropping a suspended coroutine leaks what its frames own (its
//! stack is reused, nothing on it is dropped).
//!
//! # Invariants
//! I1: `Coroutine::sp` is the stack pointer of a suspended coroutine: at that address `switch` of this architecture has
//!     saved the callee-saved registers and the address to resume at. Only `switch` reads and writes it.
//! I2: `CURRENT` holds the address of the coroutine that runs on this OS thread, or null. It is set before the switch
//!     into a coroutine and reset after the switch out of it, and `resume` borrows the coroutine for that whole time.
//! I3: A stack is a private mapping of `Stack::bytes` whose lowest page is inaccessible: an overflow faults and does
//!     not write into adjacent memory. It is unmapped or pooled only when no frame on it can run again.
//! I4: a body is taken exactly once, by `begin` on the coroutine's own stack.
//!
//! # Sources
//! System V AMD64 ABI 3.2.1 (callee-saved registers); AAPCS64 6.1.
#![allow(unsafe_code)]

use core::arch::naked_asm;
use core::cell::{Cell, RefCell};
use core::ptr::null_mut;
use std::rc::Rc;

/// The default size of a stack in bytes, its guard page included. Debug builds of user code with formatting in it need
/// far less than this.
pub(crate) const STACK_BYTES: usize = 256 * 1024;
const GUARD_BYTES: usize = 4096;
/// Stacks kept for later coroutines on this OS thread.
const POOLED_STACKS: usize = 32;

thread_local! {
    static CURRENT: Cell<*const Coroutine> = const { Cell::new(core::ptr::null()) };
    static POOL: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
}

/// One mapping with a guard page (I3).
struct Stack {
    base: *mut u8,
    bytes: usize,
}

impl Stack {
    fn take(bytes: usize) -> Stack {
        let bytes = bytes.next_multiple_of(GUARD_BYTES).max(4 * GUARD_BYTES);
        let pooled = POOL.with_borrow_mut(|pool| {
            let at = pool.iter().rposition(|stack| stack.bytes == bytes)?;
            Some(pool.swap_remove(at))
        });
        if let Some(stack) = pooled {
            return stack;
        }
        // SAFETY: an anonymous private mapping at an address chosen by the kernel touches no existing memory (I3).
        let base = unsafe {
            libc::mmap(
                null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(base != libc::MAP_FAILED, "no memory for a coroutine's stack");
        // SAFETY: the page belongs to the mapping just made (I3).
        let guarded = unsafe { libc::mprotect(base, GUARD_BYTES, libc::PROT_NONE) };
        assert_eq!(guarded, 0, "no guard page for a coroutine's stack");
        Stack { base: base.cast(), bytes }
    }

    /// One past the highest byte; a multiple of 16.
    fn top(&self) -> *mut u8 {
        self.base.wrapping_add(self.bytes)
    }

    fn give_back(self) {
        POOL.with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < POOLED_STACKS {
                pool.push(self);
            }
        });
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing runs on it any more (I3).
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// A suspended, running or finished function with a stack of its own.
pub(crate) struct Coroutine {
    stack: Option<Stack>,
    sp: Cell<*mut u8>,
    resumer: Cell<*mut u8>,
    finished: Cell<bool>,
    entry: Entry,
    body: RefCell<Option<Body>>,
}

pub(crate) type Body = Box<dyn FnOnce()>;
type Entry = Box<dyn Fn(Body)>;

impl Coroutine {
    /// A coroutine that has not begun; `entry` runs each body that it is given. It must not move: its address is its
    /// identity while it runs (I2).
    pub(crate) fn new(entry: Entry, body: Body, stack_bytes: usize) -> Rc<Coroutine> {
        let stack = Stack::take(stack_bytes);
        // SAFETY: the words written lie inside the mapping, just below its top, and nothing runs on it yet (I1, I3).
        let sp = unsafe { prepare(stack.top()) };
        Rc::new(Coroutine {
            stack: Some(stack),
            sp: Cell::new(sp),
            resumer: Cell::new(null_mut()),
            finished: Cell::new(false),
            entry,
            body: RefCell::new(Some(body)),
        })
    }

    /// Gives a coroutine that has ended another body.
    pub(crate) fn restart(&self, body: Body) {
        assert!(self.finished.replace(false), "only what has ended begins again");
        *self.body.borrow_mut() = Some(body);
    }

    /// Drops a body that has never run.
    pub(crate) fn forget_body(&self) {
        let body = self.body.borrow_mut().take();
        drop(body);
    }

    /// Whether the function has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// Whether the function has never run: dropping it then is an ordinary drop.
    pub(crate) fn is_fresh(&self) -> bool {
        self.body.borrow().is_some()
    }

    /// Runs until the next [`suspend`] or the end.
    pub(crate) fn resume(&self) {
        assert!(!self.is_finished(), "a finished coroutine can't be resumed");
        let outer = CURRENT.replace(self);
        // SAFETY: I1 for `sp`; `resumer` receives this side's state for the switch back.
        unsafe { switch(self.resumer.as_ptr(), self.sp.get()) };
        CURRENT.set(outer);
    }
}

impl Drop for Coroutine {
    fn drop(&mut self) {
        // No frame on it can run again: `resume` needs the coroutine (I3).
        if let Some(stack) = self.stack.take() {
            stack.give_back();
        }
    }
}

/// Whether the caller runs in a coroutine.
pub(crate) fn is_inside() -> bool {
    !CURRENT.get().is_null()
}

/// The size of the running coroutine's stack, if `address` is in its guard page.
pub(crate) fn overflown_bytes(address: usize) -> Option<usize> {
    let current = CURRENT.get();
    // SAFETY: I2: null, or a coroutine that outlives its own run.
    let stack = unsafe { current.as_ref() }?.stack.as_ref()?;
    let below = address.checked_sub(stack.base.addr())?;
    (below < GUARD_BYTES).then_some(stack.bytes)
}

/// Switches back to the resumer of the running coroutine.
pub(crate) fn suspend() {
    let current = CURRENT.get();
    assert!(!current.is_null(), "suspend is called from inside a coroutine");
    // SAFETY: I2: the coroutine outlives its own run.
    let current = unsafe { &*current };
    // SAFETY: I1 for `resumer`, written by the switch that brought us here.
    unsafe { switch(current.sp.as_ptr(), current.resumer.get()) };
}

/// The first Rust frame on a new stack.
extern "C" fn begin() -> ! {
    let current = CURRENT.get();
    // SAFETY: I2: `resume` has just set it.
    let coroutine = unsafe { &*current };
    loop {
        let body = coroutine.body.borrow_mut().take();
        (coroutine.entry)(body.expect("I4: given before it is resumed"));
        coroutine.finished.set(true);
        suspend();
    }
}

/// Lays out a stack as `switch` leaves one, so that the first switch lands in `begin`.
///
/// # Safety
/// `top` is the aligned upper end of a writable mapping of at least 256 bytes that nothing runs on.
#[cfg(target_arch = "x86_64")]
unsafe fn prepare(top: *mut u8) -> *mut u8 {
    // From low to high: r15 r14 r13 r12 rbx rbp, the address `ret` goes to, and a zero where the caller of `begin`
    // would have left its return address, which ends every backtrace.
    let sp = top.wrapping_sub(64).cast::<usize>();
    for word in 0..8 {
        let value = if word == 6 { begin as *const () as usize } else { 0 };
        // SAFETY: within the 64 bytes below the top, by the contract in the mapping (I3).
        unsafe { sp.wrapping_add(word).write(value) };
    }
    sp.cast()
}

/// Saves this side's callee-saved registers, stores its stack pointer in `*save`, and switches to the stack at `to`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64" fn switch(save: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Lays out a stack as `switch` leaves one, so that the first switch lands in `begin`.
///
/// # Safety
/// `top` is the aligned upper end of a writable mapping of at least 256 bytes that nothing runs on.
#[cfg(target_arch = "aarch64")]
unsafe fn prepare(top: *mut u8) -> *mut u8 {
    // From low to high: x19 to x28, x29, x30 (where `ret` goes), d8 to d15.
    let sp = top.wrapping_sub(160).cast::<usize>();
    for word in 0..20 {
        let value = if word == 11 { first as *const () as usize } else { 0 };
        // SAFETY: within the 160 bytes below the top, by the contract in the mapping (I3).
        unsafe { sp.wrapping_add(word).write(value) };
    }
    sp.cast()
}

/// Jumps to `begin` with no return address, which ends every backtrace: `ret` has left its own target in x30.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn first() -> ! {
    naked_asm!("mov x30, xzr", "b {begin}", begin = sym begin)
}

/// Saves this side's callee-saved registers, stores its stack pointer in `*save`, and switches to the stack at `to`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp, #0]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp, #0]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::backtrace::Backtrace;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    #[test]
    fn two_coroutines_take_turns_and_keep_their_locals() {
        let log = Rc::new(RefCell::new(Vec::new()));
        let make = |name: u32| {
            let log = Rc::clone(&log);
            let body = move || {
                for step in 0..3 {
                    log.borrow_mut().push(name * 10 + step);
                    suspend();
                }
            };
            Coroutine::new(Box::new(|body| body()), Box::new(body), STACK_BYTES)
        };
        let (a, b) = (make(1), make(2));
        while !a.is_finished() {
            a.resume();
            b.resume();
        }
        assert!(b.is_finished());
        assert_eq!(*log.borrow(), [10, 20, 11, 21, 12, 22]);
    }

    #[test]
    fn a_panic_is_caught_on_the_coroutines_own_stack() {
        let caught = Rc::new(Cell::new(false));
        let seen = Rc::clone(&caught);
        let body = move || {
            let end = catch_unwind(AssertUnwindSafe(|| {
                suspend();
                resume_unwind(Box::new(7u8));
            }));
            seen.set(end.unwrap_err().downcast_ref::<u8>() == Some(&7));
        };
        let coroutine = Coroutine::new(Box::new(|body| body()), Box::new(body), STACK_BYTES);
        coroutine.resume();
        assert!(!coroutine.is_finished());
        coroutine.resume();
        assert!(coroutine.is_finished() && caught.get());
    }

    #[test]
    fn a_backtrace_ends_where_the_coroutine_begins() {
        let body = || {
            let frames = Backtrace::force_capture().to_string();
            // If only line tables are present, a function's name has no path.
            let name = |line: &str| line.rsplit([' ', ':']).next() == Some("begin");
            let begins = frames.lines().filter(|line| name(line));
            assert_eq!(begins.count(), 1, "{frames}");
        };
        let coroutine = Coroutine::new(Box::new(|body| body()), Box::new(body), 4 * STACK_BYTES);
        coroutine.resume();
        assert!(coroutine.is_finished());
    }

    #[test]
    fn a_coroutine_that_has_ended_takes_another_body() {
        let sum = Rc::new(Cell::new(0));
        let add = |term| {
            let sum = Rc::clone(&sum);
            Box::new(move || sum.set(sum.get() + term))
        };
        let coroutine = Coroutine::new(Box::new(|body| body()), add(1), STACK_BYTES);
        coroutine.resume();
        assert!(coroutine.is_finished() && !coroutine.is_fresh());
        coroutine.restart(add(10));
        assert!(!coroutine.is_finished() && coroutine.is_fresh());
        coroutine.resume();
        assert!(coroutine.is_finished());
        assert_eq!(sum.get(), 11);
    }

    #[test]
    fn a_fresh_coroutine_is_dropped_with_what_it_holds() {
        let held = Rc::new(());
        let inside = Rc::clone(&held);
        let body = Box::new(move || drop(inside));
        let coroutine = Coroutine::new(Box::new(|body| body()), body, STACK_BYTES);
        assert!(coroutine.is_fresh());
        drop(coroutine);
        assert_eq!(Rc::strong_count(&held), 1);
    }
}
