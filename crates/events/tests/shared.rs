//! Whose holds waits for a read-write lock fell into, at times that the test sets.

mod common;

use common::party::Party;
use common::{At, ROOM, image, recorder_of};
use uncontended_events::shared::{self, Rows};
use uncontended_events::site::Row;
use uncontended_events::waiters::{Side, Wait};
use uncontended_testkit::Random;
use uncontended_trace::layout::{READERS, RECENT, UNDIVIDED};
use uncontended_trace::setup::Holds;

/// A thread with its rows of the one read-write lock.
#[derive(Clone, Copy)]
struct Thread {
    at: At,
    writes: Row,
    reads: Row,
}

fn threads<const N: usize>() -> [Thread; N] {
    threads_of(Holds::All)
}

/// The same, with these holds recorded.
fn threads_of<const N: usize>(holds: Holds) -> [Thread; N] {
    let image = image(ROOM);
    std::array::from_fn(|number| {
        let at = At { stack: number as u32 + 1, ..At::new(recorder_of(image, holds), 1) };
        Thread { at, writes: at.row(64), reads: at.row(64 | READERS) }
    })
}

impl Thread {
    fn rows(self, side: Side) -> Rows {
        let mine = if side == Side::Shared { self.reads } else { self.writes };
        Rows { mine, state: self.writes, side }
    }

    fn takes(self, side: Side, now: u64) {
        self.at.set(now);
        shared::acquired(self.at, self.rows(side), None);
    }

    fn waits(self, side: Side, now: u64) -> Wait {
        self.at.set(now);
        shared::wait(self.at, self.rows(side), now)
    }

    fn gets(self, side: Side, wait: Wait, now: u64) {
        self.at.set(now);
        shared::acquired(self.at, self.rows(side), Some(wait));
    }

    fn gives_up(self, side: Side, wait: Wait, now: u64) {
        self.at.set(now);
        shared::gave_up(self.at, self.rows(side), wait, Some(self.reads));
    }

    fn leaves(self, side: Side, now: u64) {
        self.at.set(now);
        let rows = self.rows(side);
        shared::leave(self.at, rows, || Some(self.reads)).done(self.at, rows);
    }

    /// The same thread at one of its rows.
    fn side(self, side: Side) -> Party {
        Party { at: self.at, row: self.rows(side).mine }
    }
}

use Side::{Exclusive, Shared};

#[test]
fn a_writer_costs_each_side_what_is_left_of_its_hold() {
    let [writer, reader, other] = threads();
    writer.takes(Exclusive, 10);
    let (one, two) = (reader.waits(Shared, 20), other.waits(Exclusive, 30));
    writer.leaves(Exclusive, 50);
    assert_eq!(writer.side(Exclusive).caused(), [(1, 20, 1, 1, 40)], "what the writer waited");
    assert_eq!(writer.side(Shared).caused(), [(1, 30, 1, 1, 40)], "what the reader waited");
    reader.gets(Shared, one, 53);
    reader.leaves(Shared, 60);
    other.gets(Exclusive, two, 64);
    assert_eq!((reader.side(Shared).free(), other.side(Exclusive).free()), (3, 3 + 4));
    assert_eq!(reader.side(Exclusive).caused(), [(2, 7, 1, 1, 7)]);
    assert_eq!((reader.side(Shared).waited(), other.side(Exclusive).waited()), (33, 34));
}

#[test]
fn of_overlapping_readers_the_last_one_is_to_blame() {
    let [short, long, writer] = threads();
    short.takes(Shared, 10);
    long.takes(Shared, 15);
    let wait = writer.waits(Exclusive, 20);
    short.leaves(Shared, 30);
    assert_eq!(short.side(Exclusive).caused(), [], "the other one holds on");
    long.leaves(Shared, 50);
    assert_eq!(long.side(Exclusive).caused(), [(2, 30, 1, 1, 35)]);
    writer.gets(Exclusive, wait, 51);
    assert_eq!(writer.side(Exclusive).free(), 1);
}

#[test]
fn a_chain_of_readers_is_divided_where_the_next_one_begins() {
    let [first, second, third, writer] = threads();
    first.takes(Shared, 10);
    let wait = writer.waits(Exclusive, 12);
    second.takes(Shared, 20);
    first.leaves(Shared, 25);
    third.takes(Shared, 30);
    // Inside the others' holds: it costs nothing.
    first.takes(Shared, 31);
    first.leaves(Shared, 33);
    second.leaves(Shared, 40);
    third.leaves(Shared, 60);
    let booked = third.side(Exclusive).caused();
    assert_eq!(booked, [(2, 10, 1, 1, 20), (1, 8, 1, 1, 15), (3, 30, 1, 1, 30)]);
    writer.gets(Exclusive, wait, 60);
    assert_eq!(writer.side(Exclusive).waited(), 48);
}

