//! A connection to the daemon, and waiting for its stamps.
//!
//! # State
//! `own` is the time of the latest barrier that this process ran because the daemon was silent: a stamp of all CPUs.
//! `nudged` is when the daemon was last told that a thread waits.
//!
//! # Invariants
//! I1: both mappings are of files that cannot become shorter: a frozen array of the kernel's, and a sealed memory file.
//! I2: `followed` has all CPUs on which a light fence may run that pairs with this.

use super::layout::{Facts, MAGIC, MOST_CPUS, STAMP_WORDS, VERSION, page_words, word};
use super::words::{Access, Words};
use super::{Asked, HELLO_WORDS, NoStamps, WAITS, clock, rule, socket};
use crate::backoff::now_ns;
use crate::bare;
use crate::reason::Refused;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicU64, Scope, futex_wait};
use uncontended_sys::{bpf, memfd, passing, rights};

/// How long to wait for the daemon's message.
const HELLO_LIMIT: Duration = Duration::from_secs(2);
/// The number of every user that this user namespace does not know.
const UNMAPPED: u32 = 65534;
/// The shortest time between two messages to the daemon. It looks after CPUs at most as often.
const NUDGE_APART_NS: u64 = 1_000_000;
/// The shortest and longest sleep between two looks.
const SLEEP_NS: (u64, u64) = (200_000, 20_000_000);

/// The stamps of a running daemon.
#[derive(Debug)]
pub struct Stamps {
    page: Words,
    stamps: Words,
    socket: UnixStream,
    facts: Facts,
    followed: Vec<usize>,
    own: AtomicU64,
    nudged: AtomicU64,
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

impl Stamps {
    /// Connects to the daemon whose socket is at [`socket`](super::socket), which follows all CPUs.
    ///
    /// # Errors
    /// See [`NoStamps`].
    pub fn connect() -> Result<Stamps, NoStamps> {
        Stamps::connect_to(&socket())
    }

    /// The same, at another path.
    ///
    /// # Errors
    /// See [`NoStamps`]; [`NoStamps::Unfollowed`] if the daemon follows some CPUs alone.
    pub fn connect_to(path: &Path) -> Result<Stamps, NoStamps> {
        let stamps = Stamps::open(path)?;
        match stamps.facts.followed.iter().position(|followed| !followed) {
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
        Stamps::open(path)
    }

    /// What the daemon at this path says of itself and of its CPUs, whichever it follows.
    ///
    /// # Errors
    /// See [`NoStamps`].
    pub fn look(path: &Path) -> Result<(Facts, Work, Vec<Cpu>), NoStamps> {
        let stamps = Stamps::open(path)?;
        Ok((stamps.facts.clone(), stamps.work(), stamps.cpus()))
    }

    fn open(path: &Path) -> Result<Stamps, NoStamps> {
        if !clock::is_machines() {
            return Err(NoStamps::OtherClock);
        }
        let socket = UnixStream::connect(path).map_err(refused)?;
        let user = passing::user(&socket).map_err(failed)?;
        let is_ours = user == rights::User::current().user && user != UNMAPPED;
        if user != 0 && !is_ours {
            return Err(NoStamps::Untrusted(user));
        }
        socket.set_read_timeout(Some(HELLO_LIMIT)).map_err(failed)?;
        let (cpus, [stamps, page]) = hello(&socket)?;
        socket.set_nonblocking(true).map_err(failed)?;
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
        let (own, nudged) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Stamps { page, stamps, socket, facts, followed, own, nudged })
    }

    /// Asks for a heavy fence: everything that this thread has written is before it.
    pub fn ask(&self) -> Asked {
        Asked { at_ns: rule::ask(now_ns) }
    }

    /// Whether every CPU has been quiet since then: the fence is complete. It only looks.
    pub fn is_past(&self, asked: Asked) -> bool {
        // A barrier's time is by the same clock as the question's.
        rule::latest(&[&self.own]) > asked.at_ns
            || self.followed.iter().all(|&cpu| rule::is_later(self.quiet_ns(cpu), asked.at_ns))
    }

    /// Whether the fence is complete. A fence that is late (by more than a tick) has the daemon see after the CPUs that
    /// lag; if the daemon is silent, this thread runs a barrier.
    ///
    /// # Errors
    /// The daemon is silent, and membarrier is refused. The fence remains incomplete.
    pub fn poll(&self, asked: Asked) -> Result<bool, Refused> {
        if self.is_past(asked) {
            return Ok(true);
        }
        let late_ns = self.facts.tick_ns + self.facts.tick_ns / 4;
        let is_late = now_ns() > asked.at_ns.saturating_add(late_ns);
        if is_late && !self.is_alive_after(self.nudge()) {
            return self.barrier().map(|()| self.is_past(asked));
        }
        Ok(false)
    }

    /// Waits until the fence is complete, for `limit` at most. Returns whether it is. The daemon wakes the waiter at
    /// each turn; without a turn, it looks again after a tenth of what it has waited so far.
    ///
    /// # Errors
    /// Those of [`poll`](Stamps::poll).
    pub fn wait(&self, asked: Asked, limit: Option<Duration>) -> Result<bool, Refused> {
        let start_ns = now_ns();
        let limit = limit.and_then(|limit| u64::try_from(limit.as_nanos()).ok());
        let end_ns = start_ns.saturating_add(limit.unwrap_or(u64::MAX));
        loop {
            let turn = self.page.all()[word::TURN].load(Relaxed);
            if self.poll(asked)? {
                return Ok(true);
            }
            let now = now_ns();
            if now >= end_ns {
                return Ok(false);
            }
            if !self.is_alive_after(self.nudge()) {
                self.barrier()?;
                continue;
            }
            let pause_ns = ((now - start_ns) / 10).clamp(SLEEP_NS.0, SLEEP_NS.1);
            let until_ns = now.saturating_add(pause_ns).min(end_ns);
            futex_wait(&self.page.all()[word::TURN], turn as u32, Some(until_ns), Scope::Shared);
        }
    }

