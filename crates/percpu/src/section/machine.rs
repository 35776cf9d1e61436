//! The sections for the checker: the same steps, on CPUs that preempt.
//!
//! # State
//! A machine has CPUs, each with the thread that was on it last. A thread enters its CPU where a section begins. At
//! each step it must still be that thread, and on that CPU: else it was preempted or migrated, and starts again. A step
//! and this check are one, as in the kernel, under a mutex of the CPU, which also stands for what a switch of threads
//! orders. [`restart`] removes a CPU's thread. A thread can move to the next CPU before any step.
//!
//! # Invariants
//! I1: that of the parent module, about the cells.
//! I2: a node that a step reads is in the list: it was taken out by no one since, or the step is not taken.

use super::{End, LOCKED, Link, Popped};
use crate::backend::Why;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;
use uncontended_atomic::Ordering::{Relaxed, Release};
use uncontended_atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Mutex, choose, thread_number,
};

const MOST_THREADS: usize = 8;
/// How often a section is aborted by other threads, at most.
const MOST_ABORTED: u32 = 2;

struct Machine {
    /// The thread that was last on each CPU.
    cpus: Vec<Mutex<Option<u32>>>,
    /// The decision of `shape.rs`, and whether what it says is known: to sections, where a thread's area is.
    decided: AtomicU32,
    is_known: AtomicBool,
    /// By thread: its CPU, and how often it may still move by itself.
    threads: [Cell<(u32, u32)>; MOST_THREADS],
}

thread_local! {
    // Explored threads share the thread-locals of the exploring thread.
    static MACHINE: RefCell<Option<Rc<Machine>>> = const { RefCell::new(None) };
}

/// Begins a scenario on a machine with this many CPUs, all threads on the first. Without CPUs, there are no sections.
pub fn boot(cpus: u32) {
    let machine = Machine {
        cpus: (0..cpus).map(|_| Mutex::new(None)).collect(),
        decided: AtomicU32::new(0),
        is_known: AtomicBool::new(false),
        threads: [const { Cell::new((0, 0)) }; MOST_THREADS],
    };
    MACHINE.set(Some(Rc::new(machine)));
}

/// Moves the calling thread to that CPU; afterwards it may move by itself this often, at any step of a section.
pub fn migrate(cpu: u32, moves: u32) {
    machine().threads[thread_number() as usize].set((cpu, moves));
}

fn machine() -> Rc<Machine> {
    MACHINE.with_borrow(|machine| machine.clone().expect("the scenario boots a machine"))
}

impl Machine {
    fn at(&self) -> u32 {
        self.threads[thread_number() as usize].get().0
    }

    fn may_move(&self) {
        let here = &self.threads[thread_number() as usize];
        let (cpu, moves) = here.get();
        if moves > 0 && choose(2) == 1 {
            here.set(((cpu + 1) % self.cpus.len() as u32, moves - 1));
        }
    }
}

/// An attempt at a section: a thread on a CPU.
struct Attempt<'m> {
    machine: &'m Machine,
    cpu: u32,
    /// Whether no other thread can preempt it.
    is_last: bool,
}

impl Attempt<'_> {
    /// Takes one step, unless the thread was preempted or has moved: then the kernel aborts the section before it.
    fn step<T>(&self, step: impl FnOnce() -> T) -> Option<T> {
        self.machine.may_move();
        if self.is_last {
            return (self.machine.at() == self.cpu).then(step);
        }
        let on = self.machine.cpus[self.cpu as usize].lock().unwrap();
        (*on == Some(thread_number()) && self.machine.at() == self.cpu).then(step)
    }
}

