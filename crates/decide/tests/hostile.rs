//! Randomly damaged logs: a verdict or an error, never a panic. The in-tree form of the fuzzer
//! `fuzz/fuzz_targets/verdict_log.rs`.

use uncontended_decide::circumstances::Circumstances;
use uncontended_decide::fingerprint::Fingerprint;
use uncontended_decide::guard::Guard;
use uncontended_decide::question::{Bursts, Claim, Compare, Decider, Permute, Question, Slo};
use uncontended_decide::record::{self, Head, Line, Outcome, Run, SCHEMA, Stop, Usage};
use uncontended_decide::recording::Recording;
use uncontended_decide::sessions::Sessions;
use uncontended_decide::trial;
use uncontended_stats::Rng;

fn heads() -> Vec<Question> {
    let slo = Slo {
        metric: "wall".to_string(),
        unit: "ns".to_string(),
        bound: None,
        rate: 0.9,
        or_below: Some(0.8),
        max_error: 0.01,
        method: Decider::Csm,
        bursts: Bursts::new(Some(8.0)),
        set: None,
        quantile: Some(0.9),
        command: Some("c".to_string()),
    };
    let compare = Compare {
        higher_is_better: true,
        block: 2,
        baseline: 1,
        ignore_failure: true,
        guard: Guard::new(true, true),
        ..Compare::of(Claim::Equivalent, 0.02, 0.01, &["a", "b", "c"])
    };
    let permute = Permute {
        unit: "1".to_string(),
        a: vec![1.0, 2.0],
        b: vec![3.0],
        more: Vec::new(),
        expected: None,
        statistic: "p90".to_string(),
        two_sided: true,
        level: 0.05,
        or_below: None,
        max_error: 0.01,
        most_resamples: 50,
        seed: "7".to_string(),
    };
    let quantile = Compare { quantile: Some(0.8), guard: None, ..compare.clone() };
    let control = Some("d".to_string());
    let sessions = Compare {
        commands: ["a", "b"].map(String::from).to_vec(),
        baseline: 0,
        sessions: Some(Sessions { trusted: false, control: control.clone() }),
        ..quantile.clone()
    };
    let recording = Recording {
        metric: "wall".to_string(),
        unit: "ns".to_string(),
        command: "a".to_string(),
        control,
        ignore_failure: false,
    };
    let [compare, quantile, sessions] = [compare, quantile, sessions].map(Question::Compare);
    let kept = Question::Record(recording);
    vec![Question::Slo(slo), compare, quantile, Question::Permute(permute), sessions, kept]
}

fn text(hypothesis: &Question, rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let head = Head {
        schema: SCHEMA.to_string(),
        hypothesis: hypothesis.clone(),
        seed: "1".to_string(),
        warnings: Vec::new(),
        machine: rng.chance(0.5).then(Fingerprint::here),
        origin: None,
        circumstances: rng.chance(0.5).then(Circumstances::default),
    };
    let commands = head
        .hypothesis
        .asked()
        .trial(None)
        .map_or(1, |trial| trial.active().last().map_or(1, |last| last + 1));
    record::write(&mut out, &Line::Head(Box::new(head))).unwrap();
    for _ in 0..rng.below(40) {
        let outcome = [Outcome::Ok, Outcome::Failed(1), Outcome::Failed(139), Outcome::TimedOut]
            [rng.below(4) as usize];
        let value = rng.chance(0.8).then(|| (rng.unit() * 10.0).round());
        let run = Run {
            arm: rng.below(commands as u64) as usize,
            value,
            outcome,
            usage: rng.chance(0.5).then(Usage::default),
            ..Run::of(0, 0.0)
        };
        record::write(&mut out, &Line::Run(run)).unwrap();
    }
    record::write(
        &mut out,
        &Line::End { stop: Stop::Decided, verdict: "yes".to_string(), resamples: None },
    )
    .unwrap();
    out
}

/// Whether the log gave a verdict.
fn judge(bytes: &[u8]) -> bool {
    let Ok(log) = record::read(bytes) else { return false };
    if let Question::Permute(permute) = &log.head.hypothesis
        && permute.most_resamples > 1000
    {
        return false; // A budget of the log's own may be endless.
    }
    let Ok(mut trial) = log.head.hypothesis.asked().trial(None) else { return false };
    if log.runs.iter().try_for_each(|run| trial.push(run)).is_err() {
        return false;
    }
    let finding = trial::verdict(trial.as_ref(), &log.head, Stop::LogCut).finding;
    assert!(finding.successes <= finding.n);
    let [low, high] = finding.interval;
    assert!(0.0 <= low && low <= high && high <= 1.0, "{low} {high}");
    true
}

#[test]
fn damaged_logs_are_answered() {
    let mut rng = Rng::new(12);
    let (mut sound, mut damaged) = (0, 0);
    for round in 0..1500 {
        let heads = heads();
        let mut log = text(&heads[round % heads.len()], &mut rng);
        sound += u32::from(judge(&log));
        for _ in 0..=rng.below(4) {
            let place = rng.below(log.len() as u64) as usize;
            match rng.below(4) {
                0 => log[place] = b"0123456789.-e\"{}[],:"[rng.below(20) as usize],
                1 => log[place] = rng.next_u64() as u8,
                2 => {
                    log.remove(place);
                }
                _ => log.truncate(place.max(1)),
            }
        }
        damaged += u32::from(judge(&log));
    }
    assert!(sound > 900 && damaged > 50, "{sound} {damaged}");
}
