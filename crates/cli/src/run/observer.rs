//! The preloaded library that `unc` contains, and the environment that loads it into a program.
//!
//! # Contract
//! [`Library::place`] writes the library where the loader can open it: a file in the user's cache directory, named
//! after its content, whose owner and content are checked before every use; or a memory file if there is no such
//! directory. It is world-readable, because a program may start others as another user.
//! A program's children need not be for glibc or for this machine. So the name contains `$PLATFORM`, which glibc's
//! loader replaces by its machine. A 32-bit loader then finds an empty library of its own instead of ours, which it
//! would reject with a message. musl's loader replaces nothing and finds no file, where ours would end the program.
//! AddressSanitizer's runtime ends a program in whose list of libraries another one is first; it knows its own by
//! `libasan.so` in the name. The observer may be first, since it defines none of the functions in which the runtime
//! must be (what both define, the observer passes on). So the loader is given a link with that in its name. The file
//! itself has another: a program that contains the runtime ends if a file so named is mapped.
//! # Invariants
//! I1: no other user could have written the preloaded file: the directory and the files are ours, none is writable
//! by others, and the content is compared byte by byte.
//! # Sources
//! ld.so(8): dynamic string tokens, LD_PRELOAD. compiler-rt, `lib/asan/asan_linux.cpp`: `AsanCheckDynamicRTPrereqs`,
//! `AsanCheckIncompatibleRT`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The library, built by `build.rs`.
const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/observe.so"));

/// The names that glibc's loader has for the platforms on which `BYTES` runs; the first is the file's own.
#[cfg(target_arch = "x86_64")]
const PLATFORMS: [&str; 3] = ["x86_64", "haswell", "xeon_phi"];
#[cfg(target_arch = "aarch64")]
const PLATFORMS: [&str; 1] = ["aarch64"];
/// The same for 32-bit programs on this machine, which get `EMPTY`.
const SMALL_PLATFORMS: &[&str] =
    if cfg!(target_arch = "x86_64") { &["i686", "i586", "i486", "i386"] } else { &[] };
/// What follows the platform in the names of the links.
const LINK: &str = "before-libasan.so";

/// An empty i386 library.
#[rustfmt::skip]
const EMPTY: [u32; 58] = {
    const DYNAMIC_AT: u32 = 148;
    const HASH_AT: u32 = DYNAMIC_AT + 6 * 8;
    const SYMBOLS_AT: u32 = HASH_AT + 16;
    const STRINGS_AT: u32 = SYMBOLS_AT + 16;
    const SIZE: u32 = STRINGS_AT + 4;
    const READ_WRITE: u32 = 6;
    const GNU_STACK: u32 = 0x6474_e551;
    const MAGIC: u32 = u32::from_le_bytes(*b"\x7fELF");
    const CLASS_32: u32 = 0x0001_0101;
    const SHARED_I386: u32 = 0x0003_0003;
    [
        MAGIC, CLASS_32, 0, 0, SHARED_I386, 1, 0, 52, 0, 0, 52 | 32 << 16, 3, 0, // three program headers, no sections
        1, 0, 0, 0, SIZE, SIZE, READ_WRITE, 4096, // PT_LOAD: all of it
        2, DYNAMIC_AT, DYNAMIC_AT, DYNAMIC_AT, 48, 48, READ_WRITE, 4, // PT_DYNAMIC
        GNU_STACK, 0, 0, 0, 0, 0, READ_WRITE, 16, // nothing here needs an executable stack
        4, HASH_AT, 5, STRINGS_AT, 6, SYMBOLS_AT, 10, 1, 11, 16, 0, 0, // where its tables are
        1, 1, 0, 0, // one bucket, one symbol
        0, 0, 0, 0, // that symbol: none
        0, // no strings
    ]
};

