//! This program image in the record: opened at start, and begun again in a forked child.
//!
//! # Contract
//! [`arena`] is the record, if there is one. No descriptor stays open. Forked children inherit the mapping, so they
//! need no file system, permission or descriptor to continue.
//! # State
//! `ARENA_BASE`, `ARENA_UNITS`: the mapping. `PROCESS`: the address of the number of this image's entry, in memory that
//! a forked child finds zeroed, however it was forked; `LATEST`: the same number, from which the child begins.
//! `NUMBER`: that image's number in its own PID namespace.
//! # Edges
//! mapped: `open` stores ARENA_BASE -> `arena` loads it. Carries the mapping, the units in ARENA_UNITS, and PROCESS.
//! entered: `begin_process` stores the number -> `process` loads it. Carries the entry.
//! # Invariants
//! I1: once ARENA_BASE is set, the first ARENA_UNITS units of the mapping stay until the process ends or executes
//!     another program. ARENA_UNITS is only ever lowered, by units that neither have memory nor ever will; who lowers
//!     it owns those.
//! I2: the word that PROCESS points to is never freed.
//! I3: [`open`] runs in the constructor, before the program's own code, so the environment does not change meanwhile.
//! I4: the thread that allocates bytes for a command fills them, and no other reaches them before the entry names them.

use crate::kernel::{self, Descriptor};
use crate::{joined, namespace, sandbox};
use std::ffi::CStr;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, AtomicUsize, Ordering::*};
use uncontended_sys::clock::{self, Source};
use uncontended_trace::arena::{Arena, STEP};
use uncontended_trace::layout::{self, Process};

/// Most bytes of a command.
const MOST: usize = 4096;

static ARENA_BASE: AtomicUsize = AtomicUsize::new(0);
static ARENA_UNITS: AtomicU32 = AtomicU32::new(0);
static PROCESS: AtomicUsize = AtomicUsize::new(0);
static LATEST: AtomicU32 = AtomicU32::new(0);
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The record, if there is one.
#[inline(always)]
pub(crate) fn arena() -> Option<Arena> {
    // EDGE mapped (acquire): the mapping, its length, and PROCESS.
    let base = NonNull::new(ARENA_BASE.load(Acquire) as *mut u8)?;
    // SAFETY: ARENA_UNITS units are mapped there for good (I1).
    Some(unsafe { Arena::new(base, ARENA_UNITS.load(Relaxed), populate) })
}

/// The word with the number of this image's entry.
fn process_word() -> Option<&'static AtomicU32> {
    let word = NonNull::new(PROCESS.load(Relaxed) as *mut AtomicU32)?;
    // SAFETY: a word that stays (I2).
    Some(unsafe { word.as_ref() })
}

/// This image's entry, made at the first call; `None` if there is no room for it.
pub(crate) fn process(arena: Arena) -> Option<&'static Process> {
    let word = process_word()?;
    // EDGE entered (acquire): the entry behind the number.
    match word.load(Acquire) {
        0 => begin_process(arena, word),
        unit => Some(arena.at(unit)),
    }
}

/// In a forked child: a new entry.
pub(crate) fn begin_anew() {
    if let Some(word) = process_word() {
        word.store(0, Relaxed); // For kernels that cannot do it.
    }
    let _ = arena().and_then(process);
}

/// Maps the record that the environment names. Valgrind runs the program itself: its tools would check the observer,
/// too, and take its memory for the program's.
pub(crate) fn open() -> Option<()> {
    let path = variable(c"UNC_RECORD")?;
    let is_in_valgrind = |preloaded: &CStr| {
        preloaded.to_bytes().windows(OF_VALGRIND.len()).any(|part| part == OF_VALGRIND)
    };
    if variable(c"LD_PRELOAD").is_some_and(is_in_valgrind) {
        return None;
    }
    map(&Descriptor::open(path, libc::O_RDWR)?)
}

/// What valgrind preloads into programs begins with this.
const OF_VALGRIND: &[u8] = b"vgpreload_";

/// A variable of the environment.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends in NUL (L7); the environment stays as it is (I3).
    let value = NonNull::new(unsafe { libc::getenv(name.as_ptr()) })?;
    // SAFETY: a string of the environment (L7, I3).
    Some(unsafe { CStr::from_ptr(value.as_ptr()) })
}

