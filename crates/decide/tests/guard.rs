//! The tail guard: what it makes of the median's answer, and what it reports of slow runs.

use uncontended_decide::guard::{Guard, Seen, TailFinding, TailState, Watch};
use uncontended_decide::question::Claim;
use uncontended_decide::verdict::Answer;
use uncontended_stats::MaxError;

/// A watch that saw `slow` runs of the candidate eight times slower, spread over 900 pairs of equals.
fn watch(slow: usize) -> Watch {
    let guard = Guard::new(true, false).unwrap();
    let share = MaxError::new(5e-5).unwrap();
    let mut watch = Watch::new(&guard, Claim::NoWorse, 0.02, share).unwrap();
    for pair in 0..900 {
        let apart = 900 / slow;
        watch.push(if pair % apart == apart - 1 { 8.0 } else { 1.0 }, 1.0);
    }
    watch
}

#[test]
fn a_rare_tail_that_was_seen_is_told_and_decides_nothing() {
    let seen = watch(14);
    assert_eq!(seen.verdict(Claim::NoWorse, Answer::Yes), Answer::Yes);
    let Some(Seen { factor, candidate: 14, baseline: 0, pairs }) = seen.seen() else {
        panic!("{:?}", seen.seen());
    };
    assert!(factor == 7.6 && pairs > 800, "{factor} {pairs}");
    // A few may be chance; many decide, and the verdict itself reports them.
    assert_eq!(watch(6).seen(), None);
    let many = watch(60);
    assert_eq!((many.verdict(Claim::NoWorse, Answer::Yes), many.seen()), (Answer::No, None));
}

/// Fourteen slow runs in a row may be one of many bursts: a yes waits, and the verdict says for how many pairs.
#[test]
fn slow_runs_in_a_burst_take_more_pairs() {
    let after = |bursts: Option<f64>, pairs: usize| {
        let guard = Guard::new(true, false).unwrap().with_bursts(bursts);
        let share = MaxError::new(5e-5).unwrap();
        let mut watch = Watch::new(&guard, Claim::NoWorse, 0.02, share).unwrap();
        for pair in 0..pairs {
            watch.push(if (300..314).contains(&pair) { 8.0 } else { 1.0 }, 1.0);
        }
        watch
    };
    let told = |watch: &Watch| {
        let found = watch.finding(Answer::Yes);
        (found.state, found.stretch, found.clause(Claim::NoWorse, Answer::Yes))
    };
    let independent = "; no sign that 10 % or more of the runs became twice as slow (missed in at most 5 % of \
         trials, unless in bursts; smaller tails are untested)";
    assert_eq!(told(&after(Some(1.0), 900)), (TailState::Clear, None, independent.to_string()));
    assert_eq!(told(&after(None, 300)), (TailState::Clear, None, independent.to_string()));

    let open = after(None, 900);
    let (state, stretch, clause) = told(&open);
    assert_eq!((state, stretch), (TailState::Open, Some(20.0)));
    let more = open.more_to_clear();
    assert!(
        clause
            .replace(',', "")
            .ends_with(&format!("about {more} more pairs would decide also in bursts")),
        "{clause}"
    );
    let (state, stretch, clause) = told(&after(None, 900 + more as usize));
    assert_eq!((state, stretch), (TailState::Clear, Some(20.0)));
    assert!(
        clause.contains("also in bursts up to 20 times as long as by chance; smaller"),
        "{clause}"
    );

    assert_eq!(told(&after(Some(3.0), 300)).1, Some(3.0), "stated, though there was none");
    let fewest =
        |bursts| Watch::fewest_pairs(&Guard::new(true, false).unwrap().with_bursts(bursts));
    assert!(fewest(Some(20.0)) > 10 * fewest(None) && fewest(Some(1.0)) == fewest(None));
    // A log from before there were bursts: its verdict stays.
    let old: Guard = serde_json::from_str(
        r#"{"factors": [1.5], "lost": false, "share": 0.05, "excess": 0.09, "missed": 0.05}"#,
    )
    .unwrap();
    assert_eq!(old.bursts, None);
}

/// A fifth of the baseline's runs take 1.62 times its median, and a fifth of the candidate's 2.75 times: both between
/// 1.5 and 3, so that levels which double would see no difference.
#[test]
fn a_tail_that_moves_between_doublings_is_seen() {
    let guard = Guard::new(true, false).unwrap();
    let mut watch = Watch::new(&guard, Claim::NoWorse, 0.02, MaxError::new(5e-5).unwrap()).unwrap();
    for pair in 0..900 {
        let cost = |slow: f64, phase: usize| if pair % 5 == phase { slow } else { 1.0 };
        watch.push(cost(2.75, 1), cost(1.62, 3));
    }
    assert_eq!(answers(&watch, Claim::NoWorse), [Answer::No; 3]);
}

/// A watch after pairs of which every `nth` has a run eight times slower, of the candidate or of the baseline.
fn tail_of(claim: Claim, pairs: usize, candidate: Option<usize>, baseline: Option<usize>) -> Watch {
    let guard = Guard::new(true, false).unwrap();
    let mut watch = Watch::new(&guard, claim, 0.02, MaxError::new(5e-5).unwrap()).unwrap();
    let cost = |pair: usize, nth: Option<usize>, phase| match nth {
        Some(nth) if pair > 10 && pair % nth == phase => 8.0,
        _ => 1.0,
    };
    for pair in 0..pairs {
        watch.push(cost(pair, candidate, 1), cost(pair, baseline, 2));
    }
    watch
}

