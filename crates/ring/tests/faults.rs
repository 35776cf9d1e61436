//! Rings whose threads are disturbed: all on one CPU, in a real-time class, hit by signals, without membarrier, or
//! stopped for up to 50 ms between any two steps. No value is lost, duplicated, torn or out of order, and no thread
//! sleeps forever.
//!
//! Under `--cfg unc_pause` no thread spins before it sleeps, so each hand-off wakes a thread.
//!
//!     UNC_DEPTH=full cargo test --release -p uncontended-ring --test faults -- --nocapture --test-threads=1
//!     RUSTFLAGS="--cfg unc_pause" UNC_DEPTH=full cargo test --release -p uncontended-ring --test faults \
//!         --target-dir target/pause -- --nocapture --test-threads=1
#![cfg(not(any(unc_model, miri)))]

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use uncontended_atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use uncontended_ring::broadcast::Plan;
use uncontended_ring::lossy::{self, ObserveError};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{Closed, lanes, mpsc, records, spsc};
use uncontended_sys::{affinity, filter, membarrier};
use uncontended_testkit::{block_on, hand_offs, repetitions};

/// Disturbs the calling thread. Each participating thread calls it first.
type Disturb = fn();
/// Hands `count` values over through a small ring and checks them.
type Pipeline = fn(u64, Disturb);

const PIPELINES: [(&str, Pipeline); 11] = [
    ("spsc", by_spsc),
    ("mpsc", by_mpsc),
    ("lanes", by_lanes),
    ("lanes, a group", by_lanes_to_a_group),
    ("broadcast", by_broadcast),
    ("group", by_group),
    ("records, one producer", by_records),
    ("records, many producers", by_many_records),
    ("lossy", by_lossy),
    ("tasks", by_tasks),
    ("a joint", by_a_joint),
];

fn by_spsc(count: u64, disturb: Disturb) {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    thread::scope(|threads| {
        threads.spawn(move || {
            disturb();
            (0..count).for_each(|value| producer.push_wait(Box::new(value)).unwrap());
        });
        threads.spawn(move || {
            disturb();
            (0..count).for_each(|value| assert_eq!(consumer.pop_wait().as_deref(), Some(&value)));
            assert_eq!(consumer.pop_wait(), None);
        });
    });
}

/// A value, and which producer pushed it.
type Numbered = (usize, u64);

type Push<P> = fn(&mut P, Numbered) -> Result<(), Closed<Numbered>>;

/// What each producer pushes comes out in its order.
fn from_many<P: Send, C: Send>(
    (count, disturb): (u64, Disturb),
    (producers, push): (Vec<P>, Push<P>),
    (mut consumer, pop): (C, fn(&mut C) -> Option<Numbered>),
) {
    let (number, each) = (producers.len(), count / producers.len() as u64);
    thread::scope(|threads| {
        for (mine, mut producer) in producers.into_iter().enumerate() {
            threads.spawn(move || {
                disturb();
                (0..each).for_each(|value| push(&mut producer, (mine, value)).unwrap());
            });
        }
        threads.spawn(move || {
            disturb();
            let mut next = vec![0; number];
            while let Some((from, value)) = pop(&mut consumer) {
                assert_eq!(value, next[from]);
                next[from] += 1;
            }
            assert_eq!(next, vec![each; number]);
        });
    });
}

fn mpsc_of(number: usize, count: u64, disturb: Disturb) {
    let (first, consumer) = mpsc::blocking(2).unwrap();
    let producers = (
        vec![first; number],
        (|producer, value| producer.push_wait(value)) as Push<mpsc::BlockingProducer<_>>,
    );
    from_many((count, disturb), producers, (consumer, mpsc::Consumer::pop_wait));
}

fn by_mpsc(count: u64, disturb: Disturb) {
    mpsc_of(2, count, disturb);
}

fn lanes_of(number: usize, count: u64, disturb: Disturb) {
    let (first, consumer) = lanes::blocking(number, 2).unwrap();
    let others = (1..number).map(|_| first.try_clone().unwrap());
    let mut producers: Vec<_> = others.collect();
    producers.push(first);
    let producers = (producers, lanes::Producer::push_wait as _);
    from_many((count, disturb), producers, (consumer, lanes::Consumer::pop_wait));
}

