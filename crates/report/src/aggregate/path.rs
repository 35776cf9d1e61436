//! The path of each process from its threads' logs, and what its culprits have to do with it.
//!
//! # Contract
//! A process has a path if it ended by `exit` or a return from `main`; one that a signal killed has none. [`rank`] adds
//! the path's figures to the culprits, and orders them by gain if any gains much. A run of fixed length gains nothing
//! from any change; its culprits are ordered by waiting.

use super::blame::Sites;
use super::chains::Delay;
use super::joins::ran;
use super::locks::Rows;
use super::logs::Logs;
use super::passes::is_passed;
use super::rivals::Rivals;
use super::stacks::Stacks;
use super::unwaited::{Had, unwaited};
use crate::code::line;
use crate::path::{Held, History, Of, Replay, Step, Thread, Wait, What, parts, walk};
use crate::run::{
    self, Blamed, BlamedKind, Frame, GAINS, Kind, Lock, OnPath, PathTaken, Process, RankedBy,
    RunReport,
};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use uncontended_trace::reader::{LoggedRecord, ProcessRecord, Record, ThreadRecord};

/// The figures of a process's threads, by their IDs.
type Figures<'a> = HashMap<u32, &'a run::Thread>;

/// Culprits beyond these have no figures of the path.
const MOST: usize = 20;

/// Code to blame: what it did, and the line.
type Code = (BlamedKind, Option<Frame>);

/// The number of threads that are not in the record, in place of the kernel's.
const UNSEEN: u32 = 0;

/// What is known of the time of a process's threads.
pub(super) struct Known {
    pid: u32,
    /// When the first program of the process began to be observed.
    first_ns: u64,
    /// The number of each thread in the kernel.
    pub(super) tids: Vec<u32>,
    pub(super) history: History,
    /// The same without the sequences of holds, and these holds, to be run again.
    alone: History,
    held: Vec<Held>,
    /// The thread that ended the process, and when, if it ended by itself.
    last: Option<(usize, u64)>,
    /// The path of the process, and the thread that has the most of it.
    steps: Vec<Step>,
    mainly: Option<OnPath>,
    codes: HashMap<Code, usize>,
    rivals: Rivals,
}

