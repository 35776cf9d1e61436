//! Waiting loops miss nothing below the bound on rounds, and the report states what is beyond it.
//!
//! Random programs that wait, against every candidate execution with the same number of failed rounds, count by count:
//! the same loop with hints and a bound, and as a `wait_until`. `UNC_DEPTH=full`: 10^4 of them; `UNC_PROGRAMS=n`: n.

mod candidates;
mod programs;

use candidates::{Instruction, Mode, Model, Program, executions};
use programs::{LOCATIONS, instruction, mode, run};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use uncontended_model::random::Random;
use uncontended_model::real::{
    AtomicBool, AtomicU32, Bound, Coverage, Explorer, Failure, Limit, Memory, Report, UnsafeCell,
    Verdict, assume, fence, spawn, spin_loop, wait_until, yield_now,
};

fn outcomes<T: Ord + 'static>(body: impl Fn() -> T + 'static) -> (BTreeMap<T, u64>, Report) {
    let (outcomes, report) = Explorer::new(Memory::C11).outcomes(body).unwrap();
    assert!(report.holds(), "{report}");
    (outcomes, report)
}

fn failure(body: impl Fn() + 'static) -> Failure {
    let report = Explorer::new(Memory::C11).explore(body).unwrap();
    report.violation().unwrap_or_else(|| panic!("{report}")).failure.clone()
}

#[test]
fn a_hint_between_two_reads_hides_no_outcome() {
    let (found, report) = outcomes(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let writer = spawn(move || other.store(1, SeqCst));
        let first = x.load(SeqCst);
        yield_now();
        let second = x.load(SeqCst);
        writer.join().unwrap();
        (first, second)
    });
    assert_eq!(found, BTreeMap::from([((0, 0), 1), ((0, 1), 1), ((1, 1), 1)]));
    assert_eq!(report.to_string(), "holds in all 3 executions (0 blocked explorations)");
}

#[test]
fn a_loop_that_gives_up_sees_news_in_every_round() {
    let (found, report) = outcomes(|| {
        let x = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&x);
        let writer = spawn(move || other.store(true, Release));
        let seen = (0..3).find(|_| {
            let seen = x.load(Acquire);
            if !seen {
                spin_loop();
            }
            seen
        });
        writer.join().unwrap();
        seen
    });
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [None, Some(0), Some(1), Some(2)]);
    assert_eq!(report.rounds, None, "{report}");
}

#[test]
fn a_lock_that_is_tried_twice_may_be_had_the_second_time() {
    let (found, _) = outcomes(|| {
        let lock = Arc::new(AtomicBool::new(true));
        let other = Arc::clone(&lock);
        let holder = spawn(move || other.store(false, Release));
        let attempt = || lock.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        let first = attempt();
        yield_now();
        let result = (first, attempt());
        holder.join().unwrap();
        result
    });
    let all = [(false, false), (false, true), (true, false)];
    assert_eq!(found.into_keys().collect::<Vec<_>>(), all);
}

#[test]
fn state_that_lives_on_from_round_to_round_is_explored() {
    let found = failure(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let writer = spawn(move || other.store(1, Release));
        let mut rounds = 0;
        while x.load(Acquire) == 0 {
            rounds += 1;
            yield_now();
        }
        writer.join().unwrap();
        assert_ne!(rounds, 2, "seen in the third round");
    });
    assert!(matches!(found, Failure::Panic { .. }), "{found}");
}

/// A value handed over; `fenced` says after which of its reads the consumer fences.
fn hand_over(fences_after_empty: bool) -> Report {
    struct Slot(AtomicBool, UnsafeCell<u32>);
    // SAFETY: the flag hands the value over.
    unsafe impl Sync for Slot {}
    let body = move || {
        let slot = Arc::new(Slot(AtomicBool::new(false), UnsafeCell::new(0)));
        let other = Arc::clone(&slot);
        let producer = spawn(move || {
            // SAFETY: not published yet, so the value is this thread's.
            other.1.with_mut(|value| unsafe { *value = 7 });
            other.0.store(true, Release);
        });
        let mut was_empty = false;
        while !slot.0.load(Relaxed) {
            was_empty = true;
            spin_loop();
        }
        if !was_empty || fences_after_empty {
            fence(Acquire);
        }
        // SAFETY: published before the flag was set, if the fence is there: the checker finds the race.
        assert_eq!(slot.1.with(|value| unsafe { *value }), 7);
        producer.join().unwrap();
    };
    Explorer::new(Memory::C11).explore(body).unwrap()
}

