//! Stamps, explored: a fence that they complete orders the light fences before it. Interrupts are steps of the reader's
//! CPU, at any of the places between its own; the clock is a word that another thread advances.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicU64, choose, fence, spawn};
use uncontended_fence::bare;
use uncontended_fence::stamps::rule;
use uncontended_model::real::Explorer;
use uncontended_testkit::explored::{self, BOTH};

/// What a reader, its CPU, an unlinker and a daemon share.
#[derive(Default)]
struct Shared {
    published: AtomicU64,
    unlinked: AtomicU64,
    clock: AtomicU64,
    stamp: AtomicU64,
    is_online: AtomicU64,
    turns: AtomicU64,
}

impl Shared {
    fn now(&self) -> u64 {
        self.clock.load(Relaxed)
    }

    /// The kernel's program runs on the reader's CPU.
    fn interrupt(&self) {
        rule::mark(&self.stamp, self.now());
    }

    /// A flag flip with interrupts before, inside and after it, of which `choose` takes one. Whether the reader may use
    /// what it read.
    fn read(&self) -> bool {
        let at = choose(3);
        let interrupted = |place| {
            if at == place {
                self.interrupt();
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

    /// Unlinks and looks at the stamp; if the fence is complete, whether the reader is seen.
    fn unlink(&self) -> Option<bool> {
        self.unlinked.store(1, Relaxed);
        let asked = rule::ask(|| self.now());
        let is_past = rule::is_later(rule::latest(&[&self.stamp]), asked);
        is_past.then(|| self.published.load(Relaxed) == 1)
    }
}

/// The clock passes `ticks` steps.
fn advance(shared: &Shared, ticks: u64) {
    for tick in 1..=ticks {
        shared.clock.store(tick, Relaxed);
    }
}

fn scenario(
    ticks: u64,
    reader: fn(&Shared) -> bool,
    other: fn(&Shared),
    unlinker: fn(&Shared) -> Option<bool>,
) -> impl Fn() {
    move || {
        let shared = Arc::new(Shared::default());
        let [theirs, clocks, others] = [(); 3].map(|()| Arc::clone(&shared));
        let clock = spawn(move || advance(&clocks, ticks));
        let reader = spawn(move || reader(&theirs));
        let other = spawn(move || other(&others));
        let is_seen = unlinker(&shared);
        let uses = reader.join().unwrap();
        clock.join().unwrap();
        other.join().unwrap();
        if let Some(is_seen) = is_seen {
            assert!(is_seen || !uses, "freed while it is read");
        }
    }
}

#[test]
fn a_stamp_later_than_the_question_orders() {
    let nothing = |_: &Shared| {};
    explored::holds(&BOTH, Explorer::new, || scenario(1, Shared::read, nothing, Shared::unlink));
}

/// The CPU comes online and runs the reader; the daemon, which saw it offline, says so.
#[test]
fn a_cpu_that_was_offline_orders_too() {
    let reader = |shared: &Shared| {
        shared.is_online.store(1, Relaxed);
        // SeqCst: a CPU that comes up is online before it runs a program, which loads later.
        fence(uncontended_atomic::Ordering::SeqCst);
        shared.published.store(1, Relaxed);
        bare::light();
        shared.unlinked.load(Relaxed) == 0
    };
    let daemon = |shared: &Shared| {
        let is_offline = || shared.is_online.load(Relaxed) == 0;
        rule::mark_offline(&shared.stamp, || shared.now(), is_offline);
    };
    explored::holds(&BOTH, Explorer::new, || scenario(1, reader, daemon, Shared::unlink));
}

/// The CPU runs the reader and goes offline; the daemon sees it go.
#[test]
fn a_cpu_that_has_gone_offline_has_published() {
    let reader = |shared: &Shared| {
        shared.published.store(1, Relaxed);
        bare::light();
        let is_linked = shared.unlinked.load(Relaxed) == 0;
        // SeqCst: the CPU's last thread is switched out, with its stores, before it is offline.
        fence(uncontended_atomic::Ordering::SeqCst);
        shared.is_online.store(1, Relaxed);
        is_linked
    };
    let daemon = |shared: &Shared| {
        // 1 is "has gone" here.
        let is_offline = || shared.is_online.load(Relaxed) == 1;
        rule::mark_offline(&shared.stamp, || shared.now(), is_offline);
    };
    explored::holds(&BOTH, Explorer::new, || scenario(1, reader, daemon, Shared::unlink));
}

/// Two turns, each complete when the CPU is stamped later than the one before. The unlinker has no clock.
#[test]
fn two_turns_order_without_a_clock() {
    let reader = |shared: &Shared| {
        shared.interrupt();
        shared.read()
    };
    let daemon = |shared: &Shared| {
        let mut since = 0;
        for _ in 0..2 {
            if rule::is_later(rule::latest(&[&shared.stamp]), since) {
                since = rule::turn(&shared.turns, || shared.now());
            }
        }
    };
    let unlinker = |shared: &Shared| {
        shared.unlinked.store(1, Relaxed);
        let asked = rule::ask_turns(&shared.turns);
        let is_turned = rule::is_turned(&shared.turns, asked);
        is_turned.then(|| shared.published.load(Relaxed) == 1)
    };
    explored::holds(&BOTH, Explorer::new, || scenario(2, reader, daemon, unlinker));
}
