//! Mutants: bugs that a named test must find, each seeded into a copy of the workspace.
//!
//! # Contract
//! `cargo xtask mutants [WORD] [--list] [--held] [--minutes N]`: the mutants whose name or file contains the word, or
//! all. Each is applied alone, built, and every test that it names is run alone: it has to fail by a violation,
//! which is the checker's or the test's own assertion. Not to compile, to run out of time, or to fail in another way is
//! not to be caught. Before, the same tests have to pass on the copy as it is; `--held` leaves that out where they just
//! did. `--minutes` starts no further mutant after that time, and begins at a place in the list that each commit has of
//! its own, so that a few commits see all of them. The exit status is 1 if a mutant survives or a test fails without
//! one. `--orderings CRATE` is another question: [`orderings`].
//!
//! Mutants are listed in `crates/*/tests/mutants/*.toml` ([`list`] says how), next to the tests, so that what ships
//! names none of them. Tidy checks that every anchor stands in its file once and every test is there ([`mod@check`]).
//!
//! # State
//! All below `target/mutants`: the copy, a target directory for each `cfg`, and the programs built from mutants.
//! One job builds the next mutant while another runs the tests of the last.

mod check;
mod edges;
mod edit;
mod list;
mod orderings;
mod scratch;
mod trial;

pub(crate) use check::check;

use list::{Mutant, Test};
use scratch::Scratch;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use trial::Outcome;

const USAGE: &str = "[WORD] [--list] [--held] [--minutes N] | --orderings CRATE";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Request {
    word: Option<String>,
    list: bool,
    held: bool,
    minutes: Option<u64>,
    /// Of this crate, instead of what is listed.
    orderings: Option<String>,
}

/// `cargo xtask mutants`.
pub(crate) fn main(root: &Path, arguments: &[String]) -> ExitCode {
    let outcome = parse(arguments).and_then(|request| {
        if let Some(folder) = request.orderings {
            return orderings::run(root, &folder);
        }
        let mut mutants = chosen(list::all(root)?, request.word.as_deref())?;
        if request.list {
            mutants.iter().for_each(|mutant| println!("{mutant}"));
            return Ok(true);
        }
        if request.minutes.is_some() {
            let first = first(root, mutants.len())?;
            mutants.rotate_left(first);
        }
        run(root, &mutants, request.held, request.minutes)
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(cause) => {
            eprintln!("xtask mutants: {cause}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--orderings" => {
                let folder = arguments.next().ok_or("--orderings wants a crate's folder")?;
                request.orderings = Some(folder.clone());
            }
            "--list" => request.list = true,
            "--held" => request.held = true,
            "--minutes" => {
                let minutes = arguments.next().and_then(|minutes| minutes.parse().ok());
                request.minutes = Some(minutes.ok_or("--minutes wants a number")?);
            }
            word if !word.starts_with('-') && request.word.is_none() => {
                request.word = Some(word.to_owned());
            }
            other => return Err(format!("unknown argument {other}; use {USAGE}")),
        }
    }
    Ok(request)
}

fn chosen(mutants: Vec<Mutant>, word: Option<&str>) -> Result<Vec<Mutant>, String> {
    let Some(word) = word else { return Ok(mutants) };
    let has = |mutant: &Mutant| mutant.name.contains(word) || mutant.listed_in.contains(word);
    let some: Vec<Mutant> = mutants.into_iter().filter(has).collect();
    if some.is_empty() {
        return Err(format!("no mutant's name or file contains `{word}`; --list shows them"));
    }
    Ok(some)
}

/// Which of them comes first, by the commit.
fn first(root: &Path, of: usize) -> Result<usize, String> {
    let commit = std::process::Command::new("git")
        .args(["rev-parse", "--short=8", "HEAD"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git: {error}"))?;
    let name = String::from_utf8_lossy(&commit.stdout);
    let number = u64::from_str_radix(name.trim(), 16).unwrap_or(0);
    Ok(usize::try_from(number).unwrap_or(0) % of)
}

/// Whether all that were tried are caught, by tests that pass without them.
fn run(root: &Path, mutants: &[Mutant], held: bool, minutes: Option<u64>) -> Result<bool, String> {
    let began = Instant::now();
    let deadline = minutes.map(|minutes| began + Duration::from_secs(60 * minutes));
    let scratch = Scratch::new(root)?;
    let broken = if held { Vec::new() } else { without_mutants(&scratch, mutants)? };
    let (tried, survivors) = with_each(&scratch, mutants, deadline)?;
    if !broken.is_empty() {
        println!("\nfail without any mutant:");
        broken.iter().for_each(|line| println!("  {line}"));
    }
    if !survivors.is_empty() {
        println!("\nnot caught:");
        survivors.iter().for_each(|line| println!("  {line}"));
    }
    if tried < mutants.len() {
        let left = mutants.len() - tried;
        println!("\nSKIPPED {left} of {} mutants: --minutes were over", mutants.len());
    }
    let caught = tried - survivors.len();
    println!("\n{caught} of {tried} mutants caught, {} s", began.elapsed().as_secs());
    Ok(broken.is_empty() && survivors.is_empty())
}

/// Runs each test once, two at a time; those that fail.
fn without_mutants(scratch: &Scratch, mutants: &[Mutant]) -> Result<Vec<String>, String> {
    let tests: BTreeSet<&Test> = mutants.iter().flat_map(|mutant| &mutant.caught_by).collect();
    let programs = scratch
        .build("without", tests.iter().copied())?
        .map_err(|said| format!("the workspace does not build as it is:\n{said}"))?;
    let queue = std::sync::Mutex::new(tests.iter());
    let broken = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                loop {
                    let Some(test) = queue.lock().expect("no panic").next() else { return };
                    let began = Instant::now();
                    let outcome = trial::run(&programs, test, trial::LIMIT);
                    println!("without mutants: {test}: {outcome} ({:.1} s)", seconds(began));
                    if outcome != Outcome::Passed {
                        broken.lock().expect("no panic").push(format!("{test}: {outcome}"));
                    }
                }
            });
        }
    });
    Ok(broken.into_inner().expect("no panic"))
}

