//! Waiting of one cell by stacks, as many as a record has room for.
//!
//! # Contract
//! [`limited`] keeps apart the stacks with the most waiting. The others are summed by their inner frames: those of the
//! lock's own functions and two callers; if these are too many, one caller; what is left has no stack.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use uncontended_trace::layout::{ENTRIES, WAITED_SITES};
use uncontended_trace::reader::CausedRecord;

/// Entries of a cell for the code that waited.
pub(crate) const WAITERS: usize = 2 * WAITED_SITES;
/// Entries for the code that woke, of each of three marks.
pub(crate) const WAKERS: usize = (ENTRIES - WAITERS) / 3;

/// Waiting of which less is known than was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Summed {
    /// By inner frames alone.
    pub(crate) inner: u64,
    /// Without a stack.
    pub(crate) rest: u64,
}

/// Adds to the entry of a stack.
pub(crate) fn add(stacks: &mut BTreeMap<u32, CausedRecord>, stack: u32, more: &CausedRecord) {
    let caused = stacks.entry(stack).or_insert(CausedRecord { stack, ..CausedRecord::default() });
    caused.wait += more.wait;
    caused.waits += more.waits;
    caused.longest = caused.longest.max(more.longest);
}

/// At most `most` entries, marked. `inner` gives the stack of a stack's inner frames, with a number of callers.
pub(crate) fn limited(
    stacks: BTreeMap<u32, CausedRecord>,
    mark: u32,
    most: usize,
    mut inner: impl FnMut(u32, usize) -> u32,
) -> (Vec<CausedRecord>, Summed) {
    let mut summed = Summed::default();
    let mut all = by_waiting(stacks);
    if all.len() > most {
        let others = all.split_off(most / 2);
        let known = |stack: &&CausedRecord| stack.stack != 0;
        summed.inner = others.iter().filter(known).map(|caused| caused.wait).sum();
        let mut with_callers = |callers| {
            let mut sums = BTreeMap::new();
            others.iter().for_each(|caused| add(&mut sums, inner(caused.stack, callers), caused));
            by_waiting(sums)
        };
        let room = most - all.len();
        let mut sums = with_callers(2);
        if sums.len() > room {
            sums = with_callers(1);
        }
        if sums.len() > room {
            let mut rest = BTreeMap::new();
            sums.split_off(room - 1).iter().for_each(|caused| add(&mut rest, 0, caused));
            summed.rest = rest.values().map(|caused| caused.wait).sum();
            summed.inner = summed.inner.saturating_sub(summed.rest);
            sums.extend(rest.into_values());
        }
        all.extend(sums);
    }
    (all.into_iter().map(|caused| CausedRecord { passed_to: mark, ..caused }).collect(), summed)
}

fn by_waiting(stacks: BTreeMap<u32, CausedRecord>) -> Vec<CausedRecord> {
    let mut all: Vec<CausedRecord> = stacks.into_values().collect();
    all.sort_by_key(|caused| Reverse(caused.wait));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_trace::layout::WAITED;

    fn stacks(count: u32) -> BTreeMap<u32, CausedRecord> {
        let mut stacks = BTreeMap::new();
        for stack in 1..=count {
            let wait = u64::from(stack) * 100;
            let caused = CausedRecord { wait, waits: 2, longest: wait / 2, ..Default::default() };
            add(&mut stacks, stack, &caused);
        }
        stacks
    }

    fn total(all: &[CausedRecord]) -> (u64, u64) {
        (all.iter().map(|one| one.wait).sum(), all.iter().map(|one| one.waits).sum())
    }

    #[test]
    fn what_has_room_stays_apart() {
        let none = |_, _| -> u32 { panic!("all have room") };
        let (all, summed) = limited(stacks(32), WAITED, 32, none);
        assert_eq!((all.len(), summed), (32, Summed::default()));
        assert!(all.iter().all(|caused| caused.passed_to == WAITED));
    }

    #[test]
    fn the_costliest_stay_apart_and_the_others_are_summed_by_inner_frames() {
        let inner = |_, callers| if callers == 2 { 1000 } else { panic!("two callers suffice") };
        let (all, summed) = limited(stacks(100), WAITED, 32, inner);
        assert_eq!((all.len(), all[0].stack, all[0].wait, all[0].longest), (17, 100, 10_000, 5000));
        let last = all[16];
        assert_eq!((last.stack, last.longest), (1000, 4200));
        assert_eq!(
            (last.wait, summed),
            (100 * (1..=84).sum::<u64>(), Summed { inner: last.wait, rest: 0 })
        );
        assert_eq!(total(&all), (100 * (1..=100).sum::<u64>(), 200));
    }

    #[test]
    fn with_too_many_callers_one_suffices_and_the_rest_has_no_stack() {
        let inner = |stack, callers| if callers == 2 { 1000 + stack } else { 2000 + stack % 20 };
        let (all, summed) = limited(stacks(100), WAITED, 32, inner);
        assert_eq!((all.len(), all[31].stack), (32, 0));
        assert!(all[16..31].iter().all(|caused| (2000..2020).contains(&caused.stack)), "{all:?}");
        assert_eq!((summed.rest, total(&all)), (all[31].wait, (505_000, 200)));
        assert_eq!(summed.inner, all[16..31].iter().map(|caused| caused.wait).sum::<u64>());
    }
}
