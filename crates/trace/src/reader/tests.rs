//! Strange bytes are refused, or read as far as they make sense.

use super::*;

fn header() -> Vec<u8> {
    let mut bytes = vec![0; 256 * UNIT];
    bytes[..8].copy_from_slice(&layout::MAGIC.to_le_bytes());
    bytes[8..12].copy_from_slice(&layout::VERSION.to_le_bytes());
    bytes
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn other_bytes_are_refused() {
    assert_eq!(read(&[]), Err(ReadError::Truncated));
    assert_eq!(read(&[7; 4096]), Err(ReadError::NotARecord));
    let mut other = header();
    put(&mut other, 8, layout::VERSION + 1);
    assert_eq!(read(&other), Err(ReadError::Version(layout::VERSION + 1)));
}

#[test]
fn a_list_that_bites_its_tail_ends() {
    let mut bytes = header();
    put(&mut bytes, offset_of!(Header, processes), 70);
    put(&mut bytes, 70 * UNIT + offset_of!(Process, next), 70);
    assert_eq!(read(&bytes).unwrap().processes.len(), 1);
}

#[test]
fn random_bytes_behind_a_header_never_panic() {
    let mut random = uncontended_testkit::Random(1);
    // Miri checks every access: a few are enough there.
    for _ in 0..if cfg!(miri) { 2 } else { 200 } {
        let mut bytes = header();
        put(&mut bytes, offset_of!(Header, processes), 64);
        for at in (64 * UNIT..bytes.len()).step_by(4) {
            // Mostly plausible unit numbers, sometimes arbitrary ones.
            let plausible = 64 + random.below(192) as u32;
            let value = if random.below(4) == 0 { random.next() as u32 } else { plausible };
            put(&mut bytes, at, value);
        }
        assert!(!read(&bytes).unwrap().processes.is_empty());
    }
}
