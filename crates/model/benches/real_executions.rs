//! Question: how many executions of real code does the checker explore per second, and how many does it complete?
//!
//! The programs of the search benchmarks (readers, lastzero, ainc, SB), written with the stand-ins, under each model;
//! readers of a thread that has first stored n values of its own (long), as large programs do; and symmetric threads
//! that have done so. The unit is executions per second of CPU time.
//! Run: cargo bench -p uncontended-model --bench real_executions
//! Arguments: parts of names of programs, to run only these.
//! Not measured: code with much plain work between its accesses.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{AtomicU32, Explorer, Memory, spawn, spawn_symmetric};

type Program = fn(usize);

/// One thread writes, n read.
fn readers(n: usize) {
    let x = Arc::new(AtomicU32::new(0));
    let writer = Arc::clone(&x);
    let mut threads = vec![spawn(move || writer.store(1, Release))];
    for _ in 0..n {
        let x = Arc::clone(&x);
        threads.push(spawn(move || {
            x.load(Acquire);
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Like `readers(8)`, in executions that are n events longer.
fn long(n: usize) {
    let own = AtomicU32::new(0);
    (0..n as u32).for_each(|value| own.store(value, Relaxed));
    readers(8);
}

/// Thread j stores a[j-1] + 1 to a[j]; the first searches from the top for the highest zero.
fn lastzero(n: usize) {
    let a: Arc<Vec<AtomicU32>> = Arc::new((0..=n).map(|_| AtomicU32::new(0)).collect());
    let top = Arc::clone(&a);
    let mut threads = vec![spawn(move || {
        let mut at = n;
        while at > 0 && top[at].load(Relaxed) != 0 {
            at -= 1;
        }
    })];
    for j in 1..=n {
        let a = Arc::clone(&a);
        threads.push(spawn(move || a[j].store(a[j - 1].load(Relaxed) + 1, Relaxed)));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// n threads add to one word.
fn ainc(n: usize) {
    let x = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let x = Arc::clone(&x);
            spawn(move || {
                x.fetch_add(1, Relaxed);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Thread i stores x_i and loads the next.
fn store_buffering(n: usize) {
    let x: Arc<Vec<AtomicU32>> = Arc::new((0..n).map(|_| AtomicU32::new(0)).collect());
    let threads: Vec<_> = (0..n)
        .map(|i| {
            let x = Arc::clone(&x);
            spawn(move || {
                x[i].store(1, Relaxed);
                x[(i + 1) % n].load(Relaxed);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Three symmetric threads that add to one word, each after n stores of its own.
fn symmetric(n: usize) {
    let x = Arc::new(AtomicU32::new(0));
    let threads = spawn_symmetric(3, move || {
        let own = AtomicU32::new(0);
        (0..n as u32).for_each(|value| own.store(value, Relaxed));
        x.fetch_add(1, Relaxed);
        (0..3).for_each(|_| _ = x.load(Relaxed));
    });
    threads.join().unwrap();
}

/// CPU time of this process so far, since other processes may be running.
fn cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `time` alone.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "every Linux has this clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    println!(
        "{:>14} {:>6} {:>10} {:>8} {:>12}",
        "program", "model", "executions", "blocked", "per second"
    );
    let programs: [(&str, Program, usize); 8] = [
        ("readers(10)", readers, 10),
        ("lastzero(8)", lastzero, 8),
        ("ainc(6)", ainc, 6),
        ("SB(7)", store_buffering, 7),
        ("long(10)", long, 10),
        ("long(900)", long, 900),
        ("symmetric(10)", symmetric, 10),
        ("symmetric(400)", symmetric, 400),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    for (name, program, n) in programs {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part)) {
            continue;
        }
        for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
            let (start, mut explored) = (cpu_s(), 0);
            let report = loop {
                let report =
                    Explorer::new(memory).explore(move || program(n)).expect("no hidden state");
                assert!(report.holds(), "{report}");
                explored += report.executions + report.blocked;
                if cpu_s() - start > 0.3 {
                    break report;
                }
            };
            let rate = explored as f64 / (cpu_s() - start);
            let (executions, blocked) = (report.executions, report.blocked);
            println!(
                "{name:>14} {:>6} {executions:>10} {blocked:>8} {rate:>12.0}",
                format!("{memory:?}")
            );
        }
    }
}
