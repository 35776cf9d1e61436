//! Runs steps and keeps what they said.
//!
//! # Contract
//! Steps run one after the other, in order, and what they say appears as it comes. From the first step on that is
//! aside, those run in a second lane, at a lower priority, and what each said appears when it has ended. A whole run
//! removes what a step leaves behind, and ends by its deadline: a step that this one, and not its own limit, cuts or
//! leaves out is skipped.

use super::needs::WORDS;
use super::step::{Need, Step};
use super::summary::{Outcome, Ran};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Why a step did not run to its end though nothing is wrong with it.
const OVER: &str = "the time of the whole run was over; UNC_CI_MINUTES gives it more";

/// The status of a script that finds out by itself that it cannot run here, and has said why.
const SKIPPED: i32 = 77;

/// What a script says, as it comes.
type Hear = fn(&[u8]);

/// When a run began, and when it has to be over.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) began: Instant,
    /// Of a whole run. In one, no step is left out, so none needs what another has built longer than they say.
    pub(crate) deadline: Option<Instant>,
}

/// Runs all of them.
pub(crate) fn all(root: &Path, mut steps: Vec<Step>, span: Span) -> Vec<Ran> {
    if span.deadline.is_none() {
        steps.iter_mut().for_each(|step| step.leaves = &[]);
    }
    let first = steps.iter().position(|step| step.is_aside).unwrap_or(steps.len());
    let mut before = steps;
    let (aside, others) = before.split_off(first).into_iter().partition(|step| step.is_aside);
    let mut results = lane(root, before, span, true);
    let (others, aside) = std::thread::scope(|scope| {
        let aside = scope.spawn(move || lane(root, aside, span, false));
        (lane(root, others, span, true), aside.join().expect("a lane ends"))
    });
    results.extend(others);
    results.extend(aside);
    results
}

/// Runs these, one after the other; `is_main`: what they say appears as it comes.
fn lane(root: &Path, steps: Vec<Step>, span: Span, is_main: bool) -> Vec<Ran> {
    let mut met = HashMap::new();
    let mut results = Vec::new();
    for Step { name, limit_min, script, need, leaves, .. } in steps {
        let title = format!("\n== {name} [{}s] ==\n", span.began.elapsed().as_secs());
        let (hear, script): (Hear, _) = match is_main {
            true => (say, script),
            false => (|_| {}, format!("renice -n 5 $$ >/dev/null\n{script}")),
        };
        hear(title.as_bytes());
        let mut said = Vec::new();
        let outcome = match need {
            Some(need) if !*met.entry(need.have).or_insert_with(|| is_met(root, need)) => {
                Outcome::Skipped(need.otherwise)
            }
            _ => {
                let limit = Duration::from_secs(u64::from(limit_min) * 60);
                in_time(root, &script, limit, span.deadline, (hear, &mut said))
            }
        };
        for folder in leaves {
            // It may not be there; what stays only takes room.
            let _ = std::fs::remove_dir_all(root.join(folder));
        }
        if !is_main {
            say(title.as_bytes());
            say(&said);
        }
        match &outcome {
            Outcome::Failed { why, .. } => println!("FAILED {name}: {why}"),
            Outcome::Skipped(why) => println!("SKIPPED {name}: {why}"),
            Outcome::Passed(_) => {}
        }
        results.push(Ran { name, is_aside: !is_main, outcome });
    }
    results
}

fn say(text: &[u8]) {
    let mut terminal = std::io::stdout().lock();
    // A reader that has seen enough closes the pipe.
    let _ = terminal.write_all(text).and_then(|()| terminal.flush());
}

/// Whether it is there, or was installed just now. Says nothing but the outcome.
fn is_met(root: &Path, need: &Need) -> bool {
    [need.have, need.get].iter().any(|script| {
        let mut command = bash(root, script, 600);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    })
}

/// Runs a script under its limit and before the deadline.
fn in_time(
    root: &Path,
    script: &str,
    limit: Duration,
    deadline: Option<Instant>,
    heard: (Hear, &mut Vec<u8>),
) -> Outcome {
    let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
    match left {
        Some(left) if left < Duration::from_secs(1) => Outcome::Skipped(OVER),
        Some(left) if left < limit => match one(root, script, left.as_secs(), heard) {
            Outcome::Failed { why, .. } if why == late(left.as_secs()) => Outcome::Skipped(OVER),
            other => other,
        },
        _ => one(root, script, limit.as_secs(), heard),
    }
}

/// What is said of a step that was killed.
fn late(limit_s: u64) -> String {
    format!("not done after {limit_s} s")
}

