//! The reader of litmus files: no text makes it panic, and what it accepts is a sound program that can be explored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_model::litmus::{Memory, parse};
use uncontended_model::outcome::Limits;

fuzz_target!(|text: &str| {
    if let Ok(test) = parse(text) {
        assert_eq!(test.program.check(), Ok(()));
        let limits = Limits { loops: 2, states: 2_000, executions: 200 };
        let _ = test.answer(Memory::Tso, limits);
    }
});
