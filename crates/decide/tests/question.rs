//! Questions as people read them.

use uncontended_decide::question::{Bound, Claim, Compare, Decider, Permute, Question, Side, Slo};
use uncontended_decide::record::Stop;
use uncontended_decide::verdict::{Answer, Relation};

#[test]
fn a_question_has_the_figures_that_were_given_with_all_of_their_digits() {
    let slo = Slo {
        metric: "wall".to_string(),
        unit: "ns".to_string(),
        bound: Some(Bound { side: Side::AtMost, threshold: 1_234_567.0 }),
        rate: 0.9999,
        or_below: Some(0.07),
        max_error: 0.001,
        method: Decider::OneSided,
        bursts: None,
        set: None,
        quantile: None,
        command: None,
    };
    assert_eq!(
        slo.sentence(),
        "is the wall time at most 1.234567 ms in at least 99.99 % of the runs? (between 7 % and 99.99 % either answer is right)"
    );
}

fn compare(claim: Claim, margin: f64, commands: usize) -> Compare {
    Compare::of(claim, margin, 0.001, &vec!["x"; commands])
}

#[test]
fn a_comparison_asks_about_its_margin() {
    for (claim, margin, commands, words) in [
        (
            Claim::NoWorse,
            0.02,
            2,
            "is the candidate no worse than the baseline by more than 2 %, by",
        ),
        (Claim::Better, 0.0, 2, "is the candidate better than the baseline, by"),
        (Claim::Better, 0.5, 3, "is each candidate better than the baseline by more than 50 %, by"),
        (Claim::Equivalent, 0.02, 2, "is the candidate within 2 % of the baseline, by"),
        (Claim::Different, 0.02, 2, "is the candidate more than 2 % away from the baseline, by"),
    ] {
        let compare = compare(claim, margin, commands);
        let sentence = format!("{words} the median ratio of the wall time (lower is better)?");
        assert_eq!(compare.sentence(), sentence);
        assert_eq!(compare.band(), (1.0 / (1.0 + margin), 1.0 + margin));
    }
    let higher = Compare {
        higher_is_better: true,
        quantile: Some(0.75),
        ..compare(Claim::NoWorse, 0.02, 2)
    };
    assert!(
        higher.sentence().ends_with("by the ratio of p75 of the wall time (higher is better)?")
    );
    assert_eq!((higher.cost_quantile(), higher.effect_name()), (Some(0.25), "ratio of p75".into()));
}

#[test]
fn an_answer_is_said_with_its_margin() {
    use Answer::{No, Undecided, Yes};
    for (claim, margin, answer, words) in [
        (Claim::NoWorse, 0.02, Yes, "it is not worse by more than 2 %"),
        (Claim::NoWorse, 0.02, No, "it is worse by more than 2 %"),
        (Claim::Better, 0.0, Yes, "it is better"),
        (Claim::Better, 0.0, No, "it is not better"),
        (Claim::Equivalent, 0.02, Yes, "it is within 2 %"),
        (Claim::Equivalent, 0.0, No, "it is not the same"),
        (Claim::Different, 0.02, Yes, "it is different by more than 2 %"),
        (Claim::Different, 0.02, No, "it is within 2 %"),
        (Claim::Different, 0.0, Undecided, "whether it is different is not certain"),
    ] {
        assert_eq!(compare(claim, margin, 2).said("it", answer), words);
    }
}

/// Each kind of question answers for itself.
#[test]
fn a_question_of_any_kind_has_its_sentence_and_error() {
    let permute = Permute {
        unit: "B".to_string(),
        a: vec![1.0],
        b: vec![2.0],
        more: Vec::new(),
        expected: None,
        statistic: "mean".to_string(),
        two_sided: false,
        level: 0.05,
        or_below: Some(0.04),
        max_error: 0.002,
        most_resamples: 100,
        seed: "1".to_string(),
    };
    let sentence = "is B's mean higher than A's by more than chance explains, with a p-value below 5 %? \
                    (between 4 % and 5 % either answer is right)";
    assert_eq!(permute.sentence(), sentence);
    let two = Permute { two_sided: true, or_below: None, ..permute.clone() };
    assert!(
        two.sentence().starts_with("does the mean of A and B differ by more than chance explains")
    );
    let questions = [Question::Permute(permute), Question::Compare(compare(Claim::Better, 0.0, 2))];
    let asked = questions.each_ref().map(Question::asked);
    assert_eq!(asked.map(|one| one.max_error()), [0.002, 0.001]);
    assert_eq!(asked.map(|one| one.unit().to_string()), ["B", "ns"]);
    assert_eq!(asked[0].sentence(), sentence);
    assert!(asked[1].sentence().starts_with("is the candidate better"));
}

/// A name on the terminal is the one in JSON.
#[test]
fn names_are_those_of_json() {
    fn check<T: serde::Serialize>(all: &[T], name: impl Fn(&T) -> &'static str) {
        for one in all {
            assert_eq!(serde_json::to_value(one).unwrap(), name(one));
        }
    }
    check(&Claim::ALL.map(|(_, claim)| claim), |claim| claim.name());
    check(&Decider::ALL.map(|(_, method)| method), |method| method.name());
    assert!(Claim::ALL.iter().all(|(name, claim)| *name == claim.name()));
    assert!(Decider::ALL.iter().all(|(name, method)| *name == method.name()));
    let relations = [Relation::Better, Relation::Worse, Relation::Equivalent, Relation::Unknown];
    check(&relations, |relation| relation.name());
    assert_eq!(relations.map(Relation::told), ["better", "worse", "equivalent", "not known"]);
    let answers = [Answer::Yes, Answer::No, Answer::Undecided, Answer::Error];
    check(&answers, |answer| answer.name());
    assert_eq!(answers.map(Answer::exit_status), [0, 1, 3, 2]);
    // The worst last: refuted outweighs undecided.
    assert_eq!(answers.map(Answer::badness).map(|at| at as usize), [0, 2, 1, 3]);
    let stops = [
        Stop::Decided,
        Stop::MaxRuns,
        Stop::MaxTime,
        Stop::EndOfInput,
        Stop::Interrupted,
        Stop::Failed,
        Stop::LogCut,
    ];
    check(&stops, |stop| stop.name());
}
