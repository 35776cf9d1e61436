//! What a subject sees of one block: how much to do, where, and what to put its stopwatch around.
//!
//! # Contract
//! A subject prepares what it needs, calls [`Block::measure`] or [`Block::team`] once around the work, and checks the
//! result. Only that part is timed.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, mpsc};

use crate::instruments::{Instruments, Usage};
use crate::place::Seats;

/// One block of one subject.
#[derive(Debug)]
pub struct Block {
    operations: u64,
    seats: Seats,
    instruments: Arc<dyn Instruments>,
    pub(crate) measured: Option<Measured>,
}

/// What a block measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// How long the measured part took.
    pub(crate) elapsed_ns: u64,
    /// How much of it counts.
    pub(crate) counted_ns: u64,
    /// How many operations that was for.
    pub(crate) operations: u64,
    /// What the process used in the measured part.
    pub(crate) used: Usage,
    pub(crate) latencies_ns: Vec<u64>,
    pub(crate) figures: BTreeMap<&'static str, f64>,
}

impl Block {
    pub(crate) fn new(operations: u64, seats: Seats, instruments: Arc<dyn Instruments>) -> Block {
        Block { operations, seats, instruments, measured: None }
    }

    /// How many operations to do, so that the block takes about as long as asked for.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The same, but no fewer than `least`: where fewer would be another question, as a queue that never fills is.
    #[must_use]
    pub fn at_least(&mut self, least: u64) -> u64 {
        self.operations = self.operations.max(least);
        self.operations
    }

    /// Where this block's threads run. The calling thread is already there, as number 0.
    #[must_use]
    pub fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Nanoseconds on the block's clock.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.instruments.wall_ns()
    }

    /// Times `work`. Inlined, so that what a loop of its caller keeps in registers stays there.
    #[inline(always)]
    pub fn measure<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let (before, start) = (self.instruments.usage(), self.instruments.wall_ns());
        let result = work();
        let end = self.instruments.wall_ns();
        self.close(before, start, end);
        result
    }

    /// Times work of several threads: `own` in the calling one, `others` in one each, all let go at once when all stand
    /// ready. The time ends when the last is done. Threads sit where [`Block::seats`] says, `own` first.
    ///
    /// # Panics
    /// If one of them does.
    pub fn team<'s>(
        &mut self,
        own: impl FnOnce() + 's,
        others: Vec<Box<dyn FnOnce() + Send + 's>>,
    ) {
        let (gate, instruments, seats) = (OnceLock::new(), &self.instruments, &self.seats);
        let count = others.len();
        let (before, start, end) = std::thread::scope(|scope| {
            let (ready, arrivals) = mpsc::channel();
            let members: Vec<_> = others
                .into_iter()
                .enumerate()
                .map(|(number, work)| {
                    let (ready, gate) = (ready.clone(), &gate);
                    scope.spawn(move || {
                        seats.take(number + 1);
                        ready.send(()).expect("the thread that starts all is waiting");
                        // Nobody sleeps here: waking would be part of the time.
                        while gate.get().is_none() {
                            std::thread::yield_now();
                        }
                        work();
                        instruments.wall_ns()
                    })
                })
                .collect();
            drop(ready);
            assert_eq!(arrivals.iter().take(count).count(), count, "a thread did not start");
            let (before, start) = (instruments.usage(), instruments.wall_ns());
            gate.get_or_init(|| ());
            own();
            let mut end = instruments.wall_ns();
            for member in members {
                let ended = member.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
                end = end.max(ended);
            }
            (before, start, end)
        });
        self.close(before, start, end);
    }

    /// [`Block::team`] of two.
    pub fn pair<'s>(&mut self, own: impl FnOnce() + 's, other: impl FnOnce() + Send + 's) {
        self.team(own, vec![Box::new(other)]);
    }

    fn close(&mut self, before: Usage, start: u64, end: u64) {
        let after = self.instruments.usage();
        let elapsed_ns = end.saturating_sub(start);
        self.measured = Some(Measured {
            elapsed_ns,
            counted_ns: elapsed_ns,
            operations: self.operations,
            used: Usage {
                cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
                voluntary: after.voluntary.saturating_sub(before.voluntary),
                involuntary: after.involuntary.saturating_sub(before.involuntary),
            },
            ..Measured::default()
        });
    }

    /// Says that only `ns` of the measured time count, and were for `operations`: where pauses are part of the work.
    ///
    /// # Panics
    /// Before anything was measured.
    pub fn counts(&mut self, ns: u64, operations: u64) {
        let measured = self.last();
        (measured.counted_ns, measured.operations) = (ns, operations);
    }

    /// Adds times of single operations, for percentiles.
    ///
    /// # Panics
    /// Before anything was measured.
    pub fn latencies_ns(&mut self, latencies: impl IntoIterator<Item = u64>) {
        self.last().latencies_ns.extend(latencies);
    }

    /// Gives a figure of the subject's own, named with its unit; the table shows the median over all blocks.
    ///
    /// # Panics
    /// Before anything was measured.
    pub fn figure(&mut self, name: &'static str, value: f64) {
        self.last().figures.insert(name, value);
    }

    fn last(&mut self) -> &mut Measured {
        self.measured.as_mut().expect("a block measures before it tells about the measured part")
    }
}
