//! `--model machine`: runs the test on this machine and checks the states against x86-TSO.
//!
//! # Contract
//! A state that the machine shows and TSO forbids refutes the model or this program. A state that TSO allows and the
//! machine does not show is merely unseen; nothing here calls it forbidden.

use super::Expect;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use uncontended_model::litmus::{Observation, States, Test};
use uncontended_model::memory::Tso;
use uncontended_model::outcome::{Limits, Outcome};
use uncontended_model::program::{Op, Program};
use uncontended_model::search::outcomes;

/// The default number of runs.
const RUNS: u64 = 1_000_000;

/// The default for a test that calls membarrier, which takes microseconds.
const SLOW_RUNS: u64 = 20_000;

/// The final states of `runs` runs, counted, and the number of CPUs used.
#[cfg(unc_full)]
fn run(program: &Program, runs: u64) -> Result<(BTreeMap<Outcome, u64>, usize), String> {
    let setup = uncontended_machine::Setup { runs, seed: 0 };
    let seen = uncontended_machine::run(program, &setup).map_err(|reason| reason.to_string())?;
    Ok((seen.states, seen.processors))
}

/// Why there are none: threads are pinned to CPUs by system calls of Linux.
#[cfg(not(unc_full))]
fn run(_: &Program, _: u64) -> Result<(BTreeMap<Outcome, u64>, usize), String> {
    Err("runs on the machine need Linux, on x86-64".to_owned())
}

/// What the machine showed of one test.
pub(super) struct Seen {
    /// The final states, counted.
    pub(super) states: States,
    /// The number of runs.
    pub(super) runs: u64,
    /// The number of CPUs used.
    pub(super) processors: usize,
    /// Rendered states that TSO allows and that were not seen.
    pub(super) unseen: Vec<String>,
    /// Rendered states that were seen and that TSO forbids.
    pub(super) forbidden: Vec<String>,
    /// Whether all of TSO's states are known; if not, `forbidden` is empty.
    pub(super) judged: bool,
}

impl Seen {
    /// Runs the test, or returns why it cannot be run.
    pub(super) fn measure(test: &Test, runs: Option<u64>, limits: Limits) -> Result<Seen, String> {
        let slow = test.program.threads.iter().any(|thread| thread.code.contains(&Op::Membarrier));
        let runs = runs.unwrap_or(if slow { SLOW_RUNS } else { RUNS });
        let (seen, processors) = run(&test.program, runs)?;
        let allowed = outcomes(&test.program, Tso::default(), limits);
        let judged = allowed.bound.is_none();
        let allowed = test.states(allowed.outcomes.iter().map(|outcome| (outcome, 1))).by_line;
        let states = test.states(seen.iter().map(|(outcome, count)| (outcome, *count)));
        let missing = |line: &&String| !states.by_line.contains_key(*line);
        let unseen = allowed.keys().filter(missing).cloned().collect();
        let beyond = |line: &&String| judged && !allowed.contains_key(*line);
        let forbidden = states.by_line.keys().filter(beyond).cloned().collect();
        Ok(Seen { runs, processors, unseen, forbidden, judged, states })
    }

    /// Whether the states seen settle the expectation: a sighting confirms `sometimes` and refutes the others; an
    /// unseen state settles nothing.
    pub(super) fn meets(&self, expect: Expect) -> Option<bool> {
        match (expect, self.states.observation()) {
            (_, Observation::Sometimes) => Some(expect == Expect::Sometimes),
            (Expect::Never, Observation::Always) | (Expect::Always, Observation::Never) => {
                Some(false)
            }
            _ => None,
        }
    }

