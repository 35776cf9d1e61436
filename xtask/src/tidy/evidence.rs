//! Evidence: what a module header names under `# Evidence` exists.

use super::{complaint, source::Source};
use std::path::{Path, PathBuf};

/// Paths that do not exist: from the root, the crate, the file's folder, or the folder named before.
pub(crate) fn check(root: &Path, source: &Source) -> Vec<String> {
    let own = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    let mut bases = vec![PathBuf::new(), source.crate_folder().into(), own.to_owned()];
    let mut findings = Vec::new();
    for line in source.section("Evidence") {
        for path in paths(line) {
            let found = bases.iter().map(|base| base.join(path)).find(|at| root.join(at).exists());
            match found {
                Some(at) if root.join(&at).is_dir() => bases.push(at),
                Some(at) => bases.extend(at.parent().map(Path::to_owned)),
                None => findings.push(missing(source, path)),
            }
        }
    }
    findings
}

fn missing(source: &Source, path: &str) -> String {
    let line = source.text.lines().position(|line| line.contains(path)).unwrap_or(0) + 1;
    complaint(source, line, format!("evidence that is not there: {path}"))
}

/// The words of a line that are paths.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let words = line.split(move |c| !is_part(c)).map(|word| word.trim_end_matches('.'));
    words.filter(|word| {
        let folders = ["tests/", "benches/", "crates/", "examples/", "docs/", "fuzz/", "compare/"];
        is_file(word) || folders.iter().any(|folder| word.starts_with(folder))
    })
}

/// Whether a word ends as files do: a stem, a dot, and up to five letters.
fn is_file(word: &str) -> bool {
    let Some((stem, suffix)) = word.rsplit_once('.') else { return false };
    let is_suffix =
        (1..=5).contains(&suffix.len()) && suffix.chars().all(|c| c.is_ascii_lowercase());
    stem.len() > 1 && is_suffix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_looked_for_from_the_root_the_crate_the_file_and_the_folder_before() {
        let check = |evidence: &str| {
            let text =
                format!("//! Rule.\n//! # Evidence\n//! {evidence}\n//! # Sources\n//! gone.rs\n");
            check(crate::root(), &Source::new("crates/observe/src/rule.rs", text)).len()
        };
        assert_eq!(check("`crates/cli/tests/ground_truth.rs`; compare/: rivals."), 0);
        assert_eq!(check("`src/lib.rs` and `lib.rs`."), 0);
        assert_eq!(check("`tests/programs`: `types.c`, `barger.c`."), 0);
        assert_eq!(check("`types.c`, tests/gone.rs: read/write."), 2);
        assert_eq!(check("`mutants/gone.toml`, e.g. 0.5 times as much, i.e. half."), 1);
    }
}