#[test]
fn a_consumer_that_forgets_its_fence_after_an_empty_is_caught() {
    assert!(hand_over(true).holds());
    let found = hand_over(false);
    assert!(matches!(found.violation().unwrap().failure, Failure::Race { .. }), "{found}");
}

/// Two threads add one each under a lock whose unlock, after contention, has this order.
fn contended(order: Ordering) -> Report {
    struct Lock(AtomicU32, UnsafeCell<u32>);
    // SAFETY: the number is only accessed under the lock.
    unsafe impl Sync for Lock {}
    let body = move || {
        let lock = Arc::new(Lock(AtomicU32::new(0), UnsafeCell::new(0)));
        let add = move |lock: &Lock| {
            let mut contended = false;
            while lock.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                contended = true;
                spin_loop();
            }
            // SAFETY: the lock is held, and its holder owns the number.
            lock.1.with_mut(|n| unsafe { *n += 1 });
            lock.0.store(0, if contended { order } else { Release });
        };
        let others = [0, 1].map(|_| {
            let lock = Arc::clone(&lock);
            spawn(move || add(&lock))
        });
        add(&lock);
        others.into_iter().for_each(|other| other.join().unwrap());
    };
    Explorer::new(Memory::C11).rounds(1).explore(body).unwrap()
}

#[test]
fn a_lock_that_unlocks_relaxed_after_contention_is_caught() {
    let right = contended(Release);
    assert!(right.holds() && right.rounds == Some(1), "{right}");
    let wrong = contended(Relaxed);
    assert!(matches!(wrong.violation().unwrap().failure, Failure::Race { .. }), "{wrong}");
}

#[test]
fn the_bound_on_rounds_is_exact_and_said() {
    for most in 1..6 {
        let (found, report) = Explorer::new(Memory::C11)
            .rounds(most)
            .outcomes(|| {
                let x = Arc::new(AtomicBool::new(false));
                let other = Arc::clone(&x);
                let writer = spawn(move || other.store(true, Release));
                let mut rounds = 0;
                while !x.load(Acquire) {
                    rounds += 1;
                    spin_loop();
                }
                writer.join().unwrap();
                rounds
            })
            .unwrap();
        let expected = (0..=most).map(|rounds| (rounds, 1));
        assert_eq!(found, expected.collect());
        let said = format!("holds in all {} executions with at most {most} round", most + 1);
        assert!(report.to_string().starts_with(&said), "{report}");
        assert!(report.left_waiting > 0 && report.rounds == Some(most), "{report}");
    }
}

#[test]
fn a_loop_that_stores_what_it_finds_is_left_waiting_and_that_is_said() {
    let (found, report) = outcomes(|| {
        let lock = Arc::new(AtomicBool::new(true));
        let other = Arc::clone(&lock);
        let holder = spawn(move || other.store(false, Release));
        let mut rounds = 0;
        while lock.swap(true, Acquire) {
            rounds += 1;
            spin_loop();
        }
        holder.join().unwrap();
        rounds
    });
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(report.rounds, Some(3), "{report}");
}

/// A lock is taken by `swap` within this many rounds, and freed by another thread.
fn swapped_within(rounds: u32) -> impl Fn() -> bool + 'static {
    move || {
        let lock = Arc::new(AtomicBool::new(true));
        let other = Arc::clone(&lock);
        let holder = spawn(move || other.store(false, Release));
        let taken = (0..rounds).any(|_| {
            let taken = !lock.swap(true, Acquire);
            if !taken {
                spin_loop();
            }
            taken
        });
        holder.join().unwrap();
        taken
    }
}

#[test]
fn a_loop_that_stores_what_it_finds_and_gives_up_unexplored_does_not_hold() {
    let (found, report) = outcomes(swapped_within(3));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [false, true]);
    assert_eq!(report.coverage(), Coverage::Complete);
    for rounds in [4, 5, 10, 190] {
        let body = swapped_within(rounds);
        let report = Explorer::new(Memory::C11).explore(move || _ = body()).unwrap();
        assert!(matches!(report.verdict, Verdict::Unknown(Bound::Spins(3))), "{rounds}: {report}");
        assert_eq!(report.coverage(), Coverage::Partial);
        for part in ["real_rounds.rs:", "gives up later", "`Explorer::rounds`"] {
            assert!(uncontended_testkit::one_line(&report).contains(part), "{part}: {report}");
        }
        let enough = Explorer::new(Memory::C11).rounds(rounds).outcomes(swapped_within(rounds));
        let (found, report) = enough.unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [false, true], "{report}");
        assert!(report.holds(), "{report}");
    }
}

