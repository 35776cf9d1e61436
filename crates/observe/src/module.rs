//! The loaded program and libraries: which one contains an address, and where its call frame information is.
//!
//! # Contract
//! [`find`] asks the loader through `_dl_find_object`, which takes no lock. Where the C library lacks that (before
//! glibc 2.35), it asks the kernel and keeps the answer in a table: the loader's other interfaces take its lock, and
//! intercepting `dlopen` would change whose search path it uses. [`note`] adds a module to the record, with its build
//! id as it is in memory: the file may be replaced while the program runs. Without one, it notes what the file looks
//! like.
//! # State
//! FIND_OBJECT, PROGRAM: set at start. TABLE: [`ROOM`] modules, which SLOTS counts; [`dlclose`] outdates them.
//! # Invariants
//! I1: [`find`] is called for return addresses on the calling thread's stack, and [`holding`] for functions that it is
//!     about to call, so their modules stay loaded meanwhile, and with them the loader's facts about them and ours. (A
//!     word may only look like one, where a frame pointer leads, or next to such functions: if another thread unloads
//!     that module at that moment, the program may fault.)
//! I2: a slot's facts are written by the thread that took its number, before its first generation; later only the
//!     generation changes. TABLE is 0 or has room for [`ROOM`] slots, zero at first.
//! I3: FIND_OBJECT is 0 or the C library's `_dl_find_object`, of the type [`FindObject`], which fills an [`Answer`].
//! I4: a path ends in NUL and never changes while its module is loaded: it is the loader's, or PROGRAM's, whose page
//!     has one zero more than was written, or a slot's, which has too (I2).
//! I5: the thread that allocates bytes of the record fills them, and no other reaches them before they are published.
//! I6: what is mapped now may be unmapped at once, unless it is known to be on a stack (I1); so the kernel copies its
//!     headers.
//! # Evidence
//! `tests/programs/plugin.c`; the ground truth on older systems, as `.ci/run` runs it; `events::slots`.
//! # Sources
//! glibc manual: `_dl_find_object` is async-signal-safe. ELF gABI: program headers.

use crate::caller::Caller;
use crate::kernel::{self, Descriptor, PAGE};
use crate::{host, lookup, sandbox};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, AtomicUsize, Ordering::*};
use uncontended_events::maps::{Mapping, Place, Walk};
use uncontended_events::notes::{self, BuildId};
use uncontended_events::segments::{Segment, Segments};
use uncontended_events::site::Recorder;
use uncontended_events::slots::{Slots, Stamp};
use uncontended_trace::layout::{self, Module};

/// A module with call frame information.
pub(crate) struct Object {
    pub(crate) start: usize,
    pub(crate) end: usize,
    bias: usize,
    /// The address of its table of call frame information.
    pub(crate) header: usize,
    /// The end of that information.
    pub(crate) end_of_frames: usize,
    path: *const [u8],
}

static FIND_OBJECT: AtomicUsize = AtomicUsize::new(0);
/// Address of the program's path, which the loader does not know; 0 if it could not be read.
static PROGRAM: AtomicUsize = AtomicUsize::new(0);
static TABLE: AtomicUsize = AtomicUsize::new(0);
static SLOTS: Slots = Slots { taken: AtomicUsize::new(0), generation: AtomicU32::new(1) };

/// Prepares [`find`].
pub(crate) fn prepare() {
    let find = lookup::next(c"_dl_find_object", c"").unwrap_or(0);
    FIND_OBJECT.store(find, Relaxed);
    if find == 0 {
        let table = kernel::private_memory(ROOM * size_of::<Slot>());
        TABLE.store(table.map_or(0, |table| table.as_ptr() as usize), Relaxed);
        learn_all();
    }
    let Some(page) = kernel::private_memory(PAGE) else { return };
    // SAFETY: a fresh page (M1); its last byte stays NUL (I4).
    let path = unsafe { std::slice::from_raw_parts_mut(page.as_ptr(), PAGE - 1) };
    let is_known = match is_started_by_loader() {
        true => read_mapped(auxiliary(libc::AT_PHDR), path),
        false => kernel::read_link(c"/proc/self/exe", path),
    };
    if is_known.is_some() {
        PROGRAM.store(page.as_ptr() as usize, Relaxed);
    }
}

/// Whether the kernel executed the loader itself, which then loaded the program that it was given: the kernel loaded no
/// interpreter. (A program without a loader would not have loaded us.)
fn is_started_by_loader() -> bool {
    auxiliary(libc::AT_BASE) == 0
}

/// A value that the kernel gave the program, or the loader in its place.
fn auxiliary(name: libc::c_ulong) -> usize {
    // SAFETY: a number (L1).
    unsafe { libc::getauxval(name) as usize }
}

