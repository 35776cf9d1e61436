//! How far a search has come, in a file: a search that is killed goes on from there.
//!
//! # Contract
//! The search is a tree walked in one order, so the way from its root to the run just made says what is done and what
//! is left. To go on, the runs on that way are made again, uncounted; each must take the steps that it took. The file
//! is one line: that it is ours, the exploration, its executable, its bounds, the counts, the way. It is replaced as a
//! whole, so that a kill leaves the old one or the new one. A file that is not of this search, of this build, is never
//! used, written over or removed.

use super::core::Stop;
use super::exploration::Exploration;
use super::fingerprint;
use super::graph::Graph;
use super::growth::Turn;
use super::verdict::{Bound, Diverged};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a search notes where it is.
const PERIOD: Duration = Duration::from_millis(200);

/// How a checkpoint begins.
const OURS: &str = "uncontended-checkpoint-2 ";

impl<T: Ord + 'static> Exploration<T> {
    /// What must be the same for a search to go on, apart from the executable: the place, and all bounds.
    fn bounds_noted(&self) -> String {
        let b = &self.bounds;
        let (events, rounds, spins) = (b.events, b.rounds, b.spins);
        let (timeouts, spurious, turns) = (b.timeouts, b.spurious, b.turns);
        let (leaks, memory, stack) = (b.leaks, b.memory_bytes, b.stack_bytes);
        let symmetry = b.symmetry;
        format!(
            "{events} {rounds} {spins} {timeouts} {spurious} {turns:?} {symmetry} {leaks} {memory} {stack}"
        )
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
        self.note_steps();
        // What a bound kept out is not noted: such a search is not gone on with.
        if bound.is_some() || (!ends && self.noted.elapsed() < PERIOD) {
            return Ok(());
        }
        self.noted = Instant::now();
        let executable = executable()?;
        let mut text = format!("{OURS}{} {executable} {}", self.name, self.bounds_noted());
        let mut word = |number: u64| text.push_str(&format!(" {number}"));
        self.counts().into_iter().for_each(|count| word(*count));
        word(u64::from(self.is_out_of_time));
        word(self.first);
        let core = self.run.core.borrow();
        [self.done, core.growth.barren].into_iter().for_each(|part| word(part.to_bits()));
        for turn in &core.growth.path {
            word(turn.item as u64);
            word(turn.steps);
        }
        text.push_str(" end\n");
        let mut new = path.clone().into_os_string();
        new.push(format!(".new.{}", std::process::id()));
        let new = PathBuf::from(new);
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
        written.map_err(|why| {
            // Half a file is of no use; it may not be there.
            let _ = std::fs::remove_file(&new);
            Diverged(format!("the checkpoint {} cannot be written: {why}", path.display()))
        })
    }

    /// Keeps the fingerprint of the run just made: the way to what follows leads through it.
    fn note_steps(&mut self) {
        let core = &mut *self.run.core.borrow_mut();
        let steps = fingerprint::of_steps(&core.graph);
        match core.growth.path.last_mut() {
            Some(turn) => turn.steps = steps,
            None => self.first = steps,
        }
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
        let Some(text) = read(&path)? else { return Ok(true) };
        let turns = self.parse(&path, &text)?;
        let barren = self.run.core.borrow().growth.barren;
        let misfit = |path: &Path| refused(path, "is of a search that took other steps");
        let first = self.first;
        self.go_again(Graph::default())?;
        if self.first != first {
            return Err(misfit(&path));
        }
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
            self.go_again(graph)?;
            if self.run.core.borrow().growth.path.last().map(|turn| turn.steps) != Some(turn.steps)
            {
                return Err(misfit(&path));
            }
        }
        let mut core = self.run.core.borrow_mut();
        let core = &mut *core;
        core.growth.barren = barren;
        Ok(core.growth.next(&mut core.graph))
    }

    /// Makes a run that was counted before.
    fn go_again(&mut self, graph: Graph) -> Result<(), Diverged> {
        self.execute(graph);
        if let Some(Stop::Diverged(why)) = self.run.core.borrow_mut().stop.take() {
            return Err(Diverged(why));
        }
        self.note_steps();
        Ok(())
    }

    /// Takes the counts from a checkpoint, if it is of this search and this build; its way.
    fn parse(&mut self, path: &Path, text: &str) -> Result<Vec<Turn>, Diverged> {
        let whole = text.strip_prefix(OURS).and_then(|rest| rest.strip_suffix(" end\n"));
        let Some(whole) = whole else {
            let why = "is not a checkpoint of this version: remove it, or name another file";
            return Err(Diverged(format!("{} {why}", path.display())));
        };
        let other = || refused(path, "is of another search (another place, memory model or bound)");
        let own = whole.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix(' '));
        let (build, rest) = own.and_then(|rest| rest.split_once(' ')).ok_or_else(other)?;
        if build != executable()? {
            return Err(refused(path, "is of another build of this program"));
        }
        let numbers = rest.strip_prefix(&self.bounds_noted()).and_then(|rest| {
            rest.strip_prefix(' ')?.split(' ').map(|word| word.parse().ok()).collect()
        });
        self.take_numbers(numbers.ok_or_else(other)?).ok_or_else(other)
    }

    fn take_numbers(&mut self, numbers: Vec<u64>) -> Option<Vec<Turn>> {
        let mut numbers = numbers.into_iter();
        for count in self.counts() {
            *count = numbers.next()?;
        }
        self.is_out_of_time = numbers.next()? != 0;
        self.first = numbers.next()?;
        self.done = f64::from_bits(numbers.next()?);
        self.run.core.borrow_mut().growth.barren = f64::from_bits(numbers.next()?);
        let mut turns = Vec::new();
        while let Some(item) = numbers.next() {
            turns.push(Turn { item: item as usize, steps: numbers.next()? });
        }
        Some(turns)
    }
}

/// What is in the file, if there is one.
fn read(path: &Path) -> Result<Option<String>, Diverged> {
    match std::fs::read(path) {
        // What is not text is not ours, which the line's beginning then shows.
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_default())),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => {
            Err(Diverged(format!("the checkpoint {} cannot be read: {why}", path.display())))
        }
    }
}

fn executable() -> Result<String, Diverged> {
    let hash = fingerprint::of_executable().map_err(|why| {
        Diverged(format!("a checkpoint needs this program's executable, /proc/self/exe: {why}"))
    })?;
    Ok(format!("{hash:016x}"))
}

fn refused(path: &Path, why: &str) -> Diverged {
    Diverged(format!(
        "the checkpoint {} {why}: remove it, and the search begins anew",
        path.display()
    ))
}
