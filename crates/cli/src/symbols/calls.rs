//! What a call instruction calls, by a module's code (x86-64).
//!
//! # Sources
//! System V ABI, AMD64 supplement: the procedure linkage table. Intel SDM, volume 2: CALL, JMP, ENDBR64.

use super::find;
use super::wanted::Wanted;
use object::read::{
    Object, ObjectSegment, ObjectSymbol, ObjectSymbolTable, ReadRef, RelocationTarget,
};

/// What is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Callee {
    /// What is at this address of the module.
    At(u64),
    /// A function of another module, of this name.
    Imported(String),
}

/// What the call calls that returns to `address`, if the module's own file is still there.
pub(super) fn before(wanted: &Wanted, address: u64) -> Option<Callee> {
    if cfg!(not(target_arch = "x86_64")) {
        return None;
    }
    find::in_own_file(wanted, |module| call(module, address))
}

/// The call that returns to `address`.
fn call<'d, R: ReadRef<'d>>(module: &object::File<'d, R>, address: u64) -> Option<Callee> {
    let is = |from: u64, opcode: &[u8]| bytes(module, from, opcode.len() as u64) == Some(opcode);
    if is(address.checked_sub(6)?, &[0xff, 0x15]) {
        return imported(module, distant(module, address - 4)?);
    }
    if !is(address - 5, &[0xe8]) {
        return None;
    }
    let target = distant(module, address - 4)?;
    let jump = target + if is(target, &[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 }; // ENDBR64
    let jump = jump + u64::from(is(jump, &[0xf2])); // A prefix of older linkers.
    let stub = is(jump, &[0xff, 0x25]).then(|| imported(module, distant(module, jump + 2)?));
    Some(stub.flatten().unwrap_or(Callee::At(target)))
}

fn bytes<'d, R: ReadRef<'d>>(
    module: &object::File<'d, R>,
    from: u64,
    count: u64,
) -> Option<&'d [u8]> {
    module.segments().find_map(|segment| segment.data_range(from, count).ok().flatten())
}

/// The address that the distance at `at` means, which ends its instruction.
fn distant<'d, R: ReadRef<'d>>(module: &object::File<'d, R>, at: u64) -> Option<u64> {
    let distance = i32::from_le_bytes(bytes(module, at, 4)?.try_into().ok()?);
    Some((at + 4).wrapping_add_signed(distance.into()))
}

/// The function whose address the loader puts at `slot`.
fn imported<'d, R: ReadRef<'d>>(module: &object::File<'d, R>, slot: u64) -> Option<Callee> {
    let (_, relocation) = module.dynamic_relocations()?.find(|&(at, _)| at == slot)?;
    let RelocationTarget::Symbol(index) = relocation.target() else { return None };
    let symbol = module.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
    Some(Callee::Imported(symbol.name().ok()?.to_owned()))
}
