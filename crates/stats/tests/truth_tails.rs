//! Tails against their promises: the error of claiming more slow runs of equals is bounded, and a tail of a tenth of
//! the runs that are at least twice as slow is cleared in at most one trial in twenty.
//!
//! The short form's own power: of 400 trials it rejects 39 or more where 5 % is promised, and a true chance of 15 %
//! gives that many with 99.9 %. The full form of 10,000 trials tests equals at the promise of 1 %: it rejects
//! 140 or more, and 3 % gives that many with certainty. `assert_at_most` computes both.

mod common;

use common::{assert_at_most, counts, error, rate};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{given_percent, percent, whole};
use uncontended_stats::tails::{Clearance, Excess, Side, Tails};
use uncontended_stats::{Prior, Rate, Rng};
use uncontended_testkit::{is_full, repetitions};

const LEVELS: [f64; 7] = [1.5, 3.0, 6.0, 12.0, 24.0, 48.0, f64::INFINITY];
const BY: f64 = 0.09;

/// A clear tail of independent runs.
fn asked(missed: f64) -> Clearance {
    Clearance { by: rate(BY), missed: error(missed), bursts: None }
}

/// A run of the baseline, in units of its median.
type Noise = fn(&mut Rng, f64) -> f64;

const NOISES: [(&str, Noise); 6] = [
    ("uniform 20 %", |rng, _| 0.9 + 0.2 * rng.unit()),
    (
        "bimodal 1 and 10",
        |rng, _| if rng.chance(0.5) { 1.0 } else { 10.0 } * (0.95 + 0.1 * rng.unit()),
    ),
    (
        "a fifth 3 times slower",
        |rng, _| if rng.chance(0.8) { 1.0 } else { 3.0 } * (0.95 + 0.1 * rng.unit()),
    ),
    ("heavy-tailed", |rng, _| 1.0 / (1e-9 + rng.unit())),
    ("drift of both", |rng, time| (1.0 + 5.0 * time) * (0.9 + 0.2 * rng.unit())),
    ("lost now and then", |rng, _| if rng.chance(0.1) { f64::INFINITY } else { 1.0 + rng.unit() }),
];

/// Trials that cleared the tail at any look, that found it heavier (with the error promised), and how many pairs the
/// former took.
fn outcomes(
    (trials, pairs): (u64, u64),
    promised: f64,
    noise: Noise,
    slower: impl Fn(&mut Rng) -> f64,
) -> [u64; 3] {
    let (mut rng, mut cleared, mut heavier, mut taken) = (Rng::new(17), 0, 0, 0);
    for _ in 0..trials {
        let mut tails = Tails::new(&LEVELS, 1.02);
        let mut found = [false; 2];
        for pair in 0..pairs {
            let time = pair as f64 / pairs as f64;
            let baseline = noise(&mut rng, time);
            let candidate = noise(&mut rng, time) * slower(&mut rng);
            tails.push(candidate, baseline);
            found[0] |= tails.is_clear(Side::Heavier, &asked(0.05));
            found[1] |= tails.heavy(Side::Heavier, error(promised)).is_some();
            taken += u64::from(!found[0]);
            if found[0] {
                break;
            }
        }
        cleared += u64::from(found[0]);
        heavier += u64::from(found[1]);
    }
    [cleared, heavier, taken / trials]
}

fn share(count: u64, trials: u64) -> String {
    percent(count as f64 / trials as f64)
}

#[test]
fn equals_are_hardly_ever_heavier_and_are_cleared() {
    let trials = repetitions("equals", 400, 10_000);
    // 400 trials cannot find out three times 1 %.
    let promised = if is_full() { 0.01 } else { 0.05 };
    let columns = ["cleared", "heavier", "mean pairs"].map(Column::figure);
    let mut table =
        Table::new(std::iter::once(Column::word("two equals")).chain(columns).collect());
    for (name, noise) in NOISES {
        let [cleared, heavier, pairs] = outcomes((trials, 1000), promised, noise, |_| 1.0);
        table.row([name.to_string(), share(cleared, trials), share(heavier, trials), whole(pairs)]);
        assert_at_most(&format!("{name}: heavier than itself"), trials, heavier, promised);
        assert!(cleared * 10 >= trials * 9, "{name}: {cleared} of {trials}");
    }
    println!("{}", table.markdown());
}

