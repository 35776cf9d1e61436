//! The path and the gain, on histories that a simulation of threads with locks makes.

use super::{Held, History, Of, Replay, Step, Thread, Wait, What, parts, walk};
use uncontended_testkit::{Random, repetitions};

/// A thread's work: for each turn, how long it computes, which lock it takes then, and for how long.
type Plan = Vec<(u64, usize, u64)>;

/// A turn of a thread as it went.
#[derive(Clone, Copy, Default)]
struct Turn {
    asked: u64,
    got: u64,
    released: u64,
    /// The thread and the turn that had the lock before, if the lock was free only through its release.
    after: Option<(usize, usize)>,
}

/// Runs the plans with locks that serve first come, first served. Thread 0 makes all others at 0 and joins them.
fn run(plans: &[Plan]) -> Vec<Vec<Turn>> {
    let mut turns: Vec<Vec<Turn>> = plans.iter().map(|_| Vec::new()).collect();
    let mut last: [Option<(usize, usize)>; 3] = [None; 3];
    loop {
        let ready = |thread: usize| turns[thread].last().map_or(0, |turn: &Turn| turn.released);
        let asks = plans.iter().enumerate().filter_map(|(thread, plan)| {
            let &(compute, lock, hold) = plan.get(turns[thread].len())?;
            Some((ready(thread) + compute, thread, lock, hold))
        });
        // The first to ask is served first: no later one can ask earlier.
        let Some((asked, thread, lock, hold)) = asks.min() else { return turns };
        let free = last[lock].map_or(0, |(of, turn)| turns[of][turn].released);
        let after = last[lock].filter(|_| free > asked);
        let got = asked.max(free);
        last[lock] = Some((thread, turns[thread].len()));
        turns[thread].push(Turn { asked, got, released: got + hold, after });
    }
}

/// What a record would know of it. Code `n` is what holds lock `n`. The last thread waits for the ends of all others.
fn history(plans: &[Plan], turns: &[Vec<Turn>]) -> (History, Vec<Held>, (usize, u64)) {
    let mut holds = Vec::new();
    let mut threads: Vec<Thread> =
        plans.iter().map(|_| Thread { creator: Some(plans.len()), ..Thread::default() }).collect();
    for (thread, all) in turns.iter().enumerate() {
        for (turn, &(_, lock, _)) in all.iter().zip(&plans[thread]) {
            let Some((of, before)) = turn.after else { continue };
            let hold = turns[of][before];
            let by = Some((of, hold.released));
            threads[thread].waits.push(Wait {
                began: turn.asked,
                ended: turn.got,
                lock: Some(lock),
                by,
                by_stack: 0,
                free: 0,
                excludes: true,
                meets: false,
                paced: false,
            });
            threads[of].holds.push((lock, hold.got, hold.released));
            let (code, began, ended) = (lock, hold.got, hold.released);
            holds.push(Held { lock, thread: of, code, began, ended });
        }
    }
    let mut main = Thread::default();
    let mut now = 0;
    for (thread, all) in turns.iter().enumerate() {
        let end = all.last().map_or(0, |turn| turn.released);
        if end > now {
            main.waits.push(Wait {
                began: now,
                ended: end,
                lock: None,
                by: Some((thread, end)),
                by_stack: 0,
                free: 0,
                excludes: false,
                meets: false,
                paced: false,
            });
            now = end;
        } else {
            main.joined.push((now, thread, end));
        }
    }
    threads.push(main);
    (History { from: 0, threads }, holds, (plans.len(), now))
}

fn gain(history: &History, holds: &[Held], last: (usize, u64), of: &Of) -> u64 {
    Replay::new(history, holds, last).gain(history, of).expect("the replay ends")
}

fn random_plans(random: &mut Random) -> Vec<Plan> {
    let turn = |random: &mut Random| {
        (1 + random.below(20), random.below(3) as usize, 1 + random.below(30))
    };
    let count = 1 + random.below(4);
    (0..count).map(|_| (0..1 + random.below(6)).map(|_| turn(random)).collect()).collect()
}

fn in_holds(history: &History, steps: &[Step], code: usize) -> u64 {
    let own = steps.iter().filter(|step| step.what == What::Own);
    let overlap = |step: &Step| -> u64 {
        let parts = parts(&history.threads[step.thread], |of| of == code);
        parts.iter().map(|&(from, to)| to.min(step.to).saturating_sub(from.max(step.from))).sum()
    };
    own.map(overlap).sum()
}

