//! Explorations by the checker: a scenario holds under each memory model.
//!
//! # Contract
//! If `UNC_MEMORY` is set, it selects the one memory model to explore under: `C11`, `TSO` or `SC`. A violation is
//! reported in a line that begins with [`VIOLATED`]. `cargo xtask mutants` sets the variable and looks for the line.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use uncontended_model::real::{Explorer, Memory, Report, Thread, Verdict, current, park};

/// The start of the line that reports a violation.
pub const VIOLATED: &str = "VIOLATED";

/// The memory models of most scenarios.
pub const BOTH: [Memory; 2] = [Memory::C11, Memory::Tso];

/// Explores every execution of the scenario that `scenario` makes, under each of `models`.
///
/// # Panics
/// Panics if the scenario is violated or too large to explore.
pub fn holds<B: Fn() + 'static>(
    models: &[Memory],
    explorer: impl Fn(Memory) -> Explorer,
    scenario: impl Fn() -> B,
) {
    for memory in asked(models) {
        let report = explored(memory, &explorer(memory), scenario());
        assert!(report.holds(), "{memory:?}: {report}");
        assert!(report.executions > 1, "{memory:?}: nothing to explore");
    }
}

/// The same for a scenario that is too large for a short test, which explores only its first `short` executions. If it
/// is too large for any test, the full form explores the first `full`.
///
/// # Panics
/// Panics if the scenario is violated.
pub fn begins<B: Fn() + 'static>(
    name: &str,
    (short, full): (u64, Option<u64>),
    models: &[Memory],
    explorer: impl Fn(Memory) -> Explorer,
    scenario: impl Fn() -> B,
) {
    let most = match (crate::is_full(), full) {
        (true, None) => return holds(models, explorer, scenario),
        (true, Some(full)) => full,
        (false, _) => {
            crate::skip!(
                name,
                "all but the first {short} executions; UNC_DEPTH=full explores more"
            );
            short
        }
    };
    for memory in asked(models) {
        explored(memory, &explorer(memory).executions(most), scenario());
    }
}

fn explored(memory: Memory, explorer: &Explorer, body: impl Fn() + 'static) -> Report {
    let report = explorer.explore(body).unwrap();
    if let Verdict::Violated(violation) = &report.verdict {
        panic!("\n{VIOLATED} {}: {}\n{report}", name(memory), violation.failure);
    }
    println!("{memory:?}: {report}");
    report
}

fn asked(models: &[Memory]) -> Vec<Memory> {
    let asked = std::env::var("UNC_MEMORY").ok();
    let is_asked = |memory: &Memory| asked.as_deref().is_none_or(|asked| asked == name(*memory));
    let models: Vec<Memory> = models.iter().copied().filter(is_asked).collect();
    assert!(
        !models.is_empty(),
        "UNC_MEMORY={asked:?} is not a model of this scenario; use C11, TSO or SC"
    );
    models
}

fn name(memory: Memory) -> &'static str {
    match memory {
        Memory::C11 => "C11",
        Memory::Tso => "TSO",
        Memory::Sc => "SC",
    }
}

/// Wakes a task by unparking its thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker that unparks the calling thread.
pub fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(current())))
}

/// Polls the future once, for the calling thread.
pub fn poll_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(&waker())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Runs a task in the calling thread: polls until it is ready, and parks in between.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match poll_once(future.as_mut()) {
            Some(value) => return value,
            None => park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_model::real::{Arc, AtomicU32, Ordering::Relaxed, spawn};

    fn store_buffering(most_lost: u32) -> impl Fn() + 'static {
        move || {
            let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = Arc::clone(&words);
            let other = spawn(move || {
                theirs.0.store(1, Relaxed);
                theirs.1.load(Relaxed)
            });
            words.1.store(1, Relaxed);
            let seen = words.0.load(Relaxed) + other.join().unwrap();
            assert!(2 - seen <= most_lost);
        }
    }

    #[test]
    fn what_holds_holds() {
        holds(&BOTH, Explorer::new, || store_buffering(2));
        begins("what_holds_holds", (2, None), &BOTH, Explorer::new, || store_buffering(2));
    }

    #[test]
    #[should_panic(expected = "VIOLATED C11: thread 0 panics")]
    fn what_is_violated_says_so() {
        holds(&BOTH, Explorer::new, || store_buffering(1));
    }

    #[test]
    #[should_panic(expected = "unknown after 1 execution")]
    fn what_was_not_explored_does_not_hold() {
        holds(&BOTH, |memory| Explorer::new(memory).executions(1), || store_buffering(2));
    }
}
