//! The holds that went on when the record ended, and what they had cost by then.
//!
//! # Contract
//! A hold is blamed at its release. [`add`] adds those that had none yet to the rows of locks that threads still wanted
//! for themselves and one thread held. While a holder waits for another one's lock, its part is passed on to the thread
//! that waits for none. Threads that wait for each other have no such head, and no part: they are a deadlock.
//! # Evidence
//! `tests/programs`: `held_to_the_end.c`.

use super::blame::{Sites, add_unfinished};
use super::deadlocks::Waits;
use super::hung::{chain, for_locks};
use super::locks::Rows;
use super::stacks::Stacks;
use crate::run::{Blamed, BlamedKind};
use std::collections::BTreeMap;
use uncontended_trace::reader::{ProcessRecord, Record};

/// The row, the stack of its holder's acquisition, and that of the head's.
type Key = (usize, u32, u32);

/// What one hold cost.
#[derive(Default)]
struct Cost {
    waits: u64,
    wait_ns: u64,
    /// The part of it during which the holder waited itself.
    passed_on_ns: u64,
    longest_ns: u64,
}

/// Adds the parts of holds in progress to the rows of `image`.
pub(super) fn add(
    (record, image): (&Record<'_>, &ProcessRecord),
    until_ns: u64,
    waits: &Waits<'_>,
    rows: &mut Rows,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) {
    for ((row, holder, head), cost) in costs((record, image), until_ns, waits) {
        let Cost { waits, wait_ns, passed_on_ns, longest_ns } = cost;
        let of_site = |wait_ns, site, stacks: &mut Stacks<'_>| Blamed {
            wait_ns,
            waits,
            holds: 1,
            longest_ns,
            ..sites.piece(BlamedKind::Hold, site, stacks)
        };
        let own = of_site(wait_ns - passed_on_ns, holder, stacks);
        let passed_on = of_site(passed_on_ns, head, stacks);
        let direct = Blamed { wait_ns, passed_on_ns, ..own.clone() };
        let followed = &mut rows.followed[row];
        add_unfinished(&mut rows.locks[row], followed, direct, [own, passed_on]);
    }
}

fn costs(
    (record, image): (&Record<'_>, &ProcessRecord),
    until_ns: u64,
    waits: &Waits<'_>,
) -> BTreeMap<Key, Cost> {
    let Waits { last, of, number, .. } = waits;
    let graph = for_locks(of);
    let for_ns = |since: u64| until_ns.saturating_sub(record.ns_at(since));
    let mut costs: BTreeMap<Key, Cost> = BTreeMap::new();
    for at in 0..image.threads.len() {
        let Some(wants) = last.wants(at).filter(|wants| !wants.shared) else { continue };
        let ([wait], Some(&row)) = (&of[at][..], number.get(&wants.lock)) else { continue };
        let (Some(steps), Some(since)) = (chain(&graph, at), wait.since) else { continue };
        let [.., before, _] = steps[..] else { continue };
        let begun = wants.since.max(since);
        let passed_on = if before == at { None } else { last.wants(wait.holder) };
        let head = of[before].first().map_or(0, |wait| wait.site);
        let cost = costs.entry((row as usize, wait.site, head)).or_default();
        cost.waits += 1;
        cost.wait_ns = cost.wait_ns.saturating_add(for_ns(begun));
        cost.longest_ns = cost.longest_ns.max(for_ns(since));
        let passed_on_ns = passed_on.map_or(0, |wants| for_ns(wants.since.max(begun)));
        cost.passed_on_ns = cost.passed_on_ns.saturating_add(passed_on_ns);
    }
    costs
}
