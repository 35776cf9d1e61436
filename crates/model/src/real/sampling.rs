//! Random runs instead of all: how an [`Explorer`](super::Explorer) with `sample` works.

use super::exploration::{Ended, Exploration};
use super::graph::Graph;
use super::growth::Growth;
use super::memory::Memory;
use super::sampler::{self, Sampler};
use super::verdict::{Bound, Diverged, Estimate, Report, Sampled, Verdict};

/// How many runs, and their seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    pub(super) runs: u64,
    pub(super) seed: u64,
}

impl Exploration {
    pub(super) fn run_samples(
        &mut self,
        Sampling { runs, seed }: Sampling,
    ) -> Result<Report, Diverged> {
        let (depth, is_sc) = (self.bounds.depth, self.bounds.memory == Memory::Sc);
        let (mut threads, mut steps, mut counted) = (1, 1, 0);
        let mut bound = None;
        for run in 0..runs {
            {
                let mut core = self.run.core.borrow_mut();
                core.growth.single = true;
                core.sampler = Some(Box::new(Sampler::new(seed, run, depth, steps, is_sc)));
            }
            let mut is_whole = true;
            match self.run_one(Graph::default())? {
                Ended::Over(report) => return Ok(*report),
                Ended::Cut(hit) => (bound, is_whole) = (Some(hit), false),
                Ended::Whole(_) => {}
            }
            threads = threads.max(self.run.core.borrow().threads.len());
            // A run that was longer could not change priorities everywhere.
            if self.steps > steps {
                (steps, counted) = (self.steps, 0);
            } else {
                counted += u64::from(Sampler::is_counted(run, is_sc) && is_whole);
            }
        }
        let found = 1.0 / (threads as f64 * (steps as f64).powi(depth as i32 - 1));
        let unstated = self.unstated;
        let probability = match (counted, unstated) {
            (0, _) | (_, Some(_)) => 0.0,
            (counted, None) => -(counted as f64 * (-found).ln_1p()).exp_m1(),
        };
        let sampled = Sampled { runs, seed, depth, probability, unstated, threads, steps, counted };
        self.sampled = Some(sampled);
        self.repeat_samples()?;
        Ok(self.report(Verdict::Unknown(bound.unwrap_or(Bound::Sampled(runs)))))
    }

    /// Descends the tree of executions this many times, choosing a branch uniformly at each step (Knuth 1975).
    pub(super) fn estimate(
        &mut self,
        probes: u64,
        seed: u64,
    ) -> Result<Result<Estimate, Box<Report>>, Diverged> {
        let (probes, mut sum, mut squares) = (probes.max(1), 0.0, 0.0);
        for probe in 0..probes {
            let mut random = sampler::random(seed, probe);
            self.run.core.borrow_mut().growth = Growth::new(self.bounds.memory);
            let mut graph = Graph::default();
            let guess = loop {
                let before = self.executions;
                if let Ended::Over(report) = self.run_one(graph)? {
                    return Ok(Err(report));
                }
                let mut core = self.run.core.borrow_mut();
                let core = &mut *core;
                match core
                    .growth
                    .draw(&mut core.graph, || (random.next() >> 11) as f64 / (1u64 << 53) as f64)
                {
                    None if self.executions > before => break 1.0 / core.growth.share,
                    None | Some(false) => break 0.0,
                    Some(true) => graph = std::mem::take(&mut core.graph),
                }
            };
            sum += guess;
            squares += guess * guess;
        }
        let n = probes as f64;
        let mean = sum / n;
        let spread = ((squares / n - mean * mean).max(0.0) / (n - 1.0)).sqrt();
        let error = if probes == 1 { f64::INFINITY } else { spread };
        Ok(Ok(Estimate { executions: mean, error }))
    }
}
