//! Our code beside its rivals, one file a question: `-- --list` lists the questions, `-- QUESTION [flags]` answers one.

mod evidence;
mod how_fast_is_sampling;
mod loom_outcomes;
mod r1_stream;
mod rivals;
mod robbins;
mod u1_publish;

use std::process::ExitCode;

/// A question's name, what it answers, and its code.
type Question = (&'static str, &'static str, fn(&[String]) -> Result<(), String>);

const QUESTIONS: &[Question] = &[
    ("u1_publish", "what does it cost to publish when nobody waits", u1_publish::main),
    ("r1_stream", "how many items a second does a stream carry", r1_stream::main),
    (
        "robbins",
        "is the certified bound ever below the truth (for oracles/robbins.py)",
        robbins::main,
    ),
    (
        "evidence",
        "is any prior's evidence ever above its integral (for oracles/evidence.py)",
        evidence::main,
    ),
    (
        "how_fast_is_sampling",
        "what does a sample without replacement cost",
        how_fast_is_sampling::main,
    ),
    (
        "loom_outcomes",
        "does the checker of real code find all that loom finds",
        loom_outcomes::main,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => usage(),
        Some((list, _)) if list == "--list" => {
            let width = QUESTIONS.iter().map(|question| question.0.len()).max().unwrap_or(0);
            QUESTIONS.iter().for_each(|(name, answers, _)| println!("{name:width$}  {answers}"));
            ExitCode::SUCCESS
        }
        Some((name, flags)) => match QUESTIONS.iter().find(|question| question.0 == name) {
            None => usage(),
            Some((.., run)) => run(flags).map_or_else(
                |problem| {
                    eprintln!("{name}: {problem}");
                    ExitCode::from(2)
                },
                |()| ExitCode::SUCCESS,
            ),
        },
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: compare --list | QUESTION [flags]\nflags of the benchmarks:\n{}",
        uncontended_bench::Options::HELP
    );
    ExitCode::from(2)
}