#[test]
fn the_path_is_as_long_as_the_run() {
    let mut random = Random(11);
    for _ in 0..repetitions("paths", 2_000, 40_000) {
        let plans = random_plans(&mut random);
        let turns = run(&plans);
        let (history, _, last) = history(&plans, &turns);
        let steps = walk(&history, 0, last);
        assert_eq!(steps.iter().map(|step| step.to - step.from).sum::<u64>(), last.1, "{plans:?}");
        assert!(steps.is_sorted_by(|later, earlier| later.from == earlier.to), "{steps:?}");
        assert!(steps.iter().all(|step| step.what != What::Unknown));
        // What a thread waits for is done by others; all else on the path is the last thread's to end.
        let ends = turns.iter().map(|all| all.last().map_or(0, |turn| turn.released));
        let slowest = ends.clone().position(|end| end == last.1).unwrap();
        let own = |step: &&Step| step.thread == slowest;
        let waits = history.threads[slowest].waits.iter().map(|wait| wait.ended - wait.began);
        let inside: u64 = steps.iter().filter(own).map(|step| step.to - step.from).sum();
        assert!(inside + waits.sum::<u64>() >= last.1, "{steps:?}");
    }
}

/// The length of the run if the holds of `lock` that were waited for take no time. Locks serve first come, first
/// served; a hold that none waited for, and a turn that did not wait, are not in the record.
fn again(plans: &[Plan], turns: &[Vec<Turn>], history: &History, lock: Option<usize>) -> u64 {
    let mut next = vec![0; plans.len()];
    let (mut ready, mut free) = (vec![0; plans.len()], [0; 3]);
    loop {
        let asks = plans
            .iter()
            .enumerate()
            .filter_map(|(thread, plan)| Some((ready[thread] + plan.get(next[thread])?.0, thread)));
        let Some((asked, thread)) = asks.min() else { return ready.into_iter().max().unwrap_or(0) };
        let ((_, of, hold), turn) = (plans[thread][next[thread]], turns[thread][next[thread]]);
        next[thread] += 1;
        let is_known = history.threads[thread].holds.contains(&(of, turn.got, turn.released));
        let is_in_turn = is_known || turn.after.is_some();
        let got: u64 = if is_in_turn { asked.max(free[of]) } else { asked };
        ready[thread] = got + if is_known && lock == Some(of) { 0 } else { hold };
        if is_known {
            free[of] = ready[thread];
        }
    }
}

#[test]
fn a_gain_is_that_of_the_same_plans_run_again() {
    let mut random = Random(5);
    let (mut gained, mut reordered) = (0, 0);
    for _ in 0..repetitions("gains", 2_000, 40_000) {
        let mut plans = random_plans(&mut random);
        // No two threads ask at once.
        for turn in plans.iter_mut().flatten() {
            *turn = (turn.0 * 1_000_000 + random.below(999_983), turn.1, turn.2 * 1_000_003);
        }
        let turns = run(&plans);
        let (history, holds, last) = history(&plans, &turns);
        let length = again(&plans, &turns, &history, None);
        assert_eq!(length, last.1, "{plans:?}");
        for lock in 0..3 {
            let expected = length.saturating_sub(again(&plans, &turns, &history, Some(lock)));
            let gain = gain(&history, &holds, last, &Of::Code(lock));
            assert_eq!(gain, expected, "lock {lock} of {plans:?}");
            let on_path = in_holds(&history, &walk(&history, 0, last), lock);
            gained += usize::from(gain > 0);
            reordered += usize::from(gain > on_path);
        }
    }
    assert!(gained > 300 && reordered > 0, "{gained}, {reordered}");
}

/// A thread waits for 50 at one lock, then for a short hold of another thread, which takes and frees its lock all the
/// time: without the long hold, it would wait for an earlier one of the short ones.
#[test]
fn a_long_hold_costs_also_before_a_short_wait() {
    let busy: Plan = vec![(1, 1, 9); 8];
    let plans = [vec![(2, 0, 0), (1, 1, 1)], vec![(1, 0, 50)], busy];
    let turns = run(&plans);
    let (history, mut holds, _) = history(&plans, &turns);
    let last = (0, turns[0][1].released);
    assert_eq!((turns[0][0].got, turns[0][1].got, last.1), (51, 60, 61));
    // All of the short holds are known, as with --all-holds.
    holds.retain(|hold| hold.lock == 0);
    holds.extend(turns[2].iter().map(|turn| Held {
        lock: 1,
        thread: 2,
        code: 1,
        began: turn.got,
        ended: turn.released,
    }));
    assert_eq!(in_holds(&history, &walk(&history, 0, last), 0), 49, "since it asked for it");
    assert_eq!(gain(&history, &holds, last, &Of::Code(0)), 61 - 11, "it would have it at 10");
}

