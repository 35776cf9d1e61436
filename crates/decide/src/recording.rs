//! Runs that are kept without a question, for comparisons to come: of a command and, interleaved with it, of a control.
//!
//! # Contract
//! Nothing is asked, so nothing is ever decided, and only the budget ends the runs.
//! # Evidence
//! `crates/cli/tests/decide_sessions.rs`.

use crate::Failure;
use crate::pairs::neighbours_resemble;
use crate::question::Asked;
use crate::record::{Outcome, Run};
use crate::spread::Values;
use crate::trial::{self, Trial};
use crate::verdict::{About, Answer, Finding, OfRecording};
use serde::{Deserialize, Serialize};
use uncontended_figures::progress::State;
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, measured, number};

/// What is run and measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The metric's name.
    pub metric: String,
    /// Base unit of the values.
    pub unit: String,
    /// The command, which has number 0.
    pub command: String,
    /// A command that is run as often, number 1, so that later sessions can tell a change of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Whether runs that fail are kept, as lost ones.
    pub ignore_failure: bool,
}

impl Recording {
    /// The commands, by number.
    #[must_use]
    pub fn commands(&self) -> Vec<&str> {
        std::iter::once(&self.command).chain(&self.control).map(String::as_str).collect()
    }

    /// The dimension of its values.
    #[must_use]
    pub fn dimension(&self) -> Dimension {
        Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number)
    }
}

impl Asked for Recording {
    fn sentence(&self) -> String {
        format!("none: the runs of '{}' are kept", self.command)
    }
    /// Nothing is said that could be wrong.
    fn max_error(&self) -> f64 {
        0.0
    }
    fn unit(&self) -> &str {
        &self.unit
    }
    fn trial(&self, _: Option<u64>) -> Result<Box<dyn Trial>, Failure> {
        let values = self.commands().iter().map(|_| Values::default()).collect();
        Ok(Box::new(Kept {
            recording: self.clone(),
            values,
            failed: 0,
            runs: 0,
            order: Vec::new(),
        }))
    }
}

/// The runs so far.
#[derive(Debug, Clone)]
struct Kept {
    recording: Recording,
    /// By command.
    values: Vec<Values>,
    /// The runs of the command, and how many of them failed.
    runs: u64,
    failed: u64,
    /// The command's values in their order.
    order: Vec<f64>,
}

impl Trial for Kept {
    fn push(&mut self, run: &Run) -> Result<(), Failure> {
        trial::check(run, self.values.len())?;
        let value = run.value.filter(|_| run.outcome == Outcome::Ok);
        self.values[run.arm].push(value, run.usage.as_ref());
        if run.arm == 0 {
            self.runs += 1;
            self.failed += u64::from(value.is_none());
            self.order.extend(value);
        }
        Ok(())
    }

    fn answer(&self) -> Answer {
        Answer::Undecided
    }

    fn active(&self) -> Vec<usize> {
        (0..self.values.len()).collect()
    }

    fn state(&self) -> State {
        let median = self.values[0].spread().map_or_else(String::new, |spread| {
            format!(", median {}", measured(spread.median, self.recording.dimension()))
        });
        let text = format!("{} kept{median}", several(self.runs, "run", "runs"));
        State { text, ..State::default() }
    }

    fn findings(&self) -> Vec<Finding> {
        let values = self.values.iter().filter_map(Values::spread).collect();
        vec![Finding {
            verdict: Answer::Undecided,
            n: self.runs,
            successes: self.runs - self.failed,
            decided_by: "nothing".to_string(),
            evidence: Vec::new(),
            interval: [0.0, 1.0],
            credible: [0.0, 1.0],
            about: About::Recording(OfRecording { values }),
        }]
    }

    fn diagnoses(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.failed > 0 {
            let (failed, runs) = (self.failed, self.runs);
            found.push(format!("{failed} of {runs} runs failed: they are kept as lost"));
        }
        if let Some(z) = neighbours_resemble(&self.order) {
            found.push(format!(
                "the runs depend on the previous ones (serial z = {}): a comparison with them does not have the stated error",
                number(z)
            ));
        }
        found
    }
}
