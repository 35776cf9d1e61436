//! What cargo knows of the workspace's packages.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The packages that `cargo metadata` lists at `root` with these flags.
pub(crate) fn packages(root: &Path, flags: &[&str]) -> Result<Vec<Value>, String> {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["metadata", "--format-version", "1"])
        .args(flags)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    metadata["packages"].as_array().cloned().ok_or("cargo metadata lists no packages".into())
}