/// Readers that are never all gone, more than the list has room for: alone, they have each instant; next to one that
/// was there all the time, they have none.
#[test]
fn readers_that_overlap_for_ever_are_divided_all_the_same() {
    for is_beside_a_long_one in [false, true] {
        readers_that_overlap(is_beside_a_long_one);
    }
}

fn readers_that_overlap(is_beside_a_long_one: bool) {
    let [one, two, long, writer] = threads();
    one.takes(Shared, 10);
    if is_beside_a_long_one {
        long.takes(Shared, 15);
    }
    let wait = writer.waits(Exclusive, 20);
    let rounds = if cfg!(miri) { RECENT + 4 } else { 3 * RECENT } as u64;
    for round in 0..rounds {
        let now = 20 + 20 * round;
        two.takes(Shared, now + 5);
        one.leaves(Shared, now + 10);
        one.takes(Shared, now + 15);
        two.leaves(Shared, now + 20);
    }
    one.leaves(Shared, 25 + 20 * rounds);
    let end = 25 + 20 * rounds;
    if is_beside_a_long_one {
        long.leaves(Shared, end);
    }
    writer.gets(Exclusive, wait, end);
    let booked = [one, two, long].map(|thread| thread.side(Exclusive).caused());
    let entries = || booked.iter().flatten();
    let sum: u64 = entries().map(|entry| entry.1).sum();
    assert_eq!(sum, end - 20, "each instant once: {booked:?}");
    if is_beside_a_long_one {
        assert_eq!(booked, [vec![], vec![], vec![(3, end - 20, 1, 1, end - 15)]]);
    }
    assert!(entries().all(|entry| entry.0 == 3 || entry.4 <= 20), "no hold was longer: {booked:?}");
    assert_eq!(writer.side(Exclusive).free(), 0);
}

/// Readers that come and go while another one stays: however many, all of the waiting is for that one.
#[test]
fn a_crowd_of_short_readers_hides_no_long_one() {
    let [long, quick, writer] = threads();
    long.takes(Shared, 10);
    let wait = writer.waits(Exclusive, 20);
    let rounds = if cfg!(miri) { RECENT + 4 } else { 3 * RECENT } as u64;
    for round in 1..=rounds {
        quick.takes(Shared, 20 * round + 10);
        quick.leaves(Shared, 20 * round + 12);
    }
    let end = 20 * rounds + 40;
    long.leaves(Shared, end);
    writer.gets(Exclusive, wait, end + 1);
    assert_eq!(quick.side(Exclusive).caused(), []);
    assert_eq!(long.side(Exclusive).caused(), [(1, end - 20, 1, 1, end - 10)]);
}

/// The same if short readers outlast it: it has all until its end, and they have the rest.
#[test]
fn a_long_reader_has_its_time_among_any_number_of_short_ones() {
    let [long, one, two, writer] = threads();
    long.takes(Shared, 10);
    let wait = writer.waits(Exclusive, 20);
    let rounds = if cfg!(miri) { RECENT / 2 + 4 } else { 2 * RECENT } as u64;
    one.takes(Shared, 22);
    let overlap = |from: u64| {
        for round in 0..rounds {
            let now = from + 20 * round;
            two.takes(Shared, now + 5);
            one.leaves(Shared, now + 10);
            one.takes(Shared, now + 15);
            two.leaves(Shared, now + 20);
        }
    };
    overlap(20);
    let middle = 20 + 20 * rounds;
    long.leaves(Shared, middle + 1);
    overlap(middle + 2);
    let end = middle + 10 + 20 * rounds;
    one.leaves(Shared, end);
    writer.gets(Exclusive, wait, end);
    let booked = [long, one, two].map(|thread| thread.side(Exclusive).caused());
    let of = |site: u32| booked.iter().flatten().filter(move |entry| entry.0 == site);
    let [of_long, rest] = [1..2, 2..4].map(|sites| sites.flat_map(of).map(|entry| entry.1).sum());
    // The last of those that began before its end ended after it.
    assert_eq!((of_long, rest), (middle - 5 - 20, end - middle + 5), "{booked:?}");
    assert!(of(1).all(|entry| entry.4 == middle + 1 - 10), "its length: {booked:?}");
}

