//! Where a function's caller left off, by call frame information: what is said of the frame, of the return address and
//! of the frame pointer. It needs little stack, since the program's own may be small: of all other registers, nothing
//! is kept.
//!
//! # Contract
//! [`at`] is the row for a program counter; none where it needs what compilers do not use here.
//! # Evidence
//! `tests/programs`: `plugin.c`, `tight_stack.c`; the stacks of the ground truth.
//! # Sources
//! DWARF 5, 6.4.2: the instructions.

use gimli::CallFrameInstruction::{self, *};
use gimli::{BaseAddresses, EhFrame, EndianSlice, FrameDescriptionEntry, NativeEndian, Register};

type Bytes = EndianSlice<'static, NativeEndian>;

#[cfg(target_arch = "x86_64")]
pub(crate) mod registers {
    pub(crate) const FP: u16 = 6;
    pub(crate) const SP: u16 = 7;
    pub(super) const RA: u16 = 16;
}
#[cfg(target_arch = "aarch64")]
pub(crate) mod registers {
    pub(crate) const FP: u16 = 29;
    pub(crate) const SP: u16 = 31;
    pub(super) const RA: u16 = 30;
}

/// Where a caller's register is.
#[derive(Clone, Copy)]
pub(crate) enum Saved {
    /// In the register.
    No,
    /// In the stack, this far from the end of the frame.
    At(i64),
    /// Elsewhere.
    Otherwise,
}

/// A row: the register and the distance that tell where the frame ends, and the two registers of the caller.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) frame: Option<(u16, i64)>,
    pub(crate) fp: Saved,
    pub(crate) pc: Saved,
}

/// The state of an interpreter of such instructions.
struct State {
    now: Rules,
    /// Those that the instructions of the entry begin with.
    first: Rules,
    kept: [Rules; KEPT],
    kept_count: usize,
    data_factor: i64,
}

/// Rows kept at a time: compilers keep one.
const KEPT: usize = 2;

/// The row of the function of `entry` at `pc`.
#[inline(never)]
pub(crate) fn at(
    entry: &FrameDescriptionEntry<Bytes>,
    section: &EhFrame<Bytes>,
    bases: &BaseAddresses,
    pc: u64,
) -> Option<Rules> {
    let cie = entry.cie();
    let none = Rules { frame: None, fp: Saved::No, pc: Saved::No };
    let data_factor = cie.data_alignment_factor();
    let mut state =
        State { now: none, first: none, kept: [none; KEPT], kept_count: 0, data_factor };
    let mut common = cie.instructions(section, bases);
    while let Some(instruction) = common.next().ok()? {
        state.apply(instruction)?;
    }
    state.first = state.now;
    let mut row_begins = entry.initial_address();
    let mut own = entry.instructions(section, bases);
    while let Some(instruction) = own.next().ok()? {
        row_begins = match instruction {
            SetLoc { address } => address,
            AdvanceLoc { delta } => {
                row_begins.checked_add(u64::from(delta) * cie.code_alignment_factor())?
            }
            other => {
                state.apply(other)?;
                continue;
            }
        };
        if row_begins > pc {
            break;
        }
    }
    Some(state.now)
}

impl State {
    /// The caller's register, if it is one of the two.
    fn of(&mut self, register: Register) -> Option<&mut Saved> {
        match register.0 {
            registers::FP => Some(&mut self.now.fp),
            registers::RA => Some(&mut self.now.pc),
            _ => None,
        }
    }

    fn set(&mut self, register: Register, saved: Saved) {
        if let Some(place) = self.of(register) {
            *place = saved;
        }
    }

    fn apply(&mut self, instruction: CallFrameInstruction<usize>) -> Option<()> {
        let factor = self.data_factor;
        let factored = |offset: i64| offset.wrapping_mul(factor);
        match instruction {
            DefCfa { register, offset } => self.now.frame = Some((register.0, offset as i64)),
            DefCfaSf { register, factored_offset } => {
                self.now.frame = Some((register.0, factored(factored_offset)));
            }
            DefCfaRegister { register } => self.now.frame.as_mut()?.0 = register.0,
            DefCfaOffset { offset } => self.now.frame.as_mut()?.1 = offset as i64,
            DefCfaOffsetSf { factored_offset } => {
                self.now.frame.as_mut()?.1 = factored(factored_offset);
            }
            DefCfaExpression { .. } => self.now.frame = None,
            Undefined { register } | SameValue { register } => self.set(register, Saved::No),
            Offset { register, factored_offset } => {
                self.set(register, Saved::At(factored(factored_offset as i64)));
            }
            OffsetExtendedSf { register, factored_offset } => {
                self.set(register, Saved::At(factored(factored_offset)));
            }
            ValOffset { register, .. }
            | ValOffsetSf { register, .. }
            | CallFrameInstruction::Register { dest_register: register, .. }
            | Expression { register, .. }
            | ValExpression { register, .. } => self.set(register, Saved::Otherwise),
            Restore { register } => match register.0 {
                registers::FP => self.now.fp = self.first.fp,
                registers::RA => self.now.pc = self.first.pc,
                _ => {}
            },
            RememberState => {
                *self.kept.get_mut(self.kept_count)? = self.now;
                self.kept_count += 1;
            }
            RestoreState => {
                self.kept_count = self.kept_count.checked_sub(1)?;
                self.now = self.kept[self.kept_count];
            }
            SetLoc { .. } | AdvanceLoc { .. } => return None, // Not in what all entries begin with.
            _ => {} // They change neither of the registers, nor the frame.
        }
        Some(())
    }
}