/// Runs the tests of each mutant until the deadline: how many, and a line for each that is not caught.
fn with_each(
    scratch: &Scratch,
    mutants: &[Mutant],
    deadline: Option<Instant>,
) -> Result<(usize, Vec<String>), String> {
    let (builds, jobs) = sync_channel(1);
    std::thread::scope(|threads| {
        let runner = threads.spawn(move || {
            let mut survivors = Vec::new();
            for (number, (mutant, built)) in jobs.into_iter().enumerate() {
                let mutant: &Mutant = mutant;
                let began = Instant::now();
                let answer = match &built {
                    Ok(programs) => trial::verdict(programs, mutant),
                    Err(said) => Err(format!("does not compile:\n{said}")),
                };
                let line = match answer {
                    Ok(how) => format!("caught: {how}"),
                    Err(why) => {
                        survivors.push(format!("{} ({}): {why}", mutant.name, mutant.listed_in));
                        format!("NOT CAUGHT: {why}")
                    }
                };
                let (of, time) = (mutants.len(), seconds(began));
                println!("[{}/{of}] {}: {line} ({time:.1} s)", number + 1, mutant.name);
            }
            survivors
        });
        let mut tried = 0;
        for mutant in mutants {
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                break;
            }
            tried += 1;
            let mutated = scratch.mutate(mutant)?;
            let built = scratch.build(&mutant.slug(), mutant.caught_by.iter())?;
            drop(mutated);
            builds.send((mutant, built)).map_err(|_| "the runner is gone")?;
        }
        drop(builds);
        let survivors = runner.join().map_err(|_| "the runner panicked".to_owned())?;
        Ok((tried, survivors))
    })
}

fn seconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_and_flags_are_understood_and_nothing_else() {
        let parsed =
            |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let word = Some("spsc".to_owned());
        assert_eq!(parsed("spsc --held"), Ok(Request { word, held: true, ..Request::default() }));
        assert_eq!(parsed("--minutes 9").unwrap().minutes, Some(9));
        assert!(
            parsed("a b").is_err() && parsed("--lost").is_err() && parsed("--minutes").is_err()
        );
        let all = || list::all(crate::root()).unwrap();
        assert!(chosen(all(), Some("no such mutant")).is_err());
        assert!(chosen(all(), Some("spsc")).unwrap().len() < all().len());
    }
}
