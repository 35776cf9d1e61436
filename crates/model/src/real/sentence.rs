//! A report in words.
//!
//! # Contract
//! A report that is too wide for a terminal is broken between its clauses if possible; its beginning stays the same.

use super::verdict::{Bound, Report, Verdict, Violation};
use crate::diagram::{WIDTH, wrapped};
use std::fmt;

/// A sentence and its clauses, each with what joins it to what comes before.
pub(crate) struct Sentence {
    begin: String,
    clauses: Vec<(&'static str, String)>,
}

impl Sentence {
    fn new(begin: String) -> Sentence {
        Sentence { begin, clauses: Vec::new() }
    }

    /// Adds words to its beginning.
    pub(crate) fn add(&mut self, words: &str) {
        self.begin += words;
    }

    pub(crate) fn clause(&mut self, joint: &'static str, clause: String) {
        self.clauses.push((joint, clause));
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![self.begin.clone()];
        for (joint, clause) in &self.clauses {
            let last = lines.last_mut().expect("it has a beginning");
            if last.chars().count() + joint.len() + clause.chars().count() < WIDTH {
                *last += &format!("{joint}{clause}");
            } else {
                *last += joint.trim_end();
                lines.push(format!("  {clause}"));
            }
        }
        let lines: String = lines.iter().map(|line| wrapped("", 4, line)).collect();
        f.write_str(lines.trim_end_matches('\n'))
    }
}

/// A number of things: `1 execution`, `2 executions`.
pub(crate) fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, thing: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {thing}{ending}")
}

/// Numbers in words: `0, 1 and 2`.
pub(crate) fn listed(numbers: &[usize]) -> String {
    let all: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

impl Report {
    /// How a violation was found: what comes before the trace.
    fn found(&self, violation: &Violation) -> String {
        let mut found = if violation.replayed {
            "violated along the schedule given".to_owned()
        } else {
            format!("violated after {}", counted(violation.after, "execution"))
        };
        if let Some(preemptions) = violation.preemptions {
            found += &format!(", with {}", counted(preemptions, "preemption"));
        }
        if let Some(contexts) = violation.contexts {
            found += &format!(", of {}", counted(contexts, "context"));
        }
        found
    }

    fn unknown(&self, bound: &impl fmt::Display) -> Sentence {
        let executions = counted(self.executions, "execution");
        let mut sentence = Sentence::new(format!("unknown after {executions}: {bound}"));
        if let Some(sampled) = &self.sampled {
            sentence.clause("; ", sampled.to_string());
        }
        match (&self.looping, &self.verdict) {
            (Some(looping), _) => sentence.clause("; ", looping.clone()),
            // A loop would reach any bound on events.
            (None, Verdict::Unknown(Bound::Events(_))) => {
                sentence.clause(" ", "(raise it with `Explorer::events`)".into());
            }
            _ => {}
        }
        if let Some(done) = self.done {
            let done =
                format!("{:.2} % of the search, if its branches are equally large", 100.0 * done);
            sentence.clause("; ", done);
        }
        sentence
    }

    /// What was met besides the executions counted.
    fn besides(&self, sentence: &mut Sentence) {
        if self.beyond > 0 {
            let bound = if self.contexts.is_some() { "contexts" } else { "preemptions" };
            let beyond = counted(self.beyond, "execution");
            sentence.clause(" ", format!("({beyond} beyond the bound on {bound})"));
        }
        sentence.clause(" ", format!("({})", counted(self.blocked, "blocked exploration")));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sentence = match &self.verdict {
            Verdict::Holds => {
                let mut sentence = Sentence::new("holds".to_owned());
                self.tell_coverage(&mut sentence);
                sentence
            }
            Verdict::Unknown(bound) => self.unknown(bound),
            Verdict::Violated(violation) => {
                let found = self.found(violation);
                f.write_str(&violation.told(&format!("{found}: ")))?;
                let mut sentence = Sentence::new(String::new());
                self.besides(&mut sentence);
                return write!(f, "\n{}", sentence.to_string().trim_start());
            }
        };
        self.besides(&mut sentence);
        sentence.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_is_too_long_is_broken_between_its_clauses() {
        let mut sentence = Sentence::new("holds in all 12 executions".into());
        sentence.clause(", ", "with one thing".into());
        sentence.clause(" ", "(and another)".into());
        assert_eq!(
            sentence.to_string(),
            "holds in all 12 executions, with one thing (and another)"
        );
        sentence.clause("; ", "word ".repeat(20).trim().to_owned());
        let words = |count| "word ".repeat(count).trim().to_owned();
        let first = "holds in all 12 executions, with one thing (and another);";
        let told = format!("{first}\n  {}\n    {}", words(15), words(5));
        assert_eq!(sentence.to_string(), told);
        assert!(told.lines().all(|line| line.len() <= WIDTH), "{told}");
    }

    #[test]
    fn numbers_are_counted_and_listed() {
        assert_eq!(counted(1u64, "round"), "1 round");
        assert_eq!(counted(0u64, "round"), "0 rounds");
        assert_eq!(listed(&[0]), "0");
        assert_eq!(listed(&[0, 1]), "0 and 1");
        assert_eq!(listed(&[0, 1, 3]), "0, 1 and 3");
    }
}
