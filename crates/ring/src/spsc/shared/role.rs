//! Who holds a role, in a word: claimed by a compare-and-swap, given up for ever, or left behind by who died.
//!
//! # Contract
//! A holder is a process, known by its number and, because numbers come again, by when it started. A process that can be seen
//! no more, or is a zombie without threads, has died. Where `/proc` cannot be read nobody is taken for dead.
//!
//! # Sources
//! proc_pid_stat(5): field 3 is the state, 20 the number of threads, 22 the start in clock ticks since boot.

use super::RoleError;
use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicU64};

const FREE: u64 = 0;
const GIVEN_UP: u64 = u64::MAX;

/// The word.
#[repr(transparent)]
pub(crate) struct Role(AtomicU64);

impl Role {
    pub(crate) fn new() -> Role {
        Role(AtomicU64::new(FREE))
    }

    /// Takes a role that nobody has had.
    pub(crate) fn claim(&self) -> Result<(), RoleError> {
        // Relaxed: what a role brings with it is in the positions, which have edges of their own.
        self.0.compare_exchange(FREE, me(), Relaxed, Relaxed).map(drop).map_err(refusal)
    }

    /// Takes a role from who died with it, or that nobody has had.
    pub(crate) fn take_over(&self) -> Result<(), RoleError> {
        let holder = self.0.load(Relaxed);
        match if holder == FREE { None } else { Some(refusal(holder)) } {
            None | Some(RoleError::Died { .. }) => {
                let taken = self.0.compare_exchange(holder, me(), Relaxed, Relaxed);
                taken.map(drop).map_err(refusal)
            }
            Some(refusal) => Err(refusal),
        }
    }

    /// Gives it up for ever, by who holds it.
    pub(crate) fn give_up(&self) {
        self.0.store(GIVEN_UP, Relaxed);
    }
}

/// A role that this process holds, and gives up in the end; and what keeps the memory.
pub(crate) struct Claimed {
    role: NonNull<Role>,
    _keep: Arc<dyn Send + Sync>,
}

// SAFETY: a role is an atomic in memory that is kept (I1 of `shared`).
unsafe impl Send for Claimed {}
// SAFETY: as for `Send`.
unsafe impl Sync for Claimed {}

impl Claimed {
    /// For a role just claimed.
    ///
    /// # Safety
    /// It lies in memory that `keep` keeps.
    pub(super) unsafe fn new(role: NonNull<Role>, keep: Arc<dyn Send + Sync>) -> Claimed {
        Claimed { role, _keep: keep }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        // SAFETY: the memory is kept (I1 of `shared`).
        let role = unsafe { self.role.as_ref() };
        role.give_up();
    }
}

impl fmt::Debug for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claimed")
    }
}

/// Why who is in the word keeps a role from others.
fn refusal(holder: u64) -> RoleError {
    let pid = holder as u32;
    match holder {
        GIVEN_UP => RoleError::GivenUp,
        _ if has_died(pid, (holder >> 32) as u32) => RoleError::Died { pid },
        _ => RoleError::Held { pid },
    }
}

/// This process, in the word.
fn me() -> u64 {
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

#[cfg(test)]
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
            println!("SKIPPED who is alive: /proc cannot be read");
            return;
        }
        let (pid, start) = (me() as u32, (me() >> 32) as u32);
        assert!(!has_died(pid, start));
        assert!(has_died(pid, start.wrapping_add(1)), "another process of that number");
        assert!(has_died(u32::MAX, 0), "no process has that number");
    }
}
