//! Sleeping on a word of memory, and waking the threads that sleep there.
//!
//! # Contract
//! A sleep returns its reason, but the sleeper must check its condition whatever the reason: signals and spurious
//! wakeups count as [`Wait::Woken`]. A deadline is absolute, so a retry after an early return never extends it. Where
//! the kernel refuses the call (a filter that does not allow it), a sleep becomes a pause of one millisecond and a
//! wakeup does nothing: slow, but no wakeup is lost. On other systems than Linux, [`parking`](crate::parking) takes the
//! calls' place.
//! # Sources
//! `futex(2)`: `FUTEX_WAIT_BITSET` (whose timeout is absolute, on `CLOCK_MONOTONIC`), `FUTEX_WAKE`.

#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicU32;

/// The threads that may sleep on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// Threads of this process.
    #[default]
    Private,
    /// Threads of every process that has the word's memory mapped.
    Shared,
}

/// Why a sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// A thread, a signal or the kernel (spuriously) woke the sleeper: check again.
    Woken,
    /// The word held another value.
    Changed,
    /// The deadline has passed.
    TimedOut,
}

#[cfg(target_os = "linux")]
/// Sleeps while `word` holds `expected`, until a wakeup or until `CLOCK_MONOTONIC` reaches `deadline_ns`.
pub fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>, scope: Scope) -> Wait {
    let deadline = deadline_ns.map(timespec);
    let limit = deadline.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let command = command(libc::FUTEX_WAIT_BITSET, scope);
    let (unused, any) = (std::ptr::null::<u32>(), libc::FUTEX_BITSET_MATCH_ANY);
    // SAFETY: the word is borrowed for the whole call; `limit` is null or points to `deadline`, which outlives it
    // (L2).
    let result = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), command, expected, limit, unused, any)
    };
    let error = if result == 0 { None } else { std::io::Error::last_os_error().raw_os_error() };
    match error {
        None | Some(libc::EINTR) => Wait::Woken,
        Some(libc::EAGAIN) => Wait::Changed,
        Some(libc::ETIMEDOUT) => Wait::TimedOut,
        Some(_) => short_sleep(deadline_ns),
    }
}

#[cfg(target_os = "linux")]
/// Wakes up to `count` threads that sleep on `word`, and returns how many were woken.
pub fn wake(word: &AtomicU32, count: u32, scope: Scope) -> usize {
    let count = libc::c_int::try_from(count).unwrap_or(libc::c_int::MAX);
    let command = command(libc::FUTEX_WAKE, scope);
    // SAFETY: the word's address is only a number here (L1).
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), command, count) };
    usize::try_from(woken).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn command(command: libc::c_int, scope: Scope) -> libc::c_int {
    match scope {
        Scope::Private => command | libc::FUTEX_PRIVATE_FLAG,
        Scope::Shared => command,
    }
}

#[cfg(target_os = "linux")]
#[allow(deprecated, reason = "the field's type, which libc will widen on musl")]
fn timespec(ns: u64) -> libc::timespec {
    let tv_sec = libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

#[cfg(target_os = "linux")]
/// Replaces a sleep where the kernel refuses the call.
#[cold]
fn short_sleep(deadline_ns: Option<u64>) -> Wait {
    let now = crate::clock::monotonic_ns();
    if deadline_ns.is_some_and(|deadline| deadline <= now) {
        return Wait::TimedOut;
    }
    let left = deadline_ns.map_or(u64::MAX, |deadline| deadline - now);
    std::thread::sleep(std::time::Duration::from_nanos(left.min(1_000_000)));
    Wait::Woken
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_sleeper_is_woken_and_another_value_does_not_sleep() {
        for scope in [Scope::Private, Scope::Shared] {
            let word = AtomicU32::new(0);
            assert_eq!(wait(&word, 1, None, scope), Wait::Changed);
            assert_eq!(wake(&word, u32::MAX, scope), 0);
            std::thread::scope(|threads| {
                let sleeper = threads.spawn(|| {
                    while word.load(SeqCst) == 0 {
                        wait(&word, 0, None, scope);
                    }
                });
                while wake(&word, 1, scope) == 0 {
                    std::thread::yield_now();
                }
                word.store(1, SeqCst);
                while !sleeper.is_finished() {
                    wake(&word, 1, scope);
                    std::thread::yield_now();
                }
            });
        }
    }

    #[test]
    fn a_deadline_is_absolute_and_never_early() {
        let word = AtomicU32::new(0);
        let deadline = monotonic_ns() + 20_000_000;
        while wait(&word, 0, Some(deadline), Scope::Private) != Wait::TimedOut {}
        assert!(monotonic_ns() >= deadline);
        assert_eq!(wait(&word, 0, Some(deadline), Scope::Private), Wait::TimedOut, "in the past");
        assert_eq!(wait(&word, 0, Some(0), Scope::Private), Wait::TimedOut, "long in the past");
        assert_eq!(wait(&word, 1, Some(u64::MAX), Scope::Private), Wait::Changed, "far ahead");
    }

    #[test]
    fn a_refused_sleep_is_a_short_one_within_the_deadline() {
        assert_eq!(short_sleep(None), Wait::Woken);
        let deadline = monotonic_ns() + 100_000;
        while short_sleep(Some(deadline)) == Wait::Woken {}
        assert!(monotonic_ns() >= deadline);
    }
}
