//! Event counts with a single incrementer that uses no LOCKed instruction; the waiters pay instead.
//!
//! `one_word`: version in the upper bits, the sleepers flag in bit 0 of the same word; x86 only, because an increment
//! must be one instruction. A waiter's flag can be overwritten by an increment that had already read the word. The
//! heavy fence between setting the flag and going to sleep leaves two cases: the increment is over, and the word has
//! changed; or it has not begun, and will see the flag.
//!
//! `two_words`: version and flag in separate words; portable. The flag is cleared only directly before an increment.

use super::Mutant;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_model::real::{
    AtomicU32, UnsafeCell, futex_wait, futex_wake, heavy_fence, light_fence, spawn,
};

pub(crate) const ONE_WORD_MUTANTS: &[&str] = &[
    "event count: no heavy fence",
    "event count: heavy fence before the flag",
    "event count: an increment in two instructions",
    "event count: wake before the flag is cleared",
    "event count: the flag is not looked at",
];

pub(crate) const TWO_WORDS_MUTANTS: &[&str] = &[
    "two words: no heavy fence",
    "two words: heavy fence before the flag",
    "two words: no light fence",
    "two words: flag read before the version is stored",
    "two words: version is relaxed",
    "two words: cleared after the increment",
];

struct OneWord {
    word: AtomicU32,
    mutant: Mutant,
}

impl OneWord {
    fn increment(&self) {
        let m = self.mutant;
        let old = if m.is("event count: an increment in two instructions") {
            let old = self.word.load(Relaxed);
            self.word.store(old + 2, Release);
            old
        } else {
            self.word.fetch_add_unlocked(2, Release)
        };
        if old & 1 == 0 || m.is("event count: the flag is not looked at") {
            return;
        }
        if m.is("event count: wake before the flag is cleared") {
            futex_wake(&self.word, u32::MAX);
            self.word.fetch_and(!1, Relaxed);
        } else {
            self.word.fetch_and(!1, Relaxed);
            futex_wake(&self.word, u32::MAX);
        }
    }

    /// Waits until the version differs from `version`, an even number.
    fn wait(&self, version: u32) {
        let m = self.mutant;
        if m.is("event count: heavy fence before the flag") {
            heavy_fence();
        }
        while self.word.load(Acquire) & !1 == version {
            let set = self.word.compare_exchange(version, version | 1, Relaxed, Relaxed);
            if set.is_err_and(|found| found != version | 1) {
                continue;
            }
            if !m.is("event count: no heavy fence")
                && !m.is("event count: heavy fence before the flag")
            {
                heavy_fence();
            }
            futex_wait(&self.word, version | 1);
        }
    }
}

/// Two increments; the waiter sees both, one after the other.
pub(crate) fn one_word(mutant: Mutant) {
    let count = Arc::new(OneWord { word: AtomicU32::new(0), mutant });
    let waiter = {
        let count = Arc::clone(&count);
        spawn(move || {
            count.wait(0);
            if count.word.load(Acquire) & !1 == 2 {
                count.wait(2);
            }
        })
    };
    count.increment();
    count.increment();
    waiter.join().unwrap();
    assert_eq!(count.word.load(Relaxed) & !1, 4, "an increment is lost");
}

struct TwoWords {
    version: AtomicU32,
    flag: AtomicU32,
    data: UnsafeCell<u32>,
    mutant: Mutant,
}

// SAFETY: the data is written before the one increment that lets it be read (edge `happened`).
unsafe impl Sync for TwoWords {}

impl TwoWords {
    fn increment(&self) {
        let m = self.mutant;
        let version = self.version.load(Relaxed) + 1;
        let late = m.is("two words: cleared after the increment");
        let mut asleep = !late && self.flag.load(Relaxed) == 1;
        if asleep {
            self.flag.store(0, Relaxed);
        }
        if m.is("two words: flag read before the version is stored") {
            asleep |= self.flag.load(Relaxed) == 1;
        }
        // EDGE happened (release): what the event announces.
        self.version.store(version, m.order("two words: version is relaxed", Release));
        if m.is("two words: flag read before the version is stored") {
            if asleep {
                futex_wake(&self.version, u32::MAX);
            }
            return;
        }
        if !m.is("two words: no light fence") {
            light_fence();
        }
        if asleep || self.flag.load(Relaxed) == 1 {
            if late {
                self.flag.store(0, Relaxed);
            }
            futex_wake(&self.version, u32::MAX);
        }
    }

    fn wait(&self, version: u32) {
        let m = self.mutant;
        // EDGE happened (acquire): what the event announces.
        while self.version.load(Acquire) == version {
            if m.is("two words: heavy fence before the flag") {
                heavy_fence();
            }
            self.flag.store(1, Relaxed);
            if !m.is("two words: no heavy fence") && !m.is("two words: heavy fence before the flag")
            {
                heavy_fence();
            }
            futex_wait(&self.version, version);
        }
    }
}

/// Two increments, the second announcing data, and one waiter for both.
pub(crate) fn two_words(mutant: Mutant) {
    let (version, flag, data) = (AtomicU32::new(0), AtomicU32::new(0), UnsafeCell::new(0));
    let count = Arc::new(TwoWords { version, flag, data, mutant });
    let waiter = {
        let count = Arc::clone(&count);
        spawn(move || {
            count.wait(0);
            count.wait(1);
            // SAFETY: the second increment comes after the write (edge `happened`).
            count.data.with(|data| unsafe { *data })
        })
    };
    count.increment();
    // SAFETY: the waiter reads only after the next increment (edge `happened`).
    count.data.with_mut(|data| unsafe { *data = 7 });
    count.increment();
    assert_eq!(waiter.join().unwrap(), 7);
    // An RMW keeps the release sequence: checked here so that AcqRel is exercised as well as the plain store.
    assert_eq!(count.version.fetch_add(0, AcqRel), 2);
}
