//! Histories as text: any bytes are read or refused, and an accepted history is written and read again unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_model::history::lines::{Container, Dictionary, Form, Recorded, read, write};
use uncontended_model::history::specs::{Map, Register, Set};

fn written<F: Form>(form: &F, recorded: &Recorded<F>) -> Vec<u8> {
    let mut text = Vec::new();
    write(form, recorded, &mut text).expect("memory takes all");
    text
}

fn returns<F: Form>(form: &F, bytes: &[u8]) {
    let read = |text: &[u8]| read(form, text, Dictionary::default(), 1 << 30, &mut |_| true);
    let Ok(recorded) = read(bytes) else { return };
    let text = written(form, &recorded);
    let again = read(&text).expect("what was written is a history");
    assert_eq!(again.operations.len(), recorded.operations.len());
    assert_eq!(written(form, &again), text);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 6 {
        0 => returns(&Container::queue(None), bytes),
        1 => returns(&Container::stack(None), bytes),
        2 => returns(&Container::queue(Some(2)), bytes),
        3 => returns(&Set, bytes),
        4 => returns(&Register::default(), bytes),
        _ => returns(&Map, bytes),
    }
});
