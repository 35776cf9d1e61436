//! A trial: one test, alone, and how it ended.

use super::list::{Mutant, Test};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A test that takes longer has not caught anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(150);
/// What `testkit::explored` begins the line with that tells a violation.
const VIOLATED: &str = "VIOLATED ";

/// Programs of tests, kept while the next ones are built; gone with this.
pub(crate) struct Programs {
    folder: PathBuf,
    paths: BTreeMap<(String, Option<String>, String), PathBuf>,
}

impl Programs {
    pub(crate) fn new(folder: PathBuf) -> Result<Programs, String> {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Programs { folder, paths: BTreeMap::new() })
    }

    pub(crate) fn keep(
        &mut self,
        package: &str,
        cfg: Option<&str>,
        binary: &str,
        path: &Path,
    ) -> Result<(), String> {
        let kept = self.folder.join(format!("{package}-{}-{binary}", cfg.unwrap_or("plain")));
        std::fs::copy(path, &kept).map_err(|e| format!("{}: {e}", path.display()))?;
        let key = (package.to_owned(), cfg.map(str::to_owned), binary.to_owned());
        self.paths.insert(key, kept);
        Ok(())
    }

    fn of(&self, test: &Test) -> Option<&Path> {
        let key = (test.package.clone(), test.cfg.clone(), test.binary.clone());
        self.paths.get(&key).map(PathBuf::as_path)
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// How a test ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It passed.
    Passed,
    /// The checker's violation, or the test's own assertion.
    Violated(String),
    /// It failed in another way.
    Failed(String),
    TimedOut(Duration),
    NoSuchTest,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed => f.write_str("passes"),
            Outcome::Violated(how) => f.write_str(how),
            Outcome::Failed(how) => write!(f, "fails, but not by a violation: {how}"),
            Outcome::TimedOut(limit) => write!(f, "is not done after {} s", limit.as_secs()),
            Outcome::NoSuchTest => f.write_str("no such test"),
        }
    }
}

/// How a mutant is caught by all of its tests, or which of them does not catch it.
pub(crate) fn verdict(programs: &Programs, mutant: &Mutant) -> Result<String, String> {
    let mut first = None;
    for test in &mutant.caught_by {
        match run(programs, test, LIMIT) {
            Outcome::Violated(how) => drop(first.get_or_insert(how)),
            other => return Err(format!("{test}: {other}")),
        }
    }
    Ok(first.unwrap_or_default())
}

/// Runs a test alone.
pub(crate) fn run(programs: &Programs, test: &Test, limit: Duration) -> Outcome {
    let Some(program) = programs.of(test) else { return Outcome::NoSuchTest };
    let name = test.to_string().replace(['/', ',', ' ', ':'], "-");
    let log = programs.folder.join(format!("{name}.log"));
    match run_for(program, test, &log, limit) {
        Ok(Some(is_success)) => {
            let said = std::fs::read(&log).unwrap_or_default();
            judge(test, is_success, &String::from_utf8_lossy(&said))
        }
        Ok(None) => Outcome::TimedOut(limit),
        Err(error) => Outcome::Failed(format!("cannot be run: {error}")),
    }
}

/// Whether it succeeds; none: it was killed after `limit`. What it says is in the log.
fn run_for(
    program: &Path,
    test: &Test,
    log: &Path,
    limit: Duration,
) -> std::io::Result<Option<bool>> {
    let said = std::fs::File::create(log)?;
    let mut command = Command::new(program);
    command.args(["--exact", &test.function, "--nocapture", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    command.env_remove("UNC_MEMORY").env_remove("RUST_BACKTRACE");
    if let Some(memory) = &test.memory {
        command.env("UNC_MEMORY", memory);
    }
    let (mut child, began) = (command.spawn()?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What it means that a test said this.
fn judge(test: &Test, is_success: bool, said: &str) -> Outcome {
    if said.contains("running 0 tests") {
        return Outcome::NoSuchTest;
    }
    if is_success {
        return Outcome::Passed;
    }
    let mut lines = said.lines();
    if let Some(memory) = &test.memory {
        let line =
            lines.find_map(|line| line.strip_prefix(VIOLATED)?.strip_prefix(memory.as_str()));
        if let Some(how) = line {
            return Outcome::Violated(format!("{memory}{how}"));
        }
    } else {
        let own = format!("panicked at crates/{}/tests/", test.package);
        if lines.any(|line| line.contains(&own)) {
            return Outcome::Violated(lines.next().unwrap_or_default().to_owned());
        }
    }
    let mut lines = said.lines();
    let how = lines.find(|line| line.contains("panicked at")).or(said.lines().last());
    Outcome::Failed([how, lines.next()].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(memory: Option<&str>) -> Test {
        Test {
            package: "ring".into(),
            binary: "model".into(),
            function: "one".into(),
            cfg: None,
            memory: memory.map(str::to_owned),
        }
    }

    #[test]
    fn only_a_violation_counts() {
        let explored = |said: &str| judge(&test(Some("C11")), false, said);
        let race = "VIOLATED C11: data race: thread 0";
        assert_eq!(explored(race), Outcome::Violated("C11: data race: thread 0".into()));
        assert!(matches!(explored("VIOLATED TSO: data race"), Outcome::Failed(_)));
        let unknown = "thread 'one' panicked at crates/ring/tests/model.rs:1:\nunknown after 3";
        assert!(matches!(explored(unknown), Outcome::Failed(how) if how.contains("unknown")));
        let plain = |said: &str| judge(&test(None), false, said);
        assert_eq!(plain(unknown), Outcome::Violated("unknown after 3".into()));
        assert!(matches!(plain("panicked at crates/ring/src/a.rs:1:\nbad"), Outcome::Failed(_)));
        assert!(matches!(plain("signal"), Outcome::Failed(_)));
        assert_eq!(plain("running 0 tests"), Outcome::NoSuchTest);
        assert_eq!(judge(&test(None), true, "running 0 tests"), Outcome::NoSuchTest);
        assert_eq!(judge(&test(None), true, "running 1 test"), Outcome::Passed);
    }

    #[test]
    fn a_test_that_is_not_done_in_time_is_killed() {
        let folder = uncontended_testkit::Folder::new();
        let script = folder.path().join("program");
        uncontended_testkit::programs::executable(&script, b"#!/bin/sh\nexec sleep 60\n");
        let log = folder.path().join("log");
        let ended = run_for(&script, &test(None), &log, Duration::from_millis(30));
        assert_eq!(ended.unwrap(), None);
    }
}
