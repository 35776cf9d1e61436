//! Read-write locks, explored: threads that leave or give up at once.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-events --test model_shared --target-dir target/model
#![cfg(unc_model)]

mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::blame::{self, Share};
use uncontended_events::events;
use uncontended_events::shared::{self, Rows};
use uncontended_events::site::Row;
use uncontended_events::waiters::{
    self,
    Side::{self, Exclusive, Shared},
};
use uncontended_model::real::{Explorer, spawn};
use uncontended_testkit::explored::{self, BOTH};
use uncontended_trace::layout::{Caused, Cold, READERS, Recent, WAITED, attention};

/// A thread with both rows of the one lock.
#[derive(Clone, Copy)]
struct Thread {
    at: At,
    writes: Row,
    reads: Row,
}

impl Thread {
    fn rows(self, side: Side) -> Rows {
        let mine = if side == Shared { self.reads } else { self.writes };
        Rows { mine, state: self.writes, side }
    }

    fn takes(self, side: Side, now: u64) {
        self.at.set(now);
        shared::acquired(self.at, self.rows(side), None);
    }

    fn leaves(self, side: Side) {
        let rows = self.rows(side);
        shared::leave(self.at, rows, || Some(self.reads)).done(self.at, rows);
    }

    /// What is booked in its cell of the writers' row.
    fn booked(self) -> u64 {
        let list = self.at.recorder.arena.list::<Caused>(&self.writes.cell.caused);
        let list = list.filter(|(_, entry)| entry.passed_to.load(Relaxed) != WAITED);
        list.map(|(_, entry)| entry.wait.load(Relaxed)).sum()
    }
}

/// The entries that threads would allocate at once are there already, so that each has its place in all executions.
fn threads<const N: usize>() -> [Thread; N] {
    let image = image(4 * ROOM);
    std::array::from_fn(|_| {
        let at = At::new(recorder(image), 10);
        let thread = Thread { at, writes: at.row(64), reads: at.row(64 | READERS) };
        waiters::list_of(at.recorder, thread.writes.lock).expect("room");
        for row in [thread.writes, thread.reads] {
            events::cold(at.recorder, row.cell).expect("room");
            for passed_to in [0, WAITED] {
                let share = Share { site: 7, passed_to, ..Share::default() };
                blame::book(at.recorder, row.cell, share);
            }
        }
        thread
    })
}

/// Two readers, since 10 and since 30, leave at 50 and at 60. A writer has waited since 20.
fn leave_at_once() -> impl Fn() + 'static {
    let [early, late, writer] = threads();
    move || {
        early.takes(Shared, 10);
        writer.at.set(20);
        let wait = shared::wait(writer.at, writer.rows(Exclusive), 20);
        late.takes(Shared, 30);
        early.at.set(50);
        late.at.set(60);
        let left = spawn(move || early.leaves(Shared));
        late.leaves(Shared);
        left.join().unwrap();
        writer.at.set(70);
        shared::acquired(writer.at, writer.rows(Exclusive), Some(wait));
        // The last one to leave knows of the other one.
        let booked = (early.booked(), late.booked());
        assert!([(30, 0), (0, 40)].contains(&booked), "{booked:?}");
    }
}

#[test]
fn the_last_of_two_readers_knows_of_the_other() {
    explored::holds(&BOTH, Explorer::new, leave_at_once);
}

/// The last reader leaves at 50, and another one comes at 60: the lock is not free then.
fn come_as_the_last_one_leaves() -> impl Fn() + 'static {
    let [last, quick] = threads();
    move || {
        last.takes(Shared, 30);
        last.at.set(50);
        let left = spawn(move || last.leaves(Shared));
        quick.takes(Shared, 60);
        left.join().unwrap();
        let release = quick.writes.lock.release.load(Relaxed);
        assert_eq!(release, 0, "held since 60");
    }
}

#[test]
fn a_lock_that_a_reader_has_taken_is_not_free() {
    explored::holds(&BOTH, Explorer::new, come_as_the_last_one_leaves);
}

