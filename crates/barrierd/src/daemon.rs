//! The daemon's work: a turn at each wakeup.
//!
//! # State
//! `since` is the time of the last turn of the virtual clock: the next one is complete when every followed CPU has been
//! quiet later. `wanted_until`: a client waits until then, as far as is known; without one, the program tells nothing
//! and no CPU is interrupted.

use crate::clients::Clients;
use crate::cpus;
use crate::kernel::Kernel;
use crate::refusal::Refusal;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicU64, Scope, futex_wake};
use uncontended_fence::stamps::layout::{Facts, page_words, word};
use uncontended_fence::stamps::{Access, Words, clock, rule};
use uncontended_sys::clock::{monotonic_ns, tick_ns};
use uncontended_sys::filter::allow_only;
use uncontended_sys::rights::{User, give_up};
use uncontended_sys::{memfd, passing, usage};

/// How often the daemon works while no client waits.
const HEARTBEAT_NS: u64 = 100_000_000;
/// How long it may be silent before clients do without it.
const PATIENCE_NS: u64 = 500_000_000;
/// How long a client's word holds that it waits. It repeats it.
const WANTED_NS: u64 = 50_000_000;
/// The program tells nothing for so long after a turn, and clients are not heard: at most 500 turns a second.
const APART_NS: u64 = 2_000_000;

/// What the daemon is asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where its socket is.
    pub socket: PathBuf,
    /// The CPUs that it follows; all that the machine may have, if none are named.
    pub cpus: Option<Vec<usize>>,
}

/// A daemon that has started.
#[derive(Debug)]
pub struct Daemon {
    kernel: Kernel,
    clients: Clients,
    page: Words,
    file: File,
    facts: Facts,
    followed: Vec<usize>,
    since_ns: u64,
    wanted_until_ns: u64,
    heard_ns: u64,
    accounted_ns: u64,
    /// The CPU time of its thread before it began to serve.
    idle_ns: u64,
}

