//! The holder of a role, in a word of memory that several processes may share: claimed by a compare-and-swap, given
//! back, given up for ever, or left behind by who died.
//!
//! # Contract
//! A holder is a process, known by its number and, because numbers come again, by when it started. A process that can
//! be seen no more, or is a zombie without threads, has died. Where `/proc` cannot be read nobody is taken for dead.
//! Processes have to see each other's numbers (one namespace of pids), and one that forks while it holds a role shares
//! it with nobody.
//!
//! # Edges
//! role: `give_back` -> `claim`, `take_over`. What the last holder did. A holder that died left no such edge: what its
//! successor goes on from has edges of its own.
//!
//! # Sources
//! proc_pid_stat(5): field 3 is the state, 20 the number of threads, 22 the start in clock ticks since boot.

use std::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, Scope};

const FREE: u64 = 0;
const GIVEN_UP: u64 = u64::MAX;
/// Of a role among the threads of one process: nobody looks up whether it lives.
const HERE: u64 = u64::MAX - 1;

/// The holder of a role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// A thread of this process; the role is for no other.
    Here,
    /// A process that lives.
    Lives {
        /// Its number.
        pid: u32,
    },
    /// A process that is no more. The role can be taken over.
    Died {
        /// Its number.
        pid: u32,
    },
    /// Nobody ever will: who held it has given it up.
    GaveUp,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Nobody => f.write_str("nobody"),
            Holder::Here => f.write_str("this process"),
            Holder::Lives { pid } => write!(f, "process {pid}"),
            Holder::Died { pid } => write!(f, "process {pid}, which died"),
            Holder::GaveUp => f.write_str("nobody any more"),
        }
    }
}

/// The word.
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
    /// Held by nobody.
    pub fn new() -> Role {
        Role(AtomicU64::new(FREE))
    }

    /// Its holder.
    pub fn holder(&self) -> Holder {
        holder(self.0.load(Relaxed))
    }

    /// Takes a role that nobody holds.
    ///
    /// # Errors
    /// Somebody does, or died with it, or has given it up.
    pub fn claim(&self, scope: Scope) -> Result<(), Holder> {
        // EDGE role (acquire): what the last holder did.
        self.0.compare_exchange(FREE, me(scope), Acquire, Relaxed).map(drop).map_err(holder)
    }

    /// Takes a role from who died with it, or that nobody holds.
    ///
    /// # Errors
    /// Somebody lives who holds it, or it has been given up.
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

    /// Gives it back, by who holds it, for somebody else to go on.
    pub fn give_back(&self) {
        // EDGE role (release): what this holder did.
        self.0.store(FREE, Release);
    }

    /// Gives it up for ever, by who holds it.
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

/// This process, in the word.
fn me(scope: Scope) -> u64 {
    if scope == Scope::Private {
        return HERE;
    }
    let pid = std::process::id();
    let start = look("self").map_or(0, |process| process.start);
    u64::from(start) << 32 | u64::from(pid)
}

fn has_died(pid: u32, start: u32) -> bool {
    match look(&pid.to_string()) {
        Some(process) => process.start != start || process.is_zombie,
        // Nobody of that number, if numbers can be looked up at all.
        None => look("self").is_some(),
    }
}

struct Process {
    /// The low half of its start, in clock ticks since boot.
    start: u32,
    is_zombie: bool,
}

fn look(process: &str) -> Option<Process> {
    parse(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Reads a line of `/proc/PID/stat`. Its second field, the name, may hold anything, but only it may hold a parenthesis.
fn parse(stat: &str) -> Option<Process> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let start: u64 = field(22)?.parse().ok()?;
    let threads: u64 = field(20)?.parse().ok()?;
    let is_zombie = matches!(field(3)?, "Z" | "X" | "x") && threads <= 1;
    Some(Process { start: start as u32, is_zombie })
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn the_living_the_dead_and_the_reborn_are_told_apart() {
        let line = |state: &str, threads: u32, start: u64| {
            format!("7 (a) b) {state} 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 {start} 0 0\n")
        };
        let alive = parse(&line("S", 1, (5 << 32) + 9)).unwrap();
        assert_eq!((alive.start, alive.is_zombie), (9, false));
        assert!(parse(&line("Z", 1, 9)).unwrap().is_zombie);
        assert!(!parse(&line("Z", 3, 9)).unwrap().is_zombie, "its first thread alone has ended");
        assert!(parse("").is_none() && parse("7 (x) S").is_none());
        if look("self").is_none() {
            uncontended_testkit::skip!("who is alive", "/proc cannot be read");
            return;
        }
        let me = me(Scope::Shared);
        let (pid, start) = (me as u32, (me >> 32) as u32);
        assert!(!has_died(pid, start));
        assert!(has_died(pid, start.wrapping_add(1)), "another process of that number");
        assert!(has_died(u32::MAX, 0), "no process has that number");
    }
}
