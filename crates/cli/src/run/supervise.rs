//! Watching the program: forwards signals, samples threads, waits for the end.
//!
//! # Contract
//! A signal that a process sent to `unc` is forwarded to the program. A signal from a terminal key is not, because the
//! terminal has sent it to the program too. Neither ends `unc`: it still has to write the report.

use super::load::Load;
use super::record::Record;
use super::threads::ThreadWatch;
use super::watches::Watches;
use std::time::{Duration, Instant};
use uncontended_sys::process::Child;
use uncontended_sys::signals::Signals;

const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;
const USER_1: i32 = 10;
const USER_2: i32 = 12;
const TERMINATE: i32 = 15;
const CHILD: i32 = 17;
const FILE_SIZE: i32 = 25;

/// The signals that we take by waiting: those that are forwarded, SIGCHLD, and SIGXFSZ for a file that exceeds its size
/// limit, which the failed write reports as well.
pub(crate) const TAKEN: [i32; 8] =
    [HANGUP, INTERRUPT, QUIT, USER_1, USER_2, TERMINATE, CHILD, FILE_SIZE];

/// Those of them that ask a program to exit.
pub(crate) const ENDING: [i32; 4] = [HANGUP, INTERRUPT, QUIT, TERMINATE];

/// When to do what.
#[derive(Default)]
pub(crate) struct Schedule<'a> {
    /// When to end the program with SIGTERM.
    pub(crate) end: Option<Instant>,
    /// When to start recording.
    pub(crate) begin: Option<Instant>,
    /// The load whose end ends the program.
    pub(crate) load: Option<Load<'a>>,
}

/// Watches the program until it has ended, and leaves it unreaped.
pub(crate) fn until_end(
    child: &Child,
    signals: &Signals,
    schedule: &mut Schedule<'_>,
    record: &Record,
    threads: &mut ThreadWatch,
    watches: &mut Watches,
) {
    let mut drain = watches.is_any().then(Instant::now);
    while !child.ended() {
        let now = Instant::now();
        if drain.is_some_and(|drain| now >= drain) {
            watches.look();
            drain = Some(now + Watches::LOOK_EVERY);
        }
        if now >= threads.due() {
            threads.look();
            watches.look_outside();
            if let Some(futexes) = &mut watches.futexes {
                futexes.look_at_files(threads.pids());
            }
        }
        if schedule.end.is_some_and(|end| now >= end) {
            child.signal(TERMINATE);
            schedule.end = None;
        }
        if schedule.begin.is_some_and(|begin| now >= begin) {
            record.enable();
            watches.begin(child.pid());
            schedule.begin = None;
        }
        let load = schedule.load.as_mut().filter(|load| !load.is_over());
        let load = load.map(|load| load.look(now));
        if load == Some(None) {
            child.signal(TERMINATE);
        }
        let wake = [Some(threads.due()), drain, schedule.end, schedule.begin, load.flatten()];
        let wake = wake.into_iter().flatten().min().unwrap_or(now);
        let pause = wake.saturating_duration_since(Instant::now()).max(Duration::from_micros(1));
        if let Some(received) = signals.wait(pause)
            && received.signal != CHILD
            && received.from_process
        {
            child.signal(received.signal);
        }
    }
    threads.look();
    watches.look_outside();
    if let Some(load) = &mut schedule.load {
        load.end();
    }
}