/// Between two waits, readers leave that note nothing: what was noted for the first says nothing of the second.
#[test]
fn a_wait_after_one_that_gave_up_has_its_own_readers() {
    let [one, two, other, writer] = threads();
    one.takes(Shared, 10);
    two.takes(Shared, 12);
    let first = writer.waits(Exclusive, 20);
    one.leaves(Shared, 30);
    writer.gives_up(Exclusive, first, 40);
    one.takes(Shared, 50);
    two.leaves(Shared, 60);
    other.takes(Shared, 70);
    one.leaves(Shared, 75);
    let second = writer.waits(Exclusive, 90);
    one.takes(Shared, 93);
    other.leaves(Shared, 95);
    one.leaves(Shared, 110);
    writer.gets(Exclusive, second, 110);
    // The first wait ended in the hold of the second reader, and has that one's piece.
    assert_eq!(writer.side(Exclusive).caused(), [(2, 20, 1, 0, 28)]);
    let counted = (2, 0, 0, 1, 48);
    assert_eq!(one.side(Exclusive).caused(), [(3, 3, 1, 1, 25), counted, (1, 17, 1, 1, 17)]);
}

/// The thread at a mutex of this number.
fn mutex(thread: Thread, number: u64) -> Party {
    Party { at: thread.at, row: thread.at.row(128 + 64 * number) }
}

/// A writer, then the last of two readers, waits for two mutexes meanwhile: their holders made both sides wait.
#[test]
fn what_a_holder_waited_for_is_passed_on_to_each_side() {
    let [holder, one, two, reader, writer] = threads();
    for (side, start) in [(Exclusive, 0), (Shared, 1000)] {
        holder.takes(side, start + 10);
        if side == Shared {
            reader.takes(Shared, start + 11);
            reader.leaves(Shared, start + 12);
        }
        let reads = (side == Exclusive).then(|| reader.waits(Shared, start + 20));
        let writes = writer.waits(Exclusive, start + 30);
        for (number, other, from, to) in [(0, one, 40, 50), (1, two, 60, 80)] {
            let [of_holder, of_other] = [holder, other].map(|thread| mutex(thread, number));
            of_other.takes(start + from - 5);
            let wait = of_holder.waits(start + from);
            of_other.releases(start + to);
            of_holder.gets(wait, start + to);
            of_holder.releases(start + to);
        }
        holder.leaves(side, start + 100);
        if let Some(wait) = reads {
            reader.gets(Shared, wait, start + 101);
            reader.leaves(Shared, start + 102);
        }
        writer.gets(Exclusive, writes, start + 103);
        writer.leaves(Exclusive, start + 104);
    }
    assert_eq!(holder.side(Exclusive).passed(), [(2 * 20, 2 * 20, 3), (2 * 50, 2 * 10, 2)]);
    assert_eq!(holder.side(Shared).passed(), [(20, 20, 3), (60, 10, 2)]);
}

/// A thread waits for a read-write lock while it holds a mutex: for a writer, for the last of two readers, and until
/// its time runs out.
#[test]
fn who_waits_for_a_read_write_lock_passes_that_on() {
    let [holder, writer, one, two, waiter] = threads();
    let (held, wanted) = (mutex(holder, 0), mutex(waiter, 0));
    held.takes(5);
    let waits = wanted.waits(8);
    writer.takes(Exclusive, 10);
    let wait = holder.waits(Exclusive, 20);
    writer.leaves(Exclusive, 30);
    one.takes(Shared, 31);
    two.takes(Shared, 40);
    one.leaves(Shared, 50);
    two.leaves(Shared, 70);
    holder.gets(Exclusive, wait, 72);
    holder.leaves(Exclusive, 75);
    writer.takes(Exclusive, 80);
    let wait = holder.waits(Shared, 81);
    holder.gives_up(Shared, wait, 90);
    held.releases(100);
    wanted.gets(waits, 101);
    assert_eq!(held.passed(), [(9, 9, 3), (30, 30, 4), (53, 19, 2)]);
}

