//! Files that a run writes at its end; they are opened before the program starts.
//!
//! # Contract
//! An unwritable file is reported before the program runs. An existing file keeps its content until the new content is
//! written; a file created by [`Output::open`] is removed if nothing was ever written to it. `-` is standard output.

use crate::files::{unless_closed, why};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use uncontended_decide::Failure;

/// A file to write at the end.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// None for standard output.
    file: Option<File>,
    untouched: bool,
}

impl Output {
    /// Opens `path` for writing.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Output { path: path.to_owned(), file: None, untouched: false });
        }
        let existed = path.exists();
        let mut options = OpenOptions::new();
        match options.write(true).create(true).truncate(false).open(path) {
            Ok(file) => Ok(Output { path: path.to_owned(), file: Some(file), untouched: !existed }),
            Err(error) => Err(Failure::new(
                format!(
                    "{} cannot be written: {}; nothing was started",
                    path.display(),
                    why(&error)
                ),
                "name a file in a directory that exists and that you may write to",
            )),
        }
    }

    /// Writes the parts of `content`, in order, as the whole file, in place of what was written before.
    pub(crate) fn write(&mut self, content: &[&[u8]]) -> Result<(), Failure> {
        self.untouched = false;
        self.replace(content).map_err(|error| {
            Failure::new(
                format!("{} could not be written: {}", self.path.display(), why(&error)),
                "this file is incomplete; nothing else is affected",
            )
        })
    }

    fn replace(&mut self, content: &[&[u8]]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return unless_closed(std::io::stdout().write_all(&content.concat()));
        };
        if file.metadata()?.is_file() {
            file.set_len(0)?;
            file.rewind()?;
        }
        for part in content {
            file.write_all(part)?;
        }
        file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.untouched {
            // If another process removed the file meanwhile, that is fine too.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    #[test]
    fn old_bytes_stay_until_there_are_new_ones() {
        let folder = uncontended_testkit::Folder::new();
        let path = folder.path().join("output");
        std::fs::write(&path, "something long").unwrap();
        drop(Output::open(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"something long");
        Output::open(&path).unwrap().write(&[b"n", b"ew"]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        std::fs::remove_file(&path).unwrap();
        drop(Output::open(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn a_full_disk_is_said() {
        let failure = Output::open("/dev/full".as_ref()).unwrap().write(&[b"text"]).unwrap_err();
        assert!(failure.cause.contains("/dev/full"), "{failure}");
        assert!(Output::open("/no/such/folder/file".as_ref()).is_err());
    }
}
