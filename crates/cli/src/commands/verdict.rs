//! `unc verdict`: recomputes a verdict from the log of its runs.

use super::flags::OutputFlags;
use crate::deliver::deliver;
use clap::Args;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::record::{self, Stop};
use uncontended_decide::trial;
use uncontended_decide::verdict::Verdict;

/// Recompute a verdict from the log that --log kept
///
/// The question, its thresholds and its error come from the first line of the log, which was written before the first
/// run. Exit status: 0 yes, 1 no, 3 undecided, 2 the log is unreadable or its recorded verdict does not follow from it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Flags {
    /// The log that --log wrote
    log: PathBuf,
    #[command(flatten)]
    output: OutputFlags,
}

impl Flags {
    /// Recomputes the verdict and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        deliver(|| self.verdict(), &self.output.forms(), None, &[("LOG", Some(&self.log))])
    }

    fn verdict(&self) -> Result<Verdict, Failure> {
        let path = self.log.display();
        let unreadable = |cause: String| {
            Failure::new(format!("{path}: {cause}"), "give the file that --log wrote")
        };
        let file = File::open(&self.log).map_err(|error| unreadable(error.to_string()))?;
        let mut log = record::read(BufReader::new(file)).map_err(unreadable)?;
        let mut trial = log.head.hypothesis.asked().trial(log.resamples)?;
        for run in &log.runs {
            trial.push(run)?;
        }
        if let Some(refusal) = trial.refusal() {
            return Err(refusal);
        }
        let stop = log.end.as_ref().map_or(Stop::LogCut, |(stop, _)| *stop);
        if stop == Stop::LogCut {
            log.head
                .warnings
                .push("the log breaks off: the verdict is for the runs in it".to_string());
        }
        let mut verdict = trial::verdict(trial.as_ref(), &log.head, stop);
        let now = verdict.finding.verdict.name();
        if let Some((_, then)) = log.end.filter(|(_, then)| then != now) {
            return Err(Failure::new(
                format!("{path} says '{then}', but its runs give '{now}'"),
                "the log was edited, or written by a version that uses another method",
            ));
        }
        verdict.log = Some(path.to_string());
        verdict.runs = Some(log.runs);
        Ok(verdict)
    }
}
