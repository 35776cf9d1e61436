//! The memory in which the observer records: made before the program starts, enlarged while it runs, read at its end.
//!
//! # Contract
//! `unc` never maps it: it writes single words of the header and reads copies, so that nothing the program does to the
//! memory can hurt `unc`.
//! # Invariants
//! I1: the sizes are powers of two from [`FIRST`] to [`MOST`]. Of the number of available units, only the bits of one byte
//! change then, so that the program never reads half of an old and half of a new number.
//! I2: memory is reserved before it is made available, so that a program never writes where there is none.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use uncontended_sys::clock::{self, Moment, Source};
use uncontended_sys::memfd;
use uncontended_trace::layout::{Header, UNIT};
use uncontended_trace::setup::{ALLOCATED_AT, AVAILABLE_AT, ENABLED_AT, Setup, TICK_NS_AT};

const STEP_NS_AT: u64 = std::mem::offset_of!(Header, step_ns) as u64;
const FIRST: u64 = 32 << 20;
const MOST: u64 = 512 << 20;

/// The record of one run.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    available: u64,
    start: Moment,
}

impl Record {
    /// The variable through which a program finds its record.
    pub(crate) const VARIABLE: &str = "UNC_RECORD";
    /// How often [`Record::tend`] should be called.
    pub(crate) const TEND_EVERY: Duration = Duration::from_millis(5);

    /// Makes an empty record: `holds` says whether holds are recorded, `enabled` whether recording begins at once.
    pub(crate) fn create(holds: bool, enabled: bool) -> io::Result<Self> {
        Self::with_room(FIRST, MOST, holds, enabled)
    }

    /// Makes a record for a few events.
    pub(crate) fn small() -> io::Result<Self> {
        Self::with_room(1 << 20, 1 << 20, true, true)
    }

    fn with_room(available: u64, capacity: u64, holds: bool, enabled: bool) -> io::Result<Self> {
        let source = clock::best();
        clock::select(source);
        let file = memfd::create(c"uncontended-record")?;
        file.set_len(capacity)?;
        memfd::reserve(&file, 0, available)?;
        let start = Moment::now();
        // The length of a tick is told at the end, by the whole run.
        let (start_ticks, tick_ns, step_ns) = (start.ticks, 1.0, 1.0);
        let setup = Setup {
            clock: source as u32,
            start_ticks,
            tick_ns,
            step_ns,
            holds,
            enabled,
            capacity,
            available,
        };
        file.write_all_at(&setup.bytes(), 0)?;
        Ok(Record { file, available, start })
    }

    /// The path by which a program opens it.
    pub(crate) fn path(&self) -> OsString {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// Begins to record.
    pub(crate) fn enable(&self) {
        // A memory file takes a write of bytes that it has.
        let _ = self.file.write_all_at(&1_u32.to_le_bytes(), ENABLED_AT);
    }

    /// Doubles the memory when a quarter of it is used, since reserving takes time in which the program goes on. Without
    /// more memory events are dropped and counted.
    pub(crate) fn tend(&mut self) {
        let twice = self.available * 2;
        if self.used() * 4 < self.available || twice > MOST || self.available < FIRST {
            return;
        }
        if memfd::reserve(&self.file, self.available, twice).is_ok() {
            let units = u32::try_from(twice / UNIT as u64).unwrap_or(u32::MAX);
            if self.file.write_all_at(&units.to_le_bytes(), AVAILABLE_AT).is_ok() {
                self.available = twice;
            }
        }
    }

    /// Bytes given out, as far as there is memory.
    fn used(&self) -> u64 {
        let mut units = [0; 4];
        let read = self.file.read_exact_at(&mut units, ALLOCATED_AT);
        let used = read.map_or(0, |()| u64::from(u32::from_le_bytes(units)) * UNIT as u64);
        used.min(self.available)
    }

    /// A copy of what was recorded so far.
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
    use uncontended_trace::reader;

    #[test]
    fn a_fresh_record_is_read_as_empty() {
        let record = Record::create(true, false).unwrap();
        let read = reader::read(&record.read().unwrap()).unwrap();
        assert!(read.processes.is_empty() && read.holds);
        assert!(read.tick_ns > 0.0 && read.start_ticks > 0);
    }

    #[test]
    fn memory_is_doubled_in_time_and_not_beyond_the_limit() {
        let mut record = Record::create(true, true).unwrap();
        record.tend();
        assert_eq!(record.available, FIRST);
        let units = u32::try_from(MOST / UNIT as u64).unwrap();
        record.file.write_all_at(&units.to_le_bytes(), ALLOCATED_AT).unwrap();
        record.tend();
        assert_eq!(record.available, FIRST * 2);
        let mut word = [0; 4];
        record.file.read_exact_at(&mut word, AVAILABLE_AT).unwrap();
        assert_eq!(u64::from(u32::from_le_bytes(word)) * UNIT as u64, FIRST * 2);
        record.available = MOST;
        record.tend();
        assert_eq!(record.available, MOST);
    }

    #[test]
    fn growth_changes_one_byte_of_the_number() {
        let bytes = |size: u64| u32::try_from(size / UNIT as u64).unwrap().to_le_bytes();
        let (mut size, first) = (FIRST, bytes(FIRST));
        while size < MOST {
            size *= 2;
            let changed = bytes(size).iter().zip(first).filter(|(new, old)| *new != old).count();
            assert_eq!(changed, 1);
        }
    }
}
