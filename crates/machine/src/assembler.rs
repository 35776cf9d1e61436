//! An assembler for the few x86-64 instructions that litmus programs need.
//!
//! # Contract
//! Bytes are appended in order. Every instruction is exactly the one named, so nothing between a program and the
//! machine reorders its accesses. The assembler works on every architecture; only x86-64 can run the result.
//! # State
//! I1: a jump waits in `jumps` until its label is bound; [`Assembler::finish`] resolves all of them.
//! # Sources
//! Intel SDM, volume 2: instruction formats, and the page of each instruction.

use uncontended_model::program::{Alu, Test};

/// A machine register, by its number in instruction encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gpr(pub(crate) u8);

pub(crate) const RAX: Gpr = Gpr(0);
pub(crate) const RCX: Gpr = Gpr(1);
pub(crate) const RDX: Gpr = Gpr(2);
pub(crate) const RBX: Gpr = Gpr(3);
pub(crate) const RBP: Gpr = Gpr(5);
pub(crate) const RSI: Gpr = Gpr(6);
pub(crate) const RDI: Gpr = Gpr(7);
pub(crate) const R8: Gpr = Gpr(8);
pub(crate) const R9: Gpr = Gpr(9);
pub(crate) const R10: Gpr = Gpr(10);
pub(crate) const R11: Gpr = Gpr(11);
pub(crate) const R12: Gpr = Gpr(12);
pub(crate) const R13: Gpr = Gpr(13);
pub(crate) const R14: Gpr = Gpr(14);
pub(crate) const R15: Gpr = Gpr(15);

/// Memory at a register plus an offset. The register is RBX or RBP: others need another encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mem {
    pub(crate) base: Gpr,
    pub(crate) distance: i32,
}

/// A position in the code, bound or not yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label(usize);

/// Machine code under construction.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Where a 32-bit offset has to be filled in, and to which label.
    jumps: Vec<(usize, Label)>,
}

/// A memory instruction at full width; the byte form has the opcode below it.
struct Form {
    escape: bool,
    opcode: u8,
}

