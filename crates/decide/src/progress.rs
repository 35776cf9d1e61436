//! The listener for a trial's progress.

use std::fmt::Debug;
use uncontended_figures::progress::{Line, State};

/// A listener. It must not influence the runs.
pub trait Progress: Debug {
    /// Announces what is about to happen.
    fn say(&mut self, text: &str);
    /// Announces what must be known before it happens, even where progress is not shown.
    fn insist(&mut self, text: &str) {
        self.say(text);
    }
    /// Shows the state after `n` runs, if an update is due.
    fn tick(&mut self, n: u64, state: &dyn Fn() -> State);
    /// Clears what is shown.
    fn clear(&mut self);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn say(&mut self, _: &str) {}
    fn tick(&mut self, _: u64, _: &dyn Fn() -> State) {}
    fn clear(&mut self) {}
}

/// Shows progress on standard error.
impl Progress for Line {
    fn say(&mut self, text: &str) {
        Line::say(self, text);
    }
    fn insist(&mut self, text: &str) {
        Line::insist(self, text);
    }
    fn tick(&mut self, n: u64, state: &dyn Fn() -> State) {
        Line::tick(self, n, state);
    }
    fn clear(&mut self) {
        Line::clear(self);
    }
}
