//! Runs are kept whole, numbered once and bounded; an unwritable directory does no harm.

mod common;

use common::*;
use std::path::PathBuf;
use uncontended_report::history::{Diff, History, HistoryError, KEEP_RUNS, Summary, diff};
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, difference, history};
use uncontended_testkit::Folder as Temporary;

/// A folder for a history.
struct Folder(Temporary);

impl Folder {
    fn new() -> Folder {
        Folder(Temporary::new())
    }

    fn history(&self) -> History {
        History::at(self.0.path().join("uncontended/runs"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("uncontended/runs").join(name)
    }
}

#[test]
fn a_run_comes_back_as_it_was() {
    let folder = Folder::new();
    let kept = folder.history();
    assert_eq!(kept.list().unwrap(), vec![]);
    let report = sort();
    assert_eq!(kept.add(&report, 1_763_733_960).unwrap(), 1);
    assert_eq!(kept.add(&run(&["true"]), 1_763_733_999).unwrap(), 2);
    let (summary, back) = kept.load(1).unwrap();
    assert_eq!(back, report);
    assert_eq!(
        (summary.number, summary.wall_ns, summary.longest_wait_ns),
        (1, 4_213 * MS, 265 * MS)
    );
    assert_eq!(kept.list().unwrap().len(), 2);
    assert_eq!(kept.last().unwrap(), 2);
    assert!(matches!(kept.load(3), Err(HistoryError::NoSuchRun(3))));
    let list = history(&kept.list().unwrap(), &Options::default());
    assert!(
        list.contains(
            "  1  2025-11-21 14:06       0  4.21 s  91.1 s      1.08 s   900 ms  sort --parallel=4"
        ),
        "{list}"
    );
}

#[test]
fn only_the_user_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.history().add(&run(&["true"]), 0).unwrap();
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder.file("")), mode(folder.file("1.jsonl"))), (0o700, 0o600));
}

#[test]
fn many_add_at_once_and_each_gets_its_own_number() {
    let folder = Folder::new();
    let kept = folder.history();
    let mut numbers: Vec<u64> = std::thread::scope(|scope| {
        let adders: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (0..5).map(|_| kept.add(&run(&["true"]), 0).unwrap()).collect::<Vec<_>>()
                })
            })
            .collect();
        adders.into_iter().flat_map(|adder| adder.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    assert_eq!(kept.list().unwrap().len(), 40);
}

#[test]
fn claims_of_a_crash_and_strange_files_are_passed_over() {
    let folder = Folder::new();
    let kept = folder.history();
    kept.add(&run(&["true"]), 0).unwrap();
    for (name, content) in [
        ("2.jsonl", ""),
        ("3.jsonl", "{\"schema\""),
        ("notes.txt", "x"),
        (".9.partial", "x"),
        ("-1.jsonl", ""),
    ] {
        std::fs::write(folder.file(name), content).unwrap();
    }
    assert_eq!(kept.list().unwrap().len(), 1);
    assert!(matches!(kept.load(2), Err(HistoryError::NoSuchRun(2))));
    assert!(matches!(kept.load(3), Err(HistoryError::Damaged(..))));
    assert_eq!(kept.add(&run(&["true"]), 0).unwrap(), 4);
    std::fs::write(folder.file("4.jsonl"), "{}\n{}").unwrap();
    assert!(matches!(kept.load(4), Err(HistoryError::Damaged(..))));
}

