//! Living alongside the program: passing signals on, looking at threads, waiting for the end.
//!
//! # Contract
//! A signal that a process sent to us goes on to the program. One that a terminal's key caused does not, because the
//! terminal has given it to the program too. Neither ends us: the report is still to be written.

use super::futex::FutexWatch;
use super::record::Record;
use super::threads::ThreadWatch;
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

/// The signals that we take by waiting: those that are passed on, the child's end, and the kernel's answer to a file
/// that grows past its limit, of which the failed call tells too.
pub(crate) const TAKEN: [i32; 8] =
    [HANGUP, INTERRUPT, QUIT, USER_1, USER_2, TERMINATE, CHILD, FILE_SIZE];

/// Those of them that ask a program to end.
pub(crate) const ENDING: [i32; 4] = [HANGUP, INTERRUPT, QUIT, TERMINATE];

/// What to do at which time.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// When to end the program with SIGTERM.
    pub(crate) end: Option<Instant>,
    /// When to begin recording.
    pub(crate) begin: Option<Instant>,
}

/// Stays with the program until it has ended; it is left unreaped.
pub(crate) fn until_end(
    child: &Child,
    signals: &Signals,
    mut schedule: Schedule,
    record: &Record,
    threads: &mut ThreadWatch,
    mut futexes: Option<&mut FutexWatch>,
) {
    let mut drain = futexes.is_some().then(Instant::now);
    while !child.ended() {
        let now = Instant::now();
        if let Some(futexes) = futexes.as_mut().filter(|_| drain.is_some_and(|drain| now >= drain))
        {
            futexes.look();
            drain = Some(now + FutexWatch::LOOK_EVERY);
        }
        if now >= threads.due() {
            threads.look();
            if let Some(futexes) = &mut futexes {
                futexes.look_at_files(threads.pids());
            }
        }
        if schedule.end.is_some_and(|end| now >= end) {
            child.signal(TERMINATE);
            schedule.end = None;
        }
        if schedule.begin.is_some_and(|begin| now >= begin) {
            record.enable();
            schedule.begin = None;
        }
        let wake = [Some(threads.due()), drain, schedule.end, schedule.begin];
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
}
