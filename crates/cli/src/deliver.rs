//! Delivers a verdict: the lines on the terminal, JSON, Markdown, HTML.
//!
//! # Contract
//! The verdict goes to standard output, or to standard error if one of its forms takes standard output (`--json -`). A
//! failure prints no verdict, and its JSON says `error`.

use crate::console::{complain, say, tell};
use crate::emit::look;
use crate::files::{self, Named};
use crate::github;
use crate::settings;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::record::{Run, Stop};
use uncontended_decide::verdict::{Answer, SCHEMA, Verdict};
use uncontended_report::verdict::{human, markdown, page::page, sentences};

/// The forms in which a verdict is requested: the file of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forms {
    pub(crate) json: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
    /// The forms of hyperfine, by their flags.
    pub(crate) exports: Vec<Export>,
    /// Whether a step of GitHub Actions learns of it.
    pub(crate) github: bool,
}

/// What a form says of a verdict and its runs.
pub(crate) type OfRuns = fn(&Verdict, &[Run]) -> String;

/// A form of hyperfine.
#[derive(Debug, Clone)]
pub(crate) struct Export {
    pub(crate) flag: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) text: OfRuns,
}

impl Forms {
    /// Refuses, before any run, two outputs that name the same file.
    pub(crate) fn distinct(&self, logs: &[Named<'_>], read: &[Named<'_>]) -> Result<(), Failure> {
        let written = [
            ("--json", self.json.as_deref()),
            ("--markdown", self.markdown.as_deref()),
            ("--html", self.html.as_deref()),
        ];
        let exports = self.exports.iter().map(|export| (export.flag, Some(export.path.as_path())));
        let exports: Vec<Named<'_>> = exports.collect();
        files::distinct(&[&written, exports.as_slice(), logs].concat(), read)
    }

    /// Refuses, before any run, an output that cannot be written.
    pub(crate) fn writable(&self) -> Result<(), Failure> {
        if self.github {
            github::summary()?;
        }
        files::writable(self.paths())
    }

    /// Whether any form needs every run.
    pub(crate) fn need_runs(&self) -> bool {
        self.json.is_some() || self.html.is_some() || !self.exports.is_empty()
    }

    /// Whether a form goes to standard output.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.paths().any(|path| path == Path::new("-"))
    }

    /// Annotates a run of GitHub Actions, and appends to its summary, if that was asked for.
    pub(crate) fn tell_github(
        &self,
        answer: Answer,
        text: &str,
        section: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if !self.github {
            return Ok(());
        }
        say(&github::annotation(answer, text), self.takes_stdout())?;
        github::append(&section())
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.json, &self.markdown, &self.html];
        let exports = self.exports.iter().map(|export| export.path.as_path());
        all.into_iter().filter_map(|path| path.as_deref()).chain(exports)
    }
}

/// Runs `judge`, delivers the verdict in every requested form, and returns the exit status.
pub(crate) fn deliver(
    judge: impl FnOnce() -> Result<Verdict, Failure>,
    output: &Forms,
    log: Option<&Path>,
    read: &[Named<'_>],
) -> ExitCode {
    if let Err(failure) = output.distinct(&[("--log", log)], read) {
        return refuse(SCHEMA, &failure, output.json.as_deref());
    }
    let result = output
        .writable()
        .and_then(|()| settings::verdict(judge()))
        .and_then(|mut verdict| write_all(&mut verdict, output).map(|()| verdict));
    let verdict = match result {
        Ok(verdict) => verdict,
        Err(failure) => {
            complain(&failure);
            if let Some(so_far) = &failure.so_far {
                tell(&format!("So far, {}", for_people(so_far, true)));
            }
            // The failure itself is what counts; a second one while reporting it adds nothing.
            let _ = write_failure(SCHEMA, &failure, output.json.as_deref());
            let _ = output.tell_github(Answer::Error, &failure.cause, || {
                format!("**error** {}\n", failure.cause)
            });
            return ExitCode::from(Answer::Error.exit_status());
        }
    };
    if verdict.stopped_by == Stop::Interrupted
        && let Some(signal) = uncontended_sys::interrupts::received()
    {
        uncontended_sys::interrupts::die_by(signal);
    }
    ExitCode::from(verdict.finding.verdict.exit_status())
}

/// A verdict for people, as wide as the stream that shows it.
pub(crate) fn for_people(verdict: &Verdict, is_taken: bool) -> String {
    let look = match is_taken {
        true => look(0, &std::io::stderr()),
        false => look(0, &std::io::stdout()),
    };
    human(verdict, look.width)
}

/// A verdict as JSON.
pub(crate) fn json(verdict: &mut Verdict) -> Result<serde_json::Value, Failure> {
    if verdict.log.is_some() {
        verdict.runs = None; // The log has them.
    }
    told(verdict)
}

/// Anything as JSON.
fn told(value: &impl serde::Serialize) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(value)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}"), ""))
}

fn write_all(verdict: &mut Verdict, output: &Forms) -> Result<(), Failure> {
    say(&for_people(verdict, output.takes_stdout()), output.takes_stdout())?;
    if let Some(path) = &output.html {
        files::write(path, &page(verdict, verdict.runs.as_deref().unwrap_or_default())?)?;
    }
    for Export { path, text, .. } in &output.exports {
        files::write(path, text(verdict, verdict.runs.as_deref().unwrap_or_default()))?;
    }
    if let Some(path) = &output.json {
        files::write(path, format!("{:#}\n", json(verdict)?))?;
    }
    if let Some(path) = &output.markdown {
        files::write(path, markdown(verdict))?;
    }
    output.tell_github(verdict.finding.verdict, &sentences(verdict), || markdown(verdict))
}

/// Reports that the files of a command clash. No file is written: it might be the one that must not be.
pub(crate) fn refuse(schema: &str, failure: &Failure, json: Option<&Path>) -> ExitCode {
    complain(failure);
    // The failure itself is what counts; a second one while reporting it adds nothing.
    let _ = write_failure(schema, failure, json.filter(|path| *path == Path::new("-")));
    ExitCode::from(Answer::Error.exit_status())
}

/// Writes a failure as JSON, if JSON was requested.
pub(crate) fn write_failure(
    schema: &str,
    failure: &Failure,
    json: Option<&Path>,
) -> Result<(), Failure> {
    let Some(path) = json else { return Ok(()) };
    let mut error = failure_json(failure)?;
    error["schema"] = schema.into();
    files::write(path, format!("{error:#}\n"))
}

/// A failure as JSON, with the verdict and the runs of what was measured before it.
pub(crate) fn failure_json(failure: &Failure) -> Result<serde_json::Value, Failure> {
    let mut error = serde_json::json!({
        "verdict": Answer::Error.name(),
        "error": failure.cause,
        "remedy": failure.remedy,
    });
    if let Some(so_far) = &failure.so_far {
        let mut so_far = so_far.as_ref().clone();
        let runs = so_far.runs.take();
        if so_far.log.is_none() {
            error["runs"] = told(&runs)?;
        }
        error["so_far"] = told(&so_far)?;
    }
    Ok(error)
}