/// Writes the path of the file that is mapped at `address`, unless it has no room before the last byte of `path`.
fn read_mapped(address: usize, path: &mut [u8]) -> Option<usize> {
    for_places(|place| {
        let mapping = place.mapping();
        let is_there = (mapping.start..mapping.end).contains(&address);
        is_there.then(|| {
            let bytes = mapping.path.len();
            path.get_mut(..bytes)?.copy_from_slice(mapping.path);
            Some(bytes)
        })
    })?
}

/// The program's path, if the kernel told it.
pub(crate) fn program() -> Option<&'static CStr> {
    let path = NonNull::new(PROGRAM.load(Relaxed) as *mut c_char)?;
    // SAFETY: a text that stays (I4).
    Some(unsafe { CStr::from_ptr(path.as_ptr()) })
}

/// The module that contains `pc`; `None` if it has no call frame information. See I1.
pub(crate) fn find(pc: usize) -> Option<Object> {
    match FIND_OBJECT.load(Relaxed) {
        0 => in_table(pc),
        // SAFETY: the function of this type (I3).
        find => ask_loader(unsafe { std::mem::transmute::<usize, FindObject>(find) }, pc),
    }
}

/// The same of a word that may be no address at all, for which the kernel is not asked.
pub(crate) fn holding(word: usize) -> Option<Object> {
    match FIND_OBJECT.load(Relaxed) {
        0 => known(word, SLOTS.generation())?.object(),
        _ => find(word),
    }
}

/// `dlclose`: facts about modules may be wrong from now on.
pub(crate) unsafe extern "C-unwind" fn dlclose(library: *mut c_void, _: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::dlclose(library) };
    SLOTS.outdate();
    result
}

/// The loader's answer about an address: `struct dl_find_object`.
#[repr(C)]
struct Answer {
    flags: u64,
    start: usize,
    end: usize,
    link_map: *const LinkMap,
    eh_frame: *const u8,
    reserved: [u64; 7],
}

/// The first fields of the loader's `struct link_map`.
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const c_char,
    dynamic: usize,
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Answer) -> c_int;

fn ask_loader(find: FindObject, pc: usize) -> Option<Object> {
    // SAFETY: plain numbers and pointers (L5).
    let mut answer: Answer = unsafe { std::mem::zeroed() };
    // SAFETY: the loader's function, and room for its answer (I3, L2).
    let rc = unsafe { find(pc as *mut c_void, &mut answer) };
    if rc != 0 || answer.eh_frame.is_null() {
        return None;
    }
    // SAFETY: the loader keeps the link map of a module in use (I1), which begins like this (L8).
    let map = unsafe { &*answer.link_map };
    // SAFETY: a link map has a name, possibly an empty one (L8, I4).
    let is_program = unsafe { *map.name } == 0;
    let program = PROGRAM.load(Relaxed) as *const c_char;
    let path = if is_program && !program.is_null() { program } else { map.name };
    let header = answer.eh_frame as usize;
    Some(Object {
        start: answer.start,
        end: answer.end,
        bias: map.bias,
        header,
        // In a module with a gap between its segments, the loader reports only the bounds of its code; the dynamic
        // section then lies after the information.
        end_of_frames: if answer.end > header { answer.end } else { map.dynamic },
        // SAFETY: either is a text that stays (I4).
        path: unsafe { CStr::from_ptr(path) }.to_bytes(),
    })
}

/// Modules that the table has room for. Once it is full, stacks end at the first module that is not in it.
const ROOM: usize = 1024;

/// One slot of the table.
#[repr(C)]
struct Slot {
    stamp: Stamp,
    facts: UnsafeCell<Facts>,
}

// SAFETY: `facts` is written before the slot is shared, and only read after that (I2).
unsafe impl Sync for Slot {}

/// A module, or a memory range without one.
#[repr(C)]
struct Facts {
    segments: Segments,
    path_bytes: usize,
    path: [u8; PATH],
}

/// Makes a slot the size of a page.
const PATH: usize = PAGE - 8 - size_of::<Segments>() - 8;

/// The slots that are taken.
fn slots() -> &'static [Slot] {
    let Some(table) = NonNull::new(TABLE.load(Relaxed) as *mut Slot) else { return &[] };
    // SAFETY: there is room for that many, for good (I2).
    unsafe { std::slice::from_raw_parts(table.as_ptr(), SLOTS.used(ROOM)) }
}

impl Slot {
    /// Its generation and facts; none while it is being written.
    fn read(&self) -> Option<(u32, &Facts)> {
        // SAFETY: with a generation, the facts are complete and never change (I2).
        self.stamp.read().map(|generation| (generation, unsafe { &*self.facts.get() }))
    }
}

impl Facts {
    fn path(&self) -> &[u8] {
        &self.path[..self.path_bytes]
    }

