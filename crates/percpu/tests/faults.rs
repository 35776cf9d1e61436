//! Threads that are interrupted, moved and stopped while they are in sections; forks; filters; other C libraries.
//!
//! Sections are a few instructions long, so that signals hit them rarely. With `cfg(unc_pause)`, each waits right
//! before its commit, and most signals abort one; then each test continues until ten thousand were aborted:
//!
//!     RUSTFLAGS="--cfg unc_pause" cargo test --release -p uncontended-percpu --test faults --target-dir target/pause

#![cfg(all(target_os = "linux", not(any(miri, unc_model))))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use uncontended_percpu::{
    Backend, Counter, FreeList, Node, NotTaken, PerCpu, Revocable, Why, Word, backend,
};
use uncontended_sys::{affinity, filter, membarrier};
use uncontended_testkit::{repetitions, skip};

const WORKERS: usize = 4;

/// Whether there are sections for this build.
const IS_WRITTEN: bool = cfg!(all(target_arch = "x86_64", not(unc_portable)));

/// What signal handlers did.
static HANDLED: Counter = Counter::new();
static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn handle(_: libc::c_int) {
    HANDLED.increment();
    SIGNALS.fetch_add(1, SeqCst);
}

/// One test at a time: aborts are counted for the process.
static ALONE: Mutex<()> = Mutex::new(());

fn aborts() -> Option<u64> {
    #[cfg(all(unc_pause, target_arch = "x86_64", not(unc_portable)))]
    if matches!(backend(), Backend::Sequences { .. }) {
        return Some(uncontended_percpu::aborts());
    }
    None
}

/// Whether the test has what it wants: any number of aborts, or enough.
fn is_enough(before: Option<u64>) -> bool {
    const ENOUGH: u64 = 10_000;
    let (Some(before), Some(now)) = (before, aborts()) else { return true };
    now - before >= ENOUGH
}

