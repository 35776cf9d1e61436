//! Where a module's names are: in its own file, or in separate debug information.
//!
//! # Contract
//! [`Places::open`] takes nothing from a file that is not the one wanted. Debug information comes from that file, else
//! from the separate one that its build id or its debug link names; where the file itself is gone or another, from the
//! one that the wanted build id names. A debug link is followed if the build ids agree or, without them, its checksum.
//! A file of the same name and build id in one of the folders has the names of one that was stripped.
//! # Sources
//! "Separate Debug Files" in the GDB manual, for where such files lie, and for the checksum.

use super::mini::Mini;
use super::wanted::{Wanted, hex};
use addr2line::Loader;
use object::read::{Object, ObjectSection, ReadCache};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uncontended_report::run::Frame;

const DEBUG_ROOT: &str = "/usr/lib/debug";
const NO_MODULE: &str = "the file is neither a program nor a library";

/// Where to look.
pub(super) struct Places {
    roots: Vec<PathBuf>,
    /// Files that are open since before they ran, or while they did.
    pub(super) held: Vec<File>,
}

impl Default for Places {
    fn default() -> Self {
        Places::new(&[])
    }
}

/// The names in a file.
pub(super) struct Source {
    loader: Loader,
    mini: Option<Mini>,
}

impl Places {
    /// In these folders, and where the system has debug information.
    pub(super) fn new(debug_dirs: &[PathBuf]) -> Self {
        let roots = debug_dirs.iter().cloned().chain([DEBUG_ROOT.into()]).collect();
        Places { roots, held: Vec::new() }
    }

    /// The names of a module.
    ///
    /// # Errors
    /// There is no file with them; why, in words.
    pub(super) fn open(&self, wanted: &Wanted) -> Result<Source, String> {
        let own = Path::new(wanted.path());
        let reason = match self.open_if(wanted, own, own) {
            Ok(source) => return Ok(source),
            Err(reason) => reason,
        };
        if wanted.is_any() {
            return Err(reason); // Elsewhere, only what is known to be it will do.
        }
        let mut others = self.held_files().chain(self.moved(own));
        let found = others.find_map(|path| self.open_if(wanted, &path, own).ok());
        let by_id = || self.by_id(wanted.build_id()?);
        let found =
            found.or_else(|| by_id().and_then(|path| load(&path, self.shared(&path), None)));
        found.ok_or(reason)
    }

    /// Where the file at `own` may be in the folders.
    fn moved(&self, own: &Path) -> impl Iterator<Item = PathBuf> {
        let name = own.file_name().unwrap_or_default();
        self.roots.iter().flat_map(move |root| [root.join(relative(own)), root.join(name)])
    }

    /// What one of the files of a module tells, that with its own path first; none if no file is it, or none tells.
    pub(super) fn in_any<T>(
        &self,
        wanted: &Wanted,
        read: impl Fn(&object::File<'_, &ReadCache<File>>) -> Option<T>,
    ) -> Option<T> {
        let own = Path::new(wanted.path());
        let is_elsewhere = !wanted.is_any();
        let by_id = wanted.build_id().and_then(|id| self.by_id(id));
        let others = self.held_files().chain(self.moved(own)).chain(by_id);
        let others = others.filter(|_| is_elsewhere);
        let mut paths = std::iter::once(own.to_owned()).chain(others);
        paths.find_map(|path| in_file(wanted, &path, &read))
    }

    /// What the file with the debug information of a module tells, if its own file is still there.
    pub(super) fn in_apart<T>(
        &self,
        wanted: &Wanted,
        read: impl FnOnce(&object::File<'_, &ReadCache<File>>) -> Option<T>,
    ) -> Option<T> {
        let own = Path::new(wanted.path());
        let path = in_file(wanted, own, |object| self.debug_file(own, object))?;
        let cache = ReadCache::new(regular(&path).ok()?.0);
        read(&object::File::parse(&cache).ok()?)
    }

    /// The files that are held open.
    fn held_files(&self) -> impl Iterator<Item = PathBuf> {
        let held = self.held.iter().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
        held.map(PathBuf::from)
    }

    /// The names in the file at `path`, and in what belongs to it, if it is the one wanted, which was at `own`.
    fn open_if(&self, wanted: &Wanted, path: &Path, own: &Path) -> Result<Source, String> {
        let (file, facts) = regular(path)?;
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache).map_err(|_| NO_MODULE)?;
        if let Some(differs) = wanted.differs(&object, &facts) {
            return Err(differs);
        }
        let has_own = object.section_by_name(".debug_info").is_some_and(|info| info.size() > 0);
        let apart = if has_own { None } else { self.debug_file(own, &object) };
        let mini = if has_own { None } else { Mini::of(&object) };
        drop(object);
        let apart = apart.and_then(|apart| load(&apart, self.shared(&apart), None));
        let source = apart.or_else(|| load(path, self.shared(path), mini));
        source.ok_or_else(|| "its debug information cannot be read".into())
    }

    /// The file with the debug information of the object at `module`.
    fn debug_file<'d>(&self, module: &Path, object: &impl Object<'d>) -> Option<PathBuf> {
        let id = object.build_id().ok().flatten();
        if let Some(path) = id.and_then(|id| self.by_id(id)) {
            return Some(path);
        }
        self.linked(module, object, id).or_else(|| {
            let is_whole = |path: &PathBuf| path != module && has_names(path, id);
            self.moved(module).find(is_whole)
        })
    }

