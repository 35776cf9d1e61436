//! What a heavy fence takes by each backend, what it does to the other CPUs, and what a light fence costs a reader.
//!
//! # Contract
//! What a reader pays is measured by the engine of `bench`, one thread alone. Heavy fences are timed one by one, in
//! blocks of each backend in random order, while the other CPUs are idle, or run threads of this process, or of another
//! one ([`peers`]). The kernel's own counts say how often they were interrupted meanwhile, by anything: a block with
//! fewer interrupts than its backend must have sent is left out, since the threads did not run; a row without a block
//! that counts is refused.
//! # Evidence
//! The tests of [`figures`] and [`advice`]; `crates/cli/tests/survey_fences.rs`.
//! # Sources
//! Document 000: barriers by mprotect, membarrier and interrupts, idle and loaded, and its binomial statements.

mod advice;
pub(crate) mod columns;
mod figures;
mod peers;
mod readers;
mod ways;

use crate::{Plan, Row, Topic};
use figures::Samples;
pub use figures::{Comparison, Fence, Percentile, Timed};
use peers::{Crew, Peers};
use std::time::Duration;
use uncontended_bench::Cpu;
use uncontended_figures::progress::Line;
use uncontended_stats::Rng;
use uncontended_sys::affinity;
use uncontended_sys::clock::monotonic_ns;
use uncontended_sys::interrupt_counts::{CALLS, row};
use ways::Way;

pub(crate) const QUESTION: &str =
    "what does a heavy fence take, how often does it interrupt, and what do readers pay";
/// The part of the time that is for readers.
const READERS: f64 = 0.3;
/// How long a block lasts, and how many fences it has at most; it has one at least.
const BLOCK_NS: u64 = 2_000_000;
const BLOCK: usize = 1_000;
/// How long other threads have to come up.
const SETTLE: Duration = Duration::from_millis(20);

/// Measures readers, then heavy fences next to each kind of peers.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let cpus: Vec<usize> =
        Cpu::allowed().unwrap_or_default().iter().map(|cpu| cpu.number).collect();
    let ([own, others @ ..], None | Some(2..)) = (&cpus[..], plan.threads) else {
        return Topic::left_out("fences", QUESTION, "a barrier takes two CPUs, with a thread each");
    };
    let Some(_) = others.first() else {
        return Topic::left_out("fences", QUESTION, "only one CPU is allowed, and it takes two");
    };
    let mut topic = readers::measure(plan, READERS);
    let mut progress = Line::new(plan.quiet);
    let time = plan.budget.mul_f64((1.0 - READERS) / Peers::ALL.len() as f64);
    for peers in Peers::ALL {
        if (plan.is_over)() {
            break;
        }
        progress.say(&format!("fences · other CPUs {peers}"));
        match Crew::start(peers, others) {
            Ok(crew) => {
                let (found, refused) = next_to(peers, (*own, others), time, plan);
                drop(crew);
                topic.comparisons.extend(figures::comparisons(peers, &found));
                topic.rows.extend(
                    found.into_iter().map(|(way, samples)| row_of(peers, others, &way, &samples)),
                );
                topic.not_measured.extend(refused);
            }
            Err(why) => topic.not_measured.push(format!("other CPUs {peers}: {why}")),
        }
    }
    progress.clear();
    topic.not_measured.sort();
    topic.not_measured.dedup();
    topic.notes.extend(advice::notes(&topic.rows));
    topic
}

/// Every backend's samples next to these peers, and which backends are refused.
fn next_to(
    peers: Peers,
    (own, others): (usize, &[usize]),
    time: Duration,
    plan: &Plan,
) -> (Vec<(Way, Samples)>, Vec<String>) {
    let measure = || {
        let (mut ways, refused) = ways::all(peers);
        // A thread of its own, since it is pinned.
        let _ = affinity::pin(own);
        let mut samples: Vec<Samples> = ways.iter().map(|_| Samples::default()).collect();
        let mut order: Vec<usize> = (0..ways.len()).collect();
        let mut random = Rng::new(plan.seed);
        let end = monotonic_ns() + time.as_nanos() as u64;
        while monotonic_ns() < end && !(plan.is_over)() {
            random.shuffle(&mut order);
            for &at in &order {
                let least = if peers == Peers::Own { others.len() } else { 0 };
                block(&mut ways[at], &mut samples[at], others, least);
            }
        }
        (ways.into_iter().zip(samples).collect(), refused)
    };
    std::thread::scope(|threads| threads.spawn(measure).join().expect("it does not panic"))
}

/// Fences one after the other, each timed, with the interrupts that the other CPUs took meanwhile: at least `least` a
/// fence, if the backend interrupts.
fn block(way: &mut Way, samples: &mut Samples, others: &[usize], least: usize) {
    if samples.failed.is_some() {
        return;
    }
    match timed(way, others) {
        Ok((ns, interrupts)) => {
            samples.push(&ns, interrupts, if way.interrupts { least } else { 0 });
        }
        Err(why) => samples.failed = Some(why),
    }
}

fn timed(way: &mut Way, others: &[usize]) -> Result<(Vec<u64>, u64), String> {
    let before = interrupts(others)?;
    let mut all = Vec::with_capacity(BLOCK);
    let start = monotonic_ns();
    let mut now = start;
    while all.len() < BLOCK && (all.is_empty() || now - start < BLOCK_NS) {
        (way.fence)()?;
        let after = monotonic_ns();
        all.push(after - now);
        now = after;
    }
    Ok((all, interrupts(others)?.saturating_sub(before)))
}

/// The calls of functions that these CPUs have taken from others.
fn interrupts(cpus: &[usize]) -> Result<u64, String> {
    let counts = row(CALLS).map_err(|error| format!("its interrupts are not counted: {error}"))?;
    Ok(counts.iter().filter(|(cpu, _)| cpus.contains(cpu)).map(|(_, count)| count).sum())
}

fn row_of(peers: Peers, others: &[usize], way: &Way, samples: &Samples) -> Row {
    let timed = samples.timed();
    Row {
        name: way.name.to_owned(),
        threads: if peers == Peers::Own { 1 + others.len() } else { 1 },
        role: "subject",
        ns: timed.as_ref().map(|timed| timed.p50.ns),
        blocks: samples.blocks[0],
        operations: samples.fences,
        fence: Some(Fence { peers: peers.key(), light: way.light, timed }),
        failed: samples.refused(),
        ..Row::default()
    }
}
