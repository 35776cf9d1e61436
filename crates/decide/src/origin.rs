//! When and of what revision runs were made.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The beginning of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Seconds since 1970.
    pub began_s: u64,
    /// The commit that was checked out where the commands ran, with `-dirty` if files differed from it; none outside a
    /// repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl Origin {
    /// Here and now.
    #[must_use]
    pub fn here() -> Origin {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let began_s = since.map_or(0, |since| since.as_secs());
        Origin { began_s, revision: revision(Path::new(".")) }
    }
}

/// The commit that is checked out around this folder, with `-dirty` if files differ from it; none outside a repository,
/// or without git.
#[must_use]
pub fn revision(folder: &Path) -> Option<String> {
    let describe = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
    let found = Command::new("git")
        // Files that git would refresh stay as they are.
        .arg("--no-optional-locks")
        .args(describe)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&found.stdout).trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use uncontended_testkit::{Folder, skip};

    #[test]
    fn a_revision_is_that_of_the_folder_and_says_if_files_differ() {
        let folder = Folder::new();
        assert_eq!(revision(folder.path()), None, "no repository");
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
            let mut git = Command::new("git");
            git.args(identity).args(arguments).current_dir(folder.path());
            git.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        if !git(&["init", "--quiet"]) {
            skip!("a_revision_is_that_of_the_folder_and_says_if_files_differ", "there is no git");
        }
        fs::write(folder.path().join("file"), "one").unwrap();
        assert!(git(&["add", "file"]) && git(&["commit", "--quiet", "-m", "one"]));
        let clean = revision(folder.path()).unwrap();
        assert!(clean.len() == 12 && clean.chars().all(|c| c.is_ascii_hexdigit()), "{clean}");
        fs::write(folder.path().join("file"), "two").unwrap();
        assert_eq!(revision(folder.path()), Some(format!("{clean}-dirty")));
    }
}
