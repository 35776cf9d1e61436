//! Delivers the results of a trial to the user.

pub(crate) mod output;

/// Writes to standard error. A closed standard error does not stop the measurement.
pub(crate) fn tell(text: &str) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(text.as_bytes());
}
