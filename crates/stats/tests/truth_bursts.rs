//! Bursts are not mistaken for a rate, and the cost of the guard if there are none.
//!
//! Each simulation, in its short form too, detects a chance of three times the promise with 99 %;
//! `assert_at_most` computes it.

mod common;

use common::{assert_at_most, error, rate};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{given_percent, number, whole};
use uncontended_stats::bursts::{BurstJudge, Chain, Stretch};
use uncontended_stats::{Judge, Method, Question, Rng, Verdict};
use uncontended_testkit::repetitions;

/// A stream of outcomes: its generator makes the next one from its state.
type Next = fn(&mut Stream) -> bool;

struct Stream {
    rng: Rng,
    at: f64,
    state: f64,
    parameter: [f64; 2],
}

impl Stream {
    fn new(seed: u64, parameter: [f64; 2]) -> Stream {
        Stream { rng: Rng::new(seed), at: -1.0, state: f64::NAN, parameter }
    }

    fn next(&mut self, next: Next) -> bool {
        self.at += 1.0;
        next(self)
    }
}

/// A chain: the share of bad outcomes, and the mean length of their bursts.
fn markov(stream: &mut Stream) -> bool {
    let [bad, burst] = stream.parameter;
    let leaves_bad = 1.0 / burst;
    let leaves_good = leaves_bad * bad / (1.0 - bad);
    let is_bad = match stream.state {
        state if state.is_nan() => stream.rng.chance(bad),
        1.0 => !stream.rng.chance(leaves_bad),
        _ => stream.rng.chance(leaves_good),
    };
    stream.state = f64::from(u8::from(is_bad));
    !is_bad
}

/// A normal autoregression with this correlation, bad above this many deviations.
fn autoregressive(stream: &mut Stream) -> bool {
    let [correlation, level] = stream.parameter;
    let noise = stream.rng.normal();
    stream.state = match stream.state {
        state if state.is_nan() => noise,
        state => correlation * state + (1.0 - correlation * correlation).sqrt() * noise,
    };
    stream.state <= level
}

/// A neighbour that disturbs `length` runs in a row out of every `period`, from a random moment on.
fn periodic(stream: &mut Stream) -> bool {
    let [length, period] = stream.parameter;
    if stream.state.is_nan() {
        stream.state = (period * stream.rng.unit()).floor();
    }
    (stream.at + stream.state) % period >= length
}

/// A share of bad outcomes that goes from one value to another and back within a thousand runs, never beyond a tenth.
fn drifting(stream: &mut Stream) -> bool {
    let [from, to] = stream.parameter;
    let way = 0.5 - 0.5 * (stream.at * std::f64::consts::TAU / 1000.0).cos();
    !stream.rng.chance(from + (to - from) * way)
}

/// Every stream of the promise: the true rate is 95 %, or never below 90 %, and the threshold is 90 %.
const STREAMS: [(&str, Next, [f64; 2]); 11] = [
    ("independent", markov, [0.05, 1.0 / 0.95]),
    ("Markov, bursts of 5", markov, [0.05, 5.0]),
    ("Markov, bursts of 20", markov, [0.05, 20.0]),
    ("Markov, bursts of 50", markov, [0.05, 50.0]),
    ("AR(1) 0.5", autoregressive, [0.5, 1.644_853_6]),
    ("AR(1) 0.9", autoregressive, [0.9, 1.644_853_6]),
    ("neighbour, 5 in 100", periodic, [5.0, 100.0]),
    ("neighbour, 20 in 400", periodic, [20.0, 400.0]),
    ("neighbour, 50 in 1000", periodic, [50.0, 1000.0]),
    ("drift from 0 to 10 %", drifting, [0.0, 0.1]),
    ("drift from 10 % to 0", drifting, [0.1, 0.0]),
];

fn question(e: f64) -> Question {
    Question::about(rate(0.9), Method::OneSided, error(e))
}

#[derive(Default)]
struct Tally {
    no: u64,
    yes: u64,
    runs: u64,
}

fn tally(streams: u64, most: u64, e: f64, stretch: Option<Stretch>, of: (Next, [f64; 2])) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..streams {
        let mut stream = Stream::new(1000 + seed, of.1);
        let mut plain = Judge::new(question(e));
        let mut judge = BurstJudge::new(question(e), stretch.unwrap_or_default());
        let mut verdict = Verdict::Undecided;
        for _ in 0..most {
            let good = stream.next(of.0);
            verdict = if stretch.is_some() { judge.push(good) } else { plain.push(good) };
            tally.runs += 1;
            if verdict != Verdict::Undecided {
                break;
            }
        }
        tally.no += u64::from(verdict == Verdict::No);
        tally.yes += u64::from(verdict == Verdict::Yes);
    }
    tally
}

