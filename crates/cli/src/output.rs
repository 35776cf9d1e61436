//! Files that a command writes: those of a run are opened before the program starts.
//!
//! # Contract
//! A file that cannot be opened is reported by [`Output::open`]. An existing file keeps its content until the new
//! content is written; a file that we made is removed if nothing was ever written to it as a whole. `-` is standard
//! output. A regular file is replaced as a whole, so who reads it meanwhile, after a crash or on a full disk finds a
//! whole one. What is written is under the name that was given, also if the file of that name was moved or deleted
//! meanwhile.

use crate::files::{named, unless_closed, why};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use uncontended_decide::Failure;

/// A file to write.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// None for standard output, and before the file is opened.
    file: Option<File>,
    /// Whether we have made the file, and not filled it yet.
    untouched: bool,
}

/// Why a file was not written, and what became of it.
type Unwritten = (io::Error, &'static str);

impl Output {
    /// The file at `path`, which is opened when it is written.
    pub(crate) fn at(path: &Path) -> Self {
        Output { path: path.to_owned(), file: None, untouched: false }
    }

    /// Opens `path` for writing.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let mut output = Output::at(path);
        output.find().map_err(|(error, remedy)| {
            let (path, why) = (path.display(), why(&error));
            Failure::new(format!("{path} cannot be written: {why}; nothing was started"), remedy)
        })?;
        Ok(output)
    }

    /// Writes the parts of `content`, in order, as the whole file, in place of what was written before.
    pub(crate) fn write(&mut self, content: &[&[u8]]) -> Result<(), Failure> {
        let outcome = self.find().and_then(|()| match self.fresh() {
            Some((draft, file)) => self.exchange(&draft, file, content),
            None => self.rewrite(content),
        });
        self.untouched &= outcome.is_err();
        outcome.map_err(|(error, state)| {
            let state = if self.untouched { "no such file is left" } else { state };
            Failure::new(
                format!("{} could not be written: {}", named(&self.path), why(&error)),
                state,
            )
        })
    }

    fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Whether the file of that name is open.
    fn is_there(&self) -> bool {
        let is = |file: Metadata, path: Metadata| {
            !file.is_file() || (file.dev(), file.ino()) == (path.dev(), path.ino())
        };
        let open = self.file.as_ref().and_then(|file| file.metadata().ok());
        open.is_some_and(|open| fs::metadata(&self.path).is_ok_and(|path| is(open, path)))
    }

    /// Opens the file, or makes it again that was moved or deleted.
    fn find(&mut self) -> Result<(), Unwritten> {
        if self.is_stdout() || self.is_there() {
            return Ok(());
        }
        let state = match self.file {
            Some(_) => "the file was moved or deleted meanwhile",
            None => "name a file in a directory that exists and that you may write to",
        };
        let (file, untouched) = open(&self.path).map_err(|error| (error, state))?;
        (self.file, self.untouched) = (Some(file), untouched);
        Ok(())
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
    ) -> Result<(), Unwritten> {
        let written = content.iter().try_for_each(|part| file.write_all(part));
        let placed = written.and_then(|()| fs::rename(draft, &self.path));
        if placed.is_ok() {
            self.file = Some(file);
        } else {
            let _ = fs::remove_file(draft); // The failure itself is what counts.
        }
        placed.map_err(|error| (error, "it has what it had before"))
    }

    /// Writes the file where it is. A part of a report would be taken for one, so none is left in a file.
    fn rewrite(&mut self, content: &[&[u8]]) -> Result<(), Unwritten> {
        let Some(file) = &mut self.file else {
            let written = unless_closed(std::io::stdout().write_all(&content.concat()));
            return written.map_err(|error| (error, ""));
        };
        let is_file = file.metadata().is_ok_and(|facts| facts.is_file());
        let emptied = |file: &mut File| file.set_len(0).and_then(|()| file.rewind());
        let begun = if is_file { emptied(file) } else { Ok(()) };
        let written = begun
            .and_then(|()| content.iter().try_for_each(|part| file.write_all(part)))
            .and_then(|()| file.flush());
        written.map_err(|error| match is_file && emptied(file).is_ok() {
            true => (error, "it is empty now"),
            false => (error, "it is incomplete"),
        })
    }
}

/// Opens the file at `path`, and whether it was not there.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let existed = path.exists();
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    Ok((file, !existed))
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.untouched && self.is_there() {
            // If another process removes the file meanwhile, that is fine too.
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
    fn a_file_that_was_moved_or_deleted_is_made_again() {
        let folder = uncontended_testkit::Folder::new();
        let [path, moved, link] = ["output", "moved", "link"].map(|name| folder.path().join(name));
        let mut output = Output::open(&path).unwrap();
        output.write(&[b"first"]).unwrap();
        std::fs::rename(&path, &moved).unwrap();
        output.write(&[b"second"]).unwrap();
        assert_eq!(
            [&moved, &path].map(|path| std::fs::read(path).unwrap()),
            [&b"first"[..], b"second"]
        );
        std::os::unix::fs::symlink("output", &link).unwrap();
        let mut through = Output::open(&link).unwrap();
        std::fs::remove_file(&path).unwrap();
        through.write(&[b"third"]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"third");
        std::fs::remove_dir_all(folder.path()).unwrap();
        let failure = through.write(&[b"fourth"]).unwrap_err();
        assert!(failure.remedy.contains("moved or deleted"), "{failure}");
    }

    #[test]
    fn a_full_disk_is_said() {
        let failure = Output::open("/dev/full".as_ref()).unwrap().write(&[b"text"]).unwrap_err();
        assert!(failure.cause.contains("/dev/full"), "{failure}");
        assert!(Output::open("/no/such/folder/file".as_ref()).is_err());
    }
}