/// Maps as much of the record as its header says it may grow to, but at most an eighth of the address space: a program
/// with a limit on it needs it more.
fn map(file: &Descriptor) -> Option<()> {
    let header_bytes = layout::HEADER_UNITS as usize * layout::UNIT;
    let header = file.map(header_bytes)?;
    // SAFETY: just mapped (L3); nothing of this Arena outlives the mapping below.
    let arena = unsafe { Arena::new(header, layout::HEADER_UNITS, populate) };
    if !arena.is_ours() {
        return None;
    }
    select_clock(arena);
    let capacity = arena.header().capacity.load(Relaxed) as usize * layout::UNIT;
    let mut bytes = capacity.min(address_space() / 8 / layout::UNIT * layout::UNIT);
    if bytes < header_bytes {
        return None;
    }
    let base = loop {
        match file.map(bytes) {
            Some(base) => break base,
            None if bytes > 1 << 20 => bytes /= 2,
            None => return None,
        }
    };
    kernel::keep_from_dumps(base, bytes);
    // SAFETY: our own mapping (L3), with no reference left.
    unsafe { kernel::unmap(header, header_bytes) };
    let word = kernel::private_memory(size_of::<AtomicU32>())?;
    kernel::keep_from_children(word, size_of::<AtomicU32>());
    PROCESS.store(word.as_ptr() as usize, Relaxed);
    ARENA_UNITS.store((bytes / layout::UNIT) as u32, Relaxed);
    debug_assert_eq!(ARENA_BASE.load(Relaxed), 0, "I1: mapped once");
    // EDGE mapped (release): the mapping, ARENA_UNITS and PROCESS.
    ARENA_BASE.store(base.as_ptr() as usize, Release);
    Some(())
}

/// Adds memory to the record by a system call: touching it could end the program when there is none left.
fn populate(base: NonNull<u8>, bytes: usize) -> bool {
    if sandbox::is_filtered() {
        return false;
    }
    uncontended_sys::memfd::populate(base, bytes)
}

/// Adds memory for what is recorded after system calls may be forbidden.
pub(crate) fn provide() {
    const AHEAD: u32 = (32 << 20) / layout::UNIT as u32;
    if let Some(arena) = arena() {
        arena.grow(arena.header().allocated.load(Relaxed).saturating_add(AHEAD));
    }
}

/// Unmaps what the record has only reserved, except for a thirty-second of `limit`, the bytes that this process may map
/// from now on. No process adds memory beyond that any more: their numbers would mean nothing here.
pub(crate) fn give_back(limit: usize) {
    let Some(arena) = arena().filter(|_| !sandbox::is_filtered()) else { return };
    let room = u32::try_from(limit / 32 / layout::UNIT).unwrap_or(u32::MAX);
    // A multiple of any page; threads that are adding a step now may not have seen the new capacity.
    let Some(end) = arena.end_growth(room).and_then(|end| end.checked_next_multiple_of(STEP))
    else {
        return;
    };
    let before = ARENA_UNITS.fetch_min(end, Relaxed);
    if let (Some(lost @ 1..), Some(base)) =
        (before.checked_sub(end), NonNull::new(ARENA_BASE.load(Relaxed) as *mut u8))
    {
        let start = base.as_ptr().wrapping_add(end as usize * layout::UNIT);
        // SAFETY: units of ours without memory, so without references, which no other thread gives back (I1).
        unsafe { kernel::unmap(NonNull::new(start).unwrap_or(base), lost as usize * layout::UNIT) };
    }
}

/// The number of bytes that this process may map.
fn address_space() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: room for the answer (L2).
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

fn select_clock(arena: Arena) {
    let is_monotonic = arena.header().clock.load(Relaxed) == layout::clock::MONOTONIC;
    clock::select(if is_monotonic { Source::Monotonic } else { clock::best() });
}

/// Adds this image to the record, at the number in `word`; a forked one gets its parent's arguments.
#[cold]
#[inline(never)]
fn begin_process(arena: Arena, word: &AtomicU32) -> Option<&'static Process> {
    let Some(Numbers { pid, parent, number }) = numbers(arena) else {
        arena.header().dropped_room.fetch_add(1, Relaxed);
        return None;
    };
    let (unit, process) = arena.make::<Process>()?;
    process.pid.store(pid, Relaxed);
    process.parent.store(parent, Relaxed);
    process.start_ticks.store(clock::ticks(), Relaxed);
    match LATEST.load(Relaxed) {
        0 => {
            write_command(arena, process);
            write_used(process);
        }
        parent => {
            let parent: &Process = arena.at(parent);
            process.command.store(parent.command.load(Relaxed), Relaxed);
            process.command_bytes.store(parent.command_bytes.load(Relaxed), Relaxed);
        }
    }
    if let Some(index) = arena.allocate(layout::word_units(layout::STACK_SLOTS)) {
        process.stack_index.store(index, Relaxed);
    }
    let filter = arena.allocate_if_room(layout::word_units(layout::FILTER_WORDS));
    process.filter.store(filter.unwrap_or(0), Relaxed);
    NUMBER.store(number, Relaxed);
    // EDGE entered (acq-rel): the fresh entry, or the one that another thread entered in the meantime.
    match word.compare_exchange(0, unit, AcqRel, Acquire) {
        Ok(_) => {
            arena.push::<Process>(&arena.header().processes, unit);
            LATEST.store(unit, Relaxed);
            Some(process)
        }
        Err(other) => Some(arena.at(other)),
    }
}

