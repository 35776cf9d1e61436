//! Checkpoints: the progress of a search in a file, so that a killed search can resume.
//!
//! # Contract
//! The search is a tree walked in a fixed order, so the path from its root to the last run determines what is done and
//! what is left. To resume, the runs on that path are repeated without being counted, and each must take the same
//! steps. The file is one line: a signature, the exploration, its executable, its bounds, the counts, the path. It is
//! replaced atomically, so a kill leaves the old file or the new one. A file of another search or another build is
//! never used, overwritten or removed.

use super::core::Stop;
use super::exploration::Exploration;
use super::fingerprint;
use super::graph::Graph;
use super::growth::Turn;
use super::verdict::{Bound, Diverged};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The interval between checkpoints.
const PERIOD: Duration = Duration::from_millis(200);

/// The signature at the start of a checkpoint.
const OURS: &str = "uncontended-checkpoint-3 ";

impl Exploration {
    /// What must be equal to resume a search, apart from the executable: the place, and all bounds.
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

    pub(super) fn counts(&mut self) -> [&mut u64; 8] {
        [
            &mut self.executions,
            &mut self.blocked,
            &mut self.cut,
            &mut self.beyond,
            &mut self.forced,
            &mut self.left_waiting,
            &mut self.out_of_time,
            &mut self.unspurious,
        ]
    }

    /// Writes a checkpoint if one is due, or if the search ends here.
    pub(super) fn note_checkpoint(
        &mut self,
        bound: Option<Bound>,
        ends: bool,
    ) -> Result<(), Diverged> {
        let Some(path) = self.bounds.checkpoint.clone() else { return Ok(()) };
        self.note_steps();
        // What a bound kept out is not recorded: such a search is not resumed.
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
        write(&path, &text).map_err(|why| unwritable(&path, &why))
    }

    /// Keeps the fingerprint of the last run, which lies on the path to what follows.
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
            // A completed search leaves no file; it may never have written one.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Restores the search from its checkpoint. False: nothing was left.
    pub(super) fn resume(&mut self) -> Result<bool, Diverged> {
        let Some(path) = self.bounds.checkpoint.clone() else { return Ok(true) };
        let Some(text) = read(&path)? else {
            // Rather now than when the first hours of the search would be lost.
            let new = new_of(&path);
            let tried = std::fs::write(&new, "").and_then(|()| std::fs::remove_file(&new));
            tried.map_err(|why| unwritable(&path, &why))?;
            return Ok(true);
        };
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
                // A revisit only makes room for what follows: there is nothing to run.
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

    /// Repeats a run that was counted before.
    fn go_again(&mut self, graph: Graph) -> Result<(), Diverged> {
        self.execute_patiently(graph);
        if let Some(Stop::Diverged(why)) = self.run.core.borrow_mut().stop.take() {
            return Err(Diverged(why));
        }
        self.note_steps();
        Ok(())
    }

    /// Takes the counts from a checkpoint of this search and this build, and returns its path.
    fn parse(&mut self, path: &Path, text: &str) -> Result<Vec<Turn>, Diverged> {
        let whole = text.strip_prefix(OURS).and_then(|rest| rest.strip_suffix(" end\n"));
        let Some(whole) = whole else {
            let why = "is not a checkpoint of this version: remove it, or name another file";
            return Err(Diverged(format!("{} {why}", path.display())));
        };
        let other =
            || refused(path, "belongs to another search (another place, memory model or bound)");
        let own = whole.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix(' '));
        let (build, rest) = own.and_then(|rest| rest.split_once(' ')).ok_or_else(other)?;
        if build != executable()? {
            return Err(refused(path, "belongs to another build of this program"));
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

/// The text of the file, if it exists.
fn read(path: &Path) -> Result<Option<String>, Diverged> {
    match std::fs::read(path) {
        // A file that is not text is not ours; the missing signature then shows that.
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

/// Writes the file whole, or leaves it as it was.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let new = new_of(path);
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        // Half a file is useless; it may not even exist.
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// The file that replaces this one.
fn new_of(path: &Path) -> PathBuf {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".new.{}", std::process::id()));
    PathBuf::from(new)
}

fn unwritable(path: &Path, why: &std::io::Error) -> Diverged {
    Diverged(format!("the checkpoint {} cannot be written: {why}", path.display()))
}

fn refused(path: &Path, why: &str) -> Diverged {
    Diverged(format!("the checkpoint {} {why}: remove it to restart the search", path.display()))
}
