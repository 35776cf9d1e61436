//! Functions that left the stack before they were done: their last call is a jump.
//!
//! # Contract
//! [`with_jumps`] adds to a call chain each function that was called by a direct call, where the frame that it led to
//! is in another file: the function must have jumped there. So code that ends with an unlock, and has no frame any
//! more, is named, and not its caller alone. A jump within one file can be told with names alone: in the report.
//! # Sources
//! x86-64: a direct call is `e8` and a distance of 32 bits.

use crate::modules::{Module, Modules};
use std::os::unix::fs::FileExt as _;

/// The call chain with them, each by the address after its first byte, as if it had returned to there.
pub(crate) fn with_jumps(modules: &Modules, chain: &[u64]) -> Vec<u64> {
    let mut whole: Vec<u64> = Vec::with_capacity(chain.len() + 1);
    for &frame in chain {
        let function = whole.last().and_then(|&inner| jumped(modules, inner, frame));
        whole.extend(function.map(|start| start + 1));
        whole.push(frame);
    }
    whole
}

/// The function that was called before `frame`, if it is not that of the frame `inner`.
fn jumped(modules: &Modules, inner: u64, frame: u64) -> Option<u64> {
    let file = |address: u64| modules.of(address.wrapping_sub(1));
    let (inner, outer) = (file(inner)?, file(frame)?);
    if inner.path == outer.path {
        return None;
    }
    let called = target(outer, frame)?;
    let is_stub =
        outer.stubs.iter().any(|stubs| stubs.contains(&called.wrapping_sub(outer.bias())));
    (outer.code.contains(&called) && !is_stub).then_some(called)
}

/// What the call before the address `after` calls, if it is a direct one.
fn target(module: &Module, after: u64) -> Option<u64> {
    const CALL: u8 = 0xe8;
    let mut bytes = [0; 5];
    let at = after.checked_sub(bytes.len() as u64)?.checked_sub(module.code.start)?;
    module.file()?.read_exact_at(&mut bytes, module.offset + at).ok()?;
    let [operation, distance @ ..] = bytes;
    let distance = i64::from(i32::from_le_bytes(distance));
    (operation == CALL).then(|| after.wrapping_add_signed(distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::Folder;

    /// A program at 0x1000 with a call of 0x1100 before 0x1205, and one of a stub at 0x1180 before 0x1305.
    fn modules(folder: &Folder) -> Modules {
        let path = folder.file("program");
        let mut bytes = vec![0; 0x1000];
        for (at, distance) in [(0x200, 0x100 - 0x205), (0x300, 0x180 - 0x305)] {
            bytes[0x800 + at] = 0xe8;
            bytes[0x801 + at..0x805 + at].copy_from_slice(&i32::to_le_bytes(distance));
        }
        std::fs::write(&path, bytes).unwrap();
        let module = |path: &str, start: u64| Module {
            path: path.into(),
            code: start..start + 0x800,
            offset: 0x800,
            base: start - 0x800,
            ..Module::default()
        };
        let stub = 0x1180 - 0x800..0x1190 - 0x800;
        let program = Module { stubs: vec![stub], ..module(&path, 0x1000) };
        Modules::of_files([program, module("/library", 0x9000)])
    }

    #[test]
    fn a_function_that_jumped_to_a_library_is_in_the_chain() {
        let folder = Folder::new();
        let modules = modules(&folder);
        assert_eq!(with_jumps(&modules, &[0x9010, 0x1205]), [0x9010, 0x1101, 0x1205]);
    }

    #[test]
    fn a_call_through_a_stub_or_within_a_file_jumped_nowhere() {
        let folder = Folder::new();
        let modules = modules(&folder);
        for chain in [[0x9010, 0x1305], [0x1110, 0x1205], [0x9010, 0x1405], [0x70, 0x1205]] {
            assert_eq!(with_jumps(&modules, &chain), chain);
        }
        assert_eq!(with_jumps(&modules, &[]), [0u64; 0]);
    }
}