/// The library, placed where the loader can open it.
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
    /// The error of creating a memory file, if the cache directory could not be used either.
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
    /// The error of creating it.
    pub(crate) fn in_memory() -> io::Result<Self> {
        let mut memory = uncontended_sys::memfd::create(c"uncontended-observe")?;
        memory.write_all(BYTES)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd()).into();
        Ok(Library { path, _memory: Some(memory) })
    }

    /// Whether AddressSanitizer's runtime lets it be first.
    pub(crate) fn may_precede_sanitizer(&self) -> bool {
        self.path.to_string_lossy().ends_with(LINK)
    }

    /// Puts the library last in `LD_PRELOAD`, after the entries of `present`: these get the program's own calls, and
    /// the library sees what they pass on.
    pub(crate) fn preload(&self, present: Option<&OsStr>) -> OsString {
        let mut value = OsString::new();
        if let Some(present) = present.filter(|present| !present.is_empty()) {
            value.push(present);
            value.push(":");
        }
        value.push(&self.path);
        value
    }
}

/// `$XDG_CACHE_HOME/uncontended`, else `~/.cache/uncontended`; for root `/var/cache/uncontended`, since root's home is
/// closed to others. The loader splits names at spaces and colons, so a directory with either in its name cannot be
/// used.
fn cache_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let usual = || match user() {
        Some(0) => Some("/var/cache".into()),
        _ => Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")),
    };
    let folder = named.filter(|path| path.is_absolute()).or_else(usual)?.join("uncontended");
    let usable =
        folder.is_absolute() && !folder.to_string_lossy().contains([' ', ':', '\t', '\n', '$']);
    usable.then_some(folder)
}

fn user() -> Option<u32> {
    fs::metadata("/proc/self").map(|facts| facts.uid()).ok()
}

/// Writes the files into `folder` and returns the path for the loader.
fn in_folder(folder: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    if !ours(&fs::symlink_metadata(folder)?) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let content = hash(BYTES);
    let name = |platform: &str, rest: &str| format!("observe-{content:016x}-{platform}{rest}");
    let empty: Vec<u8> = EMPTY.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (bytes, platforms) in [(BYTES, &PLATFORMS[..]), (&empty, SMALL_PLATFORMS)] {
        let Some(first) = platforms.first() else { continue };
        let file = name(first, ".so");
        provide(&folder.join(&file), bytes)?;
        for platform in platforms {
            link(&folder.join(name(platform, &format!("-{LINK}"))), &file)?;
        }
    }
    Ok(folder.join(name("$PLATFORM", &format!("-{LINK}"))))
}

/// Ensures that `path` is a link to `target`.
fn link(path: &Path, target: &str) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|present| present == Path::new(target)) {
        return Ok(());
    }
    let _ = fs::remove_file(path); // Whatever else may be there.
    match std::os::unix::fs::symlink(target, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()), // Another `unc` may have been first.
    }
}

/// Ensures that `path` holds `bytes`.
fn provide(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if holds(path, bytes) {
        return Ok(());
    }
    let fresh = path.with_extension(format!("so-{}", std::process::id()));
    let written =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&fresh);
    let result =
        written.and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&fresh, path));
    if result.is_err() {
        let _ = fs::remove_file(&fresh); // Report the first error, not this one's.
    }
    result
}

/// I1, for a folder or file.
fn ours(facts: &fs::Metadata) -> bool {
    user() == Some(facts.uid()) && facts.mode() & 0o022 == 0
}

/// I1, for the file at `path`.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let Ok(facts) = fs::symlink_metadata(path) else { return false };
    if !facts.is_file() || !ours(&facts) || facts.len() != bytes.len() as u64 {
        return false;
    }
    let mut content = Vec::with_capacity(bytes.len());
    File::open(path).is_ok_and(|mut file| file.read_to_end(&mut content).is_ok())
        && content == bytes
}

