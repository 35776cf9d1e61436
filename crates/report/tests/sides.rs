//! The two rows of a read-write lock name each other.

mod written;

use uncontended_trace::layout::kind;
use written::{Named, Writer, facts};

#[test]
fn each_row_of_a_read_write_lock_names_the_other() {
    let mut writer = Writer::new();
    for pid in [7, 8] {
        let process = writer.process(pid);
        let thread = writer.thread(process, pid);
        let kinds = [
            (0xa000, kind::RWLOCK_READ),
            (0xb000, kind::MUTEX),
            (0xc000, kind::RWLOCK_WRITE),
            (0xa000, kind::RWLOCK_WRITE),
        ];
        for (address, kind) in kinds {
            let lock = writer.lock(process, address, kind);
            let cell = writer.cell(thread, lock, 10);
            writer.holds(cell, 500, 10);
        }
    }
    let report = uncontended_report::aggregate::report(&writer.bytes, facts(), &mut Named).unwrap();
    let sides = report
        .processes
        .iter()
        .map(|process| process.locks.iter().map(|lock| lock.other_side).collect::<Vec<_>>());
    let expected = [[Some(3), None, None, Some(0)], [Some(7), None, None, Some(4)]];
    assert_eq!(sides.collect::<Vec<_>>(), expected);
}
