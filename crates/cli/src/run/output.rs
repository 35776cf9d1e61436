//! Files that a run writes at its end; they are opened before the program starts.
//!
//! # Contract
//! An unwritable file is reported before the program runs. An existing file keeps its content until the new content is
//! written; a file created by [`Output::open`] is removed if nothing was ever written to it. `-` is standard output. A
//! regular file is replaced as a whole, so who reads it while the program runs finds a whole report.

use crate::files::{named, unless_closed, why};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
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
        let outcome = match self.fresh() {
            Some((draft, file)) => self.exchange(&draft, file, content),
            None => self.rewrite(content).map_err(|error| (error, "this file is incomplete")),
        };
        outcome.map_err(|(error, state)| {
            Failure::new(
                format!("{} could not be written: {}", named(&self.path), why(&error)),
                format!("{state}; nothing else is affected"),
            )
        })
    }

    /// A fresh file next to this one, to take its place: of the same owner and permissions. None if it must be written
    /// where it is: a link, a file of several names, a device, or one in a folder that takes no more files.
    fn fresh(&self) -> Option<(PathBuf, File)> {
        self.file.as_ref()?;
        let old = fs::symlink_metadata(&self.path).ok()?;
        let name = self.path.file_name().filter(|_| old.is_file() && old.nlink() == 1)?;
        let fresh = format!(".{}.{}", name.to_string_lossy(), std::process::id());
        let draft = self.path.with_file_name(fresh);
        let file = OpenOptions::new().write(true).create_new(true).open(&draft).ok()?;
        let is_alike = |new: Metadata| (new.uid(), new.gid()) == (old.uid(), old.gid());
        let has_owner = file.metadata().is_ok_and(is_alike);
        if has_owner && file.set_permissions(old.permissions()).is_ok() {
            return Some((draft, file));
        }
        let _ = fs::remove_file(&draft); // It was only just made.
        None
    }

    /// Writes the file at `draft`, and puts it in place of this one.
    fn exchange(
        &mut self,
        draft: &Path,
        mut file: File,
        content: &[&[u8]],
    ) -> Result<(), (io::Error, &'static str)> {
        let written = content.iter().try_for_each(|part| file.write_all(part));
        let placed = written.and_then(|()| fs::rename(draft, &self.path));
        if placed.is_ok() {
            self.file = Some(file);
        } else {
            let _ = fs::remove_file(draft); // The failure itself is what counts.
        }
        placed.map_err(|error| (error, "it has what it had before"))
    }

    fn rewrite(&mut self, content: &[&[u8]]) -> io::Result<()> {
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
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

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
    fn a_reader_finds_a_whole_file_and_its_permissions_stay() {
        let folder = uncontended_testkit::Folder::new();
        let path = folder.path().join("output");
        std::fs::write(&path, "first").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let mut output = Output::open(&path).unwrap();
        let mut reader = std::fs::File::open(&path).unwrap();
        output.write(&[b"second"]).unwrap();
        output.write(&[b"third"]).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "first", "the file that was open stays as it was");
        assert_eq!(std::fs::read(&path).unwrap(), b"third");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
    }

    #[test]
    fn a_link_and_a_file_of_two_names_are_written_where_they_are() {
        let folder = uncontended_testkit::Folder::new();
        let [real, link, other] = ["real", "link", "other"].map(|name| folder.path().join(name));
        std::fs::write(&real, "something long").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        Output::open(&link).unwrap().write(&[b"one"]).unwrap();
        assert!(link.is_symlink());
        std::fs::hard_link(&real, &other).unwrap();
        Output::open(&real).unwrap().write(&[b"two"]).unwrap();
        assert_eq!([real, link, other].map(|path| std::fs::read(path).unwrap()), [b"two"; 3]);
    }

    #[test]
    fn a_full_disk_is_said() {
        let failure = Output::open("/dev/full".as_ref()).unwrap().write(&[b"text"]).unwrap_err();
        assert!(failure.cause.contains("/dev/full"), "{failure}");
        assert!(Output::open("/no/such/folder/file".as_ref()).is_err());
    }
}