fn by_lanes(count: u64, disturb: Disturb) {
    lanes_of(2, count, disturb);
}

fn by_lanes_to_a_group(count: u64, disturb: Disturb) {
    let (first, consumer) = lanes::group::blocking(2, 2).unwrap();
    let each = count / 2;
    let seen = thread::scope(|threads| {
        for (mine, mut producer) in [first.try_clone().unwrap(), first].into_iter().enumerate() {
            threads.spawn(move || {
                disturb();
                (1..=each).for_each(|value| producer.push_wait((mine, value)).unwrap());
            });
        }
        let consumers = [consumer.clone(), consumer].map(|consumer| {
            threads.spawn(move || {
                disturb();
                let (mut sums, mut last) = ([(0, 0); 2], [0; 2]);
                for (from, value) in consumer {
                    assert!(value > last[from], "of one producer, in its order");
                    last[from] = value;
                    sums[from] = (sums[from].0 + 1, sums[from].1 + value);
                }
                sums
            })
        });
        consumers.map(|consumer| consumer.join().unwrap())
    });
    let [first, second] = seen;
    for (here, there) in first.into_iter().zip(second) {
        assert_eq!((here.0 + there.0, here.1 + there.1), (each, each * (each + 1) / 2));
    }
}

fn by_broadcast(count: u64, disturb: Disturb) {
    let plan = Plan::new(2).consumer("a", &[]).consumer("b", &["a"]);
    let (mut producer, mut consumers) = plan.blocking().unwrap();
    thread::scope(|threads| {
        for name in ["a", "b"] {
            let mut consumer = consumers.take(name).unwrap();
            threads.spawn(move || {
                disturb();
                let mut next = 0;
                while let Some(batch) = consumer.read_wait(2) {
                    batch.iter().for_each(|value| {
                        assert_eq!(*value, next);
                        next += 1;
                    });
                    batch.release();
                }
                assert_eq!(next, count);
            });
        }
        threads.spawn(move || {
            disturb();
            (0..count).for_each(|value| producer.push_wait(value).unwrap());
        });
    });
}

fn by_group(count: u64, disturb: Disturb) {
    let (mut producer, mut members) = Plan::new(2).group("g", 2, &[]).blocking().unwrap();
    let sums = thread::scope(|threads| {
        let take = std::iter::from_fn(|| members.take("g"));
        let members: Vec<_> = take
            .map(|mut member| {
                threads.spawn(move || {
                    disturb();
                    let (mut seen, mut sum) = (0, 0);
                    while let Some(batch) = member.read_wait(1) {
                        (seen, sum) = (seen + 1, sum + batch.iter().sum::<u64>());
                        batch.release();
                    }
                    (seen, sum)
                })
            })
            .collect();
        disturb();
        (0..count).for_each(|value| producer.push_wait(value).unwrap());
        drop(producer);
        members.into_iter().map(|member| member.join().unwrap()).collect::<Vec<_>>()
    });
    let all = sums.into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert_eq!(all, (count, count * (count - 1) / 2));
}

/// The record with this number: its length varies, and each byte encodes the number.
fn record(value: u64) -> Vec<u8> {
    vec![value as u8; value as usize % 13]
}

fn by_records(count: u64, disturb: Disturb) {
    let (mut producer, mut consumer) = records::spsc::blocking(64).unwrap();
    thread::scope(|threads| {
        threads.spawn(move || {
            disturb();
            (0..count).for_each(|value| producer.push_wait(&record(value)).unwrap());
        });
        threads.spawn(move || {
            disturb();
            for value in 0..count {
                let found = consumer.read_wait().unwrap();
                assert_eq!(found.to_vec(), record(value));
                found.release();
            }
            assert!(consumer.read_wait().is_err());
        });
    });
}

