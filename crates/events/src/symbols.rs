//! A library's symbols: their hash table (`DT_GNU_HASH`), and which version of a symbol fits.
//!
//! # Evidence
//! `tests/pieces.rs`; each program in `tests/programs`, since the observer finds the C library's functions by it.
//! # Sources
//! U. Drepper, How To Write Shared Libraries; binutils' `bfd/elflink.c`; Linux Standard Base, symbol versioning; glibc,
//! `elf/dl-lookup.c`.

/// The hash of a symbol's name.
pub fn hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

/// The numbers of the symbols that the table at an address lists for a name's hash. `word` reads the library's memory,
/// in this table alone.
pub fn candidates(
    table: usize,
    name: &[u8],
    word: impl Fn(usize) -> u32,
) -> impl Iterator<Item = usize> {
    let hash = hash(name);
    let [buckets, first, filters] = [0, 4, 8].map(|offset| word(table + offset));
    let bucket_list = table + 16 + 8 * filters as usize;
    let chains = bucket_list + 4 * buckets as usize;
    let bucket = |number: u32| word(bucket_list + 4 * number as usize);
    let mut next = hash.checked_rem(buckets).map_or(0, bucket);
    std::iter::from_fn(move || {
        while next >= first && next != 0 {
            let number = next;
            // Each symbol from the first one on has a word; the last of a bucket is odd.
            let found = word(chains + 4 * (number - first) as usize);
            next = if found & 1 == 0 { number + 1 } else { 0 };
            if found | 1 == hash | 1 {
                return Some(number as usize);
            }
        }
        None
    })
}

/// Set in a symbol's version if it is not the default one.
const HIDDEN: u16 = 1 << 15;

/// Whether a symbol of version `own` fits. Without a wanted version it must be the default one; otherwise the wanted
/// one, which `is_wanted` knows by number, or of a library that has none for it (numbers 0 and 1).
pub fn version_fits(own: u16, wants_one: bool, is_wanted: impl FnOnce(u16) -> bool) -> bool {
    let number = own & !HIDDEN;
    if wants_one && number >= 2 { is_wanted(number) } else { own & HIDDEN == 0 }
}

/// The versions that a library defines, from the first one's address (`DT_VERDEF`) on: the number of each, and where
/// its name is among the strings. `word` reads the library's memory, in that list alone.
pub fn definitions(first: usize, word: impl Fn(usize) -> u32) -> impl Iterator<Item = (u16, u32)> {
    let mut next = Some(first).filter(|&at| at != 0);
    std::iter::from_fn(move || {
        let at = next?;
        // Halves: the form, flags, the number, how many names. Words: a hash, the first name's place, the next one.
        let number = (word(at + 4) & 0xffff) as u16;
        let name = word(at + word(at + 12) as usize);
        next = Some(word(at + 16)).filter(|&bytes| bytes != 0).map(|bytes| at + bytes as usize);
        Some((number, name))
    })
}
