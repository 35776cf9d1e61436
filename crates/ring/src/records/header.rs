//! The header: a word before each record with its kind and length.
//!
//! ```text
//! bits 0..32: length of the payload in bytes | bits 32..64: kind; a word of zeros is none
//! ```
//! A record takes its header and its payload, rounded up to whole words. A skipped range has a length too.

/// Bytes in a word. Records begin at multiples of it.
pub(super) const WORD: usize = 8;

/// A decoded header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Header {
    /// No header yet.
    None,
    /// A record that its producer is filling.
    Claimed(u32),
    /// A committed record.
    Record(u32),
    /// An aborted or recovered claim, or padding at the end of the memory.
    Skip(u32),
    /// A word that no producer writes.
    Foreign,
}

impl Header {
    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
        let (kind, len) = match self {
            Header::None => (0, 0),
            Header::Claimed(len) => (1, len),
            Header::Record(len) => (2, len),
            Header::Skip(len) => (3, len),
            Header::Foreign => (4, 0),
        };
        kind << 32 | len as u64
    }

    #[inline(always)]
    pub(super) const fn of(word: u64) -> Header {
        let len = word as u32;
        match (word >> 32, len) {
            (0, 0) => Header::None,
            (1, _) => Header::Claimed(len),
            (2, _) => Header::Record(len),
            (3, _) => Header::Skip(len),
            _ => Header::Foreign,
        }
    }

    /// A header that skips `words` words, including itself.
    #[inline(always)]
    pub(super) const fn skip(words: u64) -> Header {
        Header::Skip((words as u32 - 1) * WORD as u32)
    }
}

/// The words that a record of `len` bytes takes.
#[inline(always)]
pub(super) const fn words_for(len: usize) -> u64 {
    1 + len.div_ceil(WORD) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_become_words_and_come_back() {
        for len in [0, 1, u32::MAX] {
            for header in [Header::Claimed(len), Header::Record(len), Header::Skip(len)] {
                assert_eq!(Header::of(header.word()), header);
            }
        }
        assert_eq!((Header::None.word(), Header::of(0)), (0, Header::None));
        for foreign in [1, Header::Foreign.word(), u64::MAX] {
            assert_eq!(Header::of(foreign), Header::Foreign);
        }
        for words in [1, 2, 1 << 28] {
            let Header::Skip(len) = Header::skip(words) else { panic!("it skips") };
            assert_eq!(words_for(len as usize), words);
        }
    }
}
