//! Small programs that the kernel runs at tracepoints, and the tables that they fill.
//!
//! # Contract
//! [`Assembler`] makes the instructions, [`Program::load`] has the kernel check them, [`Program::attach`] runs them at
//! a tracepoint, for all threads of the machine, until the [`Attached`] is dropped. A [`Map`] is shared by programs and
//! this process; other processes can read one made by [`Map::mappable`] through its descriptor, once it is frozen.
//! [`raw`] has programs that need no perf event, and that this process can run, too.
//! Needs root, or CAP_BPF and CAP_PERFMON.
//! # Invariants
//! I1: the kernel refuses a program that could loop without an end, read what it may not, or change what it observes.
//! I2: a key or a value that is passed to the kernel has the length that its map was made with.
//! # Sources
//! bpf(2); `Documentation/bpf/standardization/instruction-set.rst`; perf_event_open(2) for `PERF_EVENT_IOC_SET_BPF`.

mod assembler;
pub mod raw;

pub use assembler::{Assembler, Condition, Label, Operation, Register, Width};

use crate::{aside, perf};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, RawFd};

const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const MAP_UPDATE: libc::c_long = 2;
const MAP_DELETE: libc::c_long = 3;
const MAP_NEXT_KEY: libc::c_long = 4;
const PROGRAM_LOAD: libc::c_long = 5;
const MAP_FREEZE: libc::c_long = 22;
const ENABLE_STATS: libc::c_long = 32;
const MAPPABLE: u32 = 1 << 10;
const TYPE_TRACEPOINT: u32 = 5;
/// What the kernel wants to hear before a program may use the functions that this one does.
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";
const LOG_BYTES: usize = 1 << 20;

/// How a map keeps its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// By any key.
    Hash = 1,
    /// By a number of 32 bits.
    Array = 2,
    /// The same, for each CPU.
    ArrayOfCpu = 6,
    /// Not at all: what programs put into a ring of as many bytes, a power of two.
    Ring = 27,
}

/// A table in the kernel.
#[derive(Debug)]
pub struct Map {
    file: File,
    key: usize,
    value: usize,
}

impl Map {
    /// An empty table of at most `entries`.
    ///
    /// # Errors
    /// Those of `bpf`: usually missing permission.
    pub fn new(kind: Kind, key: usize, value: usize, entries: u32) -> io::Result<Self> {
        Self::with_flags(kind, key, value, entries, 0)
    }

    /// An array of `entries` values of `value` bytes, a multiple of eight, that can be mapped as one piece of memory
    /// ([`crate::window`]).
    ///
    /// # Errors
    /// Those of `bpf`: missing permission, or a kernel before 5.5.
    pub fn mappable(value: usize, entries: u32) -> io::Result<Self> {
        Self::with_flags(Kind::Array, 4, value, entries, MAPPABLE)
    }

    fn with_flags(
        kind: Kind,
        key: usize,
        value: usize,
        entries: u32,
        flags: u32,
    ) -> io::Result<Self> {
        let words = [kind as u32, key as u32, value as u32, entries, flags];
        let mut attributes = [0u64; 3];
        for (nth, word) in words.into_iter().enumerate() {
            attributes[nth / 2] |= u64::from(word) << (32 * (nth % 2));
        }
        let file = descriptor(call(MAP_CREATE, &attributes)?);
        Ok(Map { file, key, value })
    }

    /// Forbids every process to write to it, by calls and by new mappings. Programs still write.
    ///
    /// # Errors
    /// Those of `bpf`: a process has it mapped to write, or a kernel before 5.2.
    pub fn freeze(&self) -> io::Result<()> {
        call(MAP_FREEZE, &[self.number()]).map(|_| ())
    }