/// The same where two leave at once, at 50 and at 55.
fn come_as_the_last_two_leave() -> impl Fn() + 'static {
    let [one, other, quick] = threads();
    move || {
        one.takes(Shared, 30);
        other.takes(Shared, 35);
        one.at.set(50);
        other.at.set(55);
        let left = [one, other].map(|thread| spawn(move || thread.leaves(Shared)));
        quick.takes(Shared, 60);
        for thread in left {
            thread.join().unwrap();
        }
        let release = quick.writes.lock.release.load(Relaxed);
        assert_eq!(release, 0, "held since 60");
    }
}

#[test]
fn a_lock_that_two_have_left_and_a_third_has_taken_is_not_free() {
    explored::begins(
        "a_lock_that_two_have_left_and_a_third_has_taken_is_not_free",
        (50_000, None),
        &BOTH,
        Explorer::new,
        come_as_the_last_two_leave,
    );
}

/// A reader since 5 left at 40, one since 30 leaves at 50, and meanwhile another one comes at 60 and leaves at 70. A
/// writer has waited since 20. Each instant is booked once at most, and no hold is longer than it was.
fn leave_while_one_comes_and_goes() -> impl Fn() + 'static {
    let [noted, last, quick, writer] = threads();
    move || {
        noted.takes(Shared, 5);
        writer.at.set(20);
        let wait = shared::wait(writer.at, writer.rows(Exclusive), 20);
        last.takes(Shared, 30);
        noted.at.set(40);
        noted.leaves(Shared);
        last.at.set(50);
        let left = spawn(move || last.leaves(Shared));
        quick.takes(Shared, 60);
        quick.at.set(70);
        quick.leaves(Shared);
        left.join().unwrap();
        let all = [noted, last, quick];
        for thread in all {
            let entries = thread.at.recorder.arena.list::<Caused>(&thread.writes.cell.caused);
            for (_, entry) in entries {
                assert!(entry.longest.load(Relaxed) <= 35, "a hold that was not noted yet");
            }
        }
        let booked = all.map(Thread::booked);
        assert!(booked.iter().sum::<u64>() <= 40, "from 20 to 50, and from 60 to 70: {booked:?}");
        shared::gave_up(writer.at, writer.rows(Exclusive), wait, None);
    }
}

#[test]
fn a_noted_hold_is_complete_when_it_is_divided() {
    explored::begins(
        "a_noted_hold_is_complete_when_it_is_divided",
        (50_000, None),
        &BOTH,
        Explorer::new,
        leave_while_one_comes_and_goes,
    );
}

/// A reader waits since 20, while a write that began at 10 ends at 60.
fn reads_at_a_release() -> impl Fn() + 'static {
    let [writer, reader] = threads();
    move || {
        writer.takes(Exclusive, 10);
        reader.at.set(20);
        writer.at.set(60);
        let begun = spawn(move || shared::wait(reader.at, reader.rows(Shared), 20));
        writer.leaves(Exclusive);
        let wait = begun.join().unwrap();
        assert_eq!(writer.booked(), 0, "no writer waits");
        let to_readers = writer.at.recorder.arena.list::<Caused>(&writer.reads.cell.caused);
        let booked: u64 = to_readers.map(|(_, entry)| entry.wait.load(Relaxed)).sum();
        assert!([0, 40].contains(&booked), "{booked}");
        reader.at.set(70);
        shared::acquired(reader.at, reader.rows(Shared), Some(wait));
    }
}

#[test]
fn a_waiter_is_counted_on_its_own_side() {
    explored::holds(&BOTH, Explorer::new, reads_at_a_release);
}

/// A writer gives up at 60, while the read that it waited for since 20 ends at 50.
fn gives_up_at_a_release() -> impl Fn() + 'static {
    let [reader, writer] = threads();
    move || {
        reader.takes(Shared, 10);
        writer.at.set(20);
        let wait = shared::wait(writer.at, writer.rows(Exclusive), 20);
        reader.at.set(50);
        writer.at.set(60);
        let left = spawn(move || reader.leaves(Shared));
        shared::gave_up(writer.at, writer.rows(Exclusive), wait, Some(writer.reads));
        left.join().unwrap();
        let cold: &Cold = writer.at.recorder.arena.at(writer.writes.cell.cold.load(Relaxed));
        let known = reader.booked() + writer.booked() + cold.wait_free.load(Relaxed);
        assert!(known <= 40, "a piece is booked twice: {known} of 40");
    }
}

