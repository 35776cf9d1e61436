//! Any bytes are a kept trace or a reported error; facts of a trace, names of functions included, read back as they
//! were; and a module's notes are a build id of what they hold, or none, whatever their lengths.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_events::notes::build_id;
use uncontended_report::facts::Facts;
use uncontended_report::tracefile::{decode, ending};

const BASE: usize = 0x10_0000;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
    if let Ok(facts) = serde_json::from_slice::<Facts>(bytes) {
        let trace = [&b"record"[..], &ending(b"record", &facts).unwrap()].concat();
        let (record, read) = decode(&trace).unwrap();
        assert_eq!((record, read), (&b"record"[..], facts));
        assert!(decode(&trace[..trace.len() - 1]).is_err());
    }
    let mut image = b"\x7fELF\x02".to_vec();
    image.extend_from_slice(bytes);
    let word = |at: usize| {
        let word = image.get(at.checked_sub(BASE)?..)?.first_chunk()?;
        Some(usize::from_le_bytes(*word))
    };
    if let Some(id) = build_id(BASE, BASE, word) {
        assert!(image.windows(id.bytes().len()).any(|part| part == id.bytes()));
    }
});
