//! The daemon's work: a turn at each wakeup.
//!
//! # State
//! `since` are the counts at the last turn of the virtual clock: the next one is complete when every followed CPU has
//! been quiet since. `since_ns` is the time of that turn, by which CPUs lag. `wanted_until`: a client waits until then,
//! as far as is known; without one, the program tells nothing and no CPU is interrupted.

use crate::clients::Clients;
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
use uncontended_fence::stamps::rule::{self, Counts};
use uncontended_fence::stamps::{Access, Words};
use uncontended_sys::affinity;
use uncontended_sys::clock::{monotonic_ns, tick_ns};
use uncontended_sys::filter::allow_only;
use uncontended_sys::inherited::close_inherited;
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

/// How long it takes no clients after it could not take one.
const DEAF_NS: u64 = 1_000_000_000;

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
    since: Box<[[u64; 2]]>,
    since_ns: u64,
    wanted_until_ns: u64,
    heard_ns: u64,
    /// No client is taken before that.
    deaf_until_ns: u64,
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
        let possible = affinity::listed("possible");
        let possible = possible.ok_or(Refusal::NotListed)?;
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
        let since = followed.iter().map(|_| [0, 0]).collect();
        Ok(Daemon {
            kernel,
            clients,
            page,
            file,
            facts,
            followed,
            since,
            since_ns: monotonic_ns(),
            wanted_until_ns: 0,
            heard_ns: 0,
            deaf_until_ns: 0,
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
        let mut cpus = affinity::listed("nohz_full").unwrap_or_default();
        cpus.retain(|cpu| self.followed.contains(cpu));
        cpus
    }

    /// Becomes `user`, without rights and inherited descriptors, and leaves only the system calls that the work needs.
    ///
    /// # Errors
    /// Those of the calls, and of a first visit: before Linux 5.19 it needed rights.
    pub fn confine(&self, user: User) -> Result<(), Refusal> {
        close_inherited().map_err(|error| Refusal::Failed("close what it inherited", error))?;
        give_up(user).map_err(|error| Refusal::Failed("give up its rights", error))?;
        allow_only(&CALLS).map_err(|error| Refusal::Failed("restrict its system calls", error))?;
        match self.kernel.visit(self.followed[0]) {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::TooOld("running programs without rights")),
        }
    }

    /// Serves clients until `is_ended`, which is asked at least ten times a second. The first time that no new client
    /// can be taken, `warn` hears why (no descriptors are left); the daemon tries again each second.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn run(
        mut self,
        is_ended: impl Fn() -> bool,
        warn: impl FnOnce(&io::Error),
    ) -> Result<(), Refusal> {
        let mut warn = Some(warn);
        self.idle_ns = usage::thread().cpu_ns;
        while !is_ended() {
            let is_asked =
                self.wait().map_err(|error| Refusal::Failed("wait for clients", error))?;
            let taken = if is_asked { self.accept() } else { Ok(()) };
            if let Err(error) = taken {
                self.deaf_until_ns = monotonic_ns() + DEAF_NS;
                warn.take().into_iter().for_each(|warn| warn(&error));
            }
            self.turn();
        }
        self.word(word::HEARTBEAT).store(0, Relaxed);
        futex_wake(self.word(word::TURN), u32::MAX, Scope::Shared);
        Ok(())
    }

    /// Waits until there is something to do; whether a new client asks.
    fn wait(&mut self) -> io::Result<bool> {
        let now = monotonic_ns();
        let was_wanted = now < self.wanted_until_ns;
        let limit = if was_wanted { self.facts.tick_ns } else { HEARTBEAT_NS };
        // A client that writes all the time is not heard all the time.
        let are_heard = now >= self.heard_ns + APART_NS;
        let limit = if are_heard { limit } else { limit.min(APART_NS) };
        let listener = (now >= self.deaf_until_ns).then(|| self.clients.listener());
        let known = usize::from(listener.is_some());
        let mut all: Vec<_> = listener.into_iter().collect();
        all.push(self.kernel.told());
        if are_heard {
            all.extend(self.clients.each());
        }
        let ready = passing::readable(&all, Some(Duration::from_nanos(limit)))?;
        drop(all);
        if ready[known + 1..].contains(&true) {
            self.heard_ns = monotonic_ns();
            if self.clients.hear() {
                self.wanted_until_ns = self.heard_ns + WANTED_NS;
                if !was_wanted {
                    // All CPUs are to run from now on.
                    self.kernel.arm(self.heard_ns, self.followed.len());
                }
            }
        }
        Ok(known == 1 && ready[0])
    }

    fn accept(&mut self) -> io::Result<()> {
        // A new client finds a daemon that lives.
        self.word(word::HEARTBEAT).store(monotonic_ns(), Relaxed);
        let descriptors = [self.kernel.shared(), self.file.as_fd()];
        self.clients.accept(self.facts.followed.len(), descriptors)
    }

    /// Looks at the counts, sees after CPUs that lag if a client waits, and counts a turn when all have been quiet.
    fn turn(&mut self) {
        self.kernel.drain();
        let now = monotonic_ns();
        let is_wanted = now < self.wanted_until_ns && !self.clients.is_empty();
        if is_wanted && now > self.since_ns + self.facts.late_ns() {
            for (&cpu, &since) in self.followed.iter().zip(&self.since) {
                if !rule::is_quiet(self.counts(cpu), since) {
                    self.visit(cpu);
                }
            }
        }
        self.word(word::HEARTBEAT).store(monotonic_ns(), Relaxed);
        if rule::is_past(self.all_counts(), &self.since) {
            let quiet_ns = |&cpu: &usize| {
                self.kernel.stamped_ns(cpu).max(self.word(word::absent(cpu)).load(Relaxed))
            };
            let oldest_ns = self.followed.iter().map(quiet_ns).min().unwrap_or(0);
            self.word(word::OLDEST).store(oldest_ns, Relaxed);
            rule::turn(self.word(word::TURN));
            self.since = rule::ask(self.all_counts());
            self.since_ns = monotonic_ns();
            futex_wake(self.word(word::TURN), u32::MAX, Scope::Shared);
            let watermark_ns = if is_wanted { self.since_ns + APART_NS } else { u64::MAX };
            self.kernel.arm(watermark_ns, self.followed.len());
        }
        if now >= self.accounted_ns + HEARTBEAT_NS {
            self.accounted_ns = now;
            let busy_ns = usage::thread().cpu_ns.saturating_sub(self.idle_ns);
            self.word(word::BUSY).store(busy_ns, Relaxed);
        }
    }

    /// Has the program run on a CPU now or, if that is offline, counts this.
    fn visit(&self, cpu: usize) {
        // Twice: who asked before the first look needs not wait for another visit.
        for _ in 0..2 {
            // After an error the counts stay as they are: a fence waits for the CPU's next interrupt.
            if self.kernel.visit(cpu).unwrap_or(true) {
                let visits = self.word(word::VISITS);
                visits.store(visits.load(Relaxed) + 1, Relaxed);
                return;
            }
            self.word(word::absent(cpu)).store(monotonic_ns(), Relaxed);
            rule::turn(self.word(word::absences(cpu)));
        }
    }

    fn counts(&self, cpu: usize) -> Counts<'_> {
        Counts { runs: self.kernel.runs(cpu), absences: self.word(word::absences(cpu)) }
    }

    fn all_counts(&self) -> impl Iterator<Item = Counts<'_>> {
        self.followed.iter().map(|&cpu| self.counts(cpu))
    }

    fn word(&self, nth: usize) -> &AtomicU64 {
        &self.page.all()[nth]
    }
}

/// The system calls of the work, of its memory and of its end.
const CALLS: [libc::c_long; 27] = [
    libc::SYS_poll,
    libc::SYS_accept4,
    libc::SYS_getsockopt,
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