    fn object(&self) -> Option<Object> {
        let Segments { start, end, bias, header } = self.segments;
        let object = Object { start, end, bias, header, end_of_frames: end, path: self.path() };
        (header != 0).then_some(object)
    }
}

#[cold]
fn in_table(pc: usize) -> Option<Object> {
    let generation = SLOTS.generation();
    known(pc, generation).or_else(|| learn(pc, generation))?.object()
}

/// What the table has of this address.
fn known(pc: usize, generation: u32) -> Option<&'static Facts> {
    let holds = |&(of, facts): &(u32, &Facts)| {
        of == generation && (facts.segments.start..facts.segments.end).contains(&pc)
    };
    slots().iter().filter_map(Slot::read).find(holds).map(|(_, facts)| facts)
}

/// Asks the kernel what contains `pc`, and keeps the answer.
fn learn(pc: usize, generation: u32) -> Option<&'static Facts> {
    if sandbox::is_filtered() {
        return None;
    }
    for_places(|place| {
        let mapping = place.mapping();
        let is_there = (mapping.start..mapping.end).contains(&pc);
        is_there.then(|| keep(place, generation))
    })?
}

/// Keeps all that is loaded now, because the kernel may not be asked later.
pub(crate) fn learn_all() {
    if TABLE.load(Relaxed) == 0 {
        return;
    }
    let generation = SLOTS.generation();
    for_places(|place| -> Option<()> {
        if let Place::File { mapping: Mapping { executable: true, .. }, .. } = place {
            keep(place, generation);
        }
        None
    });
}

