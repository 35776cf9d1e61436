//! The code that waited, and what its waits were for.

use super::{Frame, IdleCause, RunReport, is_zero};
use serde::{Deserialize, Serialize};

/// The total wait of a row, divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Blame {
    /// While a thread held the lock.
    pub held_ns: u64,
    /// Until a thread, or its deadline, ended the wait, for what is not held.
    pub ended_ns: u64,
    /// While the lock was free. Each waiter's time counts, unlike in [`Lock::idle_ns`](super::Lock::idle_ns), which is
    /// the lock's.
    pub idle_ns: u64,
    /// The rest: its holder was not seen.
    pub unknown_ns: u64,
}

impl Blame {
    /// The parts of both.
    pub(crate) fn and(self, other: Blame) -> Self {
        Blame {
            held_ns: self.held_ns.saturating_add(other.held_ns),
            ended_ns: self.ended_ns.saturating_add(other.ended_ns),
            idle_ns: self.idle_ns.saturating_add(other.idle_ns),
            unknown_ns: self.unknown_ns.saturating_add(other.unknown_ns),
        }
    }
}

/// What a wait was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlamedKind {
    /// A thread held the lock.
    Hold,
    /// Another thread's wakeup ended the wait: the waiter's or, in `culprits`, that of the holder it waited for.
    Wake,
    /// The lock was free.
    Idle,
}

/// Code that caused waiting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blamed {
    /// The function to open; none if it is unknown. If the lock was free, nothing held it: then, the one in which
    /// threads waited the most for the first of `locks`.
    pub site: Option<Frame>,
    /// The stack of the acquisition with the most waiting, innermost frame first; if the lock was free, of these waits.
    pub stack: Vec<Frame>,
    /// The functions of the same module that called it there, those of the most waiting first, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Frame>,
    /// The waiting that each of these caused through it. One that only waited in it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers_wait_ns: Vec<u64>,
    /// What it did.
    pub kind: BlamedKind,
    /// Why the lock stood idle for most of that time; only if it was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<IdleCause>,
    /// The waiting it caused, summed over the waiters.
    pub wait_ns: u64,
    /// Of the row's total wait; in `culprits`, of that of all rows of class contention or gate.
    pub share: f64,
    /// The waits of which a part is its, summed over its holds.
    pub waits: u64,
    /// Its holds that a thread waited for.
    pub holds: u64,
    /// The longest of them; of the idle intervals, if the lock was free.
    pub longest_ns: u64,
    /// The part of `wait_ns` during which the holder itself waited for another thread. In `culprits`, it is in the
    /// entry of that thread's code instead, and this is 0.
    #[serde(default)]
    pub passed_on_ns: u64,
    /// The part of `wait_ns` of threads that a signal woke while it held the lock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub woken_into_ns: u64,
    /// The part of `wait_ns` for holds whose threads died with the lock (robust mutexes).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub died_ns: u64,
    /// How long the path that set the run's length was in these holds, or stood at the idle lock; only in `culprits`,
    /// and only if the path is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_ns: Option<u64>,
    /// By how much that path would be shorter at most if they took no time; as `path_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_at_most_ns: Option<u64>,
    /// Locks that may take the place of its own, so that much less is gained: its threads take them about as often, and
    /// how long is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_move_to: Vec<u64>,
    /// The processes whose threads did it, if the lock is one that several share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// The locks; only in `culprits`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<u64>,
}

/// The path that set a process's length, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathTaken {
    /// The process.
    pub pid: u32,
    /// From when on all waits are known, since the start of the run.
    pub from_ns: u64,
    /// When the process ended.
    pub until_ns: u64,
    /// How much of the run was before it and after it, without the start and the end of the run's first process.
    #[serde(default)]
    pub outside_ns: u64,
    /// The part in threads that did not wait.
    pub own_ns: u64,
    /// The part of `own_ns` in which they slept or waited for input, outside locks: estimated, as every part of a
    /// thread's own time is taken for equal in this.
    #[serde(default)]
    pub asleep_ns: u64,
    /// From a release or a wakeup until its waiter went on.
    pub handed_over_ns: u64,
    /// How often that happened.
    pub handovers: u64,
    /// Waits whose ends have no known cause.
    pub unknown_ns: u64,
    /// The thread that has the most of `own_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mainly: Option<OnPath>,
}

/// What a path has of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OnPath {
    /// The thread.
    pub tid: u32,
    /// How long the path is in it while it does not wait.
    pub own_ns: u64,
    /// The code that it ran; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Frame>,
}

impl PathTaken {
    /// Its length.
    pub fn length_ns(&self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns)
    }

    /// Whether it says what a change can gain in a run of this length: if it was seen for most of it, and is not made
    /// of wakeups.
    pub fn tells_gains(&self, wall_ns: u64) -> bool {
        !self.is_of_wakeups() && self.unseen_ns() as f64 <= UNSEEN * wall_ns as f64
    }

    /// For how much of the run it is not known what set its length: before the path and after it, in waits whose end
    /// has no known cause, and while its threads slept or waited for input.
    pub fn unseen_ns(&self) -> u64 {
        self.outside_ns.saturating_add(self.unknown_ns).saturating_add(self.asleep_ns)
    }

    /// Whether going to sleep and waking others, which no hold contains, may be much of it.
    pub fn is_of_wakeups(&self) -> bool {
        const SLEEP_AND_WAKEUP_NS: u64 = 20_000;
        const MUCH: u64 = 10;
        let wakeups_ns = self.handovers.saturating_mul(SLEEP_AND_WAKEUP_NS);
        wakeups_ns.saturating_mul(MUCH) >= self.length_ns()
    }
}

