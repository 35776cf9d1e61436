//! The memory that the daemon shares: the kernel's stamps, and the daemon's own page.
//!
//! # Contract
//! Numbers are of 64 bits in the machine's byte order. Version 2:
//!
//! ```text
//! stamps: a frozen array of the kernel's, 64 bytes for each CPU number from 0 on
//!   +0  time of the last run of the program there; 0: never      +8  the runs so far      +16..64 zero
//!
//! page: a sealed memory file, which only the daemon writes
//!   +0  "UNCSTAMP"   +8  version    +16 generation   +24 CPUs (highest number + 1)
//!   +32 tick, ns     +40 patience   +48 program, ns  +56 the daemon's pid
//!   +64 turn         +72 oldest     +80 heartbeat    +88 visits   +96 busy, ns   +104..128 zero
//!   +128 for each CPU:  +0 1 if it is followed, else 0    +8 how often it was found offline
//!                      +16 when it was found so last; 0: never                +24 zero
//! ```
//!
//! Fences rest on counts alone: `runs`, how often a CPU was found offline, `turn`. Times are of the daemon's
//! `CLOCK_MONOTONIC`, and for people. `generation` is when the daemon started. `heartbeat` is when it worked last: it
//! has ended if that is 0, and counts as dead if that has not changed for longer than `patience`. `turn` counts the
//! times at which all followed CPUs had been quiet since the one before; its low 32 bits are a futex word. `oldest` is
//! the earliest time of all followed CPUs then. `visits` counts the CPUs that were interrupted to be stamped, `busy` is
//! the daemon's CPU time, `program` what a run of the kernel's program took when the daemon started (0: unknown).
//!
//! # Evidence
//! Unit tests; the fuzz target `stamps_page`; a client in C, crates/barrierd/examples/stamps_client.c.

use super::NoStamps;
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};

/// The first word: `UNCSTAMP` in memory.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"UNCSTAMP");
/// The version that this code reads and writes.
pub const VERSION: u64 = 2;
/// The most CPUs; Linux allows for 8,192.
pub const MOST_CPUS: usize = 8_192;
/// The words of a CPU's stamp.
pub const STAMP_WORDS: usize = 8;

/// The page's beginning. Its fields are words, in this order.
#[repr(C, align(8))]
#[expect(missing_docs, reason = "described above")]
#[derive(Debug)]
pub struct Head {
    pub magic: u64,
    pub version: u64,
    pub generation: u64,
    pub cpus: u64,
    pub tick_ns: u64,
    pub patience_ns: u64,
    pub program_ns: u64,
    pub pid: u64,
    pub turn: u64,
    pub oldest_ns: u64,
    pub heartbeat_ns: u64,
    pub visits: u64,
    pub busy_ns: u64,
    pub zero: [u64; 3],
}

const _: () = assert!(size_of::<Head>() == 128 && align_of::<Head>() == 8);
const _: () = assert!(std::mem::offset_of!(Head, turn) == 64, "on a cache line of its own");

/// The numbers of the words that change.
pub mod word {
    use super::Head;
    use std::mem::offset_of;

    /// See [`super`].
    pub const TURN: usize = offset_of!(Head, turn) / 8;
    /// See [`super`].
    pub const OLDEST: usize = offset_of!(Head, oldest_ns) / 8;
    /// See [`super`].
    pub const HEARTBEAT: usize = offset_of!(Head, heartbeat_ns) / 8;
    /// See [`super`].
    pub const VISITS: usize = offset_of!(Head, visits) / 8;
    /// See [`super`].
    pub const BUSY: usize = offset_of!(Head, busy_ns) / 8;
    /// What a run of the program took.
    pub const PROGRAM: usize = offset_of!(Head, program_ns) / 8;
    /// The first word behind the head.
    pub const CPUS: usize = size_of::<Head>() / 8;
    /// The words of each CPU there.
    pub const EACH: usize = 4;

    /// Whether a CPU is followed.
    pub const fn followed(cpu: usize) -> usize {
        CPUS + EACH * cpu
    }

    /// How often it was found offline.
    pub const fn absences(cpu: usize) -> usize {
        followed(cpu) + 1
    }

    /// When it was found so last.
    pub const fn absent(cpu: usize) -> usize {
        followed(cpu) + 2
    }

    /// In a CPU's stamp: the time of the last run.
    pub const STAMPED: usize = 0;
    /// In a CPU's stamp: the runs.
    pub const RUNS: usize = 1;
}

/// The words of a page for this many CPUs.
pub const fn page_words(cpus: usize) -> usize {
    word::CPUS + word::EACH * cpus
}

