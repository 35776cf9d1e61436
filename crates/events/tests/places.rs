//! Generations of locks, numbers of stacks, arrivals of waiters, and the kernel's list of mappings.

mod common;

use common::{At, ROOM, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::Blocked;
use uncontended_events::maps::{Mapping, Place, Walk};
use uncontended_events::site::Site;
use uncontended_events::waiters::{self, Side, Wait};
use uncontended_events::{generations, stacks};
use uncontended_trace::layout::kind::{MUTEX, SPIN};
use uncontended_trace::layout::{ARRIVALS, Lock, Stack, wants};

#[test]
fn an_address_is_one_lock_until_its_life_ends() {
    let image = image(ROOM);
    let (first, second) = (At::new(recorder(image), 1), At::new(recorder(image), 1));
    let (one, two) = (first.row(64), At { stack: 9, ..second }.row(64));
    assert_eq!(one.lock.first_taken.load(Relaxed), 7, "the first one's stack");
    assert!(std::ptr::eq(one.lock, two.lock) && !std::ptr::eq(one.cell, two.cell));
    generations::destroyed(first.recorder, 64);
    assert!(
        generations::is_dead(one.lock) && generations::known(first.recorder, 64, MUTEX).is_none()
    );
    let next = first.row(64);
    assert_eq!((next.lock.generation.load(Relaxed), generations::is_dead(next.lock)), (1, false));
    generations::created(first, 64, MUTEX);
    assert!(generations::is_dead(next.lock), "created again without an end");
    let spin = generations::enter(first, 64, SPIN).unwrap();
    assert_eq!((spin.lock.generation.load(Relaxed), spin.lock.created.load(Relaxed)), (3, 0));
    let (arena, process) = image;
    let generations =
        arena.list::<Lock>(&process.locks).map(|(_, lock)| lock.generation.load(Relaxed));
    assert_eq!(generations.collect::<Vec<_>>(), [3, 2, 1, 0]);
}

#[test]
fn thousands_of_locks_are_told_apart() {
    let locks = if cfg!(miri) { 40 } else { 5000 };
    let image = image(32 * locks as u32 + ROOM);
    let at = At::new(recorder(image), 1);
    let rows: Vec<_> = (1..=locks).map(|number| at.row(number * 40)).collect();
    for (row, number) in rows.iter().zip(1..) {
        let known = generations::known(at.recorder, number * 40, MUTEX).unwrap();
        assert!(std::ptr::eq(row.lock, known), "lock {number}");
    }
}

#[test]
fn threads_that_meet_the_same_locks_and_stacks_agree_on_them() {
    let image = image(4 * ROOM);
    let rounds = if cfg!(miri) { 10 } else { 200 };
    let met = |at: At| {
        let lock = |number: u64| at.recorder.arena.unit_of(at.row(number * 64).lock);
        let stack = |number: u64| stacks::enter(at.recorder, &[number, 1]);
        (1..=rounds).map(|number| (lock(number), stack(number))).collect::<Vec<_>>()
    };
    let sites: Vec<At> = (0..3).map(|_| At::new(recorder(image), 1)).collect();
    let seen: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = sites.iter().map(|&at| scope.spawn(move || met(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(seen.iter().all(|others| *others == seen[0]));
    let (arena, process) = image;
    assert_eq!(arena.list::<Lock>(&process.locks).count() as u64, rounds);
    assert_eq!(arena.list::<Stack>(&process.stacks).count() as u64, rounds);
}

#[test]
fn equal_stacks_have_one_number() {
    let image = image(ROOM);
    let recorder = recorder(image);
    let number = stacks::enter(recorder, &[1, 2, 3]);
    assert_ne!(number, 0);
    assert_eq!(stacks::enter(recorder, &[1, 2, 3]), number);
    assert_ne!(stacks::enter(recorder, &[1, 2]), number);
    assert_eq!(stacks::enter(recorder, &[]), 0);
    let stack: &Stack = recorder.arena.at(number);
    let frames: Vec<u64> = stack.frames.iter().take(3).map(|frame| frame.load(Relaxed)).collect();
    assert_eq!((stack.count.load(Relaxed), frames), (3, vec![1, 2, 3]));
}

#[test]
fn a_lock_is_wanted_since_the_earliest_arrival() {
    let image = image(ROOM);
    let at = |now| At::new(recorder(image), now);
    let first = at(100);
    let lock = first.row(64).lock;
    let opened = |release, now| waiters::opened(first.recorder, lock, release, now);
    assert_eq!(opened(50, 200), None, "no waiter");
    let wait = Wait::begin(first, lock, 90, Side::Exclusive);
    assert_eq!(opened(50, 200), Some(100), "free before it was wanted");
    assert_eq!(opened(150, 200), Some(150), "wanted before it was free");
    assert_eq!(opened(50, 60), None, "wanted only later");
    let kept = |since, release| {
        lock.open_since.store(since, Relaxed);
        opened(release, 200)
    };
    assert_eq!(kept(60, 50), Some(60), "wanted since by a waiter that gave up");
    assert_eq!(opened(50, 200), Some(100), "which counts once");
    assert_eq!(kept(60, 150), Some(150), "and taken since");
    // More waiters than slots: the earliest of them all counts, wherever it is.
    let sites: Vec<At> = (0..ARRIVALS as u64 + 3).map(|n| at(3000 - 10 * n)).collect();
    let waits: Vec<Wait> =
        sites.iter().map(|&site| Wait::begin(site, lock, 1, Side::Exclusive)).collect();
    assert_eq!(waiters::count(lock), ARRIVALS as u32 + 4);
    assert_eq!(opened(0, 4000), Some(100), "the first, at 100");
    assert_eq!(wait.leave(first.recorder, lock), ARRIVALS as u32 + 3);
    assert_eq!(opened(0, 4000), Some(3000 - 10 * (ARRIVALS as u64 + 2)), "the last, in no place");
    for (wait, site) in waits.into_iter().zip(&sites) {
        wait.leave(site.recorder, lock);
    }
    assert_eq!((waiters::count(lock), opened(0, 4000)), (0, None));
}

#[test]
fn a_thread_s_entry_names_what_it_waits_for_until_it_waits_no_longer() {
    let image = image(ROOM);
    let at = At::new(recorder(image), 100);
    let row = at.row(64);
    let thread = at.recorder.thread;
    let words = || {
        let how = thread.wants_how.load(Relaxed);
        (thread.wants.load(Relaxed), thread.wants_since.load(Relaxed), how)
    };
    let unit = at.recorder.arena.unit_of(row.lock);
    let shared = Wait::begin(at, row.lock, 90, Side::Shared);
    assert_eq!(words(), (unit, 90, wants::SHARED));
    shared.leave(at.recorder, row.lock);
    assert_eq!(words().0, 0);
    let blocked = Blocked::begin(at, row);
    assert_eq!(
        (words().0, words().2, thread.wants_stack.load(Relaxed)),
        (unit, 0, Site::stack(at))
    );
    assert_eq!(thread.wants_since.load(Relaxed), thread.asleep_since.load(Relaxed));
    blocked.has_deadline();
    assert_eq!(words().2, wants::DEADLINE);
    blocked.gave_up();
    assert_eq!(words().0, 0);
}

#[test]
fn a_mapping_says_whether_it_is_shared_and_of_which_file() {
    let of = |line: &[u8]| {
        let mapping = Mapping::parse(line).unwrap();
        (mapping.shared, mapping.offset, mapping.device_and_inode())
    };
    let nameless =
        b"7f3736d21000-7f3736d25000 rw-s 00002000 00:01 1057                 /dev/zero (deleted)";
    assert_eq!(of(nameless), (true, 0x2000, Some((1, 1057))));
    let file = b"7f3736d21000-7f3736d25000 rw-p 00000000 fe:1a 18446744073709551615 /a b";
    assert_eq!(of(file), (false, 0, Some((0xfe << 32 | 0x1a, u64::MAX))));
    assert_eq!(of(b"1000-2000 rw-p 00000000 00:00 0"), (false, 0, Some((0, 0))));
    assert_eq!(of(b"1000-2000 rw-p 00000000 0:x 7 ").2, None);
}

#[test]
fn mappings_are_told_from_the_kernels_lines() {
    let mut walk = Walk::default();
    let mut line = |text: &'static str| walk.line(text.as_bytes()).expect(text);
    let lib = "08:01 1234                      /usr/lib/libx.so (deleted)";
    let first = line(
        "7f00000000-7f00001000 r--p 00000000 08:01 1234                      /usr/lib/libx.so (deleted)",
    );
    assert!(matches!(first, Place::File { base: 0x7f_0000_0000, .. }), "{lib}");
    let code = line(
        "7f00001000-7f00003000 r-xp 00001000 08:01 1234                      /usr/lib/libx.so (deleted)",
    );
    let Place::File { base, mapping } = code else { panic!("{code:?}") };
    assert_eq!(
        (base, mapping.start, mapping.end),
        (0x7f_0000_0000, 0x7f_0000_1000, 0x7f_0000_3000)
    );
    assert_eq!((mapping.readable, mapping.executable, mapping.offset), (true, true, 0x1000));
    assert_eq!(mapping.path, b"/usr/lib/libx.so (deleted)");
    let other = line("7f00003000-7f00004000 r-xp 00003000 08:01 9999 /usr/lib/liby.so");
    assert!(matches!(other, Place::Other(_)), "its beginning is not mapped: {other:?}");
    let bare = line("7f00004000-7f00005000 rwxp 00000000 00:00 0");
    assert!(matches!(bare, Place::Other(mapping) if mapping.path.is_empty()));
    let stack = line("7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0          [stack]");
    assert!(matches!(stack, Place::Other(_)));
    let vdso = line("7ffc00030000-7ffc00032000 r-xp 00000000 00:00 0          [vdso]");
    assert!(matches!(vdso, Place::File { base: 0x7ffc_0003_0000, .. }));
    assert_eq!(walk.line(b"no mapping"), None);
    assert_eq!(walk.line(b""), None);
}
