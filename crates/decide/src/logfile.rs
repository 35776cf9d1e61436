//! The file of a log, which grows line by line.
//!
//! # Contract
//! An existing log of that name stays until the new one has taken its place; until then the new log is a file next to
//! it, and is removed if it never does.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`, `crates/cli/tests/decide_permute.rs`.

use crate::record::{self, Line};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The log being written.
#[derive(Debug)]
pub(crate) struct LogFile {
    /// As the user named it.
    pub(crate) path: PathBuf,
    file: File,
    /// The number of lines written.
    pub(crate) lines: u64,
    /// The temporary path while an existing log has its place.
    pending: Option<Pending>,
}

/// A new log that waits to replace an existing one; removed if it never does.
#[derive(Debug)]
struct Pending {
    new: PathBuf,
    earlier: PathBuf,
    /// The commands that have not run yet.
    unseen: Vec<usize>,
}

impl LogFile {
    /// Opens a log of runs of these commands.
    pub(crate) fn open(path: &Path, commands: Vec<usize>) -> io::Result<LogFile> {
        let pending = match record::is_there(path) {
            true if !is_log(path)? => {
                let why = "it is not a log, and would be replaced: name another file";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            true => {
                // A symbolic link stays one.
                let earlier = fs::canonicalize(path)?;
                let mut new = earlier.clone().into_os_string();
                new.push(format!(".{}.new", std::process::id()));
                Some(Pending { new: new.into(), earlier, unseen: commands })
            }
            false => None,
        };
        let file = File::create(pending.as_ref().map_or(path, |pending| &pending.new))?;
        Ok(LogFile { path: path.to_path_buf(), file, lines: 0, pending })
    }

    /// Writes one line at once.
    pub(crate) fn write(&mut self, line: &Line) -> io::Result<()> {
        self.lines += 1;
        record::write(&mut self.file, line)
    }

    /// Notes that a command has run, so it can be started.
    pub(crate) fn has_run(&mut self, arm: usize) -> io::Result<()> {
        let Some(pending) = &mut self.pending else { return Ok(()) };
        pending.unseen.retain(|&unseen| unseen != arm);
        if pending.unseen.is_empty() { self.take_place() } else { Ok(()) }
    }

    /// Replaces the existing log, if there is one.
    pub(crate) fn take_place(&mut self) -> io::Result<()> {
        self.pending.take().map_or(Ok(()), |pending| fs::rename(&pending.new, &pending.earlier))
    }
}

/// Whether the file begins as a log does, so that a new one may replace it.
fn is_log(path: &Path) -> io::Result<bool> {
    const START: &[u8] = br#"{"head":"#;
    let mut start = Vec::new();
    File::open(path)?.take(START.len() as u64).read_to_end(&mut start)?;
    Ok(START.starts_with(&start))
}

impl Drop for Pending {
    fn drop(&mut self) {
        // After a rename, no file has this name.
        let _ = fs::remove_file(&self.new);
    }
}
