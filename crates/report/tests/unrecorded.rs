//! Why programs did not record.

mod written;

use uncontended_report::facts::{Facts, Unrecorded};
use written::{Writer, facts, read};

/// The reason that is known of the program is not said of the programs that it starts.
#[test]
fn the_programs_own_reason_is_its_own() {
    let sampled = |pid, elsewhere| Unrecorded {
        pid,
        command: vec!["sh".to_owned()],
        loaded: false,
        elsewhere,
    };
    let unrecorded = vec![sampled(1, true), sampled(2, false), sampled(3, true)];
    let unobserved = Some("it is a script".to_owned());
    let with = Facts { pid: Some(1), unobserved, unrecorded, ..facts() };
    let reasons = read(&Writer::new(), with).coverage.not_recording;
    let reasons: Vec<&str> = reasons.iter().map(|one| one.reason.as_str()).collect();
    let [own, plain, elsewhere] = reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(own, "it is a script");
    assert!(plain.starts_with("the observer was not loaded"), "{plain}");
    assert!(elsewhere.starts_with("its root directory is another one"), "{elsewhere}");
}

/// In no process was the observer; the reason is that of the program.
#[test]
fn nothing_is_seen_for_the_programs_reason() {
    let sampled =
        Unrecorded { pid: 1, command: vec!["sh".to_owned()], loaded: false, elsewhere: true };
    let with = Facts { pid: Some(1), unrecorded: vec![sampled], ..facts() };
    let nothing = read(&Writer::new(), with).coverage.nothing_seen.unwrap();
    assert!(nothing.contains("its root directory is another one"), "{nothing}");
}
