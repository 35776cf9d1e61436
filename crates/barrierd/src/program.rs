//! What the kernel runs at each interrupt.
//!
//! # Contract
//! The program reads the clock, then exchanges its CPU's stamp, which is a full barrier: the stamp is a time between
//! what the CPU did before and what it does after. If that stamp crosses the watermark, as the last of all CPUs, a
//! record in the ring wakes the daemon. That is a hint: the daemon looks by itself, too.
//! # Evidence
//! tests/daemon.rs, in the kernel.

use uncontended_sys::bpf::Condition::{Equal, Greater, GreaterOrEqual, NotEqual};
use uncontended_sys::bpf::Operation::Add;
use uncontended_sys::bpf::Register::{FP, R0, R1, R2, R3, R4, R6, R7, R8};
use uncontended_sys::bpf::Width::{Double, Word};
use uncontended_sys::bpf::{Assembler, Map};

/// The words of the control map's value.
pub mod control {
    /// No CPU tells anything before this time.
    pub const WATERMARK: usize = 0;
    /// How many CPUs have not crossed it.
    pub const LEFT: usize = 1;
    /// How many words there are.
    pub const WORDS: usize = 2;
}

/// The kernel's functions.
pub mod function {
    /// The value of a key.
    pub const LOOK_UP: i32 = 1;
    /// `CLOCK_MONOTONIC`.
    pub const TIME: i32 = 5;
    /// This CPU's number.
    pub const CPU: i32 = 8;
    /// A record for a ring.
    pub const OUTPUT: i32 = 130;
}

/// Places in a stamp, and on the program's own stack.
const RUNS: i16 = 8;
const CPU: i16 = -4;
const RECORD: i16 = -16;

/// Stamps the CPU that it runs on.
pub fn stamping(stamps: &Map, control: &Map, ring: &Map) -> Assembler {
    const RECORD_BYTES: i32 = 8;
    const WAKE_ALWAYS: i32 = 2;
    let mut code = Assembler::default();
    let end = code.label();
    code.call(function::CPU);
    code.store(Word, FP, CPU, R0);
    code.map(R1, stamps);
    code.copy(R2, FP);
    code.compute_with(Add, R2, CPU.into());
    code.call(function::LOOK_UP);
    code.jump_if_with(Equal, R0, 0, end);
    code.copy(R6, R0);
    code.load(Double, R1, R6, RUNS);
    code.compute_with(Add, R1, 1);
    code.store(Double, R6, RUNS, R1);
    code.call(function::TIME);
    code.copy(R7, R0);
    code.copy(R8, R0);
    code.exchange(R6, 0, R8); // R8: the stamp before.
    code.map_value(R1, control);
    code.load(Double, R2, R1, 8 * control::WATERMARK as i16);
    code.jump_if(Greater, R8, R2, end);
    code.jump_if(GreaterOrEqual, R2, R7, end);
    code.set(R3, -1);
    code.fetch_add(R1, 8 * control::LEFT as i16, R3);
    code.jump_if_with(NotEqual, R3, 1, end);
    code.store(Double, FP, RECORD, R7);
    code.map(R1, ring);
    code.copy(R2, FP);
    code.compute_with(Add, R2, RECORD.into());
    code.set(R3, RECORD_BYTES);
    code.set(R4, WAKE_ALWAYS);
    code.call(function::OUTPUT);
    code.place(end);
    code.set(R0, 0);
    code.exit();
    code
}
