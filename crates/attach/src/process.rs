//! What is known of one process besides the kernel's sums: its files, its call chains, its threads.
//!
//! # Contract
//! [`Process::look`] reads what is new, while the process runs the program that is watched: what was read may be
//! another one's, unless the kernel has noted no exec by then.

use crate::jumps;
use crate::modules::Modules;
use crate::programs::{StackTop, Tables};
use crate::seed;
use crate::unwind::Unwinder;
use std::collections::{BTreeMap, HashMap};
use uncontended_sys::clock;
use uncontended_trace::layout::FRAMES;

/// A process that is or was watched.
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The process that forked it; 0 if it ran already.
    pub(crate) parent: u32,
    pub(crate) began_ns: u64,
    /// When it ended; 0 if it has not, or if that is not known.
    pub(crate) ended_ns: u64,
    /// Whether it has executed another program.
    pub(crate) has_executed: bool,
    pub(crate) modules: Modules,
    unwinder: Unwinder,
    /// The call chains of the stacks by number.
    pub(crate) chains: HashMap<u64, Vec<u64>>,
    /// Those of the program that it ran before. The same code at the same place has the same numbers.
    pub(crate) earlier: HashMap<u64, Vec<u64>>,
    /// The threads that were met, by number.
    pub(crate) lives: BTreeMap<u32, Life>,
    pub(crate) command: Vec<String>,
}

/// A thread, as it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) name: String,
    /// When it was met first, and last.
    pub(crate) met: [u64; 2],
}

impl Process {
    /// One that runs already.
    pub(crate) fn new(pid: u32, began_ns: u64) -> Self {
        let (modules, unwinder) = (Modules::default(), Unwinder::new());
        Process {
            pid,
            parent: 0,
            began_ns,
            ended_ns: 0,
            has_executed: false,
            modules,
            unwinder,
            chains: HashMap::new(),
            earlier: HashMap::new(),
            lives: BTreeMap::new(),
            command: seed::command(pid),
        }
    }

    /// One that this process has forked: as it is, as far as is known.
    pub(crate) fn forked(&self, pid: u32, began_ns: u64) -> Self {
        Process {
            pid,
            parent: self.pid,
            began_ns,
            ended_ns: 0,
            has_executed: false,
            modules: self.modules.clone(),
            unwinder: self.unwinder.forked(),
            chains: HashMap::new(),
            earlier: HashMap::new(),
            lives: BTreeMap::new(),
            command: self.command.clone(),
        }
    }

    /// Whether its lists are those of the program that is watched.
    pub(crate) fn is_watched(&self) -> bool {
        !self.has_executed && self.ended_ns == 0
    }

    /// Reads the lists of its threads and files. Whether there is a new file.
    pub(crate) fn look(&mut self, tables: &Tables) -> bool {
        if !self.is_watched() {
            return false;
        }
        let now = clock::monotonic_ns();
        let has_name = |tid: &u32| self.lives.get(tid).is_some_and(|life| !life.name.is_empty());
        let name =
            |tid: &u32| if has_name(tid) { String::new() } else { seed::name(self.pid, *tid) };
        let threads = seed::threads(self.pid).into_iter().map(|tid| (tid, name(&tid)));
        let threads: Vec<(u32, String)> = threads.collect();
        if !tables.is_watched(self.pid) {
            return false;
        }
        for (tid, name) in threads {
            let life = self.lives.entry(tid);
            let life = life.or_insert_with(|| Life { name: String::new(), met: [now, now] });
            life.met[1] = now;
            if life.name.is_empty() {
                life.name = name;
            }
        }
        let is_new = self.modules.look(self.pid, || tables.is_watched(self.pid));
        if is_new {
            self.read_files();
        }
        is_new
    }

    /// Reads what its files say of their code.
    pub(crate) fn read_files(&mut self) {
        self.unwinder.look(&self.modules);
    }

    /// Keeps the call chain of a stack of its.
    pub(crate) fn keep(&mut self, number: u64, top: &StackTop) {
        let chain = self.chain(top);
        self.chains.insert(number, chain);
    }

    /// The call chain of the stack with this number, if it is one of its.
    pub(crate) fn knows(&self, number: u64) -> Option<&Vec<u64>> {
        self.chains.get(&number).or_else(|| self.earlier.get(&number))
    }

    /// The call chain of a stack of its.
    pub(crate) fn chain(&mut self, top: &StackTop) -> Vec<u64> {
        let mut chain = jumps::with_jumps(&self.modules, &self.unwinder.chain(top));
        chain.truncate(FRAMES);
        chain
    }
}
