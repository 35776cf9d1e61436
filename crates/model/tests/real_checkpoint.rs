//! A search that was killed goes on where it was, and counts what it would have counted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;
use uncontended_model::real::{
    AtomicU32, Bound, Diverged, Explorer, Memory, Report, Verdict, spawn,
};

/// Readers and adders of one word: ways that read, ways that write, revisits.
fn program() {
    if std::env::var_os("UNC_TEST_CHECKPOINT").is_some() {
        std::thread::sleep(Duration::from_micros(200)); // To be killed in time.
    }
    let x = Arc::new(AtomicU32::new(0));
    let thread = |number: u32| {
        let x = Arc::clone(&x);
        spawn(move || {
            if number < 3 {
                x.fetch_add(1, Relaxed);
            } else {
                x.load(Acquire);
                x.store(number, Release);
            }
        })
    };
    let threads: Vec<_> = (0..5).map(thread).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// From one place in the source, which a search is told by.
fn search(path: &Path) -> Result<Report, Diverged> {
    Explorer::new(Memory::C11).checkpoint(path).explore(program)
}

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("uncontended-{name}-{}", std::process::id()))
}

/// What the process that is killed runs; nothing by itself.
#[test]
fn a_search_to_be_killed() {
    if let Some(path) = std::env::var_os("UNC_TEST_CHECKPOINT") {
        search(Path::new(&path)).unwrap();
    }
}

#[test]
fn a_killed_search_goes_on_and_counts_the_same() {
    let whole = Explorer::new(Memory::C11).explore(program).unwrap();
    let path = place("killed");
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
            let path = place(&format!("slices-{memory:?}-{preemptions:?}"));
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
fn a_checkpoint_of_another_search_is_refused() {
    let path = place("other");
    for text in ["", "c11@elsewhere.rs:1 1 2 3", "not a checkpoint end\n"] {
        std::fs::write(&path, text).unwrap();
        let refused = search(&path).unwrap_err();
        assert!(refused.to_string().contains("is of another search"), "{refused}");
    }
    std::fs::remove_file(&path).unwrap();
}
