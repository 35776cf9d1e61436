//! Programs that wait: the executions of a search without symmetry, sorted into classes independently, against those of
//! a search with it.

use super::super::exploration::{Exploration, Stepped};
use super::super::graph::{EventId, Graph, Kind};
use super::super::results::Code;
use super::super::{
    AtomicU32, Box, Explorer, Memory, Mutex, Ordering, choose, futex_wait, futex_wake, spawn,
    spawn_symmetric, spin_loop, wait_until,
};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use uncontended_testkit::{Random, repetitions};

#[derive(Clone, Copy, Debug)]
enum Do {
    Load(usize, Ordering),
    Store(usize, Ordering),
    Add(usize, Ordering),
    /// Adds 1 under the lock.
    Locked(usize),
    TryLock(usize),
    /// Waits until the word is not 0.
    Until(usize),
    /// Checks twice whether it is.
    Poll(usize),
    Sleep(usize),
    Wake(usize, u32),
    /// Allocates memory, and publishes it to other threads.
    Allocate(usize),
    Choose,
}

type Body = Vec<Do>;

fn body(random: &mut Random, longest: u64) -> Body {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let one = |random: &mut Random| {
        let at = random.below(2) as usize;
        match random.below(18) {
            0..3 => Do::Load(at, random.choose(&[Relaxed, Acquire, SeqCst])),
            3..6 => Do::Store(at, random.choose(&[Relaxed, Release, SeqCst])),
            6..8 => Do::Add(at, random.choose(&[Relaxed, AcqRel, SeqCst])),
            8..11 => Do::Locked(at),
            11 => Do::TryLock(at),
            12 => Do::Until(at),
            13 => Do::Poll(at),
            14 => Do::Sleep(at),
            15 => Do::Wake(at, random.choose(&[1, 9])),
            16 => Do::Allocate(at),
            _ => Do::Choose,
        }
    };
    (0..1 + random.below(longest)).map(|_| one(random)).collect()
}

struct State {
    words: [AtomicU32; 2],
    lock: Mutex<()>,
}

