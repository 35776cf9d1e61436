//! The longest wait and the longest idle interval of the costliest locks, with the stacks of all threads involved.

use super::{Options, Paint, heading};
use crate::findings::{NOT_SEEN, waited_at};
use crate::frames::{self, Line};
use crate::helpers;
use crate::rows::{self, Row, Slept, place};
use crate::run::{
    Blame, Blamed, Distribution, Frame, IdleCause, Kind, Lock, RunReport, WaitedIn, Woken,
    WorstIdle, WorstWait,
};
use uncontended_figures as figures;
use uncontended_figures::text::{fit, wrap};

/// How many rows have their longest wait shown.
const WAITS: usize = 5;
/// How many have their longest idle interval shown.
const IDLES: usize = 3;
/// How many lines of a stack are shown.
const FRAMES: usize = 8;
/// From this long on, it was not the wakeup alone that took so long.
const WAKEUP_NS: u64 = 200_000;

/// The worst cases of the first rows with waits.
pub(super) fn cases(rows: &[Row], options: &Options, paint: Paint) -> String {
    let mut text = String::new();
    let waited = rows.iter().filter(|row| row.wait.is_some());
    for (nth, row) in waited.take(WAITS.min(options.top)).enumerate() {
        text.push_str(&longest_wait(row, options, paint));
        if nth < IDLES {
            text.push_str(&longest_idle(row, options, paint));
        }
    }
    text
}

fn longest_wait(row: &Row, options: &Options, paint: Paint) -> String {
    let lock = row.longest_waited();
    let Some((lock, worst)) = lock.and_then(|lock| Some((lock, lock.worst_wait.as_ref()?))) else {
        return String::new();
    };
    let name = format!("Longest wait on {}: {}", row.label(), figures::duration(worst.ns));
    let waits = of(row.wait.as_ref(), "wait", "waits");
    let remark =
        format!("{waits}{}{}{}  {}", lost(row), slept(row), member(row, lock), place(lock));
    let has_holds = !matches!(row.kind(), Kind::Condition | Kind::Barrier | Kind::Futex);
    let is_held = has_holds && lock.ended_by.is_empty() && lock.like.is_none();
    let released = match is_signal(lock) {
        true => "it was last posted in",
        false => "the last holder released it in",
    };
    let known = Known { is_held, released };
    let text = heading(&name, &remark, options, paint) + &wait(worst, &known, options, paint);
    let both = both_ends(lock).into_iter();
    both.fold(text, |text, line| text + &wrap(&line, "  ", options.width))
}

/// How many places are named on each side of a lock.
const PLACES: usize = 3;
/// A place with less of the waiting is not named.
const LEAST: f64 = 0.005;

/// The code in which most of the waiting for a lock was, and the code that held it or ended the waits, a line each. One
/// place that waited is the stack above.
pub(crate) fn both_ends(lock: &Lock) -> Vec<String> {
    type Place<'a> = (f64, Option<String>, &'a [u32]);
    fn of(blamed: &[Blamed]) -> Vec<Place<'_>> {
        blamed.iter().map(|by| (by.share, helpers::blamed(by), &by.pids[..])).collect()
    }
    let code = |at: &WaitedIn| Some(rows::code_in(at.site.as_ref()?, Some(&at.stack)));
    let waited = lock.waited_in.iter().map(|at| (at.share, code(at), &[][..]));
    let waited: Vec<Place> = waited.collect();
    let waited = if waited.len() > 1 { waited } else { Vec::new() };
    let line = |how: &str, places: &[Place]| {
        let named = places.iter().filter(|(share, ..)| *share >= LEAST).take(PLACES);
        let words = named.enumerate().map(|(nth, (share, code, pids))| {
            let code = code.as_deref().unwrap_or("unrecorded code");
            let of = if nth == 0 { " of the waiting" } else { "" };
            format!("{code} ({}{of}{})", figures::percent(*share), of_processes(pids))
        });
        let words: Vec<String> = words.collect();
        let more = if places.len() > words.len() { ", …" } else { "" };
        (!words.is_empty()).then(|| format!("{how} {}{more}", words.join(", ")))
    };
    let id = lock.id;
    let sides = [
        (format!("#{id} was waited for in"), waited),
        (format!("#{id} was held meanwhile by"), of(&lock.held_by)),
        (format!("waits for #{id} were ended by"), of(&lock.ended_by)),
    ];
    let unseen = (is_unexplained(lock)).then(|| {
        format!("who made threads wait for #{id} was not seen: another process, or code that is not observed")
    });
    let unseen = unseen.or_else(|| in_part(lock));
    let lines = sides.iter().filter_map(|(how, places)| line(how, places));
    let woken = lock.woken.and_then(|woken| parts(id, woken));
    lines.chain(unseen).chain(died(lock)).chain(woken).collect()
}

