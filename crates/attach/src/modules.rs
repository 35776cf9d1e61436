//! The files that a program has mapped: as code, or to share memory.
//!
//! # Contract
//! [`Modules::look`] adds what is mapped now; what was mapped before stays known. Files are read as the program sees
//! them (`/proc/PID/root`), and without copying them as a whole.
//! # Sources
//! proc(5).

use crate::conditions::Use;
use crate::seed;
use crate::shared::Shared;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use uncontended_trace::layout::BUILD_ID;
use uncontended_trace::reader::{FileRecord, ModuleRecord};

/// A mapped file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Module {
    /// By which it can be opened from here, unless it is [`Module::open`].
    pub(crate) path: String,
    /// Where its code is.
    pub(crate) code: Range<u64>,
    /// Where in the file that begins.
    pub(crate) offset: u64,
    /// Where its first byte would be.
    pub(crate) base: u64,
    /// What the file says that its address is; none if it cannot be read.
    pub(crate) own: Option<u64>,
    /// Its build id; empty if it has none.
    pub(crate) build_id: Vec<u8>,
    /// What it looked like, if it has none.
    pub(crate) file: Option<FileRecord>,
    /// The functions in it that use condition variables, by what the file says that their addresses are.
    pub(crate) conditions: Vec<(Range<u64>, Use)>,
    /// Where in it code only leads to other files, likewise.
    pub(crate) stubs: Vec<Range<u64>>,
    /// The file, if it can be opened only as long as the process lives: it was deleted, or is not where we see it.
    pub(crate) open: Option<Arc<File>>,
}

impl Module {
    /// What is added to an address in the file.
    pub(crate) fn bias(&self) -> u64 {
        self.base.wrapping_sub(self.own.unwrap_or(0))
    }

    /// For a record.
    fn record(&self) -> ModuleRecord {
        ModuleRecord {
            path: self.path.clone(),
            bias: self.bias(),
            start: self.code.start,
            end: self.code.end,
            build_id: self.build_id.clone(),
            file: self.file,
        }
    }

    /// Its file.
    pub(crate) fn file(&self) -> Option<File> {
        match &self.open {
            Some(file) => file.try_clone().ok(),
            None => regular(Path::new(&self.path)),
        }
    }
}

/// The files of a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    /// By their start.
    pub(crate) known: BTreeMap<u64, Module>,
    /// What is mapped that other processes may map, too.
    pub(crate) shared: Shared,
    main: Option<String>,
}

impl Modules {
    /// Reads the list of the process `pid`, if its program is the one that it was and, after that, `is_still`. Whether
    /// there is a new file.
    pub(crate) fn look(&mut self, pid: u32, is_still: impl FnOnce() -> bool) -> bool {
        let pid = seed::living(pid);
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let main = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let main = main.map(|path| path.to_string_lossy().into_owned());
        let file = |path: &Option<String>| {
            path.as_ref().map(|path| path.trim_end_matches(" (deleted)").to_owned())
        };
        let is_another = self.main.is_some() && main.is_some() && file(&main) != file(&self.main);
        if is_another || !is_still() {
            return false;
        }
        self.main = self.main.take().or(main);
        self.shared.look(&maps);
        let mut is_new = false;
        let mut bases: BTreeMap<String, u64> = BTreeMap::new();
        for line in maps.lines().filter_map(Line::parse) {
            let base = *bases.entry(line.path.to_owned()).or_insert(line.range.start - line.offset);
            if !line.is_code
                || self.known.get(&line.range.start).is_some_and(|known| known.code == line.range)
            {
                continue;
            }
            let path = reachable(pid, line.path);
            let open = self.only_there(pid, &path, &line.range);
            let code = line.range;
            let module =
                Module { path, code, offset: line.offset, base, open, ..Module::default() };
            let start = module.code.start;
            self.known.insert(start, identified(module));
            is_new = true;
        }
        is_new
    }

