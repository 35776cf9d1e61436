//! Orderings, each weakened by one step: which of them no test needs.
//!
//! # Contract
//! `cargo xtask mutants --orderings crates/ring` weakens every `Acquire`, `Release`, `AcqRel` and `SeqCst` of a crate's
//! sources, one at a time, and runs the crate's explored tests, those that mutants name, under C11 until one is
//! violated. What survives is stronger than it has to be, or not tested. Either it goes, or it stands under `[[kept]]`
//! in the lists of mutants with the reason why it stays; the exit status is 1 if there are others.

use super::edit::places;
use super::list::{self, Edit, Kept, Mutant, Test};
use super::scratch::Scratch;
use super::trial::{self, Outcome};
use crate::tidy::Source;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// A test finds the violation early, or not at all.
const LIMIT: Duration = Duration::from_secs(8);

/// One ordering that is weakened.
struct Weaker {
    /// `file:line`.
    at: String,
    /// The file, and where in it the ordering stands.
    file: String,
    offset: usize,
    what: String,
    mutant: Mutant,
}

/// Whether every ordering of a crate is needed by a test, or kept for a reason.
pub(crate) fn run(root: &Path, folder: &str) -> Result<bool, String> {
    let package = folder.trim_end_matches('/').rsplit('/').next().unwrap_or(folder);
    let lists = list::all(root)?;
    let kept = list::kept(root)?;
    let scratch = Scratch::new(root)?;
    let tests = explored(&lists, package);
    let began = Instant::now();
    scratch.build("orderings", tests.iter())?.map(drop)?;
    let compiled = scratch.compiled(package)?;
    let mut survivors = Vec::new();
    let weaker = all(root, package)?;
    println!("{} orderings, {} tests", weaker.len(), tests.len());
    for one in weaker {
        if !compiled.iter().any(|path| path.ends_with(&one.file)) {
            println!("{}: {}: not compiled for the checker", one.at, one.what);
            continue;
        }
        let reason = kept.iter().find(|kept| kept.holds(&one.file, one.offset, root));
        let answer = match reason {
            Some(kept) => format!("kept: {}", kept.why),
            None => match caught(&scratch, &one, &lists, &tests)? {
                Some(how) => format!("caught: {how}"),
                None => {
                    survivors.push(format!("{}: {}", one.at, one.what));
                    "SURVIVES".to_owned()
                }
            },
        };
        println!("{}: {}: {answer} ({} s)", one.at, one.what, began.elapsed().as_secs());
    }
    println!("\n{} survive:", survivors.len());
    survivors.iter().for_each(|line| println!("  {line}"));
    Ok(survivors.is_empty())
}

/// The tests under C11 that the mutants of a crate name, each once.
fn explored(lists: &[Mutant], package: &str) -> Vec<Test> {
    let all = lists.iter().flat_map(|mutant| &mutant.caught_by);
    let c11 = all.filter(|test| test.package == package && test.memory.as_deref() == Some("C11"));
    c11.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// How an ordering is caught: by tests of mutants of the same file first.
fn caught(
    scratch: &Scratch,
    one: &Weaker,
    lists: &[Mutant],
    tests: &[Test],
) -> Result<Option<String>, String> {
    let same_file = |mutant: &&Mutant| mutant.edits.iter().any(|edit| edit.file == one.file);
    let near: BTreeSet<&Test> =
        lists.iter().filter(same_file).flat_map(|mutant| &mutant.caught_by).collect();
    let mutated = scratch.mutate(&one.mutant)?;
    for is_near in [true, false] {
        let round: Vec<&Test> =
            tests.iter().filter(|test| near.contains(test) == is_near).collect();
        let programs = match scratch.build("orderings", round.iter().copied())? {
            Ok(programs) => programs,
            Err(said) => return Ok(Some(format!("does not compile: {said}"))),
        };
        for test in round {
            if let Outcome::Violated(how) = trial::run(&programs, test, LIMIT) {
                return Ok(Some(format!("{}::{}: {how}", test.binary, test.function)));
            }
        }
    }
    drop(mutated);
    Ok(None)
}

/// Every ordering of the crate's code that ships, with each way to weaken it.
fn all(root: &Path, package: &str) -> Result<Vec<Weaker>, String> {
    let sources = crate::tidy::sources(root)?;
    let folder = format!("crates/{package}/src/");
    let of = |source: &Source| source.path.starts_with(&folder) && source.ships();
    sources
        .iter()
        .filter(|source| of(source))
        .map(weaker)
        .collect::<Result<Vec<_>, _>>()
        .map(|found| found.into_iter().flatten().collect())
}

fn weaker(source: &Source) -> Result<Vec<Weaker>, String> {
    let mut found = Vec::new();
    let (mut offset, mut is_import) = (0, false);
    for (index, line) in source.text.split_inclusive('\n').enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        is_import |=
            code.trim_start().starts_with("use ") || code.trim_start().starts_with("pub use ");
        if !is_import && source.line_ships(index + 1) {
            for (column, word) in words(code) {
                for to in weakened(&code[..column], word) {
                    let at = (offset + column)..(offset + column + word.len());
                    found.push(Weaker {
                        at: format!("{}:{}", source.path, index + 1),
                        file: source.path.clone(),
                        offset: at.start,
                        what: format!("{word} -> {}", to.rsplit(':').next().unwrap_or(to)),
                        mutant: mutant(source, at, to)?,
                    });
                }
            }
        }
        is_import &= !code.contains(';');
        offset += line.len();
    }
    Ok(found)
}