#[test]
fn a_waiter_that_gives_up_blames_the_hold_that_goes_on() {
    let [writer, reader, other] = threads();
    writer.takes(Exclusive, 10);
    let wait = reader.waits(Shared, 20);
    reader.gives_up(Shared, wait, 50);
    assert_eq!(reader.side(Shared).caused(), [(1, 30, 1, 0, 40)], "the hold is not over");
    writer.leaves(Exclusive, 60);
    assert_eq!(
        writer.side(Shared).caused(),
        [(1, 0, 0, 1, 50)],
        "one hold, though no thread waits"
    );
    assert_eq!(writer.side(Exclusive).caused(), [], "a reader waited");
    reader.takes(Shared, 70);
    let wait = writer.waits(Exclusive, 80);
    other.takes(Shared, 85);
    reader.leaves(Shared, 90);
    writer.gives_up(Exclusive, wait, 100);
    // The reader that is still there, as far as it goes back. The last one to leave books what was before.
    assert_eq!(writer.side(Exclusive).caused(), [(3, 15, 1, 0, 15)]);
    other.leaves(Shared, 110);
    assert_eq!(other.side(Exclusive).caused(), [(2, 5, 1, 1, 20), (3, 0, 0, 1, 25)]);
    // While the lock is free.
    let wait = writer.waits(Exclusive, 120);
    writer.gives_up(Exclusive, wait, 130);
    assert_eq!(writer.side(Exclusive).free(), 10);
}

/// Of several readers, the one that came last has left when a writer gives up. The last one to leave divides the wait.
#[test]
fn a_writer_that_gives_up_among_readers_blames_the_one_that_ends_last() {
    let [first, long, last, writer] = threads();
    first.takes(Shared, 10);
    long.takes(Shared, 12);
    let wait = writer.waits(Exclusive, 20);
    last.takes(Shared, 30);
    last.leaves(Shared, 40);
    writer.gives_up(Exclusive, wait, 60);
    assert_eq!(writer.side(Exclusive).caused(), []);
    first.leaves(Shared, 70);
    // It comes after the wait.
    last.takes(Shared, 80);
    long.leaves(Shared, 90);
    last.leaves(Shared, 120);
    assert_eq!(last.side(Exclusive).caused(), [(2, 40, 1, 1, 78)]);
    // It is divided once.
    first.takes(Shared, 130);
    first.leaves(Shared, 140);
    assert_eq!(first.side(Exclusive).caused(), []);
}

/// A writer that waits keeps a reader out, and gives up: the reader waited for the one that kept the writer out.
#[test]
fn a_reader_that_is_let_in_among_others_waited_for_them() {
    let [long, writer, reader] = threads();
    long.takes(Shared, 10);
    let writes = writer.waits(Exclusive, 20);
    let reads = reader.waits(Shared, 30);
    writer.gives_up(Exclusive, writes, 50);
    assert_eq!(writer.side(Exclusive).caused(), [(1, 30, 1, 0, 40)]);
    reader.gets(Shared, reads, 52);
    long.leaves(Shared, 60);
    reader.leaves(Shared, 70);
    assert_eq!(reader.side(Shared).caused(), [(1, 22, 1, 1, 50)]);
    // One that a release lets in, after another one, waited for neither.
    writer.takes(Exclusive, 80);
    let [one, two] = [long, reader].map(|thread| thread.waits(Shared, 85));
    writer.leaves(Exclusive, 90);
    long.gets(Shared, one, 91);
    reader.gets(Shared, two, 95);
    reader.leaves(Shared, 100);
    long.leaves(Shared, 110);
    assert_eq!(long.side(Shared).caused(), []);
}

/// More writers give up during one read than are kept: each has the piece of the reader that came last.
#[test]
fn of_many_that_give_up_none_is_forgotten() {
    let [long, last, writer] = threads();
    let kept = UNDIVIDED as u64;
    let length = 20 * (kept + 3) + 10;
    for times in 1..=2 {
        let start = 1000 * times;
        long.takes(Shared, start + 10);
        last.takes(Shared, start + 12);
        for round in 1..=kept + 3 {
            let wait = writer.waits(Exclusive, start + 20 * round);
            writer.gives_up(Exclusive, wait, start + 20 * round + 10);
        }
        let so_far = length - 12;
        assert_eq!(writer.side(Exclusive).caused(), [(2, 30 * times, 3 * times, 0, so_far)]);
        last.leaves(Shared, start + length + 5);
        long.leaves(Shared, start + length + 10);
        let booked = (1, 10 * kept * times, kept * times, times, length);
        assert_eq!(long.side(Exclusive).caused(), [booked]);
    }
}

