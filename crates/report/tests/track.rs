//! Kept verdicts come back as they were, form series, and show their changes; no file does harm.

use std::path::PathBuf;
use uncontended_decide::fingerprint::Fingerprint;
use uncontended_decide::verdict::Answer;
use uncontended_report::history::HistoryError;
use uncontended_report::terminal::{Options, one_series, track};
use uncontended_report::track::{
    Kept, LINE_SCHEMA, Lines, Newest, Of, Tracked, Turn, Verdicts, page, tracked,
};
use uncontended_stats::{MaxError, Rng};
use uncontended_testkit::Folder;

fn of(name: &str) -> Of {
    Of {
        name: name.to_owned(),
        baseline: None,
        figure: "median".to_owned(),
        metric: "wall".to_owned(),
        unit: "ns".to_owned(),
        higher_is_better: false,
        cpu: Some("A CPU".to_owned()),
        cpus: Some(8),
    }
}

fn kept(of: Of, nth: u32, value: f64) -> Kept {
    let machine = Fingerprint {
        cpu: of.cpu.clone(),
        cpus: of.cpus,
        kernel: Some(if nth < 20 { "6.1" } else { "6.6" }.to_owned()),
        ..Fingerprint::default()
    };
    Kept {
        schema: LINE_SCHEMA.to_owned(),
        of,
        value,
        runs: 94,
        verdict: Answer::Yes,
        recorded: false,
        revision: Some(format!("{nth:08x}{nth:032x}")),
        machine: Some(machine),
        kept_unix_s: 1_763_733_960 + 60 * u64::from(nth),
        log: format!("{nth:016x}"),
    }
}

/// 5 ms, then 6 ms from the twentieth on, all of them different.
fn step(name: &str, verdicts: u32) -> Vec<Kept> {
    let value = |nth: u32| f64::from(nth * 7 % 20) * 1e4 + if nth < 20 { 5e6 } else { 6e6 };
    (0..verdicts).map(|nth| kept(of(name), nth, value(nth))).collect()
}

fn series_of(kept: Vec<Kept>) -> Tracked {
    tracked(Lines { kept, others: Vec::new() }, MaxError::new(0.001).unwrap())
}

fn file(folder: &Folder) -> PathBuf {
    folder.path().join("verdicts.jsonl")
}

#[test]
fn verdicts_come_back_once_and_in_order() {
    let folder = Folder::new();
    let verdicts = Verdicts::at(file(&folder));
    assert_eq!(verdicts.read().unwrap(), Lines::default());
    assert!(!file(&folder).exists(), "reading creates nothing");
    let all = step("./request", 3);
    assert_eq!(verdicts.add(&all[..2]).unwrap(), 2);
    assert_eq!(verdicts.add(&all).unwrap(), 1, "what is there is not added again");
    let other = Kept { of: Of { cpus: Some(2), ..of("./request") }, ..all[0].clone() };
    assert_eq!(verdicts.add(&[other]).unwrap(), 1, "another machine has another series");
    let lines = verdicts.read().unwrap();
    assert_eq!((&lines.kept[..3], lines.kept.len(), lines.others.len()), (&all[..], 4, 0));
    assert_eq!(series_of(lines.kept).series.len(), 2);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(file(&folder)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "command lines may hold secrets");
}

#[test]
fn a_line_that_is_not_ours_is_left_out_and_the_rest_stays() {
    let folder = Folder::new();
    let verdicts = Verdicts::at(file(&folder));
    let all = step("./request", 3);
    verdicts.add(&all[..2]).unwrap();
    let text = std::fs::read_to_string(file(&folder)).unwrap();
    // A crash cut the second line; the next one begins on a line of its own.
    std::fs::write(file(&folder), &text[..text.len() - 20]).unwrap();
    assert_eq!(verdicts.add(&all[1..]).unwrap(), 2);
    let lines = verdicts.read().unwrap();
    assert_eq!((lines.kept, lines.others), (all.clone(), vec![2]));
    let newer = std::fs::read_to_string(file(&folder)).unwrap().replace("verdict/1", "verdict/2");
    assert_eq!(Lines::read(newer.as_bytes()).others, [1, 2, 3, 4]);
    std::fs::write(file(&folder), &newer).unwrap();
    assert!(matches!(verdicts.add(&all), Err(HistoryError::Damaged(..))));
    assert_eq!(std::fs::read_to_string(file(&folder)).unwrap(), newer, "a foreign file is left");
    assert!(matches!(Verdicts::at(folder.path()).read(), Err(HistoryError::Io(..))));
}