/// What a median's yes, no and undecided become.
fn answers(watch: &Watch, claim: Claim) -> [Answer; 3] {
    [Answer::Yes, Answer::No, Answer::Undecided].map(|median| watch.verdict(claim, median))
}

#[test]
fn the_tails_turn_the_medians_answer_where_the_claim_is_about_them() {
    use Answer::{No, Undecided, Yes};
    let passed = [Yes, No, Undecided];
    for (claim, open, heavier, lighter) in [
        (Claim::NoWorse, [Undecided, No, Undecided], [No; 3], passed),
        (Claim::Better, [Undecided, No, Undecided], [No; 3], passed),
        (Claim::Equivalent, [Undecided, No, Undecided], [No; 3], [No; 3]),
        (Claim::Different, [Yes, Undecided, Undecided], [Yes; 3], [Yes; 3]),
    ] {
        let named = [
            ("clear", tail_of(claim, 900, None, None), passed),
            ("open", tail_of(claim, 20, None, None), open),
            ("heavier", tail_of(claim, 900, Some(10), None), heavier),
            ("lighter", tail_of(claim, 900, None, Some(10)), lighter),
        ];
        for (state, watch, expected) in named {
            assert_eq!(answers(&watch, claim), expected, "{claim:?}, {state}");
        }
    }
}

/// The finding that goes with a median's yes, and the clause about it.
fn told(claim: Claim, watch: &Watch) -> (TailFinding, String) {
    let found = watch.finding(Answer::Yes);
    (found, found.clause(claim, watch.verdict(claim, Answer::Yes)))
}

#[test]
fn an_open_tail_says_how_many_pairs_would_clear_it() {
    let after = |pairs| tail_of(Claim::NoWorse, pairs, None, None);
    let (found, clause) = told(Claim::NoWorse, &after(20));
    assert_eq!((found.state, found.pairs), (TailState::Open, 17), "three pairs give the median");
    let more = found.more_to_clear.unwrap();
    assert_eq!(
        clause,
        format!(
            ", but whether a tail is heavier is open: 0 % of its runs and 0 % of the baseline's take more than 1.5 \
             times the baseline's median; about {more} more pairs would decide"
        )
    );
    assert_eq!(after(20).more_to_clear(), more);
    let last = [19, 20].map(|pairs| after(pairs + more as usize));
    let states = last.each_ref().map(|watch| watch.finding(Answer::Yes).state);
    assert_eq!(states, [TailState::Open, TailState::Clear]);
    assert_eq!(last.map(|watch| watch.more_to_clear()), [1, 0]);
    let fewest = |tails, lost| Watch::fewest_pairs(&Guard::new(tails, lost).unwrap());
    assert_eq!(fewest(true, false), 20 + more, "without a slow run it takes the fewest");
    assert_eq!(fewest(false, true), 0, "lost runs alone need not be cleared");
    // Nothing is said of tails that the median's answer does not rest on.
    let (found, _) = told(Claim::NoWorse, &after(20));
    assert_eq!(TailFinding { median: Answer::No, ..found }.clause(Claim::NoWorse, Answer::No), "");
}

#[test]
fn a_found_tail_is_told_if_it_decides() {
    let (found, clause) = told(Claim::NoWorse, &tail_of(Claim::NoWorse, 903, Some(10), Some(100)));
    let facts = (found.state, found.factor, found.times_slower, found.more_to_clear);
    assert_eq!(facts, (TailState::Heavier, Some(1.5), Some(8.0), None));
    assert_eq!((found.candidate, found.baseline, found.pairs), (0.1, 0.01, 900));
    assert_eq!(clause, ", but 10.0 % of its runs are 8.00 times slower (1.00 % of the baseline's)");
    // Told as the reason of a verdict, not of one that the median reaches itself, nor against the verdict.
    assert!(found.decides(Claim::NoWorse, Answer::No));
    assert!(!found.decides(Claim::NoWorse, Answer::Yes));
    assert!(!found.decides(Claim::Different, Answer::Yes), "its median says so too");
    assert!(!TailFinding { median: Answer::No, ..found }.decides(Claim::NoWorse, Answer::No));

    let claim = Claim::Equivalent;
    let (found, clause) = told(claim, &tail_of(claim, 903, Some(100), Some(10)));
    assert_eq!((found.state, found.candidate, found.pairs), (TailState::Lighter, 0.01, 900));
    assert_eq!(
        clause,
        ", but 10.0 % of the baseline's runs take more than 1.5 times its median (1.00 % of the candidate's)"
    );
}

#[test]
fn slow_runs_of_both_are_not_told() {
    let guard = Guard::new(true, false).unwrap();
    let seen = |candidate: usize, baseline: usize| {
        let share = MaxError::new(5e-5).unwrap();
        let mut watch = Watch::new(&guard, Claim::NoWorse, 0.02, share).unwrap();
        for pair in 0..900 {
            let slow = |is: bool| if is { 8.0 } else { 1.0 };
            let ours = (500..500 + candidate).contains(&pair);
            watch.push(slow(ours), slow((700..700 + baseline).contains(&pair)));
        }
        watch.seen().is_some()
    };
    // By the standard deviations of their difference: 14/√14 is more than 3.5; 13/√15, 10/√18 and 14/√16 are not.
    let told = [(14, 0), (14, 1), (14, 4), (15, 1)].map(|(ours, theirs)| seen(ours, theirs));
    assert_eq!(told, [true, false, false, false]);
}
