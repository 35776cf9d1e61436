//! A run that a time limit ended: its length was chosen, so no path set it.

mod written;

use std::mem::offset_of;
use uncontended_report::facts::Facts;
use uncontended_trace::layout::{Process, Thread};
use written::{Named, Writer, facts};

#[test]
fn a_run_that_a_limit_ended_has_no_path() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    let main = writer.thread(process, 7);
    writer.word(main, offset_of!(Thread, start_ticks), 1_000);
    writer.word(process, offset_of!(Process, start_ticks), 1_000);
    writer.word(process, offset_of!(Process, end_ticks), 11_000);
    writer.half(process, offset_of!(Process, ended_by), main);
    for (ended_by_limit, paths) in [(false, 1), (true, 0)] {
        let facts = Facts { ended_by_limit, ..facts() };
        let report =
            uncontended_report::aggregate::report(&writer.bytes, facts, &mut Named).unwrap();
        assert_eq!((report.paths.len(), report.ended_by_limit), (paths, ended_by_limit));
    }
}
