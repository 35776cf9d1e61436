//! Circles: in these crates, files stand on files below them alone.

use super::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Crates without folders of modules, so that `super::` is the crate too.
const CRATES: [&str; 5] =
    ["crates/events", "crates/observe", "crates/trace", "crates/fence", "crates/figures"];

/// The files of each crate that stand on themselves through others.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let of_crate = |name: &str| {
        let files = sources.iter().filter(|file| file.ships() && file.crate_folder() == name);
        let mut below: BTreeMap<&str, Vec<String>> =
            files.filter_map(|file| Some((module(file)?, uses(file)))).collect();
        // What stands on nothing that is left, or carries nothing of it, is in no circle.
        loop {
            let left: Vec<&str> = below.keys().copied().collect();
            below.retain(|_, uses| uses.iter().any(|used| left.contains(&used.as_str())));
            let used: BTreeSet<String> = below.values().flatten().cloned().collect();
            below.retain(|file, _| used.contains(*file));
            if below.len() == left.len() {
                return below.into_keys().map(|file| format!("{name}/src/{file}.rs")).collect();
            }
        }
    };
    let circles =
        CRATES.into_iter().map(of_crate).filter(|circle: &Vec<String>| !circle.is_empty());
    circles.map(|circle| format!("{}: a circle of files", circle.join(", "))).collect()
}

/// The module of a file; none for the crate's root, which names all others.
fn module(file: &Source) -> Option<&str> {
    let name = file.path.rsplit('/').next()?.strip_suffix(".rs")?;
    (!["lib", "main"].contains(&name)).then_some(name)
}

/// The modules of its crate that a file names, outside its tests: `crate::a`, and each of `crate::{a, b::{c, d}}`.
fn uses(file: &Source) -> Vec<String> {
    let ships = |(line, code): (usize, &String)| file.line_ships(line + 1).then(|| code.clone());
    let code: String = file.code.iter().enumerate().filter_map(ships).collect();
    let code = code.replace("super::", "crate::");
    let mut found = Vec::new();
    for path in code.split("crate::").skip(1) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let Some(list) = path.strip_prefix('{') else {
            found.push(path.split(|c| !is_name(c)).next().unwrap_or_default().to_owned());
            continue;
        };
        let mut depth = 1;
        for item in list.split_inclusive(['{', '}', ',']) {
            let name = item.trim_start().split(|c| !is_name(c)).next().unwrap_or_default();
            if depth == 1 && !name.is_empty() {
                found.push(name.to_owned());
            }
            match item.chars().last() {
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(a: &str, b: &str) -> Vec<String> {
        let file =
            |name: &str, text: &str| Source::new(format!("crates/events/src/{name}.rs"), text);
        check(&[
            file("lib", "mod a;\nmod b;\n"),
            file("a", a),
            file("b", b),
            file("c", "use crate::a;\n"),
        ])
    }

    #[test]
    fn two_files_that_name_each_other_are_a_circle() {
        for (a, b) in [
            ("use crate::b;\n", "use crate::a::x;\n"),
            ("use crate::{\n    b::{c, d},\n};\n", "fn f() { crate::a::x() }\n"),
            ("use crate::{d, b};\n", "use crate::{d::e, a};\n"),
            ("use super::b;\n", "use crate::a;\n"),
        ] {
            let found = complaints(a, b);
            assert_eq!(found.len(), 1, "{a}{b}");
            assert!(
                found[0].starts_with("crates/events/src/a.rs, crates/events/src/b.rs"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn comments_tests_and_names_within_a_module_are_no_edges() {
        for b in [
            "//! [`crate::a`]\n",
            "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
            "use crate::{d::{a}, e::a, f};\n",
            "",
        ] {
            assert_eq!(complaints("use crate::b;\n", b), Vec::<String>::new(), "{b}");
        }
    }
}
