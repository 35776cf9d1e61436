//! The futex words of one condition variable of the C library, which are one object.
//!
//! # Contract
//! [`Conditions::objects`] gives each word of a condition the address by which the condition is known: that of the
//! pair of words on which its waiters wait, in turns. A word belongs to one by the function of the C library in
//! which its waiter waited, and by its place; the waiters of a program's own futexes are in none.
//! # Sources
//! `struct __pthread_cond_s` of glibc. Since 2.25, waiters wait on a pair of words at a multiple of eight
//! (`__g_signals`). The word before it is the condition's own lock (`__wrefs`). In versions that have it, the pair 24
//! bytes before it is that on which a signal waits for earlier waiters (`__g_refs`). Before 2.25, the pair is the
//! condition's own lock and its one futex.

use crate::modules::Modules;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a function does with a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// It waits for it.
    Waits,
    /// It wakes its waiters, or ends it.
    Wakes,
}

impl Use {
    /// By the name of the function.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        match name.strip_prefix(b"__").unwrap_or(name) {
            b"pthread_cond_wait" | b"pthread_cond_timedwait" | b"pthread_cond_clockwait" => {
                Some(Use::Waits)
            }
            b"pthread_cond_signal" | b"pthread_cond_broadcast" | b"pthread_cond_destroy" => {
                Some(Use::Wakes)
            }
            _ => None,
        }
    }
}

/// The functions that use conditions, and where a program's threads waited in them.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    functions: Vec<(Range<u64>, Use)>,
    words: BTreeSet<(u64, Use)>,
}

impl Conditions {
    /// No word yet, of a program with these files.
    pub(crate) fn new(modules: &Modules) -> Self {
        let functions = modules.known.values().flat_map(|module| {
            let bias = module.bias();
            let place = move |range: &Range<u64>| {
                range.start.wrapping_add(bias)..range.end.wrapping_add(bias)
            };
            module.conditions.iter().map(move |(range, use_)| (place(range), *use_))
        });
        Conditions { functions: functions.collect(), words: BTreeSet::new() }
    }

    /// A thread waited for the word at `address`, called by `chain`.
    pub(crate) fn add(&mut self, address: u64, chain: &[u64]) {
        /// Functions between the C library's own one and the system call.
        const INNER: usize = 4;
        let of = |&frame: &u64| {
            let mut functions = self.functions.iter();
            functions.find(|(range, _)| range.contains(&frame.wrapping_sub(1))).map(|found| found.1)
        };
        self.words.extend(chain.iter().take(INNER).find_map(of).map(|use_| (address, use_)));
    }

    /// By the words that belong to a condition, its address. A word that is not here is an object of its own.
    ///
    /// A mutex's word, for which these functions wait too, is at a multiple of eight, and nothing waits for
    /// the word after it: so it stays alone.
    pub(crate) fn objects(&self) -> BTreeMap<u64, u64> {
        /// From a word on which the functions that wake wait, to the pair on which those that wait do.
        const DISTANCES: [u64; 3] = [4, 24, 20];
        let of = |use_| self.words.iter().filter(move |word| word.1 == use_).map(|word| word.0);
        let pair = |word: u64| word & !7;
        let pairs: BTreeSet<u64> = of(Use::Waits).map(pair).collect();
        let others = of(Use::Wakes).filter_map(|word| {
            let mut candidates = DISTANCES.iter().map(|distance| word.wrapping_add(*distance));
            Some((word, candidates.find(|candidate| pairs.contains(candidate))?))
        });
        let own = of(Use::Waits).map(|word| (word, pair(word)));
        others.chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions() -> Conditions {
        let functions = vec![(100..200, Use::Waits), (200..300, Use::Wakes)];
        Conditions { functions, words: BTreeSet::new() }
    }

    #[test]
    fn the_words_of_a_condition_are_one_object_and_those_of_others_are_not() {
        let mut known = conditions();
        for (address, chain) in [
            (0x1028, [7, 150, 900]),
            (0x102c, [7, 150, 900]),
            (0x1010, [7, 250, 900]), // A signal that waits for earlier waiters,
            (0x1024, [7, 250, 900]), // and for the condition's own lock.
            (0x1030, [7, 150, 900]), // The mutex after it.
            (0x2000, [7, 910, 900]), // Futexes of the program itself.
            (0x2004, [7, 910, 900]),
        ] {
            known.add(address, &chain);
        }
        let expected = [
            (0x1010, 0x1028),
            (0x1024, 0x1028),
            (0x1028, 0x1028),
            (0x102c, 0x1028),
            (0x1030, 0x1030),
        ];
        assert_eq!(known.objects(), BTreeMap::from(expected));
    }

    #[test]
    fn a_function_counts_only_if_it_is_the_innermost_but_four() {
        let mut known = conditions();
        known.add(0x1028, &[1, 2, 3, 4, 150]);
        known.add(0x102c, &[]);
        assert_eq!(known.objects(), BTreeMap::new());
        known.add(0x102c, &[1, 2, 3, 200]); // It returns to the end of the function that waits.
        assert_eq!(known.objects(), BTreeMap::from([(0x102c, 0x1028)]));
    }

    #[test]
    fn functions_are_known_by_all_their_names() {
        assert_eq!(Use::of(b"pthread_cond_timedwait"), Some(Use::Waits));
        assert_eq!(Use::of(b"__pthread_cond_broadcast"), Some(Use::Wakes));
        assert_eq!(Use::of(b"pthread_cond_init"), None);
    }
}
