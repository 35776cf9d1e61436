//! The table of a thread's rows: keys that collide, growth, the row found last.

mod common;

use common::rows::{Record, SLOTS, colliding, holds, is_same, rows, table, taken};
use std::collections::BTreeMap;
use uncontended_events::rows::{Slot, key};
use uncontended_events::seen::{BITS, Seen};
use uncontended_testkit::Random;
use uncontended_trace::layout::kind::{CONDITION, MUTEX};

#[test]
fn keys_that_begin_at_one_slot_are_told_apart() {
    let (record, rows) = (Record::new(), rows());
    let [one, two, three, four, absent] = colliding(record);
    let kept: BTreeMap<_, _> = [one, two, three, four].map(|key| (key, record.row())).into();
    kept.iter().for_each(|(&key, &row)| rows.remember(key, row, table));
    holds(rows, &kept);
    assert!(rows.find(absent).is_none());
    let places: Vec<bool> = rows.table().slots().iter().map(Slot::is_free).collect();
    assert_eq!(
        places,
        [false, false, false, true, true, true, true, false],
        "behind the last, the first"
    );
}

#[test]
fn a_table_that_is_half_full_is_replaced_by_one_twice_as_large() {
    let (record, rows) = (Record::new(), rows());
    let (mut kept, mut made) = (BTreeMap::new(), Vec::new());
    let first = rows.table();
    for number in 1..=4 * SLOTS as u64 {
        let (key, row) = (key(64 * number, MUTEX), record.row());
        let before = rows.table();
        rows.remember(key, row, |slots, older| {
            assert!(std::ptr::eq(older.unwrap(), before));
            made.push((number, slots));
            table(slots, older)
        });
        kept.insert(key, row);
        holds(rows, &kept);
    }
    assert_eq!(made, [(5, 16), (9, 32), (17, 64)]);
    assert_eq!(taken(rows.table()), 32);
    let older: Vec<usize> =
        std::iter::successors(Some(rows.table()), |table| table.older()).map(taken).collect();
    assert_eq!(older, [32, 16, 8, 4], "a lookup in an older table still ends");
    assert!(std::ptr::eq(rows.table().older().unwrap().older().unwrap().older().unwrap(), first));
}

#[test]
fn without_memory_the_rows_kept_so_far_stay() {
    let (record, rows) = (Record::new(), rows());
    let kept: BTreeMap<_, _> = (1..=4).map(|n| (key(64 * n, MUTEX), record.row())).collect();
    kept.iter().for_each(|(&key, &row)| rows.remember(key, row, table));
    for number in 5..50 {
        rows.remember(key(64 * number, MUTEX), record.row(), |_, _| None);
        assert!(rows.find(key(64 * number, MUTEX)).is_none());
    }
    holds(rows, &kept);
}

#[test]
fn the_row_found_last_is_found_at_once() {
    let (record, rows) = (Record::new(), rows());
    let [one, other] = [64, 128].map(|address| key(address, MUTEX));
    let [first, second, third] = [record.row(), record.row(), record.row()];
    rows.remember(one, first, table);
    assert!(rows.find_last(one).is_none(), "kept, but not found yet");
    assert!(rows.find(one).is_some());
    assert!(rows.find_last(one).is_some_and(|row| is_same(row, first)));
    assert!(rows.find_last(other).is_none() && rows.find(other).is_none());
    rows.remember(other, second, table);
    assert!(rows.find_last(one).is_none(), "the table has changed");
    // The next generation of a lock, with which the table grows: what was found last lies in the older one.
    (3..5).for_each(|n| rows.remember(key(64 * n, MUTEX), record.row(), table));
    assert!(rows.find(one).is_some());
    rows.remember(one, third, table);
    assert_eq!(rows.table().slots().len(), 2 * SLOTS);
    assert!(rows.find_last(one).is_none_or(|row| is_same(row, third)));
    holds(rows, &[(one, third), (other, second)].into());
}

#[test]
fn a_later_generation_takes_the_place_of_the_one_before() {
    let (record, rows) = (Record::new(), rows());
    for _ in 0..if cfg!(miri) { 10 } else { 100 } {
        let row = record.row();
        rows.remember(key(64, MUTEX), row, |_, _| panic!("there is room"));
        holds(rows, &[(key(64, MUTEX), row)].into());
    }
    assert_eq!(taken(rows.table()), 1);
}

#[test]
fn locks_of_two_kinds_at_one_address_are_two() {
    let (record, rows) = (Record::new(), rows());
    let kept = [MUTEX, CONDITION].map(|kind| (key(64, kind), record.row()));
    assert_ne!(kept[0].0, kept[1].0);
    kept.iter().for_each(|&(key, row)| rows.remember(key, row, table));
    holds(rows, &kept.into());
}

/// No program has a lock there, but an annotation may say so.
#[test]
fn the_key_of_free_slots_is_never_kept() {
    let (record, rows) = (Record::new(), rows());
    let zero = key(u64::from(MUTEX) << 56, MUTEX);
    assert_eq!(zero, 0);
    for _ in 0..if cfg!(miri) { 10 } else { 100 } {
        rows.remember(zero, record.row(), |_, _| panic!("nothing was kept"));
        assert!(rows.find(zero).is_none() && rows.find_last(zero).is_none());
    }
}

#[test]
fn random_locks_and_generations_are_found_as_they_were_kept() {
    for seed in 0..if cfg!(miri) { 3 } else { 100 } {
        let (record, rows, mut random) = (Record::new(), rows(), Random(seed));
        let mut kept = BTreeMap::new();
        for _ in 0..if cfg!(miri) { 40 } else { 150 } {
            let key = key(8 * (1 + random.below(100)), MUTEX);
            match random.below(3) {
                0 => {
                    let found = rows.find(key).map(|row| std::ptr::from_ref(row.cell));
                    let expected =
                        kept.get(&key).map(|row: &uncontended_events::site::Row| row.cell);
                    assert_eq!(found, expected.map(std::ptr::from_ref), "seed {seed}");
                }
                _ => {
                    let row = record.row();
                    rows.remember(key, row, table);
                    kept.insert(key, row);
                }
            }
        }
        holds(rows, &kept);
    }
}

#[test]
fn a_key_that_was_added_is_seen_and_few_others_are() {
    let seen = Seen::new();
    let [most, absent] = if cfg!(miri) { [64, 300] } else { [BITS as u64 / 8, 10_000] };
    let keys = (1..=most).map(|number| key(0x7f00_0000_0000 + 40 * number, MUTEX));
    let others = (1..=absent).map(|number| key(0x5500_0000_0000 + 48 * number, MUTEX));
    assert!(keys.clone().chain(others.clone()).all(|key| !seen.may_have(key)));
    keys.clone().for_each(|key| seen.add(key));
    assert!(keys.clone().all(|key| seen.may_have(key)));
    let taken_for_one = others.filter(|&key| seen.may_have(key)).count();
    assert!(taken_for_one < absent as usize / 5, "{taken_for_one}");
}
