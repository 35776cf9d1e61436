//! Edges: every release/acquire pair has a name, listed in a module header and cited at both ends.

use super::{complaint, source::Source};
use std::collections::BTreeMap;

/// Where one edge of a crate is cited.
#[derive(Default)]
struct Ends<'s> {
    release: Vec<(&'s Source, usize)>,
    acquire: Vec<(&'s Source, usize)>,
    listed: bool,
}

/// Complaints about edges with one end, or with none in a header. An edge lives within a crate.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut edges: BTreeMap<(&str, &str), Ends<'_>> = BTreeMap::new();
    let mut complaints = Vec::new();
    let shipping = || sources.iter().filter(|source| source.is_ours() && source.ships());
    for source in shipping() {
        for (at, comment) in source.comments.iter().enumerate() {
            let Some((_, citation)) = comment.split_once("EDGE ") else { continue };
            let Some((name, role)) = cited(citation) else {
                complaints.push(complaint(
                    source,
                    at + 1,
                    "an EDGE is cited as `EDGE name (release)` or `(acquire)`",
                ));
                continue;
            };
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
        for name in listed(source) {
            if let Some(ends) = edges.get_mut(&(source.crate_folder(), name)) {
                ends.listed = true;
            }
        }
    }
    for ((_, name), ends) in edges {
        let (source, line) =
            ends.release.first().or(ends.acquire.first()).expect("an edge was cited");
        let missing = match (ends.release.is_empty(), ends.acquire.is_empty(), ends.listed) {
            (true, _, _) => "no release end",
            (_, true, _) => "no acquire end",
            (_, _, false) => "no line in a module header (`name: writer -> reader`)",
            _ => continue,
        };
        complaints.push(complaint(source, *line, format_args!("edge {name} has {missing}")));
    }
    complaints
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
fn listed(source: &Source) -> Vec<&str> {
    let header = source.text.lines().filter_map(|line| line.trim_start().strip_prefix("//!"));
    let section = header.skip_while(|line| line.trim() != "# Edges").skip(1);
    let lines = section.take_while(|line| !line.trim_start().starts_with("# "));
    lines
        .filter(|line| line.contains("->"))
        .filter_map(|line| Some(line.split_once(':')?.0.trim_matches([' ', '-', '`', '*'])))
        .collect()
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
}