/// Where a hold is stamped only if it concerns others, it does until each wait that has ended is divided.
#[test]
fn without_stamps_a_reader_that_comes_after_a_wait_is_innocent() {
    let [long, last, late, writer] = threads_of(Holds::None);
    long.takes(Shared, 10);
    let wait = writer.waits(Exclusive, 20);
    last.takes(Shared, 30);
    writer.gives_up(Exclusive, wait, 40);
    long.leaves(Shared, 50);
    late.takes(Shared, 60);
    last.leaves(Shared, 70);
    late.leaves(Shared, 80);
    let booked = late.side(Exclusive).caused();
    assert_eq!(booked, [(2, 10, 1, 1, 40), (1, 10, 1, 1, 49)]);
}

/// A hold of the random schedule: thread, beginning, end.
type Hold = (usize, u64, u64);

/// What a wait cost by the schedule itself: each instant belongs to the hold that ends last, or to none.
fn divided(waits: &[Hold], holds: &[Hold], of: usize) -> (Vec<u64>, u64) {
    let (mut held, mut free) = (vec![0; of], 0);
    for &(_, from, to) in waits {
        for instant in from..to {
            let there = holds.iter().filter(|hold| hold.1 <= instant && instant < hold.2);
            match there.max_by_key(|hold| hold.2) {
                Some(&(thread, ..)) => held[thread] += 1,
                None => free += 1,
            }
        }
    }
    (held, free)
}

/// Random schedules of readers and writers whose waiters get the lock when it is free, are let in among readers, or
/// give up: what is booked is what the schedule did, to the tick.
#[test]
fn random_schedules_are_divided_exactly() {
    for seed in 0..if cfg!(miri) { 3 } else { 300 } {
        let mut random = Random(seed);
        let all: [Thread; 4] = threads();
        let mut holding: [Option<(Side, u64)>; 4] = [None; 4];
        let mut waiting: [Option<(Side, u64, Wait)>; 4] = [const { None }; 4];
        let (mut holds, mut waits): (Vec<Hold>, [Vec<Hold>; 2]) = (vec![], [vec![], vec![]]);
        // Before its first release, nothing is known of a lock.
        all[0].takes(Shared, 5);
        all[0].leaves(Shared, 6);
        let mut now = 10;
        let (mut step, mut freed, mut kept) = (0, 0, 0);
        let steps = if cfg!(miri) { 30 } else { 150 };
        // The rest of them are served at the end.
        while step < steps
            || holding.iter().any(Option::is_some)
            || waiting.iter().any(Option::is_some)
        {
            step += 1;
            now += 1 + random.below(20);
            let number = random.below(4) as usize;
            let thread = all[number];
            let is_free = holding.iter().all(Option::is_none);
            let is_read = holding.iter().flatten().all(|&(side, _)| side == Shared);
            if let Some((side, began)) = holding[number].take() {
                thread.leaves(side, now);
                holds.push((number, began, now));
                if holding.iter().all(Option::is_none) {
                    (freed, kept) = (now, 0);
                }
            } else if let Some((side, began, wait)) = waiting[number].take() {
                let is_let_in = side == Shared && is_read && freed < began;
                let has_room = kept < UNDIVIDED;
                if is_free || (is_let_in && has_room) {
                    thread.gets(side, wait, now);
                    waits[side as usize].push((number, began, now));
                    holding[number] = Some((side, now));
                    kept += usize::from(!is_free);
                } else if has_room && random.below(4) == 0 {
                    thread.gives_up(side, wait, now);
                    waits[side as usize].push((number, began, now));
                    kept += 1;
                } else {
                    waiting[number] = Some((side, began, wait));
                }
            } else if step < steps {
                let side = if random.below(3) == 0 { Exclusive } else { Shared };
                // A writer that waits keeps some readers out.
                let is_wanted = waiting.iter().flatten().any(|wait| wait.0 == Exclusive);
                let is_kept_out = is_wanted && random.below(2) == 0;
                if is_free || (side == Shared && is_read && !is_kept_out) {
                    thread.takes(side, now);
                    holding[number] = Some((side, now));
                } else {
                    waiting[number] = Some((side, now, thread.waits(side, now)));
                }
            }
        }
        for side in [Exclusive, Shared] {
            let mut held = vec![0; 4];
            for entry in all.iter().flat_map(|thread| thread.side(side).caused()) {
                held[entry.0 as usize - 1] += entry.1;
            }
            let free: u64 = all.iter().map(|thread| thread.side(side).free()).sum();
            let truth = divided(&waits[side as usize], &holds, 4);
            assert_eq!((held, free), truth, "seed {seed}, {side:?}");
        }
    }
}
