//! A role that at most one process holds, in a word of memory that several processes may share. It is claimed by a
//! compare-and-swap, and later given back, given up for good, or left behind by a process that died.
//!
//! # Contract
//! A holder is a process, identified by its pid and, because pids are reused, by its start time. It has died if
//! - no process has its pid (kill(2) says so, which sees processes that `/proc` hides and takes no descriptor), or
//! - the process with its pid is a zombie without threads, or
//! - the process with its pid started at another time.
//!
//! Whatever is not known counts as life: a process is never taken for dead because a file could not be read. Then the
//! role of a process that died cannot be taken over as long as its pid is in use:
//! - The holder could not read its own start time when it claimed the role: `/proc` is missing, is another pid
//!   namespace's, or no descriptor was free.
//! - The process that asks cannot read that of the process with the pid, for these reasons or because `/proc` hides it.
//! - The process with the pid is in another time namespace than the one that asks, or that cannot be seen: start times
//!   in `/proc` depend on the time namespace of the reader.
//!
//! The processes must be in one pid namespace, where each has one pid for all. A process that forks while it holds a
//! role does not share it with the child, so a side that holds the role does nothing when the child drops its copy. One
//! that moves itself to another time namespace (setns(2)) while it holds a role may be taken for dead.
//!
//! # Edges
//! role: `give_back` -> `claim`, `take_over`. What the last holder did. A holder that died leaves no such edge: the
//! state that its successor continues from needs edges of its own.
//!
//! # Sources
//! proc_pid_stat(5): field 1 is the pid, 3 the state, 20 the number of threads, 22 the start in clock ticks since boot.
//! time_namespaces(7), pid_namespaces(7): a `/proc` shows the pids of the namespace in which it was mounted.

use std::fmt;
#[cfg(unc_model)]
use uncontended_atomic::Named;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, Scope};
use uncontended_sys::pids;

const FREE: u64 = 0;
const GIVEN_UP: u64 = u64::MAX;
/// The holder of a role among the threads of one process; whether it lives is not looked up.
const HERE: u64 = u64::MAX - 1;
/// The start time of a holder that could not read it.
const UNKNOWN: u32 = 0;

/// The holder of a role, if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// No process.
    Nobody,
    /// A thread of this process; the role is private to the process.
    Here,
    /// A live process.
    Lives {
        /// Its process ID.
        pid: u32,
    },
    /// A process that has died. The role can be taken over.
    Died {
        /// Its process ID.
        pid: u32,
    },
    /// No process ever again: the last holder gave the role up.
    GaveUp,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Nobody => f.write_str("no process"),
            Holder::Here => f.write_str("this process"),
            Holder::Lives { pid } => write!(f, "process {pid}"),
            Holder::Died { pid } => write!(f, "process {pid}, which died"),
            Holder::GaveUp => f.write_str("no process: the role was given up"),
        }
    }
}

/// A role and its holder, in one word.
///
/// ```
/// use uncontended_wait::{Scope, role::{Holder, Role}};
/// let role = Role::new();
/// assert_eq!(role.claim(Scope::Shared), Ok(()));
/// let me = Holder::Lives { pid: std::process::id() };
/// assert_eq!((role.holder(), role.take_over(Scope::Shared)), (me, Err(me)));
/// role.give_up();
/// assert_eq!(role.claim(Scope::Shared), Err(Holder::GaveUp));
/// ```
#[repr(transparent)]
pub struct Role(AtomicU64);

impl Role {
    /// A role without a holder.
    #[cfg(not(unc_model))]
    pub const fn new() -> Role {
        Role(AtomicU64::new(FREE))
    }

    /// A role without a holder.
    #[cfg(unc_model)]
    pub fn new() -> Role {
        Role(AtomicU64::new(FREE).named("role"))
    }

    /// The current holder.
    pub fn holder(&self) -> Holder {
        holder(self.0.load(Relaxed))
    }

    /// Whether this process holds it. A child that was forked while its parent held the role does not.
    ///
    /// ```
    /// use uncontended_wait::{Scope, role::Role};
    /// let role = Role::new();
    /// assert!(!role.is_mine());
    /// role.claim(Scope::Shared).unwrap();
    /// assert!(role.is_mine());
    /// ```
    pub fn is_mine(&self) -> bool {
        match self.0.load(Relaxed) {
            FREE | GIVEN_UP => false,
            HERE => true,
            word => word as u32 == std::process::id(),
        }
    }

    /// Takes a role without a holder.
    ///
    /// # Errors
    /// The role is held, its holder died, or it was given up.
    pub fn claim(&self, scope: Scope) -> Result<(), Holder> {
        // EDGE role (acquire): what the last holder did.
        self.0.compare_exchange(FREE, me(scope), Acquire, Relaxed).map(drop).map_err(holder)
    }

