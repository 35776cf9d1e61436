//! A reader that sleeps while others retire: hazard pointers keep their bound, epochs report what waits, and both name
//! the reader.

#![cfg(not(any(unc_model, miri)))]

use std::sync::mpsc::channel;
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};
use uncontended_reclaim::epoch::{self, Collector};
use uncontended_reclaim::hazard::{self, Domain};
use uncontended_reclaim::{Life, Limits};
use uncontended_testkit::repetitions;

const LIMITS: Limits = Limits { objects: 100, bytes: usize::MAX };
const OBJECT: usize = 1_000;

type Object = [u8; OBJECT];

fn object() -> Box<Object> {
    Box::new([7; OBJECT])
}

/// Retires under a sleeping reader for a time; then it looks, and wakes the reader.
fn under_a_sleeper(
    test: &str,
    read: impl FnOnce(&dyn Fn()) + Send,
    retire: impl Fn(),
    look: impl FnOnce(u64),
) {
    let length = Duration::from_millis(repetitions(test, 300, 10_000));
    let ((asleep, is_asleep), (wake, is_woken)) = (channel::<()>(), channel::<()>());
    scope(|threads| {
        let sleep = move || {
            asleep.send(()).unwrap();
            is_woken.recv().unwrap();
        };
        let reader = Builder::new().name("sleeper".into());
        reader.spawn_scoped(threads, move || read(&sleep)).unwrap();
        is_asleep.recv().unwrap();
        let (begun, mut retired) = (Instant::now(), 0);
        while begun.elapsed() < length {
            (0..100).for_each(|_| retire());
            retired += 100;
            // Epochs would fill the memory.
            std::thread::sleep(Duration::from_millis(1));
        }
        look(retired);
        wake.send(()).unwrap();
    });
}

#[test]
fn hazards_keep_their_bound_under_a_sleeping_reader() {
    let (domain, cell) = (Domain::with_limits(LIMITS), hazard::Shared::new(object()));
    let read = |sleep: &dyn Fn()| {
        let guard = cell.guard().unwrap();
        sleep();
        assert_eq!(*guard, [7; OBJECT]);
    };
    let retire = || {
        cell.replace(Some(object()), &domain);
        assert!(domain.garbage().objects <= domain.bound(1));
    };
    under_a_sleeper("hazards_keep_their_bound_under_a_sleeping_reader", read, retire, |retired| {
        let collected = domain.collect().unwrap();
        assert!(retired > collected.waits.objects as u64);
        let held = domain.held();
        let [held] = &held[..] else { panic!("{held:?}") };
        assert_eq!((held.by.name.as_deref(), held.by.life), (Some("sleeper"), Life::Exists));
        assert_eq!(held.bytes, OBJECT);
        assert!(held.since > Duration::from_millis(100), "{held:?}");
        let said = held.to_string();
        assert!(said.contains("'sleeper'") && said.contains("has kept 1000 bytes for"), "{said}");
        #[cfg(target_os = "linux")]
        assert!(held.by.tid > 0);
    });
    assert_eq!(domain.collect().unwrap().waits.objects, 0);
    assert!(domain.held().is_empty());
}

#[test]
fn epochs_name_the_sleeping_reader_and_what_waits() {
    let collector = Collector::with_limits(LIMITS);
    let cell = epoch::Shared::new(object(), &collector);
    let read = |sleep: &dyn Fn()| {
        let guard = collector.pin();
        let object = cell.load(&guard).unwrap();
        sleep();
        assert_eq!(*object, [7; OBJECT]);
    };
    let retire = || cell.replace(Some(object()), &collector.pin());
    under_a_sleeper("epochs_name_the_sleeping_reader_and_what_waits", read, retire, |retired| {
        let collected = collector.collect().unwrap();
        let stalled = collector.stalled();
        let [stalled] = &stalled[..] else { panic!("{stalled:?}") };
        assert_eq!((stalled.reader.name.as_deref(), stalled.behind), (Some("sleeper"), 1));
        assert_eq!((stalled.reader.life, stalled.holds), (Life::Exists, collected.waits));
        assert_eq!(stalled.holds.objects as u64, retired);
        assert_eq!(stalled.holds.bytes, OBJECT * stalled.holds.objects);
        assert!(stalled.since > Duration::from_millis(100), "{stalled:?}");
        let said = stalled.to_string();
        assert!(said.contains("'sleeper'") && said.contains(" objects of "), "{said}");
    });
    assert_eq!(collector.collect().unwrap().waits.objects, 0);
    assert!(collector.stalled().is_empty());
}

/// A guard that is leaked keeps everything, after its thread has ended too, and is named.
#[test]
fn a_guard_that_was_leaked_by_a_thread_that_ended_is_named() {
    let collector = Collector::new();
    scope(|threads| {
        let leaker = Builder::new().name("leaker".into());
        leaker.spawn_scoped(threads, || std::mem::forget(collector.pin())).unwrap();
    });
    collector.pin().retire(object());
    // A scope's end does not wait for a thread's own.
    let named = || {
        assert_eq!(collector.collect().unwrap().waits.objects, 1);
        let stalled = collector.stalled().pop().expect("the leaked guard");
        assert_eq!(stalled.reader.name.as_deref(), Some("leaker"));
        stalled.reader
    };
    let begun = Instant::now();
    while named().life != Life::Ended {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(named().to_string().ends_with("which has ended"), "{}", named());
}