/// Calls `visit` for each mapping until it returns a value.
pub(crate) fn for_places<R>(visit: impl FnMut(Place<'_>) -> Option<R>) -> Option<R> {
    const BYTES: usize = 1 << 16;
    let room = kernel::private_memory(BYTES)?;
    // SAFETY: fresh memory of that size (M1).
    let text = unsafe { std::slice::from_raw_parts_mut(room.as_ptr(), BYTES) };
    let found = Descriptor::open(c"/proc/self/maps", libc::O_RDONLY)
        .and_then(|maps| read_places(&maps, text, visit));
    // SAFETY: our own mapping (M1), whose last use was above.
    unsafe { kernel::unmap(room, BYTES) };
    found
}

/// The same for the lines of `maps`, as many at a time as fit into `text`.
fn read_places<R>(
    maps: &Descriptor,
    text: &mut [u8],
    mut visit: impl FnMut(Place<'_>) -> Option<R>,
) -> Option<R> {
    let mut walk = Walk::default();
    let mut filled = 0;
    loop {
        let more = maps.read(&mut text[filled..]).filter(|&more| more > 0)?;
        let end = filled + more;
        let mut begun = 0;
        for line in text[..end].split_inclusive(|&byte| byte == b'\n') {
            let Some(complete) = line.strip_suffix(b"\n") else { break };
            if let Some(found) = walk.line(complete).and_then(&mut visit) {
                return Some(found);
            }
            begun += line.len();
        }
        text.copy_within(begun..end, 0);
        filled = end - begun;
    }
}

/// Keeps the facts of a place in a slot: confirms the slot if they are known, or fills a fresh one.
fn keep(place: Place<'_>, generation: u32) -> Option<&'static Facts> {
    let (segments, path) = match place {
        Place::File { base, mapping } => (segments(base, &mapping)?, mapping.path),
        Place::Other(mapping) => (Segments::none(&mapping), &[][..]),
    };
    let path = &path[..path.len().min(PATH - 1)];
    let same = |facts: &Facts| facts.segments == segments && facts.path() == path;
    for slot in slots() {
        if let Some((_, facts)) = slot.read().filter(|&(_, facts)| same(facts)) {
            slot.stamp.confirm(generation);
            return Some(facts);
        }
    }
    let number = SLOTS.take(ROOM)?;
    let slot = &slots()[number]; // Only now are that many in use.
    debug_assert!(slot.stamp.read().is_none(), "I2");
    // SAFETY: the number is ours alone, and without a generation no thread reads the facts (I2).
    let facts = unsafe { &mut *slot.facts.get() };
    facts.segments = segments;
    facts.path_bytes = path.len();
    facts.path[..path.len()].copy_from_slice(path);
    slot.stamp.confirm(generation);
    Some(facts)
}

/// The segments of the file of `mapping`, whose beginning is mapped at `base`; none if it is not an ELF file.
fn segments(base: usize, mapping: &Mapping<'_>) -> Option<Segments> {
    const MAGIC: [u8; 5] = *b"\x7fELF\x02";
    // SAFETY: plain numbers (L5, I6).
    let file: libc::Elf64_Ehdr = unsafe { kernel::copy(base) }?;
    let (table, count) = (file.e_phoff as usize, usize::from(file.e_phnum));
    if file.e_ident[..5] != MAGIC
        || table.saturating_add(count * size_of::<libc::Elf64_Phdr>()) > PAGE
    {
        return Some(Segments::none(mapping));
    }
    let header = |number| {
        let at = base + table + number * size_of::<libc::Elf64_Phdr>();
        // SAFETY: plain numbers (L5, I6).
        let header: libc::Elf64_Phdr = unsafe { kernel::copy(at) }?;
        let (address, bytes) = (header.p_vaddr as usize, header.p_memsz as usize);
        Some(match header.p_type {
            libc::PT_LOAD => Segment::Loaded { address, bytes },
            libc::PT_GNU_EH_FRAME => Segment::Frames { address },
            _ => Segment::Other,
        })
    };
    Segments::of(base, (0..count).map(header))
}

/// Adds the module to the record, once. `word` reads the process's memory.
pub(crate) fn note(
    recorder: &Recorder,
    object: &Object,
    word: &mut dyn FnMut(usize) -> Option<usize>,
) {
    let arena = recorder.arena;
    let modules = &recorder.process.modules;
    let is_it = |module: &Module| {
        let was_there = module.start.load(Relaxed) == object.start as u64;
        was_there && (!SLOTS.is_outdated() || module.path_hash.load(Relaxed) == object.path_hash())
    };
    if arena.list::<Module>(modules).any(|(_, module)| is_it(module)) {
        return;
    }
    let id = object.build_id(word);
    let id = id.as_ref().map_or(&[][..], BuildId::bytes);
    // SAFETY: the path of a module in use, or in our own table; both stay (I1, I2).
    let path = unsafe { &*object.path };
    let units = layout::units(size_of::<Module>() + path.len() + id.len());
    let Some(unit) = arena.allocate(units) else { return };
    // SAFETY: ours until it is published below (I5).
    let room = unsafe { arena.bytes(unit, units) };
    let (path_room, rest) = room[size_of::<Module>()..].split_at_mut(path.len());
    path_room.copy_from_slice(path);
    rest[..id.len()].copy_from_slice(id);
    let module: &Module = arena.at(unit);
    module.path_bytes.store(path.len() as u32, Relaxed);
    module.id_bytes.store(id.len() as u32, Relaxed);
    module.bias.store(object.bias as u64, Relaxed);
    module.start.store(object.start as u64, Relaxed);
    module.end.store(object.end as u64, Relaxed);
    module.path_hash.store(object.path_hash(), Relaxed);
    if id.is_empty() {
        object.note_file(module);
    }
    arena.push::<Module>(modules, unit);
}

impl Object {
    /// Whether it is libstdc++.
    pub(crate) fn is_cpp_library(&self) -> bool {
        const NAME: &[u8] = b"libstdc++.so";
        // SAFETY: the path of a module in use, or in our own table; both stay (I1, I2).
        let path = unsafe { &*self.path };
        let name = path.rsplit(|&byte| byte == b'/').next();
        name.is_some_and(|name| name.starts_with(NAME))
    }

    /// A hash of its path.
    fn path_hash(&self) -> u32 {
        // SAFETY: the path of a module in use, or in our own table; both stay (I1, I2).
        let path = unsafe { &*self.path };
        path.iter()
            .fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    /// Its build id: its headers are at its start, or where the file's address 0 is (see `end_of_frames`).
    fn build_id(&self, word: &mut dyn FnMut(usize) -> Option<usize>) -> Option<BuildId> {
        let mut at = |base| notes::build_id(base, self.bias, &mut *word);
        at(self.start).or_else(|| at(self.bias))
    }

    /// What its file looks like. Of the program's own, the kernel knows which one it is; of a library, it is the file
    /// of that path now, when its code is first on a stack.
    fn note_file(&self, module: &Module) {
        if sandbox::is_filtered() {
            return;
        }
        // SAFETY: a path in use ends in NUL (I1, I4).
        let path = unsafe { CStr::from_ptr(self.path.cast()) };
        let program = PROGRAM.load(Relaxed) as *const c_char;
        // SAFETY: it ends in NUL, too (I4).
        let is_program = !program.is_null() && unsafe { CStr::from_ptr(program) } == path;
        let is_executed = is_program && !is_started_by_loader();
        let path = if is_executed { c"/proc/self/exe" } else { path };
        let Some(facts) = kernel::file(path) else {
            return module.file_bytes.store(u64::MAX, Relaxed); // No file of that path is it.
        };
        let seconds = (facts.st_mtime as u64).wrapping_mul(1_000_000_000);
        module.file_bytes.store(facts.st_size as u64, Relaxed);
        module.modified_ns.store(seconds.wrapping_add(facts.st_mtime_nsec as u64), Relaxed);
        module.inode.store(facts.st_ino, Relaxed);
    }
}
