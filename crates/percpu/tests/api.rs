//! Each structure, with whatever backend there is: bounds, sums, values, and guards that are leaked.

#![cfg(not(unc_model))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::cell::Cell;
use std::mem::forget;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_percpu::{
    Backend, Claim, Counter, Drained, FreeList, Guard, Node, NotTaken, PerCpu, Revocable, Revoked,
    Slots, Why, Word, backend,
};

const THREADS: u64 = 4;
const EACH: u64 = if cfg!(miri) { 8 } else { 10_000 };

/// Runs `f` in each thread with the thread's number.
fn in_threads(f: impl Fn(u64) + Sync) {
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let f = &f;
            threads.spawn(move || f(thread));
        }
    });
}

#[test]
fn the_backend_is_what_the_program_was_built_for() {
    let expected = match backend() {
        Backend::Sequences { cpus } => {
            assert!(cpus >= 1);
            cfg!(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_portable))))
        }
        Backend::Shards(Why::Interpreted) => cfg!(miri),
        Backend::Shards(Why::Portable) => cfg!(unc_portable),
        Backend::Shards(Why::Processor) => !cfg!(all(target_os = "linux", target_arch = "x86_64")),
        Backend::Shards(Why::Static) => cfg!(target_feature = "crt-static"),
        Backend::Shards(why) => {
            uncontended_testkit::skip!("backend", "{why}");
            true
        }
    };
    assert!(expected, "{}", backend());
    let one = Backend::Sequences { cpus: 1 };
    assert_eq!(one.to_string(), "restartable sequences, for 1 CPU");
    let words = Backend::Shards(Why::BarrierForbidden).to_string();
    assert_eq!(words, "sharded atomics: a seccomp filter forbids membarrier");
}

#[test]
fn a_counter_counts() {
    let counter = Counter::new();
    assert_eq!(counter.sum(), 0);
    in_threads(|thread| {
        (0..EACH).for_each(|_| counter.increment());
        counter.add(thread);
    });
    assert_eq!(counter.sum(), THREADS * EACH + 6);
    counter.add(6u64.wrapping_neg());
    assert_eq!(counter.sum(), THREADS * EACH, "additions wrap");
}

#[test]
fn a_word_keeps_what_was_stored() {
    let words = Word::default();
    assert_eq!(words.values().count(), 0, "none yet");
    in_threads(|thread| {
        for n in 0..EACH {
            let number = thread * EACH + n;
            let _ = words.update(|most| (number > most).then_some(number));
        }
    });
    assert_eq!(words.values().max(), Some(THREADS * EACH - 1));
    assert!(words.update(|_| None).is_err());
}

#[test]
fn a_list_hands_out_what_it_got_and_no_more_than_it_may_keep() {
    let list = FreeList::new(2);
    assert!(list.pop().is_none());
    // Threads may change their CPU, so lists may be several.
    let refused = (0..1000).filter(|&number| list.push(Node::new(number)).is_err()).count();
    let kept: Vec<Vec<i32>> = (0..list.lists())
        .map(|number| list.drain(number).expect("no other thread").map(|node| **node).collect())
        .collect();
    assert!(kept.iter().all(|list| list.len() <= 2 && list.is_sorted_by(|a, b| a > b)), "{kept:?}");
    assert_eq!(kept.iter().map(Vec::len).sum::<usize>(), 1000 - refused);
    assert_eq!(list.drain(list.lists()).unwrap_err(), NotTaken::NoSuchCell);
    let none = FreeList::new(0);
    assert_eq!(**none.push(Node::new(7)).unwrap_err(), 7, "none is kept");
}

#[test]
fn no_node_is_lost_or_seen_twice() {
    let list = FreeList::new(16);
    let held = Mutex::new(Vec::new());
    in_threads(|thread| {
        let mut own: Vec<_> = (0..8).map(|n| Node::new(thread * 8 + n)).collect();
        for round in 0..EACH {
            if let Some(node) = list.pop() {
                own.push(node);
            }
            if let Some(node) = own.pop() {
                own.extend(list.push(node).err());
            }
            if round % 64 == 0 {
                let drained = list.drain(round as usize / 64 % list.lists());
                own.extend(drained.into_iter().flatten());
            }
        }
        held.lock().unwrap().extend(own);
    });
    let drained = (0..list.lists()).flat_map(|number| list.drain(number).expect("no other thread"));
    let mut all: Vec<u64> =
        held.into_inner().unwrap().into_iter().chain(drained).map(|n| **n).collect();
    all.sort_unstable();
    assert_eq!(all, (0..8 * THREADS).collect::<Vec<_>>());
}

