//! What threads record one after the other, at times that the test sets.

mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_events::events::{self, Blocked, cause_of};
use uncontended_events::site::{Recorder, Row};
use uncontended_events::waiters;
use uncontended_trace::layout::{Cell, Cold, attention, cause};

fn read(word: &AtomicU64) -> u64 {
    word.load(Relaxed)
}

fn cold(recorder: &Recorder, cell: &Cell) -> &'static Cold {
    recorder.arena.at(cell.cold.load(Relaxed))
}

/// Two threads with their rows of one mutex.
fn two() -> ((&'static Recorder, Row), (&'static Recorder, Row)) {
    let image = image(ROOM);
    let (first, second) = (recorder(image), recorder(image));
    let rows = (At::new(first, 1).row(64), At::new(second, 1).row(64));
    ((first, rows.0), (second, rows.1))
}

/// A wait with an end of its own.
struct Waiting(At, Blocked<At>);

fn begin(recorder: &'static Recorder, row: Row, now: u64) -> Waiting {
    let at = At::new(recorder, now);
    Waiting(at, Blocked::begin(at, row))
}

impl Waiting {
    fn acquired(self, now: u64) {
        self.0.set(now);
        self.1.acquired();
    }

    fn gave_up(self, now: u64) {
        self.0.set(now);
        self.1.gave_up();
    }
}

fn unlock(recorder: &'static Recorder, row: Row, now: u64) {
    assert_eq!(events::release(At::new(recorder, now), row, || true, || 0), 0);
}

#[test]
fn why_a_lock_stood_idle() {
    // (called, free since, waiter woken, acquired)
    assert_eq!(cause_of(10, 20, 21, 30), cause::NOT_SCHEDULED, "woken at once");
    assert_eq!(cause_of(10, 20, 29, 30), cause::NOT_WOKEN, "woken late");
    assert_eq!(cause_of(10, 20, 5, 30), cause::NOT_WOKEN, "the last wake was before the call");
    assert_eq!(cause_of(10, 20, 15, 30), cause::NOT_SCHEDULED, "woken for an earlier chance");
    assert_eq!(cause_of(10, 20, 25, 30), cause::NOT_SCHEDULED, "half of each");
}

#[test]
fn holds_are_counted_and_the_longest_are_kept() {
    let ((recorder, Row { cell, lock }), _) = two();
    let row = Row { cell, lock };
    for (from, to) in [(10, 15), (20, 120), (130, 131), (140, 170), (180, 200)] {
        events::acquired(At::new(recorder, from), row);
        assert_eq!(cell.depth.load(Relaxed), 1);
        unlock(recorder, row, to);
        assert_eq!(cell.depth.load(Relaxed), 0);
    }
    assert_eq!(read(&cell.acquisitions), 5);
    assert_eq!(read(&cell.hold_total), 5 + 100 + 1 + 30 + 20);
    assert_eq!(cell.hold_worst.each_ref().map(read), [100, 30, 20]);
    assert_eq!((read(&cell.hold_fourth), read(&cell.hold_worst_at)), (5, 20));
    assert_eq!(cell.hold.iter().map(|count| count.load(Relaxed)).sum::<u32>(), 5);
    assert_eq!(read(&cell.owner_changes), 0);
}

#[test]
fn a_lock_that_is_held_twice_is_one_hold() {
    let ((recorder, row), _) = two();
    events::acquired(At::new(recorder, 10), row);
    events::acquired(At::new(recorder, 12), row);
    unlock(recorder, row, 14);
    assert_eq!((row.cell.depth.load(Relaxed), read(&row.cell.hold_total)), (1, 0));
    unlock(recorder, row, 20);
    assert_eq!((row.cell.depth.load(Relaxed), read(&row.cell.hold_total)), (0, 10));
}