#[test]
fn bursts_are_not_taken_for_a_rate() {
    let streams = repetitions("bursts", 400, 10_000);
    let figures = |e: f64| {
        let at = given_percent(e);
        let before = format!("before: *no* at {at}");
        [before, "now: *no* · *yes* · undecided".into(), "runs".into()].map(Column::titled)
    };
    let mut columns = vec![Column::word("stream")];
    columns.extend([0.001, 0.05].into_iter().flat_map(figures));
    let mut table = Table::new(columns);
    for (name, next, parameter) in STREAMS {
        let mut row = vec![name.to_string()];
        for e in [0.001, 0.05] {
            let before = tally(streams, 3000, e, None, (next, parameter));
            let after = tally(streams, 3000, e, Some(Stretch::default()), (next, parameter));
            let now = [after.no, after.yes, streams - after.no - after.yes].map(whole);
            let runs = [before.runs, after.runs].map(|runs| whole(runs / streams));
            row.extend([whole(before.no), now.join(" · "), runs.join(" → ")]);
            // So few streams cannot find out three times 0.1 %.
            assert_at_most(&format!("{name}: no at {e}"), streams, after.no, 0.05);
        }
        table.row(row);
    }
    println!("{}", table.markdown());
}

/// The cost if runs are independent: the mean number of runs, at truths on either side of the threshold of 90 %.
#[test]
fn independent_runs_hardly_pay() {
    let streams = repetitions("the cost of minding bursts", 200, 4000);
    let columns = ["true rate, independent runs", "before: runs", "now", "wrong"];
    let mut table = Table::new(columns.map(Column::figure).to_vec());
    for (truth, most_ratio) in [
        (0.99, 1.15),
        (0.96, 1.15),
        (0.94, 1.15),
        (0.86, 1.15),
        (0.84, 1.15),
        (0.8, 1.2),
        (0.5, 3.0),
        (0.0, 100.0),
    ] {
        let of = (markov as Next, [1.0 - truth, 1.0 / f64::max(truth, 1e-9)]);
        let before = tally(streams, 20_000, 0.001, None, of);
        let after = tally(streams, 20_000, 0.001, Some(Stretch::default()), of);
        let ratio = after.runs as f64 / before.runs as f64;
        let wrong = if truth > 0.9 { after.no } else { after.yes };
        let [plain, minding] = [before.runs, after.runs].map(|runs| whole(runs / streams));
        let now = format!("{minding} ({} times)", number(ratio));
        table.row([given_percent(truth), plain, now, whole(wrong)]);
        assert!(ratio <= most_ratio, "{truth}: {ratio}");
        assert_eq!((after.no + after.yes, wrong), (streams, 0), "{truth}");
    }
    println!("{}", table.markdown());
}

/// If bad runs are too many but come in bursts, good ones alone may look like yes: that is trusted, unless a stretch
/// is given for yes too.
#[test]
fn a_yes_from_good_runs_alone_is_guarded_on_request() {
    let streams = repetitions("yes under bursts", 400, 4000);
    for burst in [5.0, 20.0] {
        let of = (markov as Next, [0.15, burst]);
        let plain = tally(streams, 5000, 0.05, None, of);
        let trusting = tally(streams, 5000, 0.05, Some(Stretch::default()), of);
        let guarded = Stretch { no: 20.0, yes: Some(20.0) };
        let minding = tally(streams, 5000, 0.05, Some(guarded), of);
        println!(
            "15 % bad in bursts of {burst}: yes {} of {streams} if independent, {} if clusters are minded; with a stretch for yes {}, undecided {}",
            plain.yes,
            trusting.yes,
            minding.yes,
            streams - minding.yes - minding.no
        );
        assert_at_most(&format!("bursts of {burst}: yes"), streams, minding.yes, 0.05);
        assert!(trusting.yes <= plain.yes, "{} {}", trusting.yes, plain.yes);
    }
}

