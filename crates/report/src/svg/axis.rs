//! An axis: maps values to places between 0 and 1, and chooses the marked values.

use uncontended_figures as figures;

/// One axis of a chart.
#[derive(Debug, Clone)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    label: String,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From `low` to `high` in even steps; `format` writes the value of a tick.
    pub fn linear(low: f64, high: f64, label: &str, format: fn(f64) -> String) -> Axis {
        let (low, high) = ordered(low, high);
        let step = nice_step((high - low) / 6.0);
        let first = (low / step).ceil();
        let ticks = (0..50)
            .map(|nth| (first + f64::from(nth)) * step)
            .take_while(|&value| value <= high + step * 1e-9);
        let ticks = ticks.map(|value| (value, figures::short(&format(value)))).collect();
        Axis { low, high, log: false, label: label.to_owned(), ticks }
    }

    /// From `low` to `high`, both above zero, in decades.
    pub fn log(low: f64, high: f64, label: &str, format: fn(f64) -> String) -> Axis {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        let high = if high.is_finite() && high > low { high } else { low * 10.0 };
        let decades: Vec<i32> = (low.log10().floor() as i32..=high.log10().ceil() as i32).collect();
        let stride = decades.len().div_ceil(8).max(1);
        // Within one or two decades, powers of ten alone are too few marks.
        let parts: &[f64] = if decades.len() <= 4 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let values = decades
            .iter()
            .step_by(stride)
            .flat_map(|&tens| parts.iter().map(move |part| part * 10f64.powi(tens)));
        let ticks = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
        let ticks = ticks.map(|value| (value, figures::short(&format(value)))).collect();
        Axis { low, high, log: true, label: label.to_owned(), ticks }
    }

    /// Shares of a distribution, on which each further nine (90 %, 99 %, 99.9 %) takes the same room; up to one in
    /// `most`. Its values come from [`Axis::nines_of`].
    pub fn nines(most: f64, label: &str) -> Axis {
        let high = most.max(10.0).log10();
        let shares = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9];
        let names =
            ["0", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "1 - 1e-6", "1 - 1e-7"];
        let ticks = shares
            .into_iter()
            .zip(names)
            .map(|(share, name)| (Axis::nines_of(share), name.to_owned()));
        let ticks = ticks.filter(|(value, _)| *value <= high + 1e-9).collect();
        Axis { low: 0.0, high, log: false, label: label.to_owned(), ticks }
    }

    /// The value of `share` (0 to below 1) on an axis of [`Axis::nines`].
    pub fn nines_of(share: f64) -> f64 {
        -(1.0 - share).max(1e-18).log10()
    }

    /// The place of `value`, 0 at the low end and 1 at the high one; clamped; nothing for a value without a place.
    pub fn at(&self, value: f64) -> Option<f64> {
        let of = |value: f64| if self.log { value.ln() } else { value };
        let at = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        at.is_finite().then(|| at.clamp(0.0, 1.0))
    }

    /// Marked values and their text.
    pub fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// The least and the greatest value.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The axis's label.
    pub fn label(&self) -> &str {
        &self.label
    }
}

fn ordered(low: f64, high: f64) -> (f64, f64) {
    match (low.is_finite(), high.is_finite()) {
        (true, true) if low < high => (low, high),
        (true, _) => (low, low + low.abs().max(1.0)),
        (false, _) => (0.0, 1.0),
    }
}

/// The next of 1, 2, 5, 10, 20 … at or above `least`.
fn nice_step(least: f64) -> f64 {
    let tens = 10f64.powf(least.log10().floor());
    let step =
        [1.0, 2.0, 5.0].into_iter().map(|part| part * tens).find(|&step| step >= least * 0.999);
    step.unwrap_or(tens * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks().iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        let axis = Axis::linear(0.0, 4.2e9, "time", figures::duration_f);
        assert_eq!(texts(&axis), ["0 ns", "1 s", "2 s", "3 s", "4 s"]);
        let axis = Axis::log(800.0, 3e8, "time", figures::duration_f);
        assert_eq!(texts(&axis), ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]);
        let axis = Axis::log(1.0, 20.0, "count", figures::number);
        assert_eq!(texts(&axis), ["1", "2", "5", "10", "20"]);
        assert_eq!(texts(&Axis::nines(1000.0, "share")), ["0", "50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn places_are_between_the_ends_or_nowhere() {
        let axis = Axis::log(1.0, 100.0, "", figures::number);
        assert_eq!((axis.at(10.0), axis.at(0.0), axis.at(1e9)), (Some(0.5), None, Some(1.0)));
        assert_eq!(axis.at(f64::NAN), None);
        for odd in [
            Axis::linear(5.0, 5.0, "", figures::number),
            Axis::linear(f64::NAN, 1.0, "", figures::number),
        ] {
            assert!(odd.at(5.0).is_some());
        }
        assert!(Axis::log(-1.0, f64::INFINITY, "", figures::number).at(5.0).is_some());
    }
}
