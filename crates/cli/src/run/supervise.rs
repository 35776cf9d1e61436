//! Watching the program: forwards signals, samples threads, asks for reports so far, waits for the end.
//!
//! # Contract
//! A signal that a process sent to `unc` is forwarded to the program. A signal from a terminal key is not, because the
//! terminal has sent it to the program too. Neither ends `unc`: it still has to write the report; of a program that
//! does not end, see [`super::insist`]. SIGUSR1 asks for a report so far; it is forwarded as well to a program that
//! catches or ignores it, since others would die of it.

use super::insist::Insist;
use super::load::Load;
use super::record::Record;
use super::reports::Reports;
use super::threads::ThreadWatch;
use super::watches::Watches;
use std::time::{Duration, Instant};
use uncontended_sys::process::Child;
use uncontended_sys::signals::{Received, Signals};

const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;
pub(crate) const USER_1: i32 = 10;
const USER_2: i32 = 12;
pub(crate) const TERMINATE: i32 = 15;
pub(crate) const KILL: i32 = 9;
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
    /// When to report what was recorded so far.
    pub(crate) reports: Reports,
}

/// Whether the process catches or ignores SIGUSR1, and so does not die of it. That a thread blocks it says nothing: it
/// may be about to unblock it, and another thread may not.
fn minds_user_1(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let masks = status.lines().filter_map(|line| {
        let (name, mask) = line.split_once(':')?;
        let is_one = ["SigIgn", "SigCgt"].contains(&name);
        u64::from_str_radix(mask.trim(), 16).ok().filter(|_| is_one)
    });
    masks.fold(0, |all, mask| all | mask) & 1 << (USER_1 - 1) != 0
}

/// Forwards a signal. Whether it asks for a report so far.
fn pass_on(child: &Child, insist: &mut Insist, received: Received) -> bool {
    let Received { signal, from_process } = received;
    let is_request = signal == USER_1 && from_process;
    let is_for_program = signal != CHILD && from_process;
    if is_for_program && (!is_request || minds_user_1(child.pid())) {
        child.signal(signal);
    }
    if ENDING.contains(&signal) {
        insist.asked(child, !from_process, Instant::now());
    }
    is_request
}

/// Watches the program until it has ended, and leaves it unreaped.
pub(crate) fn until_end(
    child: &Child,
    signals: &Signals,
    schedule: &mut Schedule<'_>,
    record: &Record,
    threads: &mut ThreadWatch,
    watches: &mut Watches,
    so_far: &mut dyn FnMut(&mut ThreadWatch, &mut Watches),
) {
    let mut insist = Insist::default();
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
                futexes.look_at_processes(threads.pids());
            }
        }
        if threads.ends.due().is_none_or(|due| now >= due) {
            threads.look_for_ends(record);
        }
        if schedule.end.is_some_and(|end| now >= end) {
            threads.ends.stop();
            insist.end(child, now);
            schedule.end = None;
        }
        insist.look(child, now);
        if schedule.begin.is_some_and(|begin| now >= begin) {
            record.enable();
            watches.begin(child.pid());
            schedule.begin = None;
        }
        if schedule.reports.is_due(now) {
            so_far(threads, watches);
            schedule.reports.made(now, Instant::now());
        }
        let load = schedule.load.as_mut().filter(|load| !load.is_over());
        let load = load.map(|load| load.look(now));
        if load == Some(None) {
            threads.ends.stop();
            insist.end(child, now);
        }
        let report = schedule.reports.next();
        let due =
            [Some(threads.due()), threads.ends.due(), drain, schedule.end, schedule.begin, report];
        let wake = due.into_iter().chain([load.flatten(), insist.next()]).flatten().min();
        let wake = wake.unwrap_or(now);
        let pause = wake.saturating_duration_since(Instant::now()).max(Duration::from_micros(1));
        let Some(received) = signals.wait(pause) else { continue };
        if ENDING.contains(&received.signal) && received.signal != HANGUP {
            threads.ends.stop(); // Of a hangup, a program may read its settings again.
        }
        if pass_on(child, &mut insist, received) {
            so_far(threads, watches);
        }
    }
    threads.look();
    watches.look_outside();
    if let Some(load) = &mut schedule.load {
        load.end();
    }
}