/// Runs `work` in each worker `rounds` times and until enough sections were aborted, while the workers are sent signals
/// and moved from CPU to CPU.
fn disturbed(rounds: u64, work: impl Fn(usize, u64) + Sync) -> u64 {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    HANDLED.increment(); // Its cells are made here, and not in a handler.
    let handler: extern "C" fn(libc::c_int) = handle;
    // SAFETY: a handler of that type, which does what handlers may do.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let (before, until) = (aborts(), Instant::now() + Duration::from_secs(20));
    let (handled, signals) = (HANDLED.sum(), SIGNALS.load(SeqCst));
    let (at_work, done) = (AtomicU64::new(WORKERS as u64), AtomicU64::new(0));
    let workers: [AtomicI32; WORKERS] = Default::default();
    std::thread::scope(|threads| {
        for (number, worker) in workers.iter().enumerate() {
            let (work, at_work, done) = (&work, &at_work, &done);
            threads.spawn(move || {
                // SAFETY: it takes no argument.
                worker.store(unsafe { libc::gettid() }, SeqCst);
                let _timer = Timer::new(Duration::from_micros(20));
                let mut round = 0;
                while round < rounds || (!is_enough(before) && Instant::now() < until) {
                    (0..64).for_each(|n| work(number, round + n));
                    round += 64;
                }
                done.fetch_add(round, SeqCst);
                worker.store(0, SeqCst);
                at_work.fetch_sub(1, SeqCst);
            });
        }
        let cpus = affinity::allowed().unwrap();
        for turn in 0.. {
            if at_work.load(SeqCst) == 0 {
                break;
            }
            let worker = workers[turn % WORKERS].load(SeqCst);
            if worker != 0 {
                // It may have ended: then this fails.
                move_to(worker, &cpus, turn / WORKERS);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    });
    assert_eq!(HANDLED.sum() - handled, SIGNALS.load(SeqCst) - signals, "handlers add too");
    println!("{} signals, {:?} aborted", SIGNALS.load(SeqCst) - signals, aborts());
    assert!(is_enough(before), "too few sections were aborted");
    done.load(SeqCst)
}

/// Sends the thread that made it a signal, again and again, until it is dropped.
struct Timer(libc::timer_t);

impl Timer {
    fn new(interval: Duration) -> Timer {
        // SAFETY: plain numbers: all zeroes is a value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_signo = libc::SIGUSR1;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        // SAFETY: it takes no argument.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = std::ptr::null_mut();
        // SAFETY: both pointers are to what the call reads and writes.
        let failed =
            unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
        let interval =
            libc::timespec { tv_sec: 0, tv_nsec: interval.subsec_nanos() as libc::c_long };
        let spec = libc::itimerspec { it_interval: interval, it_value: interval };
        // SAFETY: the timer was made above; the pointer is to what the call reads, or null.
        let failed =
            unsafe { libc::timer_settime(timer, 0, &raw const spec, std::ptr::null_mut()) };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
        Timer(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Moves a thread to one of the CPUs, or lets it run on all.
fn move_to(thread: i32, cpus: &[usize], turn: usize) {
    // SAFETY: all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for (at, &cpu) in cpus.iter().enumerate() {
        if turn % (cpus.len() + 1) == cpus.len() || turn % (cpus.len() + 1) == at {
            // SAFETY: the number is one that the kernel put into such a set.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
    }
    // SAFETY: the pointer and the size are those of the set.
    unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &raw const set) };
}

/// Rounds that take part of a second; with sections that wait, many fewer.
const MANY: u64 = if cfg!(unc_pause) { 20_000 } else { 1_000_000 };

fn rounds(test: &str) -> u64 {
    repetitions(test, MANY, 100_000_000 / WORKERS as u64)
}

#[test]
fn no_addition_is_lost() {
    let (counter, words) = (Counter::new(), Word::new());
    let done = disturbed(rounds("additions under signals"), |_, round| {
        if round % 2 == 0 {
            counter.increment();
        } else {
            counter.add(3);
        }
        words.update(|old| Some(old + 1)).unwrap();
    });
    assert_eq!(counter.sum(), 2 * done);
    assert_eq!(words.values().sum::<u64>(), done);
}

#[test]
fn no_node_is_lost() {
    let list = FreeList::new(64);
    let held: [Mutex<Vec<_>>; WORKERS] = Default::default();
    for (worker, own) in held.iter().enumerate() {
        own.lock().unwrap().extend((0..8).map(|n| Node::new(worker * 8 + n)));
    }
    disturbed(rounds("nodes under signals") / 10, |worker, round| {
        let mut own = held[worker].lock().unwrap();
        own.extend(list.pop());
        if let Some(node) = own.pop() {
            own.extend(list.push(node).err());
        }
        if round % 256 == 0 {
            own.extend(list.drain(round as usize / 256 % list.lists()).into_iter().flatten());
        }
    });
    let drained = (0..list.lists()).flat_map(|number| list.drain(number).expect("no other thread"));
    let held = held.into_iter().flat_map(|own| own.into_inner().unwrap());
    let mut all: Vec<usize> = held.chain(drained).map(|node| **node).collect();
    all.sort_unstable();
    assert_eq!(all, (0..8 * WORKERS).collect::<Vec<_>>());
}

#[test]
fn each_value_has_one_owner() {
    let values = PerCpu::<(u64, u64)>::new();
    let counted = AtomicU64::new(0);
    disturbed(rounds("values under signals") / 10, |worker, round| {
        let taken = match round % 256 {
            0 => values.take((round as usize / 256 + worker) % values.len()).ok(),
            _ => values.here(),
        };
        if let Some(mut value) = taken {
            assert_eq!(value.0, value.1, "another thread is in the middle of a change");
            value.0 += 1;
            value.1 += 1;
            counted.fetch_add(1, SeqCst);
        }
    });
    let sum: u64 =
        (0..values.len()).map(|cell| values.take(cell).expect("no other thread").0).sum();
    assert_eq!(sum, counted.load(SeqCst));
}

#[test]
fn a_revoked_claim_stores_nothing() {
    let (right, word) = (Revocable::new(), uncontended_atomic::AtomicU64::new(0));
    let stored = AtomicU64::new(0);
    disturbed(rounds("claims under signals") / 100, |_, _| {
        let claim = right.claim().expect("the kernel restarts sections");
        // No other claim stores from here on, unless it is a later one.
        let before = word.load(uncontended_atomic::Ordering::Relaxed);
        let after = (1..=4).take_while(|n| claim.store(&word, before + n).is_ok()).count() as u64;
        stored.fetch_add(after, SeqCst);
    });
    assert_eq!(word.load(uncontended_atomic::Ordering::Relaxed), stored.load(SeqCst));
}

/// A child has the sums as they were at some moment, and continues from there.
#[test]
fn a_child_of_a_fork_continues() {
    static COUNTER: Counter = Counter::new();
    static LIST: FreeList<u64> = FreeList::new(16);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ends = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !ends.load(SeqCst) {
                    COUNTER.increment();
                    let node = LIST.pop().unwrap_or_else(|| Node::new(1));
                    drop(LIST.push(node));
                }
            });
        }
        for _ in 0..repetitions("forks", 50, 5_000) {
            // SAFETY: the child calls only what a child of several threads may call, and ends.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let before = COUNTER.sum();
                (0..1000).for_each(|_| COUNTER.increment());
                let popped = LIST.pop().is_none_or(|node| {
                    let is_whole = **node == 1;
                    std::mem::forget(node); // The allocator may be locked.
                    is_whole
                });
                let is_right = COUNTER.sum() == before + 1000 && popped;
                // SAFETY: it takes a number, and runs no handlers.
                unsafe { libc::_exit(i32::from(!is_right)) };
            }
            let mut status = 0;
            // SAFETY: the number of a child, and a number to write to.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child lost something");
        }
        ends.store(true, SeqCst);
    });
}

