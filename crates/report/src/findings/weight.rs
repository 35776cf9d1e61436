//! Rules about locks whose waiting weighs much, whatever its pattern: rare long holds that carry it, and the plain
//! figures where no other rule has an explanation.

use super::hold::longest_hold;
use super::rules::{
    MOSTLY_IDLE, NO_CPU, Said, all_off_cpu, cause, is_exclusive, is_for_holds, without_cpu,
};
use super::{Subject, chain, fourth};
use crate::helpers::blamed;
use crate::rows::idle_share;
use crate::run::{Blame, BlamedKind, Distribution, IdleCause, Kind, Like, Lock, RunReport, Source};
use crate::terminal::several;
use uncontended_figures::{count, duration, number, percent};
use uncontended_trace::layout::ARRIVALS;

/// Less waiting in all is not worth a finding in the shortest of runs.
pub(crate) const HEAVY_NS: u64 = 10_000_000;

/// The share of the time of the threads that took the lock that they waited for it. A lower bound: no thread lives
/// longer than the run.
fn share_of_its_threads(subject: &Subject, wait: &Distribution) -> f64 {
    wait.total as f64 / (subject.wall_ns.max(1) as f64 * f64::from(subject.lock.threads.max(1)))
}

fn is_heavy(subject: &Subject) -> bool {
    subject.waited_ns() >= HEAVY_NS && subject.is_costly()
}

/// Holds are long from this many medians on.
const LONG_TIMES_MEDIAN: u64 = 10;
/// And from this time on, which no plain critical section takes.
const LONG_NS: u64 = 1_000_000;
/// The share of the hold time, and of the wait, that the long ones must have to explain the rest.
const MOST: f64 = 0.5;

/// Number and total time (at least) of the times of at least `from_ns`.
fn from(times: &Distribution, from_ns: u64) -> (u64, u64) {
    let long = times.buckets.iter().filter(|&&(low, ..)| low >= from_ns);
    long.fold((0, 0), |(number, total), &(low, _, count)| {
        (number.saturating_add(count), u64::saturating_add(total, low.saturating_mul(count)))
    })
}

/// Whether the holders can have been without a CPU for most of `held_ns`. They cannot if all threads together were not.
fn may_be_preempted(subject: &Subject, held_ns: u64) -> bool {
    let threads = || subject.threads().map(|thread| thread.runnable_ns);
    let wanted = threads().flatten().fold(0, u64::saturating_add);
    threads().any(|ns| ns.is_none()) || wanted as f64 >= MOST * held_ns as f64
}

/// What holders surely did for most of `held_ns`, if it was neither to compute nor to wait for a CPU, and what to do.
pub(super) fn asleep(subject: &Subject, held_ns: u64) -> Option<String> {
    let share = all_off_cpu(subject, held_ns).filter(|_| !may_be_preempted(subject, held_ns))?;
    Some(format!(
        "its holders slept or waited for input for at least {} of that time: if they wait for work there, nothing is wrong, \
         else take that out of the lock",
        percent(share)
    ))
}

