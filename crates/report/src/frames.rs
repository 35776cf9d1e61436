//! Stacks as people read them: code of locks and libraries around the program's own takes a line, not a page.
//!
//! # Contract
//! [`lines`] has every frame once, in order. Of a lock's own code, which is innermost, the first function is kept. Runs
//! of standard libraries between the program's functions, and of any library outside them, are folded from
//! [`FOLDED`] frames on; a stack of nothing else is left as it is. JSON and folded stacks have whole stacks.
//! # Evidence
//! `tests/frames.rs`.

use crate::code::{Skipped, is_standard};
use crate::run::Frame;

/// A line that says how many are left out is worth two of them.
const FOLDED: usize = 3;

/// A line of a stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Line<'a> {
    /// A function.
    Frame(&'a Frame),
    /// Several that are left out, and what they are.
    Left(&'a [Frame], &'static str),
}

impl Line<'_> {
    /// How many frames it stands for.
    pub(crate) fn frames(self) -> usize {
        match self {
            Line::Frame(_) => 1,
            Line::Left(frames, _) => frames.len(),
        }
    }
}

/// The lines of a stack, innermost first.
pub(crate) fn lines(stack: &[Frame]) -> Vec<Line<'_>> {
    let skipped = Skipped::default();
    let outside = stack.iter().rev().take_while(|frame| skipped.contains(frame)).count();
    if outside == stack.len() {
        return stack.iter().map(Line::Frame).collect();
    }
    let (inside, outside) = stack.split_at(stack.len() - outside);
    let own = inside.iter().take_while(|frame| is_standard(frame)).count();
    let (own, program) = inside.split_at(own);
    let mut lines: Vec<Line<'_>> = own.iter().take(1).map(Line::Frame).collect();
    match own {
        [_, rest @ ..] if own.len() >= FOLDED => {
            lines.push(Line::Left(rest, "of the lock's own code"))
        }
        own => lines.extend(own.iter().skip(1).map(Line::Frame)),
    }
    let runs = program.chunk_by(|one, next| is_standard(one) && is_standard(next));
    for run in runs.chain([outside]) {
        match run.len() {
            FOLDED.. => lines.push(Line::Left(run, "of libraries")),
            _ => lines.extend(run.iter().map(Line::Frame)),
        }
    }
    lines
}
