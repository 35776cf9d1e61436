//! Signal handlers at every step of a thread's rows and calls: those that return, and those that jump out (by a panic).
//!
//!     RUSTFLAGS="--cfg unc_pause" cargo test -p uncontended-events --test interrupted --target-dir target/pause
#![cfg(unc_pause)]

mod common;

use common::rows::{Record, SLOTS, colliding, holds, is_same, rows, table, taken};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use uncontended_atomic::{interrupt_after, never_interrupted};
use uncontended_events::calls::{Call, Calls, Return, Seen};
use uncontended_events::rows::{Rows, key};
use uncontended_events::site::Row;
use uncontended_trace::layout::kind::MUTEX;

/// A thread's rows: keys that collide.
#[derive(Clone)]
struct Scene {
    record: Record,
    rows: &'static Rows,
    kept: BTreeMap<u64, Row>,
    keys: [u64; 6],
}

impl Scene {
    fn new(record: Record, keys: [u64; 6], filled: usize) -> Self {
        let mut scene = Scene { record, rows: rows(), kept: BTreeMap::new(), keys };
        keys[..filled].iter().for_each(|&key| scene.keeps(key));
        scene
    }

    /// The thread meets the next generation of a lock.
    fn keeps(&mut self, key: u64) {
        self.keeps_as(key, self.record.row());
    }

    fn keeps_as(&mut self, key: u64, row: Row) {
        self.rows.remember(key, row, table);
        self.kept.insert(key, row);
    }

    /// What a handler does that locks mutexes of its own: it grows the table.
    fn handles(mut self) {
        let row = self.record.row();
        (1..=2 * SLOTS as u64).for_each(|n| self.keeps_as(key((1 << 30) + 8 * n, MUTEX), row));
        holds(self.rows, &self.kept);
    }
}

/// A scene for each step of `code`, at which `handler` interrupts it; `check` gets what `code` returned. Returns the
/// number of steps.
fn at_each_step<R>(
    scene: impl Fn() -> Scene,
    handler: impl Fn(Scene) + Copy + 'static,
    code: impl Fn(&Scene) -> R,
    check: impl Fn(Scene, R),
) -> u64 {
    for step in 0.. {
        let scene = scene();
        let interrupted = scene.clone();
        interrupt_after(step, move || handler(interrupted));
        let result = code(&scene);
        if never_interrupted() {
            return step;
        }
        check(scene, result);
    }
    unreachable!("steps end")
}

#[test]
fn a_lookup_finds_its_row_whatever_handlers_add() {
    let record = Record::new();
    let keys = colliding(record);
    for filled in 1..=4 {
        let scene = || Scene::new(record, keys, filled);
        let wanted = keys[filled - 1];
        let finds = |scene: &Scene| scene.rows.find(wanted);
        let steps = at_each_step(scene, Scene::handles, finds, |scene, found| {
            assert!(found.is_some_and(|row| is_same(row, scene.kept[&wanted])));
            holds(scene.rows, &scene.kept);
        });
        assert!(steps >= 3 + 2 * filled as u64, "{steps} steps");
    }
}

#[test]
fn a_lookup_finds_what_a_handler_adds_or_nothing() {
    let record = Record::new();
    let keys = colliding(record);
    let adds = |mut scene: Scene| {
        scene.keeps(scene.keys[5]);
        scene.handles();
    };
    let finds = |scene: &Scene| scene.rows.find(scene.keys[5]);
    let scene = || Scene::new(record, keys, 3);
    let steps = at_each_step(scene, adds, finds, |scene, found| {
        let now = scene.rows.find(scene.keys[5]).expect("added");
        assert!(found.is_none_or(|row| is_same(row, now)));
        holds(scene.rows, &scene.kept);
    });
    assert!(steps > 6, "{steps} steps");
}

