//! Conditions of `wait_until`: what they may read, and which of them are refused.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::random::Random;
use uncontended_model::real::{
    AtomicU32, Explorer, Failure, Memory, Report, Verdict, assume, spawn, wait_until,
};

const MODELS: [Memory; 3] = [Memory::Sc, Memory::Tso, Memory::C11];

/// A thread waits for `condition` while another one runs `writes`: the verdicts of all models, explored and drawn.
fn verdicts(condition: fn(&[AtomicU32; 2]) -> bool, writes: fn(&[AtomicU32; 2])) -> Vec<Report> {
    let program = move || {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let theirs = Arc::clone(&words);
        let writer = spawn(move || writes(&theirs));
        wait_until(|| condition(&words));
        writer.join().unwrap();
    };
    let explored = MODELS.map(|memory| Explorer::new(memory).explore(program).unwrap());
    let drawn = MODELS.map(|memory| Explorer::new(memory).sample(200, 3).explore(program).unwrap());
    explored.into_iter().chain(drawn).collect()
}

fn all_deadlock(reports: &[Report]) -> bool {
    let is_deadlock = |report: &Report| {
        report.violation().is_some_and(|it| matches!(it.failure, Failure::Deadlock { .. }))
    };
    reports.iter().all(is_deadlock)
}

fn none_violated(reports: &[Report]) -> bool {
    reports.iter().all(|report| report.violation().is_none())
        && reports[..3].iter().all(|report| matches!(report.verdict, Verdict::Holds))
}

/// An older value and then the newest one is not the last that such a condition can find.
#[test]
fn a_condition_may_read_a_location_twice() {
    let first = |words: &[AtomicU32; 2]| {
        let found = words[0].load(Acquire);
        let _ = words[0].load(Acquire);
        found == 1
    };
    assert!(none_violated(&verdicts(first, |words| words[0].store(1, Release))));
    let both = |words: &[AtomicU32; 2]| words[0].load(Acquire) + words[0].load(Acquire) == 2;
    assert!(none_violated(&verdicts(both, |words| words[0].store(1, Release))));
    let tried = |words: &[AtomicU32; 2]| {
        words[0].load(Relaxed) == 1 && words[0].compare_exchange(2, 3, Acquire, Relaxed).is_err()
    };
    assert!(none_violated(&verdicts(tried, |words| words[0].store(1, Release))));
}

#[test]
fn a_condition_that_its_newest_values_refuse_is_a_deadlock() {
    let differ = |words: &[AtomicU32; 2]| words[0].load(Acquire) != words[0].load(Acquire);
    let mixed = verdicts(differ, |words| words[0].store(1, Release));
    assert!(all_deadlock(&mixed[..3]), "the writer may come first");
    let two = |words: &[AtomicU32; 2]| words[0].load(Acquire) + words[0].load(Acquire) == 3;
    assert!(all_deadlock(&verdicts(two, |words| words[0].store(1, Release))));
}

/// As a reader of a sequence lock waits for a consistent view.
#[test]
fn a_condition_may_check_what_it_read_before() {
    let consistent = |[sequence, data]: &[AtomicU32; 2]| {
        let before = sequence.load(Acquire);
        let _ = data.load(Acquire);
        before == 2 && sequence.load(Acquire) == before
    };
    let write = |[sequence, data]: &[AtomicU32; 2]| {
        sequence.store(1, Release);
        data.store(7, Release);
        sequence.store(2, Release);
    };
    assert!(none_violated(&verdicts(consistent, write)));
    let stops = |[sequence, data]: &[AtomicU32; 2]| {
        sequence.store(1, Release);
        data.store(7, Release);
    };
    assert!(all_deadlock(&verdicts(consistent, stops)));
}

/// A condition whose `asks` differ from one evaluation to the next.
fn refused(asks: impl Fn(&AtomicU32, u32) -> bool + Copy + 'static) -> bool {
    let report = Explorer::new(Memory::C11).explore(move || {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&word);
        let writer = spawn(move || theirs.store(1, Release));
        let evaluations = Cell::new(0);
        wait_until(|| {
            evaluations.set(evaluations.get() + 1);
            asks(&word, evaluations.get())
        });
        writer.join().unwrap();
    });
    let report = report.unwrap();
    report.violation().is_some_and(|it| matches!(it.failure, Failure::Condition { .. }))
}

