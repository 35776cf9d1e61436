//! Skips: a test that cannot do its work here says so, by name and reason.
//!
//! # Contract
//! The line is printed, which cargo hides because the test passes, and appended to `target/skips`, which `cargo xtask
//! skips` and `cargo xtask ci` list.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Notes that the test of this name was skipped. Behind the name stands the reason, as for `format!`.
#[macro_export]
macro_rules! skip {
    ($test:expr, $($reason:tt)+) => {
        $crate::skip(&$test, &format!($($reason)+))
    };
}

/// What [`skip!`](crate::skip!) does.
pub fn skip(test: &dyn Display, reason: &dyn Display) {
    let line = line(test, reason);
    println!("{line}");
    note(&crate::root().join("target"), &line);
}

/// One line, whatever the reason holds.
fn line(test: &dyn Display, reason: &dyn Display) -> String {
    format!("SKIPPED {test}: {reason}").replace(['\n', '\r'], " ")
}

/// Appends the line in one write, as several processes may. A folder that cannot be written to loses the list, not the
/// test.
fn note(target: &Path, line: &str) {
    let _ = std::fs::create_dir(target);
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(target.join("skips")) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{line, note};

    #[test]
    fn each_skip_is_a_line_of_the_list() {
        let folder = crate::Folder::new();
        note(folder.path(), &line(&"one", &"no\nroot"));
        note(folder.path(), &line(&"two", &"no gzip"));
        let list = std::fs::read_to_string(folder.file("skips")).unwrap();
        assert_eq!(list, "SKIPPED one: no root\nSKIPPED two: no gzip\n");
        note(&folder.path().join("no such folder/target"), "harmless");
    }
}
