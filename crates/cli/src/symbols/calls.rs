//! What a call instruction calls, by a module's code (x86-64).
//!
//! # Sources
//! System V ABI, AMD64 supplement: the procedure linkage table. Intel SDM, volume 2: CALL, JMP, ENDBR64.

use super::find;
use super::wanted::Wanted;
use super::{Segment, segments_of};
use object::read::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// What is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Callee {
    /// What is at this address of the module.
    At(u64),
    /// A function of another module, of this name.
    Imported(String),
}

/// A module's code, read where it is asked for: the code of a browser has hundreds of megabytes.
#[derive(Debug)]
pub(super) struct Code {
    file: File,
    segments: Vec<Segment>,
    /// The functions of other modules, by the slots into which the loader puts their addresses.
    imported: HashMap<u64, String>,
}

impl Code {
    /// The code of a module whose own file is still there.
    pub(super) fn of(wanted: &Wanted) -> Option<Code> {
        if cfg!(not(target_arch = "x86_64")) {
            return None;
        }
        find::in_own_file(wanted, |module| {
            let file = File::open(wanted.path()).ok()?;
            let symbols = module.dynamic_symbol_table();
            let name = |target| match (target, &symbols) {
                (RelocationTarget::Symbol(index), Some(symbols)) => {
                    let symbol = symbols.symbol_by_index(index).ok()?;
                    symbol.name().ok().map(str::to_owned)
                }
                _ => None,
            };
            let relocations = module.dynamic_relocations().into_iter().flatten();
            let imported = relocations.filter_map(|(slot, at)| Some((slot, name(at.target())?)));
            Some(Code { file, segments: segments_of(module), imported: imported.collect() })
        })
    }

    /// What the call calls that returns to `address`.
    pub(super) fn called_before(&self, address: u64) -> Option<Callee> {
        if self.is(address.checked_sub(6)?, [0xff, 0x15]) {
            return self.imported(self.distant(address - 4)?);
        }
        if !self.is(address - 5, [0xe8]) {
            return None;
        }
        let target = self.distant(address - 4)?;
        let endbr64 = self.is(target, [0xf3, 0x0f, 0x1e, 0xfa]);
        let jump = target + if endbr64 { 4 } else { 0 };
        let jump = jump + u64::from(self.is(jump, [0xf2])); // A prefix of older linkers.
        let is_stub = self.is(jump, [0xff, 0x25]);
        let stub = is_stub.then(|| self.imported(self.distant(jump + 2)?)).flatten();
        Some(stub.unwrap_or(Callee::At(target)))
    }

    fn is<const N: usize>(&self, from: u64, opcode: [u8; N]) -> bool {
        self.bytes(from) == Some(opcode)
    }

    /// The bytes from an address on.
    fn bytes<const N: usize>(&self, from: u64) -> Option<[u8; N]> {
        let offset = self.segments.iter().find_map(|segment| segment.offset_of(from, N as u64))?;
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// The address that the distance at `at` means, which ends its instruction.
    fn distant(&self, at: u64) -> Option<u64> {
        let distance = i32::from_le_bytes(self.bytes(at)?);
        Some((at + 4).wrapping_add_signed(distance.into()))
    }

    /// The function whose address the loader puts at `slot`.
    fn imported(&self, slot: u64) -> Option<Callee> {
        self.imported.get(&slot).cloned().map(Callee::Imported)
    }
}
