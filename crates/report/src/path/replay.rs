//! How long a run would have been without the holds of some code.
//!
//! # Contract
//! [`Replay`] runs the threads again: each does its own work for as long as recorded, and takes the locks that it took,
//! first come, first served; a thread that finds one free takes it, also while another is being woken for it. Another
//! wait ends when the thread that ended it has got there. Holds that no thread waited for are not in the record, and
//! block none. The last thread at a barrier waits for the others, as they do for it. The gain is the difference between
//! two such runs, with and without the holds of some code, as a share of the former: an estimate, since the replay
//! knows nothing of the number of CPUs.
//! # Evidence
//! `tests.rs`: the same as a simulation of the threads' plans.

use super::{Held, History, Thread, Wait};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

/// What takes no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Of {
    /// The holds of this code.
    Code(usize),
    /// The time from a release of one of these locks until a waiter has it.
    Handover(HashSet<usize>),
}

impl Of {
    /// Whether it is the time until a waiter has this lock.
    pub(crate) fn is_handover(&self, lock: Option<usize>) -> bool {
        matches!((self, lock), (Of::Handover(locks), Some(lock)) if locks.contains(&lock))
    }
}

/// The parts of a thread's own time in the holds of this code, oldest first and apart.
pub(crate) fn parts(thread: &Thread, is: impl Fn(usize) -> bool) -> Vec<(u64, u64)> {
    let mut holds: Vec<(u64, u64)> =
        thread.holds.iter().filter(|hold| is(hold.0)).map(|&(_, from, to)| (from, to)).collect();
    holds.sort_unstable();
    let mut parts = Vec::new();
    let mut done = thread.start;
    for (from, to) in holds {
        let mut from = from.max(done);
        let first = thread.waits.partition_point(|wait| wait.ended <= from);
        for wait in thread.waits[first..].iter().take_while(|wait| wait.began < to) {
            if from < wait.began {
                parts.push((from, wait.began));
            }
            from = wait.ended;
        }
        if from < to {
            parts.push((from, to));
        }
        done = done.max(to);
    }
    parts
}

/// What a thread does at one time of the record.
#[derive(Debug, Clone, Copy)]
enum Do {
    /// Gives a lock back.
    Free(usize),
    /// Another thread waits for it to come here.
    Pass(usize),
    /// Takes a lock, which it had at `had` in the record, and keeps it or not; it runs `woken` after its wakeup.
    Take { lock: usize, had: u64, woken: u64, keeps: bool },
    /// Waits until another thread has come to a place, and continues at `until` in the record, `late` after that.
    Await { place: usize, until: u64, late: u64, lock: Option<usize> },
    /// The run ends.
    End,
}

/// What the threads of a process did, to be done again.
#[derive(Debug)]
pub(crate) struct Replay {
    from: u64,
    until: u64,
    /// Where in the record each thread begins.
    starts: Vec<u64>,
    /// For each thread: at what times of the record it did what.
    threads: Vec<Vec<(u64, Do)>>,
    places: usize,
    locks: usize,
    /// How long the replay takes with everything; none if it comes to no end.
    length: Option<u64>,
}

impl Replay {
    /// Of this history, up to the end of the run in a thread. `holds` are those of locks that one thread has at a time.
    pub(crate) fn new<'h>(
        history: &'h History,
        holds: &'h [Held],
        (last, until): (usize, u64),
    ) -> Replay {
        let mut lists = Lists {
            history,
            threads: history.threads.iter().map(|_| Vec::new()).collect(),
            places: 0,
            held: HashMap::new(),
            holds: HashMap::new(),
            gaps: gaps(holds),
        };
        for hold in holds {
            lists.holds.entry(hold.thread).or_default().push(hold);
            lists.held.entry((hold.lock, hold.thread)).or_default().push((hold.began, hold.ended));
        }
        lists.held.values_mut().for_each(|of| of.sort_unstable());
        let locks: HashSet<usize> = holds.iter().map(|hold| hold.lock).collect();
        let mut starts = Vec::new();
        for number in 0..history.threads.len() {
            starts.push(lists.begin(number));
            for wait in &history.threads[number].waits {
                match wait.lock.filter(|lock| locks.contains(lock)) {
                    Some(lock) => lists.take(number, lock, wait),
                    None => lists.wait(number, wait),
                }
            }
            for &(at, by, ended) in &history.threads[number].joined {
                // The run may end before it joins threads that it told to end: others have ended before.
                let at = if number == last && ended <= until { at.min(until) } else { at };
                lists.after(number, (by, ended), (at, at), 0, None);
            }
        }
        lists.take_rest();
        if let Some(of) = lists.threads.get_mut(last) {
            of.push((until, Do::End));
        }
        let mut threads = lists.threads;
        threads.iter_mut().for_each(|of| of.sort_by_key(|&(at, what)| (at, what.rank(at))));
        let locks = locks.into_iter().max().map_or(0, |most| most + 1);
        let from = history.from;
        let places = lists.places;
        let mut replay = Replay { from, until, starts, threads, places, locks, length: None };
        replay.length = Run::new(&replay, history, None).length();
        replay
    }

    /// By how much the run would have been shorter without `of`; none if the replay comes to no end.
    pub(crate) fn gain(&self, history: &History, of: &Of) -> Option<u64> {
        let (with, without) = (self.length?, Run::new(self, history, Some(of)).length()?);
        let share = with.saturating_sub(without) as f64 / with.max(1) as f64;
        Some((self.until.saturating_sub(self.from) as f64 * share).round() as u64)
    }
}

