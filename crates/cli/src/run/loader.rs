//! A program that is started through its loader: `/lib64/ld-linux-x86-64.so.2 ./program`.
//!
//! # Contract
//! [`loaded`] is the file whose code runs: the argument of glibc's loader, if that is the file to execute.
//! # Sources
//! ld.so(8): its options. glibc, `elf/rtld.c`.

use object::{Object, ObjectSymbol};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The loader's options that take the next word.
const WITH_VALUES: [&str; 7] = [
    "--library-path",
    "--inhibit-rpath",
    "--audit",
    "--preload",
    "--argv0",
    "--glibc-hwcaps-prepend",
    "--glibc-hwcaps-mask",
];
/// What glibc's loader alone offers to libraries.
const OWN: &[u8] = b"_rtld_global_ro";

/// The program that runs when `file` is executed with these arguments. The loader looks up names without a slash
/// elsewhere: such a one is not found.
pub(crate) fn loaded(file: &Path, arguments: &[OsString]) -> PathBuf {
    let named = if is_loader(file) { named(arguments) } else { None };
    named.filter(|program| program.is_file()).unwrap_or_else(|| file.to_owned())
}

fn named(arguments: &[OsString]) -> Option<PathBuf> {
    let mut words = arguments.iter();
    loop {
        let word = words.next()?;
        if WITH_VALUES.iter().any(|option| word == option) {
            words.next();
        } else if !word.as_bytes().starts_with(b"--") {
            return Some(word.into());
        }
    }
}

/// Whether the file is glibc's loader.
fn is_loader(file: &Path) -> bool {
    let has_own = || {
        let cache = object::ReadCache::new(std::fs::File::open(file).ok()?);
        let library = object::File::parse(&cache).ok()?;
        let is_own = |symbol: object::Symbol<'_, '_, _>| {
            symbol.is_definition() && symbol.name_bytes() == Ok(OWN)
        };
        Some(library.dynamic_symbols().any(is_own))
    };
    has_own() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::ObjectSection;

    #[test]
    fn a_loader_loads_the_first_word_that_is_no_option() {
        let shell = std::fs::read("/bin/sh").unwrap();
        let shell = object::File::parse(&*shell).unwrap();
        let loader = shell.section_by_name(".interp").unwrap().data().unwrap();
        let loader = PathBuf::from(std::str::from_utf8(loader).unwrap().trim_end_matches('\0'));
        let words = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (arguments, expected) in [
            ("/bin/sh -c x", "/bin/sh"),
            ("--library-path /x --inhibit-cache --argv0 y /bin/sh", "/bin/sh"),
            ("--help", loader.to_str().unwrap()),
            ("/nowhere", loader.to_str().unwrap()),
        ] {
            assert_eq!(loaded(&loader, &words(arguments)), Path::new(expected), "{arguments}");
        }
        assert_eq!(loaded(Path::new("/bin/sh"), &words("/bin/ls")), Path::new("/bin/sh"));
        assert_eq!(loaded(Path::new("/nowhere"), &words("/bin/ls")), Path::new("/nowhere"));
    }
}
