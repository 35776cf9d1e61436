//! Instructions of files, wherever they are run, through perf events.
//!
//! # Contract
//! [`Watch::open`] arms a point, [`Watch::add`] others. [`Watch::drain`] returns the samples since the last call; those
//! that the rings had no room for are counted.
//! # State
//! One ring of [`RING_PAGES`] pages per CPU, shared by all points: the kernel writes at `data_head`, we read at
//! `data_tail`; both count bytes and only grow.
//! # Edges
//! perf-head: the kernel stores `data_head` -> `drain` loads it. Carries the records before it.
//! perf-tail: `drain` stores `data_tail` -> the kernel loads it. Carries the end of our reading.
//! # Invariants
//! I1: `base` is the start of a mapping of `1 + RING_PAGES` pages that lives as long as its `Ring`.
//! # Sources
//! perf_event_open(2); the kernel's ends of the edges: `perf_output_put_handle`, `perf_output_begin`.

use crate::aside;
use crate::counters::Event;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const RING_PAGES: usize = 128;
const TYPE_TRACEPOINT: u32 = 2;
/// Thread, time, number of the event, registers, top of the stack.
const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 12 | 1 << 13;
/// The stack pointer; on AArch64, before it, the link register.
const REGISTERS: u64 = if cfg!(target_arch = "x86_64") { 1 << 7 } else { 1 << 30 | 1 << 31 };
const ABI_64: u64 = 2;
const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// The times for which an event was enabled, and for which it was counted.
const READ_TIMES: u64 = 3;
const USE_CLOCK: u64 = 1 << 25;
const FLAG_CLOEXEC: libc::c_ulong = 1 << 3;
const SET_OUTPUT: libc::c_ulong = 0x2405;
const EVENT_ID: libc::c_ulong = 0x8008_2407;
const SET_PROGRAM: libc::c_ulong = 0x4004_2408;

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// `struct perf_event_attr`: its first 112 bytes, which every kernel since 4.1 knows.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config_1: u64,
    config_2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}
const _: () = assert!(size_of::<Attributes>() == 112);

/// An event at a point.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Which of the points it was.
    pub point: usize,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Its time, on CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The thread's registers; none in 32-bit programs.
    pub registers: Option<Registers>,
}

/// What tells the call of a function from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The stack pointer.
    pub stack: u64,
    /// At the first instruction of a function: where it returns to.
    pub returns_to: u64,
}

impl Registers {
    /// At the first instruction of a function: the stack pointer when it has returned.
    pub fn stack_at_return(self) -> u64 {
        self.stack + if cfg!(target_arch = "x86_64") { 8 } else { 0 }
    }
}

/// Armed points.
#[derive(Debug)]
pub struct Watch {
    rings: Vec<Ring>,
    /// Samples that the rings had no room for.
    lost: u64,
}

#[derive(Debug)]
struct Ring {
    base: NonNull<u8>,
    page: usize,
    /// The events that write here; the first one owns the mapping.
    events: Vec<File>,
    /// The kernel's number of each event, and the point that it is at.
    ids: Vec<(u64, usize)>,
    cpu: i32,
}

impl Watch {
    /// Watches the instruction at this offset in a file, as point number 0, on every CPU.
    ///
    /// # Errors
    /// Those of `perf_event_open` and `mmap`: usually missing permission.
    pub fn open(path: &CStr, offset: u64) -> io::Result<Self> {
        // SAFETY: a number (L1).
        let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        let mut rings = Vec::new();
        for cpu in 0..i32::try_from(cpus).unwrap_or(0) {
            match Ring::open(path, offset, cpu) {
                Ok(ring) => rings.push(ring),
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {} // This CPU is offline.
                Err(error) => return Err(error),
            }
        }
        Ok(Watch { rings, lost: 0 })
    }

    /// Watches the instruction at this offset in a file as well, as point number `point`.
    ///
    /// # Errors
    /// Those of `perf_event_open`.
    pub fn add(&mut self, path: &CStr, offset: u64, point: usize) -> io::Result<()> {
        for ring in &mut self.rings {
            ring.add(path, offset, point)?;
        }
        Ok(())
    }

