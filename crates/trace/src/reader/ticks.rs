//! Ticks of the record's clock in nanoseconds.

use super::Record;

impl Record<'_> {
    /// A number of ticks in nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.tick_ns) as u64
    }

    /// Nanoseconds from the start of the program to a time in ticks.
    pub fn ns_at(&self, ticks: u64) -> u64 {
        self.ns(ticks.saturating_sub(self.start_ticks))
    }
}
