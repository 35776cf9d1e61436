//! The measurement: blocks of the requested length, rounds in random order, and a stopping rule checked after each.
//!
//! # Contract
//! Every round runs one block of every subject that has not failed, the baseline twice, in a new random order; within a
//! round each ratio is to the baseline's first block. All tables share the time: what one leaves goes to the others.
//! # Evidence
//! tests/engine.rs, on a scripted clock.

use std::time::Duration;

use uncontended_figures::progress::Line;
use uncontended_stats::{MaxError, Rng};

use crate::bench::{Bench, Case};
use crate::block::{Block, Measured};
use crate::guard::{self, Failure, Patience};
use crate::options::Options;
use crate::place::{Pinning, Place};
use crate::report::{Measurement, Report, Role, Stopped, Table};
use crate::tally::Tally;
use crate::{machine, warnings};

/// A row while it is measured: its subject, its place, its operations per block.
struct Contender {
    subject: usize,
    pinning: Pinning,
    operations: u64,
    /// The number of blocks that took more than four times as long as requested.
    far_too_long: u32,
    /// The largest number of operations of a block.
    ceiling: u64,
    tally: Tally,
}

impl Contender {
    /// Adjusts the operations of the next block to the time this one took, at most `growth` times as many. Some
    /// subjects change their speed with the length of the block (a queue that is not full yet is fast): a length that
    /// was far too long twice is not tried again.
    fn adapt(&mut self, block: &Measured, target: u64, growth: f64) {
        let far_too_long = block.elapsed_ns > target.saturating_mul(4);
        self.far_too_long += u32::from(far_too_long);
        if far_too_long && self.far_too_long > 1 {
            self.ceiling = self.ceiling.min(self.operations / 2);
        }
        let scale = target as f64 / block.elapsed_ns.max(1) as f64;
        let fits = (block.operations as f64 * scale.min(growth)).round() as u64;
        self.operations = fits.min(self.ceiling).max(1);
    }
}

struct Runner<'b> {
    bench: &'b Bench,
    options: &'b Options,
    progress: Line,
    rng: Rng,
}

/// Measures all tables of a benchmark.
pub(crate) fn run(mut bench: Bench, options: &Options) -> Report {
    let facts = machine::facts(bench.cpus.len());
    let mut cases = std::mem::take(&mut bench.cases);
    cases.retain(|case| Options::wants(&options.cases, &case.name) && !case.subjects.is_empty());
    bench.baseline = options.baseline.clone().or(bench.baseline);
    for case in &mut cases {
        let baseline = bench.baseline.clone().unwrap_or_else(|| case.subjects[0].name.clone());
        let kept = |name: &str| name == baseline || Options::wants(&options.only, name);
        case.subjects.retain(|subject| kept(&subject.name));
    }
    let places = if options.places.is_empty() { &bench.places } else { &options.places };
    let mut runner = Runner {
        bench: &bench,
        options,
        progress: Line::new(options.quiet),
        rng: Rng::new(options.seed),
    };
    let end = bench.instruments.wall_ns() + (options.seconds * 1e9) as u64;
    let (mut tables, count) = (Vec::new(), (places.len() * cases.len()) as u64);
    for &place in places {
        for case in &mut cases {
            let left = end.saturating_sub(bench.instruments.wall_ns());
            let deadline = end - left + left / (count - tables.len() as u64);
            let outcome = match (bench.is_over)() {
                true => Err("interrupted".to_owned()),
                false => (place.pinning(&bench.cpus))
                    .map(|pinning| runner.table(case, place, &pinning, deadline)),
            };
            tables.push(Table { case: case.name.clone(), place, outcome });
        }
    }
    runner.progress.clear();
    Report {
        name: bench.name.clone(),
        question: bench.question.clone(),
        operation: bench.operation,
        ratio: bench.ratio,
        seed: options.seed,
        max_error: options.max_error,
        width: options.width,
        facts,
        tables,
        notes: bench.notes.clone(),
        warnings: bench.instruments.doubts(),
    }
}

