//! Chains of wakers at one word: whose code each part of a wait is blamed on.
//!
//! # Contract
//! A thread that is woken from a word, and then wakes another one that waits for the same, has had since its own wakeup
//! what both wanted. So the waiter's time before that is its waker's waker's, and so on: the newest
//! [`wait::EARLIER_WAKERS`] of a chain are kept, and what was before them is the oldest one's. A wakeup counts once:
//! a thread that wakes again without having waited again has taken the lock in between, and its holder before that is
//! not known. Threads of two processes in which the word has different addresses make no chain.
//! # Sources
//! `uncontended_events::wakes`, the same in the program itself.

use super::{CHAIN, CHAINED, FIRST_STACK, SHARED, Tables, add, key, look_up, own, wait};
use uncontended_sys::bpf::{
    Assembler, Condition::*, Label, Operation::*, Register, Register::*, Width::*,
};

/// The places of the earlier wakers of an entry.
fn places() -> impl Iterator<Item = i16> {
    (0..wait::EARLIER_WAKERS).map(|nth| wait::EARLIER + 16 * nth)
}

/// The entry at `entry` has no earlier wakers.
pub(super) fn clear(code: &mut Assembler, entry: Register) {
    for place in places() {
        code.store_constant(Double, entry, place, 0);
    }
}

/// Copies the chain of the current thread, the waker, to the wait of [`own::ENTRY`], and jumps to `done`.
pub(super) fn extend(code: &mut Assembler, tables: &Tables, done: Label) {
    code.load(Double, R7, FP, own::ENTRY);
    clear(code, R7);
    look_up(code, &tables.threads, own::THREAD, done);
    code.load(Double, R1, R0, wait::SINCE);
    code.jump_if_with(NotEqual, R1, 0, done);
    code.load(Double, R1, R0, wait::ADDRESS);
    code.load(Double, R2, R7, wait::ADDRESS);
    code.jump_if(NotEqual, R1, R2, done);
    code.load(Double, R3, R7, wait::SINCE);
    let mut from = (wait::WOKEN, wait::WAKER);
    for place in places() {
        code.load(Double, R1, R0, from.0);
        code.jump_if(GreaterOrEqual, R3, R1, done);
        code.load(Double, R2, R0, from.1);
        code.jump_if_with(Less, R2, FIRST_STACK as i32, done);
        code.store(Double, R7, place, R1);
        code.store(Double, R7, place + 8, R2);
        if from.0 == wait::WOKEN {
            code.store_constant(Double, R0, wait::WOKEN, 0); // It counts once.
        }
        from = (place, place + 8);
    }
    code.jump(done);
}

/// Marks the key if the wait of [`own::ENTRY`] has a chain.
pub(super) fn mark(code: &mut Assembler) {
    let none = code.label();
    code.load(Double, R7, FP, own::ENTRY);
    code.load(Double, R1, FP, own::KEY + key::WAKER);
    code.jump_if_with(Less, R1, FIRST_STACK as i32, none);
    code.load(Double, R1, R7, wait::EARLIER);
    code.jump_if_with(Equal, R1, 0, none);
    code.load(Word, R1, FP, own::KEY + key::HOW);
    code.compute_with(Or, R1, CHAIN as i32);
    code.store(Word, FP, own::KEY + key::HOW, R1);
    code.place(none);
}

/// Adds the parts of a wait that [`mark`] has marked, each by its own waker.
pub(super) fn divide(code: &mut Assembler, tables: &Tables) {
    let none = code.label();
    code.load(Word, R1, FP, own::KEY + key::HOW);
    code.compute_with(And, R1, CHAIN as i32);
    code.jump_if_with(Equal, R1, 0, none);
    code.load(Word, R1, FP, own::KEY + key::HOW);
    code.compute_with(And, R1, SHARED as i32);
    code.compute_with(Or, R1, CHAINED as i32);
    code.store(Word, FP, own::KEY + key::HOW, R1);
    code.store_constant(Double, FP, own::KEY + key::WAITER, 0);
    code.store_constant(Double, FP, own::SCHEDULED, 0);
    for (from, to) in
        [(own::WAITED, own::LEFT), (own::NOW, own::UNTIL), (own::KEY + key::WAKER, own::BY)]
    {
        code.load(Double, R1, FP, from);
        code.store(Double, FP, to, R1);
    }
    let last = code.label();
    code.load(Double, R7, FP, own::ENTRY);
    for place in places() {
        code.load(Double, R1, R7, place);
        code.jump_if_with(Equal, R1, 0, last);
        code.load(Double, R2, FP, own::UNTIL);
        code.jump_if(Greater, R1, R2, last);
        code.store(Double, FP, own::UNTIL, R1);
        code.compute(Subtract, R2, R1);
        code.load(Double, R3, FP, own::LEFT);
        code.jump_if(Less, R3, R2, last);
        code.compute(Subtract, R3, R2);
        code.store(Double, FP, own::LEFT, R3);
        part(code, tables, R2);
        code.load(Double, R1, R7, place + 8);
        code.store(Double, FP, own::BY, R1);
    }
    code.place(last);
    code.load(Double, R2, FP, own::LEFT);
    part(code, tables, R2);
    code.place(none);
}

/// Adds a part of this length by the code of [`own::BY`].
fn part(code: &mut Assembler, tables: &Tables, length: Register) {
    code.store(Double, FP, own::WAITED, length);
    code.load(Double, R1, FP, own::BY);
    code.store(Double, FP, own::KEY + key::WAKER, R1);
    add(code, tables);
}
