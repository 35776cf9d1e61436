//! Deadlocks, and modules without names, of records written here.

mod written;

use std::mem::offset_of;
use uncontended_report::aggregate::{Symbols, report};
use uncontended_trace::layout::{self, Cell, Lock, UNIT};
use written::{Named, Plain, Writer, facts, read};

#[test]
fn modules_without_names_are_told_where_that_hides_code() {
    let told = |symbols: &mut dyn Symbols, waits: bool| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        writer.module(process, "/usr/lib/libplain.so.1", 0x1000, 0x9000);
        let stack = writer.stack(process, &[0x1010, 0xffff_0000]);
        let lock = writer.lock(process, 0xabc0, layout::kind::MUTEX);
        let thread = writer.thread(process, 7);
        let cell = writer.cell(thread, lock, 100);
        if waits {
            writer.waited(cell, 1_000_000, 400_000, [stack, stack]);
        }
        report(&writer.bytes, facts(), symbols).unwrap().coverage.unseen.join("\n")
    };
    let line =
        "Functions without names in libplain.so.1: build it with symbols (-g), or install its";
    assert!(told(&mut Plain::default(), true).contains(line));
    assert!(!told(&mut Plain::default(), false).contains("without names"));
    assert!(!told(&mut Named, true).contains("without names"));
}

/// A change to a record, given its locks and threads.
type Change = fn(&mut Writer, [u32; 3], [u32; 3]);

/// Three threads, each of which holds a mutex and waits for the next one's; and what makes such words no cycle.
#[test]
fn cycles_of_waits_follow_from_the_last_words() {
    let found = |change: Change| {
        let mut writer = Writer::new();
        let process = writer.process(7);
        let locks = [1, 2, 3].map(|n| writer.lock(process, 0x1000 * n, layout::kind::MUTEX));
        let threads = [7, 8, 9].map(|tid| writer.thread(process, tid));
        for nth in 0..3 {
            let cell = writer.cell(threads[nth], locks[nth], 1);
            writer.half(cell, offset_of!(Cell, depth), 1);
            writer.word(cell, offset_of!(Cell, hold_start), 2000);
            writer.half(locks[nth], offset_of!(Lock, owner), cell);
            writer.half(threads[nth], offset_of!(layout::Thread, wants), locks[(nth + 1) % 3]);
            writer.word(threads[nth], offset_of!(layout::Thread, wants_since), 3000);
            writer.word(threads[nth], offset_of!(layout::Thread, asleep_since), 3000);
        }
        change(&mut writer, locks, threads);
        read(&writer, facts()).deadlocks
    };
    let [deadlock] = &found(|_, _, _| {})[..] else { panic!("one deadlock") };
    let tids: Vec<u32> = deadlock.threads.iter().map(|thread| thread.tid).collect();
    let locks: Vec<u64> = deadlock.threads.iter().filter_map(|thread| thread.lock).collect();
    assert_eq!((tids, locks, deadlock.behind), (vec![7, 8, 9], vec![1, 2, 0], 0));
    assert_eq!(
        (deadlock.threads[0].wait_ns, deadlock.threads[0].held_ns),
        (9_999_000, Some(9_999_500))
    );
    let harmless: [(&str, Change); 6] = [
        ("released", |w, locks, _| w.word(locks[1], offset_of!(Lock, release), 2500)),
        ("not held", |w, locks, _| {
            let cell = w.get(locks[1], offset_of!(Lock, owner));
            w.half(cell, offset_of!(Cell, depth), 0);
        }),
        ("slept again", |w, _, threads| {
            w.word(threads[1], offset_of!(layout::Thread, asleep_since), 3500);
        }),
        ("took a lock since", |w, locks, _| {
            let cell = w.get(locks[2], offset_of!(Lock, owner));
            w.word(cell, offset_of!(Cell, hold_start), 3500);
        }),
        ("ended", |w, _, threads| w.word(threads[0], offset_of!(layout::Thread, end_ticks), 4000)),
        ("no lock", |w, locks, _| {
            w.bytes[locks[0] as usize * UNIT + offset_of!(Lock, kind)] = layout::kind::CONDITION;
        }),
    ];
    for (what, change) in harmless {
        assert_eq!(found(change), [], "{what}");
    }
}

/// Code that was loaded where other code had been is said not to be named.
#[test]
fn modules_at_one_address_are_told_of() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let modules = [("a", 0x1000, 0x9000), ("b", 0x2000, 0x3000), ("c", 0x8000, 0x9000)];
    for (name, start, end) in
        modules.into_iter().chain([("d", 0x9000, 0xa000), ("d", 0x9000, 0xa000)])
    {
        writer.module(process, &format!("/lib/{name}.so"), start, end);
    }
    let coverage = read(&writer, facts()).coverage;
    let told = coverage
        .unseen
        .iter()
        .filter(|line| line.contains("loaded other code"))
        .collect::<Vec<_>>();
    let [told] = told[..] else { panic!("{:#?}", coverage.unseen) };
    assert!(told.ends_with("at its addresses: a.so, b.so, c.so."), "{told}");
}
