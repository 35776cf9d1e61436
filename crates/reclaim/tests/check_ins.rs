//! Collectors whose fences are check-ins: no thread waits for another's, except in `collect`, which checks in itself.

#![cfg(not(unc_model))]

use std::sync::mpsc::channel;
use std::thread::{scope, spawn};
use std::time::Duration;
use uncontended_fence::{Fences, Quiescent};
use uncontended_reclaim::epoch::Collector;
use uncontended_reclaim::{Garbage, Limits};

const LIMITS: Limits = Limits { objects: 10, bytes: usize::MAX };

/// Runs `test`, which must end within a minute.
fn with_an_alarm(test: impl FnOnce() + Send + 'static) {
    let (ended, has_ended) = channel();
    let test = spawn(move || {
        test();
        ended.send(()).unwrap();
    });
    if has_ended.recv_timeout(Duration::from_secs(60)).is_err() {
        assert!(test.is_finished(), "the test hangs");
    }
    test.join().unwrap();
}

/// A collector for threads that are registered with `threads`.
fn collector_of(threads: &'static Quiescent) -> Collector {
    // SAFETY: each thread of these tests that pins is registered, and online then.
    Collector::with_fences(LIMITS, unsafe { Fences::by_check_in(threads) })
}

#[test]
fn threads_that_collect_at_once_do_not_wait_for_each_other() {
    static THREADS: Quiescent = Quiescent::new();
    with_an_alarm(|| {
        let collector = collector_of(&THREADS);
        scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    let mut member = THREADS.register();
                    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
                        collector.pin().retire(Box::new(1));
                        collector.collect().unwrap();
                    }
                    member.offline(|| ());
                });
            }
        });
        while collector.collect().unwrap().waits.objects > 0 {}
    });
}

/// The other thread checks in only when this one is done.
#[test]
fn no_call_waits_longer_than_it_may_for_a_thread_that_does_not_check_in() {
    static THREADS: Quiescent = Quiescent::new();
    with_an_alarm(|| {
        let (collector, (online, is_online)) = (collector_of(&THREADS), channel());
        let (end, ends) = channel::<()>();
        scope(|threads| {
            threads.spawn(move || {
                let _member = THREADS.register();
                online.send(()).unwrap();
                ends.recv().unwrap();
            });
            is_online.recv().unwrap();
            let _member = THREADS.register();
            let ticket = collector.ticket();
            assert_eq!(ticket.wait_for(Duration::from_millis(10)), Ok(false));
            let weight = Garbage { objects: 1_000, bytes: 8_000 };
            (0..weight.objects).for_each(|_| collector.pin().retire(Box::new(1_u64)));
            assert_eq!((collector.garbage(), collector.stalled()), (weight, vec![]));
            assert_eq!(ticket.wait_for(Duration::ZERO), Ok(false));
            end.send(()).unwrap();
            assert_eq!(ticket.wait_for(Duration::MAX), Ok(true));
            assert_eq!(collector.collect().unwrap().waits.objects, 0);
        });
    });
}