impl Daemon {
    /// Listens, loads the program and makes the page.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn start(options: &Options) -> Result<Daemon, Refusal> {
        if !clock::is_machines() {
            return Err(Refusal::OtherClock);
        }
        let possible = cpus::possible()?;
        let cpus = possible.last().map_or(1, |last| last + 1);
        // A number that no CPU has is that of a CPU which is always offline.
        let followed = options.cpus.clone().unwrap_or_else(|| (0..cpus).collect());
        let mut named = options.cpus.iter().flatten();
        if let Some(&cpu) = named.find(|cpu| !possible.contains(cpu)) {
            return Err(Refusal::NoCpu(cpu));
        }
        let kernel = Kernel::load(cpus)?;
        let clients = Clients::listen(&options.socket)?;
        let facts = Facts {
            generation: monotonic_ns(),
            pid: u64::from(std::process::id()),
            tick_ns: tick_ns().clamp(100_000, 1_000_000_000),
            patience_ns: PATIENCE_NS,
            program_ns: kernel.measure(),
            followed: (0..cpus).map(|cpu| followed.contains(&cpu)).collect(),
        };
        let (file, page) = page(&facts).map_err(|error| Refusal::Failed("make the page", error))?;
        Ok(Daemon {
            kernel,
            clients,
            page,
            file,
            facts,
            followed,
            since_ns: monotonic_ns(),
            wanted_until_ns: 0,
            heard_ns: 0,
            accounted_ns: 0,
            idle_ns: 0,
        })
    }

    /// What the page says of the daemon.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Those of the followed CPUs that have no ticks while they run one thread (`nohz_full`).
    pub fn without_ticks(&self) -> Vec<usize> {
        cpus::without_ticks().into_iter().filter(|cpu| self.followed.contains(cpu)).collect()
    }

    /// Becomes `user`, without rights, and leaves only the system calls that the work needs.
    ///
    /// # Errors
    /// Those of the calls, and of a first visit: before Linux 5.19 it needed rights.
    pub fn confine(&self, user: User) -> Result<(), Refusal> {
        give_up(user).map_err(|error| Refusal::Failed("give up its rights", error))?;
        allow_only(&CALLS).map_err(|error| Refusal::Failed("restrict its system calls", error))?;
        match self.kernel.visit(self.followed[0]) {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::TooOld("running programs without rights")),
        }
    }

    /// Serves clients until `is_ended`, which is asked at least ten times a second.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn run(mut self, is_ended: impl Fn() -> bool) -> Result<(), Refusal> {
        self.idle_ns = usage::thread().cpu_ns;
        while !is_ended() {
            self.wait().map_err(|error| Refusal::Failed("wait for clients", error))?;
            self.turn();
        }
        self.word(word::HEARTBEAT).store(0, Relaxed);
        futex_wake(self.word(word::TURN), u32::MAX, Scope::Shared);
        Ok(())
    }

    /// Waits until there is something to do.
    fn wait(&mut self) -> io::Result<()> {
        let now = monotonic_ns();
        let is_wanted = now < self.wanted_until_ns;
        let limit = if is_wanted { self.facts.tick_ns } else { HEARTBEAT_NS };
        // A client that writes all the time is not heard all the time.
        let are_heard = now >= self.heard_ns + APART_NS;
        let mut all = vec![self.kernel.told(), self.clients.listener()];
        if are_heard {
            all.extend(self.clients.each());
        }
        let limit = if are_heard { limit } else { limit.min(APART_NS) };
        let ready = passing::readable(&all, Some(Duration::from_nanos(limit)))?;
        drop(all);
        if ready[2..].contains(&true) {
            let was_wanted = is_wanted;
            self.heard_ns = monotonic_ns();
            if self.clients.hear() {
                self.wanted_until_ns = self.heard_ns + WANTED_NS;
                if !was_wanted {
                    self.arm(self.heard_ns);
                }
            }
        }
        if ready[1] {
            // A new client finds a daemon that lives.
            self.word(word::HEARTBEAT).store(monotonic_ns(), Relaxed);
            let descriptors = [self.kernel.shared(), self.file.as_fd()];
            self.clients.accept(self.facts.followed.len(), descriptors);
        }
        Ok(())
    }

    /// Looks at the stamps, sees after CPUs that lag if a client waits, and publishes the oldest.
    fn turn(&mut self) {
        self.kernel.drain();
        let now = monotonic_ns();
        let is_wanted = now < self.wanted_until_ns && !self.clients.is_empty();
        let late_ns = now.saturating_sub(self.facts.tick_ns + self.facts.tick_ns / 4);
        let mut oldest_ns = u64::MAX;
        for &cpu in &self.followed {
            let (stamp, absent) = (self.kernel.stamp(cpu), self.word(word::absent(cpu)));
            let mut quiet_ns = rule::latest(&[stamp, absent]);
            if is_wanted && quiet_ns < late_ns {
                self.visit(cpu);
                quiet_ns = rule::latest(&[stamp, absent]);
            }
            oldest_ns = oldest_ns.min(quiet_ns);
        }
        self.word(word::OLDEST).store(oldest_ns, Relaxed);
        self.word(word::HEARTBEAT).store(monotonic_ns(), Relaxed);
        if oldest_ns > self.since_ns.saturating_add(rule::SLACK_NS) {
            self.since_ns = rule::turn(self.word(word::TURN), monotonic_ns);
            futex_wake(self.word(word::TURN), u32::MAX, Scope::Shared);
            let watermark = if is_wanted { self.since_ns + APART_NS } else { u64::MAX };
            self.kernel.arm(watermark, self.followed.len());
        }
        if now >= self.accounted_ns + HEARTBEAT_NS {
            self.accounted_ns = now;
            let busy_ns = usage::thread().cpu_ns.saturating_sub(self.idle_ns);
            self.word(word::BUSY).store(busy_ns, Relaxed);
        }
    }

    /// Has a CPU stamped now, by the program or, if it is offline, by the daemon.
    fn visit(&self, cpu: usize) {
        // After an error the stamp stays as it is: a fence that waits for it is completed by the client.
        let visited = || self.kernel.visit(cpu).unwrap_or(true);
        if !rule::mark_offline(self.word(word::absent(cpu)), monotonic_ns, || !visited()) {
            let visits = self.word(word::VISITS);
            visits.store(visits.load(Relaxed) + 1, Relaxed);
        }
    }

    /// Has the program tell when all CPUs have been stamped from now on.
    fn arm(&self, now: u64) {
        self.kernel.arm(now + rule::SLACK_NS, self.followed.len());
    }

    fn word(&self, nth: usize) -> &AtomicU64 {
        &self.page.all()[nth]
    }
}

/// The system calls of the work, of its memory and of its end.
const CALLS: [libc::c_long; 26] = [
    libc::SYS_poll,
    libc::SYS_accept4,
    libc::SYS_ioctl,
    libc::SYS_recvfrom,
    libc::SYS_read,
    libc::SYS_sendmsg,
    libc::SYS_bpf,
    libc::SYS_futex,
    libc::SYS_close,
    libc::SYS_write,
    libc::SYS_clock_gettime,
    libc::SYS_getrusage,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_restart_syscall,
    libc::SYS_sigaltstack,
    libc::SYS_sched_yield,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// A page of these facts, which this process alone writes.
fn page(facts: &Facts) -> io::Result<(File, Words)> {
    let words = page_words(facts.followed.len());
    let file = memfd::create_sized(c"barrierd", (words * 8) as u64)?;
    let page = Words::open(file.as_fd(), words, Access::Write)?;
    memfd::seal_for_others(&file)?;
    facts.write(page.all());
    Ok((file, page))
}
