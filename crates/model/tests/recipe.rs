//! The book's recipe for your own crate, as a reader follows it: its blocks become a crate, which is built in both ways
//! and whose test explores.

use std::fs;
use std::path::Path;
use std::process::Command;
use uncontended_testkit::{Folder, is_full, skip};

const PAGE: &str = include_str!("../docs/checking_your_own_code.md");

const LOCK: &str = r#"
mod sync;
use std::sync::atomic::Ordering::{Acquire, Release};
use sync::{AtomicBool, UnsafeCell, spin_loop};

pub struct Lock(AtomicBool, UnsafeCell<u32>);

unsafe impl Sync for Lock {}

impl Lock {
    pub fn new() -> Lock {
        Lock(AtomicBool::new(false), UnsafeCell::new(0))
    }

    pub fn add(&self) -> u32 {
        while self.0.swap(true, Acquire) {
            spin_loop();
        }
        let after = self.1.with_mut(|value| unsafe { *value += 1; *value });
        self.0.store(false, Release);
        after
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;
    use std::sync::Arc;

    #[cfg(checked)]
    #[test]
    fn explored() {
        use uncontended_model::real::{Explorer, Memory, spawn};
        let report = Explorer::new(Memory::C11).explore(|| {
            let lock = Arc::new(Lock::new());
            let other = Arc::clone(&lock);
            let thread = spawn(move || other.add());
            assert_eq!(lock.add() + thread.join().unwrap(), 3);
        });
        assert!(report.unwrap().holds());
    }

    #[cfg(not(checked))]
    #[test]
    fn stressed() {
        let lock = Arc::new(Lock::new());
        let other = Arc::clone(&lock);
        let thread = std::thread::spawn(move || other.add());
        assert_eq!(lock.add() + thread.join().unwrap(), 3);
    }
}
"#;

/// The block of the page that begins with this line.
fn block(first: &str) -> &'static str {
    let from = PAGE.find(first).unwrap_or_else(|| panic!("the page has '{first}'"));
    PAGE[from..].split("```").next().unwrap()
}

#[test]
fn the_recipe_builds_and_explores() {
    if !is_full() {
        skip!("the_recipe_builds_and_explores", "it builds a crate: UNC_DEPTH=full");
        return;
    }
    let folder = Folder::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dependencies =
        block("# Cargo.toml").replace("UNCONTENDED/crates/model", here.to_str().unwrap());
    let package = "[workspace]\n[package]\nname = \"recipe\"\nedition = \"2024\"\n";
    let source = folder.path().join("src");
    fs::create_dir(&source).unwrap();
    fs::write(folder.path().join("Cargo.toml"), package.to_owned() + &dependencies).unwrap();
    fs::copy(here.join("../../Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    fs::write(source.join("sync.rs"), block("// src/sync.rs")).unwrap();
    fs::write(source.join("lib.rs"), LOCK).unwrap();
    for (flags, test) in [("", "stressed"), ("--cfg checked", "explored")] {
        let output = Command::new(env!("CARGO"))
            .args(["test", "--lib", "--offline", "--target-dir", "target"])
            .env("RUSTFLAGS", format!("{flags} -D warnings"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{flags}: {told}\n{failed}");
        assert!(told.contains(&format!("test tests::{test} ... ok")), "{told}");
    }
}
