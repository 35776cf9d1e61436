//! A killed search resumes where it was, and its counts are those of an uninterrupted search.

mod searched;

use searched::adders_and_readers;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;
use uncontended_model::real::{
    AtomicU32, Bound, Diverged, Explorer, Memory, Report, Verdict, spawn,
};
use uncontended_testkit::Folder;

fn program() {
    if std::env::var_os("UNC_TEST_CHECKPOINT").is_some() {
        std::thread::sleep(Duration::from_micros(200)); // To be killed in time.
    }
    adders_and_readers();
}

/// From a single place in the source, which identifies the search.
fn search(path: &Path) -> Result<Report, Diverged> {
    Explorer::new(Memory::C11).checkpoint(path).explore(program)
}

/// What the process to be killed runs; does nothing by itself.
#[test]
fn a_search_to_be_killed() {
    if let Some(path) = std::env::var_os("UNC_TEST_CHECKPOINT") {
        search(Path::new(&path)).unwrap();
    }
}

#[test]
fn a_killed_search_goes_on_and_counts_the_same() {
    let whole = Explorer::new(Memory::C11).explore(program).unwrap();
    let folder = Folder::new();
    let path = folder.path().join("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_search_to_be_killed"])
        .env("UNC_TEST_CHECKPOINT", &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !path.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let noted = std::fs::read_to_string(&path).expect("it was killed before its end");
    assert!(noted.ends_with(" end\n"), "{noted}");
    let rest = search(&path).unwrap();
    assert!(rest.holds(), "{rest}");
    assert_eq!((rest.executions, rest.blocked), (whole.executions, whole.blocked));
    assert!(!path.exists(), "a search that is over leaves no file");
}

#[test]
fn a_search_in_slices_counts_what_one_counts() {
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        for preemptions in [None, Some(2)] {
            let mut explorer = Explorer::new(memory);
            if let Some(most) = preemptions {
                explorer = explorer.preemptions(most);
            }
            let whole = explorer.clone().explore(program).unwrap();
            let folder = Folder::new();
            let path = folder.path().join("slices");
            let (mut slices, mut most) = (0, 0);
            let last = loop {
                slices += 1;
                most += (whole.executions + whole.beyond) / 7 + 1;
                let slice = explorer.clone().executions(most).checkpoint(&path);
                let report = slice.explore(program).unwrap();
                if report.holds() {
                    break report;
                }
                assert!(
                    matches!(report.verdict, Verdict::Unknown(Bound::Executions(_))),
                    "{report}"
                );
            };
            assert!(slices > 5, "{slices}");
            assert_eq!((last.executions, last.beyond), (whole.executions, whole.beyond));
        }
    }
}

