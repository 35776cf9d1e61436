//! A rule at the last value at which it speaks, and at the next; and its evidence, figure by figure.

use super::*;
use uncontended_report::findings::find;

/// Of most runs here.
pub(crate) const WALL_NS: u64 = 2_000 * MS;

/// The findings of a run of `wall_ns` with these locks and threads.
pub(crate) fn of_run(wall_ns: u64, locks: &[Lock], threads: &[Thread]) -> Vec<Finding> {
    let mut report = run(&["program"]);
    report.wall_ns = wall_ns;
    report.processes = vec![process(1, locks.to_vec(), threads.to_vec())];
    find(&report)
}

pub(crate) fn any_says(findings: &[Finding], words: &str) -> bool {
    findings.iter().any(|finding| finding.text.contains(words))
}

/// Whether a run of two seconds with this lock has a finding with these words.
pub(crate) fn says(row: &Lock, words: &str) -> bool {
    any_says(&of_run(WALL_NS, std::slice::from_ref(row), &[]), words)
}

/// Times of which the rules read these figures.
pub(crate) fn figures(count: u64, total: u64, p50: u64, p99: u64) -> Option<Distribution> {
    Some(Distribution { count, total, p50, p99, max: p99, ..times(&[p50]).unwrap() })
}

/// Times with a number, a sum and a median; `max` and the longest four have values of their own.
pub(crate) fn long(
    count: u64,
    total: u64,
    p50: u64,
    max: u64,
    fourth: u64,
) -> Option<Distribution> {
    let times = figures(count, total, p50, max)?;
    Some(Distribution { worst: vec![max, max, max, fourth], ..times })
}

/// Asserts that the rule speaks of `row`, and no more after each of `changes`.
pub(crate) fn ends_with(row: &Lock, words: &str, changes: &[fn(&mut Lock)]) {
    assert!(says(row, words), "{words:?}");
    for (number, change) in changes.iter().enumerate() {
        let mut changed = row.clone();
        change(&mut changed);
        assert!(!says(&changed, words), "change {number}: {words:?}");
    }
}

/// Asserts that the finding about `row` with these words has this evidence, and no more.
pub(crate) fn rests_on(row: &Lock, words: &str, evidence: &[(&str, f64)]) {
    let found = of_run(WALL_NS, std::slice::from_ref(row), &[]);
    has_evidence(&found, words, evidence);
}

pub(crate) fn has_evidence(found: &[Finding], words: &str, evidence: &[(&str, f64)]) {
    let mut found = found.iter().filter(|finding| finding.text.contains(words));
    let found = found.next().unwrap_or_else(|| panic!("{words:?}"));
    let expected = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(found.evidence, expected, "{words:?}");
}

/// A thread that lived for half of the run, and ran and waited for a CPU for so long.
pub(crate) fn ran(tid: u32, cpu_ns: u64, runnable_ns: u64) -> Thread {
    let lived_ns = Some(WALL_NS / 2);
    Thread {
        lived_ns,
        cpu_ns: Some(cpu_ns),
        runnable_ns: Some(runnable_ns),
        ..thread(tid, "worker")
    }
}

pub(crate) fn wait(row: &mut Lock) -> &mut Distribution {
    row.wait_ns.as_mut().unwrap()
}

pub(crate) fn idle(row: &mut Lock) -> &mut Distribution {
    row.idle_ns.as_mut().unwrap()
}

pub(crate) fn hold(row: &mut Lock) -> &mut Distribution {
    row.hold_ns.as_mut().unwrap()
}

/// Asserts that a finding has these words from 30 % of runnable time without a CPU on.
pub(crate) fn lacks_cpus(row: &Lock, of_finding: &str, evidence: &[(&str, f64)], words: &str) {
    let found = |runnable| {
        let unit = WALL_NS / 2_000;
        let threads = [ran(7, 500 * unit, 100 * unit), ran(8, 200 * unit, runnable * unit)];
        of_run(WALL_NS, std::slice::from_ref(row), &threads)
    };
    assert!(any_says(&found(200), words) && !any_says(&found(199), words), "{words:?}");
    let wanted = [evidence, &[("cpu_wanted_share", 0.3)]].concat();
    has_evidence(&found(200), of_finding, &wanted);
    has_evidence(&found(199), of_finding, evidence);
}

/// One thread that still waits.
pub(crate) fn stuck(longest_ns: u64) -> Option<Unfinished> {
    Some(Unfinished {
        count: 1,
        longest_ns,
        total_ns: longest_ns,
        held_ns: Some(9_000 * MS),
        holder: Some(7),
        holder_ended: false,
        waiters_ended: false,
    })
}
