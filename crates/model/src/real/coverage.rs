//! What a verdict covers: all executions, all within limits, or some.

use super::sentence::{Sentence, counted};
use super::verdict::{Report, Verdict};
use std::fmt;

/// Which of a program's executions a verdict covers.
///
/// ```
/// use uncontended_model::real::{AtomicBool, Coverage, Explorer, Limit, Memory, spawn, spin_loop};
/// use std::sync::{Arc, atomic::Ordering::{Acquire, Release}};
///
/// let report = Explorer::new(Memory::C11).explore(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let other = Arc::clone(&ready);
///     spawn(move || other.store(true, Release));
///     while !ready.load(Acquire) {
///         spin_loop();
///     }
/// });
/// let limits = vec![Limit::Rounds(3), Limit::Spins(1_000)];
/// assert_eq!(report.unwrap().coverage(), Coverage::Within(limits));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All executions, except for what no option of the checker covers: an address that is used again for a new value,
    /// futex waiters woken in an order other than FIFO, and load buffering (see [the module](super)).
    Complete,
    /// All executions within these limits, at least one of them. Each limit kept executions out, or was requested.
    Within(Vec<Limit>),
    /// Some executions: a bound or a violation ended the search. The verdict says nothing about the rest.
    Partial,
}

/// A limit within which executions are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// At most this many preemptions ([`Explorer::preemptions`](super::Explorer::preemptions)).
    Preemptions(u32),
    /// At most this many contexts ([`Explorer::contexts`](super::Explorer::contexts)).
    Contexts(u32),
    /// At most this many unsuccessful rounds in a row, for each loop that gives hints
    /// ([`Explorer::rounds`](super::Explorer::rounds)). What such a loop does if it finds something new later is not
    /// explored.
    Rounds(u32),
    /// At most this many rounds until a loop that gives hints gives up by itself
    /// ([`Explorer::spins`](super::Explorer::spins)). All loops that were left waiting continued for that many rounds,
    /// here or in another execution where the same had happened before; what one would do if it gave up later is not
    /// explored.
    Spins(u32),
    /// At most this many time-outs of each thread ([`Explorer::timeouts`](super::Explorer::timeouts)).
    Timeouts(u32),
    /// At most this many spurious failures and wakeups of each thread
    /// ([`Explorer::spurious`](super::Explorer::spurious)). 0: none was requested, though a `compare_exchange_weak`, a
    /// `Condvar::wait`, a `park` or a futex wait could have failed or ended by itself.
    Spurious(u32),
    /// One of the executions that differ only in the names of symmetric threads
    /// ([`spawn_symmetric`](super::spawn_symmetric)). That the threads are symmetric is checked in the executions that
    /// are explored, not in those that are left out.
    Symmetric,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Preemptions(most) => write!(f, "at most {}", counted(*most, "preemption")),
            Limit::Contexts(most) => write!(f, "at most {}", counted(*most, "context")),
            Limit::Rounds(most) => write!(f, "at most {} of waiting", counted(*most, "round")),
            Limit::Spins(most) => {
                write!(f, "at most {} until a loop gives up", counted(*most, "round"))
            }
            Limit::Timeouts(most) => write!(f, "at most {} a thread", counted(*most, "time-out")),
            Limit::Spurious(0) => f.write_str("no spurious failures or wakeups"),
            Limit::Spurious(most) => {
                write!(f, "at most {most} failures or wakeups without a cause a thread")
            }
            Limit::Symmetric => f.write_str("symmetric threads in one order"),
        }
    }
}

impl Report {
    /// Which executions the verdict covers. Code that relies on an unqualified "holds" requires [`Coverage::Complete`].
    pub fn coverage(&self) -> Coverage {
        match self.verdict {
            Verdict::Unknown(_) | Verdict::Violated(_) => Coverage::Partial,
            Verdict::Holds => {
                let symmetric = (!self.symmetric.is_empty()).then_some(Limit::Symmetric);
                let limits: Vec<Limit> = self.bounds().chain(symmetric).collect();
                if limits.is_empty() { Coverage::Complete } else { Coverage::Within(limits) }
            }
        }
    }

    /// The limits that are numbers.
    fn bounds(&self) -> impl Iterator<Item = Limit> {
        let bounds = [
            self.preemptions.map(Limit::Preemptions),
            self.contexts.map(Limit::Contexts),
            self.rounds.map(Limit::Rounds),
            self.spins.map(Limit::Spins),
            self.timeouts.map(Limit::Timeouts),
            self.spurious.map(Limit::Spurious),
        ];
        bounds.into_iter().flatten()
    }

    /// Adds what a verdict that holds covers: the words that follow "holds".
    pub(crate) fn tell_coverage(&self, sentence: &mut Sentence) {
        match self.executions {
            1 => sentence.add(" in its only execution"),
            executions => sentence.add(&format!(" in all {executions} executions")),
        }
        for (at, limit) in self.bounds().enumerate() {
            match at {
                0 => sentence.add(&format!(" with {limit}")),
                _ => sentence.clause(", ", format!("and with {limit}")),
            }
            if let Limit::Rounds(_) = limit {
                let forced = counted(self.forced, "read");
                sentence
                    .clause(", ", format!("{forced} forced, {} left waiting", self.left_waiting));
            }
        }
        if !self.symmetric.is_empty() {
            let sizes: Vec<String> = self.symmetric.iter().map(usize::to_string).collect();
            let sizes = sizes.join(" and of ");
            sentence.clause(", ", format!("up to the order of {sizes} symmetric threads"));
        }
    }
}