const CASE: &str = "UNC_PERCPU_CASE";

fn is_child(test: &str) -> bool {
    std::env::var(CASE).is_ok_and(|case| case == test)
}

/// Runs the test with that name again, alone, in a process that knows it is the case.
fn in_a_process_of_its_own(
    test: &str,
    prepare: impl FnOnce(&mut Command),
) -> Option<std::process::Child> {
    let exe = std::env::current_exe().unwrap();
    if !Command::new(&exe).arg("--list").output().is_ok_and(|output| output.status.success()) {
        skip!(test, "this program cannot start itself (an emulator?)");
        return None;
    }
    let mut child = Command::new(exe);
    child.args(["--exact", test, "--nocapture"]).env(CASE, test).stdout(Stdio::piped());
    prepare(&mut child);
    Some(child.spawn().unwrap())
}

fn ends_well(child: Option<std::process::Child>) {
    let Some(child) = child else { return };
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{said}");
    assert!(output.status.success(), "{said}");
}

/// Every structure once.
fn everything_works() {
    static COUNTER: Counter = Counter::new();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..1000).for_each(|_| COUNTER.increment()));
        }
    });
    assert_eq!(COUNTER.sum(), 4000);
    let (list, values, right) = (FreeList::new(1), PerCpu::<u8>::new(), Revocable::new());
    assert!(list.push(Node::new(1)).is_ok() && values.here().is_some());
    assert_eq!((0..list.lists()).flat_map(|n| list.drain(n).unwrap()).count(), 1);
    let word = uncontended_atomic::AtomicU64::new(0);
    assert!(right.claim().unwrap().store(&word, 1).is_ok());
}

