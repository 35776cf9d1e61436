//! This program image in the record: opened at start, begun anew in a forked child.
//!
//! # Contract
//! [`arena`] is the record, if there is one. No descriptor stays open; the mapping is inherited by forked children, which
//! therefore need no file system, no permission and no descriptor to go on.
//! # State
//! `ARENA_BASE`, `ARENA_UNITS`: the mapping; `PROCESS`: this image's entry.
//! # Edges
//! mapped: `open` stores ARENA_BASE -> `arena` loads it. Carries the mapping and the units in ARENA_UNITS.
//! # Invariants
//! I1: once ARENA_BASE is set, the mapping stays until the process ends or executes another program.
//! I2: PROCESS is set before any thread is attached, and by the only thread of a forked child.

use crate::{local, sandbox, stack};
use libc::c_void;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, AtomicUsize, Ordering::*};
use uncontended_sys::clock::{self, Source};
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{self, Process, Unit};

static ARENA_BASE: AtomicUsize = AtomicUsize::new(0);
static ARENA_UNITS: AtomicU32 = AtomicU32::new(0);
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The record; none while there is none.
#[inline(always)]
pub(crate) fn arena() -> Option<Arena> {
    // EDGE mapped (acquire): the mapping and its length.
    let base = NonNull::new(ARENA_BASE.load(Acquire) as *mut u8)?;
    // SAFETY: `open` mapped ARENA_UNITS units there for good (I1).
    Some(unsafe { Arena::new(base, ARENA_UNITS.load(Relaxed), populate) })
}

/// This image's entry; none if there was no room for it.
pub(crate) fn process(arena: Arena) -> Option<&'static Process> {
    let unit = PROCESS.load(Relaxed);
    (unit != 0).then(|| arena.at(unit))
}