fn by_many_records(count: u64, disturb: Disturb) {
    let (first, mut consumer) = records::mpsc::blocking(64).unwrap();
    thread::scope(|threads| {
        for mut producer in [first.clone(), first] {
            threads.spawn(move || {
                disturb();
                (0..count / 2).for_each(|value| producer.push_wait(&record(value)).unwrap());
            });
        }
        threads.spawn(move || {
            disturb();
            let mut bytes = 0;
            while let Ok(found) = consumer.read_wait() {
                assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "torn: {:?}", &*found);
                bytes += found.len();
                found.release();
            }
            assert_eq!(bytes, (0..count / 2).map(|value| 2 * record(value).len()).sum::<usize>());
        });
    });
}

/// An observer sees each value, or learns how many it missed.
fn by_lossy(count: u64, disturb: Disturb) {
    let (mut producer, mut observer) = lossy::blocking(4).unwrap();
    thread::scope(|threads| {
        threads.spawn(move || {
            disturb();
            for value in 0..count {
                producer.push(value);
                // It waits for no one: without a pause it would be done before the observer looks.
                if value % 8 == 0 {
                    thread::yield_now();
                }
            }
        });
        threads.spawn(move || {
            disturb();
            let mut next = 0;
            loop {
                match observer.read_wait() {
                    Ok(value) => assert_eq!(value, next),
                    Err(ObserveError::Lost(missed)) => next += missed - 1,
                    Err(error) => break assert_eq!(error, ObserveError::Closed),
                }
                next += 1;
            }
            assert_eq!(next, count);
        });
    });
}

fn by_tasks(count: u64, disturb: Disturb) {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    thread::scope(|threads| {
        threads.spawn(move || {
            disturb();
            block_on(async move {
                for value in 0..count {
                    producer.push_async(Box::new(value)).await.unwrap();
                }
            });
        });
        threads.spawn(move || {
            disturb();
            block_on(async move {
                for value in 0..count {
                    assert_eq!(consumer.pop_async().await.as_deref(), Some(&value));
                }
                assert_eq!(consumer.pop_async().await, None);
            });
        });
    });
}

/// One thread waits for two rings at once.
fn by_a_joint(count: u64, disturb: Disturb) {
    let (joint, each) = (Joint::new(), count / 2);
    let rings = [(); 2].map(|()| spsc::blocking_at(2, &joint).unwrap());
    thread::scope(|threads| {
        let consumers = rings.map(|(mut producer, consumer)| {
            threads.spawn(move || {
                disturb();
                (0..each).for_each(|value| producer.push_wait(value).unwrap());
            });
            consumer
        });
        let joint = &joint;
        threads.spawn(move || {
            disturb();
            let mut sides = consumers.map(|consumer| (consumer, 0));
            while sides.iter().any(|(_, next)| *next < each) {
                joint.sleep_until(|| {
                    let before = sides.each_ref().map(|(_, next)| *next);
                    for (consumer, next) in &mut sides {
                        while let Ok(value) = consumer.pop() {
                            assert_eq!(value, *next);
                            *next += 1;
                        }
                    }
                    sides.each_ref().map(|(_, next)| *next) != before
                });
            }
        });
    });
}

/// Runs this many hand-offs through each ring in turn.
fn all(count: u64, disturb: Disturb) {
    for (name, pipeline) in PIPELINES {
        let begun = std::time::Instant::now();
        pipeline(count, disturb);
        println!("{name}: {count} in {:?}", begun.elapsed());
    }
}