/// What a page says of itself, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// When its daemon started.
    pub generation: u64,
    /// The daemon's process.
    pub pid: u64,
    /// The length of the kernel's timer tick.
    pub tick_ns: u64,
    /// How long the daemon may be silent.
    pub patience_ns: u64,
    /// What a run of the kernel's program took when the daemon started, if it is known.
    pub program_ns: Option<u64>,
    /// Which CPUs are followed, by number.
    pub followed: Vec<bool>,
}

impl Facts {
    /// A fence that takes longer than this waits for a CPU that takes no interrupt.
    pub fn late_ns(&self) -> u64 {
        self.tick_ns + self.tick_ns / 4
    }

    /// Reads a page, of which no byte is trusted.
    ///
    /// # Errors
    /// [`NoStamps::Version`] for another version, [`NoStamps::Malformed`] for anything else that no daemon writes.
    pub fn read(page: &[AtomicU64]) -> Result<Facts, NoStamps> {
        let malformed = |what| Err(NoStamps::Malformed(what));
        if page.len() < word::CPUS {
            return malformed("the page is shorter than its head");
        }
        let word = |nth: usize| page[nth].load(Relaxed);
        if word(0) != MAGIC {
            return malformed("the page does not begin as one does");
        }
        if word(1) != VERSION {
            return Err(NoStamps::Version(word(1)));
        }
        let cpus = usize::try_from(word(3)).unwrap_or(usize::MAX);
        if !(1..=MOST_CPUS).contains(&cpus) {
            return malformed("the page's number of CPUs is impossible");
        }
        if page.len() < page_words(cpus) {
            return malformed("the page is shorter than its CPUs need");
        }
        let (tick_ns, patience_ns) = (word(4), word(5));
        if !(100_000..=1_000_000_000).contains(&tick_ns) {
            return malformed("the page's tick is impossible");
        }
        if !(1_000_000..=60_000_000_000).contains(&patience_ns) {
            return malformed("the page's patience is impossible");
        }
        let marks = (0..cpus).map(|cpu| word(word::followed(cpu)));
        if marks.clone().any(|mark| mark > 1) || !marks.clone().any(|mark| mark == 1) {
            return malformed("the page does not say which CPUs are followed");
        }
        Ok(Facts {
            generation: word(2),
            pid: word(7),
            tick_ns,
            patience_ns,
            program_ns: Some(word(word::PROGRAM)).filter(|&ns| ns > 0),
            followed: marks.map(|mark| mark == 1).collect(),
        })
    }

    /// Writes a new page: what [`Facts::read`] reads, and zeroes.
    ///
    /// # Panics
    /// The page has not the words for these CPUs, or there are none or too many.
    pub fn write(&self, page: &[AtomicU64]) {
        let cpus = self.followed.len();
        assert!((1..=MOST_CPUS).contains(&cpus) && page.len() >= page_words(cpus), "room");
        let program = self.program_ns.unwrap_or(0);
        let head = [
            MAGIC,
            VERSION,
            self.generation,
            cpus as u64,
            self.tick_ns,
            self.patience_ns,
            program,
            self.pid,
        ];
        for (word, value) in page.iter().zip(head) {
            word.store(value, Relaxed);
        }
        for (cpu, &followed) in self.followed.iter().enumerate() {
            page[word::followed(cpu)].store(followed.into(), Relaxed);
        }
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            generation: 7,
            pid: 8,
            tick_ns: 4_000_000,
            patience_ns: 500_000_000,
            program_ns: Some(90),
            followed: vec![true, false, true],
        }
    }

    fn page() -> Vec<AtomicU64> {
        let page: Vec<AtomicU64> = (0..page_words(3)).map(|_| AtomicU64::new(0)).collect();
        facts().write(&page);
        page
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Facts::read(&page()), Ok(facts()));
        let bytes = MAGIC.to_ne_bytes();
        assert_eq!(&bytes, b"UNCSTAMP");
    }

    #[test]
    fn what_no_daemon_writes_is_refused() {
        let odd: [(usize, u64); 9] =
            [(0, 0), (1, 1), (3, 0), (3, 1 << 40), (3, 4), (4, 0), (5, 0), (16, 2), (4, u64::MAX)];
        for (word, value) in odd {
            let page = page();
            page[word].store(value, Relaxed);
            let refused = Facts::read(&page).unwrap_err();
            match word {
                1 => assert_eq!(refused, NoStamps::Version(1)),
                _ => {
                    assert!(matches!(refused, NoStamps::Malformed(_)), "{word} {value}: {refused}")
                }
            }
        }
        for words in 0..page_words(3) {
            assert!(Facts::read(&page()[..words]).is_err(), "{words}");
        }
        let none = page();
        for cpu in [0, 2] {
            none[word::followed(cpu)].store(0, Relaxed);
        }
        assert!(Facts::read(&none).is_err(), "no CPU is followed");
    }
}
