//! The record's writer, explored: every execution that C11 allows of two writers and a reader that reads meanwhile.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-trace --test model --target-dir target/unc_model
#![cfg(unc_model)]

use std::ptr::NonNull;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_model::real::{Explorer, Memory, spawn};
use uncontended_testkit::explored;
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{self, Lock, Process, UNIT};

#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page {
    _bytes: [u8; 4096],
}

/// A record made before the exploration, so that every execution starts from the same state.
fn record(room: u32) -> (Arena, &'static Process) {
    let units = layout::HEADER_UNITS + layout::units(size_of::<Process>()) + room;
    let pages = vec![Page { _bytes: [0; 4096] }; units as usize * UNIT / 4096 + 1];
    let base = NonNull::from(Box::leak(pages.into_boxed_slice())).cast();
    // SAFETY: that many units were leaked just now (I1 of `arena`).
    let arena = unsafe { Arena::new(base, units, |_, _| false) };
    arena.header().allocated.store(layout::HEADER_UNITS, Relaxed);
    arena.header().available.store(units, Relaxed);
    let (_, process) = arena.make::<Process>().expect("room for one");
    (arena, process)
}

fn write(arena: Arena, process: &Process, address: u64) -> bool {
    let Some((unit, lock)) = arena.make::<Lock>() else { return false };
    lock.address.store(address, Relaxed);
    arena.push::<Lock>(&process.locks, unit);
    true
}

fn seen(arena: Arena, process: &Process) -> Vec<u64> {
    arena.list::<Lock>(&process.locks).map(|(_, lock)| lock.address.load(Relaxed)).collect()
}

fn holds(room: u32, scene: fn(Arena, &'static Process)) {
    explored::holds(&[Memory::C11], Explorer::new, || {
        let (arena, process) = record(room * layout::units(size_of::<Lock>()));
        move || scene(arena, process)
    });
}

fn two_write_while_one_reads(arena: Arena, process: &'static Process) {
    let writers = [1, 2].map(|address| spawn(move || write(arena, process, address)));
    let early = seen(arena, process);
    assert!(early.iter().all(|&address| address != 0), "an entry without its address: {early:?}");
    for writer in writers {
        assert!(writer.join().unwrap());
    }
    let mut all = seen(arena, process);
    assert!(all.ends_with(&early), "what was seen stays");
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

#[test]
fn entries_are_complete_when_they_are_seen_and_none_is_lost() {
    holds(2, two_write_while_one_reads);
}

/// As two processes do if a handler forks before the entry is linked, while another thread writes.
fn two_link_the_same_entry(arena: Arena, process: &'static Process) {
    let (unit, lock) = arena.make::<Lock>().expect("room");
    lock.address.store(1, Relaxed);
    let twice = [(); 2].map(|()| spawn(move || arena.push::<Lock>(&process.locks, unit)));
    assert!(write(arena, process, 2));
    for once in twice {
        once.join().unwrap();
    }
    let mut all: Vec<u64> = arena
        .list::<Lock>(&process.locks)
        .take(3)
        .map(|(_, lock)| lock.address.load(Relaxed))
        .collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

#[test]
fn an_entry_is_linked_once() {
    holds(2, two_link_the_same_entry);
}

/// Two processes that each make an entry for one thing.
fn two_enter_the_same(arena: Arena, process: &'static Process) {
    let enter = move |created: u32| {
        let (unit, lock) = arena.make::<Lock>().expect("room");
        lock.address.store(5, Relaxed);
        lock.created.store(created, Relaxed);
        let is_it = |lock: &Lock| lock.address.load(Relaxed) == 5;
        let there = arena.push_unless::<Lock>(&process.locks, unit, is_it);
        (there, arena.at::<Lock>(there).created.load(Relaxed))
    };
    let entered = [1, 2].map(|created| spawn(move || enter(created)));
    let entered = entered.map(|one| one.join().unwrap());
    assert_eq!(entered[0], entered[1], "both have the same");
    assert_ne!(entered[0].1, 0, "and it is complete");
    assert_eq!(seen(arena, process), [5], "no other is in the list");
}

#[test]
fn of_two_entries_for_one_thing_one_is_linked() {
    holds(2, two_enter_the_same);
}

fn one_finds_no_room(arena: Arena, process: &'static Process) {
    let writers = [1, 2].map(|address| spawn(move || write(arena, process, address)));
    let wrote = writers.map(|writer| writer.join().unwrap());
    assert_ne!(wrote[0], wrote[1]);
    assert_eq!(seen(arena, process), [if wrote[0] { 1 } else { 2 }]);
    assert_eq!(arena.header().dropped_room.load(Relaxed), 1);
}

#[test]
fn the_last_unit_goes_to_one_and_the_other_is_counted() {
    holds(1, one_finds_no_room);
}