/// The constructor: runs before the program's own code.
extern "C" fn begin() {
    if open().is_some() {
        stack::prepare();
        begin_process(0);
        local::prepare();
        // SAFETY: the handler lives as long as this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// In a forked child: the record starts empty, under a new entry.
extern "C" fn forked() {
    let parent = PROCESS.swap(0, Relaxed);
    begin_process(parent);
    local::forked();
}

/// Maps the record that the environment names.
fn open() -> Option<()> {
    // SAFETY: the name ends in NUL; the environment is not changed while a constructor runs.
    let path = unsafe { libc::getenv(c"UNC_RECORD".as_ptr()) };
    if path.is_null() {
        return None;
    }
    // SAFETY: `path` is a string of the environment.
    let file = unsafe { libc::open(path, libc::O_RDWR | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let mapped = map(file);
    // SAFETY: `file` is ours alone.
    unsafe { libc::close(file) };
    mapped
}

/// Maps as much of the record as its header says it may grow to, or as the address space allows.
fn map(file: libc::c_int) -> Option<()> {
    let header_bytes = layout::HEADER_UNITS as usize * layout::UNIT;
    let header = map_bytes(file, header_bytes)?;
    // SAFETY: a page was mapped just now (trace's I1 for as long as it is looked at here).
    let arena = unsafe { Arena::new(header, layout::HEADER_UNITS, populate) };
    if !arena.is_ours() {
        return None;
    }
    select_clock(arena);
    let mut bytes = arena.header().capacity.load(Relaxed) as usize * layout::UNIT;
    let base = loop {
        match map_bytes(file, bytes) {
            Some(base) => break base,
            None if bytes > 1 << 20 => bytes /= 2,
            None => return None,
        }
    };
    // SAFETY: the range is the mapping made just now.
    unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_DONTDUMP) };
    // SAFETY: the first mapping, which nothing refers to any more.
    unsafe { libc::munmap(header.as_ptr().cast(), header_bytes) };
    ARENA_UNITS.store((bytes / layout::UNIT) as u32, Relaxed);
    // EDGE mapped (release): ARENA_UNITS and the mapping.
    ARENA_BASE.store(base.as_ptr() as usize, Release);
    Some(())
}

/// Memory for the record, asked for instead of touched: without any the kernel would end the program.
fn populate(base: NonNull<u8>, bytes: usize) -> bool {
    if sandbox::shut() {
        return false;
    }
    let _errno = local::Errno::keep();
    uncontended_sys::memfd::populate(base, bytes)
}

/// Memory for what is recorded once system calls may be forbidden.
pub(crate) fn provide() {
    const AHEAD: u32 = (32 << 20) / layout::UNIT as u32;
    if let Some(arena) = arena() {
        arena.grow(arena.header().allocated.load(Relaxed).saturating_add(AHEAD));
    }
}

fn map_bytes(file: libc::c_int, bytes: usize) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
    let base = unsafe { libc::mmap(std::ptr::null_mut::<c_void>(), bytes, access, kind, file, 0) };
    (base != libc::MAP_FAILED).then(|| NonNull::new(base.cast())).flatten()
}

fn select_clock(arena: Arena) {
    let is_monotonic = arena.header().clock.load(Relaxed) == layout::clock::MONOTONIC;
    clock::select(if is_monotonic { Source::Monotonic } else { clock::best() });
}

/// Enters this image into the record; a forked one has its parent's arguments.
fn begin_process(parent: Unit) {
    let Some(arena) = arena() else { return };
    let Some((unit, process)) = arena.make::<Process>() else { return };
    // SAFETY: takes nothing and always succeeds.
    process.pid.store(unsafe { libc::getpid() } as u32, Relaxed);
    // SAFETY: takes nothing and always succeeds.
    process.parent.store(unsafe { libc::getppid() } as u32, Relaxed);
    process.start_ticks.store(clock::ticks(), Relaxed);
    if parent == 0 {
        write_command(arena, process);
    } else {
        let parent: &Process = arena.at(parent);
        process.command.store(parent.command.load(Relaxed), Relaxed);
        process.command_bytes.store(parent.command_bytes.load(Relaxed), Relaxed);
    }
    if let Some(index) = arena.allocate(layout::units(4 * layout::STACK_SLOTS)) {
        process.stack_index.store(index, Relaxed);
    }
    arena.push::<Process>(&arena.header().processes, unit);
    PROCESS.store(unit, Relaxed);
}

/// Copies the arguments as the kernel has them. The descriptor is open only for this moment.
fn write_command(arena: Arena, process: &Process) {
    const MOST: usize = 4096;
    let mut text = [0u8; MOST];
    // SAFETY: the path ends in NUL.
    let file =
        unsafe { libc::open(c"/proc/self/cmdline".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return;
    }
    // SAFETY: `text` has room for MOST bytes.
    let length = unsafe { libc::read(file, text.as_mut_ptr().cast(), MOST) };
    // SAFETY: `file` is ours alone.
    unsafe { libc::close(file) };
    let Some(text) = usize::try_from(length).ok().and_then(|length| text.get(..length)) else {
        return;
    };
    let units = layout::units(text.len());
    let Some(unit) = (units > 0).then(|| arena.allocate(units)).flatten() else { return };
    // SAFETY: allocated just now, and published below.
    let room = unsafe { arena.bytes(unit, units) };
    room[..text.len()].copy_from_slice(text);
    process.command.store(unit, Relaxed);
    process.command_bytes.store(text.len() as u32, Relaxed);
}

/// Anonymous memory of this process alone; none if the kernel refuses.
pub(crate) fn private_memory(bytes: usize) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    (base != libc::MAP_FAILED).then(|| NonNull::new(base.cast())).flatten()
}

/// Gives back what [`private_memory`] gave.
///
/// # Safety
/// Nothing refers to that memory any more.
pub(crate) unsafe fn free_private(base: NonNull<u8>, bytes: usize) {
    // SAFETY: by this function's contract nobody uses these bytes any more.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
}
