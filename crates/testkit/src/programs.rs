//! The ground truth: C programs in `tests/programs` that know what a report on them must say.

use crate::Folder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A compiled program, removed when dropped.
#[derive(Debug)]
pub struct Program {
    folder: Folder,
    path: PathBuf,
}

impl Program {
    /// Compiles `tests/programs/NAME.c` with debug information and with the annotations' header on the include path.
    /// `CC` names the compiler.
    ///
    /// # Panics
    /// Panics if it does not compile.
    pub fn compile(name: &str, flags: &[&str]) -> Program {
        let root = crate::root();
        let folder = Folder::new();
        let path = folder.path().join(name);
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let output = Command::new(compiler)
            .args(["-g", "-pthread", "-I"])
            .arg(root.join("crates/uncontended/include"))
            .arg("-o")
            .arg(&path)
            .arg(root.join(format!("tests/programs/{name}.c")))
            .args(flags)
            .args(["-ldl", "-lrt"])
            .output()
            .expect("a C compiler, which linking Rust needs too");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        Program { folder, path }
    }

    /// The path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its folder, for files that it writes.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Makes an executable file of these bytes.
///
/// A child writes it: while this process had it open, one that another thread starts would inherit the descriptor until
/// its `exec`, and the kernel runs no file that some process may write (`ETXTBSY`, execve(2)).
///
/// # Panics
/// Panics if it cannot be written.
pub fn executable(path: impl AsRef<Path>, bytes: &[u8]) {
    let path = path.as_ref();
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    writer.stdin.take().expect("a pipe").write_all(bytes).expect("the shell reads all");
    assert!(writer.wait().expect("a child").success(), "{} is not written", path.display());
}

#[cfg(test)]
mod tests {
    use super::{Program, executable};

    /// Other threads start programs all the while.
    #[test]
    fn a_file_that_was_just_written_runs() {
        let folder = crate::Folder::new();
        let run = |thread: usize| {
            for _ in 0..20 {
                let path = folder.file(&format!("program-{thread}"));
                executable(&path, b"#!/bin/sh\nexit 7\n");
                let status = std::process::Command::new(&path).status().unwrap();
                assert_eq!(status.code(), Some(7));
            }
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|thread| drop(scope.spawn(move || run(thread))));
        });
    }

    #[test]
    fn a_program_compiles_runs_and_goes_away() {
        let program = Program::compile("types", &["-O1"]);
        let path = program.path().to_owned();
        let output = std::process::Command::new(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("expect"), "{output:?}");
        drop(program);
        assert!(!path.exists());
    }
}