    /// Passes on the samples since the last call, in order of time only within each CPU.
    pub fn drain(&mut self, mut take: impl FnMut(Sample)) {
        for ring in &mut self.rings {
            self.lost += ring.drain(&mut take);
        }
    }

    /// Disarms the points in another process, without waiting for the kernel.
    pub fn close_aside(self) {
        let events = self.rings.iter().flat_map(|ring| &ring.events);
        let descriptors = events.map(AsRawFd::as_raw_fd).collect();
        aside::close(self, descriptors);
    }

    /// The number of samples so far that the rings had no room for.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Ring {
    fn open(path: &CStr, offset: u64, cpu: i32) -> io::Result<Self> {
        let event = open_event(path, offset, cpu)?;
        let ids = vec![(id_of(&event)?, 0)];
        // SAFETY: a number (L1).
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping (L3).
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page * (1 + RING_PAGES),
                protection,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::Other)?;
        Ok(Ring { base, page, events: vec![event], ids, cpu })
    }

    fn add(&mut self, path: &CStr, offset: u64, number: usize) -> io::Result<()> {
        let event = open_event(path, offset, self.cpu)?;
        // Only an event with a mapping can receive the others' output.
        let fd = self.events.first().map_or(-1, AsRawFd::as_raw_fd);
        self.ids.push((id_of(&event)?, number));
        control(&event, SET_OUTPUT, fd as libc::c_ulong)?;
        self.events.push(event);
        Ok(())
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both words that are used lie in the first page (I1).
        let word = unsafe { self.base.as_ptr().add(at) };
        // SAFETY: the words (I1) are aligned to eight bytes, and shared with the kernel as atomics.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// Returns the number of lost samples.
    fn drain(&mut self, take: &mut impl FnMut(Sample)) -> u64 {
        // EDGE perf-head (acquire): the records before this head are written.
        let head = self.word(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.word(TAIL_AT).load(Ordering::Relaxed); // Only this thread writes it.
        let mut lost = 0;
        while tail + 8 <= head {
            let header = self.bytes(tail, 8);
            let (kind, size) = (number(&header, 0, 4) as u32, number(&header, 6, 2));
            if size < 8 || tail + size > head {
                tail = head; // Not a record: skip the rest.
                break;
            }
            let body = self.bytes(tail + 8, size as usize - 8);
            match kind {
                RECORD_SAMPLE => sample(&body, &self.ids).into_iter().for_each(&mut *take),
                RECORD_LOST => lost += number(&body, 8, 8),
                _ => {}
            }
            tail += size;
        }
        // EDGE perf-tail (release): the records before this tail have been read.
        self.word(TAIL_AT).store(tail, Ordering::Release);
        lost
    }

    /// A copy of `length` bytes from position `from` of the ring, around its end if need be.
    fn bytes(&self, from: u64, length: usize) -> Vec<u8> {
        let capacity = self.page * RING_PAGES;
        let start = (from % capacity as u64) as usize;
        let first = length.min(capacity - start);
        let mut copy = vec![0; length];
        for (from, into) in [(start, 0..first), (0, first..length)] {
            let into = &mut copy[into];
            // SAFETY: both pieces lie within the mapping (I1), since a record is no longer than the ring; the kernel
            // has finished them (the acquire in `drain`) and does not write them again before the tail passes them.
            let source = unsafe { self.base.as_ptr().add(self.page + from) };
            // SAFETY: within the mapping (I1); `into` is memory of our own, so the two do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(source, into.as_mut_ptr(), into.len()) };
        }
        copy
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours (I1) and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page * (1 + RING_PAGES)) };
    }
}

/// The registers and the top of the stack, in the part of a record behind the fields of [`SAMPLE`].
fn registers(body: &[u8]) -> Option<Registers> {
    if number(body, 0, 8) != ABI_64 {
        return None; // None at all, or those of a 32-bit program.
    }
    if cfg!(target_arch = "x86_64") {
        // The return address is on the stack: the size of what was copied, and then that.
        let has_top = number(body, 16, 8) == 8 && body.len() >= 32;
        let of = Registers { stack: number(body, 8, 8), returns_to: number(body, 24, 8) };
        has_top.then_some(of)
    } else {
        Some(Registers { stack: number(body, 16, 8), returns_to: number(body, 8, 8) })
    }
}

