//! The Rust sources under the rules, each split into code and comments, line by line.

use super::unit_tests;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

/// One Rust file.
pub(crate) struct Source {
    /// Path relative to the workspace's root.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// Its lines without comments and without what strings hold.
    pub(crate) code: Vec<String>,
    /// The comment on each line; empty where there is none.
    pub(crate) comments: Vec<String>,
    /// Its syntax, or why it has none.
    pub(crate) syntax: Result<syn::File, String>,
    /// The lines (from 1) of each item under `#[cfg(test)]`.
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// A source of the given text.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let (code, comments) = split(&text);
        let syntax = syn::parse_file(&text).map_err(|error| error.to_string());
        let tests = syntax.as_ref().map(unit_tests::of).unwrap_or_default();
        Source { path: path.into(), text, code, comments, syntax, tests }
    }

    /// The folder of the crate that the file belongs to: `crates/model`, `xtask`.
    pub(crate) fn crate_folder(&self) -> &str {
        let depth = if self.path.starts_with("crates/") { 2 } else { 1 };
        let end = self.path.match_indices('/').nth(depth - 1).map_or(self.path.len(), |(at, _)| at);
        &self.path[..end]
    }

    /// Whether the rules apply: everything but what fuzzes or compares.
    pub(crate) fn is_ours(&self) -> bool {
        !self.path.starts_with("fuzz/") && !self.path.starts_with("compare/")
    }

    /// Whether this is code that ships: not a test, benchmark or example.
    pub(crate) fn ships(&self) -> bool {
        self.path.starts_with("crates/")
            && self.path.contains("/src/")
            && !self.path.ends_with("tests.rs")
            && !self.path.starts_with("crates/testkit/")
    }

    /// Whether a line (from 1) ships: that of a file which does, outside its unit tests.
    pub(crate) fn line_ships(&self, line: usize) -> bool {
        self.ships() && !self.tests.iter().any(|lines| lines.contains(&line))
    }

    /// The lines of the module's header, without their `//!`.
    pub(crate) fn header(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| line.trim_start().strip_prefix("//!"))
    }

    /// The lines of one section of the header.
    pub(crate) fn section(&self, title: &str) -> impl Iterator<Item = &str> {
        let is_title = move |line: &&str| line.trim().strip_prefix("# ") == Some(title);
        let body = self.header().skip_while(move |line| !is_title(line)).skip(1);
        body.take_while(|line| !line.trim_start().starts_with("# "))
    }

    /// Whether one of the `reach` lines up to and including `line` (from 1) carries a comment that satisfies `test`.
    pub(crate) fn comment_near(
        &self,
        line: usize,
        reach: usize,
        test: impl Fn(&str) -> bool,
    ) -> bool {
        self.comments[line.saturating_sub(reach + 1)..line].iter().any(|comment| test(comment))
    }
}

/// All Rust files that git tracks or would track.
pub(crate) fn tracked(root: &Path) -> Result<Vec<Source>, String> {
    with_ending(root, "rs")
}

/// All Markdown pages that git tracks or would track.
pub(crate) fn pages(root: &Path) -> Result<Vec<Source>, String> {
    with_ending(root, "md")
}

fn with_ending(root: &Path, ending: &str) -> Result<Vec<Source>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--"])
        .arg(format!("*.{ending}"))
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git to list the sources: {error}"))?;
    let mut paths: Vec<String> = if output.status.success() {
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    } else {
        walk(root, Path::new(""), ending)?
    };
    paths.sort();
    paths.dedup();
    paths
        .into_iter()
        // A link is a file somewhere else.
        .filter(|path| root.join(path).exists() && !root.join(path).is_symlink())
        .map(|path| {
            let text =
                std::fs::read_to_string(root.join(&path)).map_err(|e| format!("{path}: {e}"))?;
            Ok(Source::new(path, text))
        })
        .collect()
}