#[test]
fn a_loop_that_gives_up_differs_from_one_that_waits_at_its_place() {
    let report = Explorer::new(Memory::C11)
        .explore(|| {
            let lock = Arc::new(AtomicBool::new(true));
            let other = Arc::clone(&lock);
            let holder = spawn(move || other.store(false, Release));
            let taken_within = |rounds: u32| {
                (0..rounds).any(|_| {
                    let taken = !lock.swap(true, Acquire);
                    if !taken {
                        spin_loop();
                    }
                    taken
                })
            };
            assert!(taken_within(u32::MAX));
            taken_within(10);
            holder.join().unwrap();
        })
        .unwrap();
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Spins(3))), "{report}");
}

#[test]
fn what_a_verdict_covers_is_data() {
    let waits = |explorer: Explorer| {
        let body = || {
            let ready = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&ready);
            spawn(move || other.store(true, Release));
            while !ready.load(Acquire) {
                spin_loop();
            }
        };
        explorer.explore(body).unwrap().coverage()
    };
    let explorer = || Explorer::new(Memory::C11).rounds(2).spins(50);
    let (rounds, spins) = (Limit::Rounds(2), Limit::Spins(50));
    assert_eq!(waits(explorer()), Coverage::Within(vec![rounds, spins]));
    let spurious = Coverage::Within(vec![rounds, spins, Limit::Spurious(2)]);
    assert_eq!(waits(explorer().spurious(true)), spurious);
    let bounded = Coverage::Within(vec![Limit::Preemptions(1), rounds, spins]);
    assert_eq!(waits(explorer().preemptions(1)), bounded);
    assert_eq!(waits(explorer().executions(1)), Coverage::Partial);
}

#[test]
fn wait_until_is_one_round_and_needs_no_bound() {
    let (found, report) = outcomes(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let writer = spawn(move || (1..=3).for_each(|value| other.store(value, Release)));
        wait_until(|| x.load(Acquire) >= 2);
        let seen = x.load(Relaxed);
        writer.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeMap::from([(2, 1), (3, 2)]));
    assert!(report.to_string().starts_with("holds in all 3 executions ("), "{report}");
}

