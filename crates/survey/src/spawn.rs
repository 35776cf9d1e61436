//! What it costs to have something done by another thread: a new one, one with a small stack, or one of a pool.
//!
//! # Contract
//! An operation makes a thread or gives a task away, and takes its result: one after the other, or [`AT_ONCE`] of them
//! before the first is joined. Each block checks that as many were joined as were made, each with its own result.
//! # Sources
//! Document 003: 100,000 detached threads and as many tasks of a runtime, pinned and not; it names no processor.

use crate::pool::{Pool, pin};
use crate::{Class, Plan, Topic};
use std::thread::{Builder, JoinHandle};
use uncontended_bench::{Bench, Block, Cpu, Place};

pub(crate) const QUESTION: &str =
    "what does it cost to spawn and join a thread, or a task of a pool";
/// How many are made before the first is joined, by all spawners together.
const AT_ONCE: usize = 64;
/// The stack of a thread by default, in Rust, and a small one.
const STACK: usize = 2 << 20;
const SMALL_STACK: usize = 16 << 10;
/// With `--full`: rounds, and the least operations of a block: 100,000 of each.
const ROUNDS: u64 = 100;
const LEAST: u64 = 1_000;

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Thread,
    SmallStack,
    Pooled,
}

/// The name of one and of several.
const KINDS: [(&str, &str, Kind); 3] = [
    ("thread", "threads", Kind::Thread),
    ("small thread", "small threads", Kind::SmallStack),
    ("pooled task", "pooled tasks", Kind::Pooled),
];

/// Where those run that make, and those that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// Wherever the scheduler puts them.
    Free,
    /// All on one CPU.
    OneCpu,
    /// A spawner pinned to each CPU, and what it makes on the same one.
    EachCpu,
}

/// A row: what, where, and how many before the first is joined.
#[derive(Clone, Debug)]
struct Way {
    kind: Kind,
    place: Where,
    at_once: usize,
    cpus: Vec<usize>,
}

/// Measures all rows.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let cpus: Vec<usize> =
        Cpu::allowed().unwrap_or_default().iter().map(|cpu| cpu.number).collect();
    let ways = ways(plan, &cpus);
    let mut bench = Bench::new("spawn", QUESTION).places([Place::Free]).per("spawn and join");
    let least = if plan.full { LEAST } else { 1 };
    for (name, way) in &ways {
        let place = if way.place == Where::OneCpu { Place::OneCpu } else { Place::Free };
        let way = way.clone();
        bench = bench.subject_at(place, name, move |block| way.run(block, least));
    }
    let mut options = plan.options();
    if plan.full {
        (options.rounds, options.width) = (ROUNDS, 0.0);
    }
    let report = bench.until(plan.is_over).run(&options);
    let spawners = |name: &str| {
        let way = ways.iter().find(|(own, _)| name.starts_with(own.as_str()));
        way.map_or(1, |(_, way)| way.spawners())
    };
    let mut topic =
        Topic::of(("spawn", QUESTION), &report, |_, name| (spawners(name), Class::Other));
    topic.notes.push(format!("of {AT_ONCE}, all are made before the first is joined; a thread has a stack of 2 MiB, a small one of 16 KiB; the column of threads counts those that spawn"));
    topic.notes.push("measured elsewhere, on a processor that is not named: 100,000 detached threads in 0.9 s on one CPU (9 µs each), about 2 s free (20 µs each); tasks of a runtime in 0.9 s on one CPU, 1.1 s free".to_owned());
    if cpus.len() < 2 {
        topic
            .not_measured
            .push("free, and a spawner on each CPU: only one CPU is allowed".to_owned());
    }
    if !plan.full {
        topic.not_measured.push("100,000 of each: --full measures them".to_owned());
    }
    topic
}

/// The rows, the baseline first.
fn ways(plan: &Plan, cpus: &[usize]) -> Vec<(String, Way)> {
    let most = plan.threads.unwrap_or(usize::MAX);
    let places: &[(&str, Where)] = match cpus.len() {
        0 | 1 => &[("one CPU", Where::OneCpu)],
        _ => &[("free", Where::Free), ("one CPU", Where::OneCpu), ("each CPU", Where::EachCpu)],
    };
    let mut ways = Vec::new();
    for &(place_name, place) in places {
        for (one, many, kind) in KINDS {
            for at_once in [1, AT_ONCE.min(most)] {
                let cpus = cpus[..cpus.len().min(most)].to_vec();
                let made = if at_once > 1 { format!("{at_once} {many}") } else { one.to_owned() };
                let way = Way { kind, place, at_once, cpus };
                ways.push((format!("{place_name}: {made}"), way));
            }
        }
    }
    ways.dedup_by(|one, other| one.0 == other.0);
    ways
}

impl Way {
    fn spawners(&self) -> usize {
        if self.place == Where::EachCpu { self.cpus.len() } else { 1 }
    }

