//! Programs as plain data: what the threads of a small concurrent program do.
//!
//! # Contract
//! A [`Program`] can be compared, hashed, generated and mutated. It has no closures and so no hidden state: two
//! explorations of one program see the same program.
//! # State
//! I1: every [`Reg`] of thread `t` is below `threads[t].registers`; every branch target is at most `code.len()`
//! ([`Program::check`] refuses anything else).
//! # Sources
//! The instructions are those of x86 that matter for ordering (Sewell et al., "x86-TSO", 2010), and the events that
//! asymmetric algorithms wait for: interrupts, membarrier, futexes.

use std::fmt;

/// A machine word.
pub type Value = u64;

/// Index of a location in [`Program::locations`].
pub type Loc = u16;

/// The most threads a program may have.
pub const MAX_THREADS: usize = 32;

/// The most locations a program may have.
pub const MAX_LOCATIONS: usize = 4096;

/// The most registers a thread may have.
pub const MAX_REGISTERS: usize = 64;

/// A register of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u8);

/// A value that the thread knows without touching memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A constant.
    Imm(Value),
    /// The content of a register.
    Reg(Reg),
}

/// A place in memory: location `base`, or `base` plus the value of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The first location.
    pub base: Loc,
    /// Added to `base` when the operation runs. A sum outside the program's locations is a fault.
    pub index: Option<Reg>,
}

impl Place {
    /// The location without an index.
    pub const fn at(base: Loc) -> Self {
        Place { base, index: None }
    }
}

/// Wrapping arithmetic on two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alu {
    /// The right operand; in a read-modify-write, an exchange.
    Right,
    /// Sum.
    Add,
    /// Left minus right.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Product.
    Mul,
}

impl Alu {
    /// Applies the operation to two words.
    pub fn apply(self, left: Value, right: Value) -> Value {
        match self {
            Alu::Right => right,
            Alu::Add => left.wrapping_add(right),
            Alu::Sub => left.wrapping_sub(right),
            Alu::And => left & right,
            Alu::Or => left | right,
            Alu::Xor => left ^ right,
            Alu::Mul => left.wrapping_mul(right),
        }
    }
}

/// A comparison of two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Test {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Signed less.
    Lt,
    /// Signed less or equal.
    Le,
    /// Unsigned less.
    Below,
    /// Unsigned less or equal.
    BelowEq,
}

impl Test {
    /// Compares two words.
    pub fn holds(self, left: Value, right: Value) -> bool {
        match self {
            Test::Eq => left == right,
            Test::Ne => left != right,
            Test::Lt => left.cast_signed() < right.cast_signed(),
            Test::Le => left.cast_signed() <= right.cast_signed(),
            Test::Below => left < right,
            Test::BelowEq => left <= right,
        }
    }
}