/// Stops it and lets it continue, as a debugger or a shell does.
#[test]
fn a_process_that_is_stopped_loses_nothing() {
    const TEST: &str = "a_process_that_is_stopped_loses_nothing";
    if is_child(TEST) {
        let counter = Counter::new();
        let work = |_: usize, _: u64| counter.increment();
        return assert_eq!(disturbed(MANY, work), counter.sum());
    }
    let Some(mut child) = in_a_process_of_its_own(TEST, |_| ()) else { return };
    let process = child.id().cast_signed();
    while child.try_wait().unwrap().is_none() {
        for signal in [libc::SIGSTOP, libc::SIGCONT] {
            // SAFETY: numbers only; the child was not waited for, so the number is its own.
            unsafe { libc::kill(process, signal) };
            std::thread::sleep(Duration::from_micros(300));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    ends_well(Some(child));
}

#[test]
fn without_registration_shards_do() {
    const TEST: &str = "without_registration_shards_do";
    if !is_child(TEST) {
        let tunables = ("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        return ends_well(in_a_process_of_its_own(TEST, |child| {
            child.env(tunables.0, tunables.1);
        }));
    }
    match backend() {
        Backend::Sequences { .. } => panic!("the C library was told not to register threads"),
        Backend::Shards(Why::Library | Why::Kernel) => skip!(TEST, "{}", backend()),
        Backend::Shards(why) => assert!(why == Why::TurnedOff || !IS_WRITTEN, "{why}"),
    }
    everything_works();
}

/// A process that has no file number left at the first use.
#[test]
fn without_the_list_of_cpus_there_are_cells_for_those_that_are_allowed() {
    const TEST: &str = "without_the_list_of_cpus_there_are_cells_for_those_that_are_allowed";
    if !is_child(TEST) {
        return ends_well(in_a_process_of_its_own(TEST, |_| ()));
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to what the call writes.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) }, 0);
    let none = libc::rlimit { rlim_cur: 0, ..limit };
    // SAFETY: the pointer is to what the call reads.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) }, 0);
    assert_eq!(affinity::possible(), None);
    let backend = backend();
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    match backend {
        Backend::Sequences { cpus } => {
            let last = affinity::allowed().unwrap().last().copied();
            assert_eq!(Some(cpus as usize), last.map(|last| last + 1));
        }
        Backend::Shards(why) => skip!(TEST, "{why}"),
    }
    everything_works();
}

/// Whether `membarrier` is forbidden from now on.
fn forbid() -> bool {
    let number = membarrier::NUMBER.try_into().unwrap();
    let forbidden = filter::forbid(number, 1);
    if let Err(error) = &forbidden {
        skip!("refused", "filters are not available: {error}");
    }
    forbidden.is_ok()
}

#[test]
fn without_the_barrier_shards_do() {
    const TEST: &str = "without_the_barrier_shards_do";
    if !is_child(TEST) {
        return ends_well(in_a_process_of_its_own(TEST, |_| ()));
    }
    if forbid() {
        match backend() {
            Backend::Shards(why) => {
                assert!(why == Why::BarrierForbidden || !IS_WRITTEN, "{why}")
            }
            Backend::Sequences { .. } => panic!("no barrier, no sequences"),
        }
        everything_works();
    }
}

#[test]
fn a_barrier_that_is_refused_later_is_an_error_and_takes_nothing() {
    const TEST: &str = "a_barrier_that_is_refused_later_is_an_error_and_takes_nothing";
    if !is_child(TEST) {
        return ends_well(in_a_process_of_its_own(TEST, |_| ()));
    }
    let (list, values, right) = (FreeList::new(1), PerCpu::<u8>::new(), Revocable::new());
    list.push(Node::new(1)).unwrap();
    drop(values.here());
    if !matches!(backend(), Backend::Sequences { .. }) || !forbid() {
        return skip!(TEST, "{}", backend());
    }
    assert_eq!(list.drain(0).unwrap_err(), NotTaken::Refused(1));
    assert_eq!(values.take(0).unwrap_err(), NotTaken::Refused(1));
    assert_eq!(right.claim().unwrap_err().errno, 1);
    let cpus = match backend() {
        Backend::Sequences { cpus } => cpus as usize,
        Backend::Shards(_) => 0,
    };
    assert!((0..cpus).all(|list_of| list.drain(list_of).is_err()));
    assert!(values.here().is_some(), "the value was given back to its CPU");
}

