//! The longest gaps of each CPU while nothing should run, and what they are due to: [`gaps`](crate::gaps) of all CPUs
//! at once, and what `rtla osnoise` says of the same CPUs, where it may run.

use crate::gaps::{Cause, Gap, Watched, watch};
use crate::{Plan, Row, Topic, osnoise};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use uncontended_bench::Cpu;
use uncontended_figures::progress::Line;
use uncontended_figures::{duration, percent};
use uncontended_sys::clock::monotonic_ns;

pub(crate) const QUESTION: &str =
    "how long are the gaps of each CPU while nothing should run, and what are they due to";
/// The least gap: what takes less is hardly told from a slow reading.
const LEAST_NS: u64 = 1_000;
/// How many gaps of a CPU are listed.
const LONGEST: usize = 4;
/// The part of the time that `rtla` has.
const OSNOISE_SHARE: f64 = 0.3;

/// The gaps of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gaps {
    /// Two readings of the clock that are further apart are a gap.
    pub threshold_ns: u64,
    /// How long the CPU was watched.
    pub watched_ns: u64,
    /// The gaps.
    pub count: u64,
    /// All of them together.
    pub total_ns: u64,
    /// The longest, the longest first.
    pub longest: Vec<LongGap>,
    /// Gaps by what they are due to.
    pub by: Vec<ByCause>,
    /// What `rtla osnoise` says of this CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub osnoise: Option<osnoise::Noise>,
}

/// A listed gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongGap {
    /// How long it lasted.
    pub ns: u64,
    /// When it began, from the start of the watch.
    pub at_ns: u64,
    /// What it is due to.
    pub by: Cause,
    /// What rose meanwhile: interrupts, then softirqs.
    pub seen: Vec<String>,
}

/// The gaps due to a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ByCause {
    /// The cause.
    pub by: Cause,
    /// The gaps.
    pub count: u64,
    /// All of them together.
    pub total_ns: u64,
}

/// Watches all CPUs at once.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let cpus: Vec<usize> =
        Cpu::allowed().unwrap_or_default().iter().map(|cpu| cpu.number).collect();
    let (watched, left_out) = cpus.split_at(cpus.len().min(plan.threads.unwrap_or(usize::MAX)));
    let mut progress = Line::new(plan.quiet);
    progress.say("jitter · watching the CPUs");
    let threshold = threshold();
    let start = monotonic_ns();
    let end = start + plan.budget.mul_f64(1.0 - OSNOISE_SHARE).as_nanos() as u64;
    let seen = watch_all(watched, threshold, end, plan.is_over);
    let mut topic = Topic::left_out("jitter", QUESTION, "");
    topic.not_measured.clear();
    topic.stopped_by = if (plan.is_over)() { "interrupted" } else { "time" };
    topic.rows =
        watched.iter().zip(&seen).map(|(&cpu, seen)| row(cpu, seen, threshold, start)).collect();
    if !left_out.is_empty() {
        topic.not_measured.push(format!("CPUs {left_out:?}: --threads leaves them out"));
    }
    if !(plan.is_over)() {
        progress.say("jitter · rtla osnoise");
        let time = plan.budget.mul_f64(OSNOISE_SHARE).max(Duration::from_secs(1));
        match osnoise::run("rtla", time, plan.is_over) {
            Ok(noise) => add(&mut topic.rows, &noise),
            Err(why) => topic.not_measured.push(format!("rtla osnoise: {why}")),
        }
    }
    progress.clear();
    remark(&mut topic, &seen, threshold, monotonic_ns().min(end) - start);
    topic
}

/// A microsecond, or several readings of a slow clock.
fn threshold() -> u64 {
    const READINGS: u64 = 1_000;
    let round = || {
        let start = monotonic_ns();
        (0..READINGS).for_each(|_| _ = std::hint::black_box(monotonic_ns()));
        (monotonic_ns() - start) / READINGS
    };
    let reading = (0..5).map(|_| round()).min().unwrap_or(0);
    LEAST_NS.max(10 * reading)
}

/// What each CPU saw, or why it saw nothing.
fn watch_all(
    cpus: &[usize],
    threshold: u64,
    end: u64,
    is_over: fn() -> bool,
) -> Vec<Result<Watched, String>> {
    std::thread::scope(|scope| {
        let watches: Vec<_> = cpus
            .iter()
            .map(|&cpu| scope.spawn(move || watch(cpu, threshold, end, is_over)))
            .collect();
        let ended = |watch: std::thread::ScopedJoinHandle<'_, _>| {
            watch.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
        };
        watches.into_iter().map(ended).collect()
    })
}

fn row(cpu: usize, seen: &Result<Watched, String>, threshold: u64, start: u64) -> Row {
    let row = Row { name: format!("CPU {cpu}"), threads: 1, role: "subject", ..Row::default() };
    match seen {
        Err(why) => Row { failed: Some(why.clone()), ..row },
        Ok(seen) => {
            let gaps = gaps(seen, threshold, start);
            let quiet = seen.watched_ns.saturating_sub(gaps.total_ns);
            let ns = (seen.readings > 0).then(|| quiet as f64 / seen.readings as f64);
            Row { ns, operations: seen.readings, gaps: Some(gaps), ..row }
        }
    }
}