/// The kernel's number of an event.
fn id_of(event: &File) -> io::Result<u64> {
    let mut id = 0u64;
    control(event, EVENT_ID, &raw mut id as libc::c_ulong)?;
    Ok(id)
}

/// The number by which the kernel knows probes of functions.
fn type_of_probes() -> io::Result<u32> {
    let text = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type")?;
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn open_event(path: &CStr, offset: u64, cpu: i32) -> io::Result<File> {
    // It is of all processes: one that is inherited, the kernel would look for in the memory of the thread that forks,
    // and refuse the fork.
    let attributes = Attributes {
        kind: type_of_probes()?,
        size: size_of::<Attributes>() as u32,
        config_1: path.as_ptr() as u64,
        config_2: offset,
        sample_period: 1,
        sample_type: SAMPLE,
        sample_regs_user: REGISTERS,
        sample_stack_user: 8,
        flags: USE_CLOCK,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    open(&attributes, -1, cpu)
}

/// An event at a tracepoint that is disabled, so it costs nothing: a program that is set for it runs all the same, on
/// every CPU, whatever CPU the event is of.
pub(crate) fn open_for_program(tracepoint: u64) -> io::Result<File> {
    let attributes = Attributes {
        kind: TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: tracepoint,
        flags: DISABLED,
        ..Attributes::default()
    };
    // The first CPU may be offline.
    (0..4096)
        .map(|cpu| open(&attributes, -1, cpu))
        .find(|event| !is_offline(event))
        .unwrap_or(Err(io::ErrorKind::NotFound.into()))
}

/// A counter of the next command that this thread starts ([`crate::counters`]).
pub(crate) fn open_counter(event: Event) -> io::Result<File> {
    let (kind, config) = match event {
        Event::Cycles => (TYPE_HARDWARE, 0),
        Event::Instructions => (TYPE_HARDWARE, 1),
        Event::CacheReferences => (TYPE_HARDWARE, 2),
        Event::CacheMisses => (TYPE_HARDWARE, 3),
        Event::Branches => (TYPE_HARDWARE, 4),
        Event::BranchMisses => (TYPE_HARDWARE, 5),
        Event::Migrations => (TYPE_SOFTWARE, 4),
    };
    // Threads migrate in the kernel.
    let user = if kind == TYPE_HARDWARE { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR } else { 0 };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        read_format: READ_TIMES,
        flags: DISABLED | INHERIT | ENABLE_ON_EXEC | user,
        ..Attributes::default()
    };
    open(&attributes, 0, -1)
}

/// An event of this process (0: this thread; -1: all) on this CPU (-1: each).
fn open(attributes: &Attributes, process: i32, cpu: i32) -> io::Result<File> {
    // SAFETY: `attributes` has the size that it states (L2), and a path in it ends in NUL (L7).
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, attributes, process, cpu, -1, FLAG_CLOEXEC)
    };
    match RawFd::try_from(fd) {
        // SAFETY: a new descriptor (L4).
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn is_offline(event: &io::Result<File>) -> bool {
    event.as_ref().err().and_then(io::Error::raw_os_error) == Some(libc::ENODEV)
}

/// Makes a program of the kernel's virtual machine run at the event.
pub(crate) fn set_program(event: &File, program: RawFd) -> io::Result<()> {
    control(event, SET_PROGRAM, program as libc::c_ulong)
}

fn control(event: &File, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the requests that are made take a descriptor (L1), a string (L7) or room for a number (L2).
    match unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A record with the fields of [`SAMPLE`].
fn sample(body: &[u8], ids: &[(u64, usize)]) -> Option<Sample> {
    let id = number(body, 16, 8);
    Some(Sample {
        point: ids.iter().find(|known| known.0 == id)?.1,
        registers: registers(body.get(24..)?),
        pid: number(body, 0, 4) as u32,
        tid: number(body, 4, 4) as u32,
        time_ns: number(body, 8, 8),
    })
}

/// The little-endian number of `length` bytes at `at`; bytes beyond the end count as zero.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes.iter().skip(at).take(length).rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