#[test]
fn an_unlock_that_is_refused_leaves_the_lock_held() {
    let ((recorder, row), _) = two();
    events::acquired(At::new(recorder, 10), row);
    assert_eq!(events::release(At::new(recorder, 15), row, || true, || 1), 1);
    assert_eq!((row.cell.depth.load(Relaxed), read(&row.cell.hold_total)), (1, 0));
    unlock(recorder, row, 30);
    assert_eq!(read(&row.cell.hold_total), 20);
}

#[test]
fn an_unlock_that_is_refused_gives_the_lock_to_nobody() {
    let ((holder, held), (other, row)) = two();
    events::acquired(At::new(holder, 10), held);
    assert_eq!(events::release(At::new(other, 15), row, || true, || 1), 1);
    assert_eq!([held, row].map(|row| row.cell.depth.load(Relaxed)), [1, 0]);
}

#[test]
fn a_release_whose_stack_is_unknown_gets_it_later() {
    let ((holder, held), (waiter, wanted)) = two();
    let at = |now| At { is_known: false, stack: 9, ..At::new(holder, now) };
    events::acquired(at(10), held);
    let blocked = begin(waiter, wanted, 20);
    assert_eq!(events::release(at(50), held, || true, || 0), 0);
    assert_eq!((held.lock.release_stack.load(Relaxed), read(&held.lock.stack_at)), (0, 50));
    let list = waiters::list_of(holder, held.lock).unwrap();
    assert_eq!((read(&list.late[0].ticks), read(&list.late[0].stack)), (50, 9));
    assert_eq!(list.next_late.load(Relaxed), 1);
    blocked.acquired(80);
}

#[test]
fn a_wait_ends_with_the_idle_time_since_the_release() {
    let ((holder, held), (waiter, wanted)) = two();
    events::acquired(At::new(holder, 10), held);
    let blocked = begin(waiter, wanted, 20);
    assert_eq!(held.lock.attention.load(Relaxed), 1);
    unlock(holder, held, 50);
    blocked.acquired(80);
    let cold = cold(waiter, wanted.cell);
    assert_eq!((read(&cold.blocked), read(&cold.wait_total), read(&cold.idle_total)), (1, 60, 30));
    assert_eq!(cold.idle_worst[0].cause.load(Relaxed), cause::NOT_SCHEDULED, "woken at 50");
    assert_eq!(cold.idle_worst[0].other.load(Relaxed), 7, "the releaser's stack");
    assert_eq!(read(&wanted.cell.owner_changes), 1);
    assert_eq!(held.lock.attention.load(Relaxed), 0);
}

/// A waiter that was woken at once and got a CPU late: whether it is the one on which the lock was released.
#[test]
fn a_waiter_gets_the_cpu_on_which_the_lock_was_released_or_another() {
    for (released_on, taken_on, cause) in [
        (Some(0), Some(0), cause::RELEASERS_CPU),
        (Some(0), Some(1), cause::NOT_SCHEDULED),
        (None, Some(0), cause::NOT_SCHEDULED),
        (Some(0), None, cause::NOT_SCHEDULED),
    ] {
        let ((holder, held), (waiter, wanted)) = two();
        events::acquired(At::new(holder, 10), held);
        let at = At { cpu: taken_on, ..At::new(waiter, 20) };
        let blocked = Waiting(at, Blocked::begin(at, wanted));
        let at = At { cpu: released_on, ..At::new(holder, 50) };
        assert_eq!(events::release(at, held, || true, || 0), 0);
        blocked.acquired(80);
        let cold = cold(waiter, wanted.cell);
        assert_eq!(cold.idle_worst[0].cause.load(Relaxed), cause, "{released_on:?} {taken_on:?}");
        assert_eq!(read(&cold.idle_by[cause as usize - 1]), 30);
    }
}

