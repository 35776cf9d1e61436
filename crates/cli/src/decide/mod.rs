//! How people are told of a trial and its verdict: progress, and where its forms go.

pub(crate) mod output;
#[cfg(test)]
mod truth;

/// Writes on standard error. That nobody reads it does not stop the measurement.
pub(crate) fn tell(text: &str) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(text.as_bytes());
}