/// The most of a run that a path may leave open and still tell gains.
const UNSEEN: f64 = 0.5;

/// A smaller gain, as a share of the run, ranks nothing: runs of one program differ by as much.
pub const GAINS: f64 = 0.05;

impl Blamed {
    /// Whether it is not known what a run of this length would gain, and that may be much.
    pub(crate) fn lacks_gain(&self, wall_ns: u64) -> bool {
        let at_most_ns = self.path_ns.unwrap_or(self.wait_ns);
        self.gain_at_most_ns.is_none() && at_most_ns as f64 >= GAINS * wall_ns.max(1) as f64
    }
}

impl RunReport {
    /// By how much the run would be shorter at most without a culprit, and how much of the run its path was in it, as
    /// shares of the run, if culprits are ranked by that. Processes that run at once have a path each, whose sum
    /// may be longer than the run: then it is all of it.
    pub(crate) fn of_path(&self, culprit: &Blamed) -> [Option<f64>; 2] {
        let is_ranked = self.ranked_by == RankedBy::Gain;
        let share = |ns: u64| is_ranked.then(|| (ns as f64 / self.wall_ns.max(1) as f64).min(1.0));
        [culprit.gain_at_most_ns, culprit.path_ns].map(|ns| share(ns?))
    }

    /// The path of the process whose path is the longest.
    pub(crate) fn longest_path(&self) -> Option<&PathTaken> {
        self.paths.iter().max_by_key(|path| path.length_ns())
    }

    /// Whether this culprit is waiting for a CPU: its lock was free, and no code of the program is to blame.
    pub(crate) fn is_for_cpu(&self, culprit: &Blamed) -> bool {
        let locks = || self.processes.iter().flat_map(|process| &process.locks);
        let first = culprit.locks.first().filter(|_| culprit.kind == BlamedKind::Idle);
        let lock = first.and_then(|&id| locks().find(|lock| lock.id == id));
        lock.is_some_and(|lock| crate::findings::cause(lock) == IdleCause::NotScheduled)
    }

    /// Whether a lock of this culprit is one that several processes share.
    pub(crate) fn is_shared(&self, culprit: &Blamed) -> bool {
        let locks = self.processes.iter().flat_map(|process| &process.locks);
        let mut shared = locks.filter(|lock| lock.processes.len() > 1);
        shared.any(|lock| culprit.locks.contains(&lock.id))
    }

    /// The largest gain of [`RunReport::of_path`] among the culprits of this lock.
    pub(crate) fn gain_at(&self, lock: u64) -> Option<f64> {
        let culprits = self.culprits.iter().filter(|culprit| culprit.locks.contains(&lock));
        culprits.filter_map(|culprit| self.of_path(culprit)[0]).max_by(f64::total_cmp)
    }
}

/// How culprits are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankedBy {
    /// By the waiting that they caused.
    #[default]
    Wait,
    /// By what the path would gain without them, as estimated.
    Gain,
}

/// The thread whose holds cause the waiting at a gate; the one that came last for most of it, where threads meet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Keeper {
    /// Its ID.
    pub tid: u32,
    /// The waiting of others that its holds caused.
    pub wait_ns: u64,
    /// Of the row's total wait.
    pub share: f64,
    /// Its holds that a thread waited for, or the rounds in which it came last.
    pub holds: u64,
    /// The sum of its holds, of those that the report's `holds` says; none if they were not recorded.
    pub hold_ns: Option<u64>,
    /// The longest of them.
    pub longest_ns: Option<u64>,
}

/// What the holders of a lock waited for themselves, while other threads waited for their holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HoldersWaited {
    /// The waiting that fell into the holds whose times are known, summed over the waiters.
    pub wait_ns: u64,
    /// The part of it during which the holder was in a wait of its own, of any kind.
    pub waited_ns: u64,
    /// What that was for, the most first; at most five.
    pub on: Vec<WaitedOn>,
}

impl HoldersWaited {
    /// The part of the waiting during which the holder waited too.
    pub fn share(&self) -> f64 {
        self.waited_ns as f64 / self.wait_ns.max(1) as f64
    }
}

/// What a holder waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitedOn {
    /// The lock, or other object; none for another thread's end.
    pub lock: Option<u64>,
    /// The code in which the holder waited; none if unknown.
    pub site: Option<Frame>,
    /// The waiting of others meanwhile.
    pub wait_ns: u64,
}

/// Code that waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitedIn {
    /// The function to open; none if it is unknown.
    pub site: Option<Frame>,
    /// One of its stacks, innermost frame first.
    pub stack: Vec<Frame>,
    /// How long its threads waited.
    pub wait_ns: u64,
    /// Of the row's total wait.
    pub share: f64,
    /// How often.
    pub waits: u64,
    /// The longest of these waits.
    pub longest_ns: u64,
}
