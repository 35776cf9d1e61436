//! The tidy check: every rule reads the tracked sources and returns complaints.
//!
//! # Contract
//! A complaint is `file:line: what is wrong`. No rule changes a file. A rule that cannot read something fails the whole
//! check, so that silence always means tidiness.

mod architecture;
mod circles;
mod doors;
pub(crate) mod edges;
mod evidence;
mod layers;
mod length;
mod links;
mod quotes;
mod remedies;
mod safety;
mod settings;
mod skips;
mod source;
mod tells;
mod unit_tests;
mod unused;
mod wording;

pub(crate) use source::Source;
use std::path::Path;

/// The Rust files under the rules.
pub(crate) fn sources(root: &Path) -> Result<Vec<Source>, String> {
    source::tracked(root)
}

/// All complaints about the workspace at `root`, rule by rule.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let sources = source::tracked(root)?;
    let pages = source::pages(root)?;
    let (table, mut complaints) = architecture::table(root)?;
    complaints.extend(layers::check(root, &table)?);
    for source in sources.iter().filter(|source| source.is_ours()) {
        complaints.extend(length::check(source)?);
        complaints.extend(length::columns(source));
        complaints.extend(evidence::check(root, source));
        complaints.extend(skips::check(source));
        complaints.extend(doors::check(source));
        complaints.extend(safety::reasons(source));
        complaints.extend(wording::check(source));
        complaints.extend(links::included(source));
        complaints.extend(remedies::check(source));
    }
    complaints.extend(links::check(root, &pages));
    complaints.extend(quotes::check(&pages));
    complaints.extend(crate::mutants::check(root, &sources)?);
    complaints.extend(circles::check(&sources));
    complaints.extend(settings::check(&sources));
    complaints.extend(edges::check(&sources));
    complaints.extend(unused::check(&sources));
    complaints.extend(safety::invariants(&sources));
    complaints.extend(tells::check(&sources, &pages));
    Ok(complaints)
}

/// A complaint about one line of a source.
fn complaint(source: &Source, line: usize, text: impl std::fmt::Display) -> String {
    format!("{}:{line}: {text}", source.path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        let complaints = super::check(crate::root()).unwrap();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
