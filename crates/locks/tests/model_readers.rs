//! Every lock for readers, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, spawn, spin_loop};
use uncontended_locks::*;
use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH};

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(300)
}

fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

fn begins(name: &str, scenario: fn()) {
    explored::begins(name, (10_000, None), &BOTH, explorer, || scenario);
}

/// A number that readers may read together, and no thread changes while another is there: the checker reports a race
/// otherwise.
struct Guarded<L> {
    lock: L,
    number: UnsafeCell<u32>,
}

// SAFETY: the lock guards the number. That it does is what is explored.
unsafe impl<L: Sync> Sync for Guarded<L> {}

impl<L: RawRwLock> Guarded<L> {
    fn new() -> Arc<Guarded<L>> {
        Arc::new(Guarded { lock: L::default(), number: UnsafeCell::new(0) })
    }

    /// One where a reader has been before: of a lock whose readers are biased, they are from then on.
    fn read_before() -> Arc<Guarded<L>> {
        let guarded = Guarded::new();
        assert_eq!(guarded.read(), 0);
        guarded
    }

    fn look(&self) -> u32 {
        // SAFETY: the lock keeps writers out: that it does is what is explored.
        self.number.with(|number| unsafe { *number })
    }

    fn read(&self) -> u32 {
        self.lock.read();
        let number = self.look();
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { self.lock.unlock_read() };
        number
    }

    fn try_read(&self) -> Option<u32> {
        if !self.lock.try_read() {
            return None;
        }
        let number = self.look();
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { self.lock.unlock_read() };
        Some(number)
    }

    /// Adds two, one after the other, and gives the lock back.
    fn add_and_unlock(&self) {
        for _ in 0..2 {
            // SAFETY: the lock keeps all others out: that it does is what is explored.
            self.number.with_mut(|number| unsafe { *number += 1 });
        }
        // SAFETY: the caller took it, and gives it back here.
        unsafe { self.lock.unlock_write() };
    }

    fn write(&self) {
        self.lock.write();
        self.add_and_unlock();
    }

    fn try_write(&self) -> bool {
        let taken = self.lock.try_write();
        if taken {
            self.add_and_unlock();
        }
        taken
    }
}

/// A reader sees all that a writer did, or nothing.
fn a_reader_and_a_writer<L: RawRwLock + 'static>() {
    let guarded = Guarded::<L>::read_before();
    let theirs = Arc::clone(&guarded);
    let writer = spawn(move || theirs.write());
    let seen = guarded.read();
    assert!(seen == 0 || seen == 2, "{seen}");
    writer.join().unwrap();
    assert_eq!(guarded.read(), 2);
    assert!(!guarded.lock.is_locked());
}

fn two_writers<L: RawRwLock + 'static>() {
    let guarded = Guarded::<L>::read_before();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || theirs.write());
    guarded.write();
    other.join().unwrap();
    assert_eq!(guarded.read(), 4);
}

fn two_readers_and_a_writer<L: RawRwLock + 'static>() {
    let guarded = Guarded::<L>::read_before();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let theirs = Arc::clone(&guarded);
            spawn(move || theirs.read())
        })
        .collect();
    guarded.write();
    readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap() % 2, 0));
    assert_eq!(guarded.read(), 2);
}

/// One reader waits, in a phase of one parity, while two writers follow each other.
fn a_reader_and_two_writers<L: RawRwLock + 'static>() {
    let guarded = Guarded::<L>::read_before();
    let theirs = Arc::clone(&guarded);
    let reader = spawn(move || theirs.read());
    let theirs = Arc::clone(&guarded);
    let writer = spawn(move || theirs.write());
    guarded.write();
    assert_eq!(reader.join().unwrap() % 2, 0);
    writer.join().unwrap();
    assert_eq!(guarded.read(), 4);
}

/// Two readers each stay inside until the other one is: if one kept the other out, both would wait forever. Meanwhile
/// no thread writes.
fn readers_together<L: RawRwLock + 'static>() {
    let guarded = Guarded::<L>::read_before();
    let inside = Arc::new(AtomicU32::new(0));
    let meet = |guarded: &Guarded<L>, inside: &AtomicU32| {
        guarded.lock.read();
        inside.fetch_add(1, Relaxed);
        while inside.load(Relaxed) < 2 {
            spin_loop();
        }
        assert!(guarded.lock.is_locked() && !guarded.lock.try_write());
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock_read() };
    };
    let theirs = (Arc::clone(&guarded), Arc::clone(&inside));
    let other = spawn(move || meet(&theirs.0, &theirs.1));
    meet(&guarded, &inside);
    other.join().unwrap();
    assert!(guarded.try_write() && !guarded.lock.is_locked());
}