#[test]
fn a_tenth_of_the_runs_twice_as_slow_is_hardly_ever_cleared() {
    let trials = repetitions("a heavy tail cleared", 400, 40_000);
    let columns = ["overlooked", "found"].map(Column::figure);
    let words = ["noise of both", "candidate"].map(Column::word).into_iter();
    let mut table = Table::new(words.chain(columns).collect());
    let mut tell = |name: &str, part: f64, times: f64, [cleared, heavier]: [u64; 2]| {
        let candidate = format!("{times} times slower in {}", given_percent(part));
        let [overlooked, found] = [cleared, heavier].map(|seen| share(seen, trials));
        table.row([name.to_string(), candidate, overlooked, found]);
    };
    let normal: (&str, Noise) = ("log-normal, spread 20 %", |rng, _| (0.2 * rng.normal()).exp());
    for (name, noise) in [NOISES[0], normal] {
        for (share, times) in [(0.1, 2.0), (0.1, 4.0), (0.3, 4.0)] {
            let [cleared, heavier, _] =
                outcomes(
                    (trials, 200),
                    0.01,
                    noise,
                    |rng| if rng.chance(share) { times } else { 1.0 },
                );
            let what = format!("{name}, {times} times slower in {share}: cleared");
            tell(name, share, times, [cleared, heavier]);
            assert_at_most(&what, trials, cleared, 0.05);
        }
    }
    // A smaller tail need not be found; that it may be cleared is what "untested" means.
    let [cleared, heavier, _] =
        outcomes((trials, 200), 0.01, NOISES[0].1, |rng| if rng.chance(0.03) { 4.0 } else { 1.0 });
    tell(NOISES[0].0, 0.03, 4.0, [cleared, heavier]);
    println!("{}", table.markdown());
    assert!(cleared > 0, "a tail of 3 % is said to be untested");
    // A faster median with a worse tail.
    let [cleared, ..] =
        outcomes((trials, 200), 0.01, NOISES[0].1, |rng| if rng.chance(0.1) { 4.0 } else { 0.5 });
    assert_at_most("half the median, a tenth 4 times slower: cleared", trials, cleared, 0.05);
}

/// Each level gets its share of the error: with more levels, it takes more slow runs of the candidate alone.
#[test]
fn the_levels_share_the_error() {
    let taken = |levels: usize| {
        let mut tails = Tails::new(&LEVELS[..levels], 1.0);
        (0..3).for_each(|_| tails.push(1.0, 1.0));
        let slow = |_: &u64| {
            tails.push(2.0, 1.0);
            tails.heavy(Side::Heavier, error(0.01)).is_some()
        };
        (1..).find(slow).unwrap()
    };
    for levels in [1, 7] {
        let needed = -error(0.01).split(levels as u32).log();
        let evidence = |k| Prior::Above(Rate::HALF).log_evidence(counts(k, k), Rate::HALF);
        assert_eq!(Some(taken(levels)), (1..).find(|&k| evidence(k) >= needed), "{levels}");
    }
    assert!(taken(7) > taken(1));
}

