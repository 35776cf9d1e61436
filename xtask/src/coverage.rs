//! Coverage: which lines of each crate the tests run, as a table.
//!
//! # Contract
//! `cargo xtask coverage [CRATE...]` builds the tests of these crates (of all) with the compiler's own counters, runs
//! them, and prints a line for each crate. Counted are lines under `src` that ship: what only tests compile is left
//! out, and so is what another `cfg` or feature would compile. Needs the toolchain's component `llvm-tools`.

use crate::tidy::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the instrumented build and its counters lie.
const TARGET: &str = "target/coverage";

/// Lines of a crate that ran, and all of them.
type Lines = BTreeMap<String, (usize, usize)>;

/// Measures, and prints the table.
pub(crate) fn print(root: &Path, crates: &[String]) -> Result<(), String> {
    let tools = tools()?;
    let profiles = root.join(TARGET).join("profiles");
    let _ = std::fs::remove_dir_all(&profiles);
    let programs = build(root, crates)?;
    if !test(root, crates, &profiles)? {
        eprintln!("some tests failed; what they ran counts all the same");
    }
    let merged = merge(&tools, &profiles)?;
    let lcov = export(&tools, &merged, &programs)?;
    println!("| crate | lines | run by tests |\n|---|---|---|");
    for (name, (ran, all)) in count(root, &lcov)? {
        let asked = crates.is_empty() || crates.contains(&name);
        if asked && all > 0 {
            println!("| `{name}` | {all} | {:.0} % |", 100.0 * ran as f64 / all as f64);
        }
    }
    Ok(())
}

/// The folder of the toolchain's `llvm-cov` and `llvm-profdata`.
fn tools() -> Result<PathBuf, String> {
    let libraries = output(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let folder = Path::new(libraries.trim()).with_file_name("bin");
    if !folder.join("llvm-cov").exists() {
        return Err("no llvm-cov in the toolchain; `rustup component add llvm-tools`".into());
    }
    Ok(folder)
}

/// `cargo test` of these crates, instrumented.
fn cargo(root: &Path, crates: &[String]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["test", "--lib", "--bins", "--tests", "--target-dir", TARGET]);
    command.env("RUSTFLAGS", "-C instrument-coverage").env("CARGO_INCREMENTAL", "0");
    if crates.is_empty() {
        command.arg("--workspace");
    }
    for name in crates {
        let package =
            if name == "uncontended" { name.clone() } else { format!("uncontended-{name}") };
        command.args(["-p", &package]);
    }
    command
}

/// Builds the tests; the programs with counters in them.
fn build(root: &Path, crates: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut command = cargo(root, crates);
    let output = command
        .args(["--no-run", "--message-format=json"])
        .env("LLVM_PROFILE_FILE", "/dev/null")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build".into());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let parsed = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let programs = parsed.filter_map(|message: serde_json::Value| {
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    Ok(programs.collect())
}

/// Runs the tests; whether all passed. Processes of one program share few files, since `unc` is started by the
/// thousand.
fn test(root: &Path, crates: &[String], profiles: &Path) -> Result<bool, String> {
    let mut command = cargo(root, crates);
    let status = command
        .args(["--no-fail-fast", "--quiet"])
        .env("LLVM_PROFILE_FILE", profiles.join("%4m.profraw"))
        .stdout(Stdio::null())
        .status();
    Ok(status.map_err(|error| format!("cargo: {error}"))?.success())
}

fn merge(tools: &Path, profiles: &Path) -> Result<PathBuf, String> {
    let merged = profiles.join("merged.profdata");
    let entries =
        std::fs::read_dir(profiles).map_err(|e| format!("{}: {e}", profiles.display()))?;
    let raw: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let mut command = Command::new(tools.join("llvm-profdata"));
    command.args(["merge", "--sparse", "--failure-mode=all", "-o"]).arg(&merged).args(raw);
    output(&mut command)?;
    Ok(merged)
}

fn export(tools: &Path, merged: &Path, programs: &[PathBuf]) -> Result<String, String> {
    let mut command = Command::new(tools.join("llvm-cov"));
    command.args(["export", "--format=lcov", "--skip-functions"]);
    command.args(["--ignore-filename-regex", "/(registry|rustc)/"]);
    command.arg(format!("--instr-profile={}", merged.display()));
    for program in programs {
        command.arg("--object").arg(program);
    }
    output(&mut command)
}

/// What a tool answers on its standard output.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("{name}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Counts the lines that ship, by crate, from `SF:FILE` and `DA:LINE,TIMES`.
fn count(root: &Path, lcov: &str) -> Result<Lines, String> {
    let mut lines = Lines::new();
    let mut file: Option<(String, Source)> = None;
    for record in lcov.lines() {
        if let Some(path) = record.strip_prefix("SF:") {
            file = shipped(root, path)?;
        }
        let Some((name, source)) = &file else { continue };
        let Some((line, times)) = record.strip_prefix("DA:").and_then(|da| da.split_once(','))
        else {
            continue;
        };
        if line.parse().is_ok_and(|line| source.line_ships(line)) {
            let (ran, all) = lines.entry(name.clone()).or_default();
            *ran += usize::from(times != "0");
            *all += 1;
        }
    }
    Ok(lines)
}

/// The crate and text of a file that ships.
fn shipped(root: &Path, path: &str) -> Result<Option<(String, Source)>, String> {
    let Ok(inner) = Path::new(path).strip_prefix(root) else { return Ok(None) };
    let inner = inner.to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let source = Source::new(inner, text);
    let name = source.crate_folder().strip_prefix("crates/").map(str::to_owned);
    Ok(name.filter(|_| source.ships()).map(|name| (name, source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_ship_are_counted_by_crate() {
        let folder = uncontended_testkit::Folder::new();
        let root = folder.path();
        std::fs::create_dir_all(root.join("crates/x/src")).unwrap();
        let text = "fn a() {\n}\n#[cfg(test)]\nmod tests {\nfn b() {}\n}\n";
        std::fs::write(root.join("crates/x/src/lib.rs"), text).unwrap();
        let file = |path: &str, lines: &str| format!("SF:{path}\n{lines}end_of_record\n");
        let ours = root.join("crates/x/src/lib.rs");
        let lcov = file(ours.to_str().unwrap(), "DA:1,7\nDA:2,0\nDA:5,1\n")
            + &file("/else.rs", "DA:1,1\n");
        let counted = count(root, &lcov).unwrap();
        assert_eq!(counted, Lines::from([("x".to_owned(), (1, 2))]));
    }
}
