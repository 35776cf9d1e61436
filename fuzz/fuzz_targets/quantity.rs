//! Any text is a finite quantity, a rate, a path, the words of a command line, a suite, or a reported error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_decide::{path, suite, value, words};
use uncontended_figures::{Quantity, given, given_percent, measured, read};

fuzz_target!(|text: &str| {
    if let Ok(quantity) = Quantity::parse(text) {
        assert!(quantity.value.is_finite());
        assert!(!measured(quantity.value, quantity.dimension).is_empty());
        // A finite quantity is printed with all of its digits.
        let printed = given(quantity.value, quantity.dimension).replace(',', "");
        assert_eq!(Quantity::parse(&printed).map(|again| again.value), Ok(quantity.value));
    }
    if let Ok(share) = read::share(text) {
        let printed = given_percent(share).replace(',', "");
        assert_eq!(read::share(&printed), Ok(share), "{printed}");
    }
    if read::duration(text).is_ok() {
        assert!(Quantity::parse(text).is_ok());
    }
    if let Ok(rate) = value::rate(text) {
        assert!(rate > 0.0 && rate < 1.0);
    }
    let _ = (value::duration(text), value::percentile(text), value::margin(text));
    if let Ok(split) = words::split(text) {
        assert_eq!(words::split(&words::join(&split)), Ok(split));
    }
    let _ = words::needs_shell(text);
    let _ = suite::Suite::parse(text, None);
    // A path, then a document after the first line break.
    if let Some((path, document)) = text.split_once('\n')
        && let (Ok(path), Ok(document)) = (path::Path::parse(path), serde_json::from_str(document))
    {
        let _ = path.number(&document);
    }
});