    /// Takes a role whose holder died, or that has no holder.
    ///
    /// # Errors
    /// Its holder is alive, or the role was given up.
    pub fn take_over(&self, scope: Scope) -> Result<(), Holder> {
        let found = self.0.load(Relaxed);
        match holder(found) {
            // EDGE role (acquire): what the last holder did.
            Holder::Nobody | Holder::Died { .. } => {
                let taken = self.0.compare_exchange(found, me(scope), Acquire, Relaxed);
                taken.map(drop).map_err(holder)
            }
            other => Err(other),
        }
    }

    /// Gives the role back, for another process to claim. Only the holder may call it.
    pub fn give_back(&self) {
        // EDGE role (release): what this holder did.
        self.0.store(FREE, Release);
    }

    /// Gives the role up for good. Only the holder may call it.
    pub fn give_up(&self) {
        self.0.store(GIVEN_UP, Relaxed);
    }
}

impl Default for Role {
    fn default() -> Role {
        Role::new()
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Role").field(&self.holder()).finish()
    }
}

fn holder(word: u64) -> Holder {
    let pid = word as u32;
    match word {
        FREE => Holder::Nobody,
        HERE => Holder::Here,
        GIVEN_UP => Holder::GaveUp,
        _ if has_died(pid, (word >> 32) as u32) => Holder::Died { pid },
        _ => Holder::Lives { pid },
    }
}

/// This process as the word holds it.
fn me(scope: Scope) -> u64 {
    if scope == Scope::Private {
        return HERE;
    }
    let start = Process::this().map_or(UNKNOWN, |process| process.start);
    u64::from(start) << 32 | u64::from(std::process::id())
}

/// Whether the process that had this pid and start time is known to have died. That stays true, so none of these
/// answers is outdated by what happens after it.
fn has_died(pid: u32, start: u32) -> bool {
    if pids::is_unused(pid) {
        return true;
    }
    // Where `/proc` does not show this process under its pid, it is about other processes.
    let (Some(_), Some(process)) = (Process::this(), Process::read(pid)) else { return false };
    let is_another = || start != UNKNOWN && process.start != start && is_in_this_time(pid);
    process.is_zombie || is_another()
}

/// Whether process `pid` is in the time namespace of this one, so that it reads its start time as this one does.
fn is_in_this_time(pid: u32) -> bool {
    let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/time"));
    match (namespace("self"), namespace(&pid.to_string())) {
        (Ok(mine), Ok(its)) => mine == its,
        // A kernel without time namespaces.
        (Err(why), _) => why.kind() == std::io::ErrorKind::NotFound,
        (Ok(_), Err(_)) => false,
    }
}

struct Process {
    pid: u32,
    /// The low half of its start time, in clock ticks since boot.
    start: u32,
    is_zombie: bool,
}

impl Process {
    /// This process, if `/proc` shows it under its own pid.
    fn this() -> Option<Process> {
        Process::of("self").filter(|process| process.pid == std::process::id())
    }

    fn read(pid: u32) -> Option<Process> {
        Process::of(&pid.to_string())
    }

    fn of(name: &str) -> Option<Process> {
        parse(&std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?)
    }
}

/// Parses a line of `/proc/PID/stat`. The second field, the name, may hold any character; no other field holds a
/// parenthesis.
fn parse(stat: &str) -> Option<Process> {
    let (before_name, after_name) = (stat.split_once(" (")?.0, stat.rsplit_once(')')?.1);
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let start: u64 = field(22)?.parse().ok()?;
    let threads: u64 = field(20)?.parse().ok()?;
    let is_zombie = matches!(field(3)?, "Z" | "X" | "x") && threads <= 1;
    Some(Process { pid: before_name.parse().ok()?, start: start as u32, is_zombie })
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_not_mistaken_for_the_dead_holder() {
        let line = |state: &str, threads: u32, start: u64| {
            format!("7 (a) b) {state} 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 {start} 0 0\n")
        };
        let alive = parse(&line("S", 1, (5 << 32) + 9)).unwrap();
        assert_eq!((alive.pid, alive.start, alive.is_zombie), (7, 9, false));
        assert!(parse(&line("Z", 1, 9)).unwrap().is_zombie);
        assert!(!parse(&line("Z", 3, 9)).unwrap().is_zombie, "its first thread alone has ended");
        assert!(parse("").is_none() && parse("7 (x) S").is_none());
        if Process::this().is_none() {
            uncontended_testkit::skip!("dead holders", "/proc cannot be read");
            return;
        }
        let me = me(Scope::Shared);
        let (pid, start) = (me as u32, (me >> 32) as u32);
        assert!(!has_died(pid, start));
        assert!(has_died(pid, start.wrapping_add(1)), "another process of that number");
        assert!(!has_died(pid, UNKNOWN), "it may be that process");
        assert!(has_died(u32::MAX, 0), "no process has that number");
    }
}