/// Clustered bad runs must be refuted as bursts before a yes, however many good outcomes would otherwise suffice.
#[test]
fn a_yes_after_a_burst_takes_more() {
    let outcomes = |good: usize| {
        let parts = [(10, true), (12, false), (good, true)];
        parts.into_iter().flat_map(|(times, good)| std::iter::repeat_n(good, times))
    };
    let mut plain = Judge::new(question(0.001));
    let mut judge = BurstJudge::new(question(0.001), Stretch::default());
    for good in outcomes(330) {
        // The first burst would be a no; the plain judge is consulted afterwards.
        judge.push(good);
    }
    let scattered = (0..352).map(|i| i % 29 != 3);
    scattered.for_each(|good| {
        plain.push(good);
    });
    assert_eq!((judge.verdict(), plain.verdict()), (Verdict::Undecided, Verdict::Yes));
    let pending = judge.pending().unwrap();
    assert!(pending.would_be == Verdict::Yes && pending.log_evidence < pending.needed);
    let decided = (0..20_000).find(|_| judge.push(true) != Verdict::Undecided);
    assert!(decided.is_some() && judge.verdict() == Verdict::Yes, "{decided:?}");
}

#[test]
fn bursts_are_counted_and_their_chances_are_exact() {
    // Every arrangement of 4 bad outcomes among 9.
    let mut arrangements = [0_u32; 6];
    for bits in 0_u32..512 {
        if bits.count_ones() == 4 {
            let mut chain = Chain::default();
            (0..9).for_each(|i| chain.push(bits >> i & 1 == 0));
            arrangements[chain.bursts() as usize] += 1;
        }
    }
    assert_eq!(arrangements, [0, 6, 45, 60, 15, 0]);
    for (outcomes, clustered, scattered) in
        [("111100000", 6.0, 126.0), ("011010010", 111.0, 75.0), ("101010100", 126.0, 15.0)]
    {
        let mut chain = Chain::default();
        outcomes.chars().for_each(|outcome| chain.push(outcome == '0'));
        assert!((chain.clustered() - clustered / 126.0).abs() < 1e-6, "{outcomes}");
        assert!((chain.scattered() - scattered / 126.0).abs() < 1e-6, "{outcomes}");
    }
    assert_eq!((Chain::default().clustered(), Chain::default().scattered()), (1.0, 1.0));
}

/// The bound on the largest likelihood is one: no chain on a grid is likelier.
#[test]
fn no_chain_of_the_null_is_likelier_than_the_bound() {
    let mut rng = Rng::new(4);
    for _ in 0..300 {
        let (at, stretch) = (0.2 + 0.75 * rng.unit(), 1.0 + 40.0 * rng.unit());
        let (mut chain, mut outcomes) = (Chain::default(), Vec::new());
        let stay = rng.unit();
        let mut good = rng.chance(0.5);
        for _ in 0..rng.below(200) + 2 {
            outcomes.push(good);
            chain.push(good);
            good = if rng.chance(stay) { good } else { rng.chance(at) };
        }
        // Without evidence of its own the mixture equals the likelihood of independent outcomes at the rate.
        let evidence = chain.log_evidence(Verdict::No, rate(at), stretch, 0.0);
        let odds = (1.0 - at) / at;
        for step in 1..=200 {
            let leaves_bad = at / stretch + (at - at / stretch) * f64::from(step) / 200.0;
            for rest in [1.0, 0.9, 0.5, 0.1] {
                let leaves_good = rest * odds * leaves_bad;
                if leaves_good >= 1.0 {
                    continue;
                }
                let better: f64 = outcomes
                    .windows(2)
                    .map(|pair| {
                        let chain = match (pair[0], pair[1]) {
                            (true, true) => 1.0 - leaves_good,
                            (true, false) => leaves_good,
                            (false, true) => leaves_bad,
                            (false, false) => 1.0 - leaves_bad,
                        };
                        let independent = if pair[1] { at } else { 1.0 - at };
                        (chain / independent).ln()
                    })
                    .sum();
                // The second part of the mixture may exceed the first, but never the likeliest chain.
                let all = outcomes_at_best(&outcomes, at);
                let worth = (0.9_f64 + 0.1 * all.exp()).ln();
                assert!(
                    evidence <= worth - better + 1e-6 || evidence <= 0.0,
                    "{evidence} {better} {worth}"
                );
            }
        }
    }
}

/// The log-likelihood of the likeliest chain relative to independent outcomes at a rate, including the first outcome at
/// one half.
fn outcomes_at_best(outcomes: &[bool], at: f64) -> f64 {
    let row = |after: bool| {
        let next = outcomes.windows(2).filter(|pair| pair[0] == after).map(|pair| pair[1]);
        let (n, s) = (next.clone().count() as f64, next.filter(|&good| good).count() as f64);
        let term = |k: f64, p: f64| if k == 0.0 { 0.0 } else { k * (k / n / p).ln() };
        term(s, at) + term(n - s, 1.0 - at)
    };
    let first = if outcomes[0] { at } else { 1.0 - at };
    row(false) + row(true) + (0.5 / first).ln()
}
