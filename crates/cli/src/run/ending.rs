//! The exit status that stands for how a program ended.

/// 128 + N for a program that signal N ended; 125 if it is not known how it ended.
pub(crate) fn status(code: Option<i32>, signal: Option<i32>) -> u8 {
    let status = code.or(signal.map(|signal| 128 + signal)).unwrap_or(125);
    (status & 0xff) as u8
}
