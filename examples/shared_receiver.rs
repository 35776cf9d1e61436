//! Two workers take jobs from one receiver behind a mutex, or each from a channel of its own:
//!
//!     rustc -O -g --edition 2024 examples/shared_receiver.rs
//!     unc run -- ./shared_receiver
//!     unc compare --claim equivalent --margin 5% -- ./shared_receiver './shared_receiver apart'

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const JOBS: usize = 4_000;

/// Computes for 100 µs.
fn job() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_micros(100) {}
}

fn shared() {
    let (sender, receiver) = mpsc::channel();
    let receiver = &Mutex::new(receiver);
    let next = move || receiver.lock().unwrap().recv();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                while next().is_ok() {
                    job()
                }
            });
        }
        (0..JOBS).for_each(|number| sender.send(number).unwrap());
        drop(sender);
    });
}

fn apart() {
    thread::scope(|scope| {
        let senders = [0, 1].map(|_| {
            let (sender, receiver) = mpsc::channel::<usize>();
            scope.spawn(move || receiver.iter().for_each(|_| job()));
            sender
        });
        (0..JOBS).for_each(|number| senders[number % 2].send(number).unwrap());
    });
}

fn main() {
    if std::env::args().nth(1).is_some() { apart() } else { shared() }
}