#[test]
fn what_is_not_a_checkpoint_is_refused_and_left_alone() {
    let folder = Folder::new();
    let path = folder.path().join("other");
    let not_ours: [&[u8]; 5] = [
        b"",
        b"c11@elsewhere.rs:1 1 2 3",
        b"not one end\n",
        b"\xff\xfe\x00 end\n",
        b"notes of mine",
    ];
    for bytes in not_ours {
        std::fs::write(&path, bytes).unwrap();
        let refused = search(&path).unwrap_err();
        assert!(refused.to_string().contains("is not a checkpoint"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let refused = search(&path).unwrap_err();
    assert!(refused.to_string().contains("cannot be read"), "{refused}");
    std::fs::remove_dir(&path).unwrap();
}

#[test]
fn a_checkpoint_with_another_bound_or_place_is_refused() {
    let folder = Folder::new();
    let path = folder.path().join("bounds");
    let base = || Explorer::new(Memory::C11);
    let slice = |explorer: Explorer| explorer.checkpoint(&path).executions(50).explore(program);
    assert_eq!(slice(base()).unwrap().executions, 50);
    let noted = std::fs::read(&path).unwrap();
    for other in [base().leaks(true), base().memory_bytes(1 << 20), base().stack_bytes(1 << 20)] {
        let refused = slice(other).unwrap_err();
        assert!(refused.to_string().contains("belongs to another search"), "{refused}");
    }
    let refused = search(&path).unwrap_err();
    assert!(refused.to_string().contains("belongs to another search"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), noted, "it is left alone");
    std::fs::remove_file(&path).unwrap();
}

/// A copy of this program with an extra byte is another build.
#[test]
fn a_checkpoint_of_another_build_is_refused() {
    let folder = Folder::new();
    let [path, built] = ["build", "built"].map(|name| folder.path().join(name));
    let run = |program: &Path| {
        let tested = Command::new(program)
            .args(["--exact", "a_search_in_the_place_of_a_build"])
            .env("UNC_TEST_BUILD", &path)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (tested.status.success(), text(tested.stdout) + &text(tested.stderr))
    };
    let own = std::env::current_exe().unwrap();
    assert!(run(&own).0, "the first slice");
    let noted = std::fs::read(&path).unwrap();
    let mut bytes = std::fs::read(&own).unwrap();
    bytes.push(0);
    uncontended_testkit::programs::executable(&built, &bytes);
    let (is_fine, said) = run(&built);
    assert!(
        !is_fine && said.contains("belongs to another build of this program: remove it"),
        "{said}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), noted, "it is left alone");
    assert!(run(&own).0, "the same build resumes");
    assert_ne!(std::fs::read(&path).unwrap(), noted);
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&built).unwrap();
}

/// A slice of a search in its own process; does nothing by itself.
#[test]
fn a_search_in_the_place_of_a_build() {
    if let Some(path) = std::env::var_os("UNC_TEST_BUILD") {
        let noted = if Path::new(&path).exists() { 90 } else { 50 };
        let explorer = Explorer::new(Memory::C11).executions(noted).checkpoint(path);
        assert_eq!(explorer.explore(program).unwrap().executions, noted);
    }
}

#[test]
fn a_search_whose_steps_have_changed_does_not_go_on() {
    let folder = Folder::new();
    let path = folder.path().join("steps");
    let slice = |order, value, most| {
        let explorer = Explorer::new(Memory::C11).executions(most).checkpoint(&path);
        explorer.explore(move || {
            let x = Arc::new(AtomicU32::new(0));
            let threads = [(); 3].map(|()| {
                let x = Arc::clone(&x);
                spawn(move || {
                    x.fetch_add(value, order);
                    x.load(Relaxed);
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        })
    };
    assert_eq!(slice(Release, 1, 20).unwrap().executions, 20);
    for (order, value) in [(Relaxed, 1), (Release, 2)] {
        // The same number of events, in the same places.
        let refused = slice(order, value, 30).unwrap_err();
        assert!(refused.to_string().contains("took other steps"), "{refused}");
    }
    assert_eq!(slice(Release, 1, 30).unwrap().executions, 30);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn checkpoints_with_one_stem_do_not_meet() {
    let folder = Folder::new();
    let (stem, threads) = (folder.path().join("stem"), [Memory::C11, Memory::Tso]);
    let threads = threads.map(|memory| {
        let path = stem.with_extension(format!("{memory:?}"));
        std::thread::spawn(move || {
            for most in 1..300 {
                let explorer = Explorer::new(memory).executions(most).checkpoint(&path);
                assert_eq!(explorer.explore(program).unwrap().executions, most);
            }
            std::fs::remove_file(&path).unwrap();
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_search() {
    let runs = std::rc::Rc::new(std::cell::Cell::new(0));
    let counted = std::rc::Rc::clone(&runs);
    let explorer = Explorer::new(Memory::C11).checkpoint("/nonexistent/checkpoint");
    let error = explorer.explore(move || counted.set(counted.get() + 1)).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/checkpoint cannot be written"), "{error}");
    assert_eq!(runs.get(), 0);
}
