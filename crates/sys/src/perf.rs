//! Tracepoints of a program and its descendants, through perf events.
//!
//! # Contract
//! [`Watch::open`] arms tracepoints for the programs that this thread starts from then on, beginning with their `exec`.
//! [`Watch::drain`] returns the samples since the last call; samples that the rings had no room for are counted.
//! # State
//! One ring of [`RING_PAGES`] pages per CPU, shared by all tracepoints: the kernel writes at `data_head`, we read at
//! `data_tail`; both count bytes and only grow.
//! # Edges
//! perf-head: the kernel stores `data_head` -> `drain` loads it. Carries the records before it.
//! perf-tail: `drain` stores `data_tail` -> the kernel loads it. Carries the end of our reading.
//! # Invariants
//! I1: `base` is the start of a mapping of `1 + RING_PAGES` pages that lives as long as its `Ring`.
//! I2: the child of the fork only makes system calls: other threads may have held any lock.
//! # Sources
//! perf_event_open(2); the kernel's ends of the edges: `perf_output_put_handle`, `perf_output_begin`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const RING_PAGES: usize = 128;
const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 10; // thread, time, call chain, raw
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const NO_KERNEL_CHAIN: u64 = 1 << 21;
const NO_USER_CHAIN: u64 = 1 << 22;
const USE_CLOCK: u64 = 1 << 25;
const FLAG_CLOEXEC: libc::c_ulong = 1 << 3;
const SET_OUTPUT: libc::c_ulong = 0x2405;
const SET_FILTER: libc::c_ulong = 0x4008_2406;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;
/// Values from here on are markers in a call chain, not addresses.
const FIRST_MARK: u64 = u64::MAX - 4095;

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

/// A tracepoint to watch.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Its number (see [`crate::tracefs`]).
    pub id: u64,
    /// A condition on its fields: only matching events count.
    pub filter: Option<&'a std::ffi::CStr>,
    /// Whether to take the user's call chain, by frame pointers.
    pub chain: bool,
}

/// An event at a tracepoint.
#[derive(Debug)]
pub struct Sample {
    /// The number of its [`Point`].
    pub id: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Its time, on CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The user call chain, innermost first; the innermost address is that of the call itself.
    pub chain: Vec<u64>,
}

/// Armed tracepoints.
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
}

impl Watch {
    /// Arms `points` for programs that this thread starts from now on, on every CPU.
    ///
    /// # Errors
    /// Those of `perf_event_open`, its filters and `mmap`: usually missing permission.
    pub fn open(points: &[Point<'_>]) -> io::Result<Self> {
        // SAFETY: a number (L1).
        let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        let mut rings = Vec::new();
        for cpu in 0..i32::try_from(cpus).unwrap_or(0) {
            match Ring::open(points, cpu) {
                Ok(ring) => rings.push(ring),
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {} // This CPU is offline.
                Err(error) => return Err(error),
            }
        }
        Ok(Watch { rings, lost: 0 })
    }

    /// Passes on the samples since the last call, in order of time only within each CPU.
    pub fn drain(&mut self, mut take: impl FnMut(Sample)) {
        for ring in &mut self.rings {
            self.lost += ring.drain(&mut take);
        }
    }

    /// Disarms the tracepoints in another process. At the last close of a tracepoint the kernel waits until no CPU can
    /// still be in it, about thirty milliseconds, which the caller should not wait for. That process has no other
    /// descriptor, so it keeps no pipe open, and it exits by itself.
    pub fn close_aside(self) {
        let events = self.rings.iter().flat_map(|ring| &ring.events);
        let mut kept: Vec<RawFd> = events.map(AsRawFd::as_raw_fd).collect();
        kept.sort_unstable();
        // SAFETY: the child only makes system calls (I2).
        if unsafe { libc::fork() } == 0 {
            let gaps = std::iter::once(-1).chain(kept.iter().copied());
            let ends = kept.iter().map(|&fd| fd - 1).chain(std::iter::once(i32::MAX));
            for (before, last) in gaps.zip(ends).filter(|(before, last)| before < last) {
                // SAFETY: numbers (L1), of descriptors that the child does not use (I2).
                unsafe { libc::syscall(libc::SYS_close_range, before + 1, last, 0) };
            }
            // SAFETY: runs no handlers (I2).
            unsafe { libc::_exit(0) };
        }
        // The drop closes descriptors that are not the last ones or, if there is no child, does all of it.
    }

    /// The number of samples so far that the rings had no room for.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Ring {
    fn open(points: &[Point<'_>], cpu: i32) -> io::Result<Self> {
        let mut events: Vec<File> = Vec::new();
        for point in points {
            let event = open_event(point, cpu)?;
            if let Some(filter) = point.filter {
                control(&event, SET_FILTER, filter.as_ptr() as libc::c_ulong)?;
            }
            events.push(event);
        }
        // SAFETY: a number (L1).
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let fd = events.first().map_or(-1, AsRawFd::as_raw_fd);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping (L3).
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page * (1 + RING_PAGES),
                protection,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::Other)?;
        for event in events.iter().skip(1) {
            // Only an event with a mapping can receive the others' output.
            control(event, SET_OUTPUT, fd as libc::c_ulong)?;
        }
        Ok(Ring { base, page, events })
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
                RECORD_SAMPLE => sample(&body).into_iter().for_each(&mut *take),
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

fn open_event(point: &Point<'_>, cpu: i32) -> io::Result<File> {
    let chain = if point.chain { NO_KERNEL_CHAIN } else { NO_KERNEL_CHAIN | NO_USER_CHAIN };
    let attributes = Attributes {
        kind: TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: point.id,
        sample_period: 1,
        sample_type: SAMPLE,
        flags: DISABLED | INHERIT | ENABLE_ON_EXEC | USE_CLOCK | chain,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    // SAFETY: `attributes` has the size that it states (L2).
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &attributes, 0, cpu, -1, FLAG_CLOEXEC) };
    match RawFd::try_from(fd) {
        // SAFETY: a new descriptor (L4).
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn control(event: &File, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: both requests that are made take a descriptor (L1) or a string (L7).
    match unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A record with the fields of [`SAMPLE`].
fn sample(body: &[u8]) -> Option<Sample> {
    let links = usize::try_from(number(body, 16, 8)).ok()?;
    let raw = 24_usize.checked_add(links.checked_mul(8)?)?;
    body.get(raw..raw + 6)?;
    let chain = (0..links)
        .map(|link| number(body, 24 + link * 8, 8))
        .filter(|&address| address < FIRST_MARK);
    Some(Sample {
        id: number(body, raw + 4, 2),
        pid: number(body, 0, 4) as u32,
        tid: number(body, 4, 4) as u32,
        time_ns: number(body, 8, 8),
        chain: chain.collect(),
    })
}

/// The little-endian number of `length` bytes at `at`; bytes beyond the end count as zero.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes.iter().skip(at).take(length).rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
