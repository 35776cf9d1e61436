//! The ground truth: C programs in `tests/programs` that know what a report on them must say.

use crate::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

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

#[cfg(test)]
mod tests {
    use super::Program;

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
