//! Any bytes are a ring or a reported error. A ring whose other side writes arbitrary bytes is used safely: no panic,
//! no hang, no access outside its memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ptr::NonNull;
use uncontended_ring::spsc::shared::{attach, create};

const BYTES: usize = 4096;

#[repr(C, align(128))]
struct Memory([u8; BYTES]);

fuzz_target!(|bytes: &[u8]| {
    let mut memory = Box::new(Memory([0; BYTES]));
    let base = NonNull::from(&mut memory.0).cast::<u8>();
    let Some((&capacity, bytes)) = bytes.split_first() else { return };
    // A ring or not: the input overwrites it from the header's beginning, or from the positions on.
    // SAFETY: the memory lives to the end of this run (I1 of `spsc::shared`).
    let made = unsafe { create::<u64>(base, BYTES, usize::from(capacity), ()) };
    let from = if capacity % 2 == 0 { 0 } else { 128 };
    let count = bytes.len().min(BYTES - from);
    // SAFETY: within the memory; sides reach it by atomics and by slots of which any bytes are a value.
    unsafe { bytes.as_ptr().copy_to_nonoverlapping(base.as_ptr().add(from), count) };
    // SAFETY: as for `create`.
    let found = unsafe { attach::<u64>(base, BYTES, ()) };
    for ring in made.iter().chain(&found) {
        let (producer, consumer) = (ring.take_over_producer(), ring.take_over_consumer());
        if let Ok(mut producer) = producer {
            let _ = producer.push(1);
            assert!(producer.push_slice(&[2; 9]) <= ring.capacity());
            if let Ok(mut claim) = producer.claim(ring.capacity()) {
                let room: usize = [claim.as_uninit()].map(|(one, two)| one.len() + two.len())[0];
                assert_eq!(room, ring.capacity());
                while claim.push(3).is_ok() {}
                claim.publish();
            }
        }
        if let Ok(mut consumer) = consumer {
            let _ = (consumer.pop(), consumer.peek().copied());
            assert!(consumer.pop_slice(&mut [0; 300]) <= ring.capacity());
            if let Ok(batch) = consumer.read(usize::MAX) {
                assert!(batch.len() <= ring.capacity());
                assert_eq!(batch.iter().count(), batch.len());
                batch.release();
            }
        }
    }
});
