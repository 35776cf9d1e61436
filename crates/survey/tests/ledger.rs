//! Waits, idle times and hand-offs, from schedules made by hand.

use uncontended_survey::ledger::{Ledger, Span};

fn span(called: u64, acquired: u64, released: u64) -> Span {
    Span { called, acquired, released }
}

#[test]
fn one_thread_waits_for_nobody_and_the_lock_is_not_idle_while_nobody_wants_it() {
    // Free from 200 to 1000, and wanted only from 990 on.
    let ledger = Ledger::of(&[vec![span(90, 100, 200), span(990, 1000, 1100)]]);
    let expected = Ledger {
        acquisitions: 2,
        span_ns: 1010,
        wait_ns: 20,
        longest_wait_ns: 10,
        idle_ns: 10,
        longest_idle_ns: 10,
        ..Ledger::default()
    };
    assert_eq!(ledger, expected);
}

#[test]
fn the_lock_is_idle_from_the_release_or_from_the_earliest_call_of_who_still_waits() {
    // The second thread called at 150 and gets it at 700; between, at 210, the first gives it back. A third one called
    // at 650: of the two that still wait, the second called earlier.
    let ledger = Ledger::of(&[
        vec![span(90, 100, 210)],
        vec![span(150, 700, 800)],
        vec![span(650, 830, 900)],
    ]);
    assert_eq!((ledger.idle_ns, ledger.longest_idle_ns), ((700 - 210) + (830 - 800), 490));
    assert_eq!(ledger.hand_offs_ns, [490, 30]);
    assert_eq!((ledger.longest_wait_ns, ledger.overtaken_p99, ledger.both), (550, 0, None));
}

/// The trap of a single earliest waiter: the one that called first gets it last, and the lock is wanted all along.
#[test]
fn who_called_first_and_gets_it_last_wants_it_all_along() {
    let ledger = Ledger::of(&[
        vec![span(0, 10, 100)],
        vec![span(50, 900, 950)],
        vec![span(290, 300, 400), span(690, 700, 800)],
    ]);
    // Free 100 to 300, 400 to 700, 800 to 900, and the second thread waits throughout.
    assert_eq!((ledger.idle_ns, ledger.longest_idle_ns), (200 + 300 + 100, 300));
    assert_eq!(ledger.overtaken_p99, 2);
    assert_eq!(ledger.hand_offs_ns, [100], "the others came after the release");
}

#[test]
fn two_holders_at_once_are_told() {
    let ledger = Ledger::of(&[vec![span(0, 10, 5000)], vec![span(20, 2000, 6000)]]);
    assert_eq!(ledger.both, Some((2000, 5000)));
    // Two clocks may differ by a little.
    assert_eq!(Ledger::of(&[vec![span(0, 10, 5000)], vec![span(20, 4950, 6000)]]).both, None);
}

/// A block ends at 1000: the second thread waits for a spinner that is about to leave.
#[test]
fn a_wait_that_is_not_over_at_the_end_is_marked_and_counts_as_far_as_that() {
    let notes = [
        vec![span(0, 10, 100), span(120, 130, 400), span(410, 420, 1010)],
        vec![span(50, 1900, 1950)],
    ];
    let cut = Ledger::until(1000, &notes);
    assert_eq!((cut.longest_wait_ns, cut.longest_wait_is_cut), (950, true));
    assert_eq!((cut.acquisitions, cut.span_ns, cut.wait_ns), (3, 1000, 10 + 10 + 10 + 950));
    assert_eq!((cut.idle_ns, cut.longest_idle_is_cut), (30 + 20, false));
    assert!(cut.hand_offs_ns.is_empty(), "its release came after the end");
    let whole = Ledger::of(&notes);
    assert_eq!((whole.longest_wait_ns, whole.longest_wait_is_cut), (1850, false));
    assert_eq!(whole.hand_off_ns(50), Some(890));
    // Given back just before the end, and taken later: idle, as far as it is known.
    let idle = Ledger::until(1000, &[vec![span(0, 10, 900)], vec![span(50, 1900, 1950)]]);
    assert_eq!((idle.longest_idle_ns, idle.longest_idle_is_cut), (100, true));
    assert_eq!(idle.hand_offs_ns, [1000]);
}
