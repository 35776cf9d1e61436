//! One daemon's memory, as long as a client has it.
//!
//! # State
//! `beat` is the heartbeat that was last seen, and `beat_ns` since when, by this process's own clock: the daemon's may
//! be another one (in a time namespace). `nudged_ns` is when the daemon was last told that a thread waits.
//!
//! # Invariants
//! I1: both mappings are of files that cannot become shorter: a frozen array of the kernel's, and a sealed memory file.

use super::hello::{failed, hello};
use super::layout::{Facts, STAMP_WORDS, page_words, word};
use super::rule::Counts;
use super::words::{Access, Words};
use super::{NoStamps, WAITS};
use crate::backoff::now_ns;
use crate::bare;
use std::io::ErrorKind;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicU64, Scope};
use uncontended_sys::{bpf, memfd, passing};

/// The shortest time between two messages to the daemon. It looks after CPUs at most as often.
const NUDGE_APART_NS: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) facts: Facts,
    pub(super) followed: Vec<usize>,
    page: Words,
    stamps: Words,
    socket: UnixStream,
    beat: AtomicU64,
    beat_ns: AtomicU64,
    nudged_ns: AtomicU64,
}

impl Lease {
    /// Connects to the daemon at this path.
    pub(super) fn open(path: &Path) -> Result<Lease, NoStamps> {
        let (socket, cpus, [stamps, page]) = hello(path)?;
        // I1.
        if !bpf::is_frozen_array(&stamps) {
            return Err(NoStamps::Malformed("the stamps are not a frozen array of the kernel's"));
        }
        if !memfd::is_sealed_for_others(page.as_fd()) {
            return Err(NoStamps::Malformed("the page is not a sealed memory file"));
        }
        let map = |file: &OwnedFd, words| match Words::open(file.as_fd(), words, Access::Read) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                Err(NoStamps::Malformed("the memory is shorter than its CPUs need"))
            }
            mapped => mapped.map_err(failed),
        };
        let page = map(&page, page_words(cpus))?;
        let stamps = map(&stamps, cpus * STAMP_WORDS)?;
        let facts = Facts::read(page.all())?;
        if facts.followed.len() != cpus {
            return Err(NoStamps::Malformed(
                "the message and the page differ in the number of CPUs",
            ));
        }
        let followed = (0..cpus).filter(|&cpu| facts.followed[cpu]).collect();
        // After the daemon's death, this process and others complete tickets by barriers, which must reach its threads.
        bare::register(Scope::Shared).map_err(|refused| NoStamps::NoBarrier(refused.errno))?;
        let [beat, nudged_ns] = [0, 0].map(AtomicU64::new);
        let beat_ns = AtomicU64::new(now_ns());
        Ok(Lease { facts, followed, page, stamps, socket, beat, beat_ns, nudged_ns })
    }

    /// A word of the page.
    pub(super) fn word(&self, nth: usize) -> &AtomicU64 {
        &self.page.all()[nth]
    }

    /// A word of a CPU's stamp.
    pub(super) fn stamp(&self, cpu: usize, nth: usize) -> &AtomicU64 {
        &self.stamps.all()[STAMP_WORDS * cpu + nth]
    }

    /// The counts of the followed CPUs.
    pub(super) fn counts(&self) -> impl Iterator<Item = Counts<'_>> {
        self.followed.iter().map(|&cpu| Counts {
            runs: self.stamp(cpu, word::RUNS),
            absences: self.word(word::absences(cpu)),
        })
    }

    /// Whether the daemon has worked within the time that it promised.
    pub(super) fn is_alive(&self) -> bool {
        let (beat, now) = (self.word(word::HEARTBEAT).load(Relaxed), now_ns());
        if beat != self.beat.load(Relaxed) {
            // Between these two, another thread may take it for dead, which costs a barrier.
            self.beat.store(beat, Relaxed);
            self.beat_ns.store(now, Relaxed);
        }
        let beat_ns = self.beat_ns.load(Relaxed);
        beat > 0 && now <= beat_ns.saturating_add(self.facts.patience_ns)
    }

    /// Tells the daemon that a thread waits, unless it was told just now. Whether the daemon is there and alive.
    pub(super) fn nudge(&self) -> bool {
        let (now, last) = (now_ns(), self.nudged_ns.load(Relaxed));
        // Two threads may both tell it, which costs a message.
        if now >= last.saturating_add(NUDGE_APART_NS) {
            self.nudged_ns.store(now, Relaxed);
            let told = passing::send(&self.socket, &[WAITS], &[]);
            // If it has not read the messages before, it is busy, or stopped, which the heartbeat tells.
            if told.is_err_and(|error| error.kind() != ErrorKind::WouldBlock) {
                return false;
            }
        }
        self.is_alive()
    }
}