/// Runs `case` in its own process, because its effects cannot be undone.
fn in_a_process_of_its_own(test: &str, case: impl FnOnce()) {
    const CASE: &str = "UNC_RING_CASE";
    if std::env::var(CASE).is_ok_and(|case| case == test) {
        return case();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", test, "--nocapture"]).env(CASE, test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// One test at a time: pauses affect all threads of the process, and disturbed threads need CPUs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves to the first CPU that this thread may use.
fn to_one_cpu() {
    affinity::pin(affinity::allowed().unwrap()[0]).unwrap();
}

#[test]
fn all_on_one_cpu() {
    let _alone = alone();
    all(hand_offs("hand-offs of each ring", 1_500), to_one_cpu);
}

/// 64 threads that push, and one that pops, take turns on one CPU.
#[test]
fn many_more_threads_than_cpus() {
    let _alone = alone();
    let count = repetitions("hand-offs of 64 producers", 6_400, 1_000_000);
    mpsc_of(64, count, to_one_cpu);
    lanes_of(64, count, to_one_cpu);
}

/// Enters the class SCHED_FIFO, in which threads of equal priority do not preempt each other. False: not permitted.
fn to_real_time() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is the calling thread; the parameters live until the call returns.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

#[test]
fn in_a_real_time_class_on_one_cpu() {
    let _alone = alone();
    if !thread::spawn(to_real_time).join().unwrap() {
        uncontended_testkit::skip!(
            "in_a_real_time_class_on_one_cpu",
            "SCHED_FIFO is not allowed here"
        );
        return;
    }
    all(hand_offs("hand-offs of each ring", 1_500), || {
        to_one_cpu();
        assert!(to_real_time());
    });
}

static DISTURBED: Mutex<Vec<libc::c_long>> = Mutex::new(Vec::new());

/// Registers the calling thread to receive signals.
fn get_signals() {
    // SAFETY: returns the ID of this thread.
    DISTURBED.lock().unwrap().push(unsafe { libc::syscall(libc::SYS_gettid) });
}

extern "C" fn ignore(_: libc::c_int) {}

/// Installs a handler, so that a signal interrupts the call its thread is in.
fn handle_signals() {
    // SAFETY: plain data for which all zeros is a value: no flags, so calls are interrupted.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
    let nothing = std::ptr::null_mut();
    // SAFETY: the handler does nothing; `action` lives until the call returns.
    let done = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, nothing) };
    assert_eq!(done, 0);
}

/// Sends a signal. False: the thread has ended.
fn send_signal(thread: libc::c_long) -> bool {
    let process = std::process::id();
    // SAFETY: a signal with a handler, to a thread of this process or to none.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) == 0 }
}

#[test]
fn hit_by_signals_that_interrupt_every_call() {
    let _alone = alone();
    in_a_process_of_its_own("hit_by_signals_that_interrupt_every_call", || {
        handle_signals();
        let (is_over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                while !is_over.load(Relaxed) {
                    for &thread in DISTURBED.lock().unwrap().iter().rev().take(4) {
                        sent.fetch_add(u64::from(send_signal(thread)), Relaxed);
                    }
                    thread::yield_now();
                }
            });
            let hand_offs = threads.spawn(|| {
                all(hand_offs("hand-offs of each ring", 1_500), get_signals);
                // On a busy machine all threads may have ended before the first signal.
                while sent.load(Relaxed) == 0 {
                    all(16, get_signals);
                }
            });
            let ended = hand_offs.join();
            is_over.store(true, Relaxed);
            ended.unwrap();
        });
        println!("{} signals", sent.load(Relaxed));
    });
}

#[test]
fn without_membarrier() {
    let _alone = alone();
    in_a_process_of_its_own("without_membarrier", || {
        if let Err(error) = filter::forbid(membarrier::NUMBER.try_into().unwrap(), 1) {
            uncontended_testkit::skip!("without_membarrier", "no filters here: {error}");
            return;
        }
        all(repetitions("hand-offs of each ring", 200, 10_000), || {});
    });
}

/// Runs many pipelines at once, since they mostly sleep.
#[cfg(unc_pause)]
#[test]
fn stopped_between_any_two_steps() {
    let _alone = alone();
    use uncontended_atomic::{inject_pauses, pauses};
    let wanted = repetitions("hand-offs", 300, 10_000);
    inject_pauses(20, 1);
    while pauses() < wanted {
        thread::scope(|threads| {
            for (_, pipeline) in PIPELINES.iter().cycle().take(60) {
                threads.spawn(|| pipeline(20, || {}));
            }
        });
    }
    inject_pauses(0, 1);
    println!("{} pauses", pauses());
}
