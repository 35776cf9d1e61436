//! The tail guard: what it reports of slow runs that decide nothing.

use uncontended_decide::guard::{Guard, Seen, Watch};
use uncontended_decide::question::Claim;
use uncontended_decide::verdict::Answer;
use uncontended_stats::MaxError;

/// A watch that saw `slow` runs of the candidate eight times slower, among 900 pairs of equals.
fn watch(slow: usize) -> Watch {
    let guard = Guard::new(true, false).unwrap();
    let share = MaxError::new(5e-5).unwrap();
    let mut watch = Watch::new(&guard, Claim::NoWorse, 0.02, share).unwrap();
    for pair in 0..900 {
        watch.push(if pair >= 900 - slow { 8.0 } else { 1.0 }, 1.0);
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
    assert!(factor == 6.0 && pairs > 800, "{factor} {pairs}");
    // A few may be chance; many decide, and the verdict itself reports them.
    assert_eq!(watch(6).seen(), None);
    let many = watch(60);
    assert_eq!((many.verdict(Claim::NoWorse, Answer::Yes), many.seen()), (Answer::No, None));
}
