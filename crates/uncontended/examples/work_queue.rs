//! A bounded work queue: one thread submits jobs, several share them, and idle workers sleep.
//!
//!     cargo run --release -p uncontended --example work_queue [WORKERS]
//!
//! The jobs are numbers; the work is to count their divisors. The queue holds 64 jobs: if the workers are slower, the
//! submitting thread sleeps too, so memory stays bounded. At the end every job was done once.

use std::error::Error;
use std::thread;
use std::time::Instant;
use uncontended::ring::broadcast::{Consumer, Plan};
use uncontended::wait::Sleepers;

const JOBS: u64 = 20_000;
const QUEUE: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let workers = std::env::args().nth(1).map_or(Ok(3), |argument| argument.parse())?;
    let (mut queue, mut members) = Plan::new(QUEUE).group("workers", workers, &[]).blocking()?;
    let begun = Instant::now();
    let results: Vec<(u64, u64)> = thread::scope(|threads| {
        let handles: Vec<_> = std::iter::from_fn(|| members.take("workers"))
            .map(|jobs| threads.spawn(move || work(jobs)))
            .collect();
        for number in 1..=JOBS {
            queue.push_wait(number).expect("workers live until the queue goes");
        }
        drop(queue); // The workers finish the remaining jobs and end.
        handles.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (jobs, divisors) = results.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    // Each k divides JOBS / k of the numbers.
    assert_eq!((jobs, divisors), (JOBS, (1..=JOBS).map(|k| JOBS / k).sum()));
    println!(
        "{jobs} jobs in {:.0} ms; done by each: {:?}",
        seconds * 1e3,
        results.iter().map(|one| one.0).collect::<Vec<_>>()
    );
    Ok(())
}

/// Does jobs until there are no more; returns their number, and the total number of divisors.
fn work(mut jobs: Consumer<u64, Sleepers>) -> (u64, u64) {
    let mut done = (0, 0);
    while let Some(batch) = jobs.read_wait(1) {
        for &number in &batch {
            done = (done.0 + 1, done.1 + (1..=number).filter(|k| number % k == 0).count() as u64);
        }
        batch.release();
    }
    done
}