#[test]
fn what_the_baseline_does_too_is_no_tail_and_what_it_does_not_is() {
    let mut tails = Tails::new(&LEVELS, 1.0);
    for pair in 0..400 {
        let slow = if pair % 5 == 0 { 3.0 } else { 1.0 };
        tails.push(if pair % 5 == 2 { 12.5 } else { 1.0 }, slow);
    }
    let heavy = tails.heavy(Side::Heavier, error(1e-3)).unwrap();
    assert_eq!((heavy.factor, tails.times_slower(heavy)), (3.0, Some(12.5)));
    assert!(tails.heavy(Side::Lighter, error(1e-3)).is_none());
    // Lost runs are the highest level; a pair lost on both sides counts nowhere.
    let mut lost = Tails::new(&LEVELS, 1.0);
    for _ in 0..50 {
        lost.push(f64::INFINITY, f64::INFINITY);
        lost.push(1.0, f64::INFINITY);
    }
    assert_eq!(lost.levels()[6].lighter, Excess { more: 50, ..Excess::default() });
    assert!(lost.heavy(Side::Lighter, error(1e-6)).is_some());
    lost.push(f64::NAN, 1.0);
    assert_eq!(lost.levels()[6].heavier.pairs(), 50);
}

/// By how much slow runs are slower: their median, whatever their order, in medians of the baseline.
#[test]
fn times_slower_is_a_median() {
    let told = |costs: &[f64]| {
        let mut tails = Tails::new(&[1.5], 1.2);
        (0..3).for_each(|_| tails.push(2.0, 2.0));
        costs.iter().for_each(|&cost| tails.push(cost, 2.0));
        tails.times_slower(&tails.levels()[0])
    };
    // Costs up to 2 x 1.5 x 1.2 are not slow.
    assert_eq!(told(&[3.5, 16.0, 3.2, 4.0, 3.5, 6.0]), Some(3.0));
    assert_eq!(told(&[16.0, 6.0]), Some(8.0), "of two, the slower");
    assert_eq!(told(&[4.0]), Some(2.0));
    assert_eq!(told(&[3.5]), None);
    assert_eq!(told(&[4.0, f64::INFINITY, f64::INFINITY]), None, "most of them were lost");
}

/// On average over every outcome of twelve pairs, an e-process is at most 1 under its null, and more than 1 away from
/// it.
#[test]
fn the_tests_are_worth_at_most_one_under_their_nulls() {
    let n = 12_u64;
    let factorial = |k: u64| (1..=k).map(|i| i as f64).product::<f64>();
    let worth = |more: f64, less: f64, log: &dyn Fn(&Excess) -> f64| {
        let mut mean = 0.0;
        for m in 0..=n {
            for l in 0..=n - m {
                let neither = n - m - l;
                let ways = factorial(n) / (factorial(m) * factorial(l) * factorial(neither));
                let powers = |p: f64, k: u64| p.powi(i32::try_from(k).unwrap());
                let chance =
                    ways * powers(more, m) * powers(less, l) * powers(1.0 - more - less, neither);
                let excess = Excess { more: m, less: l, both: 0, neither };
                mean += chance * log(&excess).exp();
            }
        }
        mean
    };
    let not_more = |excess: &Excess| excess.log_not_more(rate(BY));
    let is_more = |excess: &Excess| excess.log_more();
    for less in [0.0, 0.05, 0.3] {
        let at_the_edge = worth(less + BY, less, &not_more);
        assert!(at_the_edge <= 1.0 + 1e-9 && at_the_edge > 0.3, "{less}: {at_the_edge}");
        assert!(worth(less + 0.3, less, &not_more) <= 1.0 + 1e-9);
        assert!(worth(less, less, &is_more) <= 1.0 + 1e-9);
        assert!(worth(less * 0.5, less, &is_more) <= 1.0 + 1e-9);
    }
    assert!(worth(0.0, 0.2, &not_more) > 2.0 && worth(0.5, 0.0, &is_more) > 2.0);
}

#[test]
fn the_fewest_pairs_are_what_it_takes() {
    for missed in [0.2, 0.05, 0.001] {
        let mut tails = Tails::new(&LEVELS, 1.02);
        let taken = (1..).find(|_| {
            tails.push(1.0, 1.0);
            tails.is_clear(Side::Heavier, &asked(missed))
        });
        assert_eq!(taken, Some(Tails::fewest_clear(&asked(missed))), "{missed}");
    }
    assert!(Tails::fewest_clear(&asked(0.05)) <= 46);
}
