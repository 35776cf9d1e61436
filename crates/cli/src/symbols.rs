//! Names for addresses: function, file and line, and inlined frames, from ELF and DWARF.
//!
//! # Contract
//! An address without a name yields one frame with its module and address alone. Each file is opened once and each
//! address looked up once. A module is named from a file that is the one that ran: of the same build id or, where it
//! has none, of the same length, time and inode ([`wanted`]). Its path, files held open since they ran, and folders of
//! debug information are tried ([`find`]); if none is it, its functions have no names, and [`Symbols::mismatches`] says
//! why. Names that a trace kept come first. Compressed sections, split DWARF, shared debug information (`dwz`) and
//! `.gnu_debugdata` ([`mini`]) are supported.

mod calls;
mod find;
#[cfg(unc_full)]
mod keep;
mod mini;
mod variables;
mod wanted;

use calls::{Callee, Code};
#[cfg(unc_full)]
pub(crate) use find::demangled;
use find::{Places, Source};
use object::read::{Object, ObjectSegment};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use uncontended_report::aggregate::Symbols;
use uncontended_report::facts::{ModuleNames, NamedFrame};
use uncontended_report::run::{Frame, SymbolsMismatch};
use uncontended_trace::reader::ModuleRecord;
use variables::Variables;
use wanted::Wanted;

/// Looks up addresses in the files that they belong to.
#[derive(Default)]
pub(crate) struct ElfSymbols {
    places: Places,
    files: HashMap<Wanted, Rc<Result<Source, String>>>,
    frames: HashMap<(Wanted, u64), Vec<Frame>>,
    kept: HashMap<Wanted, HashMap<u64, Vec<NamedFrame>>>,
    /// The variables at addresses: those that a trace kept, and those that were looked up.
    at_variables: HashMap<(Wanted, u64), String>,
    mismatches: BTreeSet<SymbolsMismatch>,
    segments: HashMap<String, Vec<Segment>>,
    code: HashMap<Wanted, Option<Code>>,
    callees: HashMap<(Wanted, u64), Option<Frame>>,
    variables: HashMap<Wanted, Variables>,
}

impl Symbols for ElfSymbols {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        self.look_up(Wanted::any(module), address)
    }

    fn frames_of(&mut self, module: &ModuleRecord, address: u64) -> Vec<Frame> {
        self.look_up(Wanted::of(module), address)
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

    fn callee(&mut self, module: &ModuleRecord, address: u64) -> Option<Frame> {
        let key = (Wanted::of(module), address);
        if let Some(known) = self.callees.get(&key) {
            return known.clone();
        }
        let found = self.called_at(&key.0, address);
        self.callees.insert(key, found.clone());
        found
    }

    fn variable(&mut self, module: &ModuleRecord, address: u64) -> Option<String> {
        let key = (Wanted::of(module), address);
        if let Some(known) = self.at_variables.get(&key) {
            return Some(known.clone());
        }
        if !self.variables.contains_key(&key.0) {
            self.variables.insert(key.0.clone(), Variables::of(&key.0, &self.places));
        }
        let found = self.variables.get(&key.0)?.at(address)?;
        self.at_variables.insert(key, found.clone());
        Some(found)
    }

    fn called(&mut self, module: &str, program: &str) -> Option<String> {
        let (module, name) = (Path::new(module), Path::new(program).file_name()?);
        let link = module.with_file_name(name);
        let is_link =
            link != module && std::fs::canonicalize(&link).is_ok_and(|real| real == module);
        is_link.then(|| link.to_string_lossy().into_owned())
    }

    fn mismatches(&self) -> Vec<SymbolsMismatch> {
        self.mismatches.iter().cloned().collect()
    }
}

impl ElfSymbols {
    /// Looks in these folders too.
    pub(crate) fn new(debug_dirs: &[PathBuf]) -> Self {
        ElfSymbols { places: Places::new(debug_dirs), ..ElfSymbols::default() }
    }

