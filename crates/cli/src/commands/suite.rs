//! Several properties in one invocation, with one error bound for all: judged in order and reported together.
//! [`uncontended_decide::suite`] defines what a suite is.
//! # Evidence
//! `tests/decide_suite.rs`.

use super::flags::OutputFlags;
use crate::console::{complain, say, told};
use crate::deliver::{self, Forms};
use crate::files;
use crate::settings;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::plan::aspect::Judged;
use uncontended_decide::suite::{Property, Suite};
use uncontended_decide::verdict::{Answer, Verdict};
use uncontended_figures::at_most_percent;
use uncontended_report::verdict::{markdown, page, sentences};

/// The value of `schema`.
const SCHEMA: &str = "uncontended.verdict-suite/1";

/// The result of a suite.
pub(crate) struct Outcome {
    /// The properties in the order of the file.
    pub(crate) judged: Vec<Judged>,
    /// The worst answer.
    pub(crate) worst: Answer,
    /// Largest chance that any verdict is wrong.
    pub(crate) max_error: f64,
    /// Each property's share of it.
    share: f64,
}

/// Judges a suite and returns the exit status: 2 if a property could not run, else 1 if one is refuted, else 3 if one
/// is undecided, else 0.
pub(crate) fn execute(path: &Path, max_error: Option<f64>, output: &OutputFlags) -> ExitCode {
    let forms = output.forms();
    let suite = read(path, max_error);
    let properties = suite.as_ref().map_or(&[][..], |suite| &suite.properties);
    if let Err(failure) = distinct(path, properties, &forms) {
        return deliver::refuse(SCHEMA, &failure, forms.json.as_deref());
    }
    finish(forms.writable().and_then(|()| judge(suite?, output, &forms)), &forms)
}

/// Judges several questions about the same runs, and returns the exit status, as for a suite.
pub(crate) fn several(
    judge: impl FnOnce() -> Result<Vec<Judged>, Failure>,
    max_error: f64,
    forms: &Forms,
    read: &[files::Named<'_>],
) -> ExitCode {
    if let Some(export) = forms.exports.first() {
        let cause = format!("{} is about one metric and one percentile", export.flag);
        let failure = Failure::new(cause, "ask one question at a time, or use --json");
        return deliver::refuse(SCHEMA, &failure, forms.json.as_deref());
    }
    if let Err(failure) = forms.distinct(&[], read) {
        return deliver::refuse(SCHEMA, &failure, forms.json.as_deref());
    }
    let judged = forms.writable().and_then(|()| judge().map_err(settings::failure));
    let outcome = judged.and_then(|judged| {
        let share = max_error / judged.len() as f64;
        let mut outcome = Outcome { judged: Vec::new(), worst: Answer::Yes, max_error, share };
        for (name, verdict) in judged {
            outcome.take(name, settings::verdict(verdict), forms.takes_stdout())?;
        }
        Ok(outcome)
    });
    finish(outcome, forms)
}

/// Writes the outcome, or why there is none, and returns the exit status.
fn finish(judged: Result<Outcome, Failure>, forms: &Forms) -> ExitCode {
    let told = judged.and_then(|outcome| {
        let worst = outcome.worst;
        write(outcome, forms).map(|()| worst)
    });
    let answer = told.unwrap_or_else(|failure| {
        complain(&failure);
        // The failure itself is what counts; a second one while reporting it adds nothing.
        let _ = deliver::write_failure(SCHEMA, &failure, forms.json.as_deref());
        Answer::Error
    });
    if let Some(signal) = uncontended_sys::interrupts::received() {
        uncontended_sys::interrupts::die_by(signal);
    }
    ExitCode::from(answer.exit_status())
}

fn read(path: &Path, max_error: Option<f64>) -> Result<Suite, Failure> {
    let failed = |cause: String| {
        Failure::new(
            format!("{}: {cause}", path.display()),
            "a suite has max-error, [[slo]], [[compare]] and [[permute]]; their keys have the names of those commands' flags",
        )
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    Suite::parse(&text, max_error).map_err(failed)
}

/// Refuses a file to write that the suite also writes or reads elsewhere.
fn distinct(suite: &Path, properties: &[Property], forms: &Forms) -> Result<(), Failure> {
    let (mut logs, mut read) = (Vec::new(), Vec::new());
    for Property { name, plan } in properties {
        let files = plan.files();
        logs.extend(files.log.map(|path| (format!("the log of '{name}'"), path)));
        let of_this = files.read.into_iter();
        read.extend(of_this.map(|(key, path)| (format!("'{key}' of '{name}'"), path)));
    }
    read.push(("--suite".to_string(), suite));
    forms.distinct(&named(&logs), &named(&read))
}

fn named<'a>(files: &'a [(String, &Path)]) -> Vec<files::Named<'a>> {
    files.iter().map(|(name, path)| (name.as_str(), Some(*path))).collect()
}

