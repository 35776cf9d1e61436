//! The trial of paired ratios, run by run: what a finding holds, which way around, and which runs count.

use uncontended_decide::guard::Guard;
use uncontended_decide::question::{Claim, Compare, Question};
use uncontended_decide::record::{Outcome, Run};
use uncontended_decide::trial::Trial;
use uncontended_decide::verdict::{Answer, Evidence, Finding, Relation};
use uncontended_stats::Rng;

fn asked(claim: Claim) -> Compare {
    Compare::of(claim, 0.25, 0.01, &["base", "new"])
}

/// More pairs than any of these trials takes.
const MANY: u64 = 200;

fn open(compare: &Compare) -> Box<dyn Trial> {
    Question::Compare(compare.clone()).asked().trial(None).unwrap()
}

/// A trial after these pairs, of the baseline and of the candidate, or the first of them that decide.
fn after(compare: &Compare, pairs: &[[f64; 2]]) -> Box<dyn Trial> {
    let mut trial = open(compare);
    for &[base, new] in pairs {
        if trial.is_settled() {
            break;
        }
        trial.push(&Run::of(0, base)).unwrap();
        trial.push(&Run::of(1, new)).unwrap();
    }
    trial
}

fn only(trial: &dyn Trial) -> Finding {
    let [finding] = &trial.findings_in_full()[..] else { panic!("one candidate") };
    finding.clone()
}

fn failed(arm: usize, outcome: Outcome) -> Run {
    Run { value: Some(1.0), outcome, ..Run::of(arm, 1.0) }
}

const CLAIMS: [Claim; 4] = [Claim::NoWorse, Claim::Better, Claim::Equivalent, Claim::Different];

/// Of each claim: the answer, and whether all pairs support it or none, if every pair has this ratio.
#[test]
fn a_decided_claim_has_its_evidence() {
    use Answer::{No, Yes};
    for (ratio, relation, answers, supported) in [
        (2.0, Relation::Worse, [No, No, No, Yes], [false, false, false, true]),
        (0.5, Relation::Better, [Yes, Yes, No, Yes], [true, true, false, true]),
        (1.1, Relation::Equivalent, [Yes, No, Yes, No], [true, false, true, false]),
        // The ends belong to the band.
        (1.25, Relation::Equivalent, [Yes, No, Yes, No], [true, false, true, false]),
        (0.8, Relation::Equivalent, [Yes, No, Yes, No], [true, false, true, false]),
    ] {
        for ((claim, answer), all) in CLAIMS.into_iter().zip(answers).zip(supported) {
            let found = only(after(&asked(claim), &[[8.0, 8.0 * ratio]; 40]).as_ref());
            assert_eq!((found.verdict, found.n < 40), (answer, true), "{ratio} {claim:?}");
            assert_eq!(found.successes, if all { found.n } else { 0 }, "{ratio} {claim:?}");
            assert_eq!(found.decided_by, "paired-sign");
            let pairs = found.pairs().unwrap();
            assert_eq!((pairs.candidate.as_str(), pairs.relation), ("new", relation));
            assert_eq!(pairs.effect.ratio, Some(ratio));
            assert_eq!((pairs.effect.low, pairs.effect.high), (ratio, Some(ratio)));
            let values = pairs.values.unwrap();
            assert_eq!((values.baseline.median, values.candidate.max), (8.0, 8.0 * ratio));
            let decides = |side: Option<f64>, needed| side.unwrap() >= needed;
            for Evidence { threshold, above, below, needed } in found.evidence {
                assert_eq!(decides(above, needed), ratio > threshold, "{ratio} {threshold}");
                assert_eq!(decides(below, needed), ratio < threshold, "{ratio} {threshold}");
            }
        }
    }
}

