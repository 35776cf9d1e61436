//! Numbers for stacks, without frame pointers.
//!
//! # Contract
//! [`number`] gives the current thread's stack a number: a hash of the instruction's address and of every word in the
//! first [`WORDS`] words that points into code. Stacks of one chain of calls in one process have one number, wherever
//! they lie. The first time, the top of the stack and the registers are copied, to be unwound outside the program.
//! # Invariants
//! I1: a stack without room for its copy is counted, and copied the next time that it is met; one without room for its
//! number has none.

use super::{Tables, counter, function, look_up, own, update};
use crate::programs::FIRST_STACK;
use uncontended_sys::bpf::{Assembler, Condition::*, Operation::*, Register::*, Width::*};

/// Bytes of a stack that are copied at most.
pub(crate) const STACK_BYTES: usize = 8 << 10;
/// Words that tell stacks apart.
const WORDS: i16 = 128;
/// Places in a copied stack: registers, the number of bytes and the process in 32 bits each, the bytes.
const LENGTH: i16 = 24;
const PROCESS: i16 = 28;
const BYTES: i16 = 32;
/// The size of a copied stack.
pub(crate) const STACK_VALUE: usize = BYTES as usize + STACK_BYTES;

/// Places of the user's registers on x86-64 (`struct pt_regs`): RIP, RSP, RBP.
const REGISTERS: [i16; 3] = [128, 152, 32];
pub(super) const FIRST_ARGUMENT: i16 = 112;
pub(super) const SECOND_ARGUMENT: i16 = 104;
/// The number of the system call; negative in an interrupt of the program's own code.
pub(super) const CALL: i16 = 120;
/// The result of the call.
pub(super) const RESULT: i16 = 80;

/// Stores the number of the current thread's stack in [`own::STACK`]; changes all registers. With `or_none`, an
/// interrupt of the program's code, which made no system call, has none.
pub(super) fn number(code: &mut Assembler, tables: &Tables, or_none: bool) {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let done = code.label();
    code.store_constant(Double, FP, own::STACK, 0);
    code.call(function::TASK);
    code.copy(R1, R0);
    code.call(function::USER_REGISTERS);
    code.copy(R7, R0);
    if or_none {
        code.load(Double, R1, R7, CALL);
        code.jump_if_with(SignedLess, R1, 0, done);
    }
    look_up(code, &tables.scratch, own::ZERO, done);
    code.copy(R8, R0);
    for (nth, place) in REGISTERS.into_iter().enumerate() {
        code.load(Double, R1, R7, place);
        code.store(Double, R8, 8 * nth as i16, R1);
    }
    read_top(code, &[8 * WORDS as usize, 512, 256]);
    look_up(code, &tables.ranges, own::PROCESS, done);
    for (place, register) in [(0, R3), (8, R2), (16, R1), (24, R4)] {
        code.load(Double, register, R0, place);
    }
    // The distance from the libraries' start to the program's.
    code.copy(R0, R1);
    code.compute(Subtract, R0, R3);
    code.copy(R3, R0);
    code.set_wide(R9, FACTOR);
    code.load(Double, R5, R8, 0);
    code.load(Word, R0, FP, own::PROCESS);
    code.compute_with(ShiftLeft, R0, 48);
    code.compute(Xor, R5, R0);
    code.compute(Multiply, R5, R9);
    for word in 0..WORDS {
        let (is_code, next) = (code.label(), code.label());
        code.load(Double, R0, R8, BYTES + 8 * word);
        code.compute(Subtract, R0, R1);
        code.jump_if(Less, R0, R4, is_code);
        code.compute(Add, R0, R3);
        code.jump_if(GreaterOrEqual, R0, R2, next);
        code.place(is_code);
        code.compute(Xor, R5, R0);
        code.compute(Multiply, R5, R9);
        code.place(next);
    }
    code.copy(R1, R5);
    code.compute_with(ShiftRight, R1, 32);
    code.compute(Xor, R5, R1);
    code.compute_with(Or, R5, FIRST_STACK as i32);
    code.store(Double, FP, own::STACK, R5);
    keep(code, tables);
    code.place(done);
}

/// Copies the stack of the number in [`own::STACK`], with its registers in the scratch at `R8`, if it is new. No number
/// without room for one more.
fn keep(code: &mut Assembler, tables: &Tables) {
    const ALREADY: i32 = -17;
    let (new, kept, full, lost) = (code.label(), code.label(), code.label(), code.label());
    look_up(code, &tables.numbers, own::STACK, new);
    code.jump(kept);
    code.place(new);
    code.copy(R3, FP);
    code.compute_with(Add, R3, i32::from(own::STACK));
    update(code, &tables.numbers, own::STACK);
    code.jump_if_with(Equal, R0, ALREADY, kept);
    code.jump_if_with(NotEqual, R0, 0, full);
    read_top(code, &[STACK_BYTES, 4096, 2048, 1024, 512, 256]);
    code.store(Word, R8, LENGTH, R6);
    code.load(Word, R1, FP, own::PROCESS);
    code.store(Word, R8, PROCESS, R1);
    code.copy(R3, R8);
    update(code, &tables.stacks, own::STACK);
    code.jump_if_with(Equal, R0, 0, kept);
    code.jump_if_with(Equal, R0, ALREADY, kept);
    code.map(R1, &tables.numbers);
    code.copy(R2, FP);
    code.compute_with(Add, R2, i32::from(own::STACK));
    code.call(function::REMOVE);
    code.jump(lost);
    code.place(full);
    code.store_constant(Double, FP, own::STACK, 0);
    code.place(lost);
    code.set(R6, 1);
    super::count(code, tables, counter::STACKS);
    code.place(kept);
}

/// Copies the top of the stack to the scratch at `R8`: as many bytes as can be read, of these `sizes`. `R6` = how many.
fn read_top(code: &mut Assembler, sizes: &[usize]) {
    let done = code.label();
    for &size in sizes {
        code.copy(R1, R8);
        code.compute_with(Add, R1, i32::from(BYTES));
        code.set(R2, size as i32);
        code.load(Double, R3, R8, 8);
        code.set(R6, size as i32);
        code.call(function::READ_USER);
        code.jump_if_with(Equal, R0, 0, done);
    }
    code.set(R6, 0);
    code.place(done);
}

/// A copied stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackTop {
    /// Whose it is.
    pub(crate) process: u32,
    /// RIP, RSP, RBP.
    pub(crate) registers: [u64; 3],
    /// From the stack pointer on.
    pub(crate) bytes: Vec<u8>,
}

impl StackTop {
    /// From a value of the table.
    pub(crate) fn from_value(value: &[u8]) -> Self {
        let length = crate::words::half_at(value, LENGTH as usize) as usize;
        let bytes = value.iter().skip(BYTES as usize).take(length.min(STACK_BYTES));
        StackTop {
            process: crate::words::half_at(value, PROCESS as usize),
            registers: std::array::from_fn(|nth| crate::words::at(value, 8 * nth)),
            bytes: bytes.copied().collect(),
        }
    }
}