fn run(body: &Body, state: &State) -> Vec<u32> {
    let mut found = Vec::new();
    for it in body {
        match *it {
            Do::Load(at, order) => found.push(state.words[at].load(order)),
            Do::Store(at, order) => state.words[at].store(7, order),
            Do::Add(at, order) => found.push(state.words[at].fetch_add(1, order)),
            Do::Locked(at) => {
                let _held = state.lock.lock().unwrap();
                let value = state.words[at].load(Ordering::Relaxed);
                state.words[at].store(value + 1, Ordering::Relaxed);
            }
            Do::TryLock(at) => {
                if let Ok(_held) = state.lock.try_lock() {
                    found.push(state.words[at].fetch_add(1, Ordering::Relaxed));
                }
            }
            Do::Until(at) => wait_until(|| state.words[at].load(Ordering::Acquire) != 0),
            Do::Poll(at) => {
                if state.words[at].load(Ordering::Acquire) == 0 {
                    spin_loop();
                    found.push(state.words[at].load(Ordering::Acquire));
                }
            }
            Do::Sleep(at) => {
                futex_wait(&state.words[at], 0);
            }
            Do::Wake(at, count) => {
                state.words[at].store(1, Ordering::SeqCst);
                futex_wake(&state.words[at], count);
            }
            Do::Allocate(at) => {
                let own = Box::new(AtomicU32::new(1));
                own.fetch_add(1, Ordering::Relaxed);
                state.words[at].store(own.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            Do::Choose => found.push(choose(2) as u32),
        }
    }
    found
}

/// The threads that are symmetric: 2 to 3 from 1, and one other that may start before or after them.
#[derive(Clone, Debug)]
struct Program {
    count: usize,
    body: Body,
    other: Body,
    first: bool,
}

impl Program {
    fn new(random: &mut Random) -> Program {
        let count = 2 + random.below(2) as usize;
        let longest = if count == 2 { 3 } else { 2 };
        let body = body(random, longest);
        Program { count, body, other: self::body(random, 2), first: random.below(2) == 0 }
    }

    fn group(&self) -> Vec<usize> {
        let begin = if self.first { 2 } else { 1 };
        (begin..begin + self.count).collect()
    }

    fn run(&self) {
        let state =
            Arc::new(State { words: [AtomicU32::new(0), AtomicU32::new(0)], lock: Mutex::new(()) });
        let (theirs, body) = (Arc::clone(&state), self.other.clone());
        let start = move || spawn(move || run(&body, &theirs));
        let mut other = None;
        if self.first {
            other = Some(start.clone()());
        }
        let body = self.body.clone();
        let group = spawn_symmetric(self.count, move || run(&body, &state));
        let other = other.unwrap_or_else(start);
        group.join().unwrap();
        other.join().unwrap();
    }
}

type Class = (Vec<Vec<String>>, Vec<(String, Vec<String>)>);

/// The execution with the threads of `group` named as in `names`.
fn named(graph: &Graph, group: &[usize], names: &[usize]) -> Class {
    let name = |thread: usize| {
        let at = group.iter().position(|&other| other == thread);
        at.map_or(thread, |at| names[at])
    };
    let event = |id: EventId| match id.is_initial() {
        true => "initial".to_owned(),
        false => format!("{}.{}", name(usize::from(id.thread)), id.index),
    };
    let location = |at: u32| {
        graph.locations.get(at as usize).map_or("nowhere".to_owned(), |it| {
            let (by, count) = it.name;
            format!("{:x}+{}.{count}", by & 0xc0, name(usize::from(by & 0x3f)))
        })
    };
    let mut threads = vec![Vec::new(); graph.threads.len()];
    for (id, it) in graph.iter() {
        let from = if it.kind == Kind::Read { event(it.from) } else { String::new() };
        let taken = if it.kind == Kind::Choice { it.value } else { 0 };
        threads[name(usize::from(id.thread))].push(format!(
            "{:?} {} {from} {taken}",
            it.kind,
            location(it.location)
        ));
    }
    let orders = graph.locations.iter().enumerate().map(|(at, it)| {
        (location(at as u32), it.order.iter().map(|&write| event(write)).collect())
    });
    let mut orders: Vec<(String, Vec<String>)> = orders.collect();
    orders.retain(|(_, order)| !order.is_empty());
    orders.sort();
    (threads, orders)
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for &first in items {
        let rest: Vec<usize> = items.iter().copied().filter(|&other| other != first).collect();
        all.extend(permutations(&rest).into_iter().map(|mut rest| {
            rest.insert(0, first);
            rest
        }));
    }
    all
}

/// The classes of the complete executions that a search finds, how many it explores, and whether it holds.
fn classes(program: &Program, explorer: &Explorer) -> (BTreeSet<Class>, u64, bool) {
    let (group, body) = (program.group(), program.clone());
    let namings = permutations(&group);
    let code = Code::new(Rc::new(move || body.run()));
    let mut exploration = Exploration::new(explorer, "test".to_owned(), code);
    let mut classes = BTreeSet::new();
    loop {
        let before = exploration.executions;
        match exploration.step().unwrap_or_else(|diverged| panic!("{diverged}: {program:?}")) {
            Stepped::On => {}
            Stepped::Reached => panic!("too large: {program:?}"),
            Stepped::Over(_) => return (classes, exploration.executions, false),
        }
        if exploration.executions > before {
            let core = exploration.run.core.borrow();
            let class = namings.iter().map(|names| named(&core.graph, &group, names)).min();
            classes.insert(class.expect("there is a naming"));
        }
        if !exploration.advance() {
            return (classes, exploration.executions, true);
        }
    }
}

#[test]
fn classes_of_programs_that_wait_are_each_explored_once() {
    let mut random = Random(0x0_5ea7);
    let (mut all, mut least, mut explored, mut violated) = (0, 0, 0, 0);
    let mut more = [0; 3];
    for _ in 0..repetitions("symmetric programs that wait", 30, 150) {
        let program = Program::new(&mut random);
        for (at, memory) in [Memory::C11, Memory::Tso, Memory::Sc].into_iter().enumerate() {
            let explorer = Explorer::new(memory).leaks(true).shrink(0);
            let (expected, plain, holds) = classes(&program, &explorer.clone().symmetry(false));
            let (found, count, sorted_holds) = classes(&program, &explorer);
            assert_eq!(sorted_holds, holds, "{memory:?}: {program:?}");
            if !holds {
                violated += 1;
                continue;
            }
            let missing = expected.difference(&found).next();
            let counts = (found.len(), expected.len());
            assert!(found == expected, "{memory:?}, {counts:?}: {program:?} misses {missing:?}");
            if count > found.len() as u64 {
                eprintln!("{memory:?}: {count} for {} classes: {program:?}", found.len());
            }
            more[at] += count - found.len() as u64;
            (all, least, explored) = (all + plain, least + expected.len() as u64, explored + count);
        }
    }
    eprintln!("{all} executions, {least} classes, {explored} explored; {violated} violated");
    eprintln!("executions beyond classes under C11, TSO, SC: {more:?}");
    assert!(violated > 0 && all > 2 * least, "{violated} {all} {least}");
    assert_eq!(more[1..], [0, 0]);
}
