//! Everything that must hold before a change lands, as named steps.
//!
//! # Contract
//! `cargo xtask ci` runs every step, `cargo xtask ci WORD` those whose name contains the word, `--list` shows them. A
//! step that fails or outlives its limit fails the run. A step that needs something which is missing and cannot be
//! installed is skipped with its reason, and so is what is left when the whole run has taken [`WHOLE_MIN`] minutes
//! (`UNC_CI_MINUTES`). The last lines repeat what failed steps said, name every skipped test, and
//! count.

mod needs;
mod run;
mod step;
mod steps;
mod summary;

pub(crate) use steps::{exploring, test_files};

use crate::skips;
use run::Span;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use step::Step;
use summary::{Outcome, Ran};

/// How long a whole run takes at most, with the tests before it: what decides comes first, what explores comes last.
const WHOLE_MIN: u64 = 57;

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Request {
    /// Steps whose name contains this word; all without one.
    word: Option<String>,
    /// Only say which steps there are.
    list: bool,
    /// The caller has run the first step.
    tests: Option<Tests>,
}

/// What `--tests STATUS SECONDS LOG` says of tests that the caller ran.
#[derive(Debug, PartialEq)]
struct Tests {
    status: i32,
    took: Duration,
    log: String,
}

/// `cargo xtask ci`.
pub(crate) fn main(root: &Path, arguments: &[String]) -> ExitCode {
    let (request, mut steps) = match parse(arguments).and_then(|request| {
        let steps = chosen(steps::all(root)?, request.word.as_deref())?;
        Ok((request, steps))
    }) {
        Ok(both) => both,
        Err(cause) => {
            eprintln!("xtask ci: {cause}");
            return ExitCode::from(2);
        }
    };
    if request.list {
        // A reader that has seen enough closes the pipe.
        let list: String = steps.iter().map(|step| format!("{step}\n")).collect();
        let _ = std::io::stdout().write_all(list.as_bytes());
        return ExitCode::SUCCESS;
    }
    let results = match request.tests {
        Some(tests) => {
            let span = whole(tests.took);
            let name = steps.remove(0).name;
            let first = Ran { name, is_aside: false, outcome: elsewhere(&tests) };
            std::iter::once(first).chain(run::all(root, steps, span)).collect()
        }
        None => {
            skips::forget(root);
            let some = Span { began: Instant::now(), deadline: None };
            let span = request.word.map_or_else(|| whole(Duration::ZERO), |_| some);
            run::all(root, steps, span)
        }
    };
    summary::print(&results, &skips::recorded(root));
    if summary::all_passed(&results) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A run of all steps that began so long ago.
fn whole(ago: Duration) -> Span {
    let minutes = std::env::var("UNC_CI_MINUTES").ok().and_then(|minutes| minutes.parse().ok());
    let now = Instant::now();
    let began = now.checked_sub(ago).unwrap_or(now);
    Span { began, deadline: Some(began + Duration::from_secs(60 * minutes.unwrap_or(WHOLE_MIN))) }
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => request.list = true,
            "--tests" => {
                let tests = tests(arguments.by_ref());
                request.tests = Some(tests.ok_or("--tests wants STATUS SECONDS LOG")?);
            }
            word if !word.starts_with('-') && request.word.is_none() => {
                request.word = Some(word.to_owned());
            }
            other => return Err(format!("unknown argument {other}; use [WORD] [--list]")),
        }
    }
    if request.tests.is_some() && request.word.is_some() {
        return Err("--tests stands for the first of all steps; leave out WORD".into());
    }
    Ok(request)
}

fn tests<'a>(mut arguments: impl Iterator<Item = &'a String>) -> Option<Tests> {
    let status = arguments.next()?.parse().ok()?;
    let took = Duration::from_secs(arguments.next()?.parse().ok()?);
    Some(Tests { status, took, log: arguments.next()?.clone() })
}

/// The outcome of tests that the caller ran.
fn elsewhere(Tests { status, took, log }: &Tests) -> Outcome {
    match status {
        0 => Outcome::Passed(*took),
        _ => Outcome::Failed {
            why: format!("status {status}"),
            said: std::fs::read(log).map_or_else(
                |error| format!("{log}: {error}"),
                |said| String::from_utf8_lossy(&said).into_owned(),
            ),
        },
    }
}

/// The steps whose name contains the word, in any case.
fn chosen(steps: Vec<Step>, word: Option<&str>) -> Result<Vec<Step>, String> {
    let Some(word) = word else { return Ok(steps) };
    let lower = word.to_lowercase();
    let some: Vec<Step> =
        steps.into_iter().filter(|step| step.name.to_lowercase().contains(&lower)).collect();
    if some.is_empty() {
        return Err(format!("no step's name contains `{word}`; --list shows them"));
    }
    Ok(some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_word_a_list_and_a_status_are_understood_and_nothing_else() {
        assert_eq!(parsed(""), Ok(Request::default()));
        let word = Some("miri".to_owned());
        assert_eq!(parsed("miri --list"), Ok(Request { word, list: true, tests: None }));
        let tests = parsed("--tests 101 60 log").unwrap().tests.unwrap();
        assert_eq!((tests.status, tests.took.as_secs(), tests.log.as_str()), (101, 60, "log"));
        assert!(
            parsed("--tests 0 log").is_err()
                && parsed("--tests 0 1 log miri").is_err()
                && parsed("--lost").is_err()
                && parsed("a b").is_err()
        );
    }

    #[test]
    fn a_word_chooses_in_any_case_and_one_that_chooses_nothing_is_an_error() {
        let steps = || steps::all(crate::root()).unwrap();
        assert_eq!(chosen(steps(), None).unwrap().len(), steps().len());
        let miri = chosen(steps(), Some("miri")).unwrap();
        assert!(miri.len() > 3 && miri.iter().all(|step| step.name.contains("Miri")));
        assert!(chosen(steps(), Some("no such step")).is_err());
    }

    #[test]
    fn tests_that_the_caller_ran_count_as_it_says() {
        let tests = |status| Tests { status, took: Duration::ZERO, log: "no such file".into() };
        assert!(matches!(elsewhere(&tests(0)), Outcome::Passed(_)));
        let Outcome::Failed { why, said } = elsewhere(&tests(101)) else { panic!() };
        assert!(why == "status 101" && said.contains("no such file"), "{why}: {said}");
    }

    #[test]
    fn the_first_step_is_the_readme_s_command() {
        let steps = steps::all(crate::root()).unwrap();
        assert_eq!(steps[0].script, "cargo test --workspace");
        let bash = std::fs::read_to_string(crate::root().join(".ci/run")).unwrap();
        assert!(bash.contains("\n  cargo test --workspace ") && bash.contains("cargo xtask ci"));
    }
}
