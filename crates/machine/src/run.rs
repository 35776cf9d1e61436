//! Rounds of runs on pinned threads, and the histogram of their final states.
//!
//! # Contract
//! [`run`] executes a program exactly the requested number of times on the machine and counts every final state. A
//! round sets up a batch of runs, lets one thread per thread of the program go through the whole batch, and counts. The
//! threads synchronise only between these phases, so the runs within a round race freely; [`crate::plan`] varies how.
//! # State
//! I1: phases alternate: each worker sets up its own share of the runs; barrier; the generated code runs; barrier; each
//!     worker counts its own share; barrier.
//! # Evidence
//! tests/classics.rs: the machine shows nothing that x86-TSO forbids, and shows what it allows for store buffering.
//! tests/random.rs: random programs. benches/how_many_runs_a_second.rs.
//! # Sources
//! Alglave, Maranget, Sarkar, Sewell, "Litmus: running tests against hardware", 2011: arrays of runs, changing strides.

use crate::barrier::Barrier;
use crate::compile::{Frame, Pace, compile};
use crate::layout::{BATCH, Layout};
use crate::plan::{Plan, Planner};
use crate::refusal::Refusal;
use crate::tally::Tally;
use crate::words::Words;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use uncontended_model::outcome::Outcome;
use uncontended_model::program::{Op, Program};
use uncontended_sys::{affinity, code::Code, membarrier::Reach};

/// The parameters of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The number of runs.
    pub runs: u64,
    /// Seeds placement, strides and skews; the machine itself cannot be seeded.
    pub seed: u64,
}

/// What the machine showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Each final state and how often it was seen. A state that is missing may still be allowed.
    pub states: BTreeMap<Outcome, u64>,
    /// The number of runs, which is the sum of the counts.
    pub runs: u64,
    /// The number of CPUs; if the program has more threads, some threads only took turns.
    pub processors: usize,
}

/// Shared by all workers.
struct Shared<'p> {
    program: &'p Program,
    code: Code,
    /// Entry points of the threads, for each of [`Pace::ALL`].
    entries: Vec<Vec<usize>>,
    memory: Words,
    /// The registers of each thread after each run.
    results: Vec<Words>,
    cpus: Vec<usize>,
    barrier: Barrier,
    failure: Mutex<Option<io::Error>>,
    setup: Setup,
}

/// Runs the program on the machine.
///
/// # Errors
/// Why it cannot run here; reported before anything runs.
pub fn run(program: &Program, setup: &Setup) -> Result<Histogram, Refusal> {
    let shared = prepare(program, setup)?;
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..program.threads.len())
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || shared.work(thread))
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let failure = shared.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = failure {
        return Err(Refusal::System { request: "pinning a thread to a CPU", error });
    }
    let mut states = BTreeMap::new();
    for (words, count) in tallies.iter().flat_map(Tally::counts) {
        *states.entry(Outcome::from_words(words.to_vec())).or_insert(0) += count;
    }
    Ok(Histogram { states, runs: setup.runs, processors: shared.cpus.len() })
}

/// Everything that can fail, before the first thread starts.
fn prepare<'p>(program: &'p Program, setup: &Setup) -> Result<Shared<'p>, Refusal> {
    program.check().map_err(Refusal::Malformed)?;
    let threads = program.threads.len();
    let (mut bytes, mut entries) = (Vec::new(), Vec::new());
    for pace in Pace::ALL {
        let functions = compile(program, pace)?;
        entries.push(functions.entries.iter().map(|entry| entry + bytes.len()).collect());
        bytes.extend_from_slice(&functions.bytes);
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(Refusal::Architecture);
    }
    let failed = |request| move |error| Refusal::System { request, error };
    let cpus = affinity::allowed().map_err(failed("reading the allowed CPUs"))?;
    if cpus.len() < 2 {
        return Err(Refusal::Processors(cpus.len()));
    }
    let barriers = program.threads.iter().flat_map(|thread| &thread.code);
    if barriers.into_iter().any(|op| *op == Op::Membarrier) {
        Reach::Private.register().map_err(failed("registering for membarrier"))?;
        Reach::Private.barrier().map_err(failed("calling membarrier"))?;
    }
    let registers = program.threads.iter().map(|thread| thread.registers.len());
    Ok(Shared {
        program,
        code: Code::new(&bytes).map_err(failed("mapping machine code"))?,
        entries,
        memory: Words::new(Layout { locations: program.locations.len() }.words()),
        results: registers.map(|registers| Words::new(registers * BATCH)).collect(),
        barrier: Barrier::new(threads, cpus.len()),
        cpus,
        failure: Mutex::new(None),
        setup: *setup,
    })
}

