//! The watchdog: reports explored code that makes no step for a long time.
//!
//! # Contract
//! One OS thread per process checks every running exploration once a second. If an explored thread has not returned to
//! the checker for too long, it reports that once on stderr, with the place in the code: after `COMPUTE_LIMIT` if the
//! thread computes, after `LOOKS_ASLEEP` checks in a row if its OS thread sleeps. The explored thread cannot be
//! interrupted or given a verdict.
//!
//! # Invariants
//! H1: the signal is sent only if the OS thread has slept for seconds. A thread holds no lock of the allocator or of
//!     the unwinder while it sleeps, so the handler may use both, on the stack of the code that waits.
//!
//! # Evidence
//! tests/real_bad.rs.
#![allow(unsafe_code)]

use super::signals::{handle_here, say};
use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

const COMPUTE_LIMIT: Duration = Duration::from_secs(20);
const LOOKS_ASLEEP: u32 = 5;

/// Shows whether an exploration advances.
pub(crate) struct Beat {
    /// Odd while explored code runs.
    turns: AtomicU64,
    thread: AtomicUsize,
    /// The name of the OS thread; in a test, the test's name.
    name: String,
    os_thread: i32,
}

static BEATS: Mutex<Vec<Weak<Beat>>> = Mutex::new(Vec::new());

/// Where the OS thread that was asked last sleeps.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

impl Beat {
    pub(crate) fn new() -> Arc<Beat> {
        let name = std::thread::current().name().unwrap_or("an OS thread").to_owned();
        let (turns, thread) = Default::default();
        // SAFETY: only reads a number; no signal is sent (H1).
        let os_thread = unsafe { libc::gettid() };
        let beat = Arc::new(Beat { turns, thread, name, os_thread });
        let mut beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner);
        beats.retain(|beat| beat.strong_count() > 0);
        beats.push(Arc::downgrade(&beat));
        static WATCHING: Once = Once::new();
        WATCHING.call_once(|| drop(std::thread::Builder::new().name("watch".into()).spawn(watch)));
        beat
    }

    /// Notes that explored code begins to run as `thread`, or has returned to the checker.
    #[inline]
    pub(crate) fn turn(&self, thread: usize) {
        self.thread.store(thread, Ordering::Relaxed);
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Whether the OS thread sleeps, according to the kernel.
    fn is_asleep(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.os_thread));
        let state =
            stat.ok().and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()));
        state.is_some_and(|state| state.starts_with('S'))
    }
}

/// A beat under observation.
struct Watched {
    beat: Weak<Beat>,
    turns: u64,
    since: Instant,
    looks_asleep: u32,
    is_told: bool,
}

impl Watched {
    fn new(beat: &Weak<Beat>, turns: u64) -> Watched {
        Watched {
            beat: beat.clone(),
            turns,
            since: Instant::now(),
            looks_asleep: 0,
            is_told: false,
        }
    }

    fn look(&mut self, beat: &Beat, turns: u64) {
        if self.turns != turns {
            *self = Watched::new(&self.beat, turns);
        } else if turns % 2 == 1 && !self.is_told {
            self.looks_asleep = if beat.is_asleep() { self.looks_asleep + 1 } else { 0 };
            let is_asleep = self.looks_asleep >= LOOKS_ASLEEP;
            if is_asleep || self.since.elapsed() > COMPUTE_LIMIT {
                self.is_told = true;
                say(&told(beat, is_asleep));
            }
        }
    }
}

fn watch() {
    let mut seen: Vec<Watched> = Vec::new();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.retain(|watched| watched.beat.strong_count() > 0);
        for beat in beats {
            let Some(alive) = beat.upgrade() else { continue };
            let turns = alive.turns.load(Ordering::Relaxed);
            match seen.iter_mut().find(|watched| watched.beat.ptr_eq(&beat)) {
                Some(watched) => watched.look(&alive, turns),
                None => seen.push(Watched::new(&beat, turns)),
            }
        }
    }
}

fn told(beat: &Beat, is_asleep: bool) -> String {
    let (name, thread) = (&beat.name, beat.thread.load(Ordering::Relaxed));
    if !is_asleep {
        return format!(
            "\n{name}: thread {thread} of an exploration has made no step for {} s: an endless loop without atomics, \
             or a long computation? It cannot be interrupted.\n",
            COMPUTE_LIMIT.as_secs()
        );
    }
    let place = asked(beat).map_or_else(String::new, |place| format!(" at {place}"));
    format!(
        "\n{name}: thread {thread} of an exploration has slept{place}, outside the checker, for {LOOKS_ASLEEP} s: in a \
         lock of `std` that another explored thread holds across a step, a sleep, or a read of input. All explored \
         threads run on one OS thread, so that lock is never released: use the checker's `Mutex`, or release it before \
         the step. It cannot be interrupted.\n"
    )
}

/// Asks the OS thread of `beat`, which sleeps, for its place in the code.
fn asked(beat: &Beat) -> Option<String> {
    static HANDLED: Once = Once::new();
    HANDLED.call_once(|| handle_here(libc::SIGURG, on_asked));
    let process = std::process::id();
    // SAFETY: the thread belongs to this process, and the signal has a handler (H1).
    unsafe { libc::syscall(libc::SYS_tgkill, process, beat.os_thread, libc::SIGURG) };
    for _ in 0..40 {
        std::thread::sleep(Duration::from_millis(50));
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).take();
        if place.is_some() {
            return place;
        }
    }
    None
}

extern "C" fn on_asked(_signal: i32) {
    let stack = Backtrace::force_capture().to_string();
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place_in(&stack);
}

/// The innermost frame in a Rust file that is not part of std or the checker. A build with line tables only has no
/// paths in its function names, so files decide.
fn place_in(stack: &str) -> Option<String> {
    let checker = file!().strip_suffix("watch.rs").expect("this file's name");
    // Cargo runs tests in their package's folder, and paths are shown relative to it.
    let of_checker = [checker, &checker[checker.find("src/").unwrap_or(0)..]];
    let places = stack.lines().filter_map(|line| line.trim_start().strip_prefix("at "));
    let is_explored = |place: &&str| {
        let file = place.trim_start_matches("./");
        file.contains(".rs:")
            && !file.contains("/library/")
            && !of_checker.iter().any(|folder| file.contains(folder))
    };
    places.into_iter().find(is_explored).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_place_of_the_explored_code_is_told() {
        let stack = "   0: on_asked\n             at ./src/real/watch.rs:1:1\n   \
                     0: syscall\n             at ./misc/syscall.S:36\n   1: std::sync::Mutex<T>::lock\n             at /rustc/0/library/std/src/sync/mutex.rs:2:2\n   \
                     2: {closure#0}\n             at ./tests/x.rs:3:3\n   3: y\n             at \
                     ./tests/y.rs:4:4\n";
        assert_eq!(place_in(stack).as_deref(), Some("./tests/x.rs:3:3"));
        assert_eq!(place_in("   0: <unknown>\n"), None);
    }
}
