//! The least violation, against all violating executions in all orders, counted independently.

use super::super::core::Core;
use super::super::graph::{EventId, Graph, Kind};
use super::super::growth::Growth;
use super::super::op::Op;
use super::super::runtime::Run;
use super::super::{AtomicU32, Explorer, Memory, Ordering, spawn};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use uncontended_testkit::{Random, repetitions};

#[derive(Clone, Copy, Debug)]
enum Access {
    Load(usize, Ordering),
    Store(usize, Ordering),
    Add(usize, Ordering),
}

type Program = Vec<Vec<Access>>;

fn program(random: &mut Random) -> Program {
    let threads = 2 + random.below(2);
    let longest = if threads == 2 { 3 } else { 2 };
    let access = |random: &mut Random| {
        let (at, strong) = (random.below(2) as usize, random.below(2) == 0);
        match random.below(5) {
            0..2 => Access::Load(at, if strong { Ordering::Acquire } else { Ordering::Relaxed }),
            2..4 => Access::Store(at, if strong { Ordering::Release } else { Ordering::Relaxed }),
            _ => Access::Add(at, if strong { Ordering::SeqCst } else { Ordering::Relaxed }),
        }
    };
    (0..threads).map(|_| (0..1 + random.below(longest)).map(|_| access(random)).collect()).collect()
}

/// The reads of each thread of the program.
fn run(program: &Program) -> Vec<Vec<u32>> {
    let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let threads: Vec<_> = (1..)
        .zip(program)
        .map(|(number, accesses)| {
            let (words, accesses) = (Arc::clone(&words), accesses.clone());
            spawn(move || {
                let mut seen = Vec::new();
                for (at, access) in accesses.into_iter().enumerate() {
                    match access {
                        Access::Load(word, order) => seen.push(words[word].load(order)),
                        Access::Store(word, order) => {
                            words[word].store(number * 10 + at as u32, order)
                        }
                        Access::Add(word, order) => seen.push(words[word].fetch_add(100, order)),
                    }
                }
                seen
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// Every execution of the program: its reads, and its events in the order in which they were run.
fn executions(memory: Memory, program: &Program) -> Vec<(Vec<Vec<u32>>, Graph, Vec<EventId>)> {
    let run_machine = Run::new(Core::new(Growth::new(memory), Explorer::new(memory).limits()));
    let (mut found, mut graph) = (Vec::new(), Graph::default());
    loop {
        let seen = Rc::new(RefCell::new(None));
        let (slot, program) = (Rc::clone(&seen), program.clone());
        run_machine.execute(graph, Box::new(move || drop(slot.replace(Some(run(&program))))));
        let mut core = run_machine.core.borrow_mut();
        assert!(core.stop.is_none());
        found.push((seen.take().unwrap(), core.graph.clone(), core.log.clone()));
        graph = std::mem::take(&mut core.graph);
        let Core { growth, .. } = &mut *core;
        if !growth.next(&mut graph) {
            return found;
        }
    }
}

/// The least count of switches, each old value as two, over every order in which these events may be run.
fn least(graph: &Graph, left: &[EventId], done: &mut Vec<EventId>, spent: usize, best: &mut usize) {
    if spent >= *best {
        return;
    }
    if left.is_empty() {
        *best = spent;
        return;
    }
    let threads: BTreeSet<u8> = left.iter().map(|id| id.thread).collect();
    for thread in threads {
        let id = *left.iter().find(|id| id.thread == thread).unwrap();
        let event = graph.get(id);
        let is_ready = event.from.is_initial()
            || done.contains(&event.from)
            || !matches!(event.kind, Kind::Read | Kind::Thread);
        let begins = id.index == 1 || done.contains(&EventId { index: id.index - 1, ..id });
        if !is_ready || !begins {
            continue;
        }
        let mut events = vec![id];
        if event.exclusive {
            events.push(EventId { index: id.index + 1, ..id });
        }
        let newer = |place: usize| {
            let order = &graph.locations[event.location as usize].order;
            order[place..].iter().any(|write| done.contains(write))
        };
        let is_old = match event.kind {
            Kind::Read => newer(graph.position(event.location, event.from)),
            Kind::Write => newer(graph.position(event.location, id)),
            _ => false,
        };
        // A thread begins with its spawn.
        let is_begin = event.op == Op::Begin;
        let last = done.iter().rev().find(|id| graph.get(**id).op != Op::Begin);
        let switches = !is_begin && last.is_some_and(|last| last.thread != thread);
        let rest: Vec<EventId> = left.iter().copied().filter(|id| !events.contains(id)).collect();
        let length = done.len();
        done.extend(events);
        least(graph, &rest, done, spent + usize::from(switches) + 2 * usize::from(is_old), best);
        done.truncate(length);
    }
}

fn compare(memory: Memory, programs: u64) -> usize {
    let mut compared = 0;
    for seed in 0..programs {
        let program = program(&mut Random(seed));
        let all = executions(memory, &program);
        let outcomes: BTreeSet<_> = all.iter().map(|(seen, ..)| seen.clone()).collect();
        for wrong in outcomes.into_iter().take(4) {
            let mut fewest = usize::MAX;
            for (_, graph, log) in all.iter().filter(|(seen, ..)| *seen == wrong) {
                let end = EventId::new(0, graph.threads[0].len());
                let left: Vec<EventId> = log.iter().copied().filter(|&id| id != end).collect();
                least(graph, &left, &mut Vec::new(), 0, &mut fewest);
            }
            let (body, bad) = (program.clone(), wrong.clone());
            let report = Explorer::new(memory)
                .shrink(5_000)
                .explore(move || assert_ne!(run(&body), bad))
                .unwrap();
            let shrunk = report.violation().expect("one of the outcomes").shrunk.unwrap();
            assert!(shrunk.is_least, "{memory:?} {seed}: {shrunk}: {program:?}");
            assert_eq!(shrunk.to.counted(), fewest, "{memory:?} {seed}: {shrunk}: {program:?}");
            compared += 1;
        }
    }
    compared
}

fn the_fewest_switches_are_found(memory: Memory) {
    let programs = repetitions("random programs shrunk", 12, 1_000);
    let compared = compare(memory, programs);
    println!("{memory:?}: {compared} violations");
    assert!(compared as u64 > programs, "{compared}");
}

#[test]
fn the_fewest_switches_are_found_under_c11() {
    the_fewest_switches_are_found(Memory::C11);
}

#[test]
fn the_fewest_switches_are_found_under_tso() {
    the_fewest_switches_are_found(Memory::Tso);
}

#[test]
fn the_fewest_switches_are_found_under_sc() {
    the_fewest_switches_are_found(Memory::Sc);
}
