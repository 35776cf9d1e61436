//! Threads that wait until all others are done which they had told to begin, as for a latch or a count of jobs.
//!
//! # Contract
//! The last of the others wakes the one that waits: the record has that one alone. Had it come earlier, the waiter
//! would have waited for the rest. [`History::add_countdowns`] takes a thread to wait for all of them where one of
//! those that it had woken together ended its wait, and the rest had nothing to do any more in nearly all such cases:
//! they waited again, or had ended.
//! # Evidence
//! The tests below; `tests/programs/phases.c`, mode `counts`.

use super::History;
use std::collections::BTreeMap;

/// Fewer waits show nothing.
const FEWEST: usize = 3;
/// The rest was done in at least this share of the waits.
const NEARLY: f64 = 0.9;

/// Of a thread's wait, what the threads did that it had woken together, besides the one that ended the wait.
struct Counted {
    /// When the wait ended.
    at: u64,
    /// The rest, and when each had nothing to do any more.
    rest: Vec<(usize, u64)>,
}

impl History {
    /// Adds to the threads for which each thread waited those that it had woken together with the one that ended its
    /// wait. `ends`: when the threads ended; none if that is unknown.
    pub(crate) fn add_countdowns(&mut self, ends: &[Option<u64>]) {
        let woken = self.woken_together();
        for number in 0..self.threads.len() {
            let counted = self.counted(number, &woken, ends);
            let is_done = |of: &&Counted| of.rest.iter().all(|&(_, done)| done <= of.at);
            let done = counted.iter().filter(is_done).count();
            if done < FEWEST || (done as f64) < NEARLY * counted.len() as f64 {
                continue;
            }
            let joined = counted
                .iter()
                .filter(is_done)
                .flat_map(|of| of.rest.iter().map(|&(thread, done)| (of.at, thread, done)));
            self.threads[number].joined.extend(joined);
        }
    }

    /// The threads that each wakeup woke, by the thread that made it, and when.
    fn woken_together(&self) -> BTreeMap<(usize, u64), Vec<usize>> {
        let mut woken: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let paced = thread.waits.iter().filter(|wait| wait.paced);
            for by in paced.filter_map(|wait| wait.by) {
                woken.entry(by).or_default().push(number);
            }
        }
        woken
    }

    /// The waits of a thread that one of several threads ended which it had woken together.
    fn counted(
        &self,
        number: usize,
        woken: &BTreeMap<(usize, u64), Vec<usize>>,
        ends: &[Option<u64>],
    ) -> Vec<Counted> {
        let paced = self.threads[number].waits.iter().filter(|wait| wait.paced && !wait.meets);
        let of = paced.filter_map(|wait| {
            let (by, at) = wait.by?;
            let waits = &self.threads.get(by)?.waits;
            let before = waits.partition_point(|own| own.ended <= at);
            let told = waits[..before].iter().rev().find(|own| own.paced)?.by?;
            if told.0 != number {
                return None;
            }
            let others = woken.get(&told)?.iter().filter(|&&other| other != by);
            let rest = others.map(|&other| Some((other, self.done(other, told, ends)?)));
            let rest: Vec<(usize, u64)> = rest.collect::<Option<_>>()?;
            (!rest.is_empty()).then_some(Counted { at: wait.ended, rest })
        });
        of.collect()
    }

    /// When a thread that was `told` to begin next waited for others, or ended.
    fn done(&self, thread: usize, told: (usize, u64), ends: &[Option<u64>]) -> Option<u64> {
        let waits = &self.threads[thread].waits;
        let begun = waits.iter().position(|wait| wait.by == Some(told))?;
        let next = waits[begun + 1..].iter().find(|wait| wait.paced);
        next.map_or(ends.get(thread).copied().flatten(), |next| Some(next.began))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Thread, Wait};
    use super::History;

    fn wait(began: u64, ended: u64, by: (usize, u64)) -> Wait {
        let (lock, by) = (Some(0), Some(by));
        Wait {
            began,
            ended,
            lock,
            by,
            by_stack: 0,
            free: 0,
            excludes: false,
            meets: false,
            paced: true,
        }
    }

    /// Thread 0 tells two others to begin at 100, 200, and so on. Thread 1 works for 90, then wakes thread 0; thread 2
    /// works for as long as `other` says.
    fn history(phases: u64, other: impl Fn(u64) -> u64) -> History {
        let told = |n: u64| (0, 100 * n);
        let of = |works: &dyn Fn(u64) -> u64| {
            let begun = |n: u64| if n == 1 { 1 } else { 100 * (n - 1) + works(n - 1) };
            let waits = (1..=phases).map(|n| wait(begun(n), 100 * n, told(n)));
            Thread { waits: waits.collect(), ..Thread::default() }
        };
        let main = (1..=phases).map(|n| wait(100 * n + 1, 100 * n + 92, (1, 100 * n + 90)));
        let main = Thread { waits: main.collect(), ..Thread::default() };
        History { from: 0, threads: vec![main, of(&|_| 90), of(&other)] }
    }

    fn joined(mut history: History) -> Vec<(u64, usize, u64)> {
        history.add_countdowns(&[None, Some(490), Some(470)]);
        history.threads[0].joined.clone()
    }

    #[test]
    fn a_thread_waits_for_all_that_it_told_to_begin() {
        let of = |n: u64, done: u64| (100 * n + 92, 2, 100 * n + done);
        let expected = [of(1, 50), of(2, 50), of(3, 50), of(4, 70)];
        assert_eq!(joined(history(4, |_| 50)), expected, "the last time until its end");
    }

    #[test]
    fn of_one_that_often_is_not_done_it_waits_for_the_other_alone() {
        assert_eq!(joined(history(4, |n| if n == 2 { 95 } else { 50 })), []);
        assert_eq!(joined(history(2, |_| 50)), [], "two phases show nothing");
    }

    #[test]
    fn it_waits_for_none_that_others_told() {
        let mut of = history(4, |_| 50);
        for thread in &mut of.threads[1..] {
            thread.waits.iter_mut().for_each(|wait| wait.by = wait.by.map(|(_, at)| (3, at)));
        }
        of.threads.push(Thread::default());
        assert_eq!(joined(of), []);
    }
}