/// The CPU of a release that is not the one before the idle time says nothing.
#[test]
fn only_the_last_release_tells_whose_cpu_it_was() {
    let ((holder, held), (waiter, wanted)) = two();
    events::acquired(At::new(holder, 10), held);
    let at = At { cpu: Some(0), ..At::new(waiter, 20) };
    let blocked = Waiting(at, Blocked::begin(at, wanted));
    let on_cpu = At { cpu: Some(0), ..At::new(holder, 50) };
    assert_eq!(events::release(on_cpu, held, || true, || 0), 0);
    held.lock.release.store(60, Relaxed); // Released again, by a thread that saw no waiter.
    blocked.acquired(80);
    assert_eq!(cold(waiter, wanted.cell).idle_worst[0].cause.load(Relaxed), cause::NOT_SCHEDULED);
}

#[test]
fn who_did_not_wait_and_takes_a_wanted_lock_barges() {
    let ((holder, held), (waiter, wanted)) = two();
    events::acquired(At::new(holder, 10), held);
    let blocked = begin(waiter, wanted, 20);
    unlock(holder, held, 50);
    events::acquired(At::new(holder, 60), held);
    let barged = cold(holder, held.cell);
    assert_eq!((read(&barged.blocked), read(&barged.idle_total)), (0, 10));
    assert_eq!(barged.idle_worst[0].cause.load(Relaxed), cause::BARGED);
    unlock(holder, held, 70);
    blocked.acquired(75);
    assert_eq!(read(&cold(waiter, wanted.cell).idle_total), 5, "since the second release");
}

#[test]
fn the_last_waiter_to_give_up_ends_the_idle_time() {
    let ((holder, held), (waiter, wanted)) = two();
    events::acquired(At::new(holder, 10), held);
    let blocked = begin(waiter, wanted, 20);
    unlock(holder, held, 50);
    blocked.gave_up(90);
    let waited = cold(waiter, wanted.cell);
    assert_eq!(read(&waited.idle_total), 40);
    let lost = [&waited.blocked, &waited.timed_out, &waited.timed_out_total, &waited.timed_out_max];
    assert_eq!(lost.map(read), [1, 1, 70, 70]);
    assert_eq!((read(&waited.wait_total), read(&waited.try_failed)), (70, 0));
    events::acquired(At::new(holder, 500), held);
    assert_eq!(held.cell.cold.load(Relaxed), 0, "no thread wanted it meanwhile");
}

#[test]
fn idle_time_goes_on_while_others_stay() {
    let ((holder, held), (first, wanted)) = two();
    events::acquired(At::new(holder, 10), held);
    let early = begin(first, wanted, 20);
    let third = recorder((holder.arena, holder.process));
    let late_row = At::new(third, 1).row(64);
    let late = begin(third, late_row, 30);
    unlock(holder, held, 50);
    early.gave_up(60);
    assert_eq!(read(&cold(first, wanted.cell).idle_total), 0, "it is not over");
    late.acquired(90);
    assert_eq!(read(&cold(third, late_row.cell).idle_total), 40);
    assert_eq!(held.lock.attention.load(Relaxed) & attention::WAITERS, 0);
}

#[test]
fn clocks_that_contradict_are_counted() {
    let ((holder, held), (waiter, wanted)) = two();
    events::acquired(At::new(holder, 10), held);
    let blocked = begin(waiter, wanted, 20);
    unlock(holder, held, 50);
    blocked.acquired(15);
    assert_eq!(waiter.arena.header().negative.load(Relaxed), 2, "the wait and the idle time");
    assert_eq!(read(&cold(waiter, wanted.cell).wait_total), 0);
}

#[test]
fn a_handler_may_use_the_lock_before_its_release_is_recorded() {
    let at = At::new(recorder(image(ROOM)), 1_000);
    let row = at.row(64);
    events::acquired(at, row);
    at.set(1_100);
    let handler = || {
        events::acquired(at, row);
        at.set(1_150);
        events::release(at, row, || true, || 0)
    };
    assert_eq!(events::release(at, row, || true, handler), 0);
    assert_eq!(row.cell.acquisitions.load(Relaxed), 2);
    assert_eq!(
        row.cell.hold_total.load(Relaxed),
        50,
        "the handler's; the other's beginning is gone"
    );
    assert_eq!(row.cell.depth.load(Relaxed), 0);
}