    /// The file that is mapped at `range`, if it will be gone with the process, unless there are many.
    fn only_there(&self, pid: u32, path: &str, range: &Range<u64>) -> Option<Arc<File>> {
        const MOST: usize = 64;
        let mapped = format!("/proc/{pid}/map_files/{:x}-{:x}", range.start, range.end);
        let file = match regular(Path::new(path)) {
            Some(file) => Some(file).filter(|_| path.starts_with("/proc/")),
            None => regular(Path::new(&mapped)),
        };
        let opened = self.known.values().filter(|module| module.open.is_some()).count();
        file.filter(|_| opened < MOST).map(Arc::new)
    }

    /// The file whose code is at `address`.
    pub(crate) fn of(&self, address: u64) -> Option<&Module> {
        let below = self.known.range(..=address).next_back()?.1;
        below.code.contains(&address).then_some(below)
    }

    /// All of them, for a record.
    pub(crate) fn records(&self) -> Vec<ModuleRecord> {
        self.known.values().map(Module::record).collect()
    }

    /// That which the call before the return address `frame` is in.
    pub(crate) fn record_of(&self, frame: u64) -> Option<ModuleRecord> {
        self.of(frame.wrapping_sub(1)).map(Module::record)
    }

    /// How many of a call chain's frames are the lock's own functions: those in the file of the innermost one. In a
    /// program that is one file, two of them count as such.
    pub(crate) fn leading(&self, chain: &[u64]) -> usize {
        const IN_PROGRAM: usize = 2;
        let file = |frame: &u64| self.of(frame.wrapping_sub(1)).map(|module| &module.path);
        let first = chain.first().and_then(file);
        let count = chain.iter().take_while(|frame| file(frame) == first).count();
        if first.is_some_and(|path| self.is_main(path)) { count.min(IN_PROGRAM) } else { count }
    }

    fn is_main(&self, path: &str) -> bool {
        self.main.as_deref().is_some_and(|main| path.ends_with(main))
    }

    /// The start and the length of the program's own code, and of all else.
    pub(crate) fn ranges(&self) -> [u64; 4] {
        let is_main = |module: &&Module| self.is_main(&module.path);
        let of = |modules: Vec<&Module>| {
            let start = modules.iter().map(|module| module.code.start).min().unwrap_or(0);
            let end = modules.iter().map(|module| module.code.end).max().unwrap_or(0);
            [start, end - start]
        };
        let (main, others) = self.known.values().partition(is_main);
        let ([a, b], [c, d]) = (of(main), of(others));
        [a, b, c, d]
    }
}

/// A line of the list.
struct Line<'a> {
    range: Range<u64>,
    is_code: bool,
    offset: u64,
    path: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let mut fields = line.splitn(6, ' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let is_code = fields.next()?.contains('x');
        let offset = hex(fields.next()?)?;
        let path = fields.nth(2)?.trim_start();
        let range = hex(from)?..hex(to)?;
        path.starts_with('/').then_some(Line { range, is_code, offset, path })
    }
}

/// A name by which we can open what the process calls `path`.
fn reachable(pid: u32, path: &str) -> String {
    let theirs = format!("/proc/{pid}/root{path}");
    let file = |path: &str| std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
    match (file(path), file(&theirs)) {
        (Some(ours), Some(other)) if ours != other => theirs,
        (None, Some(_)) => theirs,
        _ => path.to_owned(),
    }
}

/// The module with what its file says of itself. One that has been replaced has another name in the list, so this is
/// the one that is mapped.
fn identified(module: Module) -> Module {
    let Some(Module { own, build_id, file, conditions, stubs, .. }) =
        module.file().and_then(identity)
    else {
        return module;
    };
    Module { own, build_id, file, conditions, stubs, ..module }
}