    /// The value of `key`, if it has one.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        assert_eq!(key.len(), self.key, "I2");
        let mut value = vec![0u8; self.value];
        let place = value.as_mut_ptr() as u64;
        self.element(MAP_LOOKUP, key, place, 0).ok().map(|()| value)
    }

    /// Sets the value of `key`; only if it had none, if `is_new`. Whether it did.
    pub fn set(&self, key: &[u8], value: &[u8], is_new: bool) -> bool {
        assert_eq!((key.len(), value.len()), (self.key, self.value), "I2");
        self.element(MAP_UPDATE, key, value.as_ptr() as u64, u64::from(is_new)).is_ok()
    }

    /// Removes a key, if it is there.
    pub fn remove(&self, key: &[u8]) {
        assert_eq!(key.len(), self.key, "I2");
        // A key that is not there is removed already.
        let _ = self.element(MAP_DELETE, key, 0, 0);
    }

    /// All keys. Those that are added or removed meanwhile may be missing, or there twice.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            let mut next = vec![0u8; self.key];
            let before = keys.last().map_or(0, |key| key.as_ptr() as u64);
            let attributes = [self.number(), before, next.as_mut_ptr() as u64, 0];
            if call(MAP_NEXT_KEY, &attributes).is_err() {
                return keys;
            }
            keys.push(next);
        }
    }

    fn element(&self, what: libc::c_long, key: &[u8], value: u64, flags: u64) -> io::Result<()> {
        call(what, &[self.number(), key.as_ptr() as u64, value, flags]).map(|_| ())
    }

    /// The number by which an instruction names it.
    fn number(&self) -> u64 {
        u64::from(self.file.as_raw_fd().unsigned_abs())
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Has the kernel time all programs of the machine as long as the file is open: [`Counts::runs`] and
/// [`Counts::run_ns`].
///
/// # Errors
/// Those of `bpf`: missing permission, or a kernel before 5.8.
pub fn time_programs() -> io::Result<File> {
    call(ENABLE_STATS, &[0]).map(descriptor)
}

/// Why the kernel did not take a program.
#[derive(Debug)]
pub struct Refused {
    /// The kernel's error.
    pub error: io::Error,
    /// The end of what its checker says.
    pub log: String,
}

/// A program that the kernel has checked.
#[derive(Debug)]
pub struct Program {
    file: File,
}

/// A program that runs at a tracepoint until this is dropped.
#[derive(Debug)]
pub struct Attached {
    event: File,
    program: File,
}

/// What the kernel counted of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often it ran, and for how long in all, while programs were timed ([`time_programs`]).
    pub runs: u64,
    /// See `runs`.
    pub run_ns: u64,
    /// How often the kernel left it out, because another program ran on the same CPU or a map was in use there.
    pub missed: u64,
}

fn counts(program: &File) -> Counts {
    let facts = facts(program);
    let count = |name: &str| {
        let line = facts.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    };
    Counts {
        runs: count("run_cnt:"),
        run_ns: count("run_time_ns:"),
        missed: count("recursion_misses:"),
    }
}

/// What the kernel tells of a descriptor.
fn facts(fd: impl AsFd) -> String {
    let path = format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd());
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Whether it is an array that [`Map::freeze`] froze: memory that never shrinks, and that programs alone write.
pub fn is_frozen_array(fd: impl AsFd) -> bool {
    let number = fd.as_fd().as_raw_fd();
    let link = std::fs::read_link(format!("/proc/self/fd/{number}"));
    let facts = facts(fd);
    link.is_ok_and(|link| link.as_os_str() == "anon_inode:bpf-map")
        && ["map_type:\t2", "frozen:\t1"].iter().all(|fact| facts.lines().any(|line| line == *fact))
}

impl Attached {
    /// What the kernel has counted so far.
    pub fn counts(&self) -> Counts {
        counts(&self.program)
    }

    /// Ends these programs, without waiting for the kernel.
    pub fn close_aside(all: Vec<Attached>) {
        let descriptors = all.iter().map(|attached| attached.event.as_raw_fd()).collect();
        aside::close(all, descriptors);
    }
}

impl Program {
    /// Has the kernel check a program for tracepoints.
    ///
    /// # Errors
    /// Those of `bpf`, with the end of the checker's log.
    pub fn load(code: Assembler) -> Result<Self, Refused> {
        load(TYPE_TRACEPOINT, &code.finish()).map(|file| Program { file })
    }

