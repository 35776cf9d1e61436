//! Question: what does it cost to take a buffer from a free list and to put it back?
//!
//! Each operation takes a buffer of 64 bytes, or allocates one where there is none, writes a word of it, and puts it
//! back. Rivals: a vector that only its thread has; crossbeam's queue; a vector behind a mutex of std's or parking_lot's.
//! Not measured: buffers that one thread frees for another, cold caches.

use crossbeam_queue::SegQueue;
use std::cell::RefCell;
use std::sync::Mutex;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_percpu::{FreeList, Node, backend};

type Buffer = [u64; 8];

const MOST: usize = 64;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("p2_lists", "what a buffer costs that comes from a free list")
        .places([Place::TwoCpus])
        .per("buffer")
        .ratio(Ratio::Cpu)
        .baseline("thread-local");
    bench = bench.note(&format!("ours: {}", backend()));
    for threads in [1, 2, 4] {
        let with = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        bench = subjects(bench.case(with), threads);
    }
    crate::answer(bench, &options)
}

fn subjects(bench: Bench, threads: usize) -> Bench {
    thread_local!(static OWN: RefCell<Vec<Box<Buffer>>> = const { RefCell::new(Vec::new()) });
    static OURS: FreeList<Buffer> = FreeList::new(MOST);
    static QUEUE: SegQueue<Box<Buffer>> = SegQueue::new();
    static LOCKED: Mutex<Vec<Box<Buffer>>> = Mutex::new(Vec::new());
    static PARKED: parking_lot::Mutex<Vec<Box<Buffer>>> = parking_lot::Mutex::new(Vec::new());
    bench
        .subject(
            "thread-local",
            subject(threads, |i| {
                let own = OWN.with_borrow_mut(Vec::pop);
                let own = written(own, i);
                OWN.with_borrow_mut(|list| list.push(own));
            }),
        )
        .subject(
            "ours",
            subject(threads, |i| {
                let mut node = OURS.pop().unwrap_or_else(|| Node::new([0; 8]));
                node[0] = i;
                drop(OURS.push(node));
            }),
        )
        .subject("crossbeam-queue", subject(threads, |i| QUEUE.push(written(QUEUE.pop(), i))))
        .subject(
            "Mutex<Vec>",
            subject(threads, |i| {
                let taken = LOCKED.lock().expect("no holder panics").pop();
                let taken = written(taken, i);
                LOCKED.lock().expect("no holder panics").push(taken);
            }),
        )
        .subject(
            "parking_lot::Mutex<Vec>",
            subject(threads, |i| {
                let taken = PARKED.lock().pop();
                let taken = written(taken, i);
                PARKED.lock().push(taken);
            }),
        )
}

#[inline(always)]
fn written(taken: Option<Box<Buffer>>, i: u64) -> Box<Buffer> {
    let mut buffer = taken.unwrap_or_else(|| Box::new([0; 8]));
    buffer[0] = i;
    buffer
}

/// A block of this many threads, each of which does as many operations.
fn subject(
    threads: usize,
    operation: impl Fn(u64) + Send + Sync + Copy + 'static,
) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let n = block.operations() / threads as u64;
        let work = move || (0..n).for_each(operation);
        let others = (1..threads).map(|_| Box::new(work) as Box<dyn FnOnce() + Send>).collect();
        if threads == 1 {
            block.measure(work);
        } else {
            block.team(work, others);
        }
    }
}