/// Attempts a section until it has an end. No other thread preempts the last attempt: two that preempt each other
/// forever have no end to explore.
fn section<R>(steps: impl Fn(&Attempt<'_>) -> Option<R>) -> R {
    let machine = &*machine();
    assert!(machine.is_known.load(Relaxed), "a section begins before its area is known");
    for aborted in 0.. {
        let cpu = machine.at();
        let mut on = machine.cpus[cpu as usize].lock().unwrap();
        *on = Some(thread_number());
        let is_last = aborted >= MOST_ABORTED;
        let _kept = is_last.then_some(on);
        if let Some(end) = steps(&Attempt { machine, cpu, is_last }) {
            return end;
        }
    }
    unreachable!("an attempt without an end is left or committed")
}

/// Runs `f` on the word of the decision.
pub(crate) fn with_decision<R>(f: impl FnOnce(&AtomicU32) -> R) -> R {
    f(&machine().decided)
}

pub(crate) fn decide() -> Result<u32, Why> {
    let machine = machine();
    machine.is_known.store(true, Relaxed);
    match machine.cpus.len() {
        0 => Err(Why::Cpus),
        cpus => Ok(cpus as u32),
    }
}

pub(crate) fn restart(cpu: Option<u32>) -> Result<(), i32> {
    for (number, on) in machine().cpus.iter().enumerate() {
        if cpu.is_none_or(|cpu| cpu as usize == number) {
            *on.lock().unwrap() = None;
        }
    }
    Ok(())
}

pub(crate) fn cpu() -> u32 {
    let machine = machine();
    let cpu = machine.at();
    machine.may_move();
    cpu
}

/// # Safety
/// I1, about a CPU of the machine.
unsafe fn cell<'c, T>(cells: NonNull<CachePadded<T>>, cpu: u32) -> &'c T {
    // SAFETY: I1.
    let cell = unsafe { cells.add(cpu as usize) };
    // SAFETY: I1.
    unsafe { cell.as_ref() }
}

pub(crate) unsafe fn increment(cells: NonNull<CachePadded<AtomicU64>>) -> End {
    // SAFETY: I1.
    unsafe { add(cells, 1) }
}

pub(crate) unsafe fn add(cells: NonNull<CachePadded<AtomicU64>>, n: u64) -> End {
    section(|attempt| {
        // SAFETY: I1.
        let cell = unsafe { cell(cells, attempt.cpu) };
        let sum = attempt.step(|| cell.load(Relaxed))? + n;
        attempt.step(|| cell.store(sum, Relaxed))?;
        Some(End::Committed)
    })
}

pub(crate) unsafe fn compare_and_store(word: &AtomicU64, cpu: u32, expected: u64, new: u64) -> End {
    section(|attempt| {
        if attempt.cpu != cpu {
            return Some(End::Elsewhere);
        }
        if attempt.step(|| word.load(Relaxed))? != expected {
            return Some(End::Differs);
        }
        attempt.step(|| word.store(new, Relaxed))?;
        Some(End::Committed)
    })
}

pub(crate) unsafe fn store_if(owner: &AtomicU64, claim: u64, word: &AtomicU64, value: u64) -> End {
    section(|attempt| {
        if attempt.step(|| owner.load(Relaxed))? != claim {
            return Some(End::Differs);
        }
        // EDGE stored (release)
        attempt.step(|| word.store(value, Release))?;
        Some(End::Committed)
    })
}

pub(crate) unsafe fn push(
    cells: NonNull<CachePadded<AtomicPtr<Link>>>,
    node: NonNull<Link>,
    most: usize,
) -> End {
    section(|attempt| {
        // SAFETY: I1.
        let list = unsafe { cell(cells, attempt.cpu) };
        // SAFETY: a node that is the caller's own, so it lives (I2).
        let own = unsafe { node.as_ref() };
        let head = attempt.step(|| list.load(Relaxed))?;
        if head == LOCKED {
            return Some(End::Elsewhere);
        }
        // SAFETY: null, or a node (I2).
        let depth = attempt
            .step(|| unsafe { head.as_ref() }.map_or(0, |first| first.depth.load(Relaxed)))?;
        if depth >= most {
            return Some(End::Full);
        }
        own.depth.store(depth + 1, Relaxed);
        own.next.store(head, Relaxed);
        attempt.step(|| list.store(node.as_ptr(), Relaxed))?;
        Some(End::Committed)
    })
}

pub(crate) unsafe fn pop(cells: NonNull<CachePadded<AtomicPtr<Link>>>) -> Popped {
    section(|attempt| {
        // SAFETY: I1.
        let list = unsafe { cell(cells, attempt.cpu) };
        let head = attempt.step(|| list.load(Relaxed))?;
        if head == LOCKED {
            return Some(Popped::Elsewhere);
        }
        let Some(node) = NonNull::new(head) else { return Some(Popped::Empty) };
        // SAFETY: a node (I2).
        let next = attempt.step(|| unsafe { node.as_ref() }.next.load(Relaxed))?;
        attempt.step(|| list.store(next, Relaxed))?;
        Some(Popped::Node(node))
    })
}
