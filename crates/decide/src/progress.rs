//! The listener that is told how far a trial is.

use std::fmt::Debug;

/// A listener. What it does must not depend on, or change, the runs.
pub trait Progress: Debug {
    /// Says what is going to happen.
    fn say(&mut self, text: &str);
    /// Shows the state after `n` runs, if it is time to.
    fn tick(&mut self, n: u64, state: &dyn Fn() -> String);
    /// Takes away what was shown.
    fn clear(&mut self);
}

/// Nobody is told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn say(&mut self, _: &str) {}
    fn tick(&mut self, _: u64, _: &dyn Fn() -> String) {}
    fn clear(&mut self) {}
}
