//! Instructions of the kernel's virtual machine.
//!
//! # Contract
//! Each method adds one instruction ([`Assembler::map`] a double one). A [`Label`] is placed once, after every jump to
//! it: programs without jumps back end.
//! # Invariants
//! I1: an instruction is eight bytes: operation, registers, an offset of 16 bits, a constant of 32.

use super::Map;

/// A register. `R0` has results, `R1` to `R5` arguments; calls keep `R6` to `R9`; `FP` is the end of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    FP,
}

/// How much is loaded or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    Word = 0x00,
    /// 64 bits.
    Double = 0x18,
}

/// What is computed, in 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs)]
pub enum Operation {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Xor = 0xa0,
    Move = 0xb0,
}

/// When to jump; numbers have no sign unless the name says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs)]
pub enum Condition {
    Equal = 0x10,
    Greater = 0x20,
    GreaterOrEqual = 0x30,
    NotEqual = 0x50,
    SignedLess = 0xc0,
    Less = 0xa0,
}

/// A place in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A program in the making.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u64>,
    /// The jumps to each label that is not placed yet.
    jumps: Vec<Vec<usize>>,
}

impl Assembler {
    /// The instructions.
    ///
    /// # Panics
    /// A label was never placed.
    pub fn finish(self) -> Vec<u64> {
        assert!(self.jumps.iter().all(Vec::is_empty), "every label is placed");
        self.code
    }

    fn add(&mut self, operation: u8, to: Register, from: Register, offset: i16, constant: i32) {
        let registers = to as u8 | (from as u8) << 4;
        let [low, high] = offset.to_le_bytes();
        let [a, b, c, d] = constant.to_le_bytes();
        self.code.push(u64::from_le_bytes([operation, registers, low, high, a, b, c, d])); // I1
    }

    /// `to = to OPERATION from`.
    pub fn compute(&mut self, operation: Operation, to: Register, from: Register) {
        self.add(0x0f | operation as u8, to, from, 0, 0);
    }

    /// `to = to OPERATION constant`.
    pub fn compute_with(&mut self, operation: Operation, to: Register, constant: i32) {
        self.add(0x07 | operation as u8, to, Register::R0, 0, constant);
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Register, from: Register) {
        self.compute(Operation::Move, to, from);
    }

    /// `to = constant`, with its sign.
    pub fn set(&mut self, to: Register, constant: i32) {
        self.compute_with(Operation::Move, to, constant);
    }

    /// `to = constant`, of 64 bits.
    pub fn set_wide(&mut self, to: Register, constant: u64) {
        self.add(0x18, to, Register::R0, 0, constant as i32);
        self.add(0, Register::R0, Register::R0, 0, (constant >> 32) as i32);
    }

    /// `to = base[offset]`.
    pub fn load(&mut self, width: Width, to: Register, base: Register, offset: i16) {
        self.add(0x61 | width as u8, to, base, offset, 0);
    }

    /// `base[offset] = from`.
    pub fn store(&mut self, width: Width, base: Register, offset: i16, from: Register) {
        self.add(0x63 | width as u8, base, from, offset, 0);
    }

    /// `base[offset] = constant`.
    pub fn store_constant(&mut self, width: Width, base: Register, offset: i16, constant: i32) {
        self.add(0x62 | width as u8, base, Register::R0, offset, constant);
    }

    /// `base[offset] += from`, of 64 bits and as one step.
    pub fn add_to_shared(&mut self, base: Register, offset: i16, from: Register) {
        self.add(0xdb, base, from, offset, 0);
    }

    /// `from = base[offset]`, and `base[offset] += from`, of 64 bits: one step, and a full barrier.
    pub fn fetch_add(&mut self, base: Register, offset: i16, from: Register) {
        self.add(0xdb, base, from, offset, 0x01);
    }

    /// A place to jump to, not placed yet.
    pub fn label(&mut self) -> Label {
        self.jumps.push(Vec::new());
        Label(self.jumps.len() - 1)
    }

    /// Jumps to `label`.
    pub fn jump(&mut self, label: Label) {
        self.jumps[label.0].push(self.code.len());
        self.add(0x05, Register::R0, Register::R0, 0, 0);
    }

    /// Jumps to `label` if `a` and `b` are so.
    pub fn jump_if(&mut self, condition: Condition, a: Register, b: Register, label: Label) {
        self.jumps[label.0].push(self.code.len());
        self.add(0x0d | condition as u8, a, b, 0, 0);
    }

    /// Jumps to `label` if `a` and the constant, with its sign, are so.
    pub fn jump_if_with(&mut self, condition: Condition, a: Register, b: i32, label: Label) {
        self.jumps[label.0].push(self.code.len());
        self.add(0x05 | condition as u8, a, Register::R0, 0, b);
    }

    /// Places `label` here.
    ///
    /// # Panics
    /// A jump over more than 32,767 instructions.
    pub fn place(&mut self, label: Label) {
        for at in std::mem::take(&mut self.jumps[label.0]) {
            let distance = i16::try_from(self.code.len() - at - 1).expect("a short program");
            self.code[at] |= u64::from(distance.cast_unsigned()) << 16;
        }
    }

    /// `to = the map`.
    pub fn map(&mut self, to: Register, map: &Map) {
        let number = i32::try_from(map.number()).unwrap_or(-1);
        self.add(0x18, to, Register::R1, 0, number); // R1 here: the constant is a map's descriptor.
        self.add(0, Register::R0, Register::R0, 0, 0);
    }

    /// `to = the address of the map's first value`; the map is a mappable array.
    pub fn map_value(&mut self, to: Register, map: &Map) {
        let number = i32::try_from(map.number()).unwrap_or(-1);
        self.add(0x18, to, Register::R2, 0, number); // R2 here: the map's value, at the offset that follows.
        self.add(0, Register::R0, Register::R0, 0, 0);
    }

    /// Calls the kernel's function with this number.
    pub fn call(&mut self, function: i32) {
        self.add(0x85, Register::R0, Register::R0, 0, function);
    }

    /// Ends the program with the result in `R0`.
    pub fn exit(&mut self) {
        self.add(0x95, Register::R0, Register::R0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_of_the_specification() {
        let mut code = Assembler::default();
        let end = code.label();
        code.set(Register::R0, -1);
        code.load(Width::Double, Register::R2, Register::R1, 16);
        code.jump_if_with(Condition::NotEqual, Register::R2, 7, end);
        code.compute(Operation::Xor, Register::R0, Register::R2);
        code.place(end);
        code.exit();
        let expected = [
            0xffff_ffff_0000_00b7,
            0x0000_0000_0010_1279,
            0x0000_0007_0001_0255,
            0x0000_0000_0000_20af,
            0x0000_0000_0000_0095,
        ];
        assert_eq!(code.finish(), expected);
    }
}