/// Whether nothing is known of why threads waited for a lock of which only waits and wakeups are seen.
fn is_unexplained(lock: &Lock) -> bool {
    let is_all = |blame: Blame| blame.held_ns == 0 && blame.ended_ns == 0 && blame.idle_ns == 0;
    lock.like.is_some() && lock.blame.is_some_and(is_all)
}

/// A larger share of a lock's waiting without a known cause is said.
const MUCH: f64 = 0.05;

/// How much of the waiting for a lock has no known cause, if it is much.
fn in_part(lock: &Lock) -> Option<String> {
    let (unknown_ns, total_ns) = (lock.blame?.unknown_ns, lock.wait_ns.as_ref()?.total);
    let share = unknown_ns as f64 / total_ns.max(1) as f64;
    let has_holders = !matches!(lock.kind, Kind::Condition | Kind::Barrier | Kind::Futex);
    let why = if has_holders && lock.ended_by.is_empty() {
        NOT_SEEN
    } else {
        "what ended it was not seen"
    };
    (share > MUCH).then(|| {
        let (share, unknown) = (figures::percent(share), figures::duration(unknown_ns));
        format!("{share} of the waiting for #{} ({unknown}) has no known cause: {why}", lock.id)
    })
}

/// Whose threads they were, of a lock that several processes share.
fn of_processes(pids: &[u32]) -> String {
    match pids {
        [] => String::new(),
        [pid] => format!(", in {pid}"),
        pids => format!(", in {} processes", figures::count(pids.len() as u64)),
    }
}

/// How often its holder died with it.
fn died(lock: &Lock) -> Option<String> {
    let times = super::several(lock.owner_died, "time", "times");
    let text = "its holder had died with it when a waiter got it; until then it was that holder's";
    (lock.owner_died > 0).then(|| format!("#{}: {times}, {text}", lock.id))
}

/// How long its waiters were not woken, and how long they were woken but did not run.
fn parts(id: u64, woken: Woken) -> Option<String> {
    let Woken { not_woken_ns, not_scheduled_ns } = woken;
    let [before, after] = [not_woken_ns, not_scheduled_ns].map(figures::duration);
    (not_woken_ns > 0 || not_scheduled_ns > 0).then(|| {
        format!(
            "waits for #{id} that were woken: {before} until the wakeup, {after} from it until they ran"
        )
    })
}

fn longest_idle(row: &Row, options: &Options, paint: Paint) -> String {
    let lock = row.longest_idle();
    let Some((lock, worst)) = lock.and_then(|lock| Some((lock, lock.worst_idle.as_ref()?))) else {
        return String::new();
    };
    let name = format!("Longest idle of {}: {}", row.label(), figures::duration(worst.ns));
    let intervals = of(row.idle.as_ref(), "idle interval", "idle intervals");
    let remark = format!("{intervals}{}  {}", member(row, lock), place(lock));
    heading(&name, &remark, options, paint) + &idle(worst, options, paint)
}

/// Which lock of the row it was: its number, unless the row has one alone, and its variable.
pub(crate) fn member(row: &Row, lock: &Lock) -> String {
    match (row.locks.len(), rows::variable(lock)) {
        (1, None) => String::new(),
        (1, Some(variable)) => format!(", on {variable}"),
        (_, None) => format!(", on its lock #{}", lock.id),
        (_, Some(variable)) => format!(", on its lock #{} ({variable})", lock.id),
    }
}

/// How many of the row's waits ended without the lock.
pub(crate) fn lost(row: &Row) -> String {
    row.timed_out.map_or_else(String::new, |lost| {
        let count = figures::count(lost.count);
        format!(", {count} of which timed out, after {} in total", figures::duration(lost.total))
    })
}

/// In how many of the row's waits threads slept. Those for conditions and the like do anyway.
pub(crate) fn slept(row: &Row) -> String {
    let Slept { known, slept } = row.slept;
    let is_lock = !matches!(row.kind(), Kind::Condition | Kind::Barrier | Kind::Futex);
    if known == 0 || !is_lock {
        return String::new();
    }
    let (least, waits) = (if known < row.blocked { "at least " } else { "" }, row.blocked);
    match slept {
        1 if waits == 1 => ", asleep".to_owned(),
        _ if slept == waits => ", asleep in all of them".to_owned(),
        0 if least.is_empty() => ", asleep in none of them".to_owned(),
        0 => String::new(),
        _ => format!(", asleep in {least}{} of them", figures::count(slept)),
    }
}

