//! The program in the kernel and its maps.
//!
//! # State
//! `stamps`: a stamp of 64 bytes per CPU, frozen, so that only the program writes it. `control`: what this daemon tells
//! the program. `ring`: what the program tells this daemon, of which only the fact matters.

use crate::program::{self, control};
use crate::refusal::Refusal;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;
use uncontended_atomic::AtomicU64;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_fence::stamps::layout::{STAMP_WORDS, word};
use uncontended_fence::stamps::{Access, Words};
use uncontended_sys::bpf::raw::{Link, Raw};
use uncontended_sys::bpf::{Kind, Map, Refused, time_programs};
use uncontended_sys::{rights, window};

/// The interrupt that every CPU with work takes, and what every CPU without work does before.
const TRACEPOINTS: [&std::ffi::CStr; 2] = [c"local_timer_entry", c"sched_switch"];
const RING_BYTES: usize = 4096;

/// What the daemon has in the kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    stamps: Map,
    words: Words,
    control: Words,
    ring: Map,
    consumed: Words,
    produced: Words,
    program: Raw,
    _links: Vec<Link>,
}

impl Kernel {
    /// Loads and attaches the program, for the CPUs below `cpus`.
    pub(crate) fn load(cpus: usize) -> Result<Kernel, Refusal> {
        let entries = u32::try_from(cpus).unwrap_or(u32::MAX);
        let stamps = Map::mappable(8 * STAMP_WORDS, entries).map_err(no_maps)?;
        let told = Map::mappable(8 * control::WORDS, 1).map_err(no_maps)?;
        let ring = Map::new(Kind::Ring, 0, 0, RING_BYTES as u32).map_err(no_maps)?;
        let open = |map: &Map, bytes: usize, access| {
            let words = Words::open(map.as_fd(), bytes / 8, access);
            words.map_err(|error| Refusal::Failed("map the kernel's memory", error))
        };
        let words = open(&stamps, 64 * cpus, Access::Read)?;
        let control = open(&told, 8 * control::WORDS, Access::Write)?;
        // The ring's first page has the reader's position, its second the writer's.
        let page = window::page();
        let (consumed, produced) =
            (open(&ring, page, Access::Write)?, open(&ring, 2 * page, Access::Read)?);
        stamps.freeze().map_err(|error| Refusal::Failed("freeze the stamps", error))?;
        control.all()[control::WATERMARK].store(u64::MAX, Relaxed);
        let program = Raw::load(program::stamping(&stamps, &told, &ring)).map_err(rejected)?;
        let mut links = Vec::new();
        for name in TRACEPOINTS {
            let text = name.to_str().unwrap_or("?");
            links.push(program.attach(name).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Refusal::NoTracepoint(text),
                _ => Refusal::Failed("attach the program", error),
            })?);
        }
        Ok(Kernel { stamps, words, control, ring, consumed, produced, program, _links: links })
    }

    /// What a run of the program takes, in nanoseconds, as the kernel measures it now; it needs root.
    pub(crate) fn measure(&self) -> Option<u64> {
        const TRIES: u32 = 20;
        let _timed = time_programs().ok()?;
        let before = self.program.counts();
        for _ in 0..TRIES {
            std::thread::sleep(Duration::from_millis(1));
        }
        let after = self.program.counts();
        (after.run_ns - before.run_ns).checked_div(after.runs - before.runs)
    }

    /// When the program last ran on a CPU.
    pub(crate) fn stamped_ns(&self, cpu: usize) -> u64 {
        self.words.all()[STAMP_WORDS * cpu + word::STAMPED].load(Relaxed)
    }

    /// How often it has run there.
    pub(crate) fn runs(&self, cpu: usize) -> &AtomicU64 {
        &self.words.all()[STAMP_WORDS * cpu + word::RUNS]
    }

    /// Has the program run on a CPU now; false if that is offline.
    pub(crate) fn visit(&self, cpu: usize) -> io::Result<bool> {
        match self.program.run_on(cpu as u32) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Has the program tell when this many CPUs have been stamped after `watermark_ns`, which is still to come.
    pub(crate) fn arm(&self, watermark_ns: u64, cpus: usize) {
        self.control.all()[control::LEFT].store(cpus as u64, Relaxed);
        self.control.all()[control::WATERMARK].store(watermark_ns, Relaxed);
    }

    /// Forgets what the program has told.
    pub(crate) fn drain(&self) {
        let produced = self.produced.all()[window::page() / 8].load(Relaxed);
        self.consumed.all()[0].store(produced, Relaxed);
    }

    /// What is readable when the program tells something.
    pub(crate) fn told(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    /// What clients map.
    pub(crate) fn shared(&self) -> BorrowedFd<'_> {
        self.stamps.as_fd()
    }
}

fn no_maps(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::PermissionDenied if rights::User::current().user == 0 => Refusal::Forbidden,
        io::ErrorKind::PermissionDenied => Refusal::NotRoot,
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput => {
            Refusal::TooOld("eBPF with mapped arrays and rings")
        }
        _ => Refusal::Failed("make the kernel's maps", error),
    }
}

fn rejected(refused: Refused) -> Refusal {
    match refused.error.kind() {
        io::ErrorKind::PermissionDenied if refused.log.is_empty() => Refusal::NotRoot,
        _ => Refusal::Rejected(format!("{} {}", refused.error, refused.log)),
    }
}
