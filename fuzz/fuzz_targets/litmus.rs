//! The parser of litmus files: no text makes it panic, and what it accepts is a well-formed program that can be
//! explored and drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_model::diagram::Diagram;
use uncontended_model::litmus::{Memory, parse};
use uncontended_model::outcome::Limits;
use uncontended_model::search::Verdict;

fuzz_target!(|text: &str| {
    if let Ok(test) = parse(text) {
        assert_eq!(test.program.check(), Ok(()));
        let limits = Limits { loops: 2, states: 500, executions: 100 };
        for memory in [Memory::Tso, Memory::TsoWithin(1)] {
            let _ = test.answer(memory, limits);
            if let Verdict::Allowed(trace) = test.witness(memory, limits) {
                let drawn =
                    Diagram::of_trace(&test.name, &test.program, &trace, test.line(&trace.outcome));
                assert!(drawn.svg().len() > drawn.rows.len());
                assert!(drawn.text().lines().count() >= drawn.rows.len());
            }
        }
    }
});
