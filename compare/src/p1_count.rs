//! Question: what does it cost to count what threads on several CPUs do?
//!
//! Each operation adds one, or a number that the compiler does not know; in the cases with work, it first writes a cache
//! line. With several threads, each does as many operations. Rivals: a word that only its thread has, as a variable and
//! as a thread-local; an atomic addition to a word for each thread, to one that all share, and to one of the CPU that the
//! C library names. Not measured: sums, cold caches.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_percpu::{Counter, backend};
use uncontended_sys::affinity;

const SHARDS: usize = 64;
const SLOTS: usize = 64;

#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("p1_count", "what it costs to count what several CPUs do")
        .places([Place::TwoCpus])
        .per("addition")
        .ratio(Ratio::Cpu)
        .baseline("thread-local");
    bench = bench.note(&format!("ours: {}", backend()));
    for threads in [1, 4] {
        let with = if threads == 1 { "1 thread" } else { "4 threads" };
        bench = subjects::<0>(bench.case(format!("{with}, nothing else")), threads);
        bench = subjects::<8>(bench.case(format!("{with}, 64 B of work")), threads);
    }
    crate::answer(bench, &options)
}

fn subjects<const WORDS: usize>(bench: Bench, threads: usize) -> Bench {
    thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });
    static OURS: Counter = Counter::new();
    static SHARED: Line = Line(AtomicU64::new(0));
    static SHARDED: [Line; SHARDS] = [const { Line(AtomicU64::new(0)) }; SHARDS];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let sharded = || SHARDED.iter().map(|line| line.0.load(Relaxed)).sum();
    bench
        .subject(
            "thread-local",
            subject::<WORDS, _>(threads, || || OWN.with(|own| bump(own, 1)), None),
        )
        .subject(
            "thread-local, any number",
            subject::<WORDS, _>(
                threads,
                || {
                    let n = black_box(1);
                    move || OWN.with(|own| bump(own, n))
                },
                None,
            ),
        )
        .subject(
            "a variable of the thread",
            subject::<WORDS, _>(
                threads,
                || {
                    let line = black_box(Box::<Line>::default());
                    move || line.0.store(line.0.load(Relaxed) + 1, Relaxed)
                },
                None,
            ),
        )
        .subject(
            "ours, one",
            subject::<WORDS, _>(threads, || || OURS.increment(), Some(|| OURS.sum())),
        )
        .subject(
            "ours, any number",
            subject::<WORDS, _>(
                threads,
                || {
                    let n = black_box(1);
                    move || OURS.add(n)
                },
                Some(|| OURS.sum()),
            ),
        )
        .subject(
            "atomic, a word for each thread",
            subject::<WORDS, _>(
                threads,
                || {
                    let shard = &SHARDED[NEXT.fetch_add(1, Relaxed) % SHARDS];
                    move || _ = shard.0.fetch_add(1, Relaxed)
                },
                Some(sharded),
            ),
        )
        .subject(
            "atomic, by sched_getcpu",
            subject::<WORDS, _>(
                threads,
                || {
                    || {
                        let cpu = affinity::current().unwrap_or(0) as usize % SHARDS;
                        SHARDED[cpu].0.fetch_add(1, Relaxed);
                    }
                },
                Some(sharded),
            ),
        )
        .subject(
            "atomic, shared",
            subject::<WORDS, _>(
                threads,
                || || _ = SHARED.0.fetch_add(1, Relaxed),
                Some(|| SHARED.0.load(Relaxed)),
            ),
        )
}

/// The compiler must store each sum: others of this thread might read it.
#[inline(always)]
fn bump(own: &Cell<u64>, n: u64) {
    let own = black_box(own);
    own.set(own.get() + n);
}

/// A block of this many threads, each of which `prepare`s its operation. The sum must show all of them.
fn subject<const WORDS: usize, C: FnMut()>(
    threads: usize,
    prepare: impl Fn() -> C + Send + Sync + 'static,
    sum: Option<fn() -> u64>,
) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let (n, before) = (block.operations() / threads as u64, sum.map(|sum| sum()));
        let work = || {
            let mut count = prepare();
            let slots: Box<[[AtomicU64; WORDS]; SLOTS]> =
                black_box(Box::new([const { [const { AtomicU64::new(0) }; WORDS] }; SLOTS]));
            for i in 0..n {
                slots[i as usize % SLOTS].iter().for_each(|word| word.store(i, Relaxed));
                count();
            }
        };
        let others = (1..threads).map(|_| Box::new(work) as Box<dyn FnOnce() + Send>).collect();
        if threads == 1 {
            block.measure(work);
        } else {
            block.team(work, others);
        }
        let counted = sum.zip(before).map(|(sum, before)| sum() - before);
        assert!(counted.is_none_or(|counted| counted == n * threads as u64), "additions were lost");
    }
}
