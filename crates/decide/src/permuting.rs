//! The question of a permutation test: do groups of values differ by more than chance explains?
//!
//! # Contract
//! What is expected of B is a function of A's values; under the null hypothesis the values of B and those are
//! exchangeable. Three groups or more are expected to be alike.
//! # Evidence
//! `crates/cli/tests/decide_permute.rs`.

use serde::{Deserialize, Serialize};
use uncontended_figures::{Dimension, given, given_number, given_percent};

/// What B is under the null hypothesis: A times a factor, and so much more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The factor.
    pub scale: f64,
    /// What is added, in the unit of the values.
    pub shift: f64,
}

/// "Is the p-value of the permutation test below the level?"
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permute {
    /// Base unit of the values.
    pub unit: String,
    /// Values of A.
    pub a: Vec<f64>,
    /// Values of B.
    pub b: Vec<f64>,
    /// Values of C and further groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Vec<f64>>,
    /// What B is expected to be of A, if not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// What is compared: mean, median, max, pNN.
    pub statistic: String,
    /// Whether differences in either direction are extreme.
    pub two_sided: bool,
    /// A p-value below this is significant.
    pub level: f64,
    /// Lower end of the indifference zone.
    pub or_below: Option<f64>,
    /// Largest chance of a wrong verdict about the p-value, over all looks.
    pub max_error: f64,
    /// The budget: most resamples.
    #[serde(rename = "most_dealings")]
    pub most_resamples: u64,
    /// Seed of the resampling.
    pub seed: String,
}

impl Permute {
    /// "A", or what B is expected to be: "A × 2 + 3 ms".
    #[must_use]
    pub fn expectation(&self) -> String {
        let Some(Expected { scale, shift }) = self.expected else { return "A".to_owned() };
        let dimension = Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number);
        let factor =
            if scale == 1.0 { String::new() } else { format!(" × {}", given_number(scale)) };
        let term =
            if shift == 0.0 { String::new() } else { format!(" + {}", given(shift, dimension)) };
        match factor.is_empty() && term.is_empty() {
            true => "A".to_owned(),
            false => format!("(A{factor}{term})"),
        }
    }

    /// What is expected of B where A has this value.
    #[must_use]
    pub fn expected_of(&self, value: f64) -> f64 {
        self.expected.map_or(value, |expected| value * expected.scale + expected.shift)
    }

    /// The names of the groups: "A, B and C".
    #[must_use]
    pub fn groups(&self) -> String {
        let count = u8::try_from(self.more.len() + 2).unwrap_or(u8::MAX).min(26);
        let names: Vec<String> = (0..count).map(|at| char::from(b'A' + at).to_string()).collect();
        let (last, others) = names.split_last().expect("two or more");
        format!("{} and {last}", others.join(", "))
    }

    /// The question as a sentence.
    pub fn sentence(&self) -> String {
        let level = given_percent(self.level);
        let (a, differ) = (self.expectation(), "by more than chance explains");
        let asked = match (self.more.as_slice(), self.two_sided) {
            ([], true) => format!("does the {} of {a} and B differ {differ}", self.statistic),
            ([], false) => format!("is B's {} higher than {a}'s {differ}", self.statistic),
            (..) => format!("does the {} of {} differ {differ}", self.statistic, self.groups()),
        };
        let asked = format!("{asked}, with a p-value below {level}?");
        match self.or_below {
            Some(low) => {
                format!(
                    "{asked} (between {} and {level} either answer is right)",
                    given_percent(low)
                )
            }
            None => asked,
        }
    }
}
