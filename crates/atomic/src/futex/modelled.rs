//! The checker's futexes.

pub(crate) use uncontended_model::real::FutexWord as Word;
use uncontended_model::real::{self, futex_wake};
use uncontended_sys::futex::{Scope, Wait};

#[track_caller]
pub(crate) fn wait(word: &impl Word, expected: u32, deadline_ns: Option<u64>, _: Scope) -> Wait {
    let ended = match deadline_ns {
        None => real::futex_wait(word, expected),
        Some(_) => real::futex_wait_timeout(word, expected),
    };
    match ended {
        real::Wait::Woken => Wait::Woken,
        real::Wait::Changed => Wait::Changed,
        real::Wait::TimedOut => Wait::TimedOut,
    }
}

#[track_caller]
pub(crate) fn wake(word: &impl Word, count: u32, _: Scope) -> usize {
    futex_wake(word, count)
}
