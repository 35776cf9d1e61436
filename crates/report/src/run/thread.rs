//! A thread of a run, and where its time went.

use super::Frame;
use serde::{Deserialize, Serialize};

/// One thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Thread id.
    pub tid: u32,
    /// Name at its end.
    pub name: String,
    /// From its start to its end, or to the end of the run; none if its start was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lived_ns: Option<u64>,
    /// Time on a CPU.
    pub cpu_ns: Option<u64>,
    /// The part of `cpu_ns` in the program's own code and its libraries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ns: Option<u64>,
    /// The part of `cpu_ns` in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<u64>,
    /// Time runnable but not running.
    pub runnable_ns: Option<u64>,
    /// Switches because the thread waited.
    pub voluntary_switches: Option<u64>,
    /// Switches because the scheduler took its CPU.
    pub involuntary_switches: Option<u64>,
    /// Switches because the scheduler preempted it.
    pub migrations: Option<u64>,
    /// Its acquisitions, of all locks, that did not succeed at the first try.
    #[serde(default)]
    pub blocked: Option<u64>,
    /// Its total wait for all locks, each instant once: what a signal handler waited meanwhile is in the row alone.
    #[serde(default)]
    pub wait_ns: Option<u64>,
    /// The part of `wait_ns` at locks of class contention or gate. The rest is waiting for work, for a turn or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention_wait_ns: Option<u64>,
    /// Its total wait for other threads to end.
    #[serde(default)]
    pub joined_ns: Option<u64>,
    /// How long the wait had lasted that was in progress at the end; none if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_wait_ns: Option<u64>,
    /// The lock that it was for; none if it was for another object, or for another thread's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_lock: Option<u64>,
    /// The condition, barrier, semaphore or futex that it was for, and not a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_object: Option<u64>,
    /// The thread whose end it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_join: Option<u32>,
    /// Its stack, innermost frame first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished_stack: Vec<Frame>,
    /// The rest of its life: it neither ran, nor was runnable, nor was in a wait that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_wait_ns: Option<u64>,
}

impl Thread {
    /// Divides `cpu_ns` as the kernel's figures for user and system time are divided: their sum may be coarser.
    pub fn divide_cpu(&mut self, user: u64, system: u64) {
        let Some(cpu_ns) = self.cpu_ns.filter(|_| user > 0 || system > 0) else { return };
        let share = system as f64 / (user as f64 + system as f64);
        let system_ns = (cpu_ns as f64 * share) as u64;
        self.system_ns = Some(system_ns.min(cpu_ns));
        self.user_ns = Some(cpu_ns.saturating_sub(system_ns));
    }

    /// Its waiting at locks that others held: all of its waiting for locks if a version before 0.2.0 kept the run.
    pub(crate) fn held_up_ns(&self) -> Option<u64> {
        self.contention_wait_ns.or(self.wait_ns)
    }

    /// Its wait that had not ended: for a lock, or else for anything.
    pub(crate) fn unfinished(&self) -> [Option<u64>; 2] {
        match self.unfinished_lock {
            Some(_) => [self.unfinished_wait_ns, None],
            None => [None, self.unfinished_wait_ns],
        }
    }

    /// Its waiting for work, for a turn, for other threads to end, and what may be either.
    pub(crate) fn work_wait_ns(&self) -> Option<u64> {
        let work_ns = self.wait_ns?.saturating_sub(self.contention_wait_ns?);
        Some(work_ns.saturating_add(self.joined_ns.unwrap_or(0)))
    }
}