impl Do {
    /// Which comes first of what a thread does at one time.
    fn rank(self, at: u64) -> u8 {
        match self {
            Do::Free(_) => 0,
            Do::Pass(_) => 1,
            Do::Await { until, .. } if until == at => 2,
            Do::End => 3,
            Do::Take { .. } | Do::Await { .. } => 4,
        }
    }
}

/// What the threads do, while it is collected.
struct Lists<'h> {
    history: &'h History,
    threads: Vec<Vec<(u64, Do)>>,
    places: usize,
    /// The holds that are yet to be taken, by lock and thread: from when and to when.
    held: HashMap<(usize, usize), Vec<(u64, u64)>>,
    /// All holds, by thread.
    holds: HashMap<usize, Vec<&'h Held>>,
    /// When each lock was free between two holds.
    gaps: HashMap<usize, Vec<(u64, u64)>>,
}

/// When each lock was free between two of its holds, the oldest first.
fn gaps(holds: &[Held]) -> HashMap<usize, Vec<(u64, u64)>> {
    let mut holds: Vec<&Held> = holds.iter().collect();
    holds.sort_unstable_by_key(|hold| (hold.lock, hold.began));
    let of = |of: &[&Held]| {
        let pairs = of.windows(2).map(|pair| (pair[0].ended, pair[1].began));
        (of[0].lock, pairs.filter(|&(from, to)| from < to).collect())
    };
    holds.chunk_by(|one, next| one.lock == next.lock).map(of).collect()
}

/// At most this many times that a lock was free count for a wait.
const GAPS: usize = 100;
/// A hold begins where the wait for it ended, up to this.
pub(crate) const SAME_NS: u64 = 1_000;

