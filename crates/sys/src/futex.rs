//! Sleeping on a word of memory, and waking who sleeps there, within one process.
//!
//! # Sources
//! `futex(2)`: `FUTEX_WAIT`, `FUTEX_WAKE`, both private.

use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`, until a wake, a signal, or for no reason at all: look at the word again. False:
/// the word held something else.
pub fn wait(word: &AtomicU32, expected: u32) -> bool {
    let forever = std::ptr::null::<libc::timespec>();
    let command = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is borrowed for the whole call, and no time limit is read through a null pointer.
    let result =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), command, expected, forever) };
    result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN)
}

/// Wakes up to `count` threads that sleep on `word`, and returns how many that were.
pub fn wake(word: &AtomicU32, count: u32) -> usize {
    let command = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    let count = libc::c_int::try_from(count).unwrap_or(libc::c_int::MAX);
    // SAFETY: waking reads no memory of ours; the word is only an address.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), command, count) };
    usize::try_from(woken).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_sleeper_is_woken_and_another_value_does_not_sleep() {
        let word = AtomicU32::new(0);
        assert!(!wait(&word, 1));
        assert_eq!(wake(&word, u32::MAX), 0);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0);
                }
            });
            while wake(&word, 1) == 0 {
                std::thread::yield_now();
            }
            word.store(1, SeqCst);
            while !sleeper.is_finished() {
                wake(&word, 1);
                std::thread::yield_now();
            }
        });
    }
}
