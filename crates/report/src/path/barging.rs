//! Locks that are taken while other threads wait for them.
//!
//! # Contract
//! A thread that finds a lock free takes it, even if others wait and have been woken: it barges in. What it did before
//! is then not what they wait for. That is the lock: one hold after another, and the time in between when it was
//! free. [`History::add_barging`] adds a thread for each sequence of such holds. It begins at the release before
//! the first of them, does what is done in the holds, and has ended the waits that one of them ended.

use super::{History, Thread, Wait};
use std::collections::{HashMap, HashSet};

/// A hold of a lock that one thread has at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) lock: usize,
    pub(crate) thread: usize,
    pub(crate) code: usize,
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// The waits for one lock: when each began, and the latest end of it and those before.
struct Wanted(Vec<(u64, u64)>);

impl Wanted {
    fn new(mut waits: Vec<(u64, u64)>) -> Self {
        waits.sort_unstable();
        let mut latest = 0;
        for wait in &mut waits {
            latest = wait.1.max(latest);
            wait.1 = latest;
        }
        Wanted(waits)
    }

    /// Whether a thread waited from `from` to `to`.
    fn throughout(&self, from: u64, to: u64) -> bool {
        let before = self.0.partition_point(|&(began, _)| began <= from);
        before.checked_sub(1).is_some_and(|last| self.0[last].1 > to)
    }
}

impl History {
    /// Adds the threads. Without its holds, a lock counts as [`count_barging`](Self::count_barging) says.
    pub(crate) fn add_barging(&mut self, mut holds: Vec<Held>) {
        holds.sort_unstable_by_key(|hold| (hold.lock, hold.began, hold.ended));
        let mut waits: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
        for wait in self.threads.iter().flat_map(|thread| &thread.waits) {
            let of = wait.lock.map(|lock| waits.entry(lock).or_default());
            of.into_iter().for_each(|of| of.push((wait.began, wait.ended)));
        }
        let mut ended_by: HashMap<(usize, usize, u64), usize> = HashMap::new();
        for of_lock in holds.chunk_by(|one, next| one.lock == next.lock) {
            let wanted = Wanted::new(waits.remove(&of_lock[0].lock).unwrap_or_default());
            let mut sequence: Option<usize> = None;
            for pair in of_lock.windows(2) {
                let (before, hold) = (pair[0], pair[1]);
                let is_free = before.ended <= hold.began;
                if !is_free
                    || !wanted.throughout(before.ended, hold.began)
                    || self.has_waited(hold, before.ended)
                {
                    sequence = None;
                    continue;
                }
                let number = *sequence.get_or_insert(self.threads.len());
                self.add_to(number, before, hold);
                ended_by.insert((hold.lock, hold.thread, hold.ended), number);
            }
        }
        self.count_barging_of_others(&holds);
        for wait in self.threads.iter_mut().flat_map(|thread| &mut thread.waits) {
            let (Some(lock), Some((by, at))) = (wait.lock, wait.by) else { continue };
            if let Some(&number) = ended_by.get(&(lock, by, at)) {
                wait.by = Some((number, at));
            }
        }
    }

    /// Counts barging into the locks that have none of these holds.
    pub(crate) fn count_barging_of_others(&mut self, holds: &[Held]) {
        let held: HashSet<usize> = holds.iter().map(|hold| hold.lock).collect();
        self.count_barging(|lock| !held.contains(&lock));
    }

    /// Whether the thread of this hold had waited for the lock, which was free since `free`.
    fn has_waited(&self, hold: Held, free: u64) -> bool {
        let waits = &self.threads[hold.thread].waits;
        let before = waits.partition_point(|wait| wait.ended <= hold.began);
        let mut since = waits[..before].iter().rev().take_while(|wait| wait.ended >= free);
        since.any(|wait| wait.lock == Some(hold.lock))
    }

    /// Adds a hold to a sequence, which `before` precedes if it is new.
    fn add_to(&mut self, number: usize, before: Held, hold: Held) {
        let waits = &self.threads[hold.thread].waits;
        let first = waits.partition_point(|wait| wait.began < hold.began);
        let inside = waits[first..].iter().take_while(|wait| wait.ended <= hold.ended);
        let inside: Vec<Wait> = inside.copied().collect();
        if number == self.threads.len() {
            let creator = Some(before.thread);
            self.threads.push(Thread { start: before.ended, creator, ..Thread::default() });
        }
        let thread = &mut self.threads[number];
        if before.ended < hold.began {
            thread.waits.push(Wait {
                began: before.ended,
                ended: hold.began,
                lock: Some(hold.lock),
                by: Some((before.thread, before.ended)),
                by_stack: 0,
                free: hold.began - before.ended,
                excludes: false,
                meets: false,
                paced: false,
            });
        }
        thread.waits.extend(inside);
        thread.holds.push((hold.code, hold.began, hold.ended));
    }
}
