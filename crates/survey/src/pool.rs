//! A pool of threads over rings, as small as it can be: a ring of tasks to each worker, and one of results back.
//!
//! # Contract
//! Tasks go to the workers in turn. A worker's results come back in the order of its tasks, so a ticket is the number
//! of its worker, and tickets are redeemed in the order in which they were given. At most [`Pool::new`]'s `room` tasks
//! of a worker are under way. Dropping a pool ends its workers after their last task.
//! # Evidence
//! The test below; `spawn` checks every sum.

use std::thread::JoinHandle;
use uncontended_ring::Sleepers;
use uncontended_ring::spsc::{Consumer, Producer, blocking};
use uncontended_sys::affinity;

/// What a worker does.
pub(crate) type Task = Box<dyn FnOnce() -> u64 + Send>;

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    workers: Vec<Worker>,
    next: usize,
}

#[derive(Debug)]
struct Worker {
    /// None once the pool ends.
    tasks: Option<Producer<Task, Sleepers>>,
    results: Consumer<u64, Sleepers>,
    thread: Option<JoinHandle<()>>,
}

/// A task that was given to a worker.
#[derive(Debug)]
pub(crate) struct Ticket(usize);

impl Pool {
    /// A pool of this many workers with room for this many tasks each, on `cpu` if it is given.
    ///
    /// # Panics
    /// Panics if a thread cannot be made or pinned.
    pub(crate) fn new(workers: usize, room: usize, cpu: Option<usize>) -> Pool {
        let worker = |_| {
            let (tasks, mut given) = blocking::<Task>(room).expect("room for a task");
            let (mut done, results) = blocking(room).expect("room for a result");
            let thread = std::thread::spawn(move || {
                pin(cpu);
                while let Some(task) = given.pop_wait() {
                    if done.push_wait(task()).is_err() {
                        return; // The pool has gone.
                    }
                }
            });
            Worker { tasks: Some(tasks), results, thread: Some(thread) }
        };
        Pool { workers: (0..workers).map(worker).collect(), next: 0 }
    }

    /// Gives a task to the next worker.
    pub(crate) fn spawn(&mut self, task: Task) -> Ticket {
        let at = self.next;
        self.next = (at + 1) % self.workers.len();
        let tasks = self.workers[at].tasks.as_mut().expect("the pool has not ended");
        assert!(tasks.push_wait(task).is_ok(), "a worker ended before its pool");
        Ticket(at)
    }

    /// Waits for the result of a task.
    pub(crate) fn join(&mut self, Ticket(at): Ticket) -> u64 {
        self.workers[at].results.pop_wait().expect("a worker ended before its task")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.tasks = None;
        }
        for thread in self.workers.iter_mut().filter_map(|worker| worker.thread.take()) {
            // A task that panicked has ended its worker, and `join` has said so.
            let _ = thread.join();
        }
    }
}

/// Pins the calling thread, if there is a CPU for it.
///
/// # Panics
/// Panics if the CPU is not allowed any more.
pub(crate) fn pin(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        affinity::pin(cpu)
            .unwrap_or_else(|error| panic!("cannot pin a thread to CPU {cpu}: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_its_own_result_and_is_done_before_the_pool_ends() {
        let mut pool = Pool::new(3, 8, None);
        for round in 0..50 {
            let tickets: Vec<Ticket> =
                (0..20).map(|number| pool.spawn(Box::new(move || round * 100 + number))).collect();
            let results: Vec<u64> = tickets.into_iter().map(|ticket| pool.join(ticket)).collect();
            assert_eq!(results, (0..20).map(|number| round * 100 + number).collect::<Vec<_>>());
        }
        let (sent, done) = std::sync::mpsc::channel();
        let _not_joined = pool.spawn(Box::new(move || sent.send(7).map_or(0, |()| 1)));
        drop(pool);
        assert_eq!(done.try_recv(), Ok(7), "a task that was not joined is done, too");
    }
}
