//! Rounds of a barrier, explored: threads that return late, while others are at the next round.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-events --test model_rounds --target-dir target/model
#![cfg(unc_model)]

mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events;
use uncontended_events::log::By;
use uncontended_events::rounds;
use uncontended_events::site::Row;
use uncontended_events::woken::ALL;
use uncontended_model::real::{Explorer, spawn};
use uncontended_testkit::explored::{self, BOTH};
use uncontended_trace::layout::kind;

/// A thread at the one barrier, with a stack of its own.
#[derive(Clone, Copy)]
struct Thread {
    at: At,
    row: Row,
}

fn threads<const N: usize>() -> [Thread; N] {
    let image = image(4 * ROOM);
    let threads: [Thread; N] = std::array::from_fn(|number| {
        let at = At { stack: number as u32 + 1, ..At::new(recorder(image), 1) };
        Thread { at, row: at.row(64) }
    });
    threads[0].row.lock.kind.store(kind::BARRIER, Relaxed);
    threads
}

impl Thread {
    fn arrives(self, now: u64) -> u64 {
        self.at.set(now);
        events::ends(self.at, self.row.lock, ALL)
    }

    fn returns(self, call: u64, now: u64) -> By {
        rounds::ended(self.at.recorder, self.row.lock, (call, now))
    }

    fn arrival(self, at: u64) -> By {
        let recorder = self.at.recorder;
        By { at, unit: recorder.arena.unit_of(recorder.thread), stack: self.at.stack }
    }
}

/// Three threads wait since 10, 20 and 30 for a fourth, which arrives at 50. One returns and arrives again, while
/// another one returns; then the third does.
fn return_late() -> impl Fn() + 'static {
    let [slow, quick, late, last] = threads();
    move || {
        for (thread, now) in [(slow, 10), (quick, 20), (late, 30), (last, 50)] {
            thread.arrives(now);
        }
        let round = last.arrival(50);
        let again = spawn(move || {
            assert_eq!(quick.returns(20, 60), round);
            quick.arrives(65);
        });
        assert_eq!(slow.returns(10, 70), round, "it takes an arrival at the next round");
        again.join().unwrap();
        assert_eq!(late.returns(30, 80), round);
        // The next round has an end of its own.
        for (thread, now) in [(late, 90), (slow, 91), (last, 95)] {
            thread.arrives(now);
        }
        assert_eq!(slow.returns(91, 96), last.arrival(95));
        assert_eq!(quick.returns(65, 97), last.arrival(95));
    }
}

#[test]
fn a_round_is_ended_by_its_last_arrival_alone() {
    explored::holds(&BOTH, Explorer::new, return_late);
}