/// Threads that try take it or not, and never wait; what failed has left nothing behind.
fn tries<L: RawRwLock + 'static>() {
    let guarded = Guarded::<L>::read_before();
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || u32::from(theirs.try_write()));
    let seen = guarded.read();
    let wrote = other.join().unwrap();
    assert!(seen == 0 || seen == 2 * wrote);
    let theirs = Arc::clone(&guarded);
    let other = spawn(move || theirs.try_read());
    guarded.write();
    let seen = other.join().unwrap();
    assert!(seen.is_none_or(|seen| seen == 2 * wrote || seen == 2 * wrote + 2), "{seen:?}");
    assert!(guarded.try_write());
    assert_eq!(guarded.try_read(), Some(2 * wrote + 4));
    assert!(!guarded.lock.is_locked());
}

#[test]
fn phase_fair_keeps_a_reader_and_a_writer_apart() {
    holds(a_reader_and_a_writer::<PhaseFair<Spin>>);
    holds(a_reader_and_a_writer::<PhaseFair<SpinThenYield>>);
}

#[test]
fn phase_fair_parks_keeps_a_reader_and_a_writer_apart() {
    holds(a_reader_and_a_writer::<PhaseFair<Park>>);
}

#[test]
fn phase_fair_keeps_two_writers_apart() {
    holds(two_writers::<PhaseFair<Spin>>);
    holds(two_writers::<PhaseFair<Park>>);
}

#[test]
fn phase_fair_keeps_two_readers_and_a_writer_apart() {
    begins("two readers, phase-fair", two_readers_and_a_writer::<PhaseFair<Spin>>);
}

#[test]
fn phase_fair_parks_keeps_two_readers_and_a_writer_apart() {
    begins("two readers, phase-fair, parks", two_readers_and_a_writer::<PhaseFair<Park>>);
}

#[test]
fn phase_fair_keeps_a_reader_and_two_writers_apart() {
    begins("two writers, phase-fair", a_reader_and_two_writers::<PhaseFair<Spin>>);
}

#[test]
fn phase_fair_lets_readers_in_together() {
    holds(readers_together::<PhaseFair<Park>>);
}

#[test]
fn phase_fair_can_be_tried() {
    holds(tries::<PhaseFair<Spin>>);
}

/// A reader that came while one wrote is in before the next one writes, though that one waits already.
fn a_reader_is_next<W: Turn>() {
    let guarded = Guarded::<PhaseFair<W>>::new();
    guarded.lock.write();
    let theirs = Arc::clone(&guarded);
    let writer = spawn(move || theirs.write());
    while !guarded.lock.has_waiting_writers() {
        spin_loop();
    }
    let theirs = Arc::clone(&guarded);
    let reader = spawn(move || theirs.read());
    while guarded.lock.readers() == 0 {
        spin_loop();
    }
    guarded.add_and_unlock();
    assert_eq!(reader.join().unwrap(), 2, "the second writer came before the reader");
    writer.join().unwrap();
}

#[test]
fn a_reader_waits_for_one_writer_at_most() {
    begins("a reader is next, spins", a_reader_is_next::<Spin>);
    begins("a reader is next, parks", a_reader_is_next::<Park>);
}

/// A reader that comes while a writer waits for others to leave goes in after it.
fn a_writer_is_next<W: Turn>() {
    let guarded = Guarded::<PhaseFair<W>>::new();
    guarded.lock.read();
    let theirs = Arc::clone(&guarded);
    let writer = spawn(move || theirs.write());
    while !guarded.lock.is_writer_present() {
        spin_loop();
    }
    assert!(!guarded.lock.try_read(), "a writer is next");
    let theirs = Arc::clone(&guarded);
    let reader = spawn(move || theirs.read());
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { guarded.lock.unlock_read() };
    assert_eq!(reader.join().unwrap(), 2, "the reader came before the writer");
    writer.join().unwrap();
}

#[test]
fn a_writer_waits_for_one_phase_of_readers() {
    holds(a_writer_is_next::<Spin>);
    holds(a_writer_is_next::<Park>);
}