impl Shared<'_> {
    /// One worker's part in every round.
    fn work(&self, thread: usize) -> Tally {
        let planner = Planner::new(self.program, &self.cpus, &self.setup);
        let mut tally = Tally::new(self.width());
        let mut cpu = None;
        for plan in planner {
            if cpu != Some(plan.cpus[thread]) {
                cpu = Some(plan.cpus[thread]);
                if let Err(error) = affinity::pin(plan.cpus[thread]) {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
            self.set_up(&plan, thread);
            self.barrier.wait();
            if self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                break;
            }
            self.execute(&plan, thread);
            self.barrier.wait();
            self.count(&plan, thread, &mut tally);
            self.barrier.wait();
        }
        tally
    }

    /// The runs that a worker sets up and counts.
    fn share(&self, plan: &Plan, thread: usize) -> std::ops::Range<usize> {
        let threads = self.program.threads.len();
        plan.runs * thread / threads..plan.runs * (thread + 1) / threads
    }

    fn set_up(&self, plan: &Plan, thread: usize) {
        let counters = Layout { locations: self.program.locations.len() }.counters();
        let initial = self.program.locations.iter().map(|location| location.cut(location.init));
        for (location, value) in initial.chain([0]).enumerate() {
            debug_assert!(location <= counters);
            for run in self.share(plan, thread) {
                // SAFETY: the run is in this worker's share, and this is the setup phase (I1).
                unsafe { self.memory.set(Layout::slot(location, run, plan.spread), value) };
            }
        }
    }

    fn execute(&self, plan: &Plan, thread: usize) {
        let entry = self.entries[plan.pace as usize][thread];
        let address = self.code.address(entry).expect("an entry lies within the code").as_ptr();
        // SAFETY: the entry is that of a function that takes a frame and follows the ABI (`compile`, I1).
        let function: extern "C" fn(*const Frame) = unsafe { std::mem::transmute(address) };
        let frame = Frame {
            memory: self.memory.base(),
            results: self.results[thread].base(),
            spread: (plan.spread * size_of::<u64>()) as u64,
            first: plan.first[thread] as u64,
            stride: plan.stride as u64,
            mask: plan.runs as u64 - 1,
            count: plan.runs as u64,
            skew: plan.skew[thread],
            salt: plan.salt[thread],
        };
        if plan.pace != Pace::Together {
            (0..plan.skew[thread]).for_each(|_| std::hint::spin_loop());
        }
        function(&raw const frame);
    }

    /// The number of words of a final state: the locations, then the registers of each thread.
    fn width(&self) -> usize {
        let registers = self.program.threads.iter().map(|thread| thread.registers.len());
        self.program.locations.len() + registers.sum::<usize>()
    }

    fn count(&self, plan: &Plan, thread: usize, tally: &mut Tally) {
        let mut words = vec![0; self.width()];
        for run in self.share(plan, thread) {
            let (memory, mut registers) = words.split_at_mut(self.program.locations.len());
            for (location, word) in memory.iter_mut().enumerate() {
                // SAFETY: the run is in this worker's share, and this is the counting phase (I1).
                *word = unsafe { self.memory.get(Layout::slot(location, run, plan.spread)) };
            }
            for (thread, results) in self.program.threads.iter().zip(&self.results) {
                let (own, others) = registers.split_at_mut(thread.registers.len());
                for (at, word) in own.iter_mut().enumerate() {
                    // SAFETY: as above (I1).
                    *word = unsafe { results.get(run * thread.registers.len() + at) };
                }
                registers = others;
            }
            tally.add(&words);
        }
    }
}
