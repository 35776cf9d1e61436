//! A connection to the daemon.
//!
//! # Invariants
//! I1: the followed CPUs are all on which a light fence may run that pairs with this.

use super::NoStamps;
use super::asked::Asked;
use super::layout::{Facts, word};
use super::lease::Lease;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, Mutex, MutexGuard};

/// The stamps of a running daemon.
#[derive(Debug)]
pub struct Stamps {
    path: PathBuf,
    /// The daemon's memory; after [`renew`](Stamps::renew), that of the next daemon.
    lease: Mutex<Arc<Lease>>,
}

/// A CPU in a daemon's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub cpu: usize,
    /// When it was last stamped; 0: never.
    pub stamp_ns: u64,
    /// When it was last seen offline; 0: never.
    pub absent_ns: u64,
    /// The runs of the kernel's program there.
    pub runs: u64,
}

/// What a daemon has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The turns of its virtual clock.
    pub turns: u64,
    /// The oldest stamp at the last turn.
    pub oldest_ns: u64,
    /// When it last worked; 0: it has ended.
    pub heartbeat_ns: u64,
    /// The CPUs that it interrupted.
    pub visits: u64,
    /// Its CPU time.
    pub busy_ns: u64,
}

/// A daemon's memory at one time.
#[derive(Debug, Clone)]
pub struct Seen {
    /// What it says of itself.
    pub facts: Facts,
    /// What it has done.
    pub work: Work,
    /// The CPUs that it follows.
    pub cpus: Vec<Cpu>,
    /// How long fences took.
    pub fences_ns: Vec<u64>,
}

impl Stamps {
    /// Connects to the daemon whose socket is at [`socket`](super::socket), which follows all CPUs.
    ///
    /// # Errors
    /// See [`NoStamps`].
    pub fn connect() -> Result<Stamps, NoStamps> {
        Stamps::connect_to(&super::socket())
    }

    /// The same, at another path.
    ///
    /// # Errors
    /// See [`NoStamps`]; [`NoStamps::Unfollowed`] if the daemon follows some CPUs alone.
    pub fn connect_to(path: &Path) -> Result<Stamps, NoStamps> {
        let stamps = Stamps::open(path)?;
        match stamps.facts().followed.iter().position(|followed| !followed) {
            Some(cpu) => Err(NoStamps::Unfollowed(cpu)),
            None => Ok(stamps),
        }
    }

    /// The same, for threads that run on CPUs alone that the daemon follows.
    ///
    /// # Safety
    /// Every light fence that pairs with these stamps runs on a CPU that the daemon follows. Of others, a ticket orders
    /// nothing, so what relies on it may use what has been freed.
    ///
    /// # Errors
    /// See [`NoStamps`].
    pub unsafe fn connect_to_part(path: &Path) -> Result<Stamps, NoStamps> {
        Stamps::open(path) // I1, by the caller.
    }

    /// What the daemon at this path says of itself and of its CPUs, whichever it follows, after as many fences, one
    /// after the other, as are complete within `watch`.
    ///
    /// # Errors
    /// See [`NoStamps`].
    pub fn look(path: &Path, watch: Duration) -> Result<Seen, NoStamps> {
        let stamps = Stamps::open(path)?;
        let (began, mut fences_ns) = (Instant::now(), Vec::new());
        loop {
            let asked = Instant::now();
            let left = watch.saturating_sub(began.elapsed());
            if left.is_zero() || stamps.ask().wait(Some(left)) != Ok(true) {
                break;
            }
            fences_ns.push(asked.elapsed().as_nanos() as u64);
        }
        let (facts, work, cpus) = (stamps.facts(), stamps.work(), stamps.cpus());
        Ok(Seen { facts, work, cpus, fences_ns })
    }

    fn open(path: &Path) -> Result<Stamps, NoStamps> {
        let lease = Mutex::new(Arc::new(Lease::open(path)?));
        Ok(Stamps { path: path.to_owned(), lease })
    }

    /// Connects to the daemon that has taken the place of one that is silent; whether it did. A silent daemon's
    /// fences are complete by membarrier, so call this from time to time, outside what has to be fast: it may wait
    /// for seconds. Fences that were asked for before keep the daemon that they were asked of.
    ///
    /// # Errors
    /// See [`NoStamps`]; [`NoStamps::Unfollowed`] if the next daemon follows fewer CPUs. The connection remains as it
    /// was.
    pub fn renew(&self) -> Result<bool, NoStamps> {
        let before = self.lease();
        if before.nudge() {
            return Ok(false);
        }
        let next = Lease::open(&self.path)?;
        let is_lost = |cpu: &&usize| next.facts.followed.get(**cpu) != Some(&true);
        if let Some(&cpu) = before.followed.iter().find(is_lost) {
            return Err(NoStamps::Unfollowed(cpu)); // I1
        }
        *self.held() = Arc::new(next);
        Ok(true)
    }

    /// Asks for a heavy fence: everything that this thread has written is before it.
    pub fn ask(&self) -> Asked {
        Asked::by_counts(self.lease())
    }

    /// Asks for a heavy fence by turns of the daemon, which is complete later than [`ask`](Stamps::ask)'s, and which
    /// takes the same time to ask and to look however many CPUs there are. Turns pass only while a thread waits.
    pub fn ask_turns(&self) -> Asked {
        Asked::by_turns(self.lease())
    }

    /// Whether the daemon has worked within the time that it promised.
    pub fn is_alive(&self) -> bool {
        self.lease().is_alive()
    }

    /// What the daemon said of itself when this connected.
    pub fn facts(&self) -> Facts {
        self.lease().facts.clone()
    }

    /// What the daemon has done so far.
    pub fn work(&self) -> Work {
        let lease = self.lease();
        let word = |nth: usize| lease.word(nth).load(Relaxed);
        Work {
            turns: word(word::TURN),
            oldest_ns: word(word::OLDEST),
            heartbeat_ns: word(word::HEARTBEAT),
            visits: word(word::VISITS),
            busy_ns: word(word::BUSY),
        }
    }

    /// The CPUs that the daemon follows, now.
    pub fn cpus(&self) -> Vec<Cpu> {
        let lease = self.lease();
        let of = |&cpu: &usize| Cpu {
            cpu,
            stamp_ns: lease.stamp(cpu, word::STAMPED).load(Relaxed),
            absent_ns: lease.word(word::absent(cpu)).load(Relaxed),
            runs: lease.stamp(cpu, word::RUNS).load(Relaxed),
        };
        lease.followed.iter().map(of).collect()
    }

    fn lease(&self) -> Arc<Lease> {
        Arc::clone(&self.held())
    }

    /// A thread that panicked here left a lease that is whole.
    fn held(&self) -> MutexGuard<'_, Arc<Lease>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