fn identity(file: File) -> Option<Module> {
    let facts = file.metadata().ok()?;
    let cache = object::ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let id = object.build_id().ok().flatten().filter(|id| id.len() <= BUILD_ID);
    let looks = FileRecord {
        bytes: facts.len(),
        modified_ns: (facts.mtime() as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(facts.mtime_nsec() as u64),
        inode: facts.ino(),
    };
    let build_id = id.map(<[u8]>::to_vec).unwrap_or_default();
    let stubs = [".plt", ".plt.sec", ".plt.got"].into_iter();
    let stubs = stubs.filter_map(|name| object.section_by_name(name));
    Some(Module {
        own: start(&object),
        file: build_id.is_empty().then_some(looks),
        build_id,
        conditions: conditions(&object),
        stubs: stubs.map(|stub| stub.address()..stub.address() + stub.size()).collect(),
        ..Module::default()
    })
}

/// The functions that use conditions. A library exports them; a program without libraries has symbols, or none.
fn conditions<'d>(object: &impl object::Object<'d>) -> Vec<(Range<u64>, Use)> {
    let is_alone = object.dynamic_symbols().next().is_none();
    let symbols = is_alone.then(|| object.symbols()).into_iter().flatten();
    let functions = object.dynamic_symbols().chain(symbols).filter_map(|symbol| {
        let use_ = Use::of(symbol.name_bytes().ok()?)?;
        (symbol.size() > 0).then(|| (symbol.address()..symbol.address() + symbol.size(), use_))
    });
    functions.collect()
}

/// What unwinding needs of a file.
pub(crate) struct Sections {
    /// The address in the file of its first byte.
    pub(crate) start: u64,
    /// Address and bytes of a section by name.
    found: BTreeMap<&'static str, (Range<u64>, Vec<u8>)>,
}

impl Sections {
    /// Reads them from a file.
    pub(crate) fn read(file: File) -> Option<Self> {
        const NAMES: [&str; 4] = [".text", ".eh_frame", ".eh_frame_hdr", ".debug_frame"];
        let cache = object::ReadCache::new(file);
        let object = object::File::parse(&cache).ok()?;
        let section = |name: &'static str| {
            let section = object.section_by_name(name)?;
            let range = section.address()..section.address() + section.size();
            // Of the code, the place suffices.
            let bytes = if name == ".text" {
                Vec::new()
            } else {
                section.uncompressed_data().ok()?.into_owned()
            };
            Some((name, (range, bytes)))
        };
        Some(Sections {
            start: start(&object)?,
            found: NAMES.into_iter().filter_map(section).collect(),
        })
    }

    /// Where a section is.
    pub(crate) fn place(&self, name: &str) -> Option<Range<u64>> {
        self.found.get(name).map(|(range, _)| range.clone())
    }

    /// Its bytes.
    pub(crate) fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        self.found.get_mut(name).map(|(_, bytes)| std::mem::take(bytes))
    }
}

fn regular(path: &Path) -> Option<File> {
    File::open(path).ok().filter(|file| file.metadata().is_ok_and(|facts| facts.is_file()))
}

fn start<'d>(object: &impl object::Object<'d>) -> Option<u64> {
    let first = object.segments().min_by_key(|segment| segment.address())?;
    Some(first.address().wrapping_sub(first.file_range().0))
}

#[cfg(test)]
impl Modules {
    /// These files.
    pub(crate) fn of_files(modules: impl IntoIterator<Item = Module>) -> Self {
        let known = modules.into_iter().map(|module| (module.code.start, module));
        Modules { known: known.collect(), ..Modules::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_program_and_its_libraries_are_found() {
        let mut modules = Modules::default();
        assert!(modules.look(std::process::id(), || true));
        assert!(!modules.look(std::process::id(), || true), "nothing is new");
        assert!(!Modules::default().look(std::process::id(), || false), "it is another program");
        let here = our_own_program_and_its_libraries_are_found as *const () as u64;
        let [start, length, libraries, size] = modules.ranges();
        assert!((start..start + length).contains(&here));
        assert!(libraries > 0 && size > 0);
        let module = modules.known.values().find(|module| module.code.contains(&here)).unwrap();
        let sections = Sections::read(module.file().unwrap()).unwrap();
        let text = sections.place(".text").unwrap();
        assert!(text.contains(&(here - (module.base - sections.start))));
    }

    #[test]
    fn lines_without_a_file_are_left_out() {
        assert!(Line::parse("7f00-7f10 r-xp 00000000 00:00 0").is_none());
        assert!(Line::parse("7f00-7f10 r-xp 00000000 00:00 0      [vdso]").is_none());
        let line = Line::parse("7f00-7f10 r-xp 00000800 08:01 12   /a name with spaces").unwrap();
        assert_eq!(
            (line.range, line.offset, line.path),
            (0x7f00..0x7f10, 0x800, "/a name with spaces")
        );
    }
}
