//! Real lock experiments through the comparison's engine: how many runs it would have saved, and how often it would
//! have been wrong.
//!
//! The corpus (LiTL, MIT licence) is read from `../shared/corpora/litl` if present. Its repeats have no order in time
//! and are not paired, so drift is not tested here. The truth for a pair of locks is the median of all ratios between
//! their runs.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use uncontended_figures::{number, percent, whole};
use uncontended_stats::paired::ratio;
use uncontended_stats::{Claim, Margin, MaxError, Paired, Rng, Verdict};
use uncontended_testkit::repetitions;

/// Machine, nodes and program; then the throughputs of each lock.
type Experiments = BTreeMap<String, Vec<Vec<f64>>>;

const MARGIN: f64 = 0.02;
const ERROR: f64 = 0.05;

fn corpus() -> Option<Experiments> {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/litl/results.csv.gz");
    if !file.exists() {
        return None;
    }
    let text = Command::new("gzip")
        .arg("-dc")
        .arg(file)
        .output()
        .ok()
        .filter(|out| out.status.success())?
        .stdout;
    let mut cells: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for line in String::from_utf8(text).ok()?.lines().skip(1) {
        let [machine, nodes, program, lock, _, metric, _, _, value] =
            line.split(',').collect::<Vec<_>>()[..]
        else {
            continue;
        };
        if metric == "throughput" {
            let cell = cells
                .entry((format!("{machine} {nodes} {program}"), lock.to_string()))
                .or_default();
            cell.push(value.parse().ok()?);
        }
    }
    let mut experiments = Experiments::new();
    for ((experiment, _), values) in cells {
        experiments.entry(experiment).or_default().push(values);
    }
    Some(experiments)
}

/// The median of all time ratios B/A (throughput A over throughput B).
fn truth(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<f64> = a.iter().flat_map(|&x| b.iter().map(move |&y| x / y)).collect();
    all.sort_by(f64::total_cmp);
    let n = all.len();
    f64::midpoint(all[(n - 1) / 2], all[n / 2])
}

/// The verdict on "B is not worse than A" and the pairs it took.
fn judge(pairs: impl Iterator<Item = (f64, f64)>) -> (Verdict, u64) {
    let mut paired = Paired::new(Margin::new(MARGIN).unwrap(), MaxError::new(ERROR).unwrap());
    for (a, b) in pairs {
        paired.push(ratio(a, b).unwrap()).unwrap();
        if paired.verdict(Claim::NoWorse) != Verdict::Undecided {
            break;
        }
    }
    (paired.verdict(Claim::NoWorse), paired.pairs())
}

fn is_wrong(verdict: Verdict, truth: f64) -> bool {
    (verdict == Verdict::Yes && truth > 1.0 + MARGIN)
        || (verdict == Verdict::No && truth <= 1.0 + MARGIN)
}

#[test]
fn real_experiments_are_judged_in_fewer_runs_and_rightly() {
    let Some(experiments) = corpus() else {
        uncontended_testkit::skip!(
            "real_experiments_are_judged_in_fewer_runs_and_rightly",
            "no LiTL corpus here, or no gzip"
        );
        return;
    };
    let pairs = || {
        experiments.values().flat_map(|locks| {
            locks
                .iter()
                .enumerate()
                .flat_map(move |(i, a)| locks[i + 1..].iter().map(move |b| (&a[..], &b[..])))
        })
    };
    // As published: the runs themselves, each once, where both locks have at least twenty.
    let (mut decided, mut wrong, mut used, mut published, mut all) = (0, 0, 0, 0, 0);
    for (a, b) in pairs().filter(|(a, b)| a.len().min(b.len()) >= 20) {
        let (verdict, taken) = judge(a.iter().copied().zip(b.iter().copied()));
        all += 1;
        if verdict != Verdict::Undecided {
            decided += 1;
            wrong += u64::from(is_wrong(verdict, truth(a, b)));
            used += taken;
            published += a.len().min(b.len()) as u64;
        }
    }
    println!(
        "as published: {} pairs of locks, {} decided with {} of the pairs of runs left unused, {wrong} against the whole data's median",
        whole(all),
        whole(decided),
        percent(1.0 - used as f64 / published as f64)
    );
    assert!(decided * 3 > all && used * 2 < published && wrong * 20 <= decided);

    // Drawn again from the published runs, so that their median ratio is exactly the truth.
    let wanted = repetitions("pairs of locks, drawn from published runs", 2000, 250_000);
    let every = (pairs().count() / wanted as usize).max(1);
    let mut rng = Rng::new(1);
    let (mut decided, mut wrong, mut used, mut all) = (0, 0, 0, 0);
    for (a, b) in pairs().step_by(every) {
        let draw = |rng: &mut Rng, cell: &[f64]| cell[rng.below(cell.len() as u64) as usize];
        let (verdict, taken) = judge((0..200).map(|_| (draw(&mut rng, a), draw(&mut rng, b))));
        all += 1;
        used += taken;
        decided += u64::from(verdict != Verdict::Undecided);
        wrong += u64::from(is_wrong(verdict, truth(a, b)));
    }
    println!(
        "drawn: {} pairs of locks, {} decided within 200 pairs of runs, {} on average, {} wrong",
        whole(all),
        whole(decided),
        number(used as f64 / all as f64),
        percent(wrong as f64 / all as f64)
    );
    common::assert_at_most("drawn, wrong", all, wrong, ERROR);
    assert!(decided * 2 > all);
}
