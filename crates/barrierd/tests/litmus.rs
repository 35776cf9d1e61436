//! Store buffering on this machine with a daemon's stamps, in one process and between two: never with a complete fence,
//! and often without one, so that the test can fail.
//!
//! Many rounds share a fence, since one takes up to a tick: the seldom side writes in each round, asks for a fence
//! after the last, and looks at all of them when it is complete. It needs root and eBPF, and skips elsewhere.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]

mod common;

use common::Running;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, Mutex, spin_loop};
use uncontended_barrierd::stamps::{Access, Stamps, Words};
use uncontended_barrierd::{Daemon, Options};
use uncontended_fence::Fences;
use uncontended_sys::affinity;
use uncontended_testkit::{Folder, Random, repetitions, skip};

/// The rounds that share a fence.
const BATCH: usize = 512;
/// Words: both sides' progress, then for each round of a batch, each on a cache line of its own, what the often side
/// stores, what the seldom side stores, and the last batch in which the often side saw the other.
const OFTEN_AT: usize = 0;
const SELDOM_AT: usize = 8;
const ROUNDS: usize = 16;
const WORDS: usize = ROUNDS + BATCH * 24;

/// Names the shared memory for the second process, and how many batches it runs.
const SHARED: &str = "UNC_STAMPS_LITMUS";
/// Names the socket for a daemon in a process of its own.
const DAEMON: &str = "UNC_STAMPS_LITMUS_DAEMON";

/// One test at a time has the CPUs.
static ALONE: Mutex<()> = Mutex::new(());

fn mine(words: &[AtomicU64], nth: usize) -> &AtomicU64 {
    &words[ROUNDS + 24 * nth]
}

fn theirs(words: &[AtomicU64], nth: usize) -> &AtomicU64 {
    &words[ROUNDS + 24 * nth + 8]
}

fn seen(words: &[AtomicU64], nth: usize) -> &AtomicU64 {
    &words[ROUNDS + 24 * nth + 16]
}

/// The CPUs that this process could use before a thread was pinned.
fn cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(|| affinity::allowed().unwrap())
}

/// The CPU of the frequent side.
fn other_cpu() -> usize {
    cpus()[1 % cpus().len()]
}

fn await_other(word: &AtomicU64, at: u64) {
    let mut looks = 0_u32;
    while word.load(Acquire) < at {
        looks += 1;
        if looks.is_multiple_of(10_000) { std::thread::yield_now() } else { spin_loop() }
    }
}

fn delay(random: &mut Random) {
    (0..random.below(32)).for_each(|_| spin_loop());
}

/// The frequent side: stores, runs a light fence, loads.
fn often(words: &[AtomicU64], batches: u64, cpu: usize, light: impl Fn()) {
    affinity::pin(cpu).unwrap();
    let mut random = Random(1);
    for batch in 1..=batches {
        for nth in 0..BATCH {
            let round = (batch - 1) * BATCH as u64 + nth as u64 + 1;
            words[OFTEN_AT].store(round, Release);
            await_other(&words[SELDOM_AT], round);
            delay(&mut random);
            mine(words, nth).store(batch, Relaxed);
            light();
            if theirs(words, nth).load(Relaxed) == batch {
                seen(words, nth).store(batch, Relaxed);
            }
        }
        words[OFTEN_AT].store(batch * BATCH as u64 + 1, Release);
        await_other(&words[SELDOM_AT], batch * BATCH as u64 + 1);
    }
}

/// The other side; `heavy` runs after a batch. Without it, the words are looked at in each round at once. Returns in
/// how many rounds neither side saw the other.
fn seldom(words: &[AtomicU64], batches: u64, heavy: Option<&dyn Fn()>) -> u64 {
    affinity::pin(cpus()[0]).unwrap();
    let (mut random, mut missed) = (Random(2), 0);
    for batch in 1..=batches {
        let mut saw = [false; BATCH];
        for (nth, saw) in saw.iter_mut().enumerate() {
            let round = (batch - 1) * BATCH as u64 + nth as u64 + 1;
            words[SELDOM_AT].store(round, Release);
            await_other(&words[OFTEN_AT], round);
            delay(&mut random);
            theirs(words, nth).store(batch, Relaxed);
            *saw = heavy.is_none() && mine(words, nth).load(Relaxed) == batch;
        }
        if let Some(heavy) = heavy {
            heavy();
            for (nth, saw) in saw.iter_mut().enumerate() {
                *saw = mine(words, nth).load(Relaxed) == batch;
            }
        }
        await_other(&words[OFTEN_AT], batch * BATCH as u64 + 1);
        let both = saw.iter().enumerate();
        missed += both
            .filter(|(nth, saw)| !**saw && seen(words, *nth).load(Relaxed) != batch)
            .count() as u64;
        words[SELDOM_AT].store(batch * BATCH as u64 + 1, Release);
    }
    missed
}

fn memory() -> Vec<AtomicU64> {
    (0..WORDS).map(|_| AtomicU64::new(0)).collect()
}

fn batches(name: &str) -> u64 {
    (repetitions(name, 5_000, 10_000_000) / BATCH as u64).max(1)
}