/// The history of `image`, with its path if it ended by itself. Threads meet at the rows `meetings`.
pub(super) fn known(
    (record, image): (&Record<'_>, &ProcessRecord),
    (logs, rows): (&Logs<'_>, &Rows),
    (delays, meetings): (&[Delay], &HashSet<usize>),
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Known {
    let ended_by = logs.threads.get(&image.ended_by).filter(|_| image.end_ticks != 0);
    let last = ended_by.map(|&thread| (thread, logs.ns(image.end_ticks)));
    let mut history = History { from: logs.ns(image.start_ticks), threads: Vec::new() };
    for thread in &image.threads {
        history.from = history.from.max(logs.known_from(thread));
        let is_main = thread.tid == image.pid;
        history.threads.push(Thread {
            start: logs.ns(if is_main { image.start_ticks } else { thread.since() }),
            creator: logs.threads.get(&thread.creator).copied(),
            waits: logs.waits(thread),
            joined: logs.joined_after(thread),
            holds: Vec::new(),
        });
    }
    logs.add_unseen(&mut history);
    let tids = image.threads.iter().map(|thread| thread.tid);
    let tids = tids.chain(std::iter::repeat(UNSEEN)).take(history.threads.len()).collect();
    for wait in history.threads.iter_mut().flat_map(|thread| &mut thread.waits) {
        let lock = wait.lock.and_then(|row| rows.locks.get(row));
        wait.meets = wait.lock.is_some_and(|row| meetings.contains(&row));
        let is_held = lock.is_some_and(|lock| lock.class.is_caused_by_holders());
        wait.excludes = is_held && !wait.meets;
        let is_lock = lock.is_none_or(|lock| {
            let others = [Kind::Condition, Kind::Semaphore, Kind::Barrier, Kind::Futex];
            is_held || !others.contains(&lock.kind)
        });
        wait.paced = !is_lock && wait.by.is_some();
        if lock.is_some_and(|lock| lock.kind == Kind::Semaphore && lock.idle_ns.is_none()) {
            wait.free = 0; // Of several permits, it is not known for how long there was one.
        }
    }
    let end = |thread: &ThreadRecord| Some(thread.end_ticks).filter(|&end| end != 0);
    let ends = image.threads.iter().map(|thread| end(thread).map(|end| logs.ns(end)));
    history.add_countdowns(&ends.collect::<Vec<_>>());
    let mut codes = HashMap::new();
    add_delays(&mut history, delays, &mut codes, logs);
    let holds = Holds { logs, rows };
    let mut held = holds.add(&mut history, &mut codes, (sites, stacks));
    let last = last.map(|last| history.before_told(last));
    let mut alone = history.clone();
    alone.count_barging_of_others(&held);
    history.add_barging(held.clone());
    for hold in unwaited(&holds.had(&held, &codes, (sites, stacks)), &held) {
        alone.threads[hold.thread].holds.push((hold.code, hold.began, hold.ended));
        held.push(hold);
    }
    let steps = last.map(|last| walk(&history, 0, last)).unwrap_or_default();
    let mainly = mainly((record, image), &steps, stacks);
    let images = record.processes.iter().filter(|other| other.pid == image.pid);
    let first_ns = images.map(|image| record.ns_at(image.start_ticks)).min().unwrap_or(0);
    let rivals = last.map(|_| Rivals::new(record, image, rows)).unwrap_or_default();
    let pid = image.pid;
    Known { pid, first_ns, tids, history, alone, held, last, steps, mainly, codes, rivals }
}

/// The thread that has the most of these steps for its own, if it is in the record.
fn mainly(
    (record, image): (&Record<'_>, &ProcessRecord),
    steps: &[Step],
    stacks: &mut Stacks<'_>,
) -> Option<OnPath> {
    let mut own: HashMap<usize, u64> = HashMap::new();
    for step in steps.iter().filter(|step| step.what == What::Own) {
        *own.entry(step.thread).or_default() += step.to - step.from;
    }
    let (number, own_ns) = own.into_iter().max_by_key(|&(number, ns)| (ns, Reverse(number)))?;
    let thread = image.threads.get(number)?;
    Some(OnPath { tid: thread.tid, own_ns, body: ran(record, thread, stacks) })
}

/// Adds what threads did while a holder waited for it, as if it were holds: without it, the holder would have gone on.
fn add_delays(
    history: &mut History,
    delays: &[Delay],
    codes: &mut HashMap<Code, usize>,
    logs: &Logs<'_>,
) {
    for Delay { thread, at, line } in delays {
        let fresh = codes.len();
        let code = *codes.entry((BlamedKind::Wake, line.clone())).or_insert(fresh);
        let (from, to) = (logs.ns(at.0), logs.ns(at.1));
        history.threads[*thread].holds.push((code, from, to));
    }
}

/// What rows were waited for whose holders cause the waiting.
struct Holds<'a> {
    logs: &'a Logs<'a>,
    rows: &'a Rows,
}

impl Holds<'_> {
    /// Adds them to the threads' histories, and returns those of locks that one thread has at a time.
    fn add(
        &self,
        history: &mut History,
        codes: &mut HashMap<Code, usize>,
        (sites, stacks): (&Sites, &mut Stacks<'_>),
    ) -> Vec<Held> {
        let ns = |ticks| self.logs.ns(ticks);
        let mut known: HashMap<(BlamedKind, u32), usize> = HashMap::new();
        let mut code_of = |kind: BlamedKind, stack: u32| {
            *known.entry((kind, stack)).or_insert_with(|| {
                let fresh = codes.len();
                *codes.entry((kind, sites.line(kind, stack, stacks))).or_insert(fresh)
            })
        };
        let mut passes: HashMap<(usize, Option<usize>), Vec<u64>> = HashMap::new();
        let passed = |wait: &Wait| wait.by.filter(|_| self.is_woken(wait));
        for wait in history.threads.iter().flat_map(|thread| &thread.waits) {
            if let Some((by, at)) = passed(wait) {
                passes.entry((by, wait.lock)).or_default().push(at);
            }
        }
        passes.values_mut().for_each(|passes| passes.sort_unstable());
        let mut holds: Vec<(usize, (usize, u64, u64))> = Vec::new();
        let mut held = Vec::new();
        for (number, thread) in self.logs.image.threads.iter().enumerate() {
            for hold in thread.log.holds().filter(|hold| self.is_to_blame(hold)) {
                let code = code_of(BlamedKind::Hold, hold.stack);
                let (began, ended) = (ns(hold.began), ns(hold.ended));
                holds.push((number, (code, began, ended)));
                let lock = self.logs.row(hold.lock).filter(|&row| self.is_exclusive(row));
                held.extend(lock.map(|lock| Held { lock, thread: number, code, began, ended }));
            }
            for wait in history.threads[number].waits.iter() {
                let Some((by, at)) = passed(wait) else { continue };
                let code = code_of(BlamedKind::Wake, wait.by_stack);
                let passes = passes.get(&(by, wait.lock)).map_or(&[][..], Vec::as_slice);
                holds.push((by, (code, self.had_since(history, wait, passes, (by, at)), at)));
            }
        }
        for (thread, hold) in holds {
            let of = &mut history.threads[thread];
            of.start = of.start.min(hold.1); // It was there, though not seen before it passed the lock on.
            of.holds.push(hold);
        }
        for thread in &mut history.threads {
            thread.holds.sort_unstable();
            thread.holds.dedup();
        }
        held
    }

    /// The waits after which a thread had one of the locks of `held`.
    fn had(
        &self,
        held: &[Held],
        codes: &HashMap<Code, usize>,
        (sites, stacks): (&Sites, &mut Stacks<'_>),
    ) -> Vec<Had> {
        let locks: HashSet<usize> = held.iter().map(|hold| hold.lock).collect();
        let ns = |ticks| self.logs.ns(ticks);
        let mut all = Vec::new();
        for (thread, record) in self.logs.image.threads.iter().enumerate() {
            let waits = self.logs.whole_waits(record);
            let mut next = u64::MAX;
            for wait in waits.iter().rev() {
                if let Some(lock) = self.logs.row(wait.lock).filter(|lock| locks.contains(lock)) {
                    let line = sites.line(BlamedKind::Hold, wait.stack, stacks);
                    let code = codes.get(&(BlamedKind::Hold, line)).filter(|_| wait.by != 0);
                    let at = ns(wait.ended);
                    all.extend(code.map(|&code| Had { lock, thread, code, at, next }));
                }
                next = ns(wait.began);
            }
        }
        all
    }

    fn is_exclusive(&self, row: usize) -> bool {
        let kind = self.rows.locks.get(row).map(|lock| lock.kind);
        matches!(kind, Some(Kind::Mutex | Kind::Spin | Kind::Annotated))
    }

    fn row(&self, entry: &LoggedRecord) -> Option<&Lock> {
        self.rows.locks.get(self.logs.row(entry.lock)?)
    }

    fn is_to_blame(&self, entry: &LoggedRecord) -> bool {
        self.row(entry).is_some_and(|lock| lock.class.is_caused_by_holders())
    }

    /// Whether the lock of a wait has no holds that can be seen, but threads that pass it on.
    fn is_woken(&self, wait: &Wait) -> bool {
        let lock = wait.lock.and_then(|row| self.rows.locks.get(row));
        lock.is_some_and(is_passed)
    }

    /// Since when the thread that passed it on at `at` had what `wait` was for: at least since the latest of the wait's
    /// beginning, of its own last wait for it, and of the last time that it had passed it on.
    fn had_since(
        &self,
        history: &History,
        wait: &Wait,
        passes: &[u64],
        (by, at): (usize, u64),
    ) -> u64 {
        let waits = &history.threads[by].waits;
        let before = waits.partition_point(|own| own.ended <= at);
        let mut own = waits[..before].iter().rev().take_while(|own| own.ended > wait.began);
        let came = own.find(|own| own.lock == wait.lock).map_or(wait.began, |own| own.ended);
        let passed = passes.partition_point(|&passed| passed < at).checked_sub(1);
        came.max(passed.map_or(0, |last| passes[last]))
    }
}

/// Above this share of the waiting at locks that several processes share, paths rank nothing.
const SHARED: f64 = 0.05;

/// Adds to the culprits of `report`, the most waiting first, what the paths of its processes say of them, and ranks
/// them. The run began with the process `first`.
pub(super) fn rank(report: &mut RunReport, known: &[Known], first: Option<u32>) {
    let wall_ns = report.wall_ns;
    let of_processes = known.iter().zip(&report.processes);
    let taken = of_processes.map(|(path, process)| {
        let outside_ns = path.outside_ns(wall_ns, first);
        Some(PathTaken { outside_ns, ..path.taken(path.last?, process) })
    });
    let taken: Vec<Option<PathTaken>> = taken.collect();
    let shared: HashSet<u64> = {
        let locks = report.processes.iter().flat_map(|process| &process.locks);
        locks.filter(|lock| lock.processes.len() > 1).map(|lock| lock.id).collect()
    };
    // A path stays in its process: what others would gain, and what it would gain of theirs, is unknown.
    let is_shared = |culprit: &Blamed| culprit.locks.iter().any(|lock| shared.contains(lock));
    let waits = |all: bool| {
        let culprits = report.culprits.iter().filter(|culprit| all || is_shared(culprit));
        super::sum(culprits.map(|culprit| culprit.wait_ns))
    };
    let is_ranked = waits(false) as f64 <= SHARED * waits(true) as f64;
    // Only where they tell a gain: a replay takes a while.
    let replays: Vec<Option<Replay>> = known
        .iter()
        .zip(&taken)
        .map(|(path, taken)| {
            let tells = taken.as_ref().is_some_and(|taken| taken.tells_gains(wall_ns));
            let last = path.last.filter(|_| tells && !report.culprits.is_empty());
            last.map(|last| Replay::new(&path.alone, &path.held, last))
        })
        .collect();
    for culprit in report.culprits.iter_mut().take(MOST).filter(|culprit| !is_shared(culprit)) {
        let of_processes = known.iter().zip(&report.processes).zip(&replays);
        for ((path, process), replay) in of_processes.filter(|((path, _), _)| path.last.is_some()) {
            let Some(of) = path.of(culprit, &process.locks) else { continue };
            let add = |sum: Option<u64>, ns| Some(sum.unwrap_or(0).saturating_add(ns));
            let path_ns = path.inside(&of).time(&path.steps);
            culprit.path_ns = add(culprit.path_ns, path_ns);
            if let Some(gain_ns) = replay.as_ref().and_then(|replay| replay.gain(&path.alone, &of))
            {
                // Where threads barge in, a replay may take another turn: that is luck, and no gain.
                let gain_ns = gain_ns.min(path_ns);
                culprit.gain_at_most_ns = add(culprit.gain_at_most_ns, gain_ns);
                if gain_ns as f64 >= GAINS * wall_ns as f64 {
                    culprit.may_move_to.extend(path.may_move_to(culprit, &process.locks));
                }
            }
        }
    }
    report.paths = taken.into_iter().flatten().collect();
    // A long hold that was waited for at its very end is long work, with or without the lock.
    let less_waiting_ns =
        |culprit: &Blamed| culprit.gain_at_most_ns.map(|ns| ns.min(culprit.wait_ns));
    let most_ns = report.culprits.iter().filter_map(less_waiting_ns).max();
    // One of which a replay came to no end may be the first.
    let is_open = |of: &Blamed| of.path_ns.is_some() && of.lacks_gain(wall_ns);
    let is_ranked = is_ranked && !report.culprits.iter().any(is_open);
    if is_ranked && most_ns.is_some_and(|ns| ns as f64 >= GAINS * wall_ns.max(1) as f64) {
        report.ranked_by = RankedBy::Gain;
        let rank = |culprit: &Blamed| (less_waiting_ns(culprit), culprit.gain_at_most_ns);
        report.culprits.sort_by_key(|culprit| Reverse((rank(culprit), culprit.wait_ns)));
    }
}

/// How long steps of a path are in a culprit.
pub(super) enum Inside<'a> {
    /// Threads' own parts in its holds.
    Parts(Vec<Vec<(u64, u64)>>),
    /// The handovers of its locks.
    Handovers(&'a Of),
}

impl Inside<'_> {
    /// Of these steps.
    pub(super) fn time(&self, steps: &[Step]) -> u64 {
        super::sum(steps.iter().map(|step| match (self, step.what) {
            (Inside::Parts(parts), What::Own) => {
                let parts = parts.get(step.thread).map_or(&[][..], Vec::as_slice);
                let first = parts.partition_point(|&(_, to)| to <= step.from);
                let met = parts[first..].iter().take_while(|&&(from, _)| from < step.to);
                super::sum(met.map(|&(from, to)| to.min(step.to) - from.max(step.from)))
            }
            (Inside::Handovers(of), What::Handover(lock)) if of.is_handover(lock) => {
                step.to - step.from
            }
            _ => 0,
        }))
    }
}

/// How long steps do this.
pub(super) fn length(steps: &[Step], is: impl Fn(What) -> bool) -> u64 {
    super::sum(steps.iter().filter(|step| is(step.what)).map(|step| step.to - step.from))
}

pub(super) fn is_handover(what: What) -> bool {
    matches!(what, What::Handover(_))
}

/// The rows of a culprit in this process.
fn rows_of(culprit: &Blamed, locks: &[Lock]) -> HashSet<usize> {
    let rows = locks.iter().enumerate();
    rows.filter(|(_, lock)| culprit.locks.contains(&lock.id)).map(|(row, _)| row).collect()
}

impl Known {
    /// What a culprit is in this process; none if it is not its.
    pub(super) fn of(&self, culprit: &Blamed, locks: &[Lock]) -> Option<Of> {
        let rows = rows_of(culprit, locks);
        let code = || self.codes.get(&(culprit.kind, culprit.site.as_ref().map(line))).copied();
        match culprit.kind {
            _ if rows.is_empty() => None,
            BlamedKind::Idle => Some(Of::Handover(rows)),
            BlamedKind::Hold => Some(Of::Code(code().unwrap_or(usize::MAX))),
            // Without a wakeup in the logs, nothing is known of the time before.
            BlamedKind::Wake => code().map(Of::Code),
        }
    }

    /// The locks that may take the place of this culprit's.
    fn may_move_to(&self, culprit: &Blamed, locks: &[Lock]) -> Vec<u64> {
        let rows = self.rivals.of(&rows_of(culprit, locks), locks);
        rows.into_iter().map(|row| locks[row].id).collect()
    }

    pub(super) fn inside<'a>(&self, of: &'a Of) -> Inside<'a> {
        let parts = |code: usize| {
            let threads = self.history.threads.iter();
            Inside::Parts(threads.map(|thread| parts(thread, |of| of == code)).collect())
        };
        match of {
            &Of::Code(code) => parts(code),
            Of::Handover(_) => Inside::Handovers(of),
        }
    }

    /// How much of a run of this length was before the path and after it. The run's first process starts with it and
    /// ends with it: how long the kernel takes for that says nothing of the program.
    fn outside_ns(&self, wall_ns: u64, first: Option<u32>) -> u64 {
        if first == Some(self.pid) {
            return self.history.from.saturating_sub(self.first_ns);
        }
        let until = self.last.map_or(wall_ns, |(_, until)| until);
        wall_ns.saturating_sub(until.saturating_sub(self.history.from))
    }

    fn taken(&self, (_, until): (usize, u64), process: &Process) -> PathTaken {
        let by_tid = process.threads.iter().map(|figures| (figures.tid, figures));
        let by_tid: Figures<'_> = by_tid.collect();
        let unseen = self.asleep_unseen(process);
        let asleep = |thread: usize| match self.tids[thread] {
            UNSEEN => unseen,
            _ => self.asleep(thread, &by_tid),
        };
        let asleep: Vec<f64> = (0..self.tids.len()).map(asleep).collect();
        // Sequences of holds are no threads of the program: they have none.
        let share = |thread: usize| asleep.get(thread).copied().unwrap_or(0.0);
        let own = self.steps.iter().filter(|step| step.what == What::Own);
        let asleep_ns = own.map(|step| (step.to - step.from) as f64 * share(step.thread));
        let asleep_ns = asleep_ns.sum::<f64>() as u64;
        // Nor are they woken.
        let is_wakeup = |step: &&Step| is_handover(step.what) && step.thread < self.tids.len();
        let handovers = self.steps.iter().filter(is_wakeup);
        PathTaken {
            pid: self.pid,
            from_ns: self.history.from.min(until),
            until_ns: until,
            outside_ns: 0,
            own_ns: length(&self.steps, |what| what == What::Own),
            asleep_ns,
            handed_over_ns: length(&self.steps, is_handover),
            handovers: handovers.count() as u64,
            unknown_ns: length(&self.steps, |what| what == What::Unknown),
            mainly: self.mainly.clone(),
        }
    }

    /// The same share of the path's time in threads that are not in the record: what of it they neither ran nor
    /// wanted a CPU.
    fn asleep_unseen(&self, process: &Process) -> f64 {
        let unseen = process.threads.iter().filter(|figures| !self.tids.contains(&figures.tid));
        let ran = unseen.flat_map(|figures| [figures.cpu_ns, figures.runnable_ns]);
        let ran_ns = super::sum(ran.flatten());
        let is_unseen =
            |step: &&Step| step.what == What::Own && self.tids.get(step.thread) == Some(&UNSEEN);
        let steps = self.steps.iter().filter(is_unseen);
        let own_ns = super::sum(steps.map(|step| step.to - step.from));
        1.0 - (ran_ns as f64 / own_ns.max(1) as f64).min(1.0)
    }

    /// The share of a thread's own time in which it slept or waited for input, outside the locks to blame; 0 if that
    /// is unknown.
    fn asleep(&self, thread: usize, by_tid: &Figures<'_>) -> f64 {
        let of = &self.history.threads[thread];
        let figures = by_tid.get(&self.tids[thread]);
        let held = parts(of, |_| true);
        let held_ns = super::sum(held.iter().map(|&(from, to)| to - from));
        let waited_ns = super::sum(of.waits.iter().map(|wait| wait.ended - wait.began));
        let share = || {
            let own_ns = figures?.lived_ns?.checked_sub(waited_ns).filter(|&own| own > 0)?;
            Some(figures?.other_wait_ns?.saturating_sub(held_ns) as f64 / own_ns as f64)
        };
        share().unwrap_or(0.0).min(1.0)
    }
}