/// One operation of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads memory into a register.
    Load {
        /// Receives the value.
        to: Reg,
        /// The location.
        from: Place,
    },
    /// Writes memory; under TSO through the thread's buffer.
    Store {
        /// The location.
        to: Place,
        /// The value.
        value: Operand,
    },
    /// Replaces the old value by `how(old, by)`.
    Rmw {
        /// The location.
        at: Place,
        /// Computes the new value from the old one and `by`.
        how: Alu,
        /// Right operand of `how`.
        by: Operand,
        /// Receives the old value.
        old: Option<Reg>,
        /// LOCKed: atomic and a full barrier. Otherwise it splits into a load and a store, with no interrupt between
        /// the two.
        locked: bool,
    },
    /// Replaces the value by `new` if it equals `expected`. Without LOCK the instruction always writes (Intel SDM,
    /// CMPXCHG): if the values differ, it stores the value it read.
    CompareExchange {
        /// The location.
        at: Place,
        /// The value at which the exchange happens.
        expected: Operand,
        /// The value written on success.
        new: Operand,
        /// Receives the value read.
        old: Reg,
        /// As in [`Op::Rmw`].
        locked: bool,
    },
    /// A full barrier: all stores of the thread reach memory before it continues.
    Fence,
    /// An expedited membarrier: a full barrier here, and an interrupt on every other thread before it returns.
    Membarrier,
    /// Waits until the named thread has taken an interrupt, a full barrier there at an instruction boundary.
    Interrupt {
        /// The thread to interrupt.
        thread: u8,
    },
    /// Sleeps until woken if the value in memory is `expected`, otherwise continues. A full barrier.
    FutexWait {
        /// The futex.
        at: Place,
        /// The value at which to sleep.
        expected: Operand,
    },
    /// Wakes up to `count` sleepers in the order in which they went to sleep. A full barrier.
    FutexWake {
        /// The futex.
        at: Place,
        /// The most threads to wake.
        count: u32,
    },
    /// Waits until the location is zero and sets it to one, atomically. A full barrier.
    Lock {
        /// The lock word.
        at: Place,
    },
    /// Sets the location to zero. A full barrier.
    Unlock {
        /// The lock word.
        at: Place,
    },
    /// Waits for at least `ticks` ticks in a time-bounded model; does nothing without a bound.
    Delay {
        /// The number of ticks.
        ticks: u8,
    },
    /// Arithmetic within the thread.
    Compute {
        /// Receives the result.
        to: Reg,
        /// Left operand.
        left: Operand,
        /// The operation.
        how: Alu,
        /// Right operand.
        right: Operand,
    },
    /// Goes to `target` if the test holds, else to the next operation.
    Branch {
        /// Left operand.
        left: Operand,
        /// The test.
        test: Test,
        /// Right operand.
        right: Operand,
        /// Index into the thread's code; its length means the end.
        target: u16,
    },
}

impl Op {
    /// The place in memory that it names, if it names one.
    pub fn place(&self) -> Option<Place> {
        match *self {
            Op::Load { from: place, .. } | Op::Store { to: place, .. } => Some(place),
            Op::Rmw { at, .. } | Op::CompareExchange { at, .. } | Op::Lock { at } => Some(at),
            Op::FutexWait { at, .. } | Op::FutexWake { at, .. } | Op::Unlock { at } => Some(at),
            _ => None,
        }
    }

    /// Whether it waits until the thread's stores have reached memory.
    pub fn is_barrier(&self) -> bool {
        match self {
            Op::Rmw { locked, .. } | Op::CompareExchange { locked, .. } => *locked,
            Op::Fence | Op::Membarrier | Op::Interrupt { .. } => true,
            Op::FutexWait { .. } | Op::FutexWake { .. } | Op::Lock { .. } | Op::Unlock { .. } => {
                true
            }
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Delay { .. }
            | Op::Compute { .. }
            | Op::Branch { .. } => false,
        }
    }
}

/// One thread: its code and its registers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Thread {
    /// Run from the first operation to past the last.
    pub code: Vec<Op>,
    /// Values of the registers at the start; there are as many registers as values.
    pub registers: Vec<Value>,
}

/// One word of memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Its name in files and diagrams.
    pub name: String,
    /// Its value at the start.
    pub init: Value,
    /// Its width; values written are cut to it.
    pub bits: u8,
}

impl Location {
    /// A 64-bit location.
    pub fn word(name: impl Into<String>, init: Value) -> Self {
        Location { name: name.into(), init, bits: 64 }
    }

    /// Cuts a value to the width of the location.
    pub fn cut(&self, value: Value) -> Value {
        if self.bits >= 64 { value } else { value & ((1 << self.bits) - 1) }
    }
}

