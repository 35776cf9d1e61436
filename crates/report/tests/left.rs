//! What is said of processes that outlive a program, of threads that do not record, and of programs that do not outlive
//! their files.

mod written;

use uncontended_report::aggregate::{Symbols, name_all, report};
use uncontended_report::facts::{Facts, FutexFacts, ThreadFacts};
use uncontended_report::run::{Frame, StillRunning, SymbolsMismatch, Thread};
use uncontended_trace::layout;
use written::{Plain, Writer, facts, read};

#[test]
fn processes_that_outlive_the_program_are_named_up_to_three() {
    let left = |pids: std::ops::Range<u32>| {
        let command = vec!["daemon".to_owned(), "-d".to_owned()];
        let still_running = pids.map(|pid| StillRunning { pid, command: command.clone() });
        let facts = Facts { still_running: still_running.collect(), ..facts() };
        let coverage = read(&Writer::new(), facts).coverage;
        (coverage.still_running.len(), coverage.unseen.join("\n"))
    };
    let (count, two) = left(8..10);
    assert!(count == 2 && two.contains("up to then: daemon (8), daemon (9). Watch them"), "{two}");
    let (count, five) = left(8..13);
    assert!(count == 5 && five.contains("daemon (10) and 2 more."), "{five}");
    assert!(!left(0..0).1.contains("still running"));
}

#[test]
fn threads_that_only_the_kernel_showed_are_threads() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.thread(process, 7);
    let thread = |tid| ThreadFacts { pid: 7, thread: Thread { tid, ..Thread::default() } };
    let threads = vec![thread(7), thread(8)];
    let futex = Some(FutexFacts { total_ns: 1_000, ..FutexFacts::default() });
    for facts in [Facts { threads, ..facts() }, Facts { futex, ..facts() }] {
        let nothing = read(&writer, facts).coverage.nothing_seen.expect("no locks");
        assert!(nothing.contains("if its threads wait"), "{nothing}");
    }
}

/// Addresses have no names, since the file is another one.
struct Replaced(Plain);

impl Symbols for Replaced {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        self.0.frames(module, address)
    }

    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame> {
        self.0.frames(module, offset)
    }

    fn mismatches(&self) -> Vec<SymbolsMismatch> {
        let other = |module: &str| SymbolsMismatch {
            module: module.to_owned(),
            build_id: Some("ab".to_owned()),
            reason: "the file is gone".to_owned(),
        };
        ["/bin/a", "/bin/b", "/bin/c", "/lib/libplain.so"].map(other).to_vec()
    }
}

#[test]
fn a_module_whose_file_is_another_one_is_told_once_with_what_to_do() {
    let mut writer = Writer::new();
    let process = writer.process(7);
    writer.module(process, "/lib/libplain.so", 0x1000, 0x9000);
    let stack = writer.stack(process, &[0x1010, 0x1020]);
    let lock = writer.lock(process, 0xabc0, layout::kind::MUTEX);
    let thread = writer.thread(process, 7);
    let cell = writer.cell(thread, lock, 100);
    writer.waited(cell, 1_000_000, 400_000, [stack, stack]);
    let mut symbols = Replaced(Plain::default());
    let coverage = report(&writer.bytes, facts(), &mut symbols).unwrap().coverage;
    assert_eq!(coverage.symbols_mismatch, symbols.mismatches());
    let told: Vec<_> = coverage.unseen.iter().filter(|line| line.contains("named")).collect();
    let [line] = &told[..] else { panic!("{:#?}", coverage.unseen) };
    assert!(
        line.contains("because the file is gone: a, b, c and 1 more; run with --trace"),
        "{line}"
    );
    let unnamed = coverage.unseen.iter().any(|line| line.contains("build it with symbols"));
    assert!(!unnamed, "its file may well have them: {:#?}", coverage.unseen);

    let asked = symbols.0.asked;
    name_all(&writer.bytes, &mut symbols, 10).unwrap();
    name_all(&writer.bytes, &mut symbols, 1).unwrap();
    assert_eq!(symbols.0.asked, asked + 3, "at most as many as were asked for");
}
