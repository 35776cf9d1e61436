//! Explored code that makes no step for a long time is told: nobody else could.
//!
//! # Contract
//! An OS thread, one in a process, looks at every exploration that goes on once a second. Where the same thread of one
//! has been running for longer than `PATIENCE` without coming back to the checker, it says so on stderr, once: code in
//! a loop without atomics, or in a real wait, can be neither interrupted nor given a verdict.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// What shows that an exploration goes on.
pub(crate) struct Beat {
    /// Odd while explored code runs.
    turns: AtomicU64,
    thread: AtomicUsize,
    /// Of the OS thread: in a test, the name of that.
    name: String,
}

static BEATS: Mutex<Vec<Weak<Beat>>> = Mutex::new(Vec::new());

impl Beat {
    pub(crate) fn new() -> Arc<Beat> {
        let name = std::thread::current().name().unwrap_or("an OS thread").to_owned();
        let (turns, thread) = Default::default();
        let beat = Arc::new(Beat { turns, thread, name });
        let mut beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner);
        beats.retain(|beat| beat.strong_count() > 0);
        beats.push(Arc::downgrade(&beat));
        static WATCHING: Once = Once::new();
        WATCHING.call_once(|| drop(std::thread::Builder::new().name("watch".into()).spawn(watch)));
        beat
    }

    /// Explored code begins to run as `thread`, or comes back.
    #[inline]
    pub(crate) fn turn(&self, thread: usize) {
        self.thread.store(thread, Ordering::Relaxed);
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

fn watch() {
    // Of each beat: where it stood, since when, and whether that was told.
    let mut seen: Vec<(Weak<Beat>, u64, Instant, bool)> = Vec::new();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.retain(|(beat, ..)| beat.strong_count() > 0);
        for beat in beats {
            let Some(alive) = beat.upgrade() else { continue };
            let turns = alive.turns.load(Ordering::Relaxed);
            let Some(entry) = seen.iter_mut().find(|entry| entry.0.ptr_eq(&beat)) else {
                seen.push((beat, turns, Instant::now(), false));
                continue;
            };
            if entry.1 != turns {
                (entry.1, entry.2, entry.3) = (turns, Instant::now(), false);
            } else if turns % 2 == 1 && !entry.3 && entry.2.elapsed() > PATIENCE {
                entry.3 = true;
                tell(&alive);
            }
        }
    }
}

fn tell(beat: &Beat) {
    let text = format!(
        "\n{}: thread {} of an exploration has made no step for {} s: an endless loop without atomics, or a real wait \
         (a lock of `std`, a sleep, input)? It can't be interrupted; explored code waits through the stand-ins alone.\n",
        beat.name,
        beat.thread.load(Ordering::Relaxed),
        PATIENCE.as_secs()
    );
    super::signals::say(&text);
}
