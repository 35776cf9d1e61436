//! Doors: what only some files may touch.

use super::{complaint, source::Source};

/// A word, the files that may use it (by the start of their path), and what the others do instead.
struct Door {
    word: &'static str,
    files: &'static [&'static str],
    instead: &'static str,
}

const DOORS: [Door; 3] = [
    Door {
        word: "clap",
        files: &["crates/cli/src/commands/"],
        instead: "the command line's flags end in crates/cli/src/commands: take plain data",
    },
    Door {
        word: "temp_dir",
        files: &[
            "crates/testkit/",
            "crates/decide/src/runner.rs",
            "crates/cli/benches/",
            "crates/uncontended/examples/",
        ],
        instead: "a test's folder is testkit's Folder",
    },
    Door {
        word: "UNC_DEPTH",
        files: &["crates/testkit/", "xtask/"],
        instead: "the depth of a test is testkit's: is_full, repetitions",
    },
];

/// Where a number's digits are chosen: the layer of figures, floor 0, which cannot use it, and coordinates.
const FIGURES: [&str; 4] =
    ["crates/figures/", "crates/model/", "crates/report/src/svg/mod.rs", "xtask/"];

/// The words of code, strings included, that belong to other files.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let mut complaints = digits(source);
    for door in DOORS {
        if door.files.iter().any(|start| source.path.starts_with(start)) {
            continue;
        }
        for (at, (line, code)) in source.text.lines().zip(&source.code).enumerate() {
            // A variable of the environment is named in a string, which `code` leaves out.
            let is_read = line.contains(&format!("var(\"{}\")", door.word))
                || line.contains(&format!("var_os(\"{}\")", door.word));
            let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            if is_read || words.any(|word| word == door.word) {
                complaints.push(complaint(source, at + 1, door.instead));
            }
        }
    }
    complaints
}

/// Formats that choose digits (`{x:.1}`), in code that ships.
fn digits(source: &Source) -> Vec<String> {
    if !source.ships() || FIGURES.iter().any(|start| source.path.starts_with(start)) {
        return Vec::new();
    }
    let lines = source.text.lines().zip(&source.comments).enumerate();
    let code = lines.filter(|(at, (_, comment))| comment.is_empty() && source.line_ships(at + 1));
    let chosen = code.filter(|(_, (line, _))| chooses_digits(line));
    chosen
        .map(|(at, _)| complaint(source, at + 1, "figures prints numbers: it chooses the digits"))
        .collect()
}

/// Whether a line has a format with a precision.
fn chooses_digits(line: &str) -> bool {
    let formats =
        line.split('{').skip(1).filter_map(|rest| rest.split_once('}')?.0.split_once(':'));
    formats.into_iter().any(|(name, format)| {
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name
            && format.split_once('.').is_some_and(|(_, digits)| {
                digits.starts_with(|c: char| c.is_ascii_digit() || c == '*')
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_its_files() {
        let found = |path: &str, text: &str| check(&Source::new(path, text)).len();
        for (text, own) in [
            ("use clap::Args;\n", "crates/cli/src/commands/x.rs"),
            ("fn f() { std::env::temp_dir(); }\n", "crates/testkit/src/folder.rs"),
            ("fn f() { std::env::var(\"UNC_DEPTH\"); }\n", "crates/testkit/src/depth.rs"),
        ] {
            assert_eq!(
                (found("crates/cli/src/run/x.rs", text), found(own, text)),
                (1, 0),
                "{text}"
            );
        }
        assert_eq!(found("crates/x/tests/a.rs", "skip!(\"a\", \"UNC_DEPTH=full\");\n"), 0);
        let print = "fn f() { println!(\"{x:>8.1} {}\", y[..2]); }\n";
        assert_eq!(found("crates/report/src/a.rs", print), 1);
        assert_eq!(found("crates/report/src/a.rs", "fn f() { println!(\"{x:>8} {y:?}\"); }\n"), 0);
        assert_eq!(
            found("crates/figures/src/a.rs", print) + found("crates/x/tests/a.rs", print),
            0
        );
    }
}
