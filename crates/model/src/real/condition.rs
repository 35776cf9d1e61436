//! The condition of a `wait_until`: what it asked for, and whether it asks for the same again.

use super::core::Request;

/// A condition that is being evaluated.
#[derive(Debug)]
pub(crate) struct Condition {
    /// Its requests, with their answers.
    pub(crate) asked: Vec<(Request, u64)>,
    /// How many of them it has repeated; `None` in its first evaluation.
    repeated: Option<usize>,
    /// Effects of its thread before it.
    pub(crate) effects: u64,
    /// What its thread had read before it.
    pub(crate) read_before: usize,
}

impl Condition {
    pub(crate) fn new(effects: u64, read_before: usize) -> Condition {
        Condition { asked: Vec::new(), repeated: None, effects, read_before }
    }

    /// From now on it gets the answers that it had.
    pub(crate) fn again(&mut self) {
        self.repeated = Some(0);
    }

    /// The answer that it had; `Some(None)` where it asks for something else, `None` in its first evaluation.
    pub(crate) fn rehearse(&mut self, request: &Request) -> Option<Option<u64>> {
        let at = self.repeated?;
        self.repeated = Some(at + 1);
        let same = |(asked, _): &&(Request, u64)| {
            (asked.op, asked.location) == (request.op, request.location)
        };
        Some(self.asked.get(at).filter(same).map(|&(_, answer)| answer))
    }
}
