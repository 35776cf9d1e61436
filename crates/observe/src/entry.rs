//! The interposed symbols: each passes its arguments and the place of the call to the function that records.
//!
//! # Contract
//! Every symbol has the C library's name and type. The entry of a function with n arguments adds a [`Caller`] after
//! them, in the next two registers, and jumps, so the recording function returns to the program directly.
//! # State
//! None.
//! # Invariants
//! I1: at the first instruction of a function, x86-64 has the return address at the stack pointer; AArch64 has it in
//! x30, and the entry stores it with the frame pointer below the caller's frame, as the frame records of that platform
//! do.
//! # Sources
//! System V ABI for x86-64, 3.2.3; AAPCS64, 6; GNU as: `.symver`.
//!
//! [`Caller`]: crate::caller::Caller

use crate::{
    annotated, barrier, c11, cancelled, condition, create, futex, join, mapped, module, mutex,
    rwlock, semaphore, span, spin,
};
use std::arch::naked_asm;

#[cfg(target_arch = "x86_64")]
macro_rules! pass_on {
    (1 $target:path) => { naked_asm!("mov rsi, rsp", "mov rdx, rbp", "jmp {}", sym $target) };
    (2 $target:path) => { naked_asm!("mov rdx, rsp", "mov rcx, rbp", "jmp {}", sym $target) };
    (3 $target:path) => { naked_asm!("mov rcx, rsp", "mov r8, rbp", "jmp {}", sym $target) };
    (4 $target:path) => { naked_asm!("mov r8, rsp", "mov r9, rbp", "jmp {}", sym $target) };
}

#[cfg(target_arch = "aarch64")]
macro_rules! pass_on {
    (1 $target:path) => { pass_on!("x1" "x2" $target) };
    (2 $target:path) => { pass_on!("x2" "x3" $target) };
    (3 $target:path) => { pass_on!("x3" "x4" $target) };
    (4 $target:path) => { pass_on!("x4" "x5" $target) };
    ($frame:literal $fp:literal $target:path) => {
        naked_asm!(
            ".cfi_startproc",
            concat!("mov ", $fp, ", x29"),
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset 29, -16",
            ".cfi_offset 30, -8",
            concat!("mov ", $frame, ", sp"),
            "bl {}",
            "ldp x29, x30, [sp], #16",
            "ret",
            ".cfi_endproc",
            sym $target
        )
    };
}

macro_rules! interpose {
    ($($symbol:ident $arguments:tt $target:path;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $symbol() {
                pass_on!($arguments $target)
            }
        )*
    };
}

interpose! {
    pthread_mutex_init 2 mutex::init;
    pthread_mutex_destroy 1 mutex::destroy;
    pthread_mutex_lock 1 mutex::lock;
    pthread_mutex_trylock 1 mutex::trylock;
    pthread_mutex_timedlock 2 mutex::timedlock;
    pthread_mutex_clocklock 3 mutex::clocklock;
    pthread_mutex_unlock 1 mutex::unlock;
    pthread_rwlock_init 2 rwlock::init;
    pthread_rwlock_destroy 1 rwlock::destroy;
    pthread_rwlock_rdlock 1 rwlock::rdlock;
    pthread_rwlock_tryrdlock 1 rwlock::tryrdlock;
    pthread_rwlock_timedrdlock 2 rwlock::timedrdlock;
    pthread_rwlock_clockrdlock 3 rwlock::clockrdlock;
    pthread_rwlock_wrlock 1 rwlock::wrlock;
    pthread_rwlock_trywrlock 1 rwlock::trywrlock;
    pthread_rwlock_timedwrlock 2 rwlock::timedwrlock;
    pthread_rwlock_clockwrlock 3 rwlock::clockwrlock;
    pthread_rwlock_unlock 1 rwlock::unlock;
    pthread_spin_init 2 spin::init;
    pthread_spin_destroy 1 spin::destroy;
    pthread_spin_lock 1 spin::lock;
    pthread_spin_trylock 1 spin::trylock;
    pthread_spin_unlock 1 spin::unlock;
    pthread_cond_clockwait 4 condition::clockwait;
    pthread_barrier_init 3 barrier::init;
    pthread_barrier_destroy 1 barrier::destroy;
    pthread_barrier_wait 1 barrier::wait;
    pthread_create 4 create::pthread_create;
    pthread_join 2 join::join;
    pthread_timedjoin_np 3 join::timedjoin;
    pthread_clockjoin_np 4 join::clockjoin;
    pthread_cancel 1 cancelled::cancel;
    thrd_create 3 create::thrd_create;
    thrd_join 2 join::thrd_join;
    sem_init 3 semaphore::init;
    sem_destroy 1 semaphore::destroy;
    sem_wait 1 semaphore::wait;
    sem_trywait 1 semaphore::trywait;
    sem_timedwait 2 semaphore::timedwait;
    sem_clockwait 3 semaphore::clockwait;
    sem_post 1 semaphore::post;
    sem_close 1 mapped::sem_close;
    mtx_init 2 c11::mtx_init;
    mtx_destroy 1 c11::mtx_destroy;
    mtx_lock 1 c11::mtx_lock;
    mtx_timedlock 2 c11::mtx_timedlock;
    mtx_trylock 1 c11::mtx_trylock;
    mtx_unlock 1 c11::mtx_unlock;
    cnd_init 1 c11::cnd_init;
    cnd_destroy 1 c11::cnd_destroy;
    cnd_wait 2 c11::cnd_wait;
    cnd_timedwait 3 c11::cnd_timedwait;
    cnd_signal 1 c11::cnd_signal;
    cnd_broadcast 1 c11::cnd_broadcast;
    dlclose 1 module::dlclose;
    uncontended_note_wait_begin 1 annotated::wait_begin;
    uncontended_note_acquired 1 annotated::acquired;
    uncontended_note_released 1 annotated::released;
    uncontended_note_gave_up 1 annotated::gave_up;
    uncontended_note_span_begin 1 span::begin;
    uncontended_note_span_end 2 span::end;
}