/// The last thread waits for the first one's end, and then joins the second, which ended just before.
#[test]
fn a_thread_that_is_joined_without_a_wait_limits_the_gain() {
    let plans = [vec![(10, 0, 100), (90, 0, 0)], vec![(20, 0, 30), (58, 1, 0)]];
    let turns = run(&plans);
    let (history, holds, last) = history(&plans, &turns);
    assert_eq!((last.1, &history.threads[2].joined[..]), (200, &[(200, 1, 198)][..]));
    // Without the hold of 100, the first thread would end at 100, and the second at 20 + 30 + 58.
    assert_eq!(gain(&history, &holds, last, &Of::Code(0)), 200 - 108);
}

#[test]
fn a_lock_that_many_wait_for_off_the_path_gains_nothing() {
    // Three threads share lock 0 for a while; one computes for longer than all of that, with lock 1 to itself.
    let share: Plan = vec![(1, 0, 10); 3];
    let plans = [share.clone(), share.clone(), share, vec![(500, 1, 10)]];
    let turns = run(&plans);
    let (history, holds, last) = history(&plans, &turns);
    let steps = walk(&history, 0, last);
    assert_eq!(in_holds(&history, &steps, 0), 0);
    assert_eq!(gain(&history, &holds, last, &Of::Code(0)), 0);
    assert_eq!(last.1, 510);
}

/// A wait for a thread's end.
fn join(began: u64, ended: u64, by: usize) -> Wait {
    let by = Some((by, ended));
    Wait {
        began,
        ended,
        lock: None,
        by,
        by_stack: 0,
        free: 0,
        excludes: false,
        meets: false,
        paced: false,
    }
}

/// The main thread waits for a worker's end, and then a moment for that of a thread that it told to end.
#[test]
fn a_thread_that_was_told_to_end_does_not_set_the_length() {
    let worker = Thread { creator: Some(0), holds: vec![(0, 10, 90)], ..Thread::default() };
    let told = Thread { creator: Some(0), ..Thread::default() };
    let main = Thread { waits: vec![join(0, 97, 1), join(97, 99, 2)], ..Thread::default() };
    let mut history = History { from: 0, threads: vec![main, worker, told] };
    let last = history.before_told((0, 100));
    assert_eq!(last, (0, 97));
    assert_eq!(in_holds(&history, &walk(&history, 0, last), 0), 80);
    assert_eq!(gain(&history, &[], last, &Of::Code(0)), 80);
    history.threads[0].waits[1].ended = 110;
    history.threads[0].waits[1].began = 90;
    assert_eq!(history.before_told((0, 120)), (0, 120), "it did not end soon");
}

/// The same, where the last one had waited for the main thread until a moment before.
#[test]
fn a_thread_that_did_what_it_was_given_was_not_told_to_end() {
    let by = Some((0, 60));
    let paced = Wait { lock: Some(0), by, paced: true, ..join(50, 60, 0) };
    let worker = Thread { creator: Some(0), waits: vec![paced], ..Thread::default() };
    let main = Thread { waits: vec![join(97, 99, 1)], ..Thread::default() };
    let mut history = History { from: 0, threads: vec![main, worker] };
    assert_eq!(history.before_told((0, 100)), (0, 100));
    let early = &mut history.threads[1].waits[0];
    (early.began, early.ended, early.by) = (5, 10, Some((0, 10)));
    assert_eq!(history.before_told((0, 100)), (0, 97), "it began when it was told to, no more");
}

