//! `.gnu_debugdata`: a symbol table without the names that the dynamic one has, packed with xz ("MiniDebugInfo").
//!
//! # Contract
//! What unpacks to more than [`MOST`] bytes, or needs more than [`MEMORY_KIB`] for it, is not read.
//! # Evidence
//! The tests below; `tests/symbols.rs`, with what `objcopy` and `xz` make.
//! # Sources
//! "MiniDebugInfo" in the GDB manual.

use lzma_rust2::XzReader;
use object::read::{Object, ObjectSection, ObjectSymbol};
use std::io::Read;

const MOST: u64 = 256 << 20;
const MEMORY_KIB: u32 = 128 << 10;

/// Functions by their addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mini {
    functions: Vec<Function>,
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    bytes: u64,
    name: String,
}

impl Mini {
    /// That of a file; `None` if it has none or it cannot be read.
    pub(super) fn of<'d>(object: &impl Object<'d>) -> Option<Self> {
        let section = object.section_by_name(".gnu_debugdata")?;
        Self::unpacked(section.data().ok()?)
    }

    fn unpacked(packed: &[u8]) -> Option<Self> {
        let mut bytes = Vec::new();
        let unpacked = XzReader::new_mem_limit(packed, true, MEMORY_KIB);
        unpacked.take(MOST + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > MOST {
            return None;
        }
        let object = object::File::parse(&*bytes).ok()?;
        let defined = object
            .symbols()
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && !symbol.is_undefined());
        let function = |symbol: object::Symbol<'_, '_>| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            let (start, bytes) = (symbol.address(), symbol.size());
            Some(Function { start, bytes, name: name.to_owned() })
        };
        let mut functions: Vec<Function> = defined.filter_map(function).collect();
        functions.sort_by_key(|function| function.start);
        Some(Mini { functions })
    }

    /// The function that contains an address.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        let behind = self.functions.partition_point(|function| function.start <= address);
        let function = &self.functions[behind.checked_sub(1)?];
        (address - function.start < function.bytes).then_some(&function.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_packed_with_xz_or_is_cut_off_has_no_names() {
        assert_eq!(Mini::unpacked(b""), None);
        assert_eq!(Mini::unpacked(b"no xz at all"), None);
        // An empty stream: its header, an index of no blocks, its footer.
        let empty =
            b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\0\0\0\0\x1c\xdfD!\x1f\xb6\xf3}\x01\0\0\0\0\x04YZ";
        assert_eq!(Mini::unpacked(empty), None, "no file is in it");
        for length in 0..empty.len() {
            assert_eq!(Mini::unpacked(&empty[..length]), None);
        }
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let function = |start, bytes, name: &str| Function { start, bytes, name: name.into() };
        let mini = Mini { functions: vec![function(16, 16, "first"), function(48, 8, "second")] };
        let names = [15, 16, 31, 32, 47, 48, 55, 56].map(|address| mini.name(address));
        let (first, second) = (Some("first"), Some("second"));
        assert_eq!(names, [None, first, first, None, None, second, second, None]);
    }
}
