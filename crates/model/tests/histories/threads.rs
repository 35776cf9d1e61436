//! Keys searched in parallel: the verdict equals that of searching them one by one.

use std::num::NonZeroUsize;
use uncontended_model::history::{
    Bound, Limits, Operation, OperationOf, Progress, Report, Spec, Verdict, check, check_on,
};
use uncontended_testkit::Random;

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Append-only lists, one per key: every order of the additions is a distinct state.
struct Lists {
    /// Adding to a list that begins with this value panics.
    trap: i64,
}

const LISTS: Lists = Lists { trap: -1 };

#[derive(Clone, PartialEq, Eq, Hash)]
enum Call {
    Add(u32, i64),
    Read(u32),
}

impl Spec for Lists {
    type Call = Call;
    type Output = Vec<i64>;
    type State = Vec<i64>;
    type Key = u32;

    fn initial(&self) -> Vec<i64> {
        vec![]
    }

    fn key(&self, call: &Call) -> u32 {
        match call {
            Call::Add(key, _) | Call::Read(key) => *key,
        }
    }

    fn apply(&self, state: &Vec<i64>, call: &Call, output: Option<&Vec<i64>>) -> Option<Vec<i64>> {
        match call {
            Call::Add(_, value) => {
                assert!(state.first() != Some(&self.trap), "the spec's own panic");
                Some([state.as_slice(), &[*value]].concat())
            }
            Call::Read(_) => output.is_none_or(|seen| seen == state).then(|| state.clone()),
        }
    }

    fn keeps_state(&self, call: &Call, _: Option<&Vec<i64>>) -> bool {
        matches!(call, Call::Read(_))
    }
}

/// This many additions at the same time, and a read that sees them in the order that search tries last, or in none: all
/// orders are tried.
fn hard(key: u32, additions: i64, is_lie: bool) -> Vec<OperationOf<Lists>> {
    let add = |value| Operation::done(0, value as u64, Call::Add(key, value), 100, vec![]);
    let mut history: Vec<_> = (0..additions).map(add).collect();
    let seen = (0..additions).rev().map(|value| if is_lie { value / 2 } else { value });
    history.push(Operation::done(0, 200, Call::Read(key), 300, seen.collect()));
    history
}

fn two_threads(history: &[OperationOf<Lists>], limits: &mut Limits<'_>) -> Report {
    check_on(TWO, &LISTS, history, limits)
}

#[test]
fn threads_change_no_verdict() {
    let mut random = Random(1);
    let mut refuted = 0;
    for _ in 0..10 {
        let keys = (0..6).flat_map(|key| hard(key, 7, random.below(9) == 0));
        let mut history: Vec<_> = keys.collect();
        random.shuffle(&mut history);
        let one = check(&LISTS, &history, &mut Limits::default());
        let two = two_threads(&history, &mut Limits::default());
        match (&one.verdict, &two.verdict) {
            (Verdict::Linearizable, Verdict::Linearizable) => assert_eq!(one, two),
            (Verdict::Refuted(_), Verdict::Refuted(why)) => {
                refuted += 1;
                let members: Vec<_> =
                    why.members.iter().map(|op| history[*op as usize].clone()).collect();
                assert_eq!(members.len(), 8, "one key's operations");
                let alone = check(&LISTS, &members, &mut Limits::default());
                assert!(matches!(alone.verdict, Verdict::Refuted(_)));
            }
            (one, two) => panic!("{one:?} on one thread, {two:?} on two"),
        }
    }
    assert!((1..10).contains(&refuted), "{refuted} of 10 refuted");
}

#[test]
fn a_key_that_fails_is_found_behind_one_that_takes_too_long() {
    let history = [hard(0, 14, true), hard(1, 7, true)].concat();
    let mut go_on = |progress: &Progress| progress.configurations < 20_000_000;
    let mut limits = Limits { memory_bytes: usize::MAX, go_on: &mut go_on };
    let report = two_threads(&history, &mut limits);
    let Verdict::Refuted(why) = report.verdict else { panic!("{report:?}") };
    assert!(why.members.iter().all(|op| (15..23).contains(op)), "{why:?}");
    // Within one thread too, if it fails soon.
    let history = [hard(0, 14, true), hard(1, 4, true)].concat();
    let report = check(&LISTS, &history, &mut limits);
    assert!(matches!(report.verdict, Verdict::Refuted(_)), "{report:?}");
}

#[test]
fn what_does_not_fit_beside_others_is_searched_alone() {
    let history: Vec<_> = (0..4).flat_map(|key| hard(key, 7, false)).collect();
    let most = |history: &[OperationOf<Lists>]| {
        let mut most = 0;
        let mut go_on = |progress: &Progress| {
            most = most.max(progress.memory_bytes);
            true
        };
        check(&LISTS, history, &mut Limits { memory_bytes: usize::MAX, go_on: &mut go_on });
        most
    };
    let memory_bytes = most(&history) + 1;
    let mut go_on = |_: &Progress| true;
    let report = two_threads(&history, &mut Limits { memory_bytes, go_on: &mut go_on });
    assert_eq!((report.verdict, report.keys_by_search), (Verdict::Linearizable, 4));
    // On its own it does not fit either.
    let memory_bytes = memory_bytes / 4;
    let report = two_threads(&history, &mut Limits { memory_bytes, go_on: &mut go_on });
    assert_eq!(report.verdict, Verdict::Undecided(Bound::Memory));
}

#[test]
fn a_search_on_threads_can_be_stopped() {
    let history = [hard(0, 14, true), hard(1, 14, true), hard(2, 14, true)].concat();
    let mut asked = 0;
    let mut go_on = |_: &Progress| {
        asked += 1;
        asked < 10
    };
    let report = two_threads(&history, &mut Limits { memory_bytes: usize::MAX, go_on: &mut go_on });
    assert_eq!(report.verdict, Verdict::Undecided(Bound::Stopped));
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_panic_of_a_spec_ends_all_searches() {
    // The list that begins with the last value is tried last, not in the first, short search; the longer key's later.
    let spec = Lists { trap: 6 };
    let history = [hard(0, 14, true), hard(1, 7, true)].concat();
    let report = check_on(TWO, &spec, &history, &mut Limits::default());
    unreachable!("{report:?}");
}
