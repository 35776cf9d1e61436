//! Threads that note their own waits for one of the C library's mutexes, as `unc survey locks` does, and say what these
//! come to: what `unc run` sees of the same program is compared with it.

use std::sync::Barrier;
use std::time::Duration;
use uncontended_survey::ledger::{Ledger, Span};
use uncontended_sys::c_mutex::CMutex;
use uncontended_sys::clock::monotonic_ns;

const THREADS: usize = 3;
const ROUNDS: usize = 100;
/// Long next to what noting and observing cost.
const HELD: Duration = Duration::from_millis(1);

fn main() {
    let (lock, all) = (CMutex::new(0), Barrier::new(THREADS));
    let acquire = || {
        all.wait();
        let mut notes = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let called = monotonic_ns();
            notes.push(lock.with(|count| {
                let acquired = monotonic_ns();
                *count += 1;
                std::thread::sleep(HELD);
                Span { called, acquired, released: monotonic_ns() }
            }));
            std::thread::sleep(HELD / 4);
        }
        notes
    };
    let notes: Vec<Vec<Span>> = std::thread::scope(|threads| {
        let threads: Vec<_> = (0..THREADS).map(|_| threads.spawn(acquire)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let Ledger { acquisitions, wait_ns, idle_ns, .. } = Ledger::of(&notes);
    println!("{acquisitions} {wait_ns} {idle_ns}");
}