/// The orderings in a line of code, with their columns.
fn words(code: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code
        .char_indices()
        .filter(|&(at, c)| is_part(c) && !code[..at].chars().next_back().is_some_and(is_part));
    let words = starts.map(|(at, _)| {
        let rest = &code[at..];
        (at, &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())])
    });
    words.filter(|(_, word)| ["Acquire", "Release", "AcqRel", "SeqCst"].contains(word)).collect()
}

/// What comes one step below an ordering, given the code before it.
fn weakened(before: &str, word: &str) -> &'static [&'static str] {
    const RELAXED: &str = "uncontended_atomic::Ordering::Relaxed";
    const ACQUIRE: &str = "uncontended_atomic::Ordering::Acquire";
    const RELEASE: &str = "uncontended_atomic::Ordering::Release";
    const ACQ_REL: &str = "uncontended_atomic::Ordering::AcqRel";
    let is_call = |name: &str| before.rfind(name).is_some_and(|at| !before[at..].contains(')'));
    match word {
        // A relaxed fence is not one.
        "Acquire" if is_call("fence(") => &[RELEASE],
        "Release" if is_call("fence(") => &[ACQUIRE],
        "AcqRel" => &[ACQUIRE, RELEASE],
        "SeqCst" if is_call("load(") => &[ACQUIRE],
        "SeqCst" if is_call("store(") => &[RELEASE],
        "SeqCst" => &[ACQ_REL],
        _ => &[RELAXED],
    }
}

/// The mutant that has `to` in this place: its anchor is as many lines before it as make it the only one.
fn mutant(source: &Source, at: std::ops::Range<usize>, to: &str) -> Result<Mutant, String> {
    let text = &source.text;
    let end = text[at.end..].find('\n').map_or(text.len(), |length| at.end + length);
    let mut start = at.start;
    loop {
        start = text[..start].rfind('\n').unwrap_or(0);
        let from = &text[start..end];
        if places(text, from).len() == 1 {
            let to = format!("{}{to}{}", &text[start..at.start], &text[at.end..end]);
            let edit = Edit { file: source.path.clone(), from: from.to_owned(), to };
            let (name, listed_in) = ("an ordering".to_owned(), source.path.clone());
            return Ok(Mutant {
                name,
                listed_in,
                why: None,
                edits: vec![edit],
                caught_by: Vec::new(),
            });
        }
        if start == 0 {
            return Err(format!("{}: no anchor for an ordering", source.path));
        }
    }
}

impl Kept {
    /// Whether it speaks of the ordering at this place of a file.
    fn holds(&self, file: &str, offset: usize, root: &Path) -> bool {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        self.file == file && places(&text, &self.from).iter().any(|place| place.contains(&offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordering_that_ships_is_weakened_by_one_step() {
        let text = "use uncontended_atomic::Ordering::{\n    Acquire, Release,\n};\nfn a() {\n    \
                    x.load(Acquire);\n    x.swap(1, AcqRel); // Acquire\n    fence(SeqCst);\n    \
                    fence(Release);\n}\n#[cfg(test)]\nmod tests { fn b() { x.load(SeqCst); } }\n";
        let source = Source::new("crates/x/src/a.rs", text);
        let found = weaker(&source).unwrap();
        let told: Vec<String> =
            found.iter().map(|one| format!("{}: {}", one.at, one.what)).collect();
        assert_eq!(
            told,
            [
                "crates/x/src/a.rs:5: Acquire -> Relaxed",
                "crates/x/src/a.rs:6: AcqRel -> Acquire",
                "crates/x/src/a.rs:6: AcqRel -> Release",
                "crates/x/src/a.rs:7: SeqCst -> AcqRel",
                "crates/x/src/a.rs:8: Release -> Acquire",
            ]
        );
        let edit = &found[0].mutant.edits[0];
        assert!(edit.to.contains("x.load(uncontended_atomic::Ordering::Relaxed);"), "{}", edit.to);
        let why = "it is so".to_owned();
        let kept = Kept {
            listed_in: String::new(),
            file: "gone.rs".into(),
            from: "x.load(Acquire)".into(),
            why,
        };
        assert!(!kept.holds("crates/x/src/a.rs", found[0].offset, Path::new("/")));
    }
}
