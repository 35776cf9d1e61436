//! The listener that is told how far a trial is.

use std::fmt::Debug;
use uncontended_figures::progress::{Line, State};

/// A listener. What it does must not depend on, or change, the runs.
pub trait Progress: Debug {
    /// Says what is going to happen.
    fn say(&mut self, text: &str);
    /// Shows the state after `n` runs, if it is time to.
    fn tick(&mut self, n: u64, state: &dyn Fn() -> State);
    /// Takes away what was shown.
    fn clear(&mut self);
}

/// Nobody is told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn say(&mut self, _: &str) {}
    fn tick(&mut self, _: u64, _: &dyn Fn() -> State) {}
    fn clear(&mut self) {}
}

/// People are told on standard error.
impl Progress for Line {
    fn say(&mut self, text: &str) {
        Line::say(self, text);
    }
    fn tick(&mut self, n: u64, state: &dyn Fn() -> State) {
        Line::tick(self, n, state);
    }
    fn clear(&mut self) {
        Line::clear(self);
    }
}