/// A maximum means little without the number of samples.
fn of(times: Option<&Distribution>, one: &str, many: &str) -> String {
    times.map_or_else(String::new, |times| format!("of {}", super::several(times.count, one, many)))
}

/// Whether it is a semaphore that no thread held: those that post it do not wait for it.
fn is_signal(lock: &Lock) -> bool {
    lock.kind == Kind::Semaphore && lock.held_by.is_empty()
}

/// What is known of a lock's holders.
struct Known {
    /// Threads hold it.
    is_held: bool,
    /// What comes before the code of the last release.
    released: &'static str,
}

fn wait(worst: &WorstWait, known: &Known, options: &Options, paint: Paint) -> String {
    let mut text = if worst.waiter.is_empty() {
        format!("  {}\n", paint.dim("the waiter's stack was not recorded"))
    } else {
        stack("waited in", &worst.waiter, options, paint)
    };
    if worst.holder.is_empty() {
        if known.is_held {
            text.push_str(&format!(
                "  {}\n",
                paint.dim("the stack of the last release was not recorded")
            ));
        }
    } else if worst.holder == worst.waiter {
        text.push_str(&format!("  {}\n", paint.dim(&format!("{} the same code", known.released))));
    } else {
        text.push_str(&stack(known.released, &worst.holder, options, paint));
    }
    text
}

fn idle(worst: &WorstIdle, options: &Options, paint: Paint) -> String {
    let mut text = wrap(cause(worst), "  ", options.width);
    if !worst.releaser.is_empty() {
        text.push_str(&stack("released in", &worst.releaser, options, paint));
    }
    if !worst.waiter.is_empty() && worst.waiter == worst.releaser {
        text.push_str(&format!("  {}\n", paint.dim("next taken in the same code")));
    } else if !worst.waiter.is_empty() {
        text.push_str(&stack("next taken in", &worst.waiter, options, paint));
    }
    text
}

/// Why a lock was idle, in a sentence.
pub(crate) fn cause(worst: &WorstIdle) -> &'static str {
    match worst.cause {
        IdleCause::NotWoken => "The lock was free; its waiter had not been woken yet.",
        IdleCause::NotScheduled if worst.on_releasers_cpu => {
            "The lock was free; its waiter had been woken but got a CPU late: the one on which it had been released."
        }
        IdleCause::NotScheduled if worst.ns < WAKEUP_NS => {
            "The lock was free; its waiter had been woken, but did not run yet."
        }
        IdleCause::NotScheduled => "The lock was free; its waiter had been woken but got no CPU.",
        IdleCause::Barged => {
            "The lock was free; a thread that had not waited took it before the waiter did."
        }
        IdleCause::Unknown => {
            "The lock was free while a thread waited; the record does not show why."
        }
    }
}

fn stack(title: &str, frames: &[Frame], options: &Options, paint: Paint) -> String {
    format!("  {}\n{}", paint.dim(title), lines(frames, options))
}

/// The innermost lines of a stack.
pub(super) fn lines(frames: &[Frame], options: &Options) -> String {
    let mut text = String::new();
    let room = options.width.saturating_sub(6);
    let all = frames::lines(frames);
    for line in all.iter().take(FRAMES) {
        let line = match line {
            Line::Frame(frame) => fit(&frame_line(frame), room),
            Line::Left(left, what) => format!("… {} {what}", left.len()),
        };
        text.push_str(&format!("    {line}\n"));
    }
    let more: usize = all.iter().skip(FRAMES).map(|line| line.frames()).sum();
    if more > 0 {
        text.push_str(&format!("    … {more} more\n"));
    }
    text
}

fn frame_line(frame: &Frame) -> String {
    match rows::source(frame) {
        Some(source) if frame.function.is_some() => format!("{}  {source}", rows::function(frame)),
        _ => rows::function(frame),
    }
}

/// Futex waits by call site, as the kernel saw them; needs root.
pub(super) fn futex_sites(report: &RunReport, options: &Options) -> String {
    let sites = super::listed_futex_sites(report);
    let mut text = String::new();
    if !sites.is_empty() {
        text.push_str(&wrap("All that it counted, in a row or not:", "    ", options.width));
    }
    for site in sites.iter().take(options.top) {
        let code = waited_at(site);
        let line = format!(
            "kernel: {} of futex waiting in {}, at {code}",
            figures::duration(site.total_ns),
            super::several(site.waits, "wait", "waits")
        );
        text.push_str(&wrap(&line, "    ", options.width));
    }
    text
}
