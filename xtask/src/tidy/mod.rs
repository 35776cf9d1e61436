//! The tidy check: every rule reads the tracked sources and returns complaints.
//!
//! # Contract
//! A complaint is `file:line: what is wrong`. No rule changes a file. A rule that cannot read something fails the whole
//! check, so that silence always means tidiness. What a new rule finds in old code may stay for a while, counted: see
//! [`ratchet`].

mod architecture;
mod edges;
mod evidence;
mod layers;
mod length;
mod links;
mod ratchet;
mod safety;
mod skips;
mod source;
mod tells;
mod unit_tests;
mod wording;

use ratchet::Finding;
pub(crate) use source::Source;
use std::path::Path;

/// The Rust files under the rules.
pub(crate) fn sources(root: &Path) -> Result<Vec<Source>, String> {
    source::tracked(root)
}

/// All complaints about the workspace at `root`, in the order of files; and what is left under ratchets.
pub(crate) fn check(root: &Path) -> Result<(Vec<String>, Vec<String>), String> {
    let sources = source::tracked(root)?;
    let pages = source::pages(root)?;
    let (table, mut complaints) = architecture::table(root)?;
    complaints.extend(layers::check(root, &table)?);
    for source in sources.iter().filter(|source| source.is_ours()) {
        complaints.extend(length::check(source)?);
        complaints.extend(safety::reasons(source));
        complaints.extend(wording::check(source));
    }
    complaints.extend(links::check(root, &pages));
    complaints.extend(crate::mutants::check(root, &sources)?);
    let (worse, left) = ratchet::compare(root, &counted(root, &sources, &pages))?;
    complaints.extend(worse);
    Ok((complaints, left))
}

/// Writes the ratchets' counts down, as far as they fell.
pub(crate) fn lower(root: &Path) -> Result<(), String> {
    ratchet::lower(root, &counted(root, &source::tracked(root)?, &source::pages(root)?))
}

/// What the rules with a ratchet find, by the rule's name.
fn counted(root: &Path, sources: &[Source], pages: &[Source]) -> Vec<(&'static str, Vec<Finding>)> {
    let ours = || sources.iter().filter(|source| source.is_ours());
    vec![
        ("columns", ours().flat_map(length::columns).collect()),
        ("edges", edges::check(sources)),
        ("evidence", ours().flat_map(|source| evidence::check(root, source)).collect()),
        ("safety", safety::invariants(sources)),
        ("skips", ours().flat_map(skips::check).collect()),
        ("tells", tells::check(sources, pages)),
    ]
}

/// A complaint about one line of a source.
fn complaint(source: &Source, line: usize, text: impl std::fmt::Display) -> String {
    format!("{}:{line}: {text}", source.path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        let (complaints, _) = super::check(crate::root()).unwrap();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
