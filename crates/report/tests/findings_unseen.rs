//! The finding about futex waiting that no row contains.

mod common;

use common::*;
use uncontended_report::findings::find;
use uncontended_report::run::*;

/// What the report did not see is said first where it is more than a fifth of futex waiting and worth a finding.
#[test]
fn unseen_waiting_is_the_first_finding() {
    let found = |share, total_ns| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        let busy = contended(&[MS; 6_000], &[], &[40 * US; 100_000]);
        report.processes = vec![process(1, vec![busy], vec![])];
        let frames = |names: [&str; 3]| names.map(|name| frame(name, "a.c", 7)).to_vec();
        let site = |names, total_ns| FutexSite { stack: frames(names), waits: 9, total_ns };
        report.coverage.futex_share_unaccounted = share;
        report.coverage.futex_wait_ns = Some(total_ns + 12 * MS);
        report.coverage.futex_sites = vec![
            site(["beyond", "three", "sites"], 4_000 * MS),
            site(["__lll_lock_wait_private", "_int_free", "drop"], total_ns - 8 * MS),
            site(["__lll_lock_wait_private", "_int_malloc", "push"], 8 * MS),
            site(["__lll_lock_wait_private", "fflush", "log_line"], 4 * MS),
            FutexSite {
                stack: vec![
                    frame("futex_wait", "futex-internal.h", 1),
                    frame("__GI___lll_lock_wait_private", "a.c", 1),
                    Frame { function: None, file: None, ..frame("", "", 0) },
                ],
                ..site(["", "", ""], 4 * MS)
            },
        ];
        find(&report)
    };
    let first = found(Some(0.5), 3_988 * MS).swap_remove(0);
    assert_eq!(first.lock, None);
    let words = "50.0 % of all futex waiting is in no row: its locks were not seen. The kernel's longest waits, without those \
                 that rows surely have: 3.99 s at glibc's arena locks inside malloc, 4.00 ms at fflush a.c:7, 4.00 ms at glibc's own locks (malloc's arenas, stdio). \
                 `unc run --source kernel` shows each, and what ended it";
    assert_eq!(first.text, words);
    assert_eq!((first.wait_share, first.evidence["futex_wait_ns"]), (Some(0.2), 4e9));
    let says = |share, total_ns| found(share, total_ns)[0].lock.is_none();
    assert!(says(Some(0.5), 988 * MS) && !says(Some(0.5), 987 * MS), "a twentieth of the time");
    assert!(!says(Some(0.2), 3_999 * MS) && says(Some(0.2f64.next_up()), 3_999 * MS));
    assert!(!says(None, 3_999 * MS));
}

/// Of waits that no row has, the code is named that is known; what a row has is not among them.
#[test]
fn unseen_waiting_is_named_by_what_is_known_and_is_in_no_row() {
    let found = |kind, site: &str, waited_ms: u64| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        let mut row = contended(&[MS; 1_000], &[], &[]);
        row.kind = kind;
        row.waited_in = vec![common::waited_in(site, waited_ms * MS, 1.0)];
        report.processes = vec![process(1, vec![row], vec![])];
        report.coverage.futex_share_unaccounted = Some(0.5);
        report.coverage.futex_wait_ns = Some(4_000 * MS);
        let frames = |names: &[&str]| names.iter().map(|name| frame(name, "a.c", 7)).collect();
        let site = |names, ms| FutexSite { stack: frames(names), waits: 9, total_ns: ms * MS };
        report.coverage.futex_sites = vec![
            site(&["futex_wait", "__pthread_once_slow"], 2_000),
            site(&["syscall"], 900),
            site(&["syscall", "config"], 200),
            site(&["pthread_cond_wait", "sleep_here"], 100),
            site(&["__futex_abstimed_wait_common"], 9_000),
        ];
        let of_thread =
            Join { tid: 1, of: 2, name: String::new(), body: None, wait_ns: 8_100 * MS };
        report.processes[0].joins = vec![of_thread];
        find(&report)[0].text.clone()
    };
    let once = "2.00 s at __pthread_once_slow a.c:7";
    let calls = "900 ms at syscall a.c:7, 200 ms at config a.c:7";
    let asleep = "100 ms at sleep_here a.c:7";
    for (kind, site, waited_ms, words) in [
        (Kind::Mutex, "other", 1_000, [once, calls].join(", ")),
        (Kind::Futex, "other", 1_000, [once, asleep].join(", ")),
        (Kind::Futex, "sleep_here", 100, once.to_owned()),
        (Kind::Futex, "sleep_here", 80, [once, asleep].join(", ")),
    ] {
        let text = found(kind, site, waited_ms);
        assert!(text.contains(&format!(" surely have: {words}. `unc run")), "{words}: {text}");
    }
}

/// What the kernel's tables had no room for is said first where it is more than a fifth of the waits or of the waiting.
#[test]
fn waits_without_room_are_the_first_finding() {
    let found = |lost_waits, lost_wait_ns| {
        let mut report = run(&["program"]);
        report.wall_ns = 10_000 * MS;
        report.processes = vec![process(1, vec![contended(&[MS; 4_000], &[], &[])], vec![])];
        (report.coverage.lost_waits, report.coverage.lost_wait_ns) = (lost_waits, lost_wait_ns);
        find(&report)
    };
    let first = found(4_000, 2_000 * MS).swap_remove(0);
    let words = "50.0 % of the waits (4,000, 2.00 s of them known) found no room in the kernel's tables and are in no row: the \
                 figures are of the others. In a shorter time (`--for 1s`) threads wait for fewer locks";
    assert_eq!((first.text.as_str(), first.lock), (words, None));
    let says = |waits, ns| found(waits, ns)[0].rule == "lost";
    assert!(!says(1_000, 1_000 * MS), "a fifth of the waits, and of the waiting");
    assert!(says(1_001, 0) && says(1, 1_001 * MS) && !says(0, 0));
}
