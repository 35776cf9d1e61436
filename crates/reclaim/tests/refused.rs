//! Membarrier that is refused after it worked, to one thread: that thread frees nothing and loses nothing, and another
//! one frees what it retired.

#![cfg(all(target_os = "linux", not(any(unc_model, unc_portable, miri))))]

use std::thread::scope;
use std::time::Duration;
use uncontended_fence::{Backend, backend};
use uncontended_reclaim::epoch::Collector;
use uncontended_reclaim::hazard::Domain;
use uncontended_reclaim::{Limits, Refused};
use uncontended_testkit::skip;

const LIMITS: Limits = Limits { objects: 4, bytes: usize::MAX };

/// Runs `retire` in a thread to which membarrier is forbidden.
fn without_membarrier(retire: impl FnOnce() + Send) {
    scope(|threads| {
        threads.spawn(|| {
            uncontended_sys::filter::forbid(libc::SYS_membarrier, libc::EPERM as u16).unwrap();
            retire();
        });
    });
}

fn assert_refused<T>(result: Result<T, Refused>) {
    assert_eq!(result.err().map(|refused| refused.errno), Some(libc::EPERM));
}

/// One test: a barrier that another thread runs meanwhile would serve the one to which it is forbidden.
#[test]
fn garbage_waits_for_a_thread_that_has_barriers() {
    if let Backend::FullFences(refused) = backend() {
        return skip!("garbage_waits_for_a_thread_that_has_barriers", "{refused}");
    }
    let domain = Domain::with_limits(LIMITS);
    without_membarrier(|| {
        (0..10).for_each(|value| domain.retire(Box::new(value)));
        assert_refused(domain.collect());
        assert_eq!(domain.garbage().objects, 10);
    });
    assert_eq!(domain.collect().unwrap().freed.objects, 10);

    let collector = Collector::with_limits(LIMITS);
    without_membarrier(|| {
        let before = collector.ticket();
        (0..100).for_each(|value| collector.pin().retire(Box::new(value)));
        assert_refused(collector.collect());
        assert_refused(before.wait_for(Duration::ZERO));
        assert_eq!((collector.garbage().objects, before.is_over()), (100, false));
    });
    let ticket = collector.ticket();
    assert_eq!(collector.collect().unwrap().freed.objects, 100);
    assert!(ticket.is_over());
}
