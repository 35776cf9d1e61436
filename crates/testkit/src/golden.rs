//! Texts and pictures against stored ones.

use std::path::Path;

/// Asserts that `found` is what `tests/golden/{name}` of the crate in `folder` holds. `UNC_BLESS=1` rewrites the file,
/// for a reader to compare.
///
/// # Panics
/// Panics if they differ, or if there is no such file.
#[track_caller]
pub fn golden(folder: &str, name: &str, found: &str) {
    let path = Path::new(folder).join("tests/golden").join(name);
    if std::env::var_os("UNC_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let stored = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(found == stored, "{} differs; UNC_BLESS=1 rewrites it:\n{found}", path.display());
}
