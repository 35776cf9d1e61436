//! The program to run: where it is, whether it can be executed, and whether it can be observed.
//!
//! # Contract
//! A name is looked up as `execvp` does, except that a directory of `PATH` without search permission counts as empty,
//! as in shells. What prevents observing is determined from the file alone, before the program starts.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a program cannot be started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The file does not exist: exit status 127.
    NotFound,
    /// The file exists but cannot be executed, for this reason: exit status 126.
    NotExecutable(Unfit),
}

/// Why a file cannot be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is a folder.
    Folder,
    /// Its folder may not be searched.
    Unsearchable,
    /// It is text to compile.
    Source,
    /// It is text for this interpreter.
    Script(&'static str),
    /// It may be a program, but may not be executed.
    NotPermitted,
}

impl Unfit {
    /// The cause, to follow "cannot be executed:", and the remedy for the file `name`.
    pub(crate) fn words(self, name: &str) -> [String; 2] {
        let (cause, remedy) = match self {
            Unfit::Folder => ("it is a folder", "name a program or a script".to_owned()),
            Unfit::Unsearchable => ("its folder may not be searched", String::new()),
            Unfit::Source => (
                "it is source code, not a program",
                "compile it, and name the program that the compiler writes".to_owned(),
            ),
            Unfit::Script(interpreter) => (
                "no execute permission is set on it",
                format!("name its interpreter too: `{interpreter} {name}`"),
            ),
            Unfit::NotPermitted => (
                "no execute permission is set on it",
                format!("name a program or a script; if this is one: `chmod +x {name}`"),
            ),
        };
        [cause.to_owned(), remedy]
    }
}

const UNSEARCHABLE: Missing = Missing::NotExecutable(Unfit::Unsearchable);

/// Finds the file to execute for `name`.
pub(crate) fn find(name: &OsStr) -> Result<PathBuf, Missing> {
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name));
    }
    if name.is_empty() {
        return Err(Missing::NotFound);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    let mut answer = Missing::NotFound;
    for folder in std::env::split_paths(&path) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".").into() } else { folder };
        match executable(&folder.join(name)) {
            Ok(found) => return Ok(found),
            Err(Missing::NotFound | UNSEARCHABLE) => {}
            Err(other) => answer = other,
        }
    }
    Err(answer)
}

fn executable(path: &Path) -> Result<PathBuf, Missing> {
    let facts = match fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(UNSEARCHABLE);
        }
        Err(_) => return Err(Missing::NotFound),
    };
    if facts.is_dir() {
        return Err(Missing::NotExecutable(Unfit::Folder));
    }
    if facts.permissions().mode() & 0o111 == 0 {
        return Err(Missing::NotExecutable(unfit(path)));
    }
    Ok(path.to_owned())
}

/// Why a file without execute permission is none to execute: by its name, unless it begins as a program does.
fn unfit(path: &Path) -> Unfit {
    let head = head(path).unwrap_or_default();
    if head.starts_with(b"\x7fELF") || head.starts_with(b"#!") {
        return Unfit::NotPermitted;
    }
    match path.extension().and_then(OsStr::to_str) {
        Some("c" | "cc" | "cpp" | "cxx" | "C" | "h" | "hpp" | "rs" | "go" | "java") => {
            Unfit::Source
        }
        Some("py") => Unfit::Script("python3"),
        Some("js" | "mjs" | "cjs") => Unfit::Script("node"),
        Some("sh") => Unfit::Script("sh"),
        _ => Unfit::NotPermitted,
    }
}

/// Why the observer cannot be loaded into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// It has no dynamic loader, so nothing can be loaded into it.
    Static,
    /// It is for a different machine or word size than ours.
    OtherMachine,
    /// The kernel gives it privileges that its caller lacks, so the loader ignores preloading.
    Privileged,
    /// Its loader is not glibc's.
    OtherLoader,
}

impl Obstacle {
    /// The reason in words, to follow "because".
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Obstacle::Static => "it is statically linked, so the observer cannot be loaded into it",
            Obstacle::OtherMachine => {
                "it is built for another machine or word size than the observer (32-bit?)"
            }
            Obstacle::Privileged => {
                "it is setuid, setgid or has file capabilities, so the loader refuses observers"
            }
            Obstacle::OtherLoader => {
                "its loader is not glibc's, and the observer is built for glibc"
            }
        }
    }
}

