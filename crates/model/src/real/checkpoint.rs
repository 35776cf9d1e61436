//! How far a search has come, in a file: a search that is killed goes on from there.
//!
//! # Contract
//! The search is a tree walked in one order, so the way from its root to the run just made says what is done and what
//! is left. To go on, the runs on that way are made again, uncounted. The file is one line: what tells the exploration
//! and its bounds, the counts, the way. It is replaced as a whole, so that a kill leaves the old one or the new one.

use super::core::Stop;
use super::exploration::Exploration;
use super::graph::Graph;
use super::growth::Turn;
use super::verdict::{Bound, Diverged};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a search notes where it is.
const PERIOD: Duration = Duration::from_millis(200);

impl<T: Ord + 'static> Exploration<T> {
    /// What must be the same for a search to go on: the place, and the bounds that shape its tree.
    fn identity(&self) -> String {
        let b = &self.bounds;
        let (events, rounds, spins) = (b.events, b.rounds, b.spins);
        let (timeouts, spurious, preemptions) = (b.timeouts, b.spurious, b.preemptions);
        format!("{} {events} {rounds} {spins} {timeouts} {spurious} {preemptions:?}", self.name)
    }

    pub(super) fn counts(&mut self) -> [&mut u64; 7] {
        [
            &mut self.executions,
            &mut self.blocked,
            &mut self.cut,
            &mut self.beyond,
            &mut self.forced,
            &mut self.left_waiting,
            &mut self.out_of_time,
        ]
    }

    /// Notes where the search is, if it is time to, or if the search ends here.
    pub(super) fn note_checkpoint(
        &mut self,
        bound: Option<Bound>,
        ends: bool,
    ) -> Result<(), Diverged> {
        let Some(path) = self.bounds.checkpoint.clone() else { return Ok(()) };
        // What a bound kept out is not noted: such a search is not gone on with.
        if bound.is_some() || (!ends && self.noted.elapsed() < PERIOD) {
            return Ok(());
        }
        self.noted = Instant::now();
        let mut text = self.identity();
        let mut word = |number: u64| text.push_str(&format!(" {number}"));
        self.counts().into_iter().for_each(|count| word(*count));
        word(u64::from(self.is_out_of_time));
        let core = self.run.core.borrow();
        [self.done, core.growth.barren].into_iter().for_each(|part| word(part.to_bits()));
        for turn in &core.growth.path {
            word(turn.item as u64);
            word(turn.events as u64);
        }
        text.push_str(" end\n");
        let new = path.with_extension("new");
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
        written.map_err(|why| {
            Diverged(format!("the checkpoint {} cannot be written: {why}", path.display()))
        })
    }

    pub(super) fn forget_checkpoint(&self) {
        if let Some(path) = &self.bounds.checkpoint {
            // A search that is over leaves nothing; it may never have noted anything.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Goes to where a checkpoint says that the search is. False: nothing was left there.
    pub(super) fn resume(&mut self) -> Result<bool, Diverged> {
        let Some(path) = self.bounds.checkpoint.clone() else { return Ok(true) };
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(true) };
        let turns = self.parse(&text).ok_or_else(|| misfit(&path))?;
        let barren = self.run.core.borrow().growth.barren;
        self.go_again(Graph::default())?;
        for turn in turns {
            let graph = {
                let mut core = self.run.core.borrow_mut();
                let core = &mut *core;
                let is_run = core.growth.take(&mut core.graph, turn.item);
                // A revisit only makes room for what follows: nothing runs.
                if !is_run.ok_or_else(|| misfit(&path))? {
                    continue;
                }
                std::mem::take(&mut core.graph)
            };
            if self.go_again(graph)? != turn.events {
                return Err(misfit(&path));
            }
        }
        let mut core = self.run.core.borrow_mut();
        let core = &mut *core;
        core.growth.barren = barren;
        Ok(core.growth.next(&mut core.graph))
    }

    /// Makes a run that was counted before; how many events it has.
    fn go_again(&mut self, graph: Graph) -> Result<usize, Diverged> {
        self.execute(graph);
        let mut core = self.run.core.borrow_mut();
        match core.stop.take() {
            Some(Stop::Diverged(why)) => Err(Diverged(why)),
            _ => {
                core.come_to_an_end();
                Ok(core.graph.len())
            }
        }
    }

    /// Takes the counts from a checkpoint; its way. `None`: it is of another search.
    fn parse(&mut self, text: &str) -> Option<Vec<Turn>> {
        let rest = text.strip_prefix(&self.identity())?.strip_suffix(" end\n")?;
        let numbers: Option<Vec<u64>> =
            rest.split(' ').skip(1).map(|word| word.parse().ok()).collect();
        let mut numbers = numbers?.into_iter();
        for count in self.counts() {
            *count = numbers.next()?;
        }
        self.is_out_of_time = numbers.next()? != 0;
        self.done = f64::from_bits(numbers.next()?);
        self.run.core.borrow_mut().growth.barren = f64::from_bits(numbers.next()?);
        let mut turns = Vec::new();
        while let Some(item) = numbers.next() {
            turns.push(Turn { item: item as usize, events: numbers.next()? as usize });
        }
        Some(turns)
    }
}

fn misfit(path: &Path) -> Diverged {
    Diverged(format!("the checkpoint {} is of another search: remove it", path.display()))
}
