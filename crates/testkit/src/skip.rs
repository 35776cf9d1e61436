//! Skips: a test that cannot run here reports its name and the reason.
//!
//! # Contract
//! The line is printed, which cargo hides because the test passes, and appended to `target/skips`, which `cargo xtask
//! skips` and `cargo xtask ci` list. So is that of a test at less than its full depth.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Reports that a test was skipped. The reason follows the test's name, with arguments as for `format!`.
#[macro_export]
macro_rules! skip {
    ($test:expr, $($reason:tt)+) => {
        $crate::skip(&$test, &format!($($reason)+))
    };
}

/// The function behind [`skip!`](crate::skip!).
pub fn skip(test: &dyn Display, reason: &dyn Display) {
    report(&line(test, reason));
}

/// Prints and lists the line of a test that is skipped or shortened.
pub(crate) fn report(line: &str) {
    println!("{line}");
    note(&crate::root().join("target"), line);
}

/// One line, even if the reason has several.
fn line(test: &dyn Display, reason: &dyn Display) -> String {
    format!("SKIPPED {test}: {reason}").replace(['\n', '\r'], " ")
}

/// Appends the line in one write, because several processes may append. If the folder cannot be written, the list is
/// incomplete, but the test passes.
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
