//! The threads of a program as machine code: one function per thread, which runs a whole batch.
//!
//! # Contract
//! Each operation of the program becomes the x86-64 instruction that it stands for, in program order. Between the
//! accesses of one run there are only moves and arithmetic within the thread and, under [`Pace::Yielding`], system
//! calls. An operation that is not one instruction, or that may wait or loop forever, is refused by name.
//! # State
//! I1: a function reads its [`Frame`], writes memory only in the slots of its batch ([`crate::layout`], I1), in its own
//!     results and on its stack, and preserves the registers that the System V ABI requires.
//! I2: every jump within a run goes forward, so every function returns.
//! # Evidence
//! `run::tests`: each operation, run alone on the machine, ends as the model says.
//! # Sources
//! System V ABI for x86-64; `membarrier(2)`.

use crate::assembler::{
    Assembler, Gpr, Label, Mem, R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX,
    RSI,
};
use crate::layout::{LOCATIONS, Layout};
use crate::refusal::Refusal;
use uncontended_model::program::{Alu, Op, Operand, Place, Program, Reg, Test, Thread};
use uncontended_model::random::Random;

/// The registers of a program's thread. RAX, RCX and R11 are scratch, RBX points to the run's memory, RBP to the frame,
/// R12 holds the run, R13 counts the remaining runs.
pub(crate) const REGISTERS: [Gpr; 8] = [R8, R9, R10, R14, R15, RSI, RDI, RDX];

/// Registers that a function preserves.
const KEPT: [Gpr; 6] = [RBX, RBP, R12, R13, R14, R15];

/// Checks of the counter before a waiting thread yields its CPU: some microseconds.
const CHECKS_BEFORE_YIELD: u64 = 4_096;

/// The number of the system call.
const SCHED_YIELD: u64 = 24;

/// The arguments of one call of a function.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// The batch's first word.
    pub(crate) memory: *mut u64,
    /// The thread's results: its registers, run by run.
    pub(crate) results: *mut u64,
    /// Bytes from one run to the next.
    pub(crate) spread: u64,
    /// The first run.
    pub(crate) first: u64,
    /// Added to get the next run; odd, so that all runs are reached.
    pub(crate) stride: u64,
    /// Runs in the batch minus one; the number of runs is a power of two.
    pub(crate) mask: u64,
    /// Runs in the batch.
    pub(crate) count: u64,
    /// Iterations of an empty loop before each run, if runs are paced; at least 1.
    pub(crate) skew: u64,
    /// Decides between which operations the thread yields, if it does.
    pub(crate) salt: u64,
}

/// The field of the frame at this byte offset.
const fn field(distance: usize) -> Mem {
    Mem { base: RBP, distance: distance as i32 }
}

/// How closely the threads run together within a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pace {
    /// Each thread runs as fast as it can.
    Free,
    /// Before each run, all threads wait for each other.
    Together,
    /// Now and then, between two operations, a thread yields to another one of its CPU.
    Yielding,
}

impl Pace {
    /// All of them, in order.
    pub(crate) const ALL: [Pace; 3] = [Pace::Free, Pace::Together, Pace::Yielding];
}

/// The code of all threads of a program, and where each thread's function begins.
#[derive(Debug)]
pub(crate) struct Functions {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: Vec<usize>,
}

/// Compiles a program that [`Program::check`] accepted.
pub(crate) fn compile(program: &Program, pace: Pace) -> Result<Functions, Refusal> {
    if program.threads.is_empty() {
        return Err(Refusal::NoThreads);
    }
    if program.locations.len() > LOCATIONS {
        return Err(Refusal::Locations(program.locations.len()));
    }
    let mut asm = Assembler::default();
    let mut entries = Vec::new();
    for (number, thread) in program.threads.iter().enumerate() {
        if thread.registers.len() > REGISTERS.len() {
            return Err(Refusal::Registers(number, thread.registers.len()));
        }
        asm.align();
        entries.push(asm.here());
        Compiler { asm: &mut asm, program, number, thread, labels: Vec::new() }.function(pace)?;
    }
    Ok(Functions { bytes: asm.finish(), entries })
}

struct Compiler<'a> {
    asm: &'a mut Assembler,
    program: &'a Program,
    number: usize,
    thread: &'a Thread,
    /// One for each operation, and one for the end.
    labels: Vec<Label>,
}

