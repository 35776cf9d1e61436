//! Waiting neither loses nor invents an order: critical sections under every kind of lock run in exactly all possible
//! orders. For the stand-in `Mutex`, each in one execution.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{
    AtomicU32, Condvar, Explorer, Memory, Mutex, UnsafeCell, futex_wait, futex_wake, spawn,
    spin_loop,
};

/// The locks: how to acquire one, how to release it.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    CompareAndSwap,
    TestAndSwap,
    Swap,
    Ticket,
    Futex,
}

struct Lock {
    kind: Kind,
    word: AtomicU32,
    serving: AtomicU32,
    log: UnsafeCell<Vec<usize>>,
}

// SAFETY: only the lock's holder accesses the log.
unsafe impl Sync for Lock {}

impl Lock {
    fn lock(&self) {
        match self.kind {
            Kind::CompareAndSwap => {
                while self.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                    spin_loop();
                }
            }
            Kind::TestAndSwap => loop {
                while self.word.load(Relaxed) != 0 {
                    spin_loop();
                }
                if self.word.swap(1, Acquire) == 0 {
                    return;
                }
                spin_loop();
            },
            Kind::Swap => {
                while self.word.swap(1, Acquire) != 0 {
                    spin_loop();
                }
            }
            Kind::Ticket => {
                let ticket = self.word.fetch_add(1, Relaxed);
                while self.serving.load(Acquire) != ticket {
                    spin_loop();
                }
            }
            Kind::Futex => {
                if self.word.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
                    return;
                }
                while self.word.swap(2, Acquire) != 0 {
                    futex_wait(&self.word, 2);
                }
            }
        }
    }

    fn unlock(&self) {
        match self.kind {
            Kind::Ticket => {
                let next = self.serving.load(Relaxed) + 1;
                self.serving.store(next, Release);
            }
            Kind::Futex => {
                if self.word.swap(0, Release) == 2 {
                    futex_wake(&self.word, 1);
                }
            }
            _ => self.word.store(0, Release),
        }
    }
}

/// All merges of each thread's critical sections.
fn merges(left: &mut [usize], order: &mut Vec<usize>, all: &mut BTreeSet<Vec<usize>>) {
    if left.iter().all(|&n| n == 0) {
        all.insert(order.clone());
    }
    for thread in 0..left.len() {
        if left[thread] > 0 {
            left[thread] -= 1;
            order.push(thread);
            merges(left, order, all);
            order.pop();
            left[thread] += 1;
        }
    }
}

fn all_orders(sections: &[usize]) -> BTreeSet<Vec<usize>> {
    let mut all = BTreeSet::new();
    merges(&mut sections.to_vec(), &mut Vec::new(), &mut all);
    all
}

fn explore(
    kind: Kind,
    sections: &'static [usize],
    memory: Memory,
) -> (BTreeSet<Vec<usize>>, u64, u64) {
    let (found, report) = Explorer::new(memory)
        .outcomes(move || {
            let (word, serving) = (AtomicU32::new(0), AtomicU32::new(0));
            let lock = Arc::new(Lock { kind, word, serving, log: UnsafeCell::new(Vec::new()) });
            let threads: Vec<_> = (0..sections.len())
                .map(|thread| {
                    let lock = Arc::clone(&lock);
                    spawn(move || {
                        for _ in 0..sections[thread] {
                            lock.lock();
                            // SAFETY: the lock is held, and its holder owns the log.
                            lock.log.with_mut(|log| unsafe { (*log).push(thread) });
                            lock.unlock();
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // SAFETY: all threads have ended, so no other thread accesses the log.
            lock.log.with(|log| unsafe { (*log).clone() })
        })
        .unwrap();
    assert!(report.holds(), "{kind:?} {sections:?}: {report}");
    (found.into_keys().collect(), report.executions, report.blocked)
}

#[test]
fn every_lock_admits_every_order() {
    let full = uncontended_testkit::all_of("every_lock_admits_every_order");
    for kind in [Kind::CompareAndSwap, Kind::TestAndSwap, Kind::Swap, Kind::Ticket, Kind::Futex] {
        for sections in [&[1, 1][..], &[2, 1], &[2, 2], &[1, 1, 1]] {
            // Three threads on a futex make 10,734 executions.
            if !full && kind == Kind::Futex && sections.len() == 3 {
                println!(
                    "SHORT real_waiting: three threads only without futex and under C11; UNC_DEPTH=full runs all"
                );
                continue;
            }
            for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
                if !full && sections.len() == 3 && memory != Memory::C11 {
                    continue;
                }
                let (found, executions, blocked) = explore(kind, sections, memory);
                println!(
                    "{kind:?} {sections:?} {memory:?}: {executions} executions, {blocked} blocked"
                );
                assert_eq!(found, all_orders(sections), "{kind:?} {memory:?}");
            }
        }
    }
}

#[test]
fn the_mutex_makes_one_execution_of_each_order() {
    for sections in
        [&[1, 1][..], &[2, 2], &[3, 2], &[1, 1, 1], &[2, 1, 1], &[2, 2, 1], &[1, 1, 1, 1]]
    {
        let (found, report) = Explorer::new(Memory::C11)
            .outcomes(move || {
                let log = Arc::new(Mutex::new(Vec::new()));
                let threads: Vec<_> = (0..sections.len())
                    .map(|thread| {
                        let log = Arc::clone(&log);
                        spawn(move || {
                            (0..sections[thread]).for_each(|_| log.lock().unwrap().push(thread))
                        })
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                log.lock().unwrap().clone()
            })
            .unwrap();
        println!("{sections:?}: {report}");
        assert!(found.values().all(|&executions| executions == 1), "{found:?}");
        assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), all_orders(sections));
    }
}

#[test]
fn a_condition_hands_over_in_every_order() {
    let (found, report) = Explorer::new(Memory::C11)
        .outcomes(|| {
            let pair = Arc::new((Mutex::new((0, Vec::new())), Condvar::new()));
            let takers = [1, 2].map(|name| {
                let pair = Arc::clone(&pair);
                spawn(move || {
                    let mut state = pair.0.lock().unwrap();
                    while state.0 == 0 {
                        state = pair.1.wait(state).unwrap();
                    }
                    state.0 -= 1;
                    state.1.push(name);
                })
            });
            for _ in 0..2 {
                pair.0.lock().unwrap().0 += 1;
                pair.1.notify_one();
            }
            takers.into_iter().for_each(|taker| taker.join().unwrap());
            pair.0.lock().unwrap().1.clone()
        })
        .unwrap();
    println!("{report}");
    assert!(report.holds(), "{report}");
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [[1, 2], [2, 1]]);
}