impl Assembler {
    /// The bytes, with every jump resolved.
    ///
    /// # Panics
    /// Panics if the target of a jump was never bound.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("a label is bound before the code ends");
            let distance = target as i64 - (at as i64 + 4);
            self.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        self.bytes
    }

    /// The position of the next instruction.
    pub(crate) fn here(&self) -> usize {
        self.bytes.len()
    }

    /// A label to be bound later.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds a label to the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    /// Starts the next instruction on a multiple of 16 bytes.
    pub(crate) fn align(&mut self) {
        while !self.bytes.len().is_multiple_of(16) {
            self.bytes.push(0x90);
        }
    }

    fn emit(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// REX, opcode and ModRM of an instruction between two registers.
    fn registers(&mut self, wide: bool, opcode: &[u8], reg: Gpr, rm: Gpr) {
        self.emit(&[0x40 | u8::from(wide) << 3 | (reg.0 >> 3) << 2 | rm.0 >> 3]);
        self.emit(opcode);
        self.emit(&[0xc0 | (reg.0 & 7) << 3 | rm.0 & 7]);
    }

    /// An instruction between a register and memory, `bits` wide.
    fn memory(&mut self, locked: bool, bits: u8, form: &Form, reg: Gpr, mem: Mem) {
        if locked {
            self.emit(&[0xf0]);
        }
        if bits == 16 {
            self.emit(&[0x66]);
        }
        // REX is emitted even if it is empty: with it, registers 4 to 7 mean SPL to DIL in the byte forms.
        self.emit(&[0x40 | u8::from(bits == 64) << 3 | (reg.0 >> 3) << 2]);
        if form.escape {
            self.emit(&[0x0f]);
        }
        self.emit(&[form.opcode - u8::from(bits == 8), 0x80 | (reg.0 & 7) << 3 | mem.base.0]);
        self.emit(&mem.distance.to_le_bytes());
    }

    /// `to = value`.
    pub(crate) fn constant(&mut self, to: Gpr, value: u64) {
        match u32::try_from(value) {
            Ok(value) => {
                self.emit(&[0x40 | to.0 >> 3, 0xb8 | to.0 & 7]);
                self.emit(&value.to_le_bytes());
            }
            Err(_) => {
                self.emit(&[0x48 | to.0 >> 3, 0xb8 | to.0 & 7]);
                self.emit(&value.to_le_bytes());
            }
        }
    }

    /// `to = from`.
    pub(crate) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.registers(true, &[0x89], from, to);
    }

    /// Clears the bits above the lowest `bits`.
    pub(crate) fn cut(&mut self, reg: Gpr, bits: u8) {
        match bits {
            8 => self.registers(false, &[0x0f, 0xb6], reg, reg),
            16 => self.registers(false, &[0x0f, 0xb7], reg, reg),
            32 => self.registers(false, &[0x89], reg, reg),
            _ => {}
        }
    }

    /// `to = how(to, by)`.
    pub(crate) fn compute(&mut self, to: Gpr, how: Alu, by: Gpr) {
        match how {
            Alu::Right => self.copy(to, by),
            Alu::Mul => self.registers(true, &[0x0f, 0xaf], to, by),
            Alu::Add | Alu::Sub | Alu::And | Alu::Or | Alu::Xor => {
                self.registers(true, &[opcode(how)], by, to);
            }
        }
    }

    /// `reg = -reg`.
    pub(crate) fn negate(&mut self, reg: Gpr) {
        self.registers(true, &[0xf7], Gpr(3), reg);
    }

    /// `to = by * times`, with a constant.
    pub(crate) fn multiply(&mut self, to: Gpr, by: Gpr, times: i32) {
        self.registers(true, &[0x69], to, by);
        self.emit(&times.to_le_bytes());
    }

    /// `to = memory`, zero-extended.
    pub(crate) fn load(&mut self, to: Gpr, from: Mem, bits: u8) {
        match bits {
            // The zero-extending forms use a 32-bit register.
            8 => self.memory(false, 32, &Form { escape: true, opcode: 0xb6 }, to, from),
            16 => self.memory(false, 32, &Form { escape: true, opcode: 0xb7 }, to, from),
            _ => self.memory(false, bits, &Form { escape: false, opcode: 0x8b }, to, from),
        }
    }

    /// `memory = from`.
    pub(crate) fn store(&mut self, to: Mem, from: Gpr, bits: u8) {
        self.memory(false, bits, &Form { escape: false, opcode: 0x89 }, from, to);
    }

    /// `to = to + memory`, 64 bits.
    pub(crate) fn add_memory(&mut self, to: Gpr, from: Mem) {
        self.memory(false, 64, &Form { escape: false, opcode: 0x03 }, to, from);
    }

    /// `to = to & memory`, 64 bits.
    pub(crate) fn and_memory(&mut self, to: Gpr, from: Mem) {
        self.memory(false, 64, &Form { escape: false, opcode: 0x23 }, to, from);
    }

    /// `to = to * memory`, 64 bits.
    pub(crate) fn multiply_memory(&mut self, to: Gpr, from: Mem) {
        self.memory(false, 64, &Form { escape: true, opcode: 0xaf }, to, from);
    }

    /// Compares a register with memory, 64 bits, for [`Assembler::jump`].
    pub(crate) fn compare_memory(&mut self, left: Gpr, right: Mem) {
        self.memory(false, 64, &Form { escape: false, opcode: 0x3b }, left, right);
    }

    /// `memory = how(memory, by)` without the old value, for sums, differences and bitwise operations.
    pub(crate) fn change(&mut self, at: Mem, how: Alu, by: Gpr, bits: u8, locked: bool) {
        self.memory(locked, bits, &Form { escape: false, opcode: opcode(how) }, by, at);
    }

    /// Swaps register and memory; always LOCKed.
    pub(crate) fn exchange(&mut self, at: Mem, with: Gpr, bits: u8) {
        self.memory(false, bits, &Form { escape: false, opcode: 0x87 }, with, at);
    }

    /// `xadd`: adds the register to memory and leaves the old value in the register.
    pub(crate) fn fetch_add(&mut self, at: Mem, by: Gpr, bits: u8, locked: bool) {
        self.memory(locked, bits, &Form { escape: true, opcode: 0xc1 }, by, at);
    }

    /// `cmpxchg`: stores `new` if memory is RAX, else loads RAX.
    pub(crate) fn compare_exchange(&mut self, at: Mem, new: Gpr, bits: u8, locked: bool) {
        self.memory(locked, bits, &Form { escape: true, opcode: 0xb1 }, new, at);
    }

    /// `mfence`.
    pub(crate) fn fence(&mut self) {
        self.emit(&[0x0f, 0xae, 0xf0]);
    }

    /// `syscall`.
    pub(crate) fn system_call(&mut self) {
        self.emit(&[0x0f, 0x05]);
    }

    /// Compares two registers, for [`Assembler::jump`].
    pub(crate) fn compare(&mut self, left: Gpr, right: Gpr) {
        self.registers(true, &[0x39], right, left);
    }

    /// Jumps if the last comparison holds.
    pub(crate) fn jump(&mut self, test: Test, to: Label) {
        let condition = match test {
            Test::Eq => 0x84,
            Test::Ne => 0x85,
            Test::Lt => 0x8c,
            Test::Le => 0x8e,
            Test::Below => 0x82,
            Test::BelowEq => 0x86,
        };
        self.emit(&[0x0f, condition]);
        self.jumps.push((self.bytes.len(), to));
        self.emit(&[0; 4]);
    }

    /// Jumps unconditionally.
    pub(crate) fn go(&mut self, to: Label) {
        self.emit(&[0xe9]);
        self.jumps.push((self.bytes.len(), to));
        self.emit(&[0; 4]);
    }

    /// `reg = reg - 1`; [`Test::Eq`] then jumps at zero.
    pub(crate) fn decrement(&mut self, reg: Gpr) {
        self.registers(true, &[0xff], Gpr(1), reg);
    }

    /// Saves a register on the stack.
    pub(crate) fn push(&mut self, reg: Gpr) {
        self.emit(&[0x40 | reg.0 >> 3, 0x50 | reg.0 & 7]);
    }

    /// Restores a register from the stack.
    pub(crate) fn pop(&mut self, reg: Gpr) {
        self.emit(&[0x40 | reg.0 >> 3, 0x58 | reg.0 & 7]);
    }

    /// `ud2`: ends the process.
    pub(crate) fn trap(&mut self) {
        self.emit(&[0x0f, 0x0b]);
    }

    /// Returns to the caller.
    pub(crate) fn ret(&mut self) {
        self.emit(&[0xc3]);
    }
}

