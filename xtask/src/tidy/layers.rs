//! Layers: which crate may use which. ARCHITECTURE's table of crates is the rule; `cargo metadata` is compared with it.

use super::architecture::{Floor, Row};
use crate::metadata;
use serde_json::Value;
use std::path::Path;

/// What a library crate of floors 0 to 2 may use from outside, apart from `libc`.
const OUTSIDE: [(&str, &[&str]); 3] = [
    ("stats", &["core-math"]),
    ("locks", &["lock_api"]),
    ("ring", &["futures-core", "futures-sink"]),
];

/// Complaints about dependencies that the table does not allow, and about rows without a crate.
pub(crate) fn check(root: &Path, table: &[Row]) -> Result<Vec<String>, String> {
    let packages = metadata::packages(root, &["--no-deps", "--offline"])?;
    let mut complaints: Vec<String> =
        packages.iter().flat_map(|package| check_package(table, package)).collect();
    for row in table {
        complaints.extend(check_files(root, row)?);
    }
    Ok(complaints)
}

fn check_package(table: &[Row], package: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let package_name = text(&package["name"]);
    if package_name == "xtask" {
        return Vec::new();
    }
    let Some(name) = folder_of(&package_name) else {
        return vec![format!("{package_name}: packages are named uncontended-<folder>")];
    };
    let Some(row) = table.iter().find(|row| row.name == name) else {
        return vec![format!("crates/{name}: not in the table of crates (ARCHITECTURE.md)")];
    };
    let dependencies = package["dependencies"].as_array().cloned().unwrap_or_default();
    let shipped = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
    shipped.filter_map(|dependency| refuse(row, &text(&dependency["name"]))).collect()
}

/// The folder of a package of ours: `uncontended` is the facade's own.
fn folder_of(package: &str) -> Option<&str> {
    if package == "uncontended" { Some(package) } else { package.strip_prefix("uncontended-") }
}

/// Why a crate may not depend on another, if it may not.
fn refuse(row: &Row, dependency: &str) -> Option<String> {
    if let Some(ours) = folder_of(dependency) {
        let all = row.may_use == ["all"] && ours != "testkit";
        let allowed = all || row.may_use.iter().any(|name| name == ours);
        return (!allowed).then(|| format!("crates/{}: may not use {ours}", row.name));
    }
    let exceptions = OUTSIDE.iter().find(|(name, _)| *name == row.name);
    let allowed = row.floor > Floor::Number(2)
        || dependency == "libc"
        || exceptions.is_some_and(|(_, list)| list.contains(&dependency));
    (!allowed).then(|| {
        format!("crates/{}: a library of floors 0 to 2 may not use {dependency}", row.name)
    })
}

/// Complaints about a crate that is not there, has no README, or lacks the promise of safe code that the table makes.
fn check_files(root: &Path, row: &Row) -> Result<Vec<String>, String> {
    let folder = root.join("crates").join(&row.name);
    let name = &row.name;
    if !folder.join("Cargo.toml").exists() {
        return Ok(vec![format!(
            "ARCHITECTURE.md: there is no crate {name}; rows appear with the crates"
        )]);
    }
    let mut complaints = Vec::new();
    if !folder.join("README.md").exists() {
        complaints.push(format!("crates/{name}: no README.md"));
    }
    let entries = ["src/lib.rs", "src/main.rs"].map(|entry| folder.join(entry));
    let entry = entries.into_iter().find(|path| path.exists());
    let entry = entry.ok_or(format!("crates/{name}: neither src/lib.rs nor src/main.rs"))?;
    let text =
        std::fs::read_to_string(&entry).map_err(|error| format!("{}: {error}", entry.display()))?;
    if !row.unsafe_code && !text.contains("#![forbid(unsafe_code)]") {
        complaints.push(format!("crates/{name}: must forbid unsafe code"));
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::architecture;

    fn refused(name: &str, dependency: &str) -> bool {
        let (table, _) = architecture::table(crate::root()).unwrap();
        let row = table.iter().find(|row| row.name == name).unwrap();
        refuse(row, dependency).is_some()
    }

    #[test]
    fn dependencies_point_down_only() {
        assert!(!refused("ring", "uncontended-atomic") && refused("ring", "uncontended-observe"));
        assert!(refused("stats", "uncontended-sys") && !refused("stats", "core-math"));
        assert!(refused("ring", "serde") && !refused("observe", "gimli"));
        assert!(
            !refused("cli", "uncontended-model") && !refused("uncontended", "uncontended-ring")
        );
    }

    #[test]
    fn what_tests_share_is_a_dev_dependency_alone() {
        assert!(refused("sys", "uncontended-testkit") && refused("cli", "uncontended-testkit"));
        let (table, _) = architecture::table(crate::root()).unwrap();
        let package = |kind: Value| {
            let dependency = serde_json::json!({"name": "uncontended-testkit", "kind": kind});
            serde_json::json!({"name": "uncontended-sys", "dependencies": [dependency]})
        };
        assert_eq!(check_package(&table, &package(Value::Null)).len(), 1);
        assert_eq!(check_package(&table, &package("dev".into())).len(), 0);
    }
}
