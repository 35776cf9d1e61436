//! The preloaded library that `unc` carries, and the environment that brings it into a program.
//!
//! # Contract
//! [`Library::place`] puts the bytes where the loader can open them: a file in the user's cache folder, named by their
//! content, checked for owner and content before every use; a memory file where there is no such folder.
//! # Invariants
//! I1: nobody else could have written the file that is preloaded: the folder and the file are ours, neither is writable by
//! others, and the content is compared byte by byte.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The library, built by `build.rs`.
const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/observe.so"));

/// The library where the loader can open it.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    /// Keeps a memory file alive.
    _memory: Option<File>,
}

impl Library {
    /// Places the library.
    ///
    /// # Errors
    /// What making a memory file reports, if the cache folder could not be used either.
    pub(crate) fn place() -> io::Result<Self> {
        let cached = cache_folder().and_then(|folder| in_folder(&folder).ok());
        match cached {
            Some(path) => Ok(Library { path, _memory: None }),
            None => Self::in_memory(),
        }
    }

    /// Places the library in a memory file.
    ///
    /// # Errors
    /// What making one reports.
    pub(crate) fn in_memory() -> io::Result<Self> {
        let mut memory = uncontended_sys::memfd::create(c"uncontended-observe")?;
        memory.write_all(BYTES)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd()).into();
        Ok(Library { path, _memory: Some(memory) })
    }

    /// Puts the library first in `LD_PRELOAD`, before what `present` names, so that a preloaded allocator keeps working.
    pub(crate) fn preload(&self, present: Option<&OsStr>) -> OsString {
        let mut value = self.path.clone().into_os_string();
        if let Some(present) = present.filter(|present| !present.is_empty()) {
            value.push(":");
            value.push(present);
        }
        value
    }
}

/// `$XDG_CACHE_HOME/uncontended`, or `~/.cache/uncontended`. The loader splits names at spaces and colons, so a folder
/// with one of those cannot be used.
fn cache_folder() -> Option<PathBuf> {
    let base =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let folder = base.join("uncontended");
    let usable =
        folder.is_absolute() && !folder.to_string_lossy().contains([' ', ':', '\t', '\n', '$']);
    usable.then_some(folder)
}

fn in_folder(folder: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if !ours(&fs::symlink_metadata(folder)?) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let path = folder.join(format!("observe-{:016x}.so", hash(BYTES)));
    if holds_bytes(&path) {
        return Ok(path);
    }
    let fresh = folder.join(format!(".observe-{}", std::process::id()));
    let written =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh);
    let result =
        written.and_then(|mut file| file.write_all(BYTES)).and_then(|()| fs::rename(&fresh, &path));
    if result.is_err() {
        let _ = fs::remove_file(&fresh); // The first error is the one to tell.
    }
    result.map(|()| path)
}

/// I1, for a folder or file.
fn ours(facts: &fs::Metadata) -> bool {
    let us = fs::metadata("/proc/self").map(|facts| facts.uid());
    us.is_ok_and(|us| facts.uid() == us) && facts.mode() & 0o022 == 0
}

/// I1, for the file at `path`.
fn holds_bytes(path: &Path) -> bool {
    let Ok(facts) = fs::symlink_metadata(path) else { return false };
    if !facts.is_file() || !ours(&facts) || facts.len() != BYTES.len() as u64 {
        return false;
    }
    let mut content = Vec::with_capacity(BYTES.len());
    File::open(path).is_ok_and(|mut file| file.read_to_end(&mut content).is_ok())
        && content == BYTES
}

/// FNV-1a: tells versions of the library apart; the comparison of all bytes is what is trusted.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_shared_file_is_not_used() {
        let folder = std::env::temp_dir().join(format!("unc-observer-{}", std::process::id()));
        let path = in_folder(&folder).unwrap();
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        assert!(holds_bytes(&path));
        let mut changed = BYTES.to_vec();
        changed[0] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert!(!holds_bytes(&path));
        assert_eq!(in_folder(&folder).unwrap(), path);
        assert!(holds_bytes(&path));
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(!holds_bytes(&path));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_preloaded_library_of_the_user_stays() {
        let library = Library { path: "/x/observe.so".into(), _memory: None };
        assert_eq!(library.preload(None), "/x/observe.so");
        assert_eq!(library.preload(Some(OsStr::new("/y/malloc.so"))), "/x/observe.so:/y/malloc.so");
    }
}
