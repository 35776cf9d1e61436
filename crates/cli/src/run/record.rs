//! The memory in which the observer records: created before the program starts, read at its end.
//!
//! # Contract
//! `unc` never maps it: it writes single words of the header and reads copies, so nothing that the program does to the
//! memory can harm `unc`. The program adds memory to the file as needed (`uncontended_trace::arena`), up to [`MOST`]
//! and a quarter of what the machine or the control group has free. Kernels that do not support that (before 5.14) get
//! [`FIXED`] at once. Beyond that, events are dropped and counted.
//! # Invariants
//! I1: memory is reserved before it is made available, so a program never writes where there is none.

use crate::memory;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use uncontended_sys::clock::{self, Moment, Source};
use uncontended_sys::{memfd, switches};
use uncontended_trace::layout::{Header, Process, UNIT};
use uncontended_trace::reader;
use uncontended_trace::setup::{
    ALLOCATED_AT, AVAILABLE_AT, ENABLED_AT, Holds, START_TICKS_AT, Setup, TICK_NS_AT,
};

const STEP_NS_AT: u64 = offset_of!(Header, step_ns) as u64;
const PROCESSES_AT: u64 = offset_of!(Header, processes) as u64;
const FIRST: u64 = 1 << 20;
const FIXED: u64 = 64 << 20;
const MOST: u64 = 1 << 30;

/// What is recorded besides waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kinds {
    /// Which holds.
    pub(crate) holds: Holds,
    /// Which locks are held while another is taken.
    pub(crate) lock_order: bool,
}

/// The entry of a process, or of one that is announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) unit: u32,
    pub(crate) pid: u32,
    pub(crate) parent: u32,
}

/// The record of one run.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    start: Moment,
}

impl Record {
    /// The environment variable through which a program finds its record.
    pub(crate) const VARIABLE: &str = "UNC_RECORD";
    /// Creates an empty record of these kinds, switched on at once if `enabled`.
    pub(crate) fn create(kinds: Kinds, enabled: bool) -> io::Result<Self> {
        let most = (memory::spare() / 4).clamp(FIXED, MOST) / FIRST * FIRST;
        let first = if memfd::can_populate() { FIRST } else { FIXED };
        Self::with_room(first, most, kinds, enabled)
    }

    /// Creates a record for a few events.
    pub(crate) fn small(kinds: Kinds) -> io::Result<Self> {
        Self::with_room(1 << 20, 1 << 20, kinds, true)
    }

    fn with_room(available: u64, capacity: u64, kinds: Kinds, enabled: bool) -> io::Result<Self> {
        let source = clock::best();
        clock::select(source);
        let file = memfd::create(c"uncontended-record")?;
        file.set_len(capacity)?;
        memfd::reserve(&file, 0, available)?;
        let start = Moment::now();
        // The length of a tick is known at the end, from the whole run.
        let (start_ticks, tick_ns, step_ns) = (start.ticks, 1.0, 1.0);
        let setup = Setup {
            clock: source as u32,
            start_ticks,
            tick_ns,
            step_ns,
            holds: kinds.holds,
            lock_order: kinds.lock_order,
            switches: switches::is_told(),
            from_kernel: false,
            enabled,
            capacity,
            available,
        };
        file.write_all_at(&setup.bytes(), 0)?;
        Ok(Record { file, start })
    }

    /// The path by which a program opens it.
    pub(crate) fn path(&self) -> OsString {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// The number of its file, by which it is known among what a process has mapped.
    pub(crate) fn inode(&self) -> u64 {
        self.file.metadata().map_or(0, |facts| facts.ino())
    }

    /// The program starts now: its times count from here.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.start = Moment::now();
        self.file.write_all_at(&self.start.ticks.to_le_bytes(), START_TICKS_AT)
    }

