//! A verdict in a step of GitHub Actions: a section of the job's summary, and an annotation of the run.
//!
//! # Contract
//! The section is appended to the file that `GITHUB_STEP_SUMMARY` names. The annotation is an error for *no* and for
//! what could not run, a warning for *undecided*, a notice for *yes*.
//!
//! # Sources
//! GitHub's documentation, *Workflow commands for GitHub Actions*.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use uncontended_decide::Failure;
use uncontended_decide::verdict::Answer;

/// The variable that names the file of the summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Where the summary goes.
///
/// # Errors
/// If this is not a step of GitHub Actions.
pub(crate) fn summary() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
    named.map(PathBuf::from).ok_or_else(|| {
        Failure::new(
            format!("--github: {SUMMARY} is not set"),
            "it is for steps of GitHub Actions; elsewhere, --markdown FILE writes the same",
        )
    })
}

/// Appends a section to the summary.
pub(crate) fn append(section: &str) -> Result<(), Failure> {
    let path = summary()?;
    let mut file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.as_mut().map_err(|error| error.to_string()).and_then(|file| {
        file.write_all(format!("{section}\n").as_bytes()).map_err(|error| error.to_string())
    });
    written.map_err(|error| Failure::new(format!("{}: {error}", path.display()), ""))
}

/// How an annotation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Notice,
    Warning,
    Error,
}

/// The workflow command that annotates the run with an answer.
pub(crate) fn annotation(answer: Answer, text: &str) -> String {
    let level = match answer {
        Answer::Yes => Level::Notice,
        Answer::Undecided => Level::Warning,
        Answer::No | Answer::Error => Level::Error,
    };
    note(level, text)
}

/// The workflow command that annotates the run.
pub(crate) fn note(level: Level, text: &str) -> String {
    let level = match level {
        Level::Notice => "notice",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let text = text.trim_end().replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    format!("::{level} title=unc::{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_one_line() {
        let lines = annotation(Answer::No, "no: 5 % slower\nwarning: 100%\n");
        assert_eq!(lines, "::error title=unc::no: 5 %25 slower%0Awarning: 100%25\n");
        assert!(annotation(Answer::Undecided, "").starts_with("::warning "));
        assert!(annotation(Answer::Yes, "").starts_with("::notice "));
        assert!(annotation(Answer::Error, "").starts_with("::error "));
    }
}
