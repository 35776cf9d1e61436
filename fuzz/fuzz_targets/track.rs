//! Any bytes are kept verdicts, or lines that are left out; what they form can be shown. Lines of our own are put before
//! them, so that there is a series.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_report::terminal::{Options, one_series, track};
use uncontended_report::track::{Lines, page, tracked};
use uncontended_stats::MaxError;

const OURS: &str = r#"{"schema":"uncontended.kept-verdict/1","of":{"name":"a","figure":"median","metric":"wall","unit":"ns","higher_is_better":false},"value":5.0,"runs":9,"verdict":"yes","kept_unix_s":1,"log":"1"}
"#;

fn show(bytes: &[u8]) {
    let all = tracked(Lines::read(bytes), MaxError::new(0.5).expect("a bound"));
    let options = Options::default();
    let text = all.series.iter().map(|series| one_series(series, &all, &options));
    let text: String = text.chain([track(&all, &options), page(&all)]).collect();
    assert!(!text.contains('\u{202e}'));
}

fuzz_target!(|bytes: &[u8]| {
    show(bytes);
    show(&[OURS.repeat(8).as_bytes(), bytes].concat());
});
