//! One block as its subject sees it: how much to do, where, and what to time.
//!
//! # Contract
//! A subject prepares what it needs, calls [`Block::measure`] or [`Block::team`] once around the work, and checks the
//! result. Only the work is timed.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, mpsc};

use crate::guard;
use crate::instruments::{Instruments, Usage};
use crate::place::Pinning;

/// One block of one subject.
#[derive(Debug)]
pub struct Block {
    operations: u64,
    pinning: Pinning,
    instruments: Arc<dyn Instruments>,
    pub(crate) measured: Option<Measured>,
}

/// The measurements of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// The duration of the measured part.
    pub(crate) elapsed_ns: u64,
    /// The part of it that counts.
    pub(crate) counted_ns: u64,
    /// The number of operations in that part.
    pub(crate) operations: u64,
    /// The process's resource usage in the measured part.
    pub(crate) used: Usage,
    pub(crate) latencies_ns: Vec<u64>,
    pub(crate) figures: BTreeMap<&'static str, f64>,
}

impl Block {
    pub(crate) fn new(
        operations: u64,
        pinning: Pinning,
        instruments: Arc<dyn Instruments>,
    ) -> Block {
        Block { operations, pinning, instruments, measured: None }
    }

    /// The number of operations to do, chosen so that the block takes about the requested time.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Like [`Block::operations`], but at least `least`: for work that fewer operations would change, such as a queue
    /// that never fills.
    #[must_use]
    pub fn at_least(&mut self, least: u64) -> u64 {
        self.operations = self.operations.max(least);
        self.operations
    }

    /// The former name of [`Block::pinning`].
    #[deprecated(note = "use `Block::pinning`")]
    #[must_use]
    pub fn seats(&self) -> &Pinning {
        self.pinning()
    }

    /// The CPUs of this block's threads. The calling thread, number 0, is already pinned.
    #[must_use]
    pub fn pinning(&self) -> &Pinning {
        &self.pinning
    }

    /// Time on the block's clock, in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.instruments.wall_ns()
    }

    /// Times `work`. It is inlined, so a loop in `work` keeps its registers.
    #[inline(always)]
    pub fn measure<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let (before, start) = (self.instruments.usage(), self.instruments.wall_ns());
        let result = work();
        let end = self.instruments.wall_ns();
        self.close(before, start, end);
        result
    }

    /// Times work of several threads: `own` in the calling thread, and each of `others` in one of its own. All start at
    /// once when all are ready. The time ends when the last one is done. Threads run where [`Block::pinning`] says,
    /// `own` first.
    ///
    /// # Panics
    /// Panics if one of them does.
    pub fn team<'s>(
        &mut self,
        own: impl FnOnce() + 's,
        others: Vec<Box<dyn FnOnce() + Send + 's>>,
    ) {
        let (gate, instruments, pinning) = (OnceLock::new(), &self.instruments, &self.pinning);
        let count = others.len();
        let (before, start, end) = std::thread::scope(|scope| {
            let (ready, arrivals) = mpsc::channel();
            let members: Vec<_> = others
                .into_iter()
                .enumerate()
                .map(|(number, work)| {
                    let (ready, gate) = (ready.clone(), &gate);
                    scope.spawn(move || {
                        pinning.pin(number + 1);
                        ready.send(()).expect("the thread that starts the team is waiting");
                        // Spins, because a wakeup would be part of the time.
                        while gate.get().is_none() {
                            std::thread::yield_now();
                        }
                        guard::quietly(work);
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

    /// Says that only `ns` of the measured time count, for `operations` operations: for work that includes pauses.
    ///
    /// # Panics
    /// Panics before a measurement.
    pub fn counts(&mut self, ns: u64, operations: u64) {
        let measured = self.last();
        (measured.counted_ns, measured.operations) = (ns, operations);
    }

    /// Adds times of single operations, for percentiles.
    ///
    /// # Panics
    /// Panics before a measurement.
    pub fn latencies_ns(&mut self, latencies: impl IntoIterator<Item = u64>) {
        self.last().latencies_ns.extend(latencies);
    }

    /// Adds a figure of the subject's own, named with its unit; the table shows the median over all blocks.
    ///
    /// # Panics
    /// Panics before a measurement.
    pub fn figure(&mut self, name: &'static str, value: f64) {
        self.last().figures.insert(name, value);
    }

    fn last(&mut self) -> &mut Measured {
        self.measured.as_mut().expect("a block measures before it reports on the measured part")
    }
}