    /// Names addresses by what a trace kept.
    pub(crate) fn with_names(mut self, names: &[ModuleNames]) -> Self {
        for module in names {
            let wanted = Wanted::of_names(module);
            let variables = module.variables.iter();
            let variables = variables.map(|(at, name)| ((wanted.clone(), *at), name.clone()));
            self.at_variables.extend(variables);
            self.kept.entry(wanted).or_default().extend(module.frames.iter().cloned());
        }
        self
    }

    /// The function to which the call before `address` goes: of the module, if a symbol begins there, or of another,
    /// which is not known. Where in it the program was is not known either.
    fn called_at(&mut self, wanted: &Wanted, address: u64) -> Option<Frame> {
        let code = self.code.entry(wanted.clone()).or_insert_with_key(Code::of);
        match code.as_ref()?.called_before(address)? {
            Callee::At(target) => {
                if !self.file(wanted).as_ref().as_ref().ok()?.has_symbol_at(target) {
                    return None;
                }
                // The frames of an address are those of the byte before it. The line is that of its first instruction.
                self.look_up(wanted.clone(), target + 1).pop()
            }
            Callee::Imported(name) => Some(Frame {
                function: Some(find::demangled(&name).into()),
                file: None,
                line: None,
                module: None,
                address: "".into(),
            }),
        }
    }

    fn look_up(&mut self, wanted: Wanted, address: u64) -> Vec<Frame> {
        let key = (wanted, address);
        if let Some(known) = self.frames.get(&key) {
            return known.clone();
        }
        let bare = Frame {
            function: None,
            file: None,
            line: None,
            module: (!key.0.path().is_empty()).then(|| key.0.path().into()),
            address: format!("{address:#x}").into(),
        };
        let mut frames = self.kept(&key.0, address, &bare);
        if frames.is_empty() {
            match &*self.file(&key.0) {
                Ok(source) => frames = source.look_up(address, &bare),
                Err(reason) => {
                    self.mismatches.extend(key.0.mismatch(reason));
                    frames.push(bare);
                }
            }
        }
        self.frames.insert(key, frames.clone());
        frames
    }

    /// The frames that a trace kept; none if it did not.
    fn kept(&self, wanted: &Wanted, address: u64, bare: &Frame) -> Vec<Frame> {
        let kept = self
            .kept
            .get(wanted)
            .and_then(|kept| kept.get(&address))
            .into_iter()
            .flatten()
            .cloned();
        let frame =
            |NamedFrame { function, file, line }| Frame { function, file, line, ..bare.clone() };
        kept.map(frame).collect()
    }

    /// The file of a module, opened once under any of its names: unpacking debug information may take long.
    fn file(&mut self, wanted: &Wanted) -> Rc<Result<Source, String>> {
        if let Some(file) = self.files.get(wanted) {
            return Rc::clone(file);
        }
        let real = wanted.at_real_path();
        let opened = self.files.entry(real).or_insert_with(|| Rc::new(self.places.open(wanted)));
        let file = Rc::clone(opened);
        self.files.insert(wanted.clone(), Rc::clone(&file));
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

impl Segment {
    /// Where in the file `count` bytes from `address` on are, if they are all in this part.
    fn offset_of(&self, address: u64, count: u64) -> Option<u64> {
        let before = address.checked_sub(self.address)?;
        let is_in = before.checked_add(count)? <= self.length;
        is_in.then(|| self.offset.checked_add(before)).flatten()
    }
}

fn segments(module: &Path) -> Vec<Segment> {
    let Ok(file) = File::open(module) else { return Vec::new() };
    let cache = object::ReadCache::new(file);
    object::File::parse(&cache).map_or_else(|_| Vec::new(), |object| segments_of(&object))
}

fn segments_of<'d>(object: &impl Object<'d>) -> Vec<Segment> {
    let segments = object.segments();
    let segment = segments.map(|segment| {
        let (offset, length) = segment.file_range();
        Segment { offset, length, address: segment.address() }
    });
    segment.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
            assert_eq!(&*frames[0].address, "0x1234");
            assert_eq!(frames[0].function, None);
        }
    }
}
