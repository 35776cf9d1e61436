//! The next definition of a symbol after ours, found in the tables of the loaded libraries.
//!
//! # Contract
//! [`next`] returns what `dlvsym(RTLD_NEXT, …)` does, but never allocates: before glibc 2.34 `dlsym` calls the
//! program's own allocator, which may lock a mutex, for which we would look up the next `pthread_mutex_lock`. It takes
//! the loader's lock on its list, so it is meant for the start of the program.
//! # Invariants
//! I1: a library that `dl_iterate_phdr` lists stays loaded during the callback, with the tables that its dynamic
//!     section names; the loader has checked them before.
//! I2: [`next`] owns what it passes to its callback, and there is no other reference to it until the call returns.
//! # Sources
//! ELF gABI: dynamic section, hash table; glibc, elf/dl-lookup.c: which versions of a symbol fit.

use libc::{Elf64_Phdr, Elf64_Sym, dl_phdr_info};
use std::ffi::{CStr, c_int, c_void};
use uncontended_events::symbols;

const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_GNU_HASH: usize = 0x6fff_fef5;
const DT_VERSYM: usize = 0x6fff_fff0;
const DT_VERDEF: usize = 0x6fff_fffc;

/// The symbol to find.
struct Wanted {
    name: &'static CStr,
    /// Empty for the default version.
    version: &'static CStr,
    /// Whether our own library has been passed.
    is_behind: bool,
    found: Option<usize>,
}

/// The address of the next function or variable called `name` after our own library: with this version, or in a library
/// without versions.
pub(crate) fn next(name: &'static CStr, version: &'static CStr) -> Option<usize> {
    let mut wanted = Wanted { name, version, is_behind: false, found: None };
    // SAFETY: a callback of the type (L9), and its argument lives as long (I2).
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut wanted).cast()) };
    wanted.found
}

unsafe extern "C" fn visit(info: *mut dl_phdr_info, _: usize, wanted: *mut c_void) -> c_int {
    // SAFETY: the loader's description, there until we return (I1).
    let info = unsafe { &*info };
    // SAFETY: what `next` passed (I2).
    let wanted = unsafe { &mut *wanted.cast::<Wanted>() };
    let base = info.dlpi_addr as usize;
    // SAFETY: the loader has the module's headers there (I1).
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    if !wanted.is_behind {
        wanted.is_behind = holds(base, headers, visit as *const () as usize);
    } else if let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) {
        let tables = Tables::of(base, base + dynamic.p_vaddr as usize);
        wanted.found = tables.and_then(|tables| tables.find(wanted.name, wanted.version));
    }
    c_int::from(wanted.found.is_some())
}

fn holds(base: usize, headers: &[Elf64_Phdr], address: usize) -> bool {
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let mut ranges = loaded.map(|header| (base + header.p_vaddr as usize, header.p_memsz as usize));
    ranges.any(|(start, length)| (start..start + length).contains(&address))
}

/// The addresses of a library's tables; 0 for a table that it lacks.
#[derive(Default)]
struct Tables {
    base: usize,
    hash: usize,
    gnu_hash: usize,
    symbols: usize,
    strings: usize,
    versions: usize,
    definitions: usize,
}

/// A value in a library's tables.
///
/// # Safety
/// There is a value of this type at the address (I1).
unsafe fn at<T: Copy>(address: usize) -> T {
    // SAFETY: by the contract, there is such a value (I1).
    unsafe { (address as *const T).read() }
}

impl Tables {
    fn of(base: usize, dynamic: usize) -> Option<Self> {
        let mut tables = Tables { base, ..Tables::default() };
        for entry in (dynamic..).step_by(16) {
            // SAFETY: the dynamic section ends with an entry of tag 0 (I1).
            let [tag, value]: [usize; 2] = unsafe { at(entry) };
            // The loader has turned them into addresses, but not in the kernel's own library (the vDSO).
            let address = if value < base { base + value } else { value };
            match tag {
                0 => break,
                DT_HASH => tables.hash = address,
                DT_GNU_HASH => tables.gnu_hash = address,
                DT_SYMTAB => tables.symbols = address,
                DT_STRTAB => tables.strings = address,
                DT_VERSYM => tables.versions = address,
                DT_VERDEF => tables.definitions = address,
                _ => {}
            }
        }
        (tables.symbols != 0 && tables.strings != 0).then_some(tables)
    }

    fn find(&self, name: &CStr, version: &CStr) -> Option<usize> {
        let fits = |&number: &usize| self.fits(number, name, version);
        // SAFETY: the words of that table, up to the last symbol of a bucket (I1).
        let word = |address| unsafe { at::<u32>(address) };
        let number = match (self.gnu_hash, self.hash) {
            (0, 0) => return None,
            // SAFETY: the second word of that table is the number of symbols (I1).
            (0, hash) => (1..unsafe { at::<u32>(hash + 4) } as usize).find(fits)?,
            (table, _) => symbols::candidates(table, name.to_bytes(), word).find(fits)?,
        };
        Some(self.base + self.symbol(number).st_value as usize)
    }

    fn symbol(&self, number: usize) -> Elf64_Sym {
        // SAFETY: both hash tables name symbols of this table (I1).
        unsafe { at(self.symbols + number * size_of::<Elf64_Sym>()) }
    }

    fn string(&self, offset: u32) -> &CStr {
        // SAFETY: strings of this table end in NUL (I1).
        unsafe { CStr::from_ptr((self.strings + offset as usize) as *const _) }
    }

    /// Whether the symbol is a function or a variable defined here, with this name and version.
    fn fits(&self, number: usize, name: &CStr, version: &CStr) -> bool {
        let symbol = self.symbol(number);
        let is_either = matches!(symbol.st_info & 15, 0..=2);
        if symbol.st_shndx == 0 || !is_either || self.string(symbol.st_name) != name {
            return false;
        }
        if self.versions == 0 {
            return true;
        }
        // SAFETY: that table has a version for each symbol (I1).
        let own: u16 = unsafe { at(self.versions + 2 * number) };
        symbols::version_fits(own, !version.is_empty(), |number| {
            // SAFETY: the list of definitions (I1); its fields are in native order.
            let word = |address| unsafe { at::<u32>(address) };
            let mut known = symbols::definitions(self.definitions, word);
            known.any(|(of, name)| of == number && self.string(name) == version)
        })
    }
}