impl Lists<'_> {
    /// Where in the record a thread begins: where it was made, if that is known.
    fn begin(&mut self, number: usize) -> u64 {
        let (from, start) = (self.history.from, self.history.threads[number].start);
        let made = self.history.made(number).filter(|&(_, made)| from <= made && made <= start);
        let Some((creator, made)) = made else { return from };
        self.after(number, (creator, made), (start, start), start - made, None);
        start
    }

    /// A wait from one time to another for a thread to come to where it was at a time.
    fn after(
        &mut self,
        number: usize,
        (by, at): (usize, u64),
        (began, until): (u64, u64),
        late: u64,
        lock: Option<usize>,
    ) {
        if at < self.history.from || until < self.history.from || by >= self.threads.len() {
            return;
        }
        let place = self.places;
        self.places += 1;
        self.threads[by].push((at, Do::Pass(place)));
        let began = began.max(self.history.from);
        self.threads[number].push((began, Do::Await { place, until, late, lock }));
    }

    fn wait(&mut self, number: usize, wait: &Wait) {
        // One that nothing is known to have ended lasts as long as it did.
        let Some((by, at)) = wait.by.filter(|&(_, at)| at <= wait.ended) else { return };
        let late = wait.ended - at;
        self.after(number, (by, at), (wait.began, wait.ended), late, wait.lock);
        if wait.meets && wait.began < at {
            let before = self.before_locks(by, at - 1);
            self.after(by, (number, wait.began), (before, before), 0, None);
        }
    }

    /// When a thread asked for the locks that it had at a time; the time, if it had none.
    fn before_locks(&self, number: usize, at: u64) -> u64 {
        let asked = |hold: &Held| {
            let waits = &self.history.threads[number].waits;
            let after = waits.partition_point(|wait| wait.ended + SAME_NS < hold.began);
            let wait = waits.get(after).filter(|wait| wait.lock == Some(hold.lock));
            wait.map_or(hold.began, |wait| wait.began.min(hold.began))
        };
        let had = self.holds.get(&number).into_iter().flatten();
        let had = had.filter(|hold| (hold.began..hold.ended).contains(&at));
        had.map(|hold| asked(hold)).min().unwrap_or(at)
    }

    /// A wait for a lock, and the hold after it if that is known.
    fn take(&mut self, number: usize, lock: usize, wait: &Wait) {
        let woken = self.woken(lock, wait);
        let held = self.held.entry((lock, number)).or_default();
        let is_it = |&(began, _): &(u64, u64)| began.abs_diff(wait.ended) <= SAME_NS;
        let hold = held.iter().position(is_it).map(|at| held.remove(at));
        self.hold((number, lock), (wait.began, wait.ended), woken, hold.map(|hold| hold.1));
    }

    /// How long a waiter took to run once it was woken: at least as long as the lock was free before others barged in.
    fn woken(&self, lock: usize, wait: &Wait) -> u64 {
        let gaps = self.gaps.get(&lock).map_or(&[][..], Vec::as_slice);
        let until = gaps.partition_point(|&(_, to)| to < wait.ended);
        let inside = gaps[..until].iter().rev().take(GAPS).take_while(|gap| gap.0 >= wait.began);
        let longest = inside.map(|&(from, to)| to - from + 1).max().unwrap_or(0);
        longest.max(wait.by.map_or(0, |(_, at)| wait.ended.saturating_sub(at)))
    }

    /// The holds that began without a wait.
    fn take_rest(&mut self) {
        for ((lock, number), holds) in std::mem::take(&mut self.held) {
            for (began, ended) in holds {
                self.hold((number, lock), (began, began), 0, Some(ended));
            }
        }
    }

    fn hold(
        &mut self,
        (number, lock): (usize, usize),
        (asked, had): (u64, u64),
        woken: u64,
        until: Option<u64>,
    ) {
        let from = self.history.from;
        if until.unwrap_or(had) < from || number >= self.threads.len() {
            return;
        }
        let keeps = until.is_some();
        let take = Do::Take { lock, had: had.max(from), woken, keeps };
        self.threads[number].push((asked.max(from), take));
        self.threads[number].extend(until.map(|until| (until, Do::Free(lock))));
    }
}

/// A lock of a replay.
#[derive(Debug, Default, Clone)]
struct Lock {
    holder: Option<usize>,
    queue: VecDeque<usize>,
    /// Whether the first of the queue has been woken.
    wakes: bool,
}

/// A thread of a replay.
#[derive(Debug, Clone, Default)]
struct State {
    /// What it does next.
    next: usize,
    /// Where it is in the record.
    at: u64,
    /// Its own time that is left out.
    out: Vec<(u64, u64)>,
}

impl State {
    /// How long it works from where it is up to a time of the record.
    fn work(&self, to: u64) -> u64 {
        let first = self.out.partition_point(|&(_, end)| end <= self.at);
        let met = self.out[first..].iter().take_while(|&&(begin, _)| begin < to);
        let out = met.map(|&(begin, end)| end.min(to) - begin.max(self.at));
        to.saturating_sub(self.at).saturating_sub(out.sum())
    }
}

