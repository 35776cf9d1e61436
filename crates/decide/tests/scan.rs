//! Commands with parameters.

use uncontended_decide::scan::*;

#[test]
fn parameters_expand_in_order() {
    let commands = ["base".to_string(), "p {n} {k}".to_string()];
    let parameters =
        [Parameter::list("n", "1,2").unwrap(), Parameter::scan("k", "0.5", "1.5", "0.5").unwrap()];
    assert_eq!(
        expand(&commands, &parameters).unwrap(),
        ["base", "p 1 0.5", "p 1 1.0", "p 1 1.5", "p 2 0.5", "p 2 1.0", "p 2 1.5"]
    );
}

#[test]
fn scans_without_end_are_refused() {
    for (first, last, step) in [
        ("1", "0", "1"),
        ("0", "1", "0"),
        ("0", "1", "-1"),
        ("0", "1e9", "1"),
        ("x", "1", "1"),
        ("nan", "1", "1"),
    ] {
        assert!(Parameter::scan("n", first, last, step).is_err(), "{first} {last} {step}");
    }
    assert!(expand(&["a".to_string()], &[Parameter::list("n", "1").unwrap()]).is_err());
}