impl Runner<'_> {
    fn table(&mut self, case: &mut Case, place: Place, pinning: &Pinning, end: u64) -> Measurement {
        let place_name = place.to_string();
        let fields = [self.bench.name.as_str(), case.name.as_str(), place_name.as_str()];
        let label =
            fields.into_iter().filter(|field| !field.is_empty()).collect::<Vec<_>>().join(" · ");
        self.progress.say(&label);
        let instruments = &self.bench.instruments;
        let (start, host, used) = (instruments.wall_ns(), instruments.host(), instruments.usage());
        let max_error = self.share(case.subjects.len());
        let mut contenders = self.contenders(case, pinning, max_error);
        self.calibrate(case, &mut contenders, &label);
        let mut rounds = 0;
        let stopped = loop {
            if contenders
                .iter()
                .all(|it| it.tally.role == Role::Baseline || it.tally.failed.is_some())
                && rounds > 0
            {
                break Stopped::Nothing;
            }
            self.round(case, &mut contenders);
            rounds += 1;
            self.progress.status(&|| format!("{label} · round {rounds}"));
            if contenders.iter().all(|it| it.tally.is_settled(self.options.width)) {
                break Stopped::Narrow;
            }
            if (self.bench.is_over)() {
                break Stopped::Interrupted;
            }
            if instruments.wall_ns() >= end {
                break Stopped::Time;
            }
            if rounds >= self.options.rounds {
                break Stopped::Rounds;
            }
        };
        let (wall, now) = (instruments.wall_ns().saturating_sub(start).max(1), instruments.host());
        let own = instruments.usage().cpu_ns.saturating_sub(used.cpu_ns);
        let part = |ns: u64| ns as f64 / wall as f64;
        let busy = now.busy_ns.saturating_sub(host.busy_ns);
        let mut table = Measurement {
            cpus: pinning.cpus().to_vec(),
            rounds,
            stopped,
            seconds: wall as f64 / 1e9,
            stolen: part(now.stolen_ns.saturating_sub(host.stolen_ns))
                / self.bench.cpus.len().max(1) as f64,
            others: part(busy.saturating_sub(own)),
            rows: contenders.iter().map(|it| it.tally.row()).collect(),
            warnings: Vec::new(),
        };
        table.warnings = warnings::of(&table, max_error);
        table
    }

    /// The error bound of each of a table's intervals: there are as many as subjects, with the control in place of the
    /// baseline.
    fn share(&self, subjects: usize) -> MaxError {
        let whole = MaxError::new(self.options.max_error.clamp(1e-9, 0.49)).expect("a chance");
        whole.split(subjects.max(1) as u32)
    }

    fn contenders(&self, case: &Case, pinning: &Pinning, max_error: MaxError) -> Vec<Contender> {
        let named = self.bench.baseline.as_ref();
        let baseline = named.and_then(|name| case.subjects.iter().position(|it| it.name == *name));
        let baseline = baseline.unwrap_or(0);
        let mut contenders = Vec::new();
        for (at, subject) in case.subjects.iter().enumerate() {
            let own = subject.place.map(|place| place.pinning(&self.bench.cpus));
            let new = |name: String, role: Role| {
                let mut tally = Tally::new(name, role, max_error);
                let pinning = match &own {
                    Some(Ok(own)) => own.clone(),
                    Some(Err(reason)) => {
                        tally.failed = Some(format!("skipped: {reason}"));
                        Pinning::default()
                    }
                    None => pinning.clone(),
                };
                Contender {
                    subject: at,
                    pinning,
                    operations: 1,
                    far_too_long: 0,
                    ceiling: u64::MAX,
                    tally,
                }
            };
            let role = if at == baseline { Role::Baseline } else { Role::Subject };
            contenders.push(new(subject.name.clone(), role));
            if role == Role::Baseline {
                contenders.push(new(format!("{} again (A/A)", subject.name), Role::Control));
            }
        }
        contenders
    }

    /// Finds the number of operations for a block of the requested length; this also warms up.
    fn calibrate(&mut self, case: &mut Case, contenders: &mut [Contender], label: &str) {
        let target = self.bench.block.as_nanos() as u64;
        let mut found = vec![None; case.subjects.len()];
        for contender in contenders.iter_mut().filter(|it| it.tally.failed.is_none()) {
            if let Some(operations) = found[contender.subject] {
                contender.operations = operations;
                continue;
            }
            let name = &contender.tally.name;
            self.progress.status(&|| format!("{label} · warming up {name}"));
            contender.operations = 16;
            let mut fits = false;
            for _ in 0..20 {
                if (self.bench.is_over)() {
                    return;
                }
                let Some(measured) = self.block(case, contender) else { break };
                // Twice, because one block may be slow by chance.
                let long = measured.elapsed_ns >= target / 2;
                if long && fits {
                    break;
                }
                fits = long;
                contender.adapt(
                    &measured,
                    target,
                    if contender.far_too_long > 0 { 2.0 } else { 64.0 },
                );
            }
            found[contender.subject] = Some(contender.operations);
        }
    }

    fn round(&mut self, case: &mut Case, contenders: &mut [Contender]) {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        self.rng.shuffle(&mut order);
        let mut blocks: Vec<Option<Measured>> = vec![None; contenders.len()];
        for at in order {
            if contenders[at].tally.failed.is_none() && !(self.bench.is_over)() {
                blocks[at] = self.block(case, &mut contenders[at]);
            }
        }
        let is_baseline = |it: &Contender| it.tally.role == Role::Baseline;
        let baseline = contenders.iter().position(is_baseline).and_then(|at| blocks[at].clone());
        for (contender, block) in contenders.iter_mut().zip(&blocks) {
            if let Some(block) = block {
                contender.tally.take(block, baseline.as_ref(), self.bench.ratio);
                let target = self.bench.block.as_nanos() as u64;
                if !(target / 4..=target.saturating_mul(4)).contains(&block.elapsed_ns) {
                    contender.adapt(block, target, 2.0);
                }
            }
        }
    }

    /// One block; `None` if it failed, which is recorded.
    fn block(&self, case: &mut Case, contender: &mut Contender) -> Option<Measured> {
        let subject = &mut case.subjects[contender.subject];
        let Some(work) = subject.work.take() else {
            contender.tally.failed = Some("hung earlier".to_owned());
            return None;
        };
        let instruments = self.bench.instruments.clone();
        let block = Block::new(contender.operations, contender.pinning.clone(), instruments);
        let limit = self.bench.limit.max(Duration::from_millis(1));
        let patience = Patience { limit, is_over: self.bench.is_over };
        let (work, measured) = guard::run(work, block, patience);
        subject.work = work;
        let note = |failure: Failure| {
            // What was measured before an interruption stands.
            if failure != Failure::Interrupted || contender.tally.is_empty() {
                contender.tally.failed = Some(failure.to_string());
            }
        };
        measured.map_err(note).ok()
    }
}
