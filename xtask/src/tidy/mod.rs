//! The tidy check: every rule reads the tracked sources and answers with complaints.
//!
//! # Contract
//! A complaint is `file:line: what is wrong`. No rule changes a file. A rule that cannot read something fails the whole
//! check, so that silence always means tidiness.

mod architecture;
mod edges;
mod layers;
mod length;
mod source;
mod wording;

use source::Source;
use std::path::Path;

/// All complaints about the workspace at `root`, in the order of files.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let sources = source::tracked(root)?;
    let (table, mut complaints) = architecture::table(root)?;
    complaints.extend(layers::check(root, &table)?);
    for source in sources.iter().filter(|source| source.is_ours()) {
        complaints.extend(length::check(source)?);
        complaints.extend(wording::check(source));
    }
    complaints.extend(edges::check(&sources));
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
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let complaints = super::check(root).unwrap();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
