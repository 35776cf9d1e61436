//! Any memory is a daemon's page or a reported error; what is read of a page can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_atomic::AtomicU64;
use uncontended_fence::stamps::NoStamps;
use uncontended_fence::stamps::layout::{Facts, MAGIC, VERSION, page_words};

fuzz_target!(|bytes: &[u8]| {
    let mut words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
    // Mostly what only a look at the rest can refuse.
    if words.first().is_some_and(|word| word % 4 != 0) {
        words[0] = MAGIC;
        words.get_mut(1).into_iter().for_each(|word| *word = if *word % 4 != 0 { VERSION } else { *word });
        words.get_mut(3).into_iter().for_each(|word| *word = if *word % 4 != 0 { *word % 16 } else { *word });
    }
    let page: Vec<AtomicU64> = words.into_iter().map(AtomicU64::new).collect();
    match Facts::read(&page) {
        Ok(facts) => {
            let cpus = facts.followed.len();
            assert!(page.len() >= page_words(cpus) && facts.followed.contains(&true));
            let again: Vec<AtomicU64> = (0..page_words(cpus)).map(|_| AtomicU64::new(0)).collect();
            facts.write(&again);
            assert_eq!(Facts::read(&again), Ok(facts));
        }
        Err(error) => {
            assert!(matches!(error, NoStamps::Version(_) | NoStamps::Malformed(_)), "{error}");
        }
    }
});