    /// When the program started, on CLOCK_MONOTONIC.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start.ns
    }

    /// Starts recording.
    pub(crate) fn enable(&self) {
        // A write of bytes that the memory file already has cannot fail.
        let _ = self.file.write_all_at(&1_u32.to_le_bytes(), ENABLED_AT);
    }

    /// Bytes allocated, up to the memory there is.
    fn used(&self) -> u64 {
        let bytes_at = |place| {
            let mut units = [0; 4];
            let read = self.file.read_exact_at(&mut units, place);
            read.map_or(0, |()| u64::from(u32::from_le_bytes(units)) * UNIT as u64)
        };
        let length = self.file.metadata().map_or(0, |facts| facts.len());
        bytes_at(ALLOCATED_AT).min(bytes_at(AVAILABLE_AT)).min(length)
    }

    /// Whether a program has recorded in it.
    pub(crate) fn has_processes(&self) -> bool {
        self.half(PROCESSES_AT).is_some_and(|first| first != 0)
    }

    /// The entries of processes and announcements after the entry `since`, oldest first; of very many, the newest.
    pub(crate) fn processes_since(&self, since: u32) -> Vec<Entry> {
        const MOST: usize = 4096;
        let field = |unit: u32, offset: usize| {
            self.half(u64::from(unit) * UNIT as u64 + offset as u64).unwrap_or(0)
        };
        // The oldest entry's link leads to itself.
        let next =
            |&unit: &u32| Some(field(unit, offset_of!(Process, next))).filter(|&next| next != unit);
        let units = std::iter::successors(self.half(PROCESSES_AT), next);
        let units = units.take_while(|&unit| unit != since && unit != 0).take(MOST);
        let mut entries: Vec<Entry> = units
            .map(|unit| Entry {
                unit,
                pid: field(unit, offset_of!(Process, pid)),
                parent: field(unit, offset_of!(Process, parent)),
            })
            .collect();
        entries.reverse();
        entries
    }

    fn half(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Whether [`Record::read`] would return a readable record.
    pub(crate) fn check(&self) -> io::Result<()> {
        let mut header = [0; size_of::<Header>()];
        self.file.read_exact_at(&mut header, 0)?;
        reader::check(&header).map_err(io::Error::other)
    }

    /// A copy of what has been recorded so far.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let tick_ns = match clock::best() {
            Source::Monotonic => 1.0,
            Source::Tsc | Source::Cntvct => self.start.tick_ns(Moment::now()),
        };
        self.file.write_all_at(&tick_ns.to_le_bytes(), TICK_NS_AT)?;
        let step_ns = clock::step_ticks() as f64 * tick_ns;
        self.file.write_all_at(&step_ns.to_le_bytes(), STEP_NS_AT)?;
        let mut bytes = vec![0; usize::try_from(self.used()).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: Kinds = Kinds { holds: Holds::Waited, lock_order: false };

    #[test]
    fn a_fresh_record_is_read_as_empty() {
        let record = Record::create(KINDS, false).unwrap();
        let bytes = record.read().unwrap();
        let read = reader::read(&bytes).unwrap();
        assert!(
            read.processes.is_empty() && read.holds == Holds::Waited && !record.has_processes()
        );
        assert!(read.tick_ns > 0.0 && read.start_ticks > 0);
    }

    #[test]
    fn each_process_is_read_once() {
        let record = Record::create(KINDS, false).unwrap();
        let put = |at: u64, value: u32| {
            record.file.write_all_at(&value.to_le_bytes(), at).unwrap();
        };
        let entry = |unit: u32, next: u32, pid: u32| {
            let at = u64::from(unit) * UNIT as u64;
            put(at + offset_of!(Process, next) as u64, next);
            put(at + offset_of!(Process, pid) as u64, pid);
        };
        let pids = |since| -> Vec<u32> {
            record.processes_since(since).iter().map(|entry| entry.pid).collect()
        };
        assert!(pids(0).is_empty());
        entry(64, 64, 7);
        put(PROCESSES_AT, 64);
        assert_eq!(pids(0), [7]);
        entry(96, 64, 8);
        put(PROCESSES_AT, 96);
        assert_eq!((pids(0), pids(64)), (vec![7, 8], vec![8]));
    }

    #[test]
    fn what_was_given_out_is_read_as_far_as_there_is_memory() {
        let record = Record::create(KINDS, true).unwrap();
        for (units, bytes) in [(100, 6400), (u32::MAX, FIRST as usize)] {
            record.file.write_all_at(&u32::to_le_bytes(units), ALLOCATED_AT).unwrap();
            assert_eq!(record.read().unwrap().len(), bytes);
        }
    }
}
