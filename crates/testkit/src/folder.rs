//! A temporary folder for a test.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A new folder, removed with its contents when dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    #[expect(clippy::new_without_default, reason = "it creates a folder on disk")]
    pub fn new() -> Folder {
        // No name twice: the test that had it may have removed it, and remove it again.
        static NEXT: Mutex<u32> = Mutex::new(0);
        let base = std::env::temp_dir();
        let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let number = *next;
            *next += 1;
            let path = base.join(format!("unc-test-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Folder(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of `name` in this folder, as text.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is valid UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::Folder;

    #[test]
    fn folders_are_distinct_and_removed_with_their_contents() {
        let (one, two) = (Folder::new(), Folder::new());
        assert_ne!(one.path(), two.path());
        std::fs::write(one.file("a"), "text").unwrap();
        let file = one.path().join("a");
        drop(one);
        assert!(!file.exists() && two.path().is_dir());
    }

    #[test]
    fn a_name_is_given_once() {
        let one = Folder::new();
        std::fs::remove_dir(one.path()).unwrap();
        assert_ne!(Folder::new().path(), one.path());
    }
}