    fn run(&self, block: &mut Block, least: u64) {
        let spawners = self.spawners() as u64;
        let n = block.at_least(least.max(spawners));
        let share = |number: u64| n / spawners + u64::from(number < n % spawners);
        if self.place != Where::EachCpu {
            let mut maker = self.maker(None);
            let joined = block.measure(|| maker.make(n, self.at_once));
            return assert_eq!(joined, n, "not as many were joined as were made");
        }
        let at_once = (self.at_once / self.cpus.len()).max(1);
        let mut joined = vec![0; self.cpus.len()];
        let team = self.cpus.iter().zip(&mut joined).zip(0..).map(|((&cpu, joined), number)| {
            let mut maker = self.maker(Some(cpu));
            let n = share(number);
            Box::new(move || {
                pin(Some(cpu));
                *joined = maker.make(n, at_once);
            }) as Box<dyn FnOnce() + Send>
        });
        block.team(|| {}, team.collect());
        assert_eq!(joined.iter().sum::<u64>(), n, "not as many were joined as were made");
    }

    /// What makes: threads inherit the CPU of the thread that makes them, the workers of a pool were there before.
    fn maker(&self, cpu: Option<usize>) -> Maker {
        let workers = if self.place == Where::Free { self.cpus.len() } else { 1 };
        match self.kind {
            Kind::Thread => Maker::Threads(STACK),
            Kind::SmallStack => Maker::Threads(SMALL_STACK),
            Kind::Pooled => Maker::Pool(Pool::new(workers, self.at_once, cpu)),
        }
    }
}

/// What makes threads or tasks.
#[derive(Debug)]
enum Maker {
    /// New threads with stacks of this size.
    Threads(usize),
    Pool(Pool),
}

impl Maker {
    /// Makes `n`, `at_once` of them before the first is joined; returns how many were joined.
    fn make(&mut self, n: u64, at_once: usize) -> u64 {
        match self {
            Maker::Threads(stack) => batches(
                n,
                at_once,
                |number| thread(*stack, number),
                |thread| thread.join().expect("a thread only returns its number"),
            ),
            Maker::Pool(pool) => {
                // Both closures use the pool, one after the other.
                let pool = std::cell::RefCell::new(pool);
                batches(
                    n,
                    at_once,
                    |number| pool.borrow_mut().spawn(Box::new(move || number)),
                    |ticket| pool.borrow_mut().join(ticket),
                )
            }
        }
    }
}

/// Spawns and joins in batches; counts the results that are their number.
fn batches<H>(n: u64, at_once: usize, spawn: impl Fn(u64) -> H, join: impl Fn(H) -> u64) -> u64 {
    let (mut made, mut joined) = (0, 0);
    let mut handles = Vec::with_capacity(at_once);
    while made < n {
        let end = n.min(made + at_once as u64);
        handles.extend((made..end).map(&spawn));
        for (handle, number) in handles.drain(..).zip(made..end) {
            joined += u64::from(join(handle) == number);
        }
        made = end;
    }
    joined
}

fn thread(stack: usize, number: u64) -> JoinHandle<u64> {
    let made = Builder::new().stack_size(stack).spawn(move || number);
    made.unwrap_or_else(|error| panic!("a thread cannot be made: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_joined_as_were_made_of_every_kind_and_in_every_batch() {
        let cpus: Vec<usize> = Cpu::allowed().unwrap().iter().map(|cpu| cpu.number).collect();
        for (.., kind) in KINDS {
            for place in [Where::Free, Where::OneCpu, Where::EachCpu] {
                let way = Way { kind, place, at_once: 5, cpus: cpus.clone() };
                for n in [1, 4, 5, 6, 23] {
                    assert_eq!(way.maker(Some(cpus[0])).make(n, 5), n, "{way:?}");
                }
            }
        }
    }

    #[test]
    fn a_result_that_is_lost_is_not_counted() {
        let made = std::cell::Cell::new(0);
        let joined = batches(10, 4, |number| made.replace(made.get() + number), |_| 3);
        assert_eq!(
            (joined, made.get()),
            (1, 45),
            "all were made, and only one returned its number"
        );
    }

    #[test]
    fn rows_are_of_the_cpus_that_are_allowed_and_of_the_most_threads() {
        let names = |cpus: &[usize], threads| {
            let plan = Plan { threads, ..Plan::default() };
            ways(&plan, cpus).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[0, 1], None).len(), 18);
        assert!(names(&[3], None).iter().all(|name| name.starts_with("one CPU: ")));
        assert_eq!(names(&[3], Some(1)).len(), 3, "one at once, and not twice");
        let limited = ways(&Plan { threads: Some(2), ..Plan::default() }, &[0, 1, 2, 3]);
        assert!(limited.iter().all(|(_, way)| way.spawners() <= 2 && way.at_once <= 2));
    }
}