/// `struct uncontended_hooks` of `include/uncontended.h`: four functions that take the lock's address.
#[unsafe(export_name = "uncontended_hooks")]
static HOOKS: [unsafe extern "C" fn(); 4] = [
    uncontended_note_wait_begin,
    uncontended_note_acquired,
    uncontended_note_released,
    uncontended_note_gave_up,
];

/// `struct uncontended_span_hooks`.
#[unsafe(export_name = "uncontended_span_hooks")]
static SPAN_HOOKS: [unsafe extern "C" fn(); 2] =
    [uncontended_note_span_begin, uncontended_note_span_end];

// The current version of condition variables. On x86-64 the version must be named, because the C library has two.
#[cfg(not(target_arch = "x86_64"))]
interpose! {
    pthread_cond_init 2 condition::init;
    pthread_cond_destroy 1 condition::destroy;
    pthread_cond_wait 2 condition::wait;
    pthread_cond_timedwait 3 condition::timedwait;
    pthread_cond_signal 1 condition::signal;
    pthread_cond_broadcast 1 condition::broadcast;
}

#[cfg(target_arch = "x86_64")]
mod versioned {
    use super::*;

    macro_rules! versions {
        ($($symbol:literal $arguments:tt $new:ident $new_target:path, $old:ident $old_target:path;)*) => {
            interpose! { $($new $arguments $new_target; $old $arguments $old_target;)* }
            std::arch::global_asm!($(
                concat!(".symver ", stringify!($new), ", ", $symbol, "@@GLIBC_2.3.2"),
                concat!(".symver ", stringify!($old), ", ", $symbol, "@GLIBC_2.2.5"),
            )*);
        };
    }

    versions! {
        "pthread_cond_init" 2 uncontended_cond_init condition::init, uncontended_old_cond_init condition::old::init;
        "pthread_cond_destroy" 1
            uncontended_cond_destroy condition::destroy, uncontended_old_cond_destroy condition::old::destroy;
        "pthread_cond_wait" 2 uncontended_cond_wait condition::wait, uncontended_old_cond_wait condition::old::wait;
        "pthread_cond_timedwait" 3
            uncontended_cond_timedwait condition::timedwait, uncontended_old_cond_timedwait condition::old::timedwait;
        "pthread_cond_signal" 1
            uncontended_cond_signal condition::signal, uncontended_old_cond_signal condition::old::signal;
        "pthread_cond_broadcast" 1
            uncontended_cond_broadcast condition::broadcast, uncontended_old_cond_broadcast condition::old::broadcast;
    }
}

/// `syscall`: futex calls are observed; all others jump to the C library.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {futex_number}",
        "jne 2f",
        // The seventh argument of the program's call, then the two words of the caller, as arguments on the stack.
        "mov r10, rsp",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "push r10",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [r10 + 8]",
        ".cfi_adjust_cfa_offset 8",
        "call {futex}",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        "2:",
        "jmp {other}",
        ".cfi_endproc",
        futex_number = const libc::SYS_futex,
        futex = sym futex::futex,
        other = sym futex::other,
    )
}

/// `syscall`, where registers hold all its arguments.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        ".cfi_startproc",
        "cmp x0, {futex_number}",
        "b.ne 2f",
        "mov x16, x29",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset 29, -32",
        ".cfi_offset 30, -24",
        // The caller is the eighth argument: its two words do not fit into the last register, so they go on the stack.
        "mov x17, sp",
        "sub sp, sp, #16",
        ".cfi_def_cfa_offset 48",
        "stp x17, x16, [sp]",
        "bl {futex}",
        "add sp, sp, #16",
        ".cfi_def_cfa_offset 32",
        "ldp x29, x30, [sp], #32",
        "ret",
        "2:",
        "b {other}",
        ".cfi_endproc",
        futex_number = const libc::SYS_futex,
        futex = sym futex::futex,
        other = sym futex::other,
    )
}