/// Ends the C library's registration of this thread, as a thread that it could not register is.
#[cfg(target_arch = "x86_64")]
fn unregister() {
    const UNREGISTER: i32 = 1;
    let Ok(offset) = uncontended_sys::rseq::offset() else { return };
    let thread: usize;
    // SAFETY: on x86-64 the thread's pointer to itself is the first word that it points to.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) thread, options(nostack, readonly)) };
    let area = thread.wrapping_add_signed(offset);
    let signature = 0x5305_3053_u32;
    // SAFETY: the area that the C library registered this thread with; the call only forgets it.
    let failed = unsafe { libc::syscall(libc::SYS_rseq, area, 32, UNREGISTER, signature) };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
}

/// A thread that is not registered never changes the cell of a CPU.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_that_is_not_registered_uses_shards() {
    let Backend::Sequences { cpus } = backend() else {
        return skip!("unregistered", "{}", backend());
    };
    let cpus = cpus as usize;
    let (list, words, values) = (FreeList::new(1), Word::new(), PerCpu::<u8>::new());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            unregister();
            let own = uncontended_percpu::Slots::<AtomicU64>::new();
            own.here().store(1, SeqCst);
            assert!(own.iter().take(cpus).all(|cell| cell.load(SeqCst) == 0));
            list.push(Node::new(1)).unwrap();
            words.update(|_| Some(1)).unwrap();
            *values.here().unwrap() = 1;
        });
    });
    assert!((0..cpus).all(|cell| list.drain(cell).unwrap().next().is_none()));
    assert!(list.pop().is_some(), "a thread with an empty list looks at the shards");
    assert!(words.values().take(cpus).all(|word| word == 0));
    assert!((0..cpus).all(|cell| *values.take(cell).unwrap() == 0));
}

/// A thread that moves to another CPU after it has read a word leaves that of the first CPU as it is.
#[test]
fn a_word_is_changed_on_the_cpu_that_it_was_read_on() {
    let allowed = affinity::allowed().unwrap();
    let (Backend::Sequences { .. }, [first, second, ..]) = (backend(), &*allowed) else {
        return skip!("moved", "{}, {} CPUs", backend(), allowed.len());
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let words = Word::new();
            affinity::pin(*first).unwrap();
            let mut seen = 0;
            let updated = words.update(|old| {
                affinity::pin(*second).unwrap();
                seen += 1;
                Some(old + 1)
            });
            let values: Vec<u64> = words.values().collect();
            assert_eq!((updated, seen, values[*first], values[*second]), (Ok(0), 2, 0, 1));
        });
    });
}

/// A profiler's handler finds the callers of a section, also where it has been aborted.
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
#[test]
fn a_handler_finds_the_callers_of_a_section() {
    static FEWEST: AtomicU64 = AtomicU64::new(u64::MAX);
    unsafe extern "C" {
        fn backtrace(frames: *mut *mut libc::c_void, most: libc::c_int) -> libc::c_int;
    }
    extern "C" fn note(_: libc::c_int) {
        let mut frames = [std::ptr::null_mut(); 5];
        // SAFETY: the length is that of the array.
        let found = unsafe { backtrace(frames.as_mut_ptr(), 5) };
        FEWEST.fetch_min(u64::try_from(found).unwrap(), SeqCst);
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let counter = Counter::new();
    counter.increment();
    note(0); // The first call loads a library, which a handler must not.
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: a handler of that type.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let before = aborts();
    let _timer = Timer::new(Duration::from_micros(100));
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until || before.is_some_and(|before| aborts() == Some(before)) {
        (0..1000).for_each(|_| counter.increment());
    }
    assert_eq!(FEWEST.load(SeqCst), 5, "the handler, the kernel's frame, and three callers");
}
