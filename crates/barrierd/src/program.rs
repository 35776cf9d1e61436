//! What the kernel runs at each interrupt.
//!
//! # Contract
//! The program adds one to its CPU's runs, by a locked instruction: on this the fences of clients rest. Before, it
//! stores the time, for people. If that time crosses the watermark, as the last of all CPUs, a record in the ring wakes
//! the daemon. That is a hint: the daemon looks by itself, too.
//! # Evidence
//! tests/daemon.rs, in the kernel.

use uncontended_fence::stamps::layout::word;
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
const STAMPED: i16 = 8 * word::STAMPED as i16;
const RUNS: i16 = 8 * word::RUNS as i16;
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
    code.load(Double, R8, R6, STAMPED);
    code.call(function::TIME);
    code.copy(R7, R0);
    code.store(Double, R6, STAMPED, R7);
    code.set(R1, 1);
    // The release of the edge `run` of `fence::stamps::rule`.
    code.fetch_add(R6, RUNS, R1);
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