#[test]
fn a_folder_that_cannot_be_is_an_error_and_leaves_no_trace() {
    let folder = Folder::new();
    std::fs::write(folder.0.path().join("uncontended"), "a file where a folder should be").unwrap();
    let error = folder.history().add(&run(&["true"]), 0).unwrap_err();
    assert!(matches!(&error, HistoryError::Io(..)), "{error}");
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

#[test]
fn the_oldest_runs_leave() {
    let folder = Folder::new();
    let kept = folder.history();
    kept.add(&run(&["true"]), 0).unwrap();
    for number in 2..=KEEP_RUNS + 2 {
        std::fs::write(folder.file(&format!("{number}.jsonl")), "{}\n{}").unwrap();
    }
    let last = kept.add(&run(&["true"]), 0).unwrap();
    assert_eq!(last as usize, KEEP_RUNS + 3);
    assert!(
        !folder.file("1.jsonl").exists()
            && !folder.file("3.jsonl").exists()
            && folder.file("4.jsonl").exists()
    );
    // One file of the whole allowance, which an earlier version wrote, does not cost the others their places.
    let big = std::fs::File::create(folder.file(&format!("{}.jsonl", last + 1))).unwrap();
    big.set_len(uncontended_report::history::KEEP_BYTES).unwrap();
    let newest = kept.add(&run(&["true"]), 0).unwrap();
    assert!(!folder.file(&format!("{}.jsonl", last + 1)).exists());
    assert_eq!(
        kept.list().unwrap().iter().map(|run| run.number).collect::<Vec<_>>(),
        [last, newest]
    );
}

#[test]
fn a_difference_matches_rows_though_lines_moved() {
    let (before, mut after) = (sort(), sort());
    after.wall_ns = 2_000 * MS;
    let locks = &mut after.processes[0].locks;
    locks[0].site.as_mut().unwrap().line = Some(9_999);
    locks[0].wait_ns = times(&[MS; 100]);
    locks.retain(|lock| lock.id < 2);
    let found = diff(&before, &after);
    let [queue, contended, other] = &found.rows[..] else { panic!("{found:?}") };
    assert_eq!((queue.kind, queue.sides[1]), ("condition", None), "conditions count too");
    assert_eq!(contended.place, "queue_insert sort.c");
    let waits = contended.sides.map(|side| side.unwrap().wait_ns);
    assert!(waits[0] > 1_000 * MS && waits[1] == 100 * MS);
    assert_eq!(other.sides[1], None);

    // Another function may be the first to take a variable.
    let [mut one, mut two] = [before.clone(), after.clone()];
    for (report, function) in [(&mut one, "push"), (&mut two, "pop")] {
        let row = &mut report.processes[0].locks[0];
        row.variable = Some("queue".to_owned());
        row.site.as_mut().unwrap().function = Some(function.into());
    }
    let row = &diff(&one, &two).rows[1];
    assert!(row.place == "queue" && row.sides.iter().all(Option::is_some), "{row:?}");

    let folder = Folder::new();
    let kept = folder.history();
    let numbers = [&before, &after].map(|report| kept.add(report, 0).unwrap());
    let [one, two] = numbers.map(|number| kept.load(number).unwrap().0);
    let text = difference(&one, &two, &found, &Options::default());
    assert!(text.contains("wall 4.21 s to 2.00 s (× 0.475)"), "{text}");
    assert!(text.contains("init_node sort.c") && text.contains("gone"), "{text}");
    assert!(text.contains("wait 91.1 s to 100 ms") && text.contains("contention 1.08 s to 100 ms"));
    assert!(text.contains("unc compare"), "{text}");
    let [all, two_rows] =
        [3, 2].map(|top| difference(&one, &two, &found, &Options { top, ..Options::default() }));
    assert!(!all.contains("more row") && two_rows.contains("  and 1 more row\n"), "{two_rows}");
}

#[test]
fn a_class_that_flips_changes_no_total() {
    let of = |class| {
        let mut row = lock(1, Kind::Mutex, "push");
        (row.class, row.wait_ns) = (class, times(&[MS; 10]));
        RunReport { processes: vec![process(7, vec![row], vec![])], ..run(&["program"]) }
    };
    let (before, after) = (of(Class::Contention), of(Class::HandOff));
    let found = diff(&before, &after);
    assert_eq!(found.wait_ns, [10 * MS; 2]);
    assert_eq!(found.contention_wait_ns, [10 * MS, 0]);
    let [row] = &found.rows[..] else { panic!("one row: {found:?}") };
    let sides = row.sides.map(|side| side.map(|side| (side.class, side.wait_ns)));
    assert_eq!(sides, [Some(("contention", 10 * MS)), Some(("hand-off", 10 * MS))]);

    let folder = Folder::new();
    let kept = folder.history();
    let runs = [before, after].map(|report| kept.load(kept.add(&report, 0).unwrap()).unwrap().0);
    assert_eq!(runs.each_ref().map(|run| run.all_wait_ns), [Some(10 * MS); 2]);
    assert_eq!(runs.each_ref().map(|run| run.wait_ns), [10 * MS, 0]);
    let longest = runs.each_ref().map(|run| (run.all_longest_wait_ns, run.longest_wait_ns));
    assert!(
        matches!(longest, [(Some(one), two), (Some(three), 0)] if one == two && one == three && one > 0)
    );
    let text = difference(&runs[0], &runs[1], &found, &Options::default());
    assert!(text.contains("contention → hand-off  mutex"), "{text}");
    // A version before this one kept no total.
    let list = history(&[Summary { all_wait_ns: None, ..runs[0].clone() }], &Options::default());
    assert!(list.contains("–"), "{list}");
}

/// Each figure of a side is of its own figure of the row; of several rows, the sum or the greatest.
#[test]
fn a_side_has_the_figures_of_its_rows() {
    let in_process = |pid: u32, n: u64| {
        let mut row = lock(1, Kind::Mutex, "push");
        (row.acquisitions, row.blocked) = (1_000 * n, 100 * n);
        row.wait_ns = times(&[US * n, 7 * US]);
        row.idle_ns = times(&[20 * US / n]);
        row.hold_ns = times(&[30 * US * n]);
        process(pid, vec![row], vec![])
    };
    let of = |wall_ns, processes| RunReport { wall_ns, processes, ..run(&["program"]) };
    let before = of(9 * MS, vec![in_process(7, 1), in_process(8, 2)]);
    let after = of(5 * MS, vec![in_process(7, 3)]);
    let Diff { wall_ns, wait_ns, rows, .. } = diff(&before, &after);
    assert_eq!((wall_ns, wait_ns), ([9 * MS, 5 * MS], [17 * US, 10 * US]));
    let [row] = &rows[..] else { panic!("one row: {rows:?}") };
    let figures = row.sides.map(|side| {
        let side = side.unwrap();
        assert_eq!((side.acquisitions, side.blocked), (3_000, 300));
        let longest = [side.longest_wait_ns, side.longest_idle_ns, side.longest_hold_ns];
        (side.wait_ns, longest)
    });
    let longest = [[7 * US, 20 * US, 60 * US], [7 * US, 20 * US / 3, 90 * US]];
    assert_eq!(figures, [(17 * US, longest[0]), (10 * US, longest[1])]);
}
