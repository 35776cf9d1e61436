//! Stamps, explored: a fence that they complete orders the light fences before it. Interrupts are steps of the reader's
//! CPU, at any of the places between its own.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Relaxed, Release, SeqCst};
use uncontended_atomic::{Arc, AtomicU64, choose, fence, spawn};
use uncontended_fence::bare;
use uncontended_fence::stamps::rule::{self, Counts};
use uncontended_model::real::Explorer;
use uncontended_testkit::explored::{self, BOTH};

/// A CPU's counts.
#[derive(Default)]
struct Cpu {
    runs: AtomicU64,
    absences: AtomicU64,
}

impl Cpu {
    fn counts(&self) -> Counts<'_> {
        Counts { runs: &self.runs, absences: &self.absences }
    }

    /// The kernel's program runs here: a locked addition.
    fn interrupt(&self) {
        // The release of the edge `run`.
        self.runs.fetch_add(1, Release);
        // SeqCst: a locked addition keeps its own load before the CPU's later loads.
        fence(SeqCst);
    }
}

/// What a reader, an unlinker, their CPUs and a daemon share.
#[derive(Default)]
struct Shared {
    published: AtomicU64,
    unlinked: AtomicU64,
    /// The reader's, and another.
    cpus: [Cpu; 2],
    is_online: AtomicU64,
    turns: AtomicU64,
}

impl Shared {
    /// A flag flip with interrupts before, inside and after it, of which `choose` takes one. Whether the reader may use
    /// what it read.
    fn read(&self) -> bool {
        let at = choose(3);
        let interrupted = |place| {
            if at == place {
                self.cpus[0].interrupt();
            }
        };
        interrupted(0);
        self.published.store(1, Relaxed);
        interrupted(1);
        bare::light();
        let is_linked = self.unlinked.load(Relaxed) == 0;
        interrupted(2);
        is_linked
    }

    /// Unlinks and looks at the counts of `cpus`; if the fence is complete, whether the reader is seen.
    fn unlink(&self, cpus: usize) -> Option<bool> {
        let cpus = || self.cpus[..cpus].iter().rev().map(Cpu::counts);
        self.unlinked.store(1, Relaxed);
        let asked = rule::ask(cpus());
        rule::is_past(cpus(), &asked).then(|| self.published.load(Relaxed) == 1)
    }
}

fn scenario(
    reader: fn(&Shared) -> bool,
    other: fn(&Shared),
    unlinker: fn(&Shared) -> Option<bool>,
) -> impl Fn() {
    move || {
        let shared = Arc::new(Shared::default());
        let [theirs, others] = [(); 2].map(|()| Arc::clone(&shared));
        let reader = spawn(move || reader(&theirs));
        let other = spawn(move || other(&others));
        let is_seen = unlinker(&shared);
        let uses = reader.join().unwrap();
        other.join().unwrap();
        if let Some(is_seen) = is_seen {
            assert!(is_seen || !uses, "freed while it is read");
        }
    }
}

#[test]
fn a_run_that_was_not_counted_orders() {
    let unlink = |shared: &Shared| shared.unlink(1);
    explored::holds(&BOTH, Explorer::new, || scenario(Shared::read, |_| {}, unlink));
}

/// The other CPU's run is not enough.
#[test]
fn all_cpus_have_to_run() {
    let other = |shared: &Shared| shared.cpus[1].interrupt();
    let unlink = |shared: &Shared| shared.unlink(2);
    explored::holds(&BOTH, Explorer::new, || scenario(Shared::read, other, unlink));
}

/// The daemon looks as often as one may have to.
fn look(shared: &Shared, online: u64) {
    for _ in 0..3 {
        if shared.is_online.load(Relaxed) != online {
            rule::turn(&shared.cpus[0].absences);
        }
    }
}

/// The CPU comes online and runs the reader; the daemon, which saw it offline, says so.
#[test]
fn a_cpu_that_was_offline_orders_too() {
    let reader = |shared: &Shared| {
        shared.is_online.store(1, Relaxed);
        // SeqCst: a CPU that comes up is online before it runs a program, which loads later.
        fence(SeqCst);
        shared.published.store(1, Relaxed);
        bare::light();
        shared.unlinked.load(Relaxed) == 0
    };
    let daemon = |shared: &Shared| look(shared, 1);
    let unlink = |shared: &Shared| shared.unlink(1);
    explored::holds(&BOTH, Explorer::new, || scenario(reader, daemon, unlink));
}

/// The CPU runs the reader and goes offline; the daemon sees it go.
#[test]
fn a_cpu_that_has_gone_offline_has_published() {
    let reader = |shared: &Shared| {
        shared.published.store(1, Relaxed);
        bare::light();
        let is_linked = shared.unlinked.load(Relaxed) == 0;
        // SeqCst: the CPU's last thread is switched out, with its stores, before it is offline.
        fence(SeqCst);
        // 1 is "has gone" here.
        shared.is_online.store(1, Relaxed);
        is_linked
    };
    let daemon = |shared: &Shared| look(shared, 0);
    let unlink = |shared: &Shared| shared.unlink(1);
    explored::holds(&BOTH, Explorer::new, || scenario(reader, daemon, unlink));
}

/// Two turns, each complete when the CPU has run since the one before. The unlinker reads one word.
#[test]
fn two_turns_order() {
    let reader = |shared: &Shared| {
        shared.cpus[0].interrupt();
        shared.read()
    };
    let daemon = |shared: &Shared| {
        let cpus = || shared.cpus[..1].iter().map(Cpu::counts);
        let mut since = rule::ask(cpus());
        for _ in 0..2 {
            if rule::is_past(cpus(), &since) {
                rule::turn(&shared.turns);
                since = rule::ask(cpus());
            }
        }
    };
    let unlinker = |shared: &Shared| {
        shared.unlinked.store(1, Relaxed);
        let asked = rule::ask_turns(&shared.turns);
        let is_turned = rule::is_turned(&shared.turns, asked);
        is_turned.then(|| shared.published.load(Relaxed) == 1)
    };
    explored::holds(&BOTH, Explorer::new, || scenario(reader, daemon, unlinker));
}