#[test]
fn what_comes_late_after_a_release_is_the_locks_handover() {
    let hold = Thread { creator: Some(1), holds: vec![(0, 0, 40)], ..Thread::default() };
    let wait = Wait {
        began: 10,
        ended: 65,
        lock: Some(0),
        by: Some((0, 40)),
        by_stack: 0,
        free: 0,
        excludes: true,
        meets: false,
        paced: false,
    };
    let history =
        History { from: 0, threads: vec![hold, Thread { waits: vec![wait], ..Thread::default() }] };
    let steps = walk(&history, 0, (1, 100));
    let what: Vec<(usize, u64, What)> =
        steps.iter().map(|step| (step.thread, step.from, step.what)).collect();
    let handover = (1, 40, What::Handover(Some(0)));
    let back = (1, 0, What::Own);
    assert_eq!(what, [(1, 65, What::Own), handover, (0, 10, What::Own), back]);
    assert_eq!(gain(&history, &[], (1, 100), &Of::Handover([0].into())), 25);
    assert_eq!(gain(&history, &[], (1, 100), &Of::Code(0)), 40, "it would be woken at 25");
}

#[test]
fn a_lock_that_others_barge_in_to_was_waited_for_until_it_was_free() {
    // Released at 30, and again at 80 after a short hold: it was free for 60 of the 80 that the other thread waited.
    let holds = vec![(0, 0, 30), (0, 70, 80)];
    let busy = Thread { creator: Some(1), holds, ..Thread::default() };
    let wait = Wait {
        began: 10,
        ended: 90,
        lock: Some(0),
        by: Some((0, 80)),
        by_stack: 0,
        free: 60,
        excludes: true,
        meets: false,
        paced: false,
    };
    let threads = vec![busy, Thread { waits: vec![wait], ..Thread::default() }];
    let mut history = History { from: 0, threads };
    history.count_barging(|_| true);
    assert_eq!(history.threads[1].waits[0].by, Some((0, 30)));
    assert_eq!(gain(&history, &[], (1, 100), &Of::Handover([0].into())), 60);
    // Not while the other thread waits itself.
    let asleep = Wait {
        began: 20,
        ended: 40,
        lock: Some(1),
        by: None,
        by_stack: 0,
        free: 0,
        excludes: true,
        meets: false,
        paced: false,
    };
    history.threads[0].waits.push(asleep);
    history.threads[1].waits[0] = wait;
    history.count_barging(|_| true);
    assert_eq!(history.threads[1].waits[0].by, Some((0, 80)));
}

#[test]
fn a_wait_without_a_known_end_stays_as_long_as_it_was() {
    let wait = Wait {
        began: 10,
        ended: 65,
        lock: Some(0),
        by: None,
        by_stack: 0,
        free: 0,
        excludes: true,
        meets: false,
        paced: false,
    };
    let threads = vec![Thread { waits: vec![wait], holds: vec![(0, 0, 5)], ..Thread::default() }];
    let history = History { from: 2, threads };
    let what: Vec<(u64, What)> =
        walk(&history, 0, (0, 80)).iter().map(|step| (step.from, step.what)).collect();
    assert_eq!(what, [(65, What::Own), (10, What::Unknown), (2, What::Own)]);
    assert_eq!(gain(&history, &[], (0, 80), &Of::Code(0)), 3, "since 2, when the record begins");
}

#[test]
fn histories_that_contradict_themselves_end() {
    let (mut random, mut ends) = (Random(3), 0);
    for _ in 0..repetitions("histories that contradict themselves", 2_000, 20_000) {
        let count = 1 + random.below(4) as usize;
        let thread = |random: &mut Random| {
            let start = random.below(30);
            let mut waits: Vec<Wait> = Vec::new();
            for _ in 0..random.below(6) {
                let began = waits.last().map_or(start, |wait| wait.ended) + random.below(4);
                let ended = began + 1 + random.below(10);
                let by = (random.below(3) > 0)
                    .then(|| (random.below(count as u64) as usize, random.below(60)));
                waits.push(Wait {
                    began,
                    ended,
                    lock: Some(0),
                    by,
                    by_stack: 0,
                    free: 0,
                    excludes: true,
                    meets: false,
                    paced: false,
                });
            }
            let creator = (random.below(3) > 0).then(|| random.below(count as u64) as usize);
            let holds = (0..random.below(4))
                .map(|_| (random.below(2) as usize, random.below(50), random.below(50)))
                .collect();
            let joined = random.below(60);
            let by = random.below(count as u64) as usize;
            let joined = vec![(joined, by, random.below(joined + 1))];
            Thread { start, creator, waits, joined, holds }
        };
        let mut threads: Vec<Thread> = (0..count).map(|_| thread(&mut random)).collect();
        // A record has no ends from before the wait, or before their thread was seen.
        let starts: Vec<u64> = threads.iter().map(|thread| thread.start).collect();
        for wait in threads.iter_mut().flat_map(|thread| &mut thread.waits) {
            wait.by = wait.by.filter(|&(by, at)| at >= wait.began && at >= starts[by]);
        }
        let history = History { from: random.below(20), threads };
        let steps = walk(&history, 0, (0, 60));
        assert!(steps.iter().all(|step| step.from < step.to && step.from >= history.from));
        let length: u64 = steps.iter().map(|step| step.to - step.from).sum();
        assert!(length <= 60, "{steps:?}");
        let held = history.threads.iter().enumerate().flat_map(|(thread, of)| {
            of.holds.iter().map(move |&(code, began, ended)| {
                let ended = began.max(ended);
                Held { lock: code, thread, code, began, ended }
            })
        });
        for held in [vec![], held.collect::<Vec<_>>()] {
            let replay = Replay::new(&history, &held, (0, 60));
            let gains = [Of::Code(0), Of::Code(1), Of::Handover([0].into())];
            let gains = gains.map(|of| replay.gain(&history, &of));
            assert!(gains.iter().flatten().all(|&gain| gain <= 1_000), "{gains:?}");
            ends += usize::from(gains.iter().all(Option::is_some));
        }
    }
    assert!(ends > 100, "most replays come to an end: {ends}");
}

