//! Any text is a finite quantity, a rate, a path, words of a command line, or a told error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_decide::{path, value, words};

fuzz_target!(|text: &str| {
    if let Ok(read) = value::Quantity::parse(text) {
        assert!(read.value.is_finite());
        assert!(!value::show(read.value, read.dimension).is_empty());
    }
    if let Ok(rate) = value::rate(text) {
        assert!(rate > 0.0 && rate < 1.0);
    }
    let _ = (value::duration(text), value::percentile(text), value::margin(text));
    if let Ok(split) = words::split(text) {
        assert_eq!(words::split(&words::join(&split)), Ok(split));
    }
    let _ = words::needs_shell(text);
    // A path, then a document after the first line break.
    if let Some((path, document)) = text.split_once('\n')
        && let (Ok(path), Ok(document)) = (path::Path::parse(path), serde_json::from_str(document))
    {
        let _ = path.number(&document);
    }
});
