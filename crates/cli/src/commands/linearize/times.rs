//! Times for people: since the first call of the history, in a unit that fits.

use super::reader::Unit;

/// How times are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    origin: u64,
    unit: Unit,
    /// What a nanosecond is multiplied by, and the unit's name.
    scale: (f64, &'static str),
}

impl Times {
    /// For times from `origin` to `last`.
    pub(super) fn new(origin: u64, last: u64, unit: Unit) -> Self {
        let span = match unit {
            Unit::Nanoseconds(each) => (last - origin) as f64 * each,
            Unit::Ticks => 0.0,
        };
        let steps = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
        let step = steps.into_iter().find(|(least, _)| span >= 10.0 * least);
        Times { origin, unit, scale: step.unwrap_or((1.0, "ns")) }
    }

    /// The earliest time.
    pub(super) fn origin(&self) -> u64 {
        self.origin
    }

    /// A time.
    pub(super) fn show(&self, time: u64) -> String {
        let since = time - self.origin;
        let Unit::Nanoseconds(each) = self.unit else { return time.to_string() };
        let (scale, name) = self.scale;
        let shown = format!("{:.6}", since as f64 * each / scale);
        format!("{} {name}", shown.trim_end_matches('0').trim_end_matches('.'))
    }
}
