//! `unc verdict`: recomputes a verdict from the log of its runs.

use super::flags::OutputFlags;
use crate::deliver::deliver;
use clap::Args;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::record::{self, Head, Stop};
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
        deliver(
            || recomputed(&self.log).map(|(verdict, _)| verdict),
            &self.output.forms(),
            None,
            &[("LOG", Some(&self.log))],
        )
    }
}

/// The verdict of a log, with the log's head.
///
/// # Errors
/// If the file cannot be read, has no question, or records another verdict than its runs give.
pub(super) fn recomputed(path: &Path) -> Result<(Verdict, Head), Failure> {
    let shown = path.display();
    let unreadable =
        |cause: String| Failure::new(format!("{shown}: {cause}"), "give the file that --log wrote");
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
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
        log.head.warnings.push("the log breaks off: the verdict is for the runs in it".to_string());
    }
    let mut verdict = trial::verdict(trial.as_ref(), &log.head, stop);
    let now = verdict.finding.verdict.name();
    if let Some((_, then)) = log.end.filter(|(_, then)| then != now) {
        return Err(Failure::new(
            format!("{shown} says '{then}', but its runs give '{now}'"),
            "the log was edited, or written by a version that uses another method",
        ));
    }
    verdict.log = Some(shown.to_string());
    verdict.runs = Some(log.runs);
    Ok((verdict, log.head))
}
