//! The build id of a loaded module, from its notes.
//!
//! # Contract
//! [`build_id`] reads the module's headers and notes where they are loaded, so it is the id of what runs, whatever has
//! become of the file. Every length in them is limited; memory that cannot be read has no id.
//! # Evidence
//! The tests below; `crates/cli/tests/symbols.rs` compares it with the file.
//! # Sources
//! ELF gABI: program headers, notes; the GNU linker's `--build-id`.

use uncontended_trace::layout::BUILD_ID;

const MAGIC: u64 = u64::from_le_bytes(*b"\x7fELF\0\0\0\0");
const CLASS_64: u64 = 2;
const NOTE: u64 = 4;
/// `NT_GNU_BUILD_ID`.
const ID: u64 = 3;
const GNU: u64 = u64::from_le_bytes(*b"GNU\0\0\0\0\0");
/// More headers, and longer notes, are not read.
const HEADERS: u64 = 64;
const NOTES: u64 = 4096;

/// A build id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildId {
    bytes: [u8; BUILD_ID],
    length: usize,
}

impl BuildId {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The build id of the module whose file's beginning is at `base`, and whose addresses are `bias` more than the file's.
/// `word` reads an aligned word of the process's memory.
pub fn build_id(
    base: usize,
    bias: usize,
    word: impl FnMut(usize) -> Option<usize>,
) -> Option<BuildId> {
    let (mut memory, base) = (Memory { word }, base as u64);
    let mut field = |at, bytes| memory.number(base.wrapping_add(at), bytes);
    if field(0, 4)? != MAGIC || field(4, 1)? != CLASS_64 {
        return None;
    }
    let table = base.checked_add(field(32, 8)?)?;
    let (entry_bytes, count) = (field(54, 2)?, field(56, 2)?.min(HEADERS));
    (0..count).find_map(|number| {
        let header = table.checked_add(number * entry_bytes)?;
        if memory.number(header, 4)? != NOTE {
            return None;
        }
        let from = (bias as u64).wrapping_add(memory.number(header.checked_add(16)?, 8)?);
        let bytes = memory.number(header.checked_add(32)?, 8)?.min(NOTES);
        let align = if memory.number(header.checked_add(48)?, 8)? == 8 { 8 } else { 4 };
        memory.id_in(from, from.checked_add(bytes)?, align)
    })
}

struct Memory<F> {
    word: F,
}

impl<F: FnMut(usize) -> Option<usize>> Memory<F> {
    /// The number in up to eight bytes, little-endian.
    fn number(&mut self, at: u64, bytes: u64) -> Option<u64> {
        let byte = |memory: &mut Self, at: u64| {
            let word = (memory.word)(at as usize & !7)? as u64;
            Some(word >> (8 * (at & 7)) & 0xff)
        };
        (0..bytes).try_fold(0, |number, nth| {
            Some(number | byte(self, at.wrapping_add(nth))? << (8 * nth))
        })
    }

    /// The id among the notes in a range of memory.
    fn id_in(&mut self, mut at: u64, end: u64, align: u64) -> Option<BuildId> {
        while end.checked_sub(at)? >= 12 {
            let (name, id) = (self.number(at, 4)?, self.number(at + 4, 4)?);
            let begun = at.checked_add((12 + name).next_multiple_of(align))?;
            let next = begun.checked_add(id.next_multiple_of(align))?;
            let is_id =
                self.number(at + 8, 4)? == ID && name == 4 && self.number(at + 12, 4)? == GNU;
            if is_id && (1..=BUILD_ID as u64).contains(&id) && end.checked_sub(begun)? >= id {
                let mut found = BuildId { bytes: [0; BUILD_ID], length: id as usize };
                for (nth, byte) in (0..).zip(&mut found.bytes[..id as usize]) {
                    *byte = self.number(begun + nth, 1)? as u8;
                }
                return Some(found);
            }
            at = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::Random;

    const BASE: usize = 0x10_0000;

    fn find(image: &[u8]) -> Option<BuildId> {
        build_id(BASE, BASE, |at| {
            let bytes = image.get(at.checked_sub(BASE)?..)?.first_chunk::<8>()?;
            Some(usize::from_le_bytes(*bytes))
        })
    }

    fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
        image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A header, two program headers, and a segment of two notes.
    fn image(align: u64) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        put(&mut image, 0, b"\x7fELF\x02");
        put(&mut image, 32, &64_u64.to_le_bytes());
        put(&mut image, 54, &[56, 0, 2, 0]);
        put(&mut image, 64, &1_u32.to_le_bytes());
        let header = 64 + 56;
        put(&mut image, header, &4_u32.to_le_bytes());
        put(&mut image, header + 16, &0x200_u64.to_le_bytes());
        put(&mut image, header + 32, &0x80_u64.to_le_bytes());
        put(&mut image, header + 48, &align.to_le_bytes());
        // A property of an odd length; then the id.
        put(&mut image, 0x200, &[4, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0]);
        put(&mut image, 0x20c, b"GNU\0");
        let next = if align == 8 { 0x218 } else { 0x214 };
        put(&mut image, next, &[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]);
        put(&mut image, next + 12, b"GNU\0");
        put(&mut image, next + 16, &[0xab; 20]);
        image
    }

    #[test]
    fn the_id_is_found_behind_another_note() {
        for align in [0, 4, 8] {
            assert_eq!(find(&image(align)).unwrap().bytes(), [0xab; 20], "{align}");
        }
    }

    #[test]
    fn without_such_a_note_there_is_none() {
        for (at, changed) in
            [(0, 1), (4, 1), (56, 0), (64 + 56, 1), (0x214 + 8, 1), (0x214 + 12, 1)]
        {
            let mut image = image(4);
            image[at] = changed;
            assert_eq!(find(&image), None, "{at:#x}");
        }
        let mut long = image(4);
        put(&mut long, 0x214 + 4, &65_u32.to_le_bytes());
        assert_eq!(find(&long), None, "no linker makes such an id");
    }

    #[test]
    fn no_length_in_them_is_trusted() {
        let mut random = Random(7);
        let whole = image(4);
        for _ in 0..if cfg!(miri) { 100 } else { 40_000 } {
            let mut image = whole.clone();
            for _ in 0..4 {
                let at = random.below(0x260) as usize;
                image[at] = [0, 0xff, 0x7f, random.below(256) as u8][random.below(4) as usize];
            }
            image.truncate(random.below(0x400) as usize);
            let _ = find(&image);
        }
    }
}
