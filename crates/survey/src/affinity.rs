//! What it changes that two threads that exchange messages stay on their CPUs: the cost of an exchange, its rate over
//! time, and the latency between each two CPUs.
//!
//! # Contract
//! Each way ([`exchange`]) is measured free, pinned to two CPUs, and pinned to one, in interleaved blocks. Then two
//! threads of each run on for a while, free and pinned, and the rate of each slice of time goes to a detector of
//! changes (`stats::change`): free threads may run at one speed for a second and at another for the next. Only threads
//! of this topic are pinned, each for its own life: the survey's own thread, and others, keep the CPUs that they have,
//! also if the survey ends early.
//! # Evidence
//! The tests below, and those of [`cores`] and [`exchange`].
//! # Sources
//! Document 004: free threads follow a step function, pinned ones have one rate, and the greatest.

use crate::exchange::{self, Answerer, Asker, END, Way, exchange, until_end};
use crate::pool::pin;
use crate::{Class, Plan, Topic, cores};
use serde::Serialize;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Cpu, Place};
use uncontended_figures::progress::Line;
use uncontended_stats::MaxError;
use uncontended_stats::change::Detector;
use uncontended_sys::clock::monotonic_ns;

pub(crate) const QUESTION: &str =
    "what does it change that two threads that exchange messages stay on their CPUs";
/// The parts of the time: for blocks, for rates over time; the rest is for the matrix.
const BLOCKS: f64 = 0.45;
const OVER_TIME: f64 = 0.4;
/// The slices of a rate over time.
const SLICES: u32 = 200;
/// Exchanges between two readings of the clock.
const BATCH: u64 = 8;
/// The most false alarms per slice, on average, if the rate does not change and slices are independent.
const FALSE_ALARMS: f64 = 0.000_1;

/// The rate of a pair of threads over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverTime {
    /// Slices of time, in their order.
    pub slices: Vec<Slice>,
    /// Where the rate changed.
    pub steps: Vec<Step>,
}

/// A slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// When it ended, from the start.
    pub until_ns: u64,
    /// Exchanges per second.
    pub per_s: f64,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// When, from the start.
    pub at_ns: u64,
    /// The median rate from the step before to this one.
    pub before_per_s: f64,
    /// The median rate from this one to the next.
    pub after_per_s: f64,
}

/// Measures all ways that are permitted, and the matrix.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let cpus: Vec<usize> =
        Cpu::allowed().unwrap_or_default().iter().map(|cpu| cpu.number).collect();
    if cpus.len() < 2 {
        return Topic::left_out("affinity", QUESTION, "only one CPU is allowed, and it takes two");
    }
    if plan.threads == Some(1) {
        return Topic::left_out(
            "affinity",
            QUESTION,
            "--threads 1 allows one thread, and it takes two",
        );
    }
    let start = monotonic_ns();
    let mut topic = Topic::left_out("affinity", QUESTION, "");
    topic.not_measured.clear();
    let refused = |way: &Way| way.refusal().map(|why| format!("{}: {why}", way.key()));
    topic.not_measured.extend(Way::ALL.iter().filter_map(refused));
    let ways: Vec<Way> = Way::ALL.into_iter().filter(|way| way.refusal().is_none()).collect();
    for &way in &ways {
        let budget = plan.budget.mul_f64(BLOCKS / ways.len() as f64);
        blocks(&mut topic, way, &Plan { budget, ..plan.clone() });
    }
    let pairs = pairs(&cpus);
    let time = plan.budget.mul_f64(OVER_TIME / (ways.len() * pairs.len()).max(1) as f64);
    let mut progress = Line::new(plan.quiet);
    for &way in &ways {
        for (name, pinned) in &pairs {
            progress.say(&format!("affinity · {}, {name} · over time", way.key()));
            rates(&mut topic, way, name, *pinned, time, plan.is_over);
        }
    }
    progress.say("affinity · core to core");
    // The first round is measured whatever the others took.
    let left = plan.budget.mul_f64(1.0 - BLOCKS - OVER_TIME).as_nanos() as u64;
    let end = (start + plan.budget.as_nanos() as u64).max(monotonic_ns() + left / 2);
    let matrix = cores::matrix(&cpus, end, plan.seed, plan.is_over);
    progress.clear();
    let pairs = matrix.pairs();
    let missing = pairs.iter().filter(|(_, ns)| ns.is_none()).count();
    if missing > 0 {
        let why = if (plan.is_over)() { "interrupted" } else { "no time, or a CPU was kept busy" };
        topic
            .not_measured
            .push(format!("the latency of {missing} of {} pairs of CPUs: {why}", pairs.len()));
    }
    topic.matrix = Some(matrix);
    remark(&mut topic);
    topic
}

