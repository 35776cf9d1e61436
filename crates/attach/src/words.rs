//! Numbers in the bytes that the kernel gives.

/// The 64-bit number at `at`; bytes beyond the end count as zero.
pub(crate) fn at(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 8)
}

/// The 32-bit number at `at`; bytes beyond the end count as zero.
pub(crate) fn half_at(bytes: &[u8], at: usize) -> u32 {
    number(bytes, at, 4) as u32
}

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes.iter().skip(at).take(length).rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
