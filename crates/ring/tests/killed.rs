//! A process is killed after every single instruction of a hand-off: the sleeper on the other side wakes, and published
//! values arrive once.
//!
//! The child is single-stepped with ptrace and killed: first after one instruction, then after two, and so on until it
//! completes. Dozens of instructions lie between clearing a flag and the wakeup that belongs to it. The short form
//! tests every eleventh; the full form is:
//!
//!     UNC_DEPTH=full cargo test -p uncontended-ring --test killed
// A portable build wakes under a mutex, which a fork may copy while it is held.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(unc_model, unc_portable, miri))))]

#[allow(dead_code, reason = "children are forked here")]
mod mapped;

use mapped::{Mapping, memory};
use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use uncontended_atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use uncontended_ring::{Closed, records, spsc};
use uncontended_wait::Deadline;

/// Longer than any sleep after a lost wakeup. The test's timeout, not a guarantee of the library.
const FAR_TOO_LONG: Duration = Duration::from_secs(10);
/// The offsets of the two notifiers, from the headers of both `shared` modules. Bit 0 is set while a thread sleeps.
const VALUES: usize = 384;
const ROOM: usize = 512;

/// What became of a child.
#[derive(PartialEq)]
enum Child {
    /// It was killed after this many instructions.
    Killed,
    /// It had ended before.
    Ended,
    /// The kernel does not permit tracing it.
    Refused,
}

/// Forks a child that prepares itself and stops, single-steps it through this many instructions of `act`, and kills it.
fn lead<T>(prepare: impl FnOnce() -> T, act: impl FnOnce(&mut T), instructions: usize) -> Child {
    // SAFETY: the child has a copy of this thread only. It takes no lock that another thread could hold, except the
    // allocator's, which the C library handles.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        let mut prepared = prepare();
        // SAFETY: lets the parent trace this process; accesses no memory.
        if unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } == 0 {
            // SAFETY: the signal goes to this process only.
            unsafe { libc::raise(libc::SIGSTOP) };
            act(&mut prepared);
        }
        // SAFETY: ends the child at once, without running the parent's exit handlers.
        unsafe { libc::_exit(7) };
    }
    let next = || {
        let mut status = 0;
        // SAFETY: `status` lives until the call returns.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        status
    };
    if !libc::WIFSTOPPED(next()) {
        return Child::Refused;
    }
    for _ in 0..instructions {
        // SAFETY: the child is stopped, and this thread is its tracer.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) }, 0);
        if !libc::WIFSTOPPED(next()) {
            return Child::Ended;
        }
    }
    // SAFETY: the child has not been waited for, so its ID is not reused.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    assert!(libc::WIFSIGNALED(next()));
    Child::Killed
}

/// Kills after each instruction: `case` prepares the scene, steps a child that far, and checks that the others
/// continue.
fn after_each_instruction(case: impl Fn(usize) -> Child) {
    let step = if uncontended_testkit::all_of("kills after each instruction") { 1 } else { 11 };
    let mut instructions = 0;
    loop {
        match case(instructions) {
            Child::Killed => instructions += step,
            Child::Ended => break,
            Child::Refused => {
                uncontended_testkit::skip!("killed", "no process may lead another here");
                return;
            }
        }
    }
    println!("killed after each {step} of {instructions} instructions");
    assert!(instructions > 20, "too few instructions for a hand-off");
}

/// Waits until a thread sleeps on the notifier at this offset.
fn until_asleep(base: NonNull<u8>, notifier: usize) {
    // SAFETY: the notifier lies in the mapping, which outlives its rings, and all accesses are atomic.
    let word = unsafe { AtomicU32::from_ptr(base.as_ptr().wrapping_add(notifier).cast()) };
    while word.load(Relaxed) & 1 == 0 {
        thread::yield_now();
    }
}

/// Runs a side that sleeps in its own thread, and returns what it received.
fn asleep<T: Send + 'static>(side: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(side()));
    receiver
}

fn awake<T: Debug>(side: &Receiver<T>, after: usize) -> T {
    side.recv_timeout(FAR_TOO_LONG)
        .unwrap_or_else(|_| panic!("killed after {after} instructions: the sleeper never woke"))
}

fn spsc_ring(capacity: usize) -> (NonNull<u8>, spsc::shared::Shared<u64>) {
    let (mapping, _) = memory(spsc::shared::bytes_for::<u64>(capacity).unwrap());
    let Mapping { base, bytes, .. } = mapping;
    // SAFETY: the mapping is kept, and used only as a ring (I1 of `spsc::shared`).
    (base, unsafe { spsc::shared::create(base, bytes, capacity, mapping) }.unwrap())
}

#[test]
fn a_producer_is_killed_in_a_push_and_followed() {
    after_each_instruction(|instructions| {
        let (base, ring) = spsc_ring(2);
        let mut consumer = ring.consumer().unwrap();
        let seen = asleep(move || std::iter::from_fn(|| consumer.pop_wait()).collect::<Vec<_>>());
        until_asleep(base, VALUES);
        let prepare = || ring.producer().unwrap();
        let child = lead(prepare, |producer| producer.push(1).unwrap(), instructions);
        if child == Child::Killed {
            let mut successor = ring.take_over_producer().unwrap();
            successor.push_wait(2).unwrap();
            drop(successor);
            let seen = awake(&seen, instructions);
            assert!(seen == [1, 2] || seen == [2], "{seen:?}");
        }
        child
    });
}