/// One replay.
struct Run<'r> {
    replay: &'r Replay,
    of: Option<&'r Of>,
    states: Vec<State>,
    locks: Vec<Lock>,
    /// When a thread came to each place, or the thread that waits for that.
    passed: Vec<Option<u64>>,
    waits: Vec<Option<usize>>,
    /// When threads continue.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'r> Run<'r> {
    fn new(replay: &'r Replay, history: &History, of: Option<&'r Of>) -> Run<'r> {
        let out = |thread: &Thread| match of {
            Some(Of::Code(code)) => parts(thread, |of| of == *code),
            _ => Vec::new(),
        };
        let threads = history.threads.iter().zip(&replay.starts);
        let states = threads.map(|(thread, &at)| State { next: 0, at, out: out(thread) });
        let states: Vec<State> = states.collect();
        let ready = (0..states.len()).map(|number| Reverse((replay.from, number)));
        Run {
            replay,
            of,
            ready: ready.collect(),
            states,
            locks: vec![Lock::default(); replay.locks],
            passed: vec![None; replay.places],
            waits: vec![None; replay.places],
        }
    }

    /// How long it takes; none if it comes to no end.
    fn length(mut self) -> Option<u64> {
        let mut now = self.replay.from;
        loop {
            while let Some(Reverse((at, thread))) = self.ready.pop() {
                now = at;
                if self.advances(thread, now) {
                    return Some(now.saturating_sub(self.replay.from));
                }
            }
            self.let_go(now)?;
        }
    }

    /// All threads wait for each other, as where they take a lock in another turn than in the record: lets the one
    /// continue that did so first in the record.
    fn let_go(&mut self, now: u64) -> Option<()> {
        let waits = self.states.iter().enumerate().filter_map(|(thread, state)| {
            match self.replay.threads[thread].get(state.next)?.1 {
                Do::Await { place, until, .. } if self.passed[place].is_none() => {
                    Some((until, thread, place))
                }
                _ => None,
            }
        });
        let (_, thread, place) = waits.min()?;
        self.passed[place] = Some(now);
        self.ready.push(Reverse((now, thread)));
        Some(())
    }

    /// What a thread does from `now` until it works or waits; whether that is the end of the run.
    fn advances(&mut self, thread: usize, now: u64) -> bool {
        while let Some(&(at, what)) = self.replay.threads[thread].get(self.states[thread].next) {
            let work = self.states[thread].work(at);
            self.states[thread].at = self.states[thread].at.max(at);
            if work > 0 {
                self.ready.push(Reverse((now + work, thread)));
                return false;
            }
            let continues = match what {
                Do::End => return true,
                Do::Pass(place) => {
                    self.passed[place] = Some(now);
                    self.ready.extend(self.waits[place].map(|waiter| Reverse((now, waiter))));
                    true
                }
                Do::Free(lock) => {
                    self.free(lock, thread, now);
                    true
                }
                Do::Take { lock, had, keeps, .. } => self.takes(thread, lock, now, (had, keeps)),
                Do::Await { place, until, late, lock } => {
                    let late = if self.leaves_out(lock) { 0 } else { late };
                    let due = self.passed[place].map(|passed| passed + late);
                    if due.is_some_and(|due| due <= now) {
                        self.states[thread].at = until.max(at);
                    }
                    self.waits[place] = Some(thread);
                    self.ready
                        .extend(due.filter(|&due| due > now).map(|due| Reverse((due, thread))));
                    due.is_some_and(|due| due <= now)
                }
            };
            if !continues {
                return false;
            }
            self.states[thread].next += 1;
        }
        false
    }

    fn leaves_out(&self, lock: Option<usize>) -> bool {
        self.of.is_some_and(|of| of.is_handover(lock))
    }

    /// Takes the lock if it is free, else waits for it.
    fn takes(&mut self, thread: usize, lock: usize, now: u64, (had, keeps): (u64, bool)) -> bool {
        let of = &mut self.locks[lock];
        let is_first = of.queue.front() == Some(&thread);
        if is_first {
            of.wakes = false;
        }
        if of.holder.is_some_and(|holder| holder != thread) {
            if !of.queue.contains(&thread) {
                of.queue.push_back(thread);
            }
            return false;
        }
        if is_first {
            of.queue.pop_front();
        }
        of.holder = Some(thread);
        self.states[thread].at = self.states[thread].at.max(had);
        if !keeps {
            self.free(lock, thread, now);
        }
        true
    }

    /// Gives the lock back, and wakes the first thread that waits for it.
    fn free(&mut self, lock: usize, thread: usize, now: u64) {
        if self.locks[lock].holder != Some(thread) {
            return;
        }
        self.locks[lock].holder = None;
        let Some(&first) = self.locks[lock].queue.front() else { return };
        if std::mem::replace(&mut self.locks[lock].wakes, true) {
            return;
        }
        let next = self.replay.threads[first].get(self.states[first].next);
        let Some(&(_, Do::Take { woken, .. })) = next else { return };
        let woken = if self.leaves_out(Some(lock)) { 0 } else { woken };
        self.ready.push(Reverse((now + woken, first)));
    }
}