/// Without the fence, both sides miss each other at times, if they run at the same time.
fn can_fail(run: impl Fn() -> u64) {
    if cpus().len() == 1 {
        return skip!("can_fail", "one CPU has one store buffer");
    }
    assert!((0..400).any(|_| run() > 0), "without the pair, the test cannot fail");
}

#[test]
fn in_one_process_one_side_sees_the_other() {
    let name = "rounds of store buffering with stamps, in one process";
    let _alone = ALONE.lock();
    let Some(daemon) = Running::start(name, None) else { return };
    let stamps: &'static Stamps =
        Box::leak(Box::new(Stamps::connect_to(&daemon.socket()).unwrap()));
    let fences = Fences::by_stamps(stamps);
    let run = |batches, heavy: Option<&dyn Fn()>| {
        let (words, cpu) = (memory(), other_cpu());
        std::thread::scope(|threads| {
            threads.spawn(|| often(&words, batches, cpu, || fences.light()));
            seldom(&words, batches, heavy)
        })
    };
    let heavy = || fences.heavy().unwrap();
    assert_eq!(run(batches(name), Some(&heavy)), 0, "with the pair");
    can_fail(|| run(4, None));
}

#[test]
fn between_two_processes_one_side_sees_the_other() {
    let name = "rounds of store buffering with stamps, between two processes";
    if let Ok(shared) = std::env::var(SHARED) {
        return second_process(&shared);
    }
    let _alone = ALONE.lock();
    let Some(daemon) = Running::start(name, None) else { return };
    let stamps = Stamps::connect_to(&daemon.socket()).unwrap();
    let heavy = || assert!(stamps.ask().wait(None).unwrap());
    let run = |batches, heavy| between_two(&daemon.socket(), batches, heavy);
    assert_eq!(run(batches(name), Some(&heavy)), 0, "with the pair");
    can_fail(|| run(4, None));
}

/// The daemon is stopped while a fence waits for it, continued, and killed while another one waits.
#[test]
fn a_daemon_that_stops_or_dies_completes_no_fence_too_early() {
    let name = "rounds of store buffering with stamps, whose daemon stops and dies";
    if let Ok(socket) = std::env::var(DAEMON) {
        let daemon = Daemon::start(&Options { socket: socket.into(), cpus: None });
        return daemon.and_then(|daemon| daemon.run(|| false, |_| {})).unwrap();
    }
    let _alone = ALONE.lock();
    let folder = Folder::new();
    let socket = folder.path().join("socket");
    let mut daemon = Killed(
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_daemon_that_stops_or_dies_completes_no_fence_too_early"])
            .env(DAEMON, &socket)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let stamps = loop {
        match Stamps::connect_to(&socket) {
            Ok(stamps) => break stamps,
            Err(_) if daemon.0.try_wait().unwrap().is_none() => {}
            Err(error) => return skip!(name, "no daemon here: {error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let pid = daemon.0.id().to_string();
    let (batches, done) = (batches(name).max(9), Cell::new(0));
    let heavy = || {
        let (asked, began) = (stamps.ask(), Instant::now());
        done.set(done.get() + 1);
        let signals = [(batches / 3, "-STOP"), (batches / 2, "-CONT"), (2 * batches / 3, "-KILL")];
        for (_, signal) in signals.iter().filter(|(at, _)| *at == done.get()) {
            assert!(Command::new("kill").args([signal, pid.as_str()]).status().unwrap().success());
        }
        assert!(asked.wait(None).unwrap());
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    };
    assert_eq!(between_two(&socket, batches, Some(&heavy)), 0, "with the pair");
    assert_eq!(daemon.0.wait().unwrap().signal(), Some(9), "it was killed");
}

/// A child that does not outlive the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the frequent side in a second process, which connects to the daemon at `socket`.
fn between_two(socket: &Path, batches: u64, heavy: Option<&dyn Fn()>) -> u64 {
    let path = socket.with_file_name("words");
    let file =
        File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.set_len(8 * WORDS as u64).unwrap();
    let words = Words::open(file.as_fd(), WORDS, Access::Write).unwrap();
    let mut other = Killed(
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "between_two_processes_one_side_sees_the_other"])
            .env(
                SHARED,
                format!("{batches} {} {} {}", socket.display(), path.display(), other_cpu()),
            )
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let missed = seldom(words.all(), batches, heavy);
    assert!(other.0.wait().unwrap().success());
    missed
}

/// The frequent side, in a process that has connected.
fn second_process(shared: &str) {
    let parts: Vec<&str> = shared.split(' ').collect();
    let stamps: &'static Stamps =
        Box::leak(Box::new(Stamps::connect_to(Path::new(parts[1])).unwrap()));
    let fences = Fences::by_stamps(stamps);
    let file = File::options().read(true).write(true).open(parts[2]).unwrap();
    let words = Words::open(file.as_fd(), WORDS, Access::Write).unwrap();
    let [batches, cpu] = [parts[0], parts[3]].map(|text| text.parse().unwrap());
    often(words.all(), batches, cpu as usize, || fences.light());
}