#[test]
fn a_consumer_is_killed_in_a_pop_and_followed() {
    after_each_instruction(|instructions| {
        let (base, ring) = spsc_ring(1);
        let mut producer = ring.producer().unwrap();
        producer.push(1).unwrap();
        let pushed = asleep(move || producer.push_wait(2));
        until_asleep(base, ROOM);
        let prepare = || ring.consumer().unwrap();
        let child = lead(prepare, |consumer| assert_eq!(consumer.pop(), Ok(1)), instructions);
        if child == Child::Killed {
            let mut successor = ring.take_over_consumer().unwrap();
            let limit = Deadline::after(FAR_TOO_LONG);
            let seen: Vec<_> = std::iter::from_fn(|| successor.pop_deadline(limit).ok()).collect();
            assert!(seen == [1, 2] || seen == [2], "killed after {instructions}: {seen:?}");
            assert_eq!(awake(&pushed, instructions), Ok(()));
        }
        child
    });
}

#[test]
fn a_side_is_killed_while_it_closes() {
    after_each_instruction(|instructions| {
        let (base, ring) = spsc_ring(1);
        let mut consumer = ring.consumer().unwrap();
        let seen = asleep(move || consumer.pop_wait());
        until_asleep(base, VALUES);
        let child = lead(|| ring.producer().ok(), |side| drop(side.take()), instructions);
        if child == Child::Killed {
            drop(ring.take_over_producer());
            assert_eq!(awake(&seen, instructions), None);
        }
        child
    });
    after_each_instruction(|instructions| {
        let (base, ring) = spsc_ring(1);
        let mut producer = ring.producer().unwrap();
        producer.push(1).unwrap();
        let pushed = asleep(move || producer.push_wait(2));
        until_asleep(base, ROOM);
        let child = lead(|| ring.consumer().ok(), |side| drop(side.take()), instructions);
        if child == Child::Killed {
            drop(ring.take_over_consumer());
            assert_eq!(awake(&pushed, instructions), Err(Closed(2)));
        }
        child
    });
}

fn record_ring() -> (NonNull<u8>, records::shared::Shared) {
    let (mapping, _) = memory(records::shared::bytes_for(32).unwrap());
    let Mapping { base, bytes, .. } = mapping;
    // SAFETY: the mapping is kept, and used only as a ring (I1 of `records::shared`).
    (base, unsafe { records::shared::create(base, bytes, 32, mapping) }.unwrap())
}

#[test]
fn a_producer_of_records_is_killed_in_a_push_and_another_continues() {
    after_each_instruction(|instructions| {
        let (base, ring) = record_ring();
        let mut consumer = ring.consumer().unwrap();
        let seen = asleep(move || {
            let mut seen = Vec::new();
            while seen.last() != Some(&b'2') {
                let record = consumer.read_wait().unwrap();
                seen.push(record[0]);
                record.release();
            }
            seen
        });
        until_asleep(base, VALUES);
        let child = lead(|| ring.producer().unwrap(), |one| one.push(b"1").unwrap(), instructions);
        if child == Child::Killed {
            pass_over_a_claim(base);
            ring.producer().unwrap().push_wait(b"2").unwrap();
            let seen = awake(&seen, instructions);
            assert!(seen == *b"12" || seen == *b"2", "{seen:?}");
        }
        child
    });
}

/// Does what `unblock` does, for a consumer that sleeps in another thread: the claim of the dead producer becomes a
/// record to skip.
fn pass_over_a_claim(base: NonNull<u8>) {
    let (tail, words) = (128, 768);
    // SAFETY: both lie in the mapping, which outlives its rings, and all accesses are atomic.
    let at = |at: usize| unsafe { AtomicU64::from_ptr(base.as_ptr().wrapping_add(at).cast()) };
    let (record, skip) = (2 << 32 | 1, 3 << 32 | 1);
    if at(tail).load(Relaxed) != 0 && at(words).load(Relaxed) >> 32 < record >> 32 {
        at(words).store(skip, Relaxed);
    }
}

#[test]
fn a_consumer_of_records_is_killed_in_a_release_and_followed() {
    after_each_instruction(|instructions| {
        let (base, ring) = record_ring();
        let mut producer = ring.producer().unwrap();
        producer.push(b"1").unwrap();
        producer.push(b"2").unwrap();
        let pushed = asleep(move || producer.push_wait(b"3"));
        until_asleep(base, ROOM);
        let release =
            |consumer: &mut records::mpsc::Consumer<_>| consumer.read().unwrap().release();
        let child = lead(|| ring.consumer().unwrap(), release, instructions);
        if child == Child::Killed {
            let mut successor = ring.take_over_consumer().unwrap();
            let mut seen = Vec::new();
            while seen.last() != Some(&b'3') {
                if seen.is_empty() {
                    // SAFETY: the one other process is dead, and the only other producer waits for room, outside any
                    // claim.
                    unsafe { successor.unblock() }.unwrap();
                }
                let record = successor.read_deadline(Deadline::after(FAR_TOO_LONG)).unwrap();
                seen.push(record[0]);
                record.release();
            }
            assert!(b"123".ends_with(&seen), "{seen:?}");
            assert_eq!(awake(&pushed, instructions), Ok(()));
        }
        child
    });
}