    /// The file that the object at `module` names in its debug link.
    fn linked<'d>(
        &self,
        module: &Path,
        object: &impl Object<'d>,
        id: Option<&[u8]>,
    ) -> Option<PathBuf> {
        let (name, checksum) = object.gnu_debuglink().ok().flatten()?;
        let folder = module.parent()?;
        let rooted = self.roots.iter().map(|root| root.join(relative(folder)));
        [folder.to_owned(), folder.join(".debug")]
            .into_iter()
            .chain(rooted)
            .map(|folder| folder.join(OsStr::from_bytes(name)))
            .find(|path| path != module && is_linked(path, id, checksum))
    }

    /// The file of that build id.
    fn by_id(&self, id: &[u8]) -> Option<PathBuf> {
        let name = hex(id);
        let (folder, rest) = name.split_at_checked(2).filter(|(_, rest)| !rest.is_empty())?;
        let mut places = self.roots.iter().flat_map(|root| {
            let folder = root.join(".build-id").join(folder);
            [folder.join(format!("{rest}.debug")), folder.join(rest)]
        });
        places.find(|path| id_of(path).is_some_and(|theirs| theirs == id))
    }

    /// The file to which `dwz` moved what several files have in common.
    fn shared(&self, path: &Path) -> Option<PathBuf> {
        let cache = ReadCache::new(regular(path).ok()?.0);
        let object = object::File::parse(&cache).ok()?;
        let (name, id) = object.gnu_debugaltlink().ok().flatten()?;
        let named = fs::canonicalize(path).ok()?.parent()?.join(OsStr::from_bytes(name));
        let is_it = |path: &PathBuf| id_of(path).is_some_and(|theirs| theirs == id);
        Some(named).filter(is_it).or_else(|| self.by_id(id))
    }
}

/// The names in the file at `path`, and in the one that it shares debug information with.
fn load(path: &Path, shared: Option<PathBuf>, mini: Option<Mini>) -> Option<Source> {
    let with = shared.and_then(|shared| Loader::new_with_sup(path, Some(shared)).ok());
    let loader = with.or_else(|| Loader::new(path).ok())?;
    Some(Source { loader, mini })
}

/// A path below a root.
fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// An open file that is not a device or a pipe, which could block.
fn regular(path: &Path) -> Result<(File, Metadata), String> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "the file is gone".to_owned(),
        _ => format!("the file cannot be read ({error})"),
    };
    let facts = fs::metadata(path).map_err(unreadable)?;
    if !facts.is_file() {
        return Err(NO_MODULE.into());
    }
    Ok((File::open(path).map_err(unreadable)?, facts))
}

fn id_of(path: &Path) -> Option<Vec<u8>> {
    let cache = ReadCache::new(regular(path).ok()?.0);
    let object = object::File::parse(&cache).ok()?;
    object.build_id().ok().flatten().map(<[u8]>::to_vec)
}

/// Whether the file has symbols and that build id.
fn has_names(path: &Path, id: Option<&[u8]>) -> bool {
    let names = || {
        let cache = ReadCache::new(regular(path).ok()?.0);
        let object = object::File::parse(&cache).ok()?;
        let is_it = id.is_some() && object.build_id().ok().flatten() == id;
        Some(is_it && object.symbols().next().is_some())
    };
    names() == Some(true)
}

/// Reads from a module's own file, if that is still there.
pub(super) fn in_own_file<T>(
    wanted: &Wanted,
    read: impl FnOnce(&object::File<'_, &ReadCache<File>>) -> Option<T>,
) -> Option<T> {
    in_file(wanted, Path::new(wanted.path()), read)
}

/// Reads from the file at `path`, if that is the one wanted.
fn in_file<T>(
    wanted: &Wanted,
    path: &Path,
    read: impl FnOnce(&object::File<'_, &ReadCache<File>>) -> Option<T>,
) -> Option<T> {
    let (file, facts) = regular(path).ok()?;
    let cache = ReadCache::new(file);
    let module = object::File::parse(&cache).ok()?;
    if wanted.differs(&module, &facts).is_some() {
        return None;
    }
    read(&module)
}

/// Whether a file is the one that a debug link with this checksum means, in a module with this build id.
fn is_linked(path: &Path, id: Option<&[u8]>, checksum: u32) -> bool {
    match (id, id_of(path)) {
        (Some(id), Some(theirs)) => id == theirs,
        _ => checksum_of(path) == Some(checksum),
    }
}

/// For each byte, what it does to a CRC-32.
const TABLE: [u32; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// CRC-32 of a file's bytes.
fn checksum_of(path: &Path) -> Option<u32> {
    let (mut file, _) = regular(path).ok()?;
    let (mut sum, mut room) = (!0_u32, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut room).ok()?;
        if read == 0 {
            return Some(!sum);
        }
        let step = |sum: u32, byte: &u8| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)];
        sum = room[..read].iter().fold(sum, step);
    }
}