/// Runs a script. What it says is kept, and heard as it comes.
fn one(root: &Path, script: &str, limit_s: u64, (hear, said): (Hear, &mut Vec<u8>)) -> Outcome {
    let began = Instant::now();
    let status = pass_through(bash(root, script, limit_s), said, hear);
    let why = match status {
        Ok(Some(0)) => return Outcome::Passed(began.elapsed()),
        Ok(Some(SKIPPED)) => return Outcome::Skipped("it says why above"),
        Ok(Some(124 | 137)) if began.elapsed().as_secs() >= limit_s => late(limit_s),
        Ok(Some(status)) => format!("status {status}"),
        Ok(None) => "ended by a signal".to_owned(),
        Err(error) => format!("cannot be run: {error}"),
    };
    Outcome::Failed { why, said: String::from_utf8_lossy(said).into_owned() }
}

/// The script under a time limit, its errors in its output, without what cargo told us about ourselves.
fn bash(root: &Path, script: &str, limit_s: u64) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "20", &limit_s.to_string(), "bash", "-o", "pipefail", "-c"]);
    command.arg(format!("exec 2>&1\n{WORDS}\n{script}")).current_dir(root);
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_INCREMENTAL", "0");
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
    for name in ["CARGO", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command; what it writes is heard at once and kept.
fn pass_through(
    mut command: Command,
    said: &mut Vec<u8>,
    hear: Hear,
) -> std::io::Result<Option<i32>> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().expect("it was piped");
    let mut chunk = [0; 1 << 14];
    loop {
        let read = output.read(&mut chunk)?;
        if read == 0 {
            return Ok(child.wait()?.code());
        }
        said.extend_from_slice(&chunk[..read]);
        hear(&chunk[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::step::step;
    use uncontended_testkit::Folder;

    static MISSING: Need =
        Need { have: "false", get: "have no-such-tool", otherwise: "it is away" };
    static PRESENT: Need = Need { have: "have bash", get: "false", otherwise: "no bash" };

    fn some() -> Span {
        Span { began: Instant::now(), deadline: None }
    }

    fn whole(seconds: u64) -> Span {
        let began = Instant::now();
        Span { began, deadline: Some(began + Duration::from_secs(seconds)) }
    }

    fn outcome(step: Step) -> Outcome {
        all(crate::root(), vec![step], some()).remove(0).outcome
    }

    #[test]
    fn a_step_passes_fails_with_what_it_said_or_is_skipped() {
        assert!(matches!(outcome(step("a", 1, "true").needs(&PRESENT)), Outcome::Passed(_)));
        let skipped = outcome(step("a", 1, "true").needs(&MISSING));
        assert!(matches!(skipped, Outcome::Skipped("it is away")));
        let failed = outcome(step("a", 1, "echo cause >&2; exit 3"));
        let Outcome::Failed { why, said } = failed else { panic!("{failed:?}") };
        assert_eq!((why.as_str(), said.as_str()), ("status 3", "cause\n"));
        let finds_out = outcome(step("a", 1, "exit 77"));
        assert!(matches!(finds_out, Outcome::Skipped(_)), "{finds_out:?}");
        let piped = outcome(step("a", 1, "false | cat"));
        assert!(matches!(piped, Outcome::Failed { .. }), "{piped:?}");
    }

    #[test]
    fn a_step_that_outlives_its_limit_has_failed() {
        let failed = one(crate::root(), "sleep 60", 1, (|_| {}, &mut Vec::new()));
        let Outcome::Failed { why, .. } = failed else { panic!("{failed:?}") };
        assert_eq!(why, "not done after 1 s");
    }

    #[test]
    fn what_the_deadline_cuts_or_leaves_out_is_skipped_and_what_fails_before_it_fails() {
        let steps = ["exit 3", "sleep 60", "true"].map(|script| step(script, 1, script));
        let ran = all(crate::root(), steps.into(), whole(3));
        assert!(matches!(ran[0].outcome, Outcome::Failed { .. }), "{ran:?}");
        assert!(
            ran[1..].iter().all(|ran| matches!(ran.outcome, Outcome::Skipped(OVER))),
            "{ran:?}"
        );
    }

    #[test]
    fn a_whole_run_removes_what_a_step_leaves() {
        let folder = Folder::new();
        let built = folder.path().join("target/built");
        let run = |span| {
            std::fs::create_dir_all(&built).unwrap();
            let build = step("build", 1, "true").leaves(&["target/built"]);
            all(folder.path(), vec![build], span);
            built.exists()
        };
        assert!(run(some()) && !run(whole(60)));
    }

    #[test]
    fn steps_aside_run_at_the_same_time_as_those_after_them() {
        let folder = uncontended_testkit::Folder::new();
        let meets = |own: &str, other: &str| {
            let [own, other] = [own, other].map(|name| folder.file(name));
            format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done")
        };
        let alone = step("alone", 1, format!("! [ -e {} ]", folder.file("aside")));
        let aside = step("aside", 1, meets("aside", "main")).aside();
        let main = step("main", 1, meets("main", "aside"));
        let ran = all(crate::root(), vec![alone, aside, main], some());
        let names: Vec<&str> = ran.iter().map(|ran| ran.name.as_str()).collect();
        assert_eq!(names, ["alone", "main", "aside"]);
        assert!(ran.iter().all(|ran| matches!(ran.outcome, Outcome::Passed(_))), "{ran:?}");
    }
}