/// Holds too rare for a percentile, but so long that most of the hold time is theirs, and most of the waiting is for
/// holds, in waits as long as they are. One unlucky moment is not enough: the fourth longest is long too.
pub(super) fn rare_holds(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let hold = lock.hold_ns.as_ref().filter(|_| !lock.is_apart())?;
    let wait = lock.wait_ns.as_ref()?;
    // If few are recorded, the median hold is not among them.
    let are_few = subject.waited_only && hold.count < lock.acquisitions / 2;
    let median = if are_few { 0 } else { hold.p50 };
    let long_ns = median.saturating_mul(LONG_TIMES_MEDIAN).max(LONG_NS);
    let (holds, held) = from(hold, long_ns);
    let (_, waited) = from(wait, long_ns);
    let most = |part: u64, of: u64| part as f64 >= MOST * of as f64;
    let explains = most(held, hold.total) && most(waited, wait.total) && is_for_holds(lock);
    if !is_heavy(subject) || !is_exclusive(lock.kind) || !explains || fourth(&hold.worst) < long_ns
    {
        return None;
    }
    let fill = chain::may_fill(subject);
    let why = if let Some(asleep) = asleep(subject, held) {
        asleep
    } else if may_be_preempted(subject, held) {
        format!(
            "either something makes them long ({fill}: take that out of the lock), or their holders lost the CPU"
        )
    } else {
        format!("take what makes them long ({fill}) out of the lock")
    };
    let also = chain::also(subject);
    let longest = longest_hold(lock, hold);
    Some(Said {
        cost_ns: wait.total,
        text: format!(
            "threads wait for its few long holds: {} of {} holds{} took {} or more, the longest {}{}. These long holds are most of \
             the {} that {}, and most of the {} of waiting is in waits as long{also}",
            count(holds),
            count(hold.count),
            subject.which_holds(),
            duration(long_ns),
            duration(longest.ns),
            longest.in_code(),
            duration(hold.total),
            if subject.waited_only { "all of these took" } else { "it was held" },
            duration(wait.total),
        ),
        advice: format!(": {why}"),
        evidence: vec![
            ("long_holds", holds as f64),
            ("long_hold_ns", held as f64),
            ("longest_hold_ns", longest.ns as f64),
            ("fourth_longest_hold_ns", fourth(&hold.worst) as f64),
            ("median_hold_ns", hold.p50 as f64),
            ("total_wait_ns", wait.total as f64),
            ("mean_queue", subject.queue()),
        ],
    })
}

/// What is known of a lock with much waiting that no other rule explains.
pub(super) fn heavy(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let wait = lock.wait_ns.as_ref()?;
    if !is_heavy(subject) {
        return None;
    }
    let held_ns = lock.hold_ns.as_ref().filter(|_| is_exclusive(lock.kind)).map(|hold| hold.total);
    let (share, queue) = (share_of_its_threads(subject, wait), subject.queue());
    let no_cpu = subject.cpu_wanted.filter(|&share| share >= NO_CPU);
    let but = no_cpu.map_or_else(String::new, |share| format!("; {}", without_cpu(share)));
    let free = idle_share(lock).unwrap_or(0.0);
    let or = if is_pool(lock) { "give it more permits" } else { "split it" };
    let advice = if let Some(passing) = passing(subject, wait) {
        passing
    } else if is_unknown(lock) {
        format!(
            "{}; threads waited in {}: take it less often there, or {or}",
            why_unknown(subject.report, lock),
            waiter(lock)
        )
    } else if free < MOSTLY_IDLE {
        let held = held_ns.map_or_else(String::new, |ns| {
            let share = subject.held_for(ns as f64 / subject.wall_ns.max(1) as f64);
            format!("it was held for {share} of the run: ")
        });
        format!("{held}take it less often, hold it for less{}, or {or}", most_held_in(lock))
    } else {
        format!(
            "for {} of that wait it was free: {}",
            percent(free),
            while_free(cause(lock), no_cpu.is_some())
        )
    };
    Some(Said {
        cost_ns: wait.total,
        text: format!(
            "{} waited {} for it, {} at a time on average{}",
            several(lock.waiters, "thread", "threads"),
            duration(wait.total),
            number(queue),
            chain::also(subject)
        ),
        advice: format!("; {advice}{but}"),
        evidence: vec![
            ("total_wait_ns", wait.total as f64),
            ("waits", wait.count as f64),
            ("wait_share_of_threads", share),
            ("mean_queue", queue),
            ("idle_share_of_wait", free),
        ]
        .into_iter()
        .chain(held_ns.map(|ns| ("total_hold_ns", ns as f64)))
        .chain(no_cpu.map(|share| ("cpu_wanted_share", share)))
        .collect(),
    })
}

/// Whether several threads may have it at a time.
fn is_pool(lock: &Lock) -> bool {
    let is_futex = lock.like == Some(Like::Semaphore);
    is_futex || lock.kind == Kind::Semaphore && lock.owner_changes.is_none()
}