/// FNV-1a over words: distinguishes versions of the library; only the comparison of all bytes is trusted.
fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let rest = rest.iter().map(|&byte| u64::from(byte));
    let words = words.iter().map(|&word| u64::from_le_bytes(word)).chain(rest);
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash.rotate_left(23) ^ word).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_shared_file_is_not_used() {
        let own = uncontended_testkit::Folder::new();
        let folder = own.path().join("own");
        let place = || in_folder(&folder).unwrap().to_str().unwrap().to_owned();
        let links: Vec<String> =
            PLATFORMS.iter().map(|platform| place().replace("$PLATFORM", platform)).collect();
        let path = fs::canonicalize(&links[0]).unwrap();
        assert!(!path.to_str().unwrap().contains("libasan.so"), "{path:?}");
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        let mut changed = BYTES.to_vec();
        changed[0] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert!(!holds(&path, BYTES));
        place();
        assert!(holds(&path, BYTES));
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(!holds(&path, BYTES));
        for link in links {
            fs::remove_file(&link).unwrap();
            std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
            place();
            assert_eq!(fs::read(&link).unwrap(), BYTES);
        }
    }

    /// Everything that the observer may need from other libraries, weak symbols aside: glibc 2.17 has each of these.
    const NEEDED: &str = "__errno_location __register_atfork __tls_get_addr abort calloc clock_gettime close \
        dl_iterate_phdr dlsym fcntl free getcwd getenv getrlimit lseek64 malloc mmap64 munmap open64 \
        posix_memalign pthread_key_create pthread_key_delete pthread_self pthread_setspecific read readlink realloc realpath \
        sched_getcpu sigaction sigaltstack write writev __fxstat64 __xstat64 getauxval \
        pthread_attr_getstack pthread_attr_setstacksize pthread_barrierattr_init pthread_barrierattr_setpshared pthread_condattr_init pthread_condattr_setpshared \
        pthread_mutexattr_init pthread_mutexattr_setpshared pthread_rwlockattr_init pthread_rwlockattr_setpshared";

    /// What glibc's startup files add, instead of the last ones above, when linked on newer systems: until 2.33 `stat`
    /// was linked statically, and the compiler's unwinder uses 2.35's `_dl_find_object` if it was built with it. Such a
    /// build of `unc` itself runs on no older system either.
    const NEEDED_WHERE_NEWER: &str = "stat64 fstat64 _dl_find_object";

    #[test]
    fn the_observer_needs_nothing_that_came_after_glibc_2_17() {
        use object::read::{Object, ObjectSymbol};
        let library = object::File::parse(BYTES).unwrap();
        let mut known: Vec<&str> = NEEDED.split_whitespace().collect();
        if glibc() >= (2, 33) {
            known.extend(NEEDED_WHERE_NEWER.split_whitespace());
        }
        let symbols = library.dynamic_symbols().filter(|symbol| symbol.is_undefined());
        let needed =
            symbols.filter(|symbol| !symbol.is_weak()).map(|symbol| symbol.name().unwrap());
        let unknown: Vec<&str> =
            needed.filter(|name| !name.is_empty() && !known.contains(name)).collect();
        assert!(unknown.is_empty(), "look up when glibc got these: {unknown:?}");
    }

    /// The version of the C library here.
    fn glibc() -> (u32, u32) {
        let output = std::process::Command::new("ldd").arg("--version").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap();
        let (major, minor) = version.split_once('.').unwrap();
        (major.parse().unwrap(), minor.parse().unwrap())
    }

    #[test]
    fn the_empty_library_is_one_for_32_bits() {
        use object::read::{Object, ObjectSymbolTable};
        let bytes: Vec<u8> = EMPTY.iter().flat_map(|word| word.to_le_bytes()).collect();
        let library = object::File::parse(&*bytes).unwrap();
        assert_eq!(library.architecture(), object::Architecture::I386);
        assert_eq!(library.kind(), object::ObjectKind::Dynamic);
        assert!(
            library.dynamic_symbol_table().is_none_or(|table| table.symbols().next().is_none())
        );
    }

    #[test]
    fn a_preloaded_library_of_the_user_stays() {
        let library = Library { path: "/x/observe.so".into(), _memory: None };
        assert_eq!(library.preload(None), "/x/observe.so");
        assert_eq!(library.preload(Some(OsStr::new("/y/malloc.so"))), "/y/malloc.so:/x/observe.so");
    }
}