fn judge(suite: Suite, output: &OutputFlags, forms: &Forms) -> Result<Outcome, Failure> {
    let Suite { properties, max_error, share } = suite;
    let for_json = forms.takes_stdout();
    let mut outcome = Outcome { judged: Vec::new(), worst: Answer::Yes, max_error, share };
    for property in properties {
        if uncontended_decide::interrupted() {
            outcome.add(Answer::Undecided);
            break;
        }
        let verdict = settings::verdict(property.plan.verdict(output.told(forms)));
        outcome.take(property.name, verdict, for_json)?;
    }
    Ok(outcome)
}

impl Outcome {
    /// Says the answer about one property, and counts it.
    fn take(
        &mut self,
        name: String,
        verdict: Result<Verdict, Failure>,
        for_json: bool,
    ) -> Result<(), Failure> {
        let text = said(&verdict, |verdict| deliver::for_people(verdict, for_json));
        say(&format!("{name}: {text}"), for_json)?;
        self.add(verdict.as_ref().map_or(Answer::Error, |verdict| verdict.finding.verdict));
        self.judged.push((name, verdict));
        Ok(())
    }

    fn add(&mut self, answer: Answer) {
        if answer.badness() > self.worst.badness() {
            self.worst = answer;
        }
    }

    /// The whole suite as one page.
    fn page(&self) -> Result<String, Failure> {
        let facts = [
            format!("verdict: {}", self.worst.name()),
            format!("error of all together at most {}", at_most_percent(self.max_error)),
        ];
        let judged = self.judged.iter().map(|(name, verdict)| {
            (name.as_str(), said(verdict, sentences), verdict.as_ref().ok())
        });
        page::of_several(&self.sentence(), &facts, judged)
    }

    /// The whole suite as Markdown.
    fn markdown(&self) -> String {
        let section = |(name, verdict): &Judged| match verdict {
            Ok(verdict) => format!("### {name}\n\n{}\n", markdown(verdict)),
            Err(failure) => format!("### {name}\n\n**error** {}\n\n", failure.cause),
        };
        let sections: String = self.judged.iter().map(section).collect();
        format!("{sections}{}\n", self.sentence())
    }

    /// The whole suite in one line.
    pub(crate) fn sentence(&self) -> String {
        format!(
            "{}: {} properties; the chance that any verdict is wrong is at most {} ({} each, Bonferroni)",
            self.worst.name(),
            self.judged.len(),
            at_most_percent(self.max_error),
            at_most_percent(self.share)
        )
    }
}

/// The lines about one property, for people.
pub(crate) fn said(verdict: &Result<Verdict, Failure>, say: impl Fn(&Verdict) -> String) -> String {
    match verdict {
        Ok(verdict) => say(verdict),
        Err(failure) => {
            let so_far = failure.so_far.as_ref().map(|verdict| format!("So far, {}", say(verdict)));
            format!("error\n{}{}", told(failure), so_far.unwrap_or_default())
        }
    }
}

fn write(mut outcome: Outcome, forms: &Forms) -> Result<(), Failure> {
    say(&format!("{}\n", outcome.sentence()), forms.takes_stdout())?;
    if let Some(path) = &forms.html {
        files::write(path, &outcome.page()?)?;
    }
    if let Some(path) = &forms.markdown {
        files::write(path, outcome.markdown())?;
    }
    forms.tell_github(outcome.worst, &outcome.sentence(), || outcome.markdown())?;
    let Some(path) = &forms.json else { return Ok(()) };
    let entry = |(name, verdict): &mut Judged| {
        let mut entry = match verdict {
            Ok(verdict) => deliver::json(verdict)?,
            Err(failure) => deliver::failure_json(failure)?,
        };
        entry["name"] = name.clone().into();
        Ok(entry)
    };
    let properties: Vec<Json> =
        outcome.judged.iter_mut().map(entry).collect::<Result<_, Failure>>()?;
    let all = json!({
        "schema": SCHEMA,
        "verdict": outcome.worst.name(),
        "max_error": outcome.max_error,
        "share": outcome.share,
        "correction": "bonferroni",
        "properties": properties,
    });
    files::write(path, format!("{all:#}\n"))
}