#[test]
fn no_bytes_break_the_reader() {
    let text: Vec<u8> = step("./request", 30)
        .iter()
        .flat_map(|kept| serde_json::to_vec(kept).unwrap().into_iter().chain(*b"\n"))
        .collect();
    let mut rng = Rng::new(4);
    for _ in 0..400 {
        let mut bytes = text.clone();
        for _ in 0..=rng.below(40) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(1 + rng.below(bytes.len() as u64) as usize);
        let lines = Lines::read(&bytes);
        assert!(
            lines.kept.len() + lines.others.len() <= bytes.split(|&byte| byte == b'\n').count()
        );
        let all = tracked(lines, MaxError::new(0.01).unwrap());
        let shown = track(&all, &Options::default()) + &page(&all);
        assert!(!shown.contains("NaN"), "{shown}");
    }
    let huge = String::from_utf8(text).unwrap().replace("5000000.0", "1e999");
    assert_eq!(Lines::read(huge.as_bytes()).others, [1]);
}

#[test]
fn a_change_is_said_when_it_is_noticed_and_stays_in_the_series() {
    let newest = |verdicts: u32| series_of(step("./request", verdicts)).newest;
    assert_eq!([newest(1), newest(12)], [Newest::TooLittle; 2]);
    assert_eq!([newest(13), newest(20), newest(21)], [Newest::Unchanged; 3]);
    let noticed = (21..40).find(|&verdicts| newest(verdicts) == Newest::Worse).expect("a change");
    assert_eq!(
        (noticed, newest(noticed + 1), newest(noticed + 13)),
        (24, Newest::TooLittle, Newest::Unchanged)
    );
    let all = series_of(step("./request", 40));
    let [change] = all.series[0].changes.as_slice() else { panic!("{all:?}") };
    assert_eq!((change.turn, change.since, change.noticed), (Turn::Worse, 21, 24));
    assert_eq!(change.machine, ["the kernel was 6.1, and then 6.6"]);
    assert!((change.after / change.before - 1.2).abs() < 0.02, "{change:?}");
    let mut better = step("./request", 24);
    better.iter_mut().for_each(|kept| kept.of.higher_is_better = true);
    assert_eq!(series_of(better).newest.exit_status(), 0);
}

#[test]
fn statuses_are_those_of_the_worst_series() {
    let both = |one: u32, two: u32| {
        let mut kept = step("./one", one);
        kept.extend(step("./two", two));
        series_of(kept)
    };
    assert_eq!(both(24, 3).newest.exit_status(), 1);
    assert_eq!(both(20, 3).newest.exit_status(), 3);
    assert_eq!(both(20, 20).newest.exit_status(), 0);
    assert_eq!(both(24, 3).only(|series| series.number == 2).newest, Newest::TooLittle);
}

#[test]
fn tables_and_pages_say_the_same() {
    let mut kept = step("./request --of=\u{202e}many", 24);
    kept.extend(step("./two", 5));
    let all = series_of(kept);
    let list = track(&all, &Options::default());
    assert!(
        list.contains("./two: median of the wall time") && list.contains("too little"),
        "{list}"
    );
    assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
    let shown = one_series(&all.series[0], &all, &Options::default());
    for part in ["worse: ./request", "× 1.19 worse", "the kernel was 6.1, and then 6.6", "00000015"]
    {
        assert!(shown.contains(part), "'{part}' is not in {shown}");
    }
    let page = page(&all);
    for part in
        ["<svg", "× 1.19 worse", "No change was noticed.", "the kernel was 6.1, and then 6.6"]
    {
        assert!(page.contains(part), "'{part}' is not on the page");
    }
    assert!(!(shown + &page).contains('\u{202e}'), "names do not reorder text");
    assert!(track(&series_of(Vec::new()), &Options::default()).contains("No verdict is kept yet"));
}
