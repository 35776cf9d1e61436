//! Why bytes cannot be read as a record.

use crate::layout;
use std::fmt;

/// Why the bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// They are too short for a header.
    Truncated,
    /// They do not begin with [`layout::MAGIC`].
    NotARecord,
    /// The record has another version.
    Version(u32),
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Truncated => out.write_str("the record is shorter than its header"),
            ReadError::NotARecord => out.write_str("these bytes are not a record of unc"),
            ReadError::Version(theirs) => {
                write!(
                    out,
                    "the record has version {theirs}, this unc reads version {}",
                    layout::VERSION
                )
            }
        }
    }
}

impl std::error::Error for ReadError {}