/// Larger values that are better are the inverse costs, in every part of the finding.
#[test]
fn higher_is_better_mirrors_the_finding() {
    let mut rng = Rng::new(5);
    for (by, quantile) in
        [(1.1, None), (1.6, None), (0.5, None), (1.1, Some(0.75)), (2.5, Some(0.75))]
    {
        let pairs: Vec<[f64; 2]> =
            (0..60).map(|_| [1.0 + rng.unit(), by * (1.0 + rng.unit())]).collect();
        let inverse: Vec<[f64; 2]> = pairs.iter().map(|pair| pair.map(f64::recip)).collect();
        for claim in CLAIMS {
            let costs = Compare { quantile, ..asked(claim) };
            let quantile = quantile.map(|rate| 1.0 - rate);
            let gains = Compare { quantile, higher_is_better: true, ..asked(claim) };
            let (costs, gains) = (after(&costs, &pairs), after(&gains, &inverse));
            assert_eq!(costs.answer(), gains.answer(), "{by} {claim:?}");
            let (costs, gains) = (only(costs.as_ref()), only(gains.as_ref()));
            assert_eq!((costs.n, costs.successes), (gains.n, gains.successes), "{by} {claim:?}");
            let (one, other) = (costs.pairs().unwrap(), gains.pairs().unwrap());
            assert_eq!(one.relation, other.relation, "{by} {claim:?}");
            let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9 || a == b, "{a} {b}");
            close(one.effect.ratio.unwrap(), 1.0 / other.effect.ratio.unwrap());
            close(one.effect.low, 1.0 / other.effect.high.unwrap());
            close(one.effect.high.unwrap(), 1.0 / other.effect.low);
            let [least, most] = &costs.evidence[..] else { panic!("both ends") };
            let mirrored = [most, least].map(|end| (end.below, end.above, end.needed));
            let found = gains.evidence.iter().map(|end| (end.above, end.below, end.needed));
            for (found, mirrored) in found.zip(mirrored) {
                close(found.0.unwrap(), mirrored.0.unwrap());
                close(found.1.unwrap(), mirrored.1.unwrap());
                assert_eq!(found.2, mirrored.2);
            }
        }
    }
}

#[test]
fn a_block_is_a_pair_of_medians() {
    let mut trial = open(&Compare { block: 2, ..asked(Claim::NoWorse) });
    for (arm, value) in [(0, 1.0), (1, 2.0), (0, 3.0), (1, 4.0), (1, 7.0), (1, 7.0), (0, 7.0)] {
        trial.push(&Run::of(arm, value)).unwrap();
    }
    assert_eq!(trial.ratios(), [[1.5]], "of the means of both; the second block is not full");
    // Half of a block lost: the median is between a value and the worst.
    trial.push(&Run::of(0, 7.0)).unwrap();
    for run in [Run::of(0, 1.0), Run::of(0, 1.0), Run::of(1, 1.0), failed(1, Outcome::TimedOut)] {
        trial.push(&run).unwrap();
    }
    assert_eq!(trial.ratios(), [[1.5, 1.0, f64::INFINITY]]);
    assert_eq!(trial.findings()[0].n, 3);
}

#[test]
fn a_value_has_a_ratio_from_zero_on() {
    let trial = after(&asked(Claim::NoWorse), &[[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]]);
    assert_eq!(trial.ratios(), [[1.0, f64::INFINITY, 0.0]]);
    for (value, why) in [(-1.0, "below zero"), (f64::NAN, "not a number")] {
        let refused = open(&asked(Claim::NoWorse)).push(&Run::of(0, value)).unwrap_err();
        assert!(refused.cause.contains(why), "{refused}");
    }
    let refused = open(&asked(Claim::NoWorse)).push(&Run::of(2, 1.0)).unwrap_err();
    assert_eq!(refused.cause, "there is no command number 2");
}

