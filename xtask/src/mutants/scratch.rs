//! A copy of the workspace to mutate, and what is built from it.

use super::edit::apply;
use super::list::{Mutant, Test};
use super::trial::Programs;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Below the workspace's root, where git ignores it.
const FOLDER: &str = "target/mutants";
/// What is quickest over all: no optimised rebuild except of the checker.
const PROFILE: [&str; 4] = [
    "--config",
    "profile.dev.package.uncontended-model.opt-level=3",
    "--config",
    "profile.dev.debug=0",
];

/// The copy, as it was when this was made.
pub(crate) struct Scratch {
    folder: PathBuf,
}

/// Files that were changed; written back when this is dropped.
pub(crate) struct Mutated(Vec<(PathBuf, String)>);

impl Scratch {
    /// Copies what git tracks or would track. Files that are the same as in the last copy keep their times, so that
    /// nothing is rebuilt for them.
    pub(crate) fn new(root: &Path) -> Result<Scratch, String> {
        let scratch = Scratch { folder: root.join(FOLDER) };
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("cannot run git to list the sources: {error}"))?;
        if !listed.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr)));
        }
        let listed = String::from_utf8_lossy(&listed.stdout);
        let paths = listed.split('\0').filter(|path| !path.is_empty());
        let paths: BTreeSet<&str> = paths.filter(|path| root.join(path).is_file()).collect();
        let workspace = scratch.workspace();
        for path in &paths {
            copy(&root.join(path), &workspace.join(path)).map_err(|e| format!("{path}: {e}"))?;
        }
        remove_others(&workspace, Path::new(""), &paths).map_err(|e| format!("{FOLDER}: {e}"))?;
        Ok(scratch)
    }

    fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// Makes the edits of a mutant.
    pub(crate) fn mutate(&self, mutant: &Mutant) -> Result<Mutated, String> {
        let workspace = self.workspace();
        let read = |file: &str| {
            std::fs::read_to_string(workspace.join(file))
                .map_err(|error| format!("{file}: {error}"))
        };
        let texts = apply(&mutant.edits, read).map_err(|why| format!("{}: {why}", mutant.name))?;
        let mut mutated = Mutated(Vec::new());
        for (file, text) in texts {
            let before = read(file)?;
            let path = workspace.join(file);
            std::fs::write(&path, text).map_err(|error| format!("{file}: {error}"))?;
            mutated.0.push((path, before));
        }
        Ok(mutated)
    }

    /// Builds what these tests are in and keeps a copy of it under `name`; or what the compiler says.
    pub(crate) fn build<'t>(
        &self,
        name: &str,
        tests: impl Iterator<Item = &'t Test>,
    ) -> Result<Result<Programs, String>, String> {
        // One package at a time: the features of all that are built together would be those of each.
        let mut binaries: BTreeMap<(&str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
        for test in tests {
            let of = (test.package.as_str(), test.cfg.as_deref());
            binaries.entry(of).or_default().insert(&test.binary);
        }
        let mut programs = Programs::new(self.folder.join("programs").join(name))?;
        for ((package, cfg), names) in binaries {
            let output = self
                .cargo(package, cfg, &names)
                .stderr(Stdio::piped())
                .output()
                .map_err(|error| format!("cargo: {error}"))?;
            if !output.status.success() {
                return Ok(Err(errors(&String::from_utf8_lossy(&output.stderr))));
            }
            for (binary, path) in executables(&String::from_utf8_lossy(&output.stdout)) {
                programs.keep(package, cfg, &binary, &path)?;
            }
        }
        Ok(Ok(programs))
    }

    /// The sources that a crate's last build for the checker was made of.
    pub(crate) fn compiled(&self, package: &str) -> Result<Vec<String>, String> {
        let folder = self.folder.join("unc_model/debug/deps");
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut sources = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(&format!("uncontended_{package}-")) && name.ends_with(".d") {
                let text = std::fs::read_to_string(&path).map_err(failed)?;
                let lines = text.lines().filter_map(|line| line.strip_suffix(':'));
                sources.extend(lines.map(str::to_owned));
            }
        }
        Ok(sources)
    }

    fn cargo(&self, package: &str, cfg: Option<&str>, binaries: &BTreeSet<&str>) -> Command {
        let mut command = Command::new("cargo");
        let package = if package == "uncontended" {
            package.to_owned()
        } else {
            format!("uncontended-{package}")
        };
        command
            .args(["test", "--no-run", "--message-format=json-render-diagnostics", "-p", &package])
            .args(PROFILE);
        for binary in binaries {
            command.args(["--test", binary]);
        }
        let flags = cfg.map_or(String::new(), |cfg| format!("--cfg {cfg}"));
        command.env("RUSTFLAGS", flags).env("CARGO_INCREMENTAL", "1");
        command.env("CARGO_TARGET_DIR", self.folder.join(cfg.unwrap_or("plain")));
        // What cargo told this program about itself is not for the copy.
        let ours =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command.current_dir(self.workspace());
        command
    }
}

impl Drop for Mutated {
    fn drop(&mut self) {
        for (path, text) in &self.0 {
            // If that fails, the next copy puts it right.
            let _ = std::fs::write(path, text);
        }
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let text = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == text) {
        return Ok(());
    }
    std::fs::create_dir_all(to.parent().expect("below the workspace"))?;
    std::fs::write(to, text)
}

/// Removes files of an earlier copy.
fn remove_others(workspace: &Path, folder: &Path, paths: &BTreeSet<&str>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(workspace.join(folder))? {
        let path = folder.join(entry?.file_name());
        let is_folder = workspace.join(&path).is_dir();
        if is_folder {
            remove_others(workspace, &path, paths)?;
        } else if !path.to_str().is_some_and(|path| paths.contains(path)) {
            std::fs::remove_file(workspace.join(&path))?;
        }
    }
    Ok(())
}

/// The compiler's errors, without what led up to them.
fn errors(said: &str) -> String {
    let from = said.find("error").unwrap_or(0);
    said[from..].lines().take(12).collect::<Vec<_>>().join("\n")
}

/// The tests' programs by name, from cargo's messages.
fn executables(messages: &str) -> Vec<(String, PathBuf)> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = parsed.filter_map(|message| {
        let path = message["executable"].as_str()?;
        Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(path)))
    });
    built.collect()
}
