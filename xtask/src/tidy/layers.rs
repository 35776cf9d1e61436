//! Layers: which crate may use which, held against `cargo metadata`; and the files that every crate has.

use crate::metadata;
use serde_json::Value;
use std::path::Path;

/// One row of the design's table.
struct Row {
    floor: u8,
    name: &'static str,
    may_use: &'static [&'static str],
    unsafe_code: bool,
}

const fn row(
    floor: u8,
    name: &'static str,
    may_use: &'static [&'static str],
    unsafe_code: bool,
) -> Row {
    Row { floor, name, may_use, unsafe_code }
}

/// The design's table: dependencies point down only, within a floor never sideways unless listed.
const TABLE: [Row; 25] = [
    row(0, "sys", &[], true),
    row(0, "stats", &[], false),
    row(0, "model", &[], true),
    row(0, "itoa", &[], true),
    row(0, "delta", &[], false),
    row(1, "atomic", &["sys", "model"], true),
    row(1, "topology", &["sys"], true),
    row(1, "trace", &["atomic", "itoa"], true),
    row(2, "fence", &["atomic", "sys"], true),
    row(2, "wait", &["atomic", "fence", "sys"], true),
    row(2, "locks", &["atomic", "wait", "topology"], true),
    row(2, "ring", &["atomic", "wait"], true),
    row(2, "reclaim", &["atomic", "fence"], true),
    row(2, "percpu", &["atomic", "sys", "topology"], true),
    row(2, "recorder", &["atomic", "ring"], true),
    row(2, "structures", &["atomic", "reclaim"], true),
    row(2, "alloc", &["atomic", "percpu", "ring", "sys"], true),
    row(3, "barrierd", &["fence", "sys"], true),
    row(3, "observe", &["atomic", "trace", "sys"], true),
    row(3, "bench", &["stats", "topology", "sys"], false),
    row(3, "machine", &["model", "topology", "sys", "atomic"], true),
    row(3, "replay", &["trace", "bench", "alloc"], true),
    row(4, "store", &["delta", "ring", "wait", "recorder"], false),
    row(5, "report", &["stats", "trace", "itoa"], false),
    row(5, "cli", &["*"], false),
];

/// What a library crate of floors 0 to 2 may use from outside.
const OUTSIDE: [(&str, &[&str]); 2] = [("stats", &["core-math"]), ("locks", &["lock_api"])];

/// Complaints about dependencies that the table does not allow.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let packages = metadata::packages(root, &["--no-deps", "--offline"])?;
    Ok(packages.iter().flat_map(check_package).collect())
}

fn check_package(package: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&package["name"]);
    let Some(name) = name.strip_prefix("uncontended-") else {
        return if ["xtask", "uncontended"].contains(&name.as_str()) {
            vec![]
        } else {
            vec![format!("{name}: packages are named uncontended-<folder>")]
        };
    };
    let Some(row) = TABLE.iter().find(|row| row.name == name) else {
        return vec![format!(
            "crates/{name}: not in the table of crates (xtask/src/tidy/layers.rs, ARCHITECTURE.md)"
        )];
    };
    let dependencies = package["dependencies"].as_array().cloned().unwrap_or_default();
    let shipped = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
    shipped.filter_map(|dependency| refuse(row, &text(&dependency["name"]))).collect()
}

/// Why a crate may not depend on another, if it may not.
fn refuse(row: &Row, dependency: &str) -> Option<String> {
    if let Some(ours) = dependency.strip_prefix("uncontended-") {
        let allowed = row.may_use.contains(&ours) || row.may_use == ["*"];
        return (!allowed)
            .then(|| format!("crates/{}: may not use {ours} (floor {})", row.name, row.floor));
    }
    let exceptions =
        OUTSIDE.iter().find(|(name, _)| *name == row.name).map_or(&[][..], |(_, list)| list);
    let allowed = row.floor > 2 || dependency == "libc" || exceptions.contains(&dependency);
    (!allowed).then(|| {
        format!("crates/{}: a library of floors 0 to 2 may not use {dependency}", row.name)
    })
}

/// Complaints about crates without a README, or without the promise of safe code that the table asks for.
pub(crate) fn check_files(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for row in &TABLE {
        let folder = root.join("crates").join(row.name);
        if !folder.join("Cargo.toml").exists() {
            continue;
        }
        if !folder.join("README.md").exists() {
            complaints.push(format!("crates/{}: no README.md", row.name));
        }
        let entry = ["src/lib.rs", "src/main.rs"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|path| path.exists());
        let entry =
            entry.ok_or(format!("crates/{}: neither src/lib.rs nor src/main.rs", row.name))?;
        let text = std::fs::read_to_string(&entry)
            .map_err(|error| format!("{}: {error}", entry.display()))?;
        if !row.unsafe_code && !text.contains("#![forbid(unsafe_code)]") {
            complaints.push(format!("crates/{}: must forbid unsafe code", row.name));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_point_down_only() {
        let row = |name: &str| TABLE.iter().find(|row| row.name == name).unwrap();
        assert!(refuse(row("ring"), "uncontended-atomic").is_none());
        assert!(refuse(row("ring"), "uncontended-locks").is_some());
        assert!(refuse(row("stats"), "uncontended-sys").is_some());
        assert!(refuse(row("stats"), "core-math").is_none());
        assert!(refuse(row("ring"), "serde").is_some());
        assert!(refuse(row("observe"), "gimli").is_none());
        assert!(refuse(row("cli"), "uncontended-model").is_none());
    }
}