    /// The runs as litmus7 prints them, with what the model says about them.
    pub(super) fn print(&self, text: &mut String, test: &Test) {
        let (runs, processors) = (self.runs, self.processors);
        let _ = writeln!(text, "Test {} (machine: {runs} runs on {processors} CPUs)", test.name);
        if processors < test.program.threads.len() {
            let _ =
                writeln!(text, "Fewer CPUs than threads: threads on the same CPU only took turns.");
        }
        let _ = writeln!(text, "Histogram ({} states)", self.states.by_line.len());
        for (line, (count, holds)) in &self.states.by_line {
            let mark = if self.forbidden.contains(line) { "   FORBIDDEN by tso" } else { "" };
            let _ = writeln!(text, "{count:11} {}>{line}{mark}", if *holds { '*' } else { ':' });
        }
        if !self.unseen.is_empty() {
            let _ = writeln!(text, "Allowed by tso, not seen ({})", self.unseen.len());
            for line in &self.unseen {
                let _ = writeln!(text, "{:11}  >{line}", "");
            }
        }
        let States { positive, negative, .. } = self.states;
        let observation = self.states.observation();
        let _ = writeln!(text, "Condition {}", test.condition);
        let _ = writeln!(text, "Observation {} {observation} {positive} {negative}", test.name);
        if !self.judged {
            let _ = writeln!(
                text,
                "Not checked against tso: its states could not all be found within the bounds."
            );
        }
        if !self.forbidden.is_empty() {
            let _ = writeln!(
                text,
                "!!! {} of these states are FORBIDDEN by tso: the model or this program is wrong about the machine.",
                self.forbidden.len()
            );
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Litmus, Ran, said};
    use super::*;
    use clap::Parser;
    use uncontended_model::classics::named;
    use uncontended_model::litmus::parse;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        litmus: Litmus,
    }

    /// The result if the machine had shown these states of MP that often.
    fn conclude(flags: &[&str], shown: &[(&str, u64)], forbidden: &[&str]) -> (u8, String) {
        let test = parse(named("MP").unwrap().text).unwrap();
        let mut states = States::default();
        for &(line, count) in shown {
            let holds = line == "1:rax=1; 1:rbx=0;";
            states.by_line.insert(line.into(), (count, holds));
            *if holds { &mut states.positive } else { &mut states.negative } += count;
        }
        let runs = states.positive + states.negative;
        let forbidden: Vec<_> = forbidden.iter().map(|line| (*line).to_owned()).collect();
        let unseen = vec!["1:rax=1; 1:rbx=1;".to_owned()];
        let seen = Seen { states, runs, processors: 2, unseen, forbidden, judged: true };
        let mut text = String::new();
        seen.print(&mut text, &test);
        let flags = ["litmus", "--model", "machine"].iter().chain(flags);
        let litmus = Line::try_parse_from(flags).unwrap().litmus;
        let (path, machine) = (String::new(), Some(Ok(seen)));
        let ran = Ran { path, about: None, test, models: Vec::new(), machine };
        said::verdict(&mut text, &litmus, true, &ran);
        (litmus.verdict(&[Ok(ran)], true), text)
    }

    const NONE: (&str, u64) = ("1:rax=0; 1:rbx=0;", 5);

    #[test]
    fn a_forbidden_state_is_loud_and_ends_in_1() {
        let weak = "1:rax=1; 1:rbx=0;";
        let (code, text) = conclude(&[], &[NONE, (weak, 1)], &[weak]);
        assert_eq!(code, 1);
        assert!(text.contains("          1 *>1:rax=1; 1:rbx=0;   FORBIDDEN by tso"), "{text}");
        assert!(
            text.ends_with(
                "seen in 1 of 6 runs here (1:rax=1 /\\ 1:rbx=0)\nno: this machine shows a state that tso forbids\n"
            ),
            "{text}"
        );
        assert!(text.contains("!!! 1 of these states are FORBIDDEN by tso"), "{text}");
        assert_eq!(conclude(&["--expect", "sometimes"], &[NONE, (weak, 1)], &[weak]).0, 1);
    }

    #[test]
    fn what_is_not_seen_is_listed_apart_and_settles_nothing() {
        let (code, text) = conclude(&[], &[NONE], &[]);
        assert_eq!(code, 0);
        assert!(
            text.contains("Allowed by tso, not seen (1)\n             >1:rax=1; 1:rbx=1;"),
            "{text}"
        );
        assert!(!text.contains("FORBIDDEN"), "{text}");
        for expect in ["never", "sometimes"] {
            let (code, text) = conclude(&["--expect", expect], &[NONE], &[]);
            assert_eq!(code, 3, "{expect}");
            let said = "undecided: not seen in 5 runs here, which settles nothing\n";
            assert!(text.ends_with(said), "{text}");
        }
        let (code, text) = conclude(&["--expect", "always"], &[NONE], &[]);
        assert_eq!(code, 1);
        assert!(text.ends_with("no: not seen in 5 runs here, but expected always\n"), "{text}");
    }
}
