//! A module's notes are a build id of what they hold, or none, whatever their lengths. A header is put before the
//! bytes, so that the notes are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_events::notes::build_id;

const BASE: usize = 0x10_0000;

fuzz_target!(|bytes: &[u8]| {
    let mut image = b"\x7fELF\x02".to_vec();
    image.extend_from_slice(bytes);
    find(&image);
    // Its program headers are next, as many as there may be.
    image.splice(5.., [0; 59]);
    image[32] = 64;
    image[54] = 56;
    image[56] = 64;
    image.extend_from_slice(bytes);
    find(&image);
});

fn find(image: &[u8]) {
    let word = |at: usize| {
        let word = image.get(at.checked_sub(BASE)?..)?.first_chunk()?;
        Some(usize::from_le_bytes(*word))
    };
    if let Some(id) = build_id(BASE, BASE, word) {
        assert!(image.windows(id.bytes().len()).any(|part| part == id.bytes()));
    }
}
