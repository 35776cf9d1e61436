//! Waits that a signal interrupts: mostly the call begins again, and if the signal ends the thread, the wait has not
//! ended.
//!
//! # Contract
//! A wait that a signal has interrupted is kept in the thread's entry. If the thread's next wait is for the same, it
//! continues ([`resume`]), without the time between. Else it counts, when the thread waits for something else or finds
//! that it need not wait, or ends in another way ([`settle`]). If it ends without having left the call, the entry says
//! so ([`died`]), and stays.
//! # Sources
//! `kernel/entry/common.c`: the return of a system call is traced before a signal is taken. Before the program runs
//! again, the kernel replaces a result that only it knows (`arch_do_signal_or_restart`).

use super::{INTERRUPTED, Tables, add, function, key, own, stack, wait};
use uncontended_sys::bpf::{Assembler, Condition::*, Label, Operation::*, Register::*, Width::*};

/// The kernel's own results of calls that a signal interrupts: ERESTARTSYS, ERESTARTNOINTR, ERESTART_RESTARTBLOCK.
pub(super) const RESULTS: [i32; 3] = [-512, -513, -516];

/// What is kept: the places on the program's stack, and in the entry.
fn kept() -> impl Iterator<Item = (i16, i16)> {
    let key = (0..key::BYTES as i16).step_by(8);
    let key = key.map(|word| (own::KEY + word, wait::INTERRUPTED_KEY + word));
    key.chain([(own::WAITED, wait::INTERRUPTED_FOR), (own::NOW, wait::INTERRUPTED_AT)])
}

/// Keeps the wait that ends in [`own::ENTRY`] and jumps to `done`, if a signal has interrupted it. Else, it has what
/// was kept before.
pub(super) fn keep(code: &mut Assembler, done: Label) {
    let ended = code.label();
    code.load(Double, R7, FP, own::ENTRY);
    code.store_constant(Double, R7, wait::INTERRUPTED_AT, 0);
    code.load(Word, R1, FP, own::KEY + key::HOW);
    code.compute_with(And, R1, INTERRUPTED as i32);
    code.jump_if_with(Equal, R1, 0, ended);
    for (from, to) in kept() {
        code.load(Double, R1, FP, from);
        code.store(Double, R7, to, R1);
    }
    code.jump(done);
    code.place(ended);
}

/// At the entry into a call, at the time in `R0`, for what the entry at `R7` says: it began then or, if it continues
/// the wait that was kept, as long before as that took. Another one that was kept is added.
pub(super) fn resume(code: &mut Assembler, tables: &Tables) {
    let (none, other, done) = (code.label(), code.label(), code.label());
    code.store(Double, R7, wait::SINCE, R0);
    code.load(Double, R1, R7, wait::INTERRUPTED_AT);
    code.jump_if_with(Equal, R1, 0, none);
    code.load(Double, R1, R7, wait::INTERRUPTED_KEY + key::ADDRESS);
    code.load(Double, R2, R7, wait::ADDRESS);
    code.jump_if(NotEqual, R1, R2, other);
    code.load(Double, R1, R7, wait::INTERRUPTED_FOR);
    code.compute(Subtract, R0, R1);
    code.store(Double, R7, wait::SINCE, R0);
    code.jump(done);
    code.place(other);
    settle(code, tables);
    code.place(none);
    code.store_constant(Double, R7, wait::DIED, 0);
    code.place(done);
}

/// Adds the wait that is kept in the entry at `R7`, if there is one. Keeps `R8` and `R9`.
pub(super) fn settle(code: &mut Assembler, tables: &Tables) {
    let none = code.label();
    code.load(Double, R1, R7, wait::INTERRUPTED_AT);
    code.jump_if_with(Equal, R1, 0, none);
    for (to, from) in kept() {
        code.load(Double, R1, R7, from);
        code.store(Double, FP, to, R1);
    }
    code.store_constant(Double, R7, wait::INTERRUPTED_AT, 0);
    code.store_constant(Double, FP, own::SCHEDULED, 0);
    add(code, tables);
    code.place(none);
}

/// At the end of a thread with the entry at `R7`: whether it has not left the call that was interrupted.
pub(super) fn died(code: &mut Assembler, tables: &Tables) {
    let (in_call, lived, done) = (code.label(), code.label(), code.label());
    code.load(Double, R8, R7, wait::INTERRUPTED_AT);
    code.jump_if_with(Equal, R8, 0, done);
    code.call(function::TASK);
    code.copy(R1, R0);
    code.call(function::USER_REGISTERS);
    code.load(Double, R1, R0, stack::CALL);
    code.jump_if_with(SignedLess, R1, 0, lived);
    code.load(Double, R1, R0, stack::RESULT);
    for result in RESULTS {
        code.jump_if_with(Equal, R1, result, in_call);
    }
    code.place(lived);
    settle(code, tables);
    code.jump(done);
    code.place(in_call);
    code.load(Double, R1, R7, wait::INTERRUPTED_FOR);
    code.compute(Subtract, R8, R1);
    code.store(Double, R7, wait::SINCE, R8);
    code.store_constant(Double, R7, wait::DIED, 1);
    code.place(done);
}