/// Notes that a process is to execute a file, in an entry without a process yet. A child made by `vfork` calls this in
/// its parent's memory, where it leaves nothing but the entry.
pub(crate) fn announce(path: Option<&CStr>) -> Option<&'static Process> {
    if sandbox::is_filtered() {
        return None; // The kernel may not be asked who we are.
    }
    let arena = arena()?;
    let (unit, entry) = arena.make_if_room::<Process>()?;
    entry.parent.store(layout::ANNOUNCED, Relaxed);
    entry.start_ticks.store(clock::ticks(), Relaxed);
    if let Some(text) = path.map(CStr::to_bytes).filter(|text| !text.is_empty()) {
        write_text(arena, entry, &text[..text.len().min(MOST)]);
    }
    arena.push::<Process>(&arena.header().processes, unit);
    Some(entry)
}

/// The numbers of a process.
struct Numbers {
    /// In the PID namespace of `/proc`, as `unc` and the kernel's events have it.
    pid: u32,
    /// Its parent's, there.
    parent: u32,
    /// In its own PID namespace.
    number: u32,
}

/// The numbers of this process; none if the kernel may not be asked and the C library has not forked it.
fn numbers(arena: Arena) -> Option<Numbers> {
    if !sandbox::is_filtered() {
        let number = kernel::process_id();
        let [pid, parent] = match namespace::process() {
            Some(pid) if pid != number => [pid, namespace::parent().unwrap_or(0)],
            _ => [number, kernel::parent_id()],
        };
        return Some(Numbers { pid, parent, number });
    }
    let parent = match LATEST.load(Relaxed) {
        0 => 0,
        unit => arena.at::<Process>(unit).pid.load(Relaxed),
    };
    let number = joined::this_thread(); // Its only thread has the process's number.
    let is_known = number != 0 && number != NUMBER.load(Relaxed);
    is_known.then_some(Numbers { pid: number, parent, number })
}

/// The number of the calling process in the PID namespace of `/proc`: this image's, or that of a child made by `vfork`.
pub(crate) fn process_id() -> u32 {
    let number = kernel::process_id();
    match arena().filter(|_| number == NUMBER.load(Relaxed)).and_then(process) {
        Some(image) => image.pid.load(Relaxed),
        None => namespace::process().unwrap_or(number),
    }
}

/// The number of the calling thread of `process` in the PID namespace of `/proc`, of which it is `number` in its own.
pub(crate) fn thread_id(process: &Process, number: u32) -> u32 {
    let pid = process.pid.load(Relaxed);
    match NUMBER.load(Relaxed) {
        own if own == pid => number,
        own if own == number => pid, // The main thread.
        _ if sandbox::is_filtered() => number,
        _ => namespace::thread_of(pid).unwrap_or(number),
    }
}

/// Whether this process has another number than in its own PID namespace.
pub(crate) fn is_in_namespace(process: &Process) -> bool {
    process.pid.load(Relaxed) != NUMBER.load(Relaxed)
}

/// Copies the arguments from the kernel. The descriptor is open only for this moment.
fn write_command(arena: Arena, process: &Process) {
    let mut text = [0u8; MOST];
    let length = Descriptor::open(c"/proc/self/cmdline", libc::O_RDONLY)
        .and_then(|file| file.read(&mut text));
    let Some(text) = length.and_then(|length| text.get(..length)) else { return };
    write_text(arena, process, text);
}

/// Notes what the calling thread has used so far, before the program in it began: it may have run others.
fn write_used(process: &Process) {
    let used = kernel::thread_usage();
    let figures = [
        kernel::thread_cpu_ns(),
        kernel::system_ns(&used),
        runnable_ns().unwrap_or(0),
        used.ru_nvcsw as u64,
        used.ru_nivcsw as u64,
    ];
    for (to, figure) in process.before.iter().zip(figures) {
        to.store(figure, Relaxed);
    }
}

/// How long the main thread has been runnable without a CPU; none if the kernel does not tell.
fn runnable_ns() -> Option<u64> {
    let mut text = [0u8; 64];
    let length = Descriptor::open(c"/proc/self/schedstat", libc::O_RDONLY)?.read(&mut text)?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

fn write_text(arena: Arena, process: &Process, text: &[u8]) {
    let units = layout::units(text.len());
    let Some(unit) = (units > 0).then(|| arena.allocate(units)).flatten() else { return };
    // SAFETY: ours until it is published below (I4).
    let room = unsafe { arena.bytes(unit, units) };
    room[..text.len()].copy_from_slice(text);
    process.command.store(unit, Relaxed);
    process.command_bytes.store(text.len() as u32, Relaxed);
}
