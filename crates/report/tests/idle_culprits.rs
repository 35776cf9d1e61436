//! Locks that stood idle, among the culprits: which code waited, and why, in every form of the report.

mod written;

use std::mem::offset_of;
use uncontended_report::run::{BlamedKind, IdleCause};
use uncontended_report::terminal::{Options, render};
use uncontended_trace::layout::{self, Caused, Cell, Cold, WAITED, cause, kind};
use written::{Named, Writer, facts};

/// A record of one wait for a mutex, in the second of two stacks for most of its time, while the mutex was free.
fn record(idle_by: u32) -> Writer {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.module(process, "/bin/program", 0x1000, 0x9000);
    let lock = writer.lock(process, 0xabc0, kind::MUTEX);
    let thread = writer.thread(process, 7);
    let cell = writer.cell(thread, lock, 1);
    writer.waited(cell, 1_000_000, 400_000, [0, 0]);
    let cold = writer.get(cell, offset_of!(Cell, cold));
    writer.word(cold, offset_of!(Cold, wait_free), 600_000);
    writer.word(cold, offset_of!(Cold, idle_by) + 8 * (idle_by as usize - 1), 400_000);
    for (address, ticks) in [(0x1010, 300_000), (0x1020, 700_000)] {
        let stack = writer.stack(process, &[address, 0x1100]);
        let entry = writer.entry(size_of::<Caused>());
        writer.half(entry, offset_of!(Caused, stack), stack);
        writer.half(entry, offset_of!(Caused, passed_to), WAITED);
        writer.word(entry, offset_of!(Caused, wait), ticks);
        writer.word(entry, offset_of!(Caused, waits), 1);
        writer.push(cell, offset_of!(Cell, caused), entry, offset_of!(Caused, next));
    }
    writer
}

#[test]
fn an_idle_lock_names_the_code_that_waited_and_the_cause() {
    for (idle_by, expected, text, said) in [
        (cause::BARGED, IdleCause::Barged, "barged", ": barged"),
        (cause::NOT_WOKEN, IdleCause::NotWoken, "not-woken", ": woken late"),
        (cause::NOT_SCHEDULED, IdleCause::NotScheduled, "not-scheduled", ""),
    ] {
        let writer = record(idle_by);
        let report =
            uncontended_report::aggregate::report(&writer.bytes, facts(), &mut Named).unwrap();
        let [culprit] = &report.culprits[..] else { panic!("one: {:?}", report.culprits) };
        assert_eq!((culprit.kind, culprit.cause), (BlamedKind::Idle, Some(expected)));
        assert_eq!(&*culprit.site.as_ref().unwrap().address, "0x20");
        assert_eq!(culprit.stack.len(), 2);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["culprits"][0]["cause"], text);
        assert_eq!(json["culprits"][0]["site"]["address"], "0x20");
        let again: uncontended_report::run::RunReport = serde_json::from_value(json).unwrap();
        assert_eq!(again.culprits, report.culprits);
        let terminal = render(&report, &Options::default());
        let line = terminal.lines().find(|line| line.contains("stood idle")).unwrap();
        assert!(line.contains(said), "{line}");
    }
}

/// Code that held a lock has no such cause.
#[test]
fn a_holder_has_no_cause() {
    let mut writer = record(cause::BARGED);
    let (process, cell) = {
        let process = writer.process(8);
        let lock = writer.lock(process, 0xdef0, kind::MUTEX);
        let thread = writer.thread(process, 8);
        (process, writer.cell(thread, lock, 1))
    };
    writer.waited(cell, 1_000_000, 1, [0, 0]);
    let stack = writer.stack(process, &[0x2010]);
    let entry = writer.entry(size_of::<Caused>());
    writer.half(entry, offset_of!(Caused, stack), stack);
    for (offset, value) in [
        (offset_of!(Caused, wait), 1_000_000),
        (offset_of!(Caused, waits), 1),
        (offset_of!(Caused, holds), 1),
    ] {
        writer.word(entry, offset, value);
    }
    writer.push(cell, offset_of!(layout::Cell, caused), entry, offset_of!(Caused, next));
    let report = uncontended_report::aggregate::report(&writer.bytes, facts(), &mut Named).unwrap();
    let held = report.culprits.iter().find(|of| of.kind == BlamedKind::Hold).expect("a holder");
    assert_eq!(held.cause, None);
    assert_eq!(serde_json::to_value(held).unwrap().get("cause"), None);
}
