//! A reader that sleeps while others change a stack, or a map that is mostly read: hazard pointers keep their bound,
//! epochs report what waits, and both name the reader. The structures are those of the examples.

#![cfg(not(any(unc_model, miri)))]

#[allow(dead_code, reason = "an example, which has a main function")]
#[path = "../examples/read_mostly_map.rs"]
mod map;
#[allow(dead_code, reason = "an example, which has a main function")]
#[path = "../examples/stack.rs"]
mod stack;

use map::Directory;
use stack::{Node, Stack};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_reclaim::epoch::Collector;
use uncontended_reclaim::hazard::Hazard;
use uncontended_reclaim::{Life, Limits};
use uncontended_testkit::repetitions;

const LIMITS: Limits = Limits { objects: 100, bytes: usize::MAX };

type Value = [u8; 1_000];

const VALUE: Value = [7; 1_000];

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

/// The reader sleeps in the middle of a look at the first node, which another thread pops meanwhile.
#[test]
fn a_stack_keeps_its_bound_under_a_sleeping_reader() {
    const BYTES: usize = size_of::<Node<Value>>();
    let stack = Stack::new(LIMITS);
    (0..2).for_each(|_| stack.push(VALUE));
    let read = |sleep: &dyn Fn()| {
        let mut hazard = Hazard::new();
        let first = hazard.protect_raw(&stack.head);
        // SAFETY: on the stack when the hazard protected it.
        let next = unsafe { (*first).next };
        sleep();
        // SAFETY: the hazard still protects it, and is not used again.
        assert_eq!((next, next.is_null()), (unsafe { (*first).next }, false));
    };
    let retire = || {
        assert_eq!(stack.pop(&mut Hazard::new()), Some(VALUE));
        stack.push(VALUE);
        assert!(stack.garbage.garbage().objects <= stack.garbage.bound(1));
    };
    under_a_sleeper("a_stack_keeps_its_bound_under_a_sleeping_reader", read, retire, |retired| {
        let collected = stack.garbage.collect().unwrap();
        assert!(retired > 1 && (collected.waits.objects, collected.waits.bytes) == (1, BYTES));
        let held = stack.garbage.held();
        let [held] = &held[..] else { panic!("{held:?}") };
        assert_eq!((held.by.name.as_deref(), held.by.life), (Some("sleeper"), Life::Exists));
        assert_eq!(held.bytes, BYTES);
        assert!(held.since > Duration::from_millis(100), "{held:?}");
        let said = held.to_string();
        let kept = format!("has kept {BYTES} bytes for");
        assert!(said.contains("'sleeper'") && said.contains(&kept), "{said}");
        #[cfg(target_os = "linux")]
        assert!(held.by.tid > 0);
    });
    assert_eq!(stack.garbage.collect().unwrap().waits.objects, 0);
    assert!(stack.garbage.held().is_empty());
}

#[test]
fn a_map_names_the_sleeping_reader_and_what_waits() {
    /// A map of one name, as `insert` weighs it.
    const BYTES: usize =
        size_of::<BTreeMap<String, u64>>() + "count".len() + size_of::<(String, u64)>();
    let (directory, count) = (Directory::new(LIMITS), AtomicU64::new(0));
    let Directory { entries, collector, .. } = &directory;
    directory.insert("count", 0);
    collector.collect().unwrap();
    let read = |sleep: &dyn Fn()| {
        let guard = collector.pin();
        let snapshot = entries.load(&guard).unwrap();
        sleep();
        assert_eq!(snapshot.get("count"), Some(&0));
    };
    let retire = || {
        let last = count.fetch_add(1, Relaxed) + 1;
        directory.insert("count", last);
        assert_eq!(directory.find("count"), Some(last));
    };
    under_a_sleeper("a_map_names_the_sleeping_reader_and_what_waits", read, retire, |retired| {
        let collected = collector.collect().unwrap();
        let stalled = collector.stalled();
        let [stalled] = &stalled[..] else { panic!("{stalled:?}") };
        assert_eq!((stalled.reader.name.as_deref(), stalled.behind), (Some("sleeper"), 1));
        assert_eq!((stalled.reader.life, stalled.holds), (Life::Exists, collected.waits));
        assert_eq!(stalled.holds.objects as u64, retired);
        assert_eq!(stalled.holds.bytes, BYTES * stalled.holds.objects);
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
    collector.pin().retire(Box::new(VALUE));
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
