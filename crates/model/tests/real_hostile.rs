//! Programs that try to get a wrong verdict from the checker, each written to refute it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;
use uncontended_model::real::{
    self, AtomicBool, AtomicU32, Bound, Explorer, Failure, Memory, Mutex, Report, Verdict, fence,
    park, park_timeout, spawn, spin_loop, wait_until,
};

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

fn failure(report: &Report) -> &Failure {
    &report.violation().unwrap_or_else(|| panic!("{report}")).failure
}

#[test]
fn waiters_that_store_what_they_find_wait_forever_together() {
    for waiters in 1..=2 {
        let report = explore(move || {
            let lock = Arc::new(AtomicBool::new(true));
            let waiters: Vec<_> = (0..waiters)
                .map(|_| {
                    let lock = Arc::clone(&lock);
                    spawn(move || {
                        while lock.swap(true, Acquire) {
                            spin_loop();
                        }
                    })
                })
                .collect();
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        });
        assert!(matches!(failure(&report), Failure::Livelock { .. }), "{waiters}: {report}");
    }
}

/// Whether the word held 1 within this many rounds.
fn seen_within(word: &AtomicU32, rounds: u32) -> bool {
    (0..rounds).any(|_| {
        let seen = word.load(Acquire) == 1;
        if !seen {
            spin_loop();
        }
        seen
    })
}

#[test]
fn a_loop_that_gives_up_is_not_taken_for_another_one_at_its_hint() {
    let report = explore(|| {
        let words = Arc::new([0; 2].map(AtomicU32::new));
        let other = Arc::clone(&words);
        let writer = spawn(move || other.iter().for_each(|word| word.store(1, Release)));
        assert!(seen_within(&words[1], u32::MAX));
        writer.join().unwrap();
        let never = AtomicU32::new(0);
        assert!(seen_within(&never, 100), "gives up");
    });
    assert!(matches!(failure(&report), Failure::Panic { .. }), "{report}");
}

#[test]
fn a_poller_with_a_time_out_does_not_hide_a_deadlock() {
    let report = explore(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let done = Arc::new(AtomicU32::new(0));
        for turned in [false, true] {
            let (a, b, done) = (Arc::clone(&a), Arc::clone(&b), Arc::clone(&done));
            spawn(move || {
                let (first, second) = if turned { (&b, &a) } else { (&a, &b) };
                let _first = first.lock().unwrap();
                let _second = second.lock().unwrap();
                done.fetch_add(1, Release);
            });
        }
        while done.load(Acquire) < 2 {
            park_timeout(Duration::from_millis(1));
        }
    });
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Timeouts(3))), "{report}");
}

/// A store, a few reads that give up, a fence, and a last read.
fn look_again(mine: &AtomicU32, others: &AtomicU32, rounds: u32) -> bool {
    let look = || others.load(Relaxed) == 1;
    mine.store(1, Relaxed);
    for _ in 0..rounds {
        if look() {
            return true;
        }
        spin_loop();
    }
    fence(SeqCst);
    look()
}

#[test]
fn a_forced_read_is_one_that_the_memory_model_allows() {
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        for rounds in 2..7 {
            let report = Explorer::new(memory)
                .explore(move || {
                    let words = Arc::new([0; 2].map(AtomicU32::new));
                    let other = Arc::clone(&words);
                    let thread = spawn(move || look_again(&other[0], &other[1], rounds));
                    words[1].store(1, Relaxed);
                    fence(SeqCst);
                    let seen = words[0].load(Relaxed) == 1;
                    assert!(thread.join().unwrap() || seen, "store buffering over two fences");
                })
                .unwrap();
            assert!(report.holds(), "{memory:?}, {rounds} rounds: {report}");
        }
    }
}

#[test]
fn conditions_neither_fail_by_themselves_nor_hold_what_they_must_not() {
    let weak = Explorer::new(Memory::C11).spurious(true).explore(|| {
        let lock = Arc::new(AtomicU32::new(1));
        let other = Arc::clone(&lock);
        let holder = spawn(move || other.store(0, Release));
        wait_until(|| lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok());
        holder.join().unwrap();
    });
    assert!(weak.unwrap().holds());
    let nested = explore(|| {
        wait_until(|| {
            wait_until(|| true);
            true
        })
    });
    assert!(failure(&nested).to_string().contains("waits for another condition"), "{nested}");
    let chooses = explore(|| wait_until(|| real::choose(2) == 1));
    assert!(failure(&chooses).to_string().contains("chooses"), "{chooses}");
    let locks = explore(|| {
        let lock = Mutex::new(0);
        wait_until(|| *lock.lock().unwrap() == 1);
    });
    assert!(failure(&locks).to_string().contains("to lock is to write"), "{locks}");
}

#[test]
fn a_delay_is_not_a_wait() {
    let report = explore(|| (0..300).for_each(|_| spin_loop()));
    assert!(report.holds() && report.rounds.is_none(), "{report}");
    let delayed = explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let writer = spawn(move || other.store(1, Release));
        while word.load(Acquire) == 0 {
            (0..50).for_each(|_| spin_loop());
        }
        writer.join().unwrap();
    });
    assert!(delayed.holds(), "{delayed}");
    let nothing = explore(|| {
        loop {
            spin_loop();
        }
    });
    assert!(matches!(nothing.verdict, Verdict::Unknown(Bound::Spins(_))), "{nothing}");
}

#[test]
fn get_mut_excludes_handles_that_come_and_go() {
    let report = explore(|| {
        let mut shared = real::Arc::new(0);
        let weak = real::Arc::downgrade(&shared);
        let thread = spawn(move || {
            let strong = weak.upgrade()?;
            drop(weak);
            let again = real::Arc::downgrade(&strong);
            drop(strong);
            again.upgrade().map(|value| *value)
        });
        if let Some(value) = real::Arc::get_mut(&mut shared) {
            *value = 1;
        }
        thread.join().unwrap();
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_thread_that_catches_the_end_of_its_run_ends_all_the_same() {
    let report = explore(|| {
        spawn(|| {
            loop {
                drop(catch_unwind(AssertUnwindSafe(park)));
            }
        });
        park();
    });
    assert!(matches!(failure(&report), Failure::Deadlock { .. }), "{report}");
}

#[test]
fn memory_in_an_outcome_outlives_its_execution() {
    let (found, report) = Explorer::new(Memory::C11)
        .leaks(true)
        .outcomes(|| {
            let word = Arc::new(AtomicU32::new(10));
            let other = Arc::clone(&word);
            let writer = spawn(move || other.store(11, Relaxed));
            let seen = real::Box::new(word.load(Relaxed));
            writer.join().unwrap();
            Seen(seen)
        })
        .unwrap();
    assert!(report.holds(), "{report}");
    let found: BTreeMap<u32, u64> = found.iter().map(|(seen, n)| (*seen.0, *n)).collect();
    assert_eq!(found, BTreeMap::from([(10, 1), (11, 1)]));
}

struct Seen(real::Box<u32>);

impl PartialEq for Seen {
    fn eq(&self, other: &Seen) -> bool {
        *self.0 == *other.0
    }
}

impl Eq for Seen {}

impl PartialOrd for Seen {
    fn partial_cmp(&self, other: &Seen) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Seen {
    fn cmp(&self, other: &Seen) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
