//! Licences: every package that a user's build contains may be combined with Apache-2.0 OR MIT.

use crate::metadata;
use serde_json::Value;
use std::path::Path;

/// The licences that ask for nothing beyond keeping their notice.
const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
];

/// Tools of ours alone, which no user's build contains: their licence binds redistributors.
const TOOLS: [&str; 1] = ["cbindgen"];

/// Packages whose licence is not allowed, or that come from elsewhere than the registry or the workspace.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let packages = metadata::packages(root, &["--filter-platform", "x86_64-unknown-linux-gnu"])?;
    Ok(packages.iter().filter_map(refuse).collect())
}

/// Why a package may not be used, if it may not.
fn refuse(package: &Value) -> Option<String> {
    let (name, licence) = (package["name"].as_str()?, package["license"].as_str().unwrap_or(""));
    let from_registry =
        package["source"].as_str().is_none_or(|source| source.starts_with("registry+"));
    if !from_registry {
        return Some(format!("{name}: comes neither from the registry nor from the workspace"));
    }
    (!is_allowed(licence) && !TOOLS.contains(&name))
        .then(|| format!("{name}: licence `{licence}` is not in the list (xtask/src/licences.rs)"))
}

/// Whether an SPDX expression can be met by allowed licences alone: any side of an OR, every side of an AND.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ").replace(['(', ')'], "");
    plain
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_one_side_of_or_and_all_sides_of_and() {
        assert!(is_allowed("MIT/Apache-2.0") && is_allowed("(MIT OR GPL-2.0) AND Unicode-3.0"));
        assert!(!is_allowed("GPL-3.0") && !is_allowed("MIT AND GPL-2.0") && !is_allowed(""));
    }

    #[test]
    fn a_package_from_git_is_refused() {
        let package = serde_json::json!({"name": "x", "license": "MIT", "source": "git+https://example.org/x"});
        assert!(refuse(&package).unwrap().contains("neither"));
    }
}
