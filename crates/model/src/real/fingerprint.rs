//! Fingerprints of programs and runs: 64-bit FNV-1a, a word at a time.

use super::clock::Clock;
use super::graph::{EventId, Graph};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::sync::OnceLock;

/// A hash that is the same in every process, regardless of addresses.
#[derive(Clone, Copy, Debug)]
struct Fingerprint(u64);

/// Values from here on may be addresses, which differ between processes: all count as one.
pub(super) const ADDRESSES: u64 = 1 << 32;

/// The read size for the executable.
const PIECE_BYTES: usize = 1 << 16;

impl Fingerprint {
    const NEW: Fingerprint = Fingerprint(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, word: u64) {
        // The rotation moves the high bits of a word to the low ones of the hash, as hashing by byte would.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x100_0000_01b3);
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_ne_bytes(word));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value.min(ADDRESSES));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The steps of a run by thread: operation, location, place in the code, and value found.
pub(super) fn of_steps(graph: &Graph) -> u64 {
    let mut all = Fingerprint::NEW;
    for (id, event) in graph.iter() {
        (id.thread, id.index, event.op, event.value).hash(&mut all);
        (event.from.thread, event.from.index).hash(&mut all);
        graph.locations.get(event.location as usize).map(|it| it.name).hash(&mut all);
        (event.site.file(), event.site.line(), event.site.column()).hash(&mut all);
    }
    all.finish()
}

/// What a thread has found in its first `events` events, and what happened before them in other threads: what it does
/// next depends on nothing else. A value that may be an address counts as the write that it was read from.
pub(super) fn of_path(graph: &Graph, thread: usize, events: usize) -> u64 {
    let mut all = Fingerprint::NEW;
    let mut known = match events {
        0 => Clock::default(),
        _ => graph.clocks(EventId::new(thread, events)).hb,
    };
    known.set(thread, events);
    for (other, found) in graph.threads.iter().enumerate() {
        all.add(other as u64);
        for event in &found[..known.get(other)] {
            all.write_u64(event.value);
            if event.value >= ADDRESSES {
                (event.from.thread, event.from.index).hash(&mut all);
            }
        }
    }
    all.finish()
}

/// The bytes of this process's executable, read once. Shared libraries are not included.
pub(super) fn of_executable() -> io::Result<u64> {
    static KNOWN: OnceLock<u64> = OnceLock::new();
    if let Some(&known) = KNOWN.get() {
        return Ok(known);
    }
    let (mut file, mut all, mut length) = (File::open("/proc/self/exe")?, Fingerprint::NEW, 0);
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    // Only the last piece may be shorter, so that words are aligned the same way each time.
    while file.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece)? > 0 {
        all.write(&piece);
        length += piece.len() as u64;
        piece.clear();
    }
    all.add(length);
    Ok(*KNOWN.get_or_init(|| all.finish()))
}
