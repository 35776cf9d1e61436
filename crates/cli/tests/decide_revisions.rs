//! `unc compare --rev`: revisions of a repository, checked out, built, compared and removed again.

mod decide;

use decide::{Folder, Said, command, said};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use uncontended_testkit::skip;

/// A repository whose program prints 3 in the first revision and 5 in the second, after it was built.
struct Repository(Folder);

impl Repository {
    /// None if there is no git.
    fn new(test: &str) -> Option<Repository> {
        if Command::new("git").arg("--version").output().is_err() {
            skip!(test, "no git");
            return None;
        }
        let repository = Repository(Folder::new());
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        std::fs::create_dir(repository.path("sub")).unwrap();
        for (number, tag) in [(3, "old"), (5, "new")] {
            std::fs::write(repository.path("sub/source"), format!("echo {number}\n")).unwrap();
            repository.git(&["add", "."]);
            let who = ["-c", "user.name=u", "-c", "user.email=u@localhost"];
            repository.git(&[&who[..], &["commit", "--quiet", "-m", tag]].concat());
            repository.git(&["tag", tag]);
        }
        Some(repository)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(self.0.path()).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn compare(&self, within: &str, arguments: &[&str]) -> Said {
        let mut asked = command(&[&["compare"], arguments].concat());
        said(asked.current_dir(self.path(within)).output().unwrap())
    }

    /// Asserts that nothing is left of the worktrees.
    fn assert_clean(&self) {
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        assert_eq!(self.git(&["status", "--porcelain"]), "");
    }
}

const BUILD: [&str; 2] = ["--build", "cp source program && chmod +x program"];
const ASKED: [&str; 5] = ["--quiet", "--metric", "regex:[0-9]+", "--no-tail-guard", "--seed=2"];

#[test]
fn revisions_are_built_and_compared() {
    let Some(repository) = Repository::new("revisions_are_built_and_compared") else { return };
    let json = repository.0.file("verdict.json");
    let run = ["--json", &json, "--rev", "old", "--rev", "new", "--", "sh program"];
    let said = repository.compare("sub", &[&ASKED[..], &BUILD, &run].concat());
    said.assert_status(1);
    let commit = repository.git(&["rev-parse", "--short=7", "new"]);
    let named =
        format!("no: 'new ({})' is worse by more than 2 %; median ratio 1.67", commit.trim());
    assert!(said.out.starts_with(&named), "{named}: {}", said.out);
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(told["hypothesis"]["lines"], serde_json::json!(["sh program", "sh program"]));
    std::fs::remove_file(json).unwrap();
    repository.assert_clean();
    // The other way round, and with a change that is in neither.
    std::fs::write(repository.path("sub/source"), "echo 9\n").unwrap();
    let run = ["--rev", "new", "--rev", "old", "--", "sh program"];
    let said = repository.compare("sub", &[&ASKED[..], &BUILD, &run].concat());
    said.assert_status(0);
    assert!(said.out.contains("changes that are not committed are in none"), "{}", said.out);
    repository.git(&["checkout", "--quiet", "."]);
    repository.assert_clean();
}

#[test]
fn what_cannot_be_compared_is_refused_and_leaves_nothing() {
    let Some(repository) = Repository::new("what_cannot_be_compared_is_refused_and_leaves_nothing")
    else {
        return;
    };
    let refused = |arguments: &[&str], words: &str| {
        repository.compare("sub", &[&ASKED[..], arguments].concat()).assert_refused(words);
        repository.assert_clean();
    };
    refused(&["--rev", "old", "--rev", "none", "--", "true"], "there is no revision 'none'");
    refused(&["--rev", "old", "--", "true"], "nothing to compare revision 'old' with");
    refused(
        &["--rev", "new", "--rev", "main", "--", "true"],
        "'main' and 'new' are the same commit",
    );
    refused(&["--rev", "old", "--rev", "new", "--", "true", "false"], "take one command");
    let failing = ["--build", "grep -q 3 source", "--rev", "old", "--rev", "new", "--", "true"];
    refused(&failing, "the build command 'grep -q 3 source' failed with status 1");
    refused(&["--rev", "old", "--aa", "--", "true"], "--aa");
    refused(&["--build", "true", "--", "true", "true"], "--rev");
    let outside = Folder::new();
    let mut asked = command(&["compare", "--rev", "a", "--rev", "b", "--", "true"]);
    asked.env("GIT_CEILING_DIRECTORIES", outside.path().parent().unwrap());
    said(asked.current_dir(outside.path()).output().unwrap())
        .assert_refused("not a git repository");
}

#[test]
fn an_interrupt_leaves_no_worktree() {
    let Some(repository) = Repository::new("an_interrupt_leaves_no_worktree") else { return };
    let folder = repository.0.file("tmp");
    std::fs::create_dir(&folder).unwrap();
    let run = ["compare", "--quiet", "--rev", "old", "--rev", "new", "--", "sleep 0.05"];
    let mut asked = command(&run);
    asked.env("TMPDIR", &folder).current_dir(repository.path("sub"));
    let mut child = asked.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let trees = || repository.git(&["worktree", "list"]).lines().count();
    while trees() < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "no worktrees");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    child.wait().unwrap();
    assert_eq!(trees(), 1);
    assert_eq!(std::fs::read_dir(Path::new(&folder)).unwrap().count(), 0);
}
