//! Threads that check in, block, end, forget that they are registered, or fork.

#![cfg(not(unc_model))]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use uncontended_fence::{Backend, Fences, Latency, Light, Quiescent};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(60);

fn fences(threads: &'static Quiescent) -> Fences {
    // SAFETY: no test runs a light fence in a thread that is not registered.
    unsafe { Fences::by_check_in(threads) }
}

#[test]
fn a_ticket_waits_for_every_thread_that_is_online() {
    static THREADS: Quiescent = Quiescent::new();
    let fences = fences(&THREADS);
    assert!(fences.ticket().is_complete(), "no thread is registered");
    let (to_member, orders) = mpsc::channel::<bool>();
    let (done, is_done) = mpsc::channel();
    let member = thread::spawn(move || {
        let mut member = THREADS.register();
        done.send(()).unwrap();
        while let Ok(is_blocking) = orders.recv() {
            if is_blocking {
                member.offline(|| {
                    done.send(()).unwrap();
                    orders.recv().unwrap()
                });
                fences.light();
            } else {
                member.check_in();
            }
            done.send(()).unwrap();
        }
    });
    is_done.recv().unwrap();
    let first = fences.ticket();
    assert!(!first.wait_for(SHORT).unwrap() && !first.is_complete());
    to_member.send(false).unwrap();
    is_done.recv().unwrap();
    assert!(first.is_complete(), "it has checked in");
    let second = fences.ticket();
    assert!(first.is_complete() && !second.is_complete());
    to_member.send(true).unwrap();
    is_done.recv().unwrap();
    assert!(second.is_complete() && fences.ticket().is_complete(), "it is offline");
    to_member.send(false).unwrap();
    is_done.recv().unwrap();
    let third = fences.ticket();
    assert!(!third.wait_for(SHORT).unwrap(), "it is back");
    drop(to_member);
    third.wait().unwrap();
    member.join().unwrap();
    assert_eq!(THREADS.members(), 0);
}

#[test]
fn a_panic_while_offline_comes_back_online() {
    static THREADS: Quiescent = Quiescent::new();
    let mut member = THREADS.register();
    let body = std::panic::AssertUnwindSafe(|| member.offline(|| panic!("as it should")));
    assert!(std::panic::catch_unwind(body).is_err());
    assert!(!fences(&THREADS).ticket().is_complete());
    drop(member);
    assert!(fences(&THREADS).ticket().is_complete());
}

#[test]
fn a_forgotten_thread_is_online_until_it_ends() {
    static THREADS: Quiescent = Quiescent::new();
    let (end, is_over) = mpsc::channel::<()>();
    let (done, is_done) = mpsc::channel();
    let forgetful = thread::spawn(move || {
        std::mem::forget(THREADS.register());
        done.send(()).unwrap();
        let _ = is_over.recv();
    });
    is_done.recv().unwrap();
    let ticket = fences(&THREADS).ticket();
    assert!(!ticket.wait_for(SHORT).unwrap());
    drop(end);
    assert!(ticket.wait_for(LONG).unwrap(), "its thread has ended");
    forgetful.join().unwrap();
    assert_eq!(THREADS.members(), 0);
}

#[test]
fn a_registered_thread_does_not_wait_for_itself() {
    static THREADS: Quiescent = Quiescent::new();
    let _member = THREADS.register();
    let _twice = THREADS.register();
    let ticket = fences(&THREADS).ticket();
    assert!(!ticket.is_complete(), "it only looks");
    assert!(ticket.poll().unwrap());
    fences(&THREADS).heavy().unwrap();
    assert_eq!(THREADS.members(), 2);
}

#[test]
fn threads_that_wait_for_each_other_do_not_wait_forever() {
    static THREADS: Quiescent = Quiescent::new();
    let wait = || {
        let _member = THREADS.register();
        (0..200).for_each(|_| fences(&THREADS).heavy().unwrap());
    };
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(wait);
        }
    });
    assert_eq!(THREADS.members(), 0);
}

#[test]
fn it_says_what_it_is_and_costs() {
    static THREADS: Quiescent = Quiescent::new();
    let pair = fences(&THREADS);
    let cost = pair.cost();
    assert_eq!(pair.backend(), Backend::CheckIn);
    assert_eq!((cost.light, cost.latency), (Light::CompilerFence, Latency::Unbounded));
    assert_eq!(
        cost.to_string(),
        "light: no instruction; heavy: until all threads have checked in, interrupts no thread"
    );
}
