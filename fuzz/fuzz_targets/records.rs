//! A byte ring whose memory any process may overwrite is read and written safely: no panic, no hang, no access outside
//! the memory, and no record longer than the memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ptr::NonNull;
use uncontended_ring::records::shared::{attach, create};

const BYTES: usize = 2048;

#[repr(C, align(128))]
struct Memory([u8; BYTES]);

fuzz_target!(|bytes: &[u8]| {
    let mut memory = Box::new(Memory([0; BYTES]));
    let base = NonNull::from(&mut memory.0).cast::<u8>();
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    // SAFETY: the memory lives to the end of this run (I1 of `records::shared`).
    let made = unsafe { create(base, BYTES, usize::from(choice), ()) };
    // The input overwrites it: from the header, the positions, or the records on.
    let from = [0, 128, 768][usize::from(choice % 3)];
    let count = bytes.len().min(BYTES - from);
    // SAFETY: within the memory; sides reach it by atomics and raw copies of any bytes.
    unsafe { bytes.as_ptr().copy_to_nonoverlapping(base.as_ptr().add(from), count) };
    // SAFETY: as for `create`.
    let found = unsafe { attach(base, BYTES, ()) };
    for ring in made.iter().chain(&found) {
        let longest = ring.longest();
        let Ok(mut producer) = ring.producer() else { continue };
        let _ = (producer.push(&[1; 5]), producer.push(&vec![2; longest]));
        if let Ok(mut consumer) = ring.take_over_consumer() {
            for round in 0..64 {
                match consumer.read() {
                    Ok(record) => {
                        assert!(record.len() < BYTES);
                        assert!(record.iter().map(|&byte| u64::from(byte)).sum::<u64>() < 1 << 32);
                        record.release();
                    }
                    // SAFETY: no other side uses the ring, and no chunk is held.
                    Err(_) if round % 2 == 0 => drop(unsafe { consumer.unblock() }),
                    Err(_) => {}
                }
                if let Ok(mut chunk) = producer.claim(round % (longest + 1)) {
                    chunk.fill(3);
                    if round % 3 > 0 { chunk.commit() } else { drop(chunk) }
                }
            }
        }
        ring.close();
    }
});