/// A small concurrent program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// Shared memory.
    pub locations: Vec<Location>,
    /// The threads, all started at once.
    pub threads: Vec<Thread>,
}

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Malformed {
    /// More than [`MAX_THREADS`].
    TooManyThreads(usize),
    /// More than [`MAX_LOCATIONS`].
    TooManyLocations(usize),
    /// More than [`MAX_REGISTERS`] in one thread, or more operations than a branch can name.
    ThreadTooLarge(usize),
    /// A register, location, thread or branch target that does not exist: thread and operation.
    Dangling(usize, usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::TooManyThreads(n) => {
                write!(out, "{n} threads; at most {MAX_THREADS} can be explored")
            }
            Malformed::TooManyLocations(n) => {
                write!(out, "{n} locations; at most {MAX_LOCATIONS} can be explored")
            }
            Malformed::ThreadTooLarge(t) => {
                write!(out, "thread {t} has too many registers or operations")
            }
            Malformed::Dangling(t, i) => {
                write!(out, "operation {i} of thread {t} names something that does not exist")
            }
        }
    }
}

impl std::error::Error for Malformed {}

impl Program {
    /// Whether everything that operations name exists (I1).
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), Malformed> {
        if self.threads.len() > MAX_THREADS {
            return Err(Malformed::TooManyThreads(self.threads.len()));
        }
        if self.locations.len() > MAX_LOCATIONS {
            return Err(Malformed::TooManyLocations(self.locations.len()));
        }
        for (t, thread) in self.threads.iter().enumerate() {
            if thread.registers.len() > MAX_REGISTERS || thread.code.len() >= usize::from(u16::MAX)
            {
                return Err(Malformed::ThreadTooLarge(t));
            }
            for (i, op) in thread.code.iter().enumerate() {
                if !self.sound(thread, op) {
                    return Err(Malformed::Dangling(t, i));
                }
            }
        }
        Ok(())
    }

    fn sound(&self, thread: &Thread, op: &Op) -> bool {
        let reg = |r: &Reg| usize::from(r.0) < thread.registers.len();
        let operand =
            |o: &Operand| matches!(o, Operand::Imm(_)) || matches!(o, Operand::Reg(r) if reg(r));
        let place = |p: &Place| {
            usize::from(p.base) < self.locations.len() && p.index.as_ref().is_none_or(reg)
        };
        match op {
            Op::Load { to, from } => reg(to) && place(from),
            Op::Store { to, value } => place(to) && operand(value),
            Op::Rmw { at, by, old, .. } => place(at) && operand(by) && old.as_ref().is_none_or(reg),
            Op::CompareExchange { at, expected, new, old, .. } => {
                place(at) && operand(expected) && operand(new) && reg(old)
            }
            Op::Fence | Op::Membarrier | Op::Delay { .. } => true,
            Op::Interrupt { thread } => usize::from(*thread) < self.threads.len(),
            Op::FutexWait { at, expected } => place(at) && operand(expected),
            Op::FutexWake { at, .. } | Op::Lock { at } | Op::Unlock { at } => place(at),
            Op::Compute { to, left, right, .. } => reg(to) && operand(left) && operand(right),
            Op::Branch { left, right, target, .. } => {
                operand(left) && operand(right) && usize::from(*target) <= thread.code.len()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dangling_name_is_refused_with_its_position() {
        let store = Op::Store { to: Place::at(1), value: Operand::Imm(1) };
        let mut program = Program {
            locations: vec![Location::word("x", 0)],
            threads: vec![Thread { code: vec![Op::Fence, store], registers: vec![] }],
        };
        assert_eq!(program.check(), Err(Malformed::Dangling(0, 1)));
        program.locations.push(Location::word("y", 0));
        assert_eq!(program.check(), Ok(()));
        program.threads[0].code.push(Op::Load { to: Reg(0), from: Place::at(0) });
        assert_eq!(program.check(), Err(Malformed::Dangling(0, 2)));
    }

    #[test]
    fn widths_cut_and_comparisons_know_signs() {
        assert_eq!(Location { name: "b".into(), init: 0, bits: 8 }.cut(0x1ff), 0xff);
        assert_eq!(Location::word("w", 0).cut(u64::MAX), u64::MAX);
        assert!(Test::Lt.holds(u64::MAX, 0) && !Test::Below.holds(u64::MAX, 0));
    }
}
