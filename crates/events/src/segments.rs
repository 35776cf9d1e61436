//! Where a file's segments are loaded, by its program headers.
//!
//! # Evidence
//! `tests/pieces.rs`; the ground truth on systems whose C library lacks `_dl_find_object`.
//! # Sources
//! ELF gABI: program headers.

use crate::maps::Mapping;

const PAGE: usize = 4096;

/// What a program header says.
#[derive(Debug, Clone, Copy)]
pub enum Segment {
    /// A segment to load.
    Loaded {
        /// Where, without the bias.
        address: usize,
        /// How large it is in memory.
        bytes: usize,
    },
    /// The table of call frame information.
    Frames {
        /// Where, without the bias.
        address: usize,
    },
    /// Anything else.
    Other,
}

/// The memory range of a module, or one without a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Segments {
    /// Its first address.
    pub start: usize,
    /// One past its last address.
    pub end: usize,
    /// What is added to the file's addresses.
    pub bias: usize,
    /// The address of the table of call frame information; 0 if there is none.
    pub header: usize,
}

impl Segments {
    /// A mapping without a module.
    pub fn none(mapping: &Mapping<'_>) -> Self {
        Segments { start: mapping.start, end: mapping.end, bias: 0, header: 0 }
    }

    /// Those of a file whose beginning is mapped at `base`; `None` if a header could not be read, or none is loaded.
    pub fn of(base: usize, headers: impl IntoIterator<Item = Option<Segment>>) -> Option<Self> {
        let (mut first, mut last, mut frames) = (usize::MAX, 0, None);
        for header in headers {
            match header? {
                Segment::Loaded { address, bytes } => {
                    first = first.min(address & !(PAGE - 1));
                    last = last.max(address.saturating_add(bytes));
                }
                Segment::Frames { address } => frames = frames.or(Some(address)),
                Segment::Other => {}
            }
        }
        if last == 0 {
            return None;
        }
        let bias = base.wrapping_sub(first);
        let header = frames.map_or(0, |frames| bias.wrapping_add(frames));
        Some(Segments { start: base, end: bias.wrapping_add(last), bias, header })
    }
}
