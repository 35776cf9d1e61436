//! A kept trace: the record's bytes, then `unc`'s own observations, then a footer that shows the file is complete.
//!
//! # Contract
//! A trace file is a record followed by its [`ending`]; [`decode`] returns the record and the facts. Any other bytes
//! yield a one-line error, never a panic.
//! # State
//! ```text
//! record bytes | facts as JSON | footer: magic 8, version 4, zero 4, record length 8, facts length 8, checksum 8
//! ```
//! Numbers are little-endian. The checksum covers everything before it, first the record, then the rest.
//! # Evidence
//! The tests below: every truncation, and any changed bit, is refused.

use crate::facts::Facts;
use std::fmt;

const MAGIC: &[u8; 8] = b"UNCTRACE";
const VERSION: u32 = 1;
const FOOTER: usize = 40;

/// Why bytes are not a readable trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceError {
    /// The end is missing.
    Truncated,
    /// The bytes differ from what was written.
    Corrupted,
    /// Written by an `unc` with another trace version.
    Version(u32),
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Truncated => {
                out.write_str("not a trace of `unc run --trace`, or its end is missing")
            }
            TraceError::Corrupted => out.write_str("the content was changed after it was written"),
            TraceError::Version(theirs) => {
                write!(
                    out,
                    "the trace has version {theirs}, but this `unc` reads version {VERSION}"
                )
            }
        }
    }
}

impl std::error::Error for TraceError {}

/// What follows `record` in a trace file.
///
/// # Errors
/// None that a caller can cause: facts are plain data.
pub fn ending(record: &[u8], facts: &Facts) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(facts)?;
    let facts_length = bytes.len() as u64;
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(record.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&facts_length.to_le_bytes());
    bytes.extend_from_slice(&checksum(record, &bytes).to_le_bytes());
    Ok(bytes)
}

/// The record and the facts in a trace file.
///
/// # Errors
/// What is wrong with the bytes.
pub fn decode(bytes: &[u8]) -> Result<(&[u8], Facts), TraceError> {
    let at = bytes.len().checked_sub(FOOTER).ok_or(TraceError::Truncated)?;
    let footer = &bytes[at..];
    if !footer.starts_with(MAGIC) {
        return Err(TraceError::Truncated);
    }
    let version = number(footer, 8) as u32;
    if version != VERSION {
        return Err(TraceError::Version(version));
    }
    let record = usize::try_from(number(footer, 16)).map_err(|_| TraceError::Corrupted)?;
    let (content, sum) = bytes.split_at(bytes.len() - 8);
    let (record, rest) = content.split_at_checked(record).ok_or(TraceError::Corrupted)?;
    if number(sum, 0) != checksum(record, rest) {
        return Err(TraceError::Corrupted);
    }
    let facts = usize::try_from(number(footer, 24))
        .ok()
        .filter(|&facts| record.len().checked_add(facts) == Some(at));
    let facts = facts.and_then(|facts| rest.get(..facts)).ok_or(TraceError::Corrupted)?;
    let facts = serde_json::from_slice(facts).map_err(|_| TraceError::Corrupted)?;
    Ok((record, facts))
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].iter().take(8).rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Mixes eight bytes at a time: a multiplication spreads them over the word, a rotation brings them back.
fn checksum(record: &[u8], rest: &[u8]) -> u64 {
    let mut sum = (record.len() + rest.len()) as u64;
    for chunk in record.chunks(8).chain(rest.chunks(8)) {
        sum = (sum.rotate_left(23) ^ number(chunk, 0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    sum ^ sum >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let facts = Facts { command: vec!["sort".into()], exit_status: 3, ..Facts::default() };
        let record = b"the record";
        [&record[..], &ending(record, &facts).unwrap()].concat()
    }

    #[test]
    fn what_was_kept_is_read_back() {
        let bytes = sample();
        let (record, facts) = decode(&bytes).unwrap();
        assert_eq!(record, b"the record");
        assert_eq!((facts.command, facts.exit_status), (vec!["sort".to_owned()], 3));
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = sample();
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn every_changed_bit_is_refused() {
        let bytes = sample();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = sample();
        let at = bytes.len() - FOOTER + 8;
        bytes[at] = 9;
        assert_eq!(decode(&bytes), Err(TraceError::Version(9)));
        assert!(TraceError::Version(9).to_string().contains("version 9"));
    }
}