    /// Whether the daemon has worked within the time that it promised.
    pub fn is_alive(&self) -> bool {
        let heartbeat_ns = self.page.all()[word::HEARTBEAT].load(Relaxed);
        heartbeat_ns > 0 && now_ns() <= heartbeat_ns.saturating_add(self.facts.patience_ns)
    }

    /// Asks for a heavy fence in turns of the daemon's virtual clock: for a program that reads no clock.
    pub fn ask_turns(&self) -> u64 {
        rule::ask_turns(&self.page.all()[word::TURN])
    }

    /// Whether the turns since then are enough. They take longer than [`is_past`](Stamps::is_past), and pass only while
    /// a thread waits ([`wait_turns`](Stamps::wait_turns)).
    pub fn is_turned(&self, asked: u64) -> bool {
        rule::is_turned(&self.page.all()[word::TURN], asked)
    }

    /// Waits until the turns are enough, for `limit` at most; returns whether they are. A silent daemon has no turns.
    pub fn wait_turns(&self, asked: u64, limit: Duration) -> bool {
        let end_ns = now_ns().saturating_add(limit.as_nanos() as u64);
        loop {
            let turn = self.page.all()[word::TURN].load(Relaxed);
            if self.is_turned(asked) {
                return true;
            }
            let now = now_ns();
            if now >= end_ns || !self.is_alive_after(self.nudge()) {
                return false;
            }
            let until_ns = now.saturating_add(SLEEP_NS.1).min(end_ns);
            futex_wait(&self.page.all()[word::TURN], turn as u32, Some(until_ns), Scope::Shared);
        }
    }

    /// What the daemon said of itself when this connected.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What the daemon has done so far.
    pub fn work(&self) -> Work {
        let word = |nth: usize| self.page.all()[nth].load(Relaxed);
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
        let of = |&cpu: &usize| {
            let stamp = &self.stamps.all()[STAMP_WORDS * cpu..];
            let absent = &self.page.all()[word::absent(cpu)];
            let [stamp_ns, runs] = [&stamp[0], &stamp[1]].map(|word| word.load(Relaxed));
            Cpu { cpu, stamp_ns, absent_ns: absent.load(Relaxed), runs }
        };
        self.followed.iter().map(of).collect()
    }

    fn quiet_ns(&self, cpu: usize) -> u64 {
        let stamp = &self.stamps.all()[STAMP_WORDS * cpu];
        rule::latest(&[stamp, &self.page.all()[word::absent(cpu)]])
    }

    /// Tells the daemon that a thread waits, unless it was told just now. Whether the daemon is there.
    fn nudge(&self) -> bool {
        let (now, last) = (now_ns(), self.nudged.load(Relaxed));
        // Two threads may both tell it, which costs a message.
        if now < last.saturating_add(NUDGE_APART_NS) {
            return true;
        }
        self.nudged.store(now, Relaxed);
        match passing::send(&self.socket, &[WAITS], &[]) {
            Ok(()) => true,
            // It has not read the messages before: it is busy, or stopped, which the heartbeat tells.
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    fn is_alive_after(&self, was_told: bool) -> bool {
        was_told && self.is_alive()
    }

    /// Runs a barrier on all threads of this process and of those that have connected.
    #[cold]
    fn barrier(&self) -> Result<(), Refused> {
        let at_ns = now_ns();
        bare::heavy(Scope::Shared)?;
        rule::mark(&self.own, at_ns);
        Ok(())
    }
}

/// The daemon's message: the number of CPUs, the stamps and the page.
fn hello(socket: &UnixStream) -> Result<(usize, [OwnedFd; 2]), NoStamps> {
    let mut bytes = [0; HELLO_WORDS * 8];
    let received = loop {
        match passing::receive(socket, &mut bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {} // By a signal.
            received => break received,
        }
    };
    let (length, descriptors) = received.map_err(refused)?;
    if length == 0 {
        return Err(NoStamps::Full);
    }
    let word = |nth: usize| {
        let bytes = bytes[8 * nth..8 * nth + 8].try_into().expect("eight bytes");
        u64::from_ne_bytes(bytes)
    };
    if length != bytes.len() || word(0) != MAGIC {
        return Err(NoStamps::Malformed("the message is not barrierd's"));
    }
    if word(1) != VERSION {
        return Err(NoStamps::Version(word(1)));
    }
    let cpus = usize::try_from(word(2)).unwrap_or(usize::MAX);
    if !(1..=MOST_CPUS).contains(&cpus) {
        return Err(NoStamps::Malformed("the message's number of CPUs is impossible"));
    }
    let descriptors = <[OwnedFd; 2]>::try_from(descriptors);
    let both =
        descriptors.map_err(|_| NoStamps::Malformed("the message has not two descriptors"))?;
    Ok((cpus, both))
}

/// Why there is no connection.
fn refused(error: io::Error) -> NoStamps {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => NoStamps::NotRunning,
        ErrorKind::PermissionDenied => NoStamps::Forbidden,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
            NoStamps::Full
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            NoStamps::Malformed("the daemon says nothing")
        }
        ErrorKind::InvalidData => NoStamps::Malformed("the message has too many descriptors"),
        _ => failed(error),
    }
}

fn failed(error: io::Error) -> NoStamps {
    NoStamps::Failed(error.raw_os_error().unwrap_or(0))
}