fn remark(topic: &mut Topic) {
    topic.baseline = Some("the same way, free".to_owned());
    topic.notes.push("an exchange is a message there and one back".to_owned());
    topic.notes.push(format!(
        "a step: at most {} false ones per slice on average if slices are independent; a machine that does other work has steps of its own",
        uncontended_figures::given_number(FALSE_ALARMS)
    ));
    topic.notes.push("measured elsewhere, on a processor that is not named: multicast over a local interface follows a step function of the time while its threads are free, and has one rate, the greatest, while they are pinned".to_owned());
    topic.warnings.sort();
    topic.warnings.dedup();
}

/// Free threads, and two CPUs, of different cores if there are.
fn pairs(cpus: &[usize]) -> [(&'static str, Option<[usize; 2]>); 2] {
    let all = Cpu::allowed().unwrap_or_default();
    let chosen = Place::TwoCpus.pinning(&all).ok();
    let two = chosen.and_then(|pinning| <[usize; 2]>::try_from(pinning.cpus().to_vec()).ok());
    [("free", None), ("pinned", Some(two.unwrap_or([cpus[0], cpus[1]])))]
}

/// Adds the rows of a way, measured in blocks.
fn blocks(topic: &mut Topic, way: Way, plan: &Plan) {
    let name = |place: &str| format!("{}, {place}", way.key());
    let run = move |block: &mut Block| {
        let n = block.at_least(2);
        let (ask, answer) = exchange::ends(way).unwrap_or_else(|why| panic!("{why}"));
        let (mut asked, mut answered) = (Ok(()), Ok(()));
        block.pair(|| asked = exchange(ask, n), || answered = until_end(answer));
        asked.and(answered).unwrap_or_else(|why| panic!("{why}"));
    };
    let report = Bench::new("affinity", QUESTION)
        .places([Place::Free])
        .per("exchange")
        .subject(&name("free"), run)
        .subject_at(Place::TwoCpus, &name("pinned"), run)
        .subject_at(Place::OneCpu, &name("one CPU"), run)
        .until(plan.is_over)
        .run(&plan.options());
    let of = Topic::of(("affinity", QUESTION), &report, |_, _| (2, Class::Other));
    topic.rows.extend(of.rows);
    topic.warnings.extend(of.warnings.iter().map(|why| format!("{}: {why}", way.key())));
    topic.not_measured.extend(of.not_measured);
    let is_worse = topic.stopped_by == "nothing-to-compare" || of.stopped_by != "narrow";
    topic.stopped_by = if is_worse { of.stopped_by } else { topic.stopped_by };
}

/// Adds the rate over time to the row of a way at a place.
fn rates(
    topic: &mut Topic,
    way: Way,
    place: &str,
    cpus: Option<[usize; 2]>,
    time: Duration,
    is_over: fn() -> bool,
) {
    let name = format!("{}, {place}", way.key());
    if is_over() {
        return topic.not_measured.push(format!("{name}, over time: interrupted"));
    }
    let slices = exchange::ends(way).and_then(|ends| over_time(ends, cpus, time, is_over));
    match slices {
        Err(why) => topic.not_measured.push(format!("{name}, over time: {why}")),
        Ok(slices) => {
            let row = topic.rows.iter_mut().find(|row| row.name == name);
            if let Some(row) = row {
                row.over_time = Some(OverTime { steps: steps(&slices), slices });
            }
        }
    }
}

/// Lets two threads exchange messages for this long.
fn over_time(
    (ask, answer): (Asker, Answerer),
    cpus: Option<[usize; 2]>,
    time: Duration,
    is_over: fn() -> bool,
) -> Result<Vec<Slice>, String> {
    let slice_ns = (time / SLICES).max(Duration::from_millis(1)).as_nanos() as u64;
    let count = (time.as_nanos() as u64 / slice_ns).max(1);
    std::thread::scope(|scope| {
        let answering = scope.spawn(move || {
            pin(cpus.map(|[_, second]| second));
            until_end(answer)
        });
        let asking = scope.spawn(move || {
            pin(cpus.map(|[first, _]| first));
            slices(ask, slice_ns, count, is_over)
        });
        let ended = |_| "a thread of the exchange panicked".to_owned();
        let (asked, answered) = (asking.join().map_err(ended)?, answering.join().map_err(ended)?);
        answered.and(asked)
    })
}

fn slices(
    mut ask: Asker,
    slice_ns: u64,
    count: u64,
    is_over: fn() -> bool,
) -> Result<Vec<Slice>, String> {
    let mut all = Vec::with_capacity(count as usize);
    let start = monotonic_ns();
    let (mut from, mut exchanges) = (start, 0);
    while from < start + slice_ns * count && !is_over() {
        for number in 1..=BATCH {
            ask(number as u32)?;
        }
        exchanges += BATCH;
        let now = monotonic_ns();
        if now - from >= slice_ns {
            let per_s = exchanges as f64 * 1e9 / (now - from) as f64;
            all.push(Slice { until_ns: now - start, per_s });
            (from, exchanges) = (now, 0);
        }
    }
    ask(END)?;
    Ok(all)
}

/// Where the rate of the slices changes.
fn steps(slices: &[Slice]) -> Vec<Step> {
    let mut detector = Detector::new(MaxError::new(FALSE_ALARMS).expect("a chance"));
    let alarms = slices.iter().filter_map(|slice| detector.push(slice.per_s));
    let changes: Vec<usize> = alarms.map(|alarm| alarm.since).collect();
    let rate = |from: usize, until: usize| {
        let mut rates: Vec<f64> = slices[from..until].iter().map(|slice| slice.per_s).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let step = |at: usize| {
        let since = changes[at];
        let before = if at == 0 { 0 } else { changes[at - 1] };
        let next = changes.get(at + 1).copied().unwrap_or(slices.len());
        Step {
            at_ns: slices[since - 1].until_ns,
            before_per_s: rate(before, since),
            after_per_s: rate(since, next),
        }
    };
    (0..changes.len()).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_stats::Rng;

    fn planted(rates: &[(usize, f64)]) -> Vec<Slice> {
        let mut rng = Rng::new(5);
        let each = rates.iter().flat_map(|&(count, rate)| vec![rate; count]);
        let noisy = each.map(|rate| rate * (1.0 + 0.02 * rng.normal()));
        let slice = |(per_s, at): (f64, u64)| Slice { until_ns: at * 1_000_000, per_s };
        noisy.zip(1..).map(slice).collect()
    }

    #[test]
    fn planted_steps_are_found_with_the_rates_around_them() {
        assert_eq!(steps(&planted(&[(200, 1e5)])), []);
        let found = steps(&planted(&[(60, 1e5), (60, 1.5e5), (80, 0.9e5)]));
        assert_eq!(found.len(), 2, "{found:?}");
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.02;
        assert!(near(found[0].before_per_s, 1e5) && near(found[0].after_per_s, 1.5e5), "{found:?}");
        assert!(
            near(found[1].before_per_s, 1.5e5) && near(found[1].after_per_s, 0.9e5),
            "{found:?}"
        );
        let at = |ns: u64, expected: u64| ns.abs_diff(expected) <= 2_000_000;
        assert!(at(found[0].at_ns, 60_000_000) && at(found[1].at_ns, 120_000_000), "{found:?}");
    }

    #[test]
    fn a_rate_over_time_is_of_every_slice_and_leaves_this_thread_free() {
        let before = uncontended_sys::affinity::allowed().unwrap();
        let cpus = Some([before[0], before[before.len() - 1]]);
        for way in [Way::Ring, Way::Futex] {
            let time = Duration::from_millis(40);
            let all = over_time(exchange::ends(way).unwrap(), cpus, time, || false).unwrap();
            assert!((1..=40).contains(&all.len()), "{}", all.len());
            assert!(all.iter().all(|slice| slice.per_s > 0.0));
            assert!(all.windows(2).all(|two| two[1].until_ns - two[0].until_ns >= 1_000_000));
        }
        assert_eq!(uncontended_sys::affinity::allowed().unwrap(), before);
    }

    #[test]
    fn an_interrupted_topic_says_so_and_leaves_this_thread_free() {
        let before = uncontended_sys::affinity::allowed().unwrap();
        let plan = Plan {
            budget: Duration::from_secs(60),
            quiet: true,
            is_over: || true,
            ..Plan::default()
        };
        let begun = std::time::Instant::now();
        let topic = measure(&plan);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert_eq!(uncontended_sys::affinity::allowed().unwrap(), before);
        let expected = if before.len() < 2 { "it takes two" } else { "over time: interrupted" };
        assert!(topic.not_measured.iter().any(|line| line.contains(expected)), "{topic:?}");
    }

    #[test]
    fn an_answer_that_does_not_come_is_an_error() {
        let (ask, _) = exchange::ends(Way::Ring).unwrap();
        let (_, answer) = exchange::ends(Way::Ring).unwrap();
        let error = over_time((ask, answer), None, Duration::from_millis(5), || false);
        assert_eq!(error.unwrap_err(), "the other side has gone");
    }
}
