//! Names for addresses: function, file and line, and inlined frames, from ELF and DWARF.
//!
//! # Contract
//! An address without a name yields one frame with its module and address alone. Each file is opened once and each
//! address looked up once. Debug information comes from the file itself, else from the separate file that its build id
//! or debug link names. Compressed sections and split DWARF are supported; a `.gnu_debugdata` section is not.
//! # Sources
//! "Separate Debug Files" in the GDB manual, for where such files lie.

use addr2line::Loader;
use object::read::{Object, ObjectSection, ObjectSegment};
use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use uncontended_report::aggregate::Symbols;
use uncontended_report::run::Frame;

const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Looks up addresses in the files that they belong to.
#[derive(Default)]
pub(crate) struct ElfSymbols {
    files: HashMap<String, Rc<Option<Loader>>>,
    frames: HashMap<(String, u64), Vec<Frame>>,
    segments: HashMap<String, Vec<Segment>>,
    callees: HashMap<(String, u64), Option<Frame>>,
}

impl Symbols for ElfSymbols {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        let key = (module.to_owned(), address);
        if let Some(known) = self.frames.get(&key) {
            return known.clone();
        }
        let file = self.file(module);
        let bare = Frame {
            function: None,
            file: None,
            line: None,
            module: (!module.is_empty()).then(|| module.to_owned()),
            address: format!("{address:#x}"),
        };
        let frames =
            file.as_ref().as_ref().map(|file| look_up(file, address, &bare)).unwrap_or_default();
        let frames = if frames.is_empty() { vec![bare] } else { frames };
        self.frames.insert(key, frames.clone());
        frames
    }

    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame> {
        let segments =
            self.segments.entry(module.to_owned()).or_insert_with(|| segments(Path::new(module)));
        let holds = |segment: &&Segment| {
            (segment.offset..segment.offset + segment.length).contains(&offset)
        };
        let address = segments
            .iter()
            .find(holds)
            .map_or(offset, |segment| segment.address + (offset - segment.offset));
        self.frames(module, address)
    }

    fn callee(&mut self, module: &str, address: u64) -> Option<Frame> {
        let key = (module.to_owned(), address);
        if let Some(known) = self.callees.get(&key) {
            return known.clone();
        }
        let found = self.called_at(module, address);
        self.callees.insert(key, found.clone());
        found
    }

    fn called(&mut self, module: &str, program: &str) -> Option<String> {
        let (module, name) = (Path::new(module), Path::new(program).file_name()?);
        let link = module.with_file_name(name);
        let is_link = link != module && fs::canonicalize(&link).is_ok_and(|real| real == module);
        is_link.then(|| link.to_string_lossy().into_owned())
    }
}

impl ElfSymbols {
    /// The function of `module` to which the call before `address` goes, if a symbol of it begins there. Calls of other
    /// modules go through a table, where no symbol begins.
    fn called_at(&mut self, module: &str, address: u64) -> Option<Frame> {
        const CALL: u64 = 5; // An opcode, and the distance from the next instruction.
        if cfg!(not(target_arch = "x86_64")) {
            return None;
        }
        let at = address.checked_sub(CALL)?;
        let segments =
            self.segments.entry(module.to_owned()).or_insert_with(|| segments(Path::new(module)));
        let segment = segments.iter().find(|segment| {
            (segment.address..segment.address.saturating_add(segment.length)).contains(&at)
        })?;
        let mut code = [0; CALL as usize];
        let file = fs::File::open(module).ok()?;
        file.read_exact_at(&mut code, segment.offset + (at - segment.address)).ok()?;
        let [0xe8, distance @ ..] = code else { return None };
        let target = address.wrapping_add_signed(i32::from_le_bytes(distance).into());
        let symbols = self.file(module);
        let symbol = symbols.as_ref().as_ref()?.find_symbol_info(target)?;
        if symbol.address() != target {
            return None;
        }
        // The frames of an address are those of the byte before it. Where in the function it was is not known.
        let outer = self.frames(module, target + 1).pop()?;
        Some(Frame { line: None, ..outer })
    }

    /// The file of that name, opened once under any of its names: unpacking debug information may take long.
    fn file(&mut self, module: &str) -> Rc<Option<Loader>> {
        if let Some(file) = self.files.get(module) {
            return Rc::clone(file);
        }
        let real = fs::canonicalize(module).unwrap_or_else(|_| module.into());
        let real = real.to_string_lossy().into_owned();
        let opened = self.files.entry(real).or_insert_with(|| Rc::new(open(Path::new(module))));
        let file = Rc::clone(opened);
        self.files.insert(module.to_owned(), Rc::clone(&file));
        file
    }
}

/// A part of a file and its address.
#[derive(Debug)]
struct Segment {
    offset: u64,
    length: u64,
    address: u64,
}

