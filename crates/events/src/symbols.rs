//! The hash table of a library's symbols, `DT_GNU_HASH`.
//!
//! # Evidence
//! `tests/pieces.rs`; each program in `tests/programs`, since the observer finds the C library's functions by it.
//! # Sources
//! U. Drepper, How To Write Shared Libraries; binutils' `bfd/elflink.c`.

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