impl Compiler<'_> {
    fn function(mut self, pace: Pace) -> Result<(), Refusal> {
        KEPT.iter().for_each(|&kept| self.asm.push(kept));
        self.asm.copy(RBP, RDI);
        self.asm.load(R12, field(std::mem::offset_of!(Frame, first)), 64);
        self.asm.load(R13, field(std::mem::offset_of!(Frame, count)), 64);
        let next_run = self.asm.label();
        self.asm.bind(next_run);
        self.asm.copy(RBX, R12);
        self.asm.multiply_memory(RBX, field(std::mem::offset_of!(Frame, spread)));
        self.asm.add_memory(RBX, field(std::mem::offset_of!(Frame, memory)));
        for (reg, &value) in REGISTERS.iter().zip(&self.thread.registers) {
            self.asm.constant(*reg, value);
        }
        if pace == Pace::Together {
            self.meet(self.program.threads.len());
        }
        self.labels = (0..=self.thread.code.len()).map(|_| self.asm.label()).collect();
        for (at, op) in self.thread.code.iter().enumerate() {
            self.asm.bind(self.labels[at]);
            if pace == Pace::Yielding && at > 0 {
                self.yield_sometimes(at);
            }
            self.operation(at, op).map_err(|reason| Refusal::Operation {
                thread: self.number,
                operation: at,
                reason,
            })?;
        }
        self.asm.bind(self.labels[self.thread.code.len()]);
        self.keep_results();
        self.asm.add_memory(R12, field(std::mem::offset_of!(Frame, stride)));
        self.asm.and_memory(R12, field(std::mem::offset_of!(Frame, mask)));
        self.asm.decrement(R13);
        self.asm.jump(Test::Ne, next_run);
        KEPT.iter().rev().for_each(|&kept| self.asm.pop(kept));
        self.asm.ret();
        Ok(())
    }

    /// Waits until all threads have reached this run, then for the frame's skew. A thread whose partner is not running
    /// yields.
    fn meet(&mut self, threads: usize) {
        let layout = Layout { locations: self.program.locations.len() };
        let counter = Mem { base: RBX, distance: Layout::distance(layout.counters()) };
        self.asm.constant(RAX, 1);
        self.asm.fetch_add(counter, RAX, 64, true);
        let (again, wait, met) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.bind(again);
        self.asm.constant(RAX, threads as u64);
        self.asm.constant(RCX, CHECKS_BEFORE_YIELD);
        self.asm.bind(wait);
        self.asm.compare_memory(RAX, counter);
        self.asm.jump(Test::Eq, met);
        self.asm.decrement(RCX);
        self.asm.jump(Test::Ne, wait);
        self.asm.constant(RAX, SCHED_YIELD);
        self.asm.system_call();
        self.asm.go(again);
        self.asm.bind(met);
        self.asm.load(RCX, field(std::mem::offset_of!(Frame, skew)), 64);
        let delay = self.asm.label();
        self.asm.bind(delay);
        self.asm.decrement(RCX);
        self.asm.jump(Test::Ne, delay);
    }

    /// Yields the CPU before about one operation in eight: bits of a product of run, operation and salt decide.
    fn yield_sometimes(&mut self, at: usize) {
        let factor = Random(at as u64).next() as u32 >> 1 | 1;
        let skip = self.asm.label();
        self.asm.multiply(RAX, R12, factor as i32);
        self.asm.add_memory(RAX, field(std::mem::offset_of!(Frame, salt)));
        self.asm.constant(RCX, 7 << 24);
        self.asm.compute(RAX, Alu::And, RCX);
        self.asm.jump(Test::Ne, skip);
        self.asm.constant(RAX, SCHED_YIELD);
        self.asm.system_call();
        self.asm.bind(skip);
    }

    /// Writes the registers of the run to the thread's results.
    fn keep_results(&mut self) {
        let registers = self.thread.registers.len();
        if registers == 0 {
            return;
        }
        self.asm.multiply(RBX, R12, (registers * size_of::<u64>()) as i32);
        self.asm.add_memory(RBX, field(std::mem::offset_of!(Frame, results)));
        for (at, reg) in REGISTERS[..registers].iter().enumerate() {
            let to = Mem { base: RBX, distance: (at * size_of::<u64>()) as i32 };
            self.asm.store(to, *reg, 64);
        }
    }

    /// The operand in a register; a constant is first moved to `scratch`.
    fn operand(&mut self, operand: Operand, scratch: Gpr) -> Gpr {
        match operand {
            Operand::Reg(reg) => machine(reg),
            Operand::Imm(value) => {
                self.asm.constant(scratch, value);
                scratch
            }
        }
    }

    /// The run's memory at a place, and its width.
    fn place(&self, place: Place) -> Result<(Mem, u8), &'static str> {
        if place.index.is_some() {
            return Err("an indexed location cannot run on the machine");
        }
        let location = usize::from(place.base);
        let bits = self.program.locations[location].bits;
        if ![8, 16, 32, 64].contains(&bits) {
            return Err("a location that is not 8, 16, 32 or 64 bits wide");
        }
        Ok((Mem { base: RBX, distance: Layout::distance(location) }, bits))
    }

    fn operation(&mut self, at: usize, op: &Op) -> Result<(), &'static str> {
        match *op {
            Op::Load { to, from } => {
                let (from, bits) = self.place(from)?;
                self.asm.load(machine(to), from, bits);
            }
            Op::Store { to, value } => {
                let (to, bits) = self.place(to)?;
                let value = self.operand(value, RAX);
                self.asm.store(to, value, bits);
            }
            Op::Rmw { at, how, by, old, locked } => self.change(at, how, by, old, locked)?,
            Op::CompareExchange { at, expected, new, old, locked } => {
                let (at, bits) = self.place(at)?;
                let new = self.operand(new, RCX);
                let expected = self.operand(expected, RAX);
                self.asm.copy(RAX, expected);
                self.asm.compare_exchange(at, new, bits, locked);
                self.asm.cut(RAX, bits);
                self.asm.copy(machine(old), RAX);
            }
            Op::Fence => self.asm.fence(),
            Op::Membarrier => self.membarrier(),
            Op::Compute { to, left, how, right } => {
                let right = self.operand(right, RCX);
                let left = self.operand(left, RAX);
                self.asm.copy(RAX, left);
                self.asm.compute(RAX, how, right);
                self.asm.copy(machine(to), RAX);
            }
            Op::Branch { left, test, right, target } => {
                if usize::from(target) <= at {
                    return Err("a loop, which may never end on the machine");
                }
                let right = self.operand(right, RCX);
                let left = self.operand(left, RAX);
                self.asm.compare(left, right);
                self.asm.jump(test, self.labels[usize::from(target)]);
            }
            Op::Interrupt { .. } => {
                return Err(
                    "the machine has no instruction that waits for an interrupt on another thread",
                );
            }
            Op::FutexWait { .. } => return Err("futex_wait, which may never end on the machine"),
            Op::FutexWake { .. } => {
                return Err("futex_wake, which does nothing without futex_wait");
            }
            Op::Lock { .. } => return Err("mutex_lock, which may never end on the machine"),
            Op::Unlock { .. } => {
                return Err("mutex_unlock, which does nothing without mutex_lock");
            }
            Op::Delay { .. } => {
                return Err(
                    "ticks, which the machine does not have: it does not bound the delay of a store",
                );
            }
        }
        Ok(())
    }

    fn change(
        &mut self,
        at: Place,
        how: Alu,
        by: Operand,
        old: Option<Reg>,
        locked: bool,
    ) -> Result<(), &'static str> {
        let (at, bits) = self.place(at)?;
        let by = self.operand(by, R11);
        match (how, old, locked) {
            (Alu::Mul, ..) => return Err("x86-64 has no read-modify-write for a product"),
            (Alu::Right, _, false) => return Err("an exchange with memory is always LOCKed"),
            (Alu::Right, _, true) => {
                self.asm.copy(RAX, by);
                self.asm.exchange(at, RAX, bits);
            }
            (_, None, _) => self.asm.change(at, how, by, bits, locked),
            (Alu::Add | Alu::Sub, Some(_), _) => {
                self.asm.copy(RAX, by);
                if how == Alu::Sub {
                    self.asm.negate(RAX);
                }
                self.asm.fetch_add(at, RAX, bits, locked);
            }
            (Alu::And | Alu::Or | Alu::Xor, Some(_), false) => {
                return Err(
                    "x86-64 has no bitwise read-modify-write that keeps the old value without LOCK",
                );
            }
            (Alu::And | Alu::Or | Alu::Xor, Some(_), true) => {
                self.change_by_exchange(at, how, by, bits)
            }
        }
        if let Some(old) = old {
            self.asm.cut(RAX, bits);
            self.asm.copy(machine(old), RAX);
        }
        Ok(())
    }

    /// A bitwise operation that leaves the old value in RAX: a loop of compare-and-exchange.
    fn change_by_exchange(&mut self, at: Mem, how: Alu, by: Gpr, bits: u8) {
        self.asm.load(RAX, at, bits);
        let again = self.asm.label();
        self.asm.bind(again);
        self.asm.copy(RCX, RAX);
        self.asm.compute(RCX, how, by);
        self.asm.compare_exchange(at, RCX, bits, true);
        self.asm.jump(Test::Ne, again);
    }

    /// The system call, which preserves the program's registers that carry its arguments.
    fn membarrier(&mut self) {
        const ARGUMENTS: [Gpr; 3] = [RDI, RSI, RDX];
        ARGUMENTS.iter().for_each(|&register| self.asm.push(register));
        self.asm.constant(RDI, uncontended_sys::membarrier::EXPEDITED);
        self.asm.constant(RSI, 0);
        self.asm.constant(RDX, 0);
        self.asm.constant(RAX, uncontended_sys::membarrier::NUMBER);
        self.asm.system_call();
        let done = self.asm.label();
        self.asm.constant(RCX, 0);
        self.asm.compare(RAX, RCX);
        self.asm.jump(Test::Eq, done);
        // To continue without the barrier would show states that the model would be blamed for.
        self.asm.trap();
        self.asm.bind(done);
        ARGUMENTS.iter().rev().for_each(|&register| self.asm.pop(register));
    }
}

/// The machine register for a register of the program.
fn machine(reg: Reg) -> Gpr {
    REGISTERS[usize::from(reg.0)]
}
