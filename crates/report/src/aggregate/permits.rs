//! Semaphores with several permits that threads take and give back, as of a pool of connections.
//!
//! # Contract
//! A thread waits for such a semaphore as for a lock, and any of its holders may end that: [`divide`] gives each
//! instant to all of them in equal parts. It knows the holds and waits that the threads' logs have kept, and takes
//! their shares for those of all waiting. A semaphore that a thread posts without having taken it is a signal, and one
//! whose holds are not seen while most threads wait is left as one.
//! # Evidence
//! The tests below; `tests/programs`: `semaphore_pool.c`.

use super::blame::{Division, Held, Sites, held_in_parts};
use super::stacks::Stacks;
use super::taken::Taken;
use super::waiting::{Waiting, times};
use std::collections::BTreeMap;
use uncontended_trace::reader::{LoggedRecord, ThreadRecord};

/// The waiting is for the holds if at least this share of it fell into them.
const MOSTLY: f64 = 0.8;

/// A row's waiting, and how long ticks are.
pub(super) type Total<N> = (u64, N);

/// Divides the waiting of a row among the holds of `lock` by these threads; none if it is not waited for as a lock.
pub(super) fn divide<'t>(
    lock: u32,
    threads: impl Iterator<Item = &'t ThreadRecord> + Clone,
    total: Total<impl Fn(u64) -> u64>,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Option<Division> {
    let holds = threads.clone().flat_map(|thread| thread.log.holds());
    let holds: Vec<LoggedRecord> = holds.filter(|hold| hold.lock == lock).copied().collect();
    let (division, covered) = among((&holds, 1), lock, threads, total, sites, stacks);
    Some(division).filter(|_| covered >= MOSTLY)
}

/// The same of a semaphore that is made of futexes; none if one thread has it at a time.
pub(super) fn of_futexes<'t>(
    lock: u32,
    threads: impl Iterator<Item = &'t ThreadRecord> + Clone,
    total: Total<impl Fn(u64) -> u64>,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Option<Division> {
    let taken = Taken::new(lock, threads.clone())?;
    Some(among(taken.holds(), lock, threads, total, sites, stacks).0)
}

/// Divides the waiting of a row among `holds`, of which at least `permits` last at a time; with the share of it
/// that these are to blame for.
fn among<'t>(
    (holds, permits): (&[LoggedRecord], u64),
    lock: u32,
    threads: impl Iterator<Item = &'t ThreadRecord> + Clone,
    (total_ns, ns): Total<impl Fn(u64) -> u64>,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> (Division, f64) {
    // Before that time, not every thread's log has what was.
    let lost = threads.clone().filter(|thread| thread.log.lost > 0);
    let from = lost.filter_map(|thread| thread.log.entries.first()).map(|entry| entry.ended).max();
    let is_kept = |entry: &&LoggedRecord| entry.began >= from.unwrap_or(0);
    let waits = threads.flat_map(|thread| thread.log.waits()).filter(|wait| wait.lock == lock);
    let waits: Vec<(u64, u64)> = waits.filter(is_kept).map(times).collect();
    let holds: Vec<_> = holds.iter().filter(is_kept).collect();
    let (shares, covered) = shares(&waits, &holds, permits);
    let waited = super::sum(waits.iter().map(|(began, ended)| ended - began)).max(1);
    let scale = total_ns as f64 / ns(waited).max(1) as f64;
    let held = |(stack, share): (u32, Share)| Held {
        stack,
        wait_ns: (ns(share.wait) as f64 * scale) as u64,
        holds: share.holds,
        waits: share.waits,
        longest_ns: ns(share.longest),
    };
    let division = held_in_parts(shares.into_iter().map(held), total_ns, sites, stacks);
    (division, covered as f64 / waited as f64)
}

/// What the holds of one stack cost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Share {
    wait: u64,
    waits: u64,
    holds: u64,
    longest: u64,
}

/// The shares of the holds by their stacks, and the sum of the waiting that fell into them.
fn shares(
    waits: &[(u64, u64)],
    holds: &[&LoggedRecord],
    permits: u64,
) -> (BTreeMap<u32, Share>, u64) {
    let all: Vec<(u64, u64)> = holds.iter().map(|hold| times(hold)).collect();
    let waiting = Waiting::new(waits, &all, permits);
    let [mut begun, mut ended]: [Vec<u64>; 2] =
        [waits.iter().map(|wait| wait.0).collect(), waits.iter().map(|wait| wait.1).collect()];
    begun.sort_unstable();
    ended.sort_unstable();
    let (mut shares, mut covered) = (BTreeMap::<u32, Share>::new(), 0u64);
    for (hold, (from, to)) in holds.iter().zip(all) {
        let wait = waiting.within(from, to);
        if wait == 0 {
            continue;
        }
        covered = covered.saturating_add(wait);
        let come = begun.partition_point(|&began| began < to);
        let gone = ended.partition_point(|&ended| ended <= from);
        let share = shares.entry(hold.stack).or_default();
        share.wait = share.wait.saturating_add(wait);
        share.waits += come.saturating_sub(gone) as u64;
        share.holds += 1;
        share.longest = share.longest.max(to - from);
    }
    (shares, covered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_trace::layout::logged;

    #[test]
    fn of_two_permits_the_one_that_is_kept_costs_more() {
        let hold = |stack, began, ended| LoggedRecord {
            what: logged::HOLD,
            stack,
            began,
            ended,
            ..LoggedRecord::default()
        };
        let holds = [hold(1, 0, 100), hold(2, 0, 20), hold(2, 20, 40), hold(2, 200, 300)];
        let (shares, covered) = shares(&[(10, 20), (10, 40)], &holds.each_ref(), 1);
        // Until 20, two wait for two holders; until 40, one.
        assert_eq!(covered, 20 + 20);
        let long = Share { wait: 20, waits: 2, holds: 1, longest: 100 };
        let short = Share { wait: 20, waits: 3, holds: 2, longest: 20 };
        assert_eq!(shares, BTreeMap::from([(1, long), (2, short)]));
    }
}