/// What prevents observing the program in `path`; a script is judged by its interpreter.
pub(crate) fn obstacle(path: &Path) -> Option<Obstacle> {
    let mut path = path.to_owned();
    for _ in 0..5 {
        let head = head(&path)?;
        if let Some(interpreter) = interpreter_of_script(&head) {
            path = interpreter;
            continue;
        }
        return privileged(&path).or_else(|| foreign(&path, &head));
    }
    None
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    Some(head)
}

fn interpreter_of_script(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let word = line.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

fn privileged(path: &Path) -> Option<Obstacle> {
    let facts = fs::metadata(path).ok()?;
    let us = fs::metadata("/proc/self").ok()?;
    let changes_user = facts.mode() & 0o4000 != 0 && facts.uid() != us.uid();
    let changes_group = facts.mode() & 0o2010 == 0o2010 && facts.gid() != us.gid();
    (changes_user || changes_group || has_capabilities(path, us.uid()))
        .then_some(Obstacle::Privileged)
}

/// File capabilities add nothing for root, whose programs have them all.
fn has_capabilities(path: &Path, user: u32) -> bool {
    user != 0 && uncontended_sys::process::has_file_capabilities(path)
}

const ELF_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PT_INTERP: u32 = 3;
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

fn foreign(path: &Path, head: &[u8]) -> Option<Obstacle> {
    if head.len() < ELF_HEADER || !head.starts_with(b"\x7fELF") {
        return None; // Not a format that the kernel knows; execve will report it.
    }
    let (class, order) = (head[4], head[5]);
    if class != 2 || order != 1 || half(head, 18)? != MACHINE {
        return Some(Obstacle::OtherMachine);
    }
    let table = usize::try_from(word(head, 32)?).ok()?;
    let entries = usize::from(half(head, 56)?);
    let mut file = Vec::new();
    let end = table.checked_add(entries * PROGRAM_HEADER)?;
    File::open(path).ok()?.take(end.min(1 << 20) as u64).read_to_end(&mut file).ok()?;
    for entry in 0..entries {
        let at = table + entry * PROGRAM_HEADER;
        if u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?) == PT_INTERP {
            let name = bytes_of(path, word(&file, at + 8)?, word(&file, at + 32)?)?;
            let glibc = name.windows(8).any(|part| part == b"ld-linux");
            return (!glibc).then_some(Obstacle::OtherLoader);
        }
    }
    Some(Obstacle::Static)
}

fn bytes_of(path: &Path, from: u64, length: u64) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let mut name = vec![0; usize::try_from(length.min(4096)).ok()?];
    File::open(path).ok()?.read_exact_at(&mut name, from).ok()?;
    Some(name)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_execvp_finds_them() {
        assert!(find(OsStr::new("sh")).is_ok_and(|path| path.ends_with("sh")));
        assert_eq!(find(OsStr::new("no-such-program-anywhere")), Err(Missing::NotFound));
        assert_eq!(find(OsStr::new("")), Err(Missing::NotFound));
        assert!(matches!(find(OsStr::new("/")), Err(Missing::NotExecutable(_))));
        assert!(matches!(find(OsStr::new("/etc/passwd")), Err(Missing::NotExecutable(_))));
    }

    #[test]
    fn source_code_is_told_from_a_program_without_permission() {
        let folder = uncontended_testkit::Folder::new();
        for (name, text, expected) in [
            ("pool.cpp", "int main() {}", Unfit::Source),
            ("main.rs", "fn main() {}", Unfit::Source),
            ("tool.py", "print(1)", Unfit::Script("python3")),
            ("tool2.py", "#!/usr/bin/python3", Unfit::NotPermitted),
            ("tool", "no program", Unfit::NotPermitted),
            ("tool.c", "\x7fELF", Unfit::NotPermitted),
        ] {
            let path = folder.file(name);
            fs::write(&path, text).unwrap();
            assert_eq!(find(OsStr::new(&path)), Err(Missing::NotExecutable(expected)), "{name}");
        }
    }

    #[test]
    fn the_shell_and_its_scripts_can_be_observed() {
        assert_eq!(obstacle(Path::new("/bin/sh")), None);
        assert_eq!(interpreter_of_script(b"#! /bin/sh -e\nexit"), Some("/bin/sh".into()));
        assert_eq!(interpreter_of_script(b"exit"), None);
    }

    #[test]
    fn files_that_are_no_programs_do_not_trip_the_reader() {
        assert_eq!(foreign(Path::new("/dev/null"), b"\x7fELF"), None);
        let mut head = vec![0; 4096];
        head[..6].copy_from_slice(b"\x7fELF\x01\x01");
        assert_eq!(foreign(Path::new("/dev/null"), &head), Some(Obstacle::OtherMachine));
    }
}