/// A symbol as its source has it. C's are left alone: `m` is a type to a reader of C++'s names.
pub(crate) fn demangled(name: &str) -> String {
    match is_mangled(name) {
        true => addr2line::demangle_auto(name.into(), None).into_owned(),
        false => name.to_owned(),
    }
}

/// Whether a name is that of a symbol, with all that the function is in.
fn is_mangled(name: &str) -> bool {
    ["_Z", "_R"].iter().any(|start| name.starts_with(start))
}

/// Whether `symbol` tells the class of the function that DWARF calls `name`, without it: so GCC calls the operator of a
/// lambda, and what the library makes for it.
fn is_of_class(symbol: &str, name: &str) -> bool {
    let own = name.split('<').next().unwrap_or(name);
    let is_one = own.len() < name.len() || own.starts_with("operator") || own.starts_with('_');
    is_one && symbol.contains(&format!("::{own}"))
}

impl Source {
    /// Whether a symbol begins at `address`.
    pub(super) fn has_symbol_at(&self, address: u64) -> bool {
        self.loader.find_symbol_info(address).is_some_and(|symbol| symbol.address() == address)
    }

    /// The frames at `address`, innermost first; the symbol table's name if DWARF has none or not the class.
    pub(super) fn look_up(&self, address: u64, bare: &Frame) -> Vec<Frame> {
        // A return address belongs to the call before it.
        let probe = address.saturating_sub(1);
        let (mut frames, mut is_whole) = (Vec::new(), false);
        if let Ok(mut found) = self.loader.find_frames(probe) {
            while let Ok(Some(frame)) = found.next() {
                let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
                is_whole = name.is_some_and(|name| is_mangled(&name));
                let function = frame.function.and_then(|name| Some(name.demangle().ok()?.into()));
                let (source, line) =
                    frame.location.map_or((None, None), |at| (at.file.map(Arc::from), at.line));
                frames.push(Frame { function, file: source, line, ..bare.clone() });
            }
        }
        if frames.is_empty() {
            frames.push(bare.clone());
        }
        if let Some(outer) = frames.last_mut().filter(|_| !is_whole) {
            let mini = self.mini.as_ref().and_then(|mini| mini.name(probe));
            let symbol = mini.or_else(|| self.loader.find_symbol(probe)).map(demangled);
            let of = outer.function.take();
            let is_its = |symbol: &String| of.as_ref().is_none_or(|of| is_of_class(symbol, of));
            outer.function = symbol.filter(is_its).map(Arc::from).or_else(|| of.clone());
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_c_are_left_alone() {
        assert_eq!(["m", "f", "main", "_start"].map(demangled), ["m", "f", "main", "_start"]);
        assert_eq!(demangled("_ZNSt5mutex4lockEv"), "std::mutex::lock()");
        assert!(demangled("_RNvC6_123foo3bar").ends_with("bar"));
        assert_eq!(demangled("_ZN3app4LOCK17h0123456789abcdefE"), "app::LOCK");
    }

    #[test]
    fn a_symbol_tells_the_class_of_a_function_without_one() {
        let run = "std::thread::_State_impl<main::{lambda()#1}>::_M_run()";
        assert!(is_of_class(run, "_M_run"));
        assert!(is_of_class("main::{lambda()#1}::operator()() const", "operator()"));
        assert!(is_of_class(
            "void std::__invoke<main::{lambda()#1}>()",
            "__invoke<main()::<lambda()> >"
        ));
        for (symbol, name) in
            [(run, "operator()"), ("shop::open(int)", "open"), ("_start", "_start")]
        {
            assert!(!is_of_class(symbol, name), "{symbol} {name}");
        }
    }

    #[test]
    fn the_checksum_of_a_debug_link_is_a_crc_32() {
        let folder = uncontended_testkit::Folder::new();
        let file = folder.file("file");
        fs::write(&file, "123456789").unwrap();
        assert_eq!(checksum_of(Path::new(&file)), Some(0xcbf4_3926));
        assert_eq!(checksum_of(Path::new("/dev/zero")), None);
    }
}