/// Each candidate is decided on its own; the trial continues with the others, and its answer is the worst.
#[test]
fn a_trial_continues_with_the_candidates_that_are_open() {
    let commands = ["a", "base", "c"].map(String::from).to_vec();
    let mut trial = open(&Compare { commands, baseline: 1, ..asked(Claim::NoWorse) });
    for round in 0..40 {
        for (arm, value) in [(0, 1.0), (1, 1.0), (2, if round % 2 == 0 { 1.0 } else { 2.0 })] {
            if trial.active().contains(&arm) {
                trial.push(&Run::of(arm, value)).unwrap();
            }
        }
    }
    assert_eq!(trial.active(), [1, 2]);
    assert!(!trial.is_settled());
    let found = trial.findings_in_full();
    assert_eq!(found[0].n, found[0].pairs().unwrap().values.unwrap().candidate.runs);
    assert!(found[0].n < 40, "nothing is pushed to what is decided");
    assert_eq!((found[1].n, trial.ratios()[1].len()), (40, 40));
    let names = found.iter().map(|one| one.pairs().unwrap().candidate.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "c"]);
    let answers: Vec<Answer> = found.iter().map(|one| one.verdict).collect();
    assert_eq!(answers, [Answer::Yes, Answer::Undecided]);
    assert_eq!(trial.answer(), Answer::Undecided);
    let one = after(&asked(Claim::NoWorse), &[[1.0, 1.0]; 40]);
    assert!(one.is_settled() && one.active() == [0]);
}

/// A pair lost on both sides decides nothing; lost on one, it is the worst.
#[test]
fn lost_runs_are_worse_than_any_value() {
    let lost =
        Compare { ignore_failure: true, guard: Guard::new(false, true), ..asked(Claim::NoWorse) };
    let quantile = Compare { quantile: Some(0.5), ..lost.clone() };
    for compare in [&lost, &quantile] {
        let mut one = open(compare);
        let mut both = open(compare);
        let mut lost = 0;
        for _ in 0..MANY {
            if !one.is_settled() {
                one.push(&Run::of(0, 1.0)).unwrap();
                one.push(&failed(1, Outcome::Failed(1))).unwrap();
            }
            if !both.is_settled() {
                both.push(&failed(0, Outcome::Failed(1))).unwrap();
                both.push(&failed(1, Outcome::Failed(139))).unwrap();
                lost += 1;
            }
        }
        assert_eq!((one.answer(), one.refusal().is_some()), (Answer::No, false));
        assert_eq!((both.answer(), both.refusal().is_some()), (Answer::Error, true));
        assert_eq!(both.findings()[0].pairs().unwrap().lost_pairs, Some(lost));
        assert_eq!(both.findings()[0].n, 0);
    }
    // An earlier log counts a nonzero status by its value, but never a run that was killed.
    let counted = Compare { guard: None, ..lost };
    let ratio = |outcome| {
        let mut trial = open(&counted);
        trial.push(&Run::of(0, 1.0)).unwrap();
        trial.push(&failed(1, outcome)).unwrap();
        trial.ratios()[0][0]
    };
    let outcomes =
        [Outcome::Failed(1), Outcome::Failed(127), Outcome::Failed(128), Outcome::TimedOut];
    assert_eq!(outcomes.map(ratio), [1.0, 1.0, f64::INFINITY, f64::INFINITY]);
}

/// After fewer lost pairs than could decide anything, it may still turn out otherwise.
#[test]
fn all_lost_is_an_error_once_it_could_have_been_decided() {
    let lost = [0, 1].map(|arm| failed(arm, Outcome::TimedOut));
    let slower = [Run::of(0, 1.0), Run::of(1, 2.0)];
    let [lost, decided] = [lost, slower].map(|pair| {
        let guard = Guard::new(false, true);
        let mut trial = open(&Compare { guard, ..asked(Claim::NoWorse) });
        let answers = (0..MANY).map(|_| {
            pair.iter().for_each(|run| trial.push(run).unwrap());
            trial.answer()
        });
        let first = answers.enumerate().find(|(_, answer)| *answer != Answer::Undecided);
        first.expect("an answer")
    });
    assert_eq!((lost.1, decided.1, lost.0), (Answer::Error, Answer::No, decided.0));
}