/// The opcode of an arithmetic operation whose right side is a register.
fn opcode(how: Alu) -> u8 {
    match how {
        Alu::Add => 0x01,
        Alu::Or => 0x09,
        Alu::And => 0x21,
        Alu::Sub => 0x29,
        Alu::Xor => 0x31,
        Alu::Right | Alu::Mul => unreachable!("a move and a product have their own forms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One instruction, and the bytes that the manual gives for it.
    fn check(emit: impl FnOnce(&mut Assembler), bytes: &[u8]) {
        let mut assembler = Assembler::default();
        emit(&mut assembler);
        assert_eq!(assembler.finish(), bytes);
    }

    const X: Mem = Mem { base: RBX, distance: 0x1234 };

    #[test]
    fn accesses_are_the_instructions_of_the_manual() {
        check(|a| a.load(R9, X, 64), &[0x4c, 0x8b, 0x8b, 0x34, 0x12, 0, 0]);
        check(|a| a.load(RSI, X, 8), &[0x40, 0x0f, 0xb6, 0xb3, 0x34, 0x12, 0, 0]);
        check(|a| a.store(X, RSI, 8), &[0x40, 0x88, 0xb3, 0x34, 0x12, 0, 0]);
        check(|a| a.store(X, RAX, 16), &[0x66, 0x40, 0x89, 0x83, 0x34, 0x12, 0, 0]);
        check(|a| a.store(X, R15, 32), &[0x44, 0x89, 0xbb, 0x34, 0x12, 0, 0]);
        check(|a| a.change(X, Alu::Or, R8, 64, true), &[0xf0, 0x4c, 0x09, 0x83, 0x34, 0x12, 0, 0]);
        check(|a| a.exchange(X, RAX, 64), &[0x48, 0x87, 0x83, 0x34, 0x12, 0, 0]);
        check(|a| a.fetch_add(X, RAX, 64, false), &[0x48, 0x0f, 0xc1, 0x83, 0x34, 0x12, 0, 0]);
        check(
            |a| a.compare_exchange(X, RCX, 32, true),
            &[0xf0, 0x40, 0x0f, 0xb1, 0x8b, 0x34, 0x12, 0, 0],
        );
        check(Assembler::fence, &[0x0f, 0xae, 0xf0]);
    }

    #[test]
    fn arithmetic_is_that_of_the_manual() {
        check(|a| a.constant(R10, 7), &[0x41, 0xba, 7, 0, 0, 0]);
        check(|a| a.constant(RAX, u64::MAX), &[0x48, 0xb8, 255, 255, 255, 255, 255, 255, 255, 255]);
        check(|a| a.compute(RAX, Alu::Mul, R8), &[0x49, 0x0f, 0xaf, 0xc0]);
        check(|a| a.compute(RAX, Alu::Sub, R8), &[0x4c, 0x29, 0xc0]);
        check(|a| a.cut(RDI, 8), &[0x40, 0x0f, 0xb6, 0xff]);
        check(|a| a.cut(R9, 32), &[0x45, 0x89, 0xc9]);
        check(|a| a.negate(RAX), &[0x48, 0xf7, 0xd8]);
        check(|a| a.decrement(R13), &[0x49, 0xff, 0xcd]);
    }

    #[test]
    fn jumps_reach_their_labels_in_both_directions() {
        let mut assembler = Assembler::default();
        let (back, forth) = (assembler.label(), assembler.label());
        assembler.bind(back);
        assembler.jump(Test::Eq, forth);
        assembler.jump(Test::Ne, back);
        assembler.bind(forth);
        assembler.ret();
        let expected = [0x0f, 0x84, 6, 0, 0, 0, 0x0f, 0x85, 0xf4, 0xff, 0xff, 0xff, 0xc3];
        assert_eq!(assembler.finish(), expected);
    }
}