#[test]
fn a_handler_that_a_handler_interrupts_finds_its_row() {
    let finds = |scene: &Scene| scene.rows.find(scene.keys[3]);
    for second in 0.. {
        let record = Record::new();
        let keys = colliding(record);
        let scene = || Scene::new(record, keys, 4);
        // The last step of the handler itself has come if no handler interrupted it.
        thread_local!(static WAS_LAST: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
        let handler = move |scene: Scene| {
            let interrupted = scene.clone();
            interrupt_after(second, move || interrupted.handles());
            let found = scene.rows.find(scene.keys[2]);
            WAS_LAST.set(never_interrupted());
            assert!(found.is_some_and(|row| is_same(row, scene.kept[&scene.keys[2]])));
            scene.handles();
        };
        let steps = at_each_step(scene, handler, finds, |scene, found| {
            assert!(found.is_some_and(|row| is_same(row, scene.kept[&scene.keys[3]])));
            holds(scene.rows, &scene.kept);
        });
        assert!(steps > 8, "{steps} steps");
        if WAS_LAST.get() {
            assert!(second > 6, "{second} steps of the handler");
            return;
        }
    }
}

/// What a handler does that never returns to what it interrupted.
fn jump() {
    resume_unwind(Box::new("out of a handler"));
}

/// A handler jumps out while the row of `key` is kept in a scene of this many rows.
fn abandoned(filled: usize, nth: usize) -> u64 {
    let record = Record::new();
    let keys: [u64; 6] = colliding(record);
    let (scene, key, fresh) = (|| Scene::new(record, keys, filled), keys[nth], record.row());
    let keeps = |scene: &Scene| {
        let keeps = || (scene.rows.find(key), scene.rows.remember(key, fresh, table));
        let _ = catch_unwind(AssertUnwindSafe(keeps));
    };
    at_each_step(
        scene,
        |_| jump(),
        keeps,
        |mut scene, ()| {
            let last = scene.rows.find_last(key);
            let (found, before) = (scene.rows.find(key), scene.kept.remove(&key));
            let is = |row: Option<Row>| {
                found.is_some_and(|found| row.is_some_and(|row| is_same(found, row)))
            };
            assert!(is(Some(fresh)) || is(before) || before.is_none() && found.is_none());
            assert!(last.is_none() || is(last), "found last, but no longer there");
            holds(scene.rows, &scene.kept);
            scene.keeps(key);
            holds(scene.rows, &scene.kept);
        },
    )
}

#[test]
fn a_handler_that_jumps_out_leaves_every_row_that_was_kept() {
    for (filled, least) in [(0, 8), (3, 12), (4, 60)] {
        let steps = abandoned(filled, filled);
        assert!(steps > least, "{filled} rows: {steps} steps");
    }
}

#[test]
fn a_handler_that_jumps_out_leaves_a_generation_or_the_next() {
    for (filled, nth, least) in [(3, 0, 10), (3, 2, 12), (4, 0, 60), (4, 3, 60)] {
        let steps = abandoned(filled, nth);
        assert!(steps > least, "{filled} rows, the {nth}th: {steps} steps");
    }
}

#[test]
fn handlers_that_jump_out_again_and_again_never_fill_a_table() {
    let record = Record::new();
    let row = record.row();
    for step in 0.. {
        let scene = Scene::new(record, [0; 6], 0);
        let mut was_interrupted = false;
        for number in 1..4 * SLOTS as u64 {
            let keeps = || scene.rows.remember(key(8 * number, MUTEX), row, |_, _| None);
            interrupt_after(step, jump);
            let _ = catch_unwind(AssertUnwindSafe(keeps));
            was_interrupted |= !never_interrupted();
            assert!(2 * taken(scene.rows.table()) <= SLOTS, "at step {step}");
        }
        assert!(scene.rows.find(key(1 << 20, MUTEX)).is_none(), "a lookup ends");
        if !was_interrupted {
            assert!(step > 8, "{step} steps");
            return;
        }
    }
}

/// Calls at one place, from 1; the callers of each have its number in their return addresses.
fn call(number: u32) -> (Call, Seen) {
    let call = Call { pc: (number as usize) << 20, sp: 0x7000_0000 };
    let mut seen = Seen::new(call);
    (0..4).for_each(|nth| seen.note_caller(nth, caller(call, number, nth)));
    (call, seen)
}

fn caller(of: Call, number: u32, nth: usize) -> Return {
    Return { pc: 10 * number as usize + nth, at: of.sp + 8 * number as usize * (nth + 2) }
}

/// What a thread knows of a call whose callers are those of [`call`], or others.
fn known(calls: &Calls, number: u32, callers: u32) -> Option<u32> {
    let (call, _) = call(number);
    let callers: Vec<Return> = (0..4).map(|nth| caller(call, callers, nth)).collect();
    let word = |at| callers.iter().find(|caller| caller.at == at).map_or(0, |caller| caller.pc);
    calls.known(call, word)
}

fn calls_after(count: u32) -> &'static Calls {
    let calls = Box::leak(Box::new(Calls::new()));
    (1..=count).for_each(|number| calls.keep(&call(number).1, number));
    calls
}

#[test]
fn a_handler_that_jumps_out_leaves_no_call_with_the_stack_of_another() {
    for step in 0.. {
        let calls = calls_after(8);
        interrupt_after(step, jump);
        let _ = catch_unwind(AssertUnwindSafe(|| calls.keep(&call(9).1, 9)));
        let was_last = never_interrupted();
        for (number, callers) in (1..=9).flat_map(|number| (1..=9).map(move |of| (number, of))) {
            let stack = known(calls, number, callers);
            let is_right = callers == number && stack == Some(number);
            assert!(
                is_right || stack.is_none(),
                "{number} from {callers}: {stack:?} at step {step}"
            );
        }
        if was_last {
            assert!(step > 20, "{step} steps");
            return;
        }
    }
}

#[test]
fn a_lookup_that_a_handler_interrupts_finds_the_number_of_some_stack() {
    for step in 0.. {
        let calls = calls_after(8);
        interrupt_after(step, || (9..20).for_each(|number| calls.keep(&call(number).1, number)));
        let found = known(calls, 5, 5);
        if never_interrupted() {
            assert!(step > 10 && found == Some(5), "{step} steps: {found:?}");
            return;
        }
        assert!(found.is_none_or(|stack| (1..20).contains(&stack)), "{found:?} at step {step}");
        assert_eq!(known(calls, 19, 19), Some(19));
    }
}