    /// Runs it at the tracepoint with this number (see [`crate::tracefs`]), on every CPU.
    ///
    /// # Errors
    /// Those of `perf_event_open` and its requests.
    pub fn attach(self, tracepoint: u64) -> io::Result<Attached> {
        let event = perf::open_for_program(tracepoint)?;
        perf::set_program(&event, self.file.as_raw_fd())?;
        Ok(Attached { event, program: self.file })
    }
}

/// Has the kernel check a program of this type.
fn load(kind: u32, code: &[u64]) -> Result<File, Refused> {
    let load = |log: &mut [u8]| {
        let (level, size) = if log.is_empty() { (0, 0) } else { (1, log.len() as u64) };
        let place = if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 };
        let attributes = [
            u64::from(kind) | (code.len() as u64) << 32,
            code.as_ptr() as u64,
            LICENSE.as_ptr() as u64,
            level | size << 32,
            place,
            0,
        ];
        call(PROGRAM_LOAD, &attributes).map(descriptor)
    };
    load(&mut []).map_err(|error| {
        let mut log = vec![0u8; LOG_BYTES];
        // It fails again, to tell why.
        let _ = load(&mut log);
        let text = String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or(&[]));
        let lines: Vec<&str> = text.lines().rev().take(12).collect();
        let log = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
        Refused { error, log }
    })
}

/// Makes the system call.
fn call(what: libc::c_long, attributes: &[u64]) -> io::Result<RawFd> {
    // SAFETY: attributes of the length that is stated (L2); what they point to has the length that the kernel takes
    // for it: keys and values by I2, instructions, text and log by the numbers next to them.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, what, attributes.as_ptr(), size_of_val(attributes)) };
    RawFd::try_from(answer).ok().filter(|&fd| fd >= 0).ok_or_else(io::Error::last_os_error)
}

/// The descriptor that a call has made.
fn descriptor(fd: RawFd) -> File {
    // SAFETY: a new descriptor (L4).
    unsafe { File::from_raw_fd(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracefs::Tracefs;
    use crate::window::{Access, Window};
    use std::sync::atomic::Ordering::Relaxed;

    const MAP_LOOKUP_FUNCTION: i32 = 1;

    /// Counts its own runs in the first word of the map.
    fn counting(map: &Map) -> Assembler {
        let mut code = Assembler::default();
        let end = code.label();
        code.store_constant(Width::Word, Register::FP, -4, 0);
        code.copy(Register::R2, Register::FP);
        code.compute_with(Operation::Add, Register::R2, -4);
        code.map(Register::R1, map);
        code.call(MAP_LOOKUP_FUNCTION);
        code.jump_if_with(Condition::Equal, Register::R0, 0, end);
        code.set(Register::R1, 1);
        code.add_to_shared(Register::R0, 0, Register::R1);
        code.place(end);
        code.set(Register::R0, 0);
        code.exit();
        code
    }

    fn run_and_watch() -> io::Result<()> {
        let tracepoint = Tracefs::open()?.event_id("sched/sched_switch")?;
        let map = Map::mappable(64, 4)?;
        let window = Window::open(map.as_fd(), 4096, Access::Read)?;
        let writable = Window::open(map.as_fd(), 4096, Access::Write)?;
        assert!(map.freeze().is_err(), "a writable mapping is there");
        drop(writable);
        map.freeze()?;
        assert!(Window::open(map.as_fd(), 4096, Access::Write).is_err());
        assert!(!map.set(&[0; 4], &[0; 64], false), "frozen");
        let timed = time_programs()?;
        let program = Program::load(counting(&map)).map_err(|refused| refused.error)?;
        let attached = program.attach(tracepoint)?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        let counts = attached.counts();
        let counted = window.words()[0].load(Relaxed);
        assert!(counts.runs > 0 && counts.run_ns > 0, "{counts:?}");
        assert!(counted > 0 && window.words()[1].load(Relaxed) == 0, "{counted}");
        drop(timed);
        Ok(())
    }

    #[test]
    fn a_program_fills_a_frozen_map_that_is_read_through_a_window() {
        if let Err(error) = run_and_watch() {
            uncontended_testkit::skip!("a_program_fills_a_frozen_map", "no programs: {error}");
        }
    }
}