#[test]
fn wait_until_may_end_in_an_exchange() {
    let (found, report) = outcomes(|| {
        let lock = Arc::new(AtomicU32::new(0));
        let order = Arc::new(AtomicU32::new(0));
        let threads = [1, 2].map(|name| {
            let (lock, order) = (Arc::clone(&lock), Arc::clone(&order));
            spawn(move || {
                wait_until(|| lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok());
                order.store(order.load(Relaxed) * 10 + name, Relaxed);
                lock.store(0, Release);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        order.load(Relaxed)
    });
    assert_eq!(found, BTreeMap::from([(12, 1), (21, 1)]));
    assert_eq!(report.rounds, None);
}

#[test]
fn a_condition_that_never_holds_is_a_deadlock() {
    let found = failure(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let writer = spawn(move || other.store(1, Release));
        wait_until(|| x.load(Acquire) == 2);
        writer.join().unwrap();
    });
    assert!(matches!(found, Failure::Deadlock { ref threads } if threads == &[0]), "{found}");
}

#[test]
fn a_condition_with_an_effect_is_a_failure() {
    let writes = failure(|| {
        let x = AtomicU32::new(0);
        wait_until(|| x.fetch_add(1, Relaxed) == 3);
    });
    assert!(matches!(writes, Failure::Condition { thread: 0, .. }), "{writes}");
    let plain = failure(|| {
        let (x, count) = (AtomicU32::new(0), UnsafeCell::new(0));
        wait_until(|| {
            // SAFETY: only one thread runs, so no other thread accesses the number.
            count.with_mut(|count| unsafe { *count += 1 });
            x.load(Relaxed) == 1
        });
    });
    assert!(matches!(plain, Failure::Condition { .. }), "{plain}");
    let counts = failure(|| {
        let (x, count) = (AtomicU32::new(0), Cell::new(0));
        wait_until(|| {
            count.set(count.get() + 1);
            x.load(Relaxed) == 1 || count.get() == 3
        });
    });
    assert!(matches!(counts, Failure::Condition { .. }), "{counts}");
    let wanders = failure(|| {
        let (x, y, turn) = (AtomicU32::new(0), AtomicU32::new(0), Cell::new(false));
        wait_until(|| if turn.replace(true) { &x } else { &y }.load(Relaxed) == 1);
    });
    assert!(matches!(wanders, Failure::Condition { .. }), "{wanders}");
}

#[test]
fn assume_leaves_out_what_it_says_and_nothing_vacuous_holds() {
    let (found, _) = outcomes(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let writer = spawn(move || other.store(1, Relaxed));
        let seen = x.load(Relaxed);
        assume(seen == 1);
        writer.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeMap::from([(1, 1)]));
    let nothing = Explorer::new(Memory::C11).explore(|| assume(false)).unwrap();
    assert!(matches!(nothing.verdict, Verdict::Unknown(Bound::Assumptions)), "{nothing}");
}

#[test]
fn outside_an_exploration_wait_until_waits() {
    let x = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&x);
    let writer = spawn(move || other.store(true, Release));
    wait_until(|| x.load(Acquire));
    assume(false);
    writer.join().unwrap();
}

/// One thread waits until `location` holds none of `not`, between the instructions before and after.
#[derive(Clone, Debug)]
struct Waiting {
    others: Program,
    before: Vec<Instruction>,
    location: usize,
    mode: Mode,
    not: [u32; 2],
    after: Vec<Instruction>,
}

/// The others store `not[1]` and then something else, so that the wait ends. Values are different, so that two reads of
/// a value are two reads of one write.
fn waiting(random: &mut Random) -> Waiting {
    let mut stored = 0;
    let mut distinct = |random: &mut Random, with_heavy| loop {
        let drawn = instruction(random, &mut stored, with_heavy);
        if !matches!(drawn, Instruction::Add(..) | Instruction::Unlocked(..)) {
            break drawn;
        }
    };
    let with_heavy = random.below(2) == 0;
    let location = random.below(LOCATIONS as u64) as usize;
    let store = |random: &mut Random, value| {
        Instruction::Store(location, value, mode(random.choose(&[Relaxed, Release, SeqCst])))
    };
    let not = [0, 101];
    let mut writer = vec![store(random, not[1]), store(random, 102)];
    if random.below(2) == 0 {
        writer.insert(random.below(3) as usize, distinct(random, with_heavy));
    }
    let mut others = vec![writer];
    if random.below(2) == 0 {
        others.push(vec![distinct(random, with_heavy)]);
    }
    let some = |random: &mut Random, draw: &mut dyn FnMut(&mut Random, bool) -> Instruction| {
        (0..random.below(2)).map(|_| draw(random, with_heavy)).collect()
    };
    let before = some(random, &mut distinct);
    let after = some(random, &mut distinct);
    let mode = mode(random.choose(&[Relaxed, Acquire, SeqCst]));
    Waiting { others, before, location, mode, not, after }
}

impl Waiting {
    /// Every execution in which the wait ends after at most `most` failed rounds in a row that read the same write.
    fn expected(&self, most: u32, model: Model) -> BTreeMap<Vec<u32>, u64> {
        let mut all = BTreeMap::new();
        let is_failed = |value: &u32| self.not.contains(value);
        for failed in 0..=2 * most as usize {
            let mut program = self.others.clone();
            let load = Instruction::Load(self.location, self.mode);
            let loads = std::iter::repeat_n(load, failed + 1);
            let waiting = self.before.iter().copied().chain(loads).chain(self.after.clone());
            program.push(waiting.collect());
            let reads = |instructions: &[Instruction]| {
                let is_read = |i: &&Instruction| {
                    !matches!(
                        i,
                        Instruction::Store(..)
                            | Instruction::Fence(_)
                            | Instruction::Light
                            | Instruction::Heavy
                    )
                };
                instructions.iter().filter(is_read).count()
            };
            let first =
                self.others.iter().map(|thread| reads(thread)).sum::<usize>() + reads(&self.before);
            for (outcome, count) in executions(&program, LOCATIONS, model) {
                let (rounds, last) = (&outcome[first..first + failed], outcome[first + failed]);
                let longest = rounds.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(0);
                if rounds.iter().all(is_failed) && !is_failed(&last) && longest <= most as usize {
                    *all.entry(outcome).or_insert(0) += count;
                }
            }
        }
        all
    }

    /// What the checker finds, waiting in a loop with hints or by `wait_until`.
    fn found(&self, most: u32, memory: Memory) -> BTreeMap<Vec<u32>, u64> {
        let program = self.clone();
        let explored = Explorer::new(memory).rounds(most.max(1)).outcomes(move || {
            let words: Arc<Vec<AtomicU32>> =
                Arc::new((0..LOCATIONS).map(|_| AtomicU32::new(0)).collect());
            let mut threads = Vec::new();
            for instructions in program.others.clone() {
                let words = Arc::clone(&words);
                threads.push(spawn(move || {
                    let mut reads = Vec::new();
                    instructions.iter().for_each(|&i| run(i, &words, &mut reads));
                    reads
                }));
            }
            let (waiting, shared) = (program.clone(), Arc::clone(&words));
            threads.push(spawn(move || waiting.wait(most, &shared)));
            let mut all: Vec<u32> =
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            all.extend(words.iter().map(|word| word.load(Relaxed)));
            all
        });
        let (found, report) = explored.unwrap();
        assert!(report.holds() && report.rounds.is_some() == (most > 0), "{report} {self:#?}");
        found
    }

    fn wait(&self, most: u32, words: &[AtomicU32]) -> Vec<u32> {
        let mut reads = Vec::new();
        self.before.iter().for_each(|&i| run(i, words, &mut reads));
        let load = Instruction::Load(self.location, self.mode);
        if most == 0 {
            let seen = Cell::new(0);
            wait_until(|| {
                let mut read = Vec::new();
                run(load, words, &mut read);
                seen.set(read[0]);
                !self.not.contains(&read[0])
            });
            reads.push(seen.get());
        } else {
            loop {
                run(load, words, &mut reads);
                if !self.not.contains(reads.last().expect("just read")) {
                    break;
                }
                yield_now();
            }
        }
        self.after.iter().for_each(|&i| run(i, words, &mut reads));
        reads
    }
}

#[test]
fn random_waits_agree_with_all_candidates_within_the_rounds() {
    let asked = std::env::var("UNC_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let count: u64 =
        asked.unwrap_or_else(|| uncontended_testkit::repetitions("random waits", 40, 10_000));
    let models = [(Memory::C11, Model::C11), (Memory::Tso, Model::Tso), (Memory::Sc, Model::Sc)];
    let mut random = Random(11);
    let mut ended = BTreeMap::new();
    for _ in 0..count {
        let program = waiting(&mut random);
        let (memory, model) = random.choose(&models);
        // The enumerator's work grows with the power of the rounds.
        let is_small = program.others.concat().len() + program.after.len() < 4;
        let most = random.below(if is_small { 3 } else { 2 }) as u32;
        let (found, expected) = (program.found(most, memory), program.expected(most, model));
        assert_eq!(found, expected, "{memory:?}, {most} rounds: found, expected, {program:#?}");
        *ended.entry(found.len()).or_insert(0) += found.values().sum::<u64>();
    }
    println!("real_rounds: {count} agree, in {} executions", ended.values().sum::<u64>());
    assert!(ended.len() > 5, "programs of many sizes: {ended:?}");
}

#[test]
fn loops_at_one_place_with_patience_of_their_own_are_told_apart() {
    let wait = |word: &AtomicU32, patience: u32| {
        let mut rounds = 0;
        while word.load(Relaxed) == 0 {
            rounds += 1;
            if rounds == patience {
                return rounds;
            }
            yield_now();
        }
        0
    };
    for patience in [[50, 1000], [1000, 50]] {
        // By what each thread was given.
        let report = Explorer::new(Memory::C11).explore(move || {
            let word = Arc::new(AtomicU32::new(0));
            let threads = patience.map(|patience| {
                let word = Arc::clone(&word);
                spawn(move || wait(&word, patience))
            });
            for thread in threads {
                assert_ne!(thread.join().unwrap(), 50);
            }
        });
        let report = report.unwrap();
        assert!(!report.holds(), "{patience:?}: {report}");
        // By what it has found.
        let report = Explorer::new(Memory::C11).explore(move || {
            let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            let others = Arc::clone(&words);
            let other = spawn(move || others[1].store(1, Relaxed));
            let chosen = words[1].load(Relaxed) as usize;
            assert_ne!(wait(&words[0], patience[chosen]), 50);
            other.join().unwrap();
        });
        let report = report.unwrap();
        assert!(!report.holds(), "{patience:?}: {report}");
    }
}