#[test]
fn runs_that_depend_on_each_other_are_told() {
    let told = |values: &dyn Fn(u64, &mut Rng) -> [f64; 2], measured: bool| {
        let mut trial = open(&Compare { margin: 0.0, ..asked(Claim::Different) });
        let mut rng = Rng::new(8);
        for at in 0..100 {
            let runs = values(at, &mut rng);
            // In random order.
            let first = rng.below(2) as usize;
            for (nth, arm) in [first, 1 - first].into_iter().enumerate() {
                let wall_ns = measured.then_some(1);
                let slower = if measured { 1.0 + 0.5 * nth as f64 } else { 1.0 };
                trial.push(&Run { wall_ns, ..Run::of(arm, runs[arm] * slower) }).unwrap();
            }
        }
        assert!(!trial.is_settled());
        trial.diagnoses().join("\n")
    };
    let noise = |_, rng: &mut Rng| [1.0 + rng.unit(), 1.0 + rng.unit()];
    assert_eq!(told(&noise, false), "");
    let slow = |at: u64, rng: &mut Rng| {
        [1.0, if (at / 5).is_multiple_of(2) { 1.5 } else { 0.5 } + 0.1 * rng.unit()]
    };
    let serial = told(&slow, false);
    // Of 98 neighbours off the median, 79 are on one side of it: 60 more than are not, 6.06 standard deviations.
    assert!(serial.contains("depend on the previous ones (serial z = 6.0"), "{serial}");
    let even = |_, rng: &mut Rng| [1.0 + 0.1 * rng.unit(), 1.0 + 0.1 * rng.unit()];
    let position = told(&even, true);
    assert!(position.contains("position z = -10.0"), "the second is always slower: {position}");
}

/// Once the answer is known, nothing is left to estimate: what a file has beyond it is read.
#[test]
fn no_estimate_is_given_while_the_rest_is_read() {
    let mut trial = after(&asked(Claim::NoWorse), &[[10.0, 10.0]; 100]);
    let decided = only(trial.as_ref()).n;
    assert_eq!(trial.answer(), Answer::Yes);
    for _ in 0..5 {
        trial.push(&Run::of(0, 10.0)).unwrap();
        trial.push(&Run::of(1, 10.0)).unwrap();
    }
    let state = trial.state();
    assert_eq!((state.left, only(trial.as_ref()).n), (None, decided));
    let text = format!("{} pairs, 1.00 [1.00, 1.00]; yes, and the rest is read", decided + 5);
    assert_eq!(state.text, text);
}

/// The margin that is advised for the rest of a budget is decided by it, and one of a point less is not.
#[test]
fn the_margin_that_a_budget_decides_is_told() {
    let mut rng = Rng::new(5);
    let pairs: Vec<[f64; 2]> = (0..120).map(|_| [10.0, 9.0 + 2.0 * rng.unit()]).collect();
    let narrow = Compare { margin: 0.001, ..asked(Claim::NoWorse) };
    let trial = after(&narrow, &pairs[..20]);
    let told = trial.decidable(200).expect("a margin");
    let margin = told.strip_prefix("`ComparePlan::margin` ").expect(&told);
    let margin = margin.strip_suffix('%').unwrap().parse::<f64>().unwrap() / 100.0;
    let wide = |margin| after(&Compare { margin, ..narrow.clone() }, &pairs).answer();
    assert_eq!((wide(margin), wide(margin / 3.0)), (Answer::Yes, Answer::Undecided), "{margin}");
    assert_eq!(trial.decidable(0), Some("`ComparePlan::margin` 9%".to_owned()));
    let better = Compare { claim: Claim::Better, ..narrow };
    assert_eq!(after(&better, &pairs[..20]).decidable(200), None);
}