fn gaps(seen: &Watched, threshold_ns: u64, start: u64) -> Gaps {
    let mut by: BTreeMap<Cause, (u64, u64)> = BTreeMap::new();
    for gap in &seen.gaps {
        let (count, total) = by.entry(gap.by).or_default();
        (*count, *total) = (*count + 1, *total + gap.ns);
    }
    let mut longest: Vec<&Gap> = seen.gaps.iter().collect();
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.ns));
    let told = |gap: &&Gap| LongGap {
        ns: gap.ns,
        at_ns: gap.from_ns.saturating_sub(start),
        by: gap.by,
        seen: gap.seen.clone(),
    };
    Gaps {
        threshold_ns,
        watched_ns: seen.watched_ns,
        count: seen.gaps.len() as u64,
        total_ns: seen.gaps.iter().map(|gap| gap.ns).sum(),
        longest: longest.iter().take(LONGEST).map(told).collect(),
        by: by.iter().map(|(&by, &(count, total_ns))| ByCause { by, count, total_ns }).collect(),
        osnoise: None,
    }
}

fn add(rows: &mut [Row], noise: &BTreeMap<usize, osnoise::Noise>) {
    for (cpu, noise) in noise {
        let own = rows.iter_mut().find(|row| row.name == format!("CPU {cpu}"));
        if let Some(gaps) = own.and_then(|row| row.gaps.as_mut()) {
            gaps.osnoise = Some(*noise);
        }
    }
}

fn remark(topic: &mut Topic, seen: &[Result<Watched, String>], threshold: u64, wall: u64) {
    let seen: Vec<&Watched> = seen.iter().flatten().collect();
    let watched: u64 = seen.iter().map(|seen| seen.watched_ns).sum();
    let share = watched as f64 / (wall * seen.len() as u64).max(1) as f64;
    topic.notes.push(format!(
        "a thread on each CPU reads the clock; readings further apart than {} are a gap; the kernel's counters are read after each gap, so {} of the time was watched",
        duration(threshold),
        percent(share.min(1.0))
    ));
    topic.notes.push("throttling: a control group had used up its quota; preemption is exact, and noticed also while counters are read; other causes are what the kernel counted on this CPU since the last gap, at most 10 ms before; steal is counted in ticks of 10 ms; unknown: nothing rose, as when a hypervisor or the firmware takes the CPU without telling".to_owned());
    let gaps = || seen.iter().flat_map(|seen| &seen.gaps);
    let lost: u64 = gaps().filter(|gap| gap.by == Cause::Preemption).map(|gap| gap.ns).sum();
    if lost as f64 > 0.01 * watched as f64 {
        topic.warnings.push(format!(
            "other programs took {} of the CPUs' time: stop them and measure again",
            percent(lost as f64 / watched.max(1) as f64)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_told_and_all_are_counted_by_cause() {
        let gap = |at: u64, ns: u64, by: Cause| Gap {
            from_ns: 1_000 + at,
            ns,
            by,
            seen: vec!["LOC".to_owned()],
        };
        let seen = Watched {
            watched_ns: 1_000_000,
            readings: 10,
            gaps: vec![
                gap(0, 2_000, Cause::Interrupt),
                gap(9_000, 8_000, Cause::Preemption),
                gap(30_000, 3_000, Cause::Interrupt),
                gap(40_000, 1_500, Cause::Unknown),
                gap(50_000, 1_000, Cause::Interrupt),
            ],
        };
        let row = row(3, &Ok(seen), 1_000, 1_000);
        let gaps = row.gaps.unwrap();
        assert_eq!((row.name.as_str(), row.ns), ("CPU 3", Some(98_450.0)));
        assert_eq!((gaps.count, gaps.total_ns, gaps.longest.len()), (5, 15_500, LONGEST));
        assert_eq!((gaps.longest[0].ns, gaps.longest[0].at_ns), (8_000, 9_000));
        assert_eq!(gaps.longest[3].ns, 1_500);
        let by = |by, count, total_ns| ByCause { by, count, total_ns };
        let all = [
            by(Cause::Preemption, 1, 8_000),
            by(Cause::Interrupt, 3, 6_000),
            by(Cause::Unknown, 1, 1_500),
        ];
        assert_eq!(gaps.by, all);
    }

    #[test]
    fn a_cpu_that_is_not_allowed_fails_alone() {
        let cpu = Cpu::allowed().unwrap()[0].number;
        let end = monotonic_ns() + 5_000_000;
        let seen = watch_all(&[cpu, 1 << 20], threshold(), end, || false);
        assert!(seen[0].is_ok());
        let row = row(1 << 20, &seen[1], 1, 0);
        assert!(row.failed.unwrap().starts_with("a thread cannot be on this CPU"));
    }
}