#[test]
fn a_piece_of_a_wait_is_booked_once_at_most() {
    explored::holds(&BOTH, Explorer::new, gives_up_at_a_release);
}

/// Two readers leave, at 50 and at 55, while the writer that has waited for them since 20 gives up at 60, or at 52.
/// One has given up before, at 45.
fn gives_up_among_readers(until: u64) -> impl Fn() + 'static {
    let [one, other, writer, before] = threads();
    move || {
        one.takes(Shared, 10);
        let wait = |thread: Thread| {
            thread.at.set(20);
            shared::wait(thread.at, thread.rows(Exclusive), 20)
        };
        let (wait, waited) = (wait(writer), wait(before));
        other.takes(Shared, 30);
        before.at.set(45);
        shared::gave_up(before.at, before.rows(Exclusive), waited, Some(before.reads));
        one.at.set(50);
        one.leaves(Shared);
        other.at.set(55);
        writer.at.set(until);
        let left = spawn(move || other.leaves(Shared));
        shared::gave_up(writer.at, writer.rows(Exclusive), wait, Some(writer.reads));
        left.join().unwrap();
        // What was kept too late for the last one is for the next one that comes.
        let lock = writer.writes.lock;
        let recent: &Recent = writer.at.recorder.arena.at(lock.recent.load(Relaxed));
        let is_kept = recent.undivided.iter().any(|entry| entry.arrival.load(Relaxed) > 1);
        let is_told = lock.attention.load(Relaxed) & attention::UNDIVIDED != 0;
        let cold: &Cold = writer.at.recorder.arena.at(writer.writes.cell.cold.load(Relaxed));
        let is_booked = cold.wait_free.load(Relaxed) != 0 || writer.booked() != 0;
        assert!(is_told || !is_kept, "a wait is forgotten");
        assert!(is_kept || is_booked || until < 55, "a wait is lost");
        one.takes(Shared, 70);
        one.at.set(80);
        one.leaves(Shared);
        let by_readers = one.booked() + other.booked();
        let known = by_readers + writer.booked() + cold.wait_free.load(Relaxed);
        // Until it has left the list, it waits as far as others know.
        let most = until.max(55) - 20 + 25;
        assert!(known <= most, "a piece is booked twice: {known} of {most}");
    }
}

#[test]
fn a_wait_among_readers_is_divided_once_at_most() {
    for until in [52, 60] {
        explored::begins(
            "a_wait_among_readers_is_divided_once_at_most",
            (50_000, None),
            &BOTH,
            Explorer::new,
            move || gives_up_among_readers(until),
        );
    }
}

/// Two writers have given up since 20, at 40 and at 45, while two readers leave, at 50 and at 60.
fn two_divide() -> impl Fn() + 'static {
    let [one, other, writer, second] = threads();
    move || {
        one.takes(Shared, 10);
        other.takes(Shared, 15);
        let waits = [writer, second].map(|thread| {
            thread.at.set(20);
            shared::wait(thread.at, thread.rows(Exclusive), 20)
        });
        for ((thread, wait), now) in [writer, second].into_iter().zip(waits).zip([40, 45]) {
            thread.at.set(now);
            shared::gave_up(thread.at, thread.rows(Exclusive), wait, Some(thread.reads));
        }
        one.at.set(50);
        other.at.set(60);
        let left = spawn(move || one.leaves(Shared));
        other.leaves(Shared);
        left.join().unwrap();
        let booked = (one.booked(), other.booked());
        assert!([(45, 0), (0, 45)].contains(&booked), "{booked:?}");
    }
}

#[test]
fn the_last_reader_divides_the_waits_of_those_that_gave_up() {
    explored::holds(&BOTH, Explorer::new, two_divide);
}