/// Values and guards.
#[test]
fn a_value_is_read_and_written_by_guards() {
    fn scenario() {
        let pair = Arc::new(RwLock::with(PhaseFair::<Park>::default(), (0, 0)));
        let theirs = Arc::clone(&pair);
        let writer = spawn(move || {
            let mut pair = theirs.write();
            pair.0 = 1;
            pair.1 = 1;
        });
        let seen = pair.read();
        assert_eq!(seen.0, seen.1);
        drop(seen);
        writer.join().unwrap();
        assert_eq!(pair.try_read().map(|pair| pair.0), Some(1));
    }
    holds(scenario);
}

type Biased = Bravo<PhaseFair<Spin>>;

#[test]
fn bravo_keeps_a_reader_and_a_writer_apart() {
    holds(a_reader_and_a_writer::<Biased>);
}

#[test]
fn bravo_keeps_two_writers_apart() {
    holds(two_writers::<Biased>);
}

#[test]
fn bravo_keeps_two_readers_and_a_writer_apart() {
    begins("two readers, bravo", two_readers_and_a_writer::<Biased>);
}

#[test]
fn bravo_keeps_a_reader_and_two_writers_apart() {
    begins("two writers, bravo", a_reader_and_two_writers::<Biased>);
}

#[test]
fn bravo_lets_readers_in_together() {
    holds(readers_together::<Biased>);
}

#[test]
fn bravo_can_be_tried() {
    holds(tries::<Biased>);
}

/// The places are two, and threads of one parity share one: of two readers of this parity one goes by the inner lock.
#[test]
fn readers_that_find_their_place_taken_go_by_the_inner_lock() {
    fn scenario() {
        let guarded = Guarded::<Biased>::read_before();
        assert!(guarded.lock.is_biased());
        guarded.lock.read();
        guarded.lock.read(); // Its place is its own.
        let theirs = Arc::clone(&guarded);
        let writer = spawn(move || theirs.write());
        let theirs = Arc::clone(&guarded);
        let reader = spawn(move || theirs.try_read());
        assert_eq!(guarded.look(), 0);
        // SAFETY: this thread took it twice above.
        unsafe { guarded.lock.unlock_read() };
        assert_eq!(guarded.look(), 0, "it reads once more");
        // SAFETY: this thread took it twice above, and gave it back once.
        unsafe { guarded.lock.unlock_read() };
        assert!(reader.join().unwrap().is_none_or(|seen| seen == 0 || seen == 2));
        writer.join().unwrap();
        assert_eq!(guarded.read(), 2);
    }
    begins("a place that is taken, bravo", scenario);
}

/// A thread that reads two locks has one place in the table for both here.
#[test]
fn a_thread_reads_two_biased_locks_at_a_time() {
    fn scenario() {
        let one = Guarded::<Biased>::read_before();
        let two = Guarded::<Biased>::read_before();
        let theirs = (Arc::clone(&one), Arc::clone(&two));
        let writer = spawn(move || {
            theirs.1.write();
            theirs.0.try_write()
        });
        one.lock.read();
        two.lock.read();
        assert!(one.look() % 2 == 0 && two.look() % 2 == 0);
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { one.lock.unlock_read() };
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { two.lock.unlock_read() };
        let wrote = writer.join().unwrap();
        assert_eq!((one.read(), two.read()), (2 * u32::from(wrote), 2));
    }
    begins("two locks, bravo", scenario);
}

/// A thread that fails to write, because one reads, biases the lock again. Another one reads by that bias: what was
/// written it has by it alone.
#[test]
fn a_bias_that_is_given_back_passes_on_what_was_written() {
    fn scenario() {
        let guarded = Guarded::<Biased>::read_before();
        let is_given_back = Arc::new(AtomicU32::new(0));
        let theirs = (Arc::clone(&guarded), Arc::clone(&is_given_back));
        let reader = spawn(move || {
            while theirs.1.load(Relaxed) == 0 {
                spin_loop();
            }
            theirs.0.read()
        });
        let theirs = Arc::clone(&guarded);
        spawn(move || theirs.write()).join().unwrap();
        assert_eq!(guarded.read(), 2);
        guarded.lock.read();
        assert!(!guarded.try_write() && guarded.lock.is_biased());
        is_given_back.store(1, Relaxed);
        assert_eq!(reader.join().unwrap(), 2);
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock_read() };
    }
    holds(scenario);
}