/// From a list that is not shared, all nodes; and all values, those of leaked guards included.
#[test]
fn an_exclusive_borrow_reaches_all() {
    let mut list = FreeList::new(4);
    assert_eq!(list.drain_all().count(), 0);
    let refused = (0..100).filter(|&number| list.push(Node::new(number)).is_err()).count();
    let mut kept: Vec<i32> = list.drain_all().map(|node| **node).collect();
    kept.sort_unstable();
    assert!(kept.len() == 100 - refused && kept.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(list.pop().is_none() && list.push(Node::new(7)).is_ok());

    let mut values = PerCpu::<u64>::new();
    assert_eq!(values.values_mut().count(), 0);
    *values.here().unwrap() += 1;
    forget(values.here());
    values.values_mut().for_each(|value| *value += 1);
    let sum: u64 = values.values_mut().map(|value| *value).sum();
    assert_eq!(sum, values.len() as u64 + 1);
}

/// Nodes that are left in a list are freed with it, and drained ones that are not looked at with them: Miri tells.
#[test]
fn what_is_left_is_freed() {
    let list = FreeList::new(3);
    for number in 0..3 {
        let _ = list.push(Node::new(vec![number]));
    }
    drop(list.drain(0));
    drop(list);
    let mut node = Node::new(String::from("a"));
    node.push('b');
    assert_eq!(**node, "ab");
}

#[test]
fn each_value_has_one_owner() {
    let values = PerCpu::<(u64, u64)>::new();
    let counted = AtomicU64::new(0);
    in_threads(|thread| {
        for round in 0..EACH {
            let taken = if round % 64 == thread {
                values.take(round as usize % values.len()).ok()
            } else {
                values.here()
            };
            if let Some(mut value) = taken {
                assert_eq!(value.0, value.1, "another thread is in the middle of a change");
                value.0 += 1;
                value.1 += 1;
                counted.fetch_add(1, Relaxed);
            }
        }
    });
    let sum: u64 =
        (0..values.len()).map(|cell| values.take(cell).expect("no other thread").0).sum();
    assert_eq!(sum, counted.load(Relaxed));
    assert_eq!(values.take(values.len()).unwrap_err(), NotTaken::NoSuchCell);
}

#[test]
fn a_leaked_guard_keeps_its_value_and_no_other() {
    let values = PerCpu::<u64>::default();
    let mut leaked = 0;
    // A thread that always finds one free would leak forever.
    while let Some(guard) = values.here().filter(|_| leaked <= values.len()) {
        forget(guard);
        leaked += 1;
    }
    assert!((1..=values.len()).contains(&leaked), "{leaked} of {}", values.len());
    let rest: Vec<Guard<'_, u64>> =
        (0..values.len()).filter_map(|cell| values.take(cell).ok()).collect();
    assert_eq!(rest.len(), values.len() - leaked);
    drop(rest);
    for cell in 0..values.len() {
        values.take(cell).map_or_else(|why| assert_eq!(why, NotTaken::InUse), forget);
    }
    assert!(values.here().is_none(), "every value has been leaked");
}

#[test]
fn a_claim_ends_with_the_next() {
    let (right, word) = (Revocable::new(), AtomicU64::new(0));
    let word = uncontended_atomic_of(&word);
    let first = right.claim().unwrap();
    assert!(first.is_in_force() && first.store(word, 1).is_ok());
    let second = right.claim().unwrap();
    assert_eq!((first.store(word, 2), first.is_in_force()), (Err(Revoked), false));
    assert_eq!((second.store(word, 3), word.load(Relaxed)), (Ok(()), 3));
}

/// Of a user's own atomic, a reference as this crate takes it.
fn uncontended_atomic_of(word: &AtomicU64) -> &uncontended_atomic::AtomicU64 {
    // SAFETY: the same word, which lives as long.
    unsafe { uncontended_atomic::AtomicU64::from_ptr(word.as_ptr()) }
}

#[test]
fn cells_of_ones_own() {
    let cells = Slots::<AtomicU64>::new();
    in_threads(|_| {
        (0..EACH).for_each(|_| {
            cells.here().fetch_add(1, Relaxed);
        });
    });
    assert_eq!(cells.iter().map(|cell| cell.load(Relaxed)).sum::<u64>(), THREADS * EACH);
    assert!(cells.get(cells.len() - 1).is_some() && cells.get(cells.len()).is_none());
    assert!(!cells.is_empty());
    assert!(format!("{:?}", Slots::<AtomicU64>::default()).starts_with("[]"));
}

/// The values of threads that end are counted too, those of their last moments included.
#[test]
fn a_thread_may_add_while_it_ends() {
    static ENDED: Counter = Counter::new();
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            ENDED.increment();
        }
    }
    thread_local!(static LAST: Last = const { Last });
    let add = || LAST.with(|_| ENDED.increment());
    // A scope does not wait for the destructors of its threads.
    for thread in [add; 4].map(std::thread::spawn) {
        thread.join().unwrap();
    }
    assert_eq!(ENDED.sum(), 8);
}

/// What is shared or sent, of every type that holds the user's values; compile_fail examples say what is not.
#[test]
fn what_may_be_shared_is_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<(Counter, Word, Revocable, Slots<AtomicU64>)>();
    // A cell may be sent, but not shared by itself.
    shared::<(FreeList<Cell<u8>>, PerCpu<Cell<u8>>, Drained<Cell<u8>>)>();
    shared::<(Node<u8>, Guard<'static, u8>, Claim<'static>)>();
}
