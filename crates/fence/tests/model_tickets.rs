//! Tickets, explored: once one is complete, the light fences before it are ordered, whichever thread ran the barrier.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, spawn};
use uncontended_fence::{Choice, Fences, Ticket};
use uncontended_model::real::{Explorer, Memory, spin_loop};
use uncontended_testkit::explored::{self, BOTH};

/// What a reader and an unlinker share: 1 in `published` while the reader uses what it has read; 1 in `unlinked` when
/// it must not be used any more.
#[derive(Default)]
struct Flags {
    published: AtomicU32,
    unlinked: AtomicU32,
}

impl Flags {
    /// The reader's side of a flag flip: publish, fence, check again. Whether it may use what it read.
    fn read(&self, fences: Fences) -> bool {
        self.published.store(1, Relaxed);
        fences.light();
        self.unlinked.load(Relaxed) == 0
    }

    fn is_published(&self) -> bool {
        self.published.load(Relaxed) == 1
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        spin_loop();
    }
}

/// One reader; the other thread unlinks, fences and scans.
fn flag_flip(fences: Fences, fence: fn(Fences)) -> impl Fn() {
    move || {
        let flags = Arc::new(Flags::default());
        let theirs = Arc::clone(&flags);
        let reader = spawn(move || theirs.read(fences));
        flags.unlinked.store(1, Relaxed);
        fence(fences);
        let is_seen = flags.is_published();
        assert!(is_seen || !reader.join().unwrap(), "freed while it is read");
    }
}

fn by_waiting(fences: Fences) {
    fences.ticket().wait().unwrap();
}

fn by_polling(fences: Fences) {
    let ticket = fences.ticket();
    until(|| ticket.poll().unwrap());
}

#[test]
fn a_ticket_orders_like_a_heavy_fence() {
    for choice in [Choice::Expedited, Choice::FullFences] {
        let fences = Fences::with(choice).unwrap();
        for fence in [by_waiting, by_polling] {
            explored::holds(&BOTH, Explorer::new, || flag_flip(fences, fence));
        }
    }
}

/// Three threads: one unlinks, a second one asks for the fence and passes its ticket to a third one, which scans.
fn requester_is_not_waiter(fences: Fences) -> impl Fn() {
    move || {
        let flags = Arc::new(Flags::default());
        let told = Arc::new(AtomicU32::new(0));
        let (theirs, flag) = (Arc::clone(&flags), Arc::clone(&told));
        let reader = spawn(move || theirs.read(fences));
        let theirs = Arc::clone(&flags);
        let unlinker = spawn(move || {
            theirs.unlinked.store(1, Relaxed);
            flag.store(1, Release);
        });
        if told.load(Acquire) == 1 {
            let ticket = fences.ticket();
            let waiter = spawn(move || {
                until(|| ticket.poll().unwrap());
                flags.is_published()
            });
            let is_seen = waiter.join().unwrap();
            assert!(is_seen || !reader.join().unwrap(), "freed while it is read");
        }
        unlinker.join().unwrap();
    }
}

#[test]
fn the_unlinker_the_requester_and_the_waiter_may_be_three_threads() {
    for choice in [Choice::Expedited, Choice::FullFences] {
        let fences = Fences::with(choice).unwrap();
        explored::holds(&BOTH, Explorer::new, || requester_is_not_waiter(fences));
    }
}

/// Two threads unlink, ask and scan at the same time; one barrier may serve both, but none that had begun before.
fn two_ask_at_once() -> impl Fn() {
    move || {
        let fences = Fences::with(Choice::Expedited).unwrap();
        let flags = [Arc::new(Flags::default()), Arc::new(Flags::default())];
        let [first, second] = flags.clone();
        let reader = spawn(move || [first.read(fences), second.read(fences)]);
        let [first, second] = flags;
        let scan = move |flags: Arc<Flags>| {
            flags.unlinked.store(1, Relaxed);
            let ticket: Ticket = fences.ticket();
            until(|| ticket.poll().unwrap());
            flags.is_published()
        };
        let other = spawn(move || scan(second));
        let is_seen = [scan(first), other.join().unwrap()];
        for (is_seen, is_read) in is_seen.into_iter().zip(reader.join().unwrap()) {
            assert!(is_seen || !is_read, "freed while it is read");
        }
    }
}

#[test]
fn threads_that_ask_at_once_share_barriers() {
    explored::holds(&BOTH, Explorer::new, two_ask_at_once);
}

#[test]
fn a_ticket_that_is_not_awaited_orders_nothing() {
    let unawaited: fn(Fences) = |fences| {
        let _ = fences.ticket();
    };
    let fences = Fences::with(Choice::Expedited).unwrap();
    for memory in BOTH {
        let report = Explorer::new(memory).explore(flag_flip(fences, unawaited)).unwrap();
        assert!(report.violation().is_some(), "{memory:?}: {report}");
    }
    assert!(matches!(BOTH, [Memory::C11, Memory::Tso]));
}
