//! Any bytes are a record or a reported error: no panic, no endless list. A header is put before them, so that the
//! lists are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_trace::layout::{self, HEADER_UNITS, UNIT};
use uncontended_trace::reader;

fuzz_target!(|bytes: &[u8]| {
    let _ = reader::read(bytes);
    let mut record = vec![0; HEADER_UNITS as usize * UNIT];
    record[..8].copy_from_slice(&layout::MAGIC.to_le_bytes());
    record[8..12].copy_from_slice(&layout::VERSION.to_le_bytes());
    let processes = std::mem::offset_of!(layout::Header, processes);
    record[processes..processes + 4].copy_from_slice(&HEADER_UNITS.to_le_bytes());
    record.extend_from_slice(bytes);
    let read = reader::read(&record).expect("a header of this version");
    let is_empty = read.processes.is_empty() && read.announced.is_empty();
    assert_eq!(is_empty, bytes.is_empty());
    for thread in read.processes.iter().flat_map(|process| &process.threads) {
        for &cell in &thread.cells {
            let _ = read.cell(cell);
        }
    }
});
