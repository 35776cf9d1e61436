//! Revisions of a git repository, each checked out and built by itself, to be compared.
//!
//! # Contract
//! A revision is checked out as a worktree in a private folder. The user's own files are neither read nor changed. The
//! worktrees are removed when this is dropped, whatever ended the trial.
//! # Evidence
//! `crates/cli/tests/decide_revisions.rs`.
//! # Sources
//! git-worktree(1), git-rev-parse(1).

use crate::Failure;
use crate::runner::{Launch, Prepared, Runner, private_folder};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checked-out revisions.
#[derive(Debug)]
pub struct Revisions {
    repository: PathBuf,
    folder: PathBuf,
    /// Where in the repository commands run.
    within: PathBuf,
    names: Vec<String>,
}

impl Revisions {
    /// Checks out the revisions of the repository around `directory`.
    ///
    /// # Errors
    /// If there is no repository, or a revision is unknown or given twice.
    pub fn check_out(revisions: &[String], directory: &Path) -> Result<Revisions, Failure> {
        let repository = git(directory, &["rev-parse", "--show-toplevel"])?;
        let within = git(directory, &["rev-parse", "--show-prefix"])?;
        let mut commits: Vec<String> = Vec::new();
        for revision in revisions {
            let commit = format!("{revision}^{{commit}}");
            let commit =
                git(directory, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
                    .map_err(|_| {
                        Failure::new(
                            format!("there is no revision '{revision}' in {repository}"),
                            "name a commit, branch or tag: see git log, or git fetch it",
                        )
                    })?;
            if let Some(at) = commits.iter().position(|earlier| *earlier == commit) {
                return Err(Failure::new(
                    format!("'{revision}' and '{}' are the same commit", revisions[at]),
                    "to compare a command with itself, use `Commands::with_itself`",
                ));
            }
            commits.push(commit);
        }
        let named = |(name, commit): (&String, &String)| match commit.starts_with(name.as_str()) {
            true => name.clone(),
            false => format!("{name} ({})", commit.get(..7).unwrap_or(commit)),
        };
        let checked_out = Revisions {
            names: revisions.iter().zip(&commits).map(named).collect(),
            repository: repository.into(),
            folder: private_folder()?,
            within: within.into(),
        };
        for (arm, commit) in commits.iter().enumerate() {
            let tree = checked_out.tree(arm);
            git(
                directory,
                &["worktree", "add", "--quiet", "--detach", &tree.to_string_lossy(), commit],
            )?;
        }
        Ok(checked_out)
    }

    /// Their names: as given, with the commit.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A warning if the repository has changes that no revision contains.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let changed = git(&self.repository, &["status", "--porcelain", "--untracked-files=no"]);
        let is_changed = changed.is_ok_and(|changed| !changed.is_empty());
        is_changed.then(|| "changes that are not committed are in none of the revisions".to_owned())
    }

    /// Builds all of them by this line.
    ///
    /// # Errors
    /// If a build fails, or was interrupted.
    pub fn build(&self, line: &str, launch: &Launch, runner: &Runner) -> Result<(), Failure> {
        for (arm, name) in self.names.iter().enumerate() {
            let build = Prepared::from_line(line, launch)?.within(self.directory(arm));
            let built = runner.around("build", &build);
            if crate::interrupted() {
                return Err(Failure::new(format!("interrupted while {name} was built"), ""));
            }
            built.map_err(|failure| Failure {
                cause: format!("{name}: {}", failure.cause),
                ..failure
            })?;
        }
        Ok(())
    }

    /// Where the commands of revision `arm` run.
    #[must_use]
    pub fn directory(&self, arm: usize) -> PathBuf {
        self.tree(arm).join(&self.within)
    }

    fn tree(&self, arm: usize) -> PathBuf {
        self.folder.join(arm.to_string())
    }
}

impl Drop for Revisions {
    fn drop(&mut self) {
        for arm in 0..self.names.len() {
            // What cannot be removed is in the private folder, and `git worktree prune` forgets it.
            let tree = self.tree(arm);
            let _ =
                git(&self.repository, &["worktree", "remove", "--force", &tree.to_string_lossy()]);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = git(&self.repository, &["worktree", "prune"]);
    }
}

/// What git prints, without the last line feed.
fn git(directory: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new("git was not found", "install it, or check PATH"),
        _ => Failure::new(format!("git cannot be run: {error}"), ""),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(Failure::new(
        format!("git in {}: {said}", directory.display()),
        "revisions are those of the git repository around `Runs::directory`",
    ))
}
