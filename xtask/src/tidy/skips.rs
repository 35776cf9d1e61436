//! Skips: a test that is skipped says so through testkit, which lists it.

use super::{complaint, source::Source};

/// Lines of tests and benchmarks that print a skip themselves.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let is_theirs = source.path.starts_with("crates/testkit/") || source.path.starts_with("xtask/");
    let lines = source.text.lines().zip(&source.code).enumerate();
    lines
        .filter(|(at, (line, _))| {
            !is_theirs
                && !source.line_ships(at + 1)
                && line.contains("\"SKIPPED ")
                && !line.contains("contains(\"SKIPPED ")
        })
        .map(|(at, _)| complaint(source, at + 1, "a skip that is not listed: use testkit's skip!"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_printed_by_testkit_alone() {
        let found = |path: &str, text: &str| check(&Source::new(path, text)).len();
        let own = "fn f() {\n println!(\"SKIPPED a: b\");\n}\n";
        assert_eq!(found("crates/x/tests/a.rs", own), 1);
        assert_eq!(found("crates/x/src/a.rs", own), 0);
        assert_eq!(
            found("crates/x/src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{own}}}\n")),
            1
        );
        assert_eq!(found("crates/x/tests/a.rs", "fn f() {\n skip!(\"a\", \"b\");\n}\n"), 0);
    }
}
