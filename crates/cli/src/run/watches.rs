//! What the kernel is asked about a program while it runs.

use super::futex::FutexWatch;
use super::plan::{Plan, Refusal};
use super::program::Obstacle;
use super::source::{self, Outside};
use super::spans::SpanWatch;
use std::path::Path;
use std::time::Duration;
use uncontended_attach::{Attach, Seen};
use uncontended_report::aggregate::Symbols;
use uncontended_report::facts::{FutexFacts, SpanFacts};
use uncontended_sys::clock;
use uncontended_sys::process::Child;

/// All watches of a run.
#[derive(Debug)]
pub(crate) struct Watches {
    /// All futex waiting. Without root there is nothing to arm, and the report says so.
    pub(crate) futexes: Option<FutexWatch>,
    /// The calls of one function.
    spans: Option<SpanWatch>,
    /// All futex waits of a program into which the observer cannot be loaded.
    outside: Option<Attach>,
    /// Whether it is linked with an OpenMP runtime whose waits are not seen so.
    pub(crate) openmp_unseen: bool,
    /// What it takes to watch a program from outside that is not watched so.
    pub(crate) remedy: Option<String>,
    /// How long the program ran before it was watched from outside, at most; unknown if recording began later.
    pub(crate) unseen_ns: Option<u64>,
    /// Whether recording has begun.
    has_begun: bool,
}

impl Watches {
    /// How often to look, to keep the kernel's buffers from overflowing, and to meet processes that end soon.
    pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(5);

    /// Arms what `plan` asks for, for the next program that is started, whose file is `program`. `obstacle` is why the
    /// observer cannot be loaded into it.
    pub(crate) fn open(
        plan: &Plan,
        program: &Path,
        obstacle: Option<Obstacle>,
    ) -> Result<Self, Refusal> {
        let has_runtime = source::has_runtime(program);
        let Outside { watch: outside, remedy } = source::outside(plan, has_runtime, obstacle)?;
        let spans = plan.span.as_ref().map(|function| SpanWatch::open(function, program));
        let wants_share = plan.wants_report() && outside.is_none();
        let futexes = wants_share.then(FutexWatch::open).and_then(Result::ok);
        let openmp_unseen = has_runtime && outside.is_none();
        let spans = spans.transpose()?;
        let (unseen_ns, has_begun) = (None, false);
        Ok(Watches { futexes, spans, outside, openmp_unseen, remedy, unseen_ns, has_begun })
    }

    /// The program is started next.
    pub(crate) fn expect(&mut self, plan: &Plan) {
        if let Some(outside) = self.outside.as_mut().filter(|_| plan.delay.is_none()) {
            outside.expect();
        }
    }

    /// Recording of the process `pid` begins, which ran before: what it waits for now is not recorded.
    pub(crate) fn begin(&mut self, pid: u32) {
        if let Some(futexes) = &mut self.futexes {
            futexes.begin();
        }
        self.follow(pid);
    }

    /// The process `pid` is recorded from its start: from outside, if that is the way. Its threads may wait already.
    pub(crate) fn follow(&mut self, pid: u32) {
        self.has_begun = true;
        if let Some(outside) = &mut self.outside {
            outside.begin_and_follow(pid);
        }
    }

    /// Notes how much of a program was not watched that was started after `started_ns` (CLOCK_MONOTONIC).
    pub(crate) fn note_unseen(&mut self, program: &Child, started_ns: u64) {
        let ran_ns = clock::monotonic_ns().saturating_sub(started_ns);
        self.unseen_ns = Some(if program.is_held() { 0 } else { ran_ns });
    }

    /// Looks at the files of the program that is watched from outside, and at its threads.
    pub(crate) fn look_outside(&mut self) {
        if let Some(outside) = &mut self.outside {
            outside.look();
        }
    }

    /// What was seen from outside, if that was the way, and is still being watched.
    pub(crate) fn outside_so_far(&mut self) -> Option<Seen> {
        self.outside.as_mut().map(Attach::so_far)
    }

    /// What was seen from outside, if that was the way. It is not watched any more.
    pub(crate) fn outside(&mut self) -> Option<Seen> {
        let mut outside = self.outside.take()?;
        let seen = outside.finish();
        outside.close();
        Some(seen)
    }

    /// Whether the program is watched from outside.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// Whether there is something to look at.
    pub(crate) fn is_any(&self) -> bool {
        self.futexes.is_some() || self.spans.is_some()
    }

    /// Collects what has happened since the last call.
    pub(crate) fn look(&mut self) {
        if let Some(futexes) = &mut self.futexes {
            futexes.look();
        }
        if let Some(spans) = &mut self.spans {
            spans.look();
        }
    }

    /// All futex waiting since recording began, with names from `symbols`.
    pub(crate) fn futexes(&mut self, symbols: &mut dyn Symbols) -> Option<FutexFacts> {
        let futexes = self.futexes.as_mut().filter(|_| self.has_begun);
        Some(futexes?.until(clock::monotonic_ns(), symbols))
    }

    /// The calls that have ended, with times since `start_ns` (CLOCK_MONOTONIC).
    pub(crate) fn spans(&mut self, start_ns: u64) -> Option<SpanFacts> {
        Some(self.spans.as_mut()?.ended(start_ns))
    }

    /// Disarms everything, without waiting for the kernel.
    pub(crate) fn close(self) {
        if let Some(futexes) = self.futexes {
            futexes.close();
        }
        if let Some(spans) = self.spans {
            spans.close();
        }
    }
}