#[test]
fn a_condition_repeats_its_requests() {
    let once = |word: &AtomicU32, nth: u32| nth == 1 && word.load(Acquire) == 1;
    assert!(refused(once), "fewer");
    let twice = |word: &AtomicU32, nth: u32| nth < 3 && word.load(Acquire) == 1;
    assert!(refused(twice), "fewer in its third evaluation");
    let shorter = |word: &AtomicU32, nth: u32| {
        word.load(Acquire) == 1 && nth < 2 || nth == 1 && word.load(Relaxed) == 1
    };
    assert!(refused(shorter), "a prefix");
    let later = |word: &AtomicU32, nth: u32| nth > 1 && word.load(Acquire) == 1;
    assert!(refused(later), "more");
    let other = |word: &AtomicU32, nth: u32| match nth {
        1 => word.load(Acquire) == 1,
        _ => word.compare_exchange(1, 1, Acquire, Relaxed).is_ok(),
    };
    assert!(refused(other), "others");
    assert!(!refused(|word, _| word.load(Acquire) == 1));
}

/// A condition of up to four reads of two words: it holds for these values.
#[derive(Clone, Debug)]
struct Reads {
    words: Vec<usize>,
    holds_for: u64,
}

impl Reads {
    fn random(random: &mut Random) -> Reads {
        let words = (0..2 + random.below(3)).map(|_| random.below(2) as usize).collect();
        Reads { words, holds_for: random.next() }
    }

    fn holds(&self, found: &[u32]) -> bool {
        let code = found.iter().fold(0, |code, value| code * 3 + value);
        self.holds_for >> (code % 64) & 1 == 1
    }

    fn read(&self, words: &[AtomicU32; 2]) -> Vec<u32> {
        self.words.iter().map(|&nth| words[nth].load(Acquire)).collect()
    }
}

/// Whatever a condition may find when it is evaluated once is what the last round of a wait for it may find, and the
/// wait may last forever if the newest values refuse it.
#[test]
fn random_conditions_hold_for_what_one_evaluation_may_find() {
    let (mut ended, mut lasted) = (0, 0);
    for seed in 0..uncontended_testkit::repetitions("random conditions", 400, 20_000) {
        let mut random = Random(seed);
        let condition = Reads::random(&mut random);
        let stores: Vec<usize> =
            (0..1 + random.below(3)).map(|_| random.below(2) as usize).collect();
        let memory = MODELS[random.below(3) as usize];
        let program = |waits: bool| {
            let (condition, stores) = (condition.clone(), stores.clone());
            move || {
                let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
                let (theirs, stores) = (Arc::clone(&words), stores.clone());
                let writer = spawn(move || {
                    let mut next = [0, 0];
                    for nth in stores {
                        next[nth] = (next[nth] + 1) % 3;
                        theirs[nth].store(next[nth], Release);
                    }
                });
                let found = Cell::new(Vec::new());
                let evaluate = || {
                    let read = condition.read(&words);
                    let holds = condition.holds(&read);
                    found.set(read);
                    holds
                };
                match waits {
                    true => wait_until(evaluate),
                    false => assume(evaluate()),
                }
                writer.join().unwrap();
                found.take()
            }
        };
        let mut newest = [0, 0];
        stores.iter().for_each(|&nth| newest[nth] = (newest[nth] + 1) % 3);
        let last: Vec<u32> = condition.words.iter().map(|&nth| newest[nth]).collect();
        let context = format!("seed {seed}: {condition:?} {stores:?} {memory:?}");
        if condition.holds(&last) {
            let explorer = || Explorer::new(memory);
            let (once, _) = explorer().outcomes(program(false)).unwrap();
            let (waited, report) = explorer().outcomes(program(true)).unwrap();
            assert!(report.holds(), "{context}: {report}");
            assert!(once.into_keys().eq(waited.into_keys()), "{context}");
            ended += 1;
        } else {
            let waits = program(true);
            let report = Explorer::new(memory).explore(move || _ = waits()).unwrap();
            assert!(all_deadlock(&[report]), "{context}");
            lasted += 1;
        }
    }
    assert!(ended > 100 && lasted > 100, "{ended} {lasted}");
}