fn segments(module: &Path) -> Vec<Segment> {
    let Ok(file) = fs::File::open(module) else { return Vec::new() };
    let cache = object::ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return Vec::new() };
    let segment = |segment: object::Segment<'_, '_, _>| {
        let (offset, length) = segment.file_range();
        Segment { offset, length, address: segment.address() }
    };
    object.segments().map(segment).collect()
}

/// The frames at `address`, innermost first; the symbol table's name if DWARF has none.
fn look_up(file: &Loader, address: u64, bare: &Frame) -> Vec<Frame> {
    // A return address belongs to the call before it.
    let probe = address.saturating_sub(1);
    let mut frames = Vec::new();
    if let Ok(mut found) = file.find_frames(probe) {
        while let Ok(Some(frame)) = found.next() {
            let function = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
            let (source, line) =
                frame.location.map_or((None, None), |at| (at.file.map(str::to_owned), at.line));
            frames.push(Frame { function, file: source, line, ..bare.clone() });
        }
    }
    if frames.is_empty() {
        frames.push(bare.clone());
    }
    if let Some(outer) = frames.last_mut().filter(|frame| frame.function.is_none()) {
        outer.function = file
            .find_symbol(probe)
            .map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
    }
    frames
}

/// Opens the file with the debug information of `module`, or `module` itself if there is no separate one.
fn open(module: &Path) -> Option<Loader> {
    let bytes = fs::File::open(module).ok()?;
    if !bytes.metadata().ok()?.is_file() {
        return None;
    }
    let cache = object::ReadCache::new(bytes);
    let object = object::File::parse(&cache).ok()?;
    let own = object.section_by_name(".debug_info").is_some_and(|section| section.size() > 0);
    let apart = if own { None } else { debug_file(module, &object) };
    drop(object);
    apart.and_then(|path| Loader::new(path).ok()).or_else(|| Loader::new(module).ok())
}

fn debug_file<'data>(module: &Path, object: &impl Object<'data>) -> Option<PathBuf> {
    let by_id = object.build_id().ok().flatten().filter(|id| id.len() > 2).map(|id| {
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Path::new(DEBUG_ROOT).join(".build-id").join(&hex[..2]).join(format!("{}.debug", &hex[2..]))
    });
    if let Some(path) = by_id.filter(|path| path.is_file()) {
        return Some(path);
    }
    let (name, _) = object.gnu_debuglink().ok().flatten()?;
    let name = Path::new(std::ffi::OsStr::from_bytes(name));
    let folder = module.parent()?;
    let rooted = Path::new(DEBUG_ROOT).join(folder.strip_prefix("/").unwrap_or(folder));
    [folder.to_owned(), folder.join(".debug"), rooted]
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file() && path != module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn here() -> u64 {
        let bias = own_bias();
        (here as *const () as u64) - bias + 2
    }

    /// Where this test program is loaded, from the kernel's own list.
    fn own_bias() -> u64 {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap()
    }

    #[test]
    fn a_file_has_the_name_by_which_it_was_called() {
        let folder = uncontended_testkit::Folder::new();
        let real = fs::canonicalize(folder.path()).unwrap().join("check-db");
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink("check-db", folder.path().join("server")).unwrap();
        let called = |program: &str| ElfSymbols::default().called(real.to_str().unwrap(), program);
        let link = real.with_file_name("server").to_str().map(str::to_owned);
        assert_eq!([called("server"), called("/usr/bin/server")], [link.clone(), link]);
        assert_eq!([called("check-db"), called("other"), called("")], [None, None, None]);
    }

    #[test]
    fn a_function_of_this_test_has_its_name_file_and_line() {
        let module = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let frames = ElfSymbols::default().frames(&module, here());
        let outer = frames.last().unwrap();
        assert!(
            outer.function.as_ref().is_some_and(|name| name.contains("symbols::tests::here")),
            "{frames:?}"
        );
        if !cfg!(debug_assertions) {
            uncontended_testkit::skip!("files and lines of functions", "no debug information");
            return;
        }
        assert!(outer.file.as_ref().is_some_and(|file| file.ends_with("symbols.rs")), "{frames:?}");
        assert!(outer.line.is_some());
    }

    #[test]
    fn what_has_no_name_keeps_its_address() {
        let mut symbols = ElfSymbols::default();
        for module in ["", "[vdso]", "/no/such/file", "/etc/passwd", "/dev/zero"] {
            let frames = symbols.frames(module, 0x1234);
            assert_eq!(frames.len(), 1);
            assert_eq!(frames[0].address, "0x1234");
            assert_eq!(frames[0].function, None);
        }
    }

    #[test]
    fn names_of_cpp_and_rust_are_readable() {
        let readable = |name: &str| addr2line::demangle_auto(name.into(), None).into_owned();
        assert_eq!(readable("_ZNSt5mutex4lockEv"), "std::mutex::lock()");
        assert!(readable("_RNvC6_123foo3bar").ends_with("bar"));
        assert_eq!(readable("main"), "main");
    }
}
