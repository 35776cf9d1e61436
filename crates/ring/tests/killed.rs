//! A process killed after every single instruction of a hand-over: whoever slept on the other side comes back, and what
//! was published arrives once.
//!
//! The child stops, is led on instruction by instruction (ptrace), and killed: first after one, then after two, and so
//! on until it gets to its end. Between clearing a flag and the wake-up that belongs to it there are some dozens. In
//! the short form it is every eleventh:
//!
//!     UNC_DEPTH=full cargo test -p uncontended-ring --test killed
#![cfg(all(target_arch = "x86_64", not(any(unc_model, miri))))]

#[allow(dead_code, reason = "children are forked here")]
mod mapped;

use mapped::{Mapping, memory};
use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use uncontended_atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use uncontended_ring::{records, spsc};
use uncontended_wait::Deadline;

/// Nobody sleeps that long whose wake-up was lost: the test's patience, not a promise.
const FAR_TOO_LONG: Duration = Duration::from_secs(10);
/// Where the two bells are in memory, as the headers of both `shared` say: bit 0 tells that somebody sleeps.
const VALUES: usize = 384;
const ROOM: usize = 512;

/// What became of a child.
#[derive(PartialEq)]
enum Child {
    /// It was killed after so many instructions.
    Killed,
    /// It had come to its end before.
    Ended,
    /// Nobody may lead it.
    Refused,
}

/// Forks a child that prepares itself, then stops, and is led through so many instructions of `act`; then it is killed.
fn lead<T>(prepare: impl FnOnce() -> T, act: impl FnOnce(&mut T), instructions: usize) -> Child {
    // SAFETY: the child goes on with a copy of this thread alone; what it runs takes no lock that another thread could
    // hold but the allocator's, which the C library takes care of.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        let mut prepared = prepare();
        // SAFETY: it lets the parent lead this process, and takes no memory.
        if unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } == 0 {
            // SAFETY: the signal goes to this process alone.
            unsafe { libc::raise(libc::SIGSTOP) };
            act(&mut prepared);
        }
        // SAFETY: ends the child at once, without what the parent has to do at its own end.
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
    // SAFETY: the child has not been waited for, so that nobody else has its number.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    assert!(libc::WIFSIGNALED(next()));
    Child::Killed
}

/// Kills after each instruction: `case` sets the stage, leads a child so far, and checks how the others get on.
fn after_each_instruction(case: impl Fn(usize) -> Child) {
    let is_full = std::env::var_os("UNC_DEPTH").is_some_and(|depth| depth == "full");
    let step = if is_full { 1 } else { 11 };
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
    assert!(instructions > 20, "that is not a hand-over");
}

/// Waits until somebody sleeps at the bell there.
fn until_asleep(base: NonNull<u8>, bell: usize) {
    // SAFETY: the bell is in the mapping, which lives as long as its rings, and is only accessed atomically.
    let word = unsafe { AtomicU32::from_ptr(base.as_ptr().wrapping_add(bell).cast()) };
    while word.load(Relaxed) & 1 == 0 {
        thread::yield_now();
    }
}

/// A side that sleeps in a thread of its own; what it got.
fn asleep<T: Send + 'static>(side: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(side()));
    receiver
}

fn awake<T: Debug>(side: &Receiver<T>, after: usize) -> T {
    side.recv_timeout(FAR_TOO_LONG)
        .unwrap_or_else(|_| panic!("killed after {after} instructions: who slept does so for ever"))
}

fn spsc_ring(capacity: usize) -> (NonNull<u8>, spsc::shared::Shared<u64>) {
    let (mapping, _) = memory(spsc::shared::bytes_for::<u64>(capacity).unwrap());
    let Mapping { base, bytes, .. } = mapping;
    // SAFETY: the mapping is kept, and a ring and nothing else (I1 of `spsc::shared`).
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
            assert_eq!(awake(&pushed, instructions), Err(2));
        }
        child
    });
}

fn record_ring() -> (NonNull<u8>, records::shared::Shared) {
    let (mapping, _) = memory(records::shared::bytes_for(32).unwrap());
    let Mapping { base, bytes, .. } = mapping;
    // SAFETY: the mapping is kept, and a ring and nothing else (I1 of `records::shared`).
    (base, unsafe { records::shared::create(base, bytes, 32, mapping) }.unwrap())
}

#[test]
fn a_producer_of_records_is_killed_in_a_push_and_another_goes_on() {
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
        let child = lead(|| ring.producer(), |one| one.push(b"1").unwrap(), instructions);
        if child == Child::Killed {
            pass_over_a_claim(base);
            ring.producer().push_wait(b"2").unwrap();
            let seen = awake(&seen, instructions);
            assert!(seen == *b"12" || seen == *b"2", "{seen:?}");
        }
        child
    });
}

/// What `unblock` does, by a consumer that sleeps in another thread: a claim of the one who died is a record to be
/// skipped.
fn pass_over_a_claim(base: NonNull<u8>) {
    let (tail, words) = (128, 768);
    // SAFETY: both are in the mapping, which lives as long as its rings, and are only accessed atomically.
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
        let mut producer = ring.producer();
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
                    // SAFETY: the one other process is no more, and the only other producer waits for room, in no
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
