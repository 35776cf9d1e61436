//! The condition of a `wait_until`: records its requests and checks that it repeats them.

use super::core::Request;

/// A condition that is being evaluated.
#[derive(Debug)]
pub(crate) struct Condition {
    /// Its requests, with their answers.
    pub(crate) asked: Vec<(Request, u64)>,
    /// How many of them it has repeated; `None` in its first evaluation.
    repeated: Option<usize>,
    /// Its thread's count of effects when it began.
    pub(crate) effects: u64,
    /// What its thread had read when it began.
    pub(crate) read_before: usize,
}

impl Condition {
    pub(crate) fn new(effects: u64, read_before: usize) -> Condition {
        Condition { asked: Vec::new(), repeated: None, effects, read_before }
    }

    /// Starts another evaluation, which gets the recorded answers.
    pub(crate) fn again(&mut self) {
        self.repeated = Some(0);
    }

    /// Whether it has made all of its requests again.
    pub(crate) fn is_repeated(&self) -> bool {
        self.repeated == Some(self.asked.len())
    }

    /// The recorded answer; `Some(None)` if it makes another request, `None` in its first evaluation.
    pub(crate) fn rehearse(&mut self, request: &Request) -> Option<Option<u64>> {
        let at = self.repeated?;
        self.repeated = Some(at + 1);
        let same = |(asked, _): &&(Request, u64)| {
            (asked.op, asked.location) == (request.op, request.location)
        };
        Some(self.asked.get(at).filter(same).map(|&(_, answer)| answer))
    }
}