/// A thread that fails to write, because one reads, waits for that one when it writes then.
#[test]
fn readers_in_the_table_are_waited_for_after_one_failed_to_write() {
    fn scenario() {
        let guarded = Guarded::<Biased>::read_before();
        guarded.lock.read();
        let theirs = Arc::clone(&guarded);
        let writer = spawn(move || {
            if !theirs.try_write() {
                theirs.write();
            }
        });
        assert_eq!(guarded.look(), 0);
        // SAFETY: this thread took it above, and gives it back once.
        unsafe { guarded.lock.unlock_read() };
        writer.join().unwrap();
        assert_eq!(guarded.read(), 2);
    }
    holds(scenario);
}

/// A copy is of one write, as a whole: two words, or a word and a byte behind it.
fn copies_are_whole<T: Words + PartialEq + std::fmt::Debug + Send + 'static>(values: [T; 3]) {
    let shared = Arc::new(SeqLock::with(Ttas::<Hint>::default(), values[0]));
    let theirs = Arc::clone(&shared);
    let writer = spawn(move || values[1..].iter().for_each(|value| theirs.write(*value)));
    if let Some(seen) = shared.try_read() {
        assert!(values.contains(&seen), "torn: {seen:?}");
    }
    writer.join().unwrap();
    assert_eq!((shared.try_read(), shared.writes()), (Some(values[2]), 2));
}

#[test]
fn a_copy_is_never_torn() {
    holds(|| copies_are_whole([[0_usize; 2], [1; 2], [2; 2]]));
    holds(|| copies_are_whole([[0_u8; size_of::<usize>() + 1], [1; _], [2; _]]));
}

/// What a reader has seen, and what came before it started, it does not lose; it waits for a write that is under way.
#[test]
fn reads_never_go_back() {
    fn scenario() {
        let shared = Arc::new(SeqLock::with(Ttas::<Hint>::default(), [0; 2]));
        let theirs = Arc::clone(&shared);
        let writer = spawn(move || theirs.write([1; 2]));
        let seen = [shared.read(), shared.read()];
        assert!(seen[0] <= seen[1] && seen.iter().all(|pair| pair[0] == pair[1]), "{seen:?}");
        writer.join().unwrap();
        assert_eq!(shared.read(), [1; 2]);
    }
    holds(scenario);
}

#[test]
fn writers_of_a_value_come_one_at_a_time() {
    fn scenario() {
        let shared = Arc::new(SeqLock::with(Ttas::<Hint>::default(), [0; 2]));
        let theirs = Arc::clone(&shared);
        let add = |value: &mut [usize; 2]| {
            *value = [value[0] + 1, value[1] + 1];
            value[0]
        };
        let other = spawn(move || theirs.update(add));
        let (own, others) = (shared.update(add), other.join().unwrap());
        assert_eq!((own + others, shared.read(), shared.writes()), (3, [2; 2], 2));
    }
    holds(scenario);
}

struct Shared(SeqLock<u32, Ttas>, UnsafeCell<u32>);

// SAFETY: the value says when the other one may be read: that it is ordered is what is explored.
unsafe impl Sync for Shared {}

/// What a writer did before it wrote, a reader has that has its value.
#[test]
fn a_value_passes_on_what_came_before_it() {
    fn scenario() {
        let shared = Arc::new(Shared(SeqLock::with(Ttas::default(), 0), UnsafeCell::new(0)));
        let theirs = Arc::clone(&shared);
        let writer = spawn(move || {
            // SAFETY: the other thread looks when it has the value.
            theirs.1.with_mut(|number| unsafe { *number = 7 });
            theirs.0.write(1);
        });
        if shared.0.try_read() == Some(1) {
            // SAFETY: the writer wrote it before the value.
            assert_eq!(shared.1.with(|number| unsafe { *number }), 7);
        }
        writer.join().unwrap();
    }
    holds(scenario);
}

#[test]
fn a_bounded_read_gives_up_only_if_a_writer_came_between() {
    fn scenario() {
        let shared = Arc::new(SeqLock::with(Ttas::<Hint>::default(), [0; 2]));
        let theirs = Arc::clone(&shared);
        let writer = spawn(move || theirs.write([1; 2]));
        let seen = shared.read_within(2);
        assert!(seen.is_none_or(|seen| seen[0] == seen[1]));
        writer.join().unwrap();
        assert_eq!((shared.read_within(1), shared.read_within(0)), (Some([1; 2]), None));
    }
    holds(scenario);
}