/// A lock that is held from 0 to 10, 12 to 20 and 25 to 30 by threads that do not wait for it, while thread 3 waits for
/// it from 5 to 31. The holder of the last one slept in it, from 26 to 28.
fn barged() -> (History, Vec<Held>) {
    let wait = |began, ended, lock, by| Wait {
        began,
        ended,
        lock,
        by,
        by_stack: 0,
        free: 0,
        excludes: true,
        meets: false,
        paced: false,
    };
    let mut threads: Vec<Thread> = (0..4).map(|_| Thread::default()).collect();
    threads[2].waits.push(wait(26, 28, None, None));
    threads[3].waits.push(wait(5, 31, Some(0), Some((2, 30))));
    let mut holds = Vec::new();
    for (thread, (began, ended)) in [(0, 10), (12, 20), (25, 30)].into_iter().enumerate() {
        threads[thread].holds.push((7, began, ended));
        holds.push(Held { lock: 0, thread, code: 7, began, ended });
    }
    (History { from: 0, threads }, holds)
}

#[test]
fn a_wait_for_a_lock_that_others_barge_in_to_is_for_their_holds_and_for_while_it_was_free() {
    let (mut history, holds) = barged();
    // It asks at 5, and another is faster whenever the lock is free: 27 of 40, as it would have it at once.
    assert_eq!(gain(&history, &holds, (3, 40), &Of::Code(7)), 28);
    // Woken at once, it has it at 10.
    assert_eq!(gain(&history, &holds, (3, 40), &Of::Handover([0].into())), 23);
    history.add_barging(holds);
    let steps: Vec<_> =
        walk(&history, 0, (3, 40)).iter().map(|step| (step.from, step.to, step.what)).collect();
    let handover = What::Handover(Some(0));
    let expected = [
        (31, 40, What::Own),
        (30, 31, handover),
        (28, 30, What::Own),
        (26, 28, What::Unknown),
        (25, 26, What::Own),
        (20, 25, handover),
        (12, 20, What::Own),
        (10, 12, handover),
        (5, 10, What::Own),
        // Back in the thread that waited.
        (0, 5, What::Own),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_thread_that_had_waited_for_the_lock_did_not_barge_in() {
    let (mut history, holds) = barged();
    let by = Some((0, 10));
    let wait = Wait {
        began: 3,
        ended: 12,
        lock: Some(0),
        by,
        by_stack: 0,
        free: 0,
        excludes: true,
        meets: false,
        paced: false,
    };
    history.threads[1].waits.push(wait);
    history.add_barging(holds);
    // Only the last hold did: before it, the path is in the thread of the second one.
    let steps = walk(&history, 0, (3, 40));
    let second = steps.iter().find(|step| (step.from, step.to) == (12, 20)).expect("its hold");
    assert_eq!((second.thread, history.threads.len()), (1, 5));
}

/// Two threads meet at a barrier three times: one holds a lock for 30 before, the other works for 25.
#[test]
fn the_last_one_at_a_barrier_waits_for_the_others() {
    let last =
        Thread { holds: (0..3).map(|n| (0, 30 * n, 30 * (n + 1))).collect(), ..Thread::default() };
    let wait = |n: u64| Wait {
        began: 30 * n + 25,
        ended: 30 * (n + 1),
        lock: Some(0),
        by: Some((0, 30 * (n + 1))),
        by_stack: 0,
        free: 0,
        excludes: false,
        meets: true,
        paced: false,
    };
    let other = Thread { waits: (0..3).map(wait).collect(), ..Thread::default() };
    let mut history = History { from: 0, threads: vec![last, other] };
    let gain_of = |history: &History| gain(history, &[], (0, 90), &Of::Code(0));
    // Each round is as long as the other one's work, less the instant before the last one's arrival.
    assert!((15..=18).contains(&gain_of(&history)), "{}", gain_of(&history));
    history.threads[1].waits.iter_mut().for_each(|wait| wait.meets = false);
    assert_eq!(gain_of(&history), 90, "as for a condition: it may signal whenever it comes");
}

/// The last one at a barrier that is made of a condition has its mutex. In a replay, it comes before the other one.
#[test]
fn the_last_one_at_a_barrier_waits_for_the_others_without_its_locks() {
    let held = |thread, code, began, ended| Held { lock: 1, thread, code, began, ended };
    let last = Thread { holds: vec![(0, 0, 30), (7, 30, 32)], ..Thread::default() };
    let (lock, by) = (Some(0), Some((0, 31)));
    let meets =
        Wait { began: 27, ended: 31, lock, by, meets: true, paced: false, ..join(27, 31, 0) };
    let other = Thread { waits: vec![meets], holds: vec![(7, 25, 27)], ..Thread::default() };
    let history = History { from: 0, threads: vec![last, other] };
    let holds = [held(1, 7, 25, 27), held(0, 7, 30, 32)];
    assert_eq!(gain(&history, &holds, (0, 40), &Of::Code(0)), 3);
}

/// The main thread joins a worker, and then another one that had ended long before: that one was not told to end.
#[test]
fn a_thread_that_ended_before_the_last_joins_still_sets_the_length() {
    let worker = Thread { creator: Some(0), holds: vec![(0, 10, 98)], ..Thread::default() };
    let early = Thread { creator: Some(0), ..Thread::default() };
    let told = Thread { creator: Some(0), ..Thread::default() };
    let main = Thread {
        waits: vec![join(0, 98, 1), join(98, 99, 3)],
        joined: vec![(100, 2, 80)],
        ..Thread::default()
    };
    let history = History { from: 0, threads: vec![main, worker, early, told] };
    let last = history.before_told((0, 100));
    assert_eq!(last, (0, 98));
    assert_eq!(gain(&history, &[], last, &Of::Code(0)), 18);
}

/// The main thread joins a worker, tells another one to end, and joins that once it has ended.
#[test]
fn a_thread_told_to_end_that_has_ended_when_joined_does_not_set_the_length() {
    let worker = Thread { creator: Some(0), holds: vec![(0, 10, 90)], ..Thread::default() };
    let told = Thread { creator: Some(0), ..Thread::default() };
    let main =
        Thread { waits: vec![join(0, 97, 1)], joined: vec![(99, 2, 98)], ..Thread::default() };
    let mut history = History { from: 0, threads: vec![main, worker, told] };
    let last = history.before_told((0, 100));
    assert_eq!(last, (0, 97));
    assert_eq!(gain(&history, &[], last, &Of::Code(0)), 80);
    history.threads[0].joined[0].2 = 96;
    assert_eq!(history.before_told((0, 100)), (0, 100), "it ended before it could be told to");
    assert_eq!(gain(&history, &[], (0, 100), &Of::Code(0)), 3);
}

/// Each of two threads is said to have ended the other one's wait while it waited itself: a contradiction.
#[test]
fn threads_that_wait_for_each_other_go_on_as_in_the_record() {
    let wait = |began, ended, by| Wait {
        began,
        ended,
        lock: None,
        by: Some(by),
        by_stack: 0,
        free: 0,
        excludes: false,
        meets: false,
        paced: false,
    };
    let first = Thread { waits: vec![wait(50, 60, (1, 57))], ..Thread::default() };
    let second =
        Thread { holds: vec![(0, 0, 40)], waits: vec![wait(45, 58, (0, 55))], ..Thread::default() };
    let history = History { from: 0, threads: vec![first, second] };
    let replay = Replay::new(&history, &[], (0, 100));
    assert_eq!(
        replay.gain(&history, &Of::Code(0)),
        Some(0),
        "the first thread comes before the second one's end"
    );
}
