//! Edges: every release/acquire pair has a name, listed in a module header and cited at both ends.

use super::{complaint, source::Source};
use std::collections::BTreeMap;

/// Where one edge of a crate is cited.
#[derive(Default)]
struct Ends<'s> {
    release: Vec<(&'s Source, usize)>,
    acquire: Vec<(&'s Source, usize)>,
    listed: bool,
    /// Which end is the kernel's or the caller's, which no line cites.
    kernel: (bool, bool),
}

/// A line of a header: `name: writer -> reader`.
struct Line<'s> {
    name: &'s str,
    /// Whether the kernel or the caller is the writer, and the reader.
    kernel: (bool, bool),
}

/// Complaints about edges with one end, or with none in a header. An edge lives within a crate.
///
/// A citation counts where the line below it (or its own) is an access, not a constant.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut edges: BTreeMap<(&str, &str), Ends<'_>> = BTreeMap::new();
    let mut complaints = Vec::new();
    let shipping = || sources.iter().filter(|source| source.is_ours() && source.ships());
    for source in shipping() {
        for (at, citation) in citations(source) {
            let Some((name, role)) = citation else {
                let form = "an EDGE is cited as `EDGE name (release)` or `(acquire)`";
                complaints.push(complaint(source, at + 1, form));
                continue;
            };
            if is_constant(source, at) {
                let text = format!("edge {name} is cited at a constant instead of its access");
                complaints.push(complaint(source, at + 1, text));
                continue;
            }
            let ends = edges.entry((source.crate_folder(), name)).or_default();
            if role != "acquire" {
                ends.release.push((source, at + 1));
            }
            if role != "release" {
                ends.acquire.push((source, at + 1));
            }
        }
    }
    for source in shipping() {
        for Line { name, kernel } in listed(source) {
            if let Some(ends) = edges.get_mut(&(source.crate_folder(), name)) {
                ends.listed = true;
                ends.kernel = kernel;
            }
        }
    }
    for ((_, name), ends) in edges {
        let first = ends.release.first().or(ends.acquire.first());
        let (source, line) = first.expect("an edge was cited");
        let no_release = ends.release.is_empty() && !ends.kernel.0;
        let no_acquire = ends.acquire.is_empty() && !ends.kernel.1;
        let missing = match (no_release, no_acquire, ends.listed) {
            (true, _, _) => "no release end",
            (_, true, _) => "no acquire end",
            (_, _, false) => "no line in a module header (`name: writer -> reader`)",
            _ => continue,
        };
        complaints.push(complaint(source, *line, format!("edge {name} has {missing}")));
    }
    complaints
}

/// The index of each line that cites an edge, with the edge's name and role; none if they can't be read.
pub(crate) fn citations(source: &Source) -> impl Iterator<Item = (usize, Option<(&str, &str)>)> {
    let comments = source.comments.iter().enumerate();
    comments.filter_map(|(at, comment)| Some((at, cited(comment.split_once("EDGE ")?.1))))
}

/// Whether the code at a citation is a constant, instead of an access.
fn is_constant(source: &Source, at: usize) -> bool {
    let code = source.code[at..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
    let mut words = code.unwrap_or("").split(|c: char| !c.is_alphanumeric() && c != '_').take(3);
    words.any(|word| ["const", "static"].contains(&word))
}

/// The name and role of `name (role)…`.
fn cited(citation: &str) -> Option<(&str, &str)> {
    let (name, rest) = citation.split_once(" (")?;
    let (role, _) = rest.split_once(')')?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    (is_name && ["release", "acquire", "acq-rel"].contains(&role)).then_some((name, role))
}

/// The edges that the header of a file lists: lines `name: writer -> reader` under `# Edges`.
fn listed(source: &Source) -> impl Iterator<Item = Line<'_>> {
    source.section("Edges").filter_map(|line| {
        let (name, ends) = line.split_once(':')?;
        let (writer, reader) = ends.split_once("->")?;
        let is_kernel = |end: &str| {
            let end = end.trim_start();
            end.starts_with("the kernel") || end.starts_with("the caller")
        };
        let name = name.trim_matches([' ', '-', '`', '*']);
        Some(Line { name, kernel: (is_kernel(writer), is_kernel(reader)) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        check(&[Source::new("crates/x/src/a.rs", text)])
    }

    #[test]
    fn an_edge_needs_both_ends_and_a_line_in_the_header() {
        let header =
            "//! Ring.\n//! # Edges\n//! publish: `push` -> `pop`. The value.\n//! # Evidence\n";
        let release = "// EDGE publish (release): the value.\n";
        let acquire = "// EDGE publish (acquire): the value.\n";
        assert!(complaints(&format!("{header}{release}{acquire}")).is_empty());
        assert!(complaints(&format!("{header}{release}"))[0].contains("no acquire end"));
        assert!(complaints(&format!("{header}{acquire}"))[0].contains("no release end"));
        assert!(
            complaints(&format!("{release}{acquire}"))[0].contains("no line in a module header")
        );
        assert!(complaints("// EDGE publish: the value.\n")[0].contains("is cited as"));
    }

    #[test]
    fn the_kernel_s_end_is_not_cited() {
        let header = "//! Ring.\n//! # Edges\n//! head: the kernel stores -> `drain` loads. All.\n";
        assert!(complaints(&format!("{header}// EDGE head (acquire): all.\n")).is_empty());
        assert_eq!(complaints(&format!("{header}// EDGE head (release): all.\n")).len(), 1);
    }

    #[test]
    fn an_edge_on_a_constant_does_not_count() {
        let edge = "// EDGE publish (release): the value.\n";
        let on = |code: &str| complaints(&format!("{edge}{code}"))[0].clone();
        assert!(on("const ORDER: Ordering = Release;\n").contains("at a constant"));
        assert!(on("tail.store(1, Release);\n").contains("no acquire"));
    }
}