/// In which code it was held for much of the waiting.
fn most_held_in(lock: &Lock) -> String {
    let first = lock.held_by.first().filter(|by| by.kind == BlamedKind::Hold && by.share >= MUCH);
    let code = first.and_then(|by| Some((blamed(by)?, percent(by.share))));
    code.map_or_else(String::new, |(code, share)| format!(" in {code} ({share} of the waiting)"))
}

/// Code that ended a smaller share of the waiting is not the one to change.
const MUCH: f64 = 0.2;

/// What to do about a lock of which only the waits and wakeups are seen.
fn passing(subject: &Subject, wait: &Distribution) -> Option<String> {
    let lock = subject.lock;
    let first = lock.ended_by.first()?;
    let code = blamed(first).unwrap_or_else(|| "unknown code".to_owned());
    let share = percent(first.share);
    Some(if lock.is_given_back() && lock.woken.is_some() {
        format!(
            "{share} of the waiting ended when {code} released it, which may have held it only at the end: the kernel does \
             not see who held it before"
        )
    } else if lock.is_given_back() {
        // At most all of its waiters waited at once.
        let advice = match asleep(subject, wait.total / lock.waiters.max(1)) {
            Some(asleep) => format!("; {asleep}"),
            None if is_pool(lock) => ": hold it for less there, or give it more permits".to_owned(),
            None => ": hold it for less there, or split it".to_owned(),
        };
        format!("{share} of the waiting ended when {code} released it{advice}")
    } else if first.share < MUCH {
        format!(
            "threads pass it on as they do a lock, and no code did that for much of the waiting ({code} for {share}, below {}): \
             pass it on less often",
            percent(MUCH)
        )
    } else {
        format!(
            "threads pass it on as they do a lock, and {share} of the waiting ended when {code} passed it on: let it keep \
             it for less time"
        )
    })
}

/// Whether most of the waiting for a lock has no known cause.
fn is_unknown(lock: &Lock) -> bool {
    let most = |blame: Blame| {
        let known_ns = blame.held_ns.saturating_add(blame.ended_ns).saturating_add(blame.idle_ns);
        blame.unknown_ns > known_ns
    };
    lock.blame.is_some_and(most)
}

/// Why waiting has no known cause.
pub(crate) const NOT_SEEN: &str = "who held the lock then was not seen";

/// The same of a lock: of more threads than the list of a read-write lock has places for, only those with a place are
/// divided.
pub(crate) fn why_unknown(report: &RunReport, lock: &Lock) -> String {
    let is_rwlock = matches!(lock.kind, Kind::RwlockRead | Kind::RwlockWrite);
    let has_list = report.source == Source::Preload && is_rwlock;
    if !has_list || lock.threads as usize <= ARRIVALS {
        return NOT_SEEN.to_owned();
    }
    format!(
        "of the {} threads that waited for #{}, only {ARRIVALS} at a time are kept apart, or its holder was not seen",
        count(lock.threads.into()),
        lock.id
    )
}

/// The code that waited the most.
fn waiter(lock: &Lock) -> String {
    let first = lock.waited_in.first();
    let code = first.and_then(|at| Some(crate::rows::code_in(at.site.as_ref()?, Some(&at.stack))));
    code.unwrap_or_else(|| "unrecorded code".to_owned())
}

/// What to do about waits for a lock that is mostly free. Shorter holds would not help, nor would handing the lock to
/// a thread that lacks a CPU.
fn while_free(cause: IdleCause, lacks_cpu: bool) -> &'static str {
    match cause {
        IdleCause::NotWoken => {
            "its waiters had not been woken yet; spin briefly before sleeping, or take it less often"
        }
        IdleCause::NotScheduled => {
            "its waiters had been woken but got no CPU; shorter holds would not help"
        }
        IdleCause::Barged if lacks_cpu => {
            "threads that had not waited took it before the waiters did"
        }
        IdleCause::Barged => {
            "threads that had not waited took it before the waiters did; hand it over, or take it less often"
        }
        IdleCause::Unknown => {
            "its waiters were woken or scheduled late, and the record does not show which"
        }
    }
}