/// The files below a folder with an ending, for a source tree that came without git.
fn walk(root: &Path, folder: &Path, ending: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(root.join(folder)).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| e.to_string())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        if entry.path().is_symlink() {
            continue; // To files that are walked where they lie.
        }
        if entry.path().is_dir() {
            if name != "target" && !name.starts_with('.') {
                found.extend(walk(root, &path, ending)?);
            }
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

/// Where the scanner stands between two characters.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Code,
    Line,
    Block(u32),
    Text { hashes: usize, raw: bool },
}

/// Splits a file into code and comments, line by line. Contents of strings are dropped from the code.
fn split(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut code, mut comments) = (vec![String::new()], vec![String::new()]);
    let chars: Vec<char> = text.chars().collect();
    let (mut at, mut i) = (At::Code, 0);
    while i < chars.len() {
        if chars[i] == '\n' {
            at = if at == At::Line { At::Code } else { at };
            code.push(String::new());
            comments.push(String::new());
            i += 1;
            continue;
        }
        let (next, used) = step(at, &chars[i..]);
        let into = match (at, next) {
            (At::Code, At::Code | At::Text { .. }) => Some(&mut code),
            (At::Line, _) | (At::Block(_), At::Block(_)) => Some(&mut comments),
            _ => None, // What opens or closes a comment, and what a string holds.
        };
        if let Some(lines) = into {
            lines.last_mut().expect("never empty").extend(&chars[i..i + used]);
        }
        (at, i) = (next, i + used);
    }
    (code, comments)
}

/// Consumes at least one character that is not a line's end.
fn step(at: At, rest: &[char]) -> (At, usize) {
    let starts = |what: &str| what.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c));
    match at {
        At::Line => (At::Line, 1),
        At::Block(depth) if starts("*/") => {
            (if depth == 1 { At::Code } else { At::Block(depth - 1) }, 2)
        }
        At::Block(depth) if starts("/*") => (At::Block(depth + 1), 2),
        At::Block(_) => (at, 1),
        At::Text { raw: false, .. } if starts("\\") && rest.get(1) != Some(&'\n') => {
            (at, 2.min(rest.len()))
        }
        At::Text { hashes, .. } if starts(&format!("\"{}", "#".repeat(hashes))) => {
            (At::Code, 1 + hashes)
        }
        At::Text { .. } => (at, 1),
        At::Code => step_code(rest, starts),
    }
}

fn step_code(rest: &[char], starts: impl Fn(&str) -> bool) -> (At, usize) {
    if starts("//") {
        return (At::Line, 2);
    }
    if starts("/*") {
        return (At::Block(1), 2);
    }
    if starts("\"") {
        return (At::Text { hashes: 0, raw: false }, 1);
    }
    if starts("r\"") || starts("r#") {
        let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
        if rest.get(1 + hashes) == Some(&'"') {
            return (At::Text { hashes, raw: true }, 2 + hashes);
        }
    }
    if starts("'\\") {
        // An escaped character: skip to its closing quote.
        let end = rest.iter().skip(3).position(|&c| c == '\'').map_or(2, |at| at + 4);
        return (At::Code, end.min(rest.len()));
    }
    if starts("'") && rest.get(2) == Some(&'\'') {
        return (At::Code, 3);
    }
    // An identifier is taken whole, so that the `r` of `for"` never opens a raw string.
    let word = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
    (At::Code, word.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_leave_the_code() {
        let text = "let a = \"// no\"; // yes\n/* b /* c */ d */ let r = r#\"x\"y\"#; let q = '\"'; // end\n'\\'' 'static";
        let source = Source::new("crates/x/src/lib.rs", text);
        assert_eq!(source.code[0].trim(), "let a = \";");
        assert!(source.comments[0].contains("yes") && !source.comments[0].contains("no"));
        assert_eq!(source.comments[1].trim_end(), " b /* c */ d  end");
        assert!(source.code[1].contains("let q = '\"';"), "{}", source.code[1]);
        assert_eq!(source.code[2], "'\\'' 'static");
    }

    #[test]
    fn a_file_knows_its_crate() {
        assert_eq!(Source::new("crates/model/src/a/b.rs", "").crate_folder(), "crates/model");
        assert_eq!(Source::new("xtask/src/main.rs", "").crate_folder(), "xtask");
    }
}
