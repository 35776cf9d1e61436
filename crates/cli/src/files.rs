//! The files that a command reads and writes.
//!
//! # Contract
//! Before anything is read or run, a file that is named twice or that cannot be written is refused. `-` is standard
//! output; if its reader has gone, that is not an error.

use crate::output::Output;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use uncontended_decide::Failure;

/// A file and what names it.
pub(crate) type Named<'a> = (&'a str, Option<&'a Path>);

/// Refuses, before anything is read or run, a file to write that is also one of the others. `-` among those `read` is
/// standard input.
pub(crate) fn distinct<'a>(written: &[Named<'a>], read: &[Named<'a>]) -> Result<(), Failure> {
    let named = |(name, path): &Named<'a>| Some((*name, (*path)?));
    let stdin = |path| if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let read = read.iter().filter_map(named).map(|(name, path)| (name, File::at(stdin(path))));
    let mut known: Vec<(&str, File)> = read.collect();
    let stdout = |path| if path == Path::new("-") { Path::new("/dev/stdout") } else { path };
    for (name, path) in written.iter().filter_map(named) {
        let file = File::at(stdout(path));
        if file == File::At("/dev/null".into()) {
            continue; // What goes there is lost on purpose, however often.
        }
        if let Some((earlier, _)) = known.iter().find(|(_, other)| *other == file) {
            let cause = format!("{earlier} and {name} both name {}", path.display());
            return Err(Failure::new(cause, "name another file for one of them"));
        }
        known.push((name, file));
    }
    Ok(())
}

/// A file's identity on the system, so that links to one file compare equal.
#[derive(Debug, PartialEq)]
enum File {
    There { device: u64, inode: u64 },
    At(PathBuf),
}

impl File {
    fn at(path: &Path) -> File {
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_file() => File::There { device: facts.dev(), inode: facts.ino() },
            _ => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
                let inside = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
                File::At(inside.unwrap_or(path))
            }
        }
    }
}

/// Refuses, before anything is read or run, a file that cannot be written.
pub(crate) fn writable<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    // Opening and closing a pipe would look like its end to the reader.
    let is_file =
        |path: &Path| std::fs::metadata(path).map_or(true, |at| at.is_file() || at.is_dir());
    let mut files = paths.into_iter().filter(|path| *path != Path::new("-"));
    files.try_for_each(|path| match is_file(path) {
        true => Output::open(path).map(drop),
        false => Ok(()),
    })
}

/// Writes `content` as the whole file at `path`, or to standard output for `-`.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    Output::at(path).write(&[content.as_ref()])
}

/// What messages call the file at `path`.
pub(crate) fn named(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard output".to_owned(),
        false => path.display().to_string(),
    }
}

/// Why a file could not be read or written, in words without the system's number.
pub(crate) fn why(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "its permissions forbid it".to_owned(),
        ErrorKind::FileTooLarge => {
            "it exceeds the limit on the size of files (`ulimit -f`)".to_owned()
        }
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}

/// The reader of a closed pipe has seen enough.
pub(crate) fn unless_closed(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
