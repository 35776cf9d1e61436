//! The rules behind the findings, each with its argument and its constants.
//!
//! # Sources
//! Patterns and figures: starvation that rates hide (a worst wait of 2 s among 49 blocked of 620 000 acquisitions),
//! idle hand-offs under oversubscription, owner changes and the single-writer principle, gates that look like
//! contention.

use super::{Subject, arrivals, chain, died, fourth, herd, hold, hung, sleep, weight};
use crate::helpers::blamed;
use crate::rows::{idle_share, idle_wait_ns};
use crate::run::{Class, Distribution, IdleCause, Kind, Lock, Span};
use uncontended_figures::{count, duration, number, percent};

/// What a rule says: what is so, and what to do about it. The latter is left out where it would not make the run
/// shorter, so a sentence never contradicts itself.
pub(super) struct Said {
    pub(super) cost_ns: u64,
    pub(super) text: String,
    /// With what comes before it, such as a colon; may be empty.
    pub(super) advice: String,
    pub(super) evidence: Vec<(&'static str, f64)>,
}

pub(super) type Rule = (&'static str, fn(&Subject) -> Option<Said>);

/// Rules about locks of class contention with enough waiting.
pub(super) const OF_CONTENTION: [Rule; 7] = [
    ("timed-out", timed_out),
    ("idle", long_idle),
    ("passed-over", passed_over),
    ("writer-starved", writer_starved),
    ("long-hold", |subject| match chain::passed_on(subject) {
        _ if died::explains(subject) => None,
        None => hold::long_hold(subject).or_else(|| weight::rare_holds(subject)),
        Some(_) => None, // Its holders wait for another lock.
    }),
    ("sleep", sleep::short_holds),
    ("owner", owner_changes),
];
/// The rule for a lock that no other rule explains.
pub(super) const OF_HEAVY: Rule = ("heavy", weight::heavy);
/// Rules about locks of any class.
pub(super) const OF_ANY: &[Rule] = &[
    ("unfinished", hung::unfinished),
    ("polling", polling),
    ("owner-died", died::holder_died),
    ("woken-into", woken_into),
    ("passed-on", chain::passed_on),
    ("gate", gate),
    ("waited-for", arrivals::waited_for),
    ("woken-for-nothing", herd::woken_for_nothing),
];

/// The longest hold of a lock, if those are known that its waiters waited for: a rule that argues from it would be
/// wrong if a longer one were missing. Each thread may still hold it at the end; if a wait ran out in such a hold, its
/// part until then counts. If not all are known, no wait has a part without a cause that is longer than the longest
/// hold. Of a lock that stands apart, those of other processes are missing.
fn longest_known(lock: &Lock) -> Option<u64> {
    let hold = lock.hold_ns.as_ref().filter(|_| !lock.is_apart())?;
    let has_all = hold.count.saturating_add(u64::from(lock.threads)) >= lock.acquisitions;
    // Waits for a side of a read-write lock may be for the other side's holds.
    let waited_for = lock.held_by.iter().filter(|_| is_exclusive(lock.kind));
    let longest_ns = waited_for.map(|by| by.longest_ns).max().unwrap_or(0).max(hold.max);
    let is_explained = || lock.blame.is_some_and(|blame| blame.unknown_ns <= longest_ns);
    (has_all || is_explained()).then_some(longest_ns)
}

/// The longest hold of a lock, a read-write lock's by either side, if those are known that its waiters waited for.
fn longest_of_both_sides(subject: &Subject) -> Option<u64> {
    let own_ns = longest_known(subject.lock)?;
    let readers = subject.readers.filter(|readers| readers.acquisitions > 0);
    match readers.filter(|_| subject.lock.kind == Kind::RwlockWrite) {
        Some(readers) => Some(own_ns.max(longest_known(readers)?)),
        None => Some(own_ns),
    }
}

/// Whether half of the waiting or more was for holds, as far as it was divided: the rest found the lock free.
pub(super) fn is_for_holds(lock: &Lock) -> bool {
    let total_ns = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    lock.blame.is_none_or(|blame| blame.held_ns >= total_ns / 2)
}

/// Readers hold at the same time, and waits for a read-write lock may be for its other side.
pub(super) fn is_exclusive(kind: Kind) -> bool {
    !matches!(kind, Kind::RwlockRead | Kind::RwlockWrite)
}

/// Idle this many times the longest hold cannot come from the work done under the lock.
const IDLE_TIMES_HOLD: f64 = 4.0;
/// The share of the wait that must be idle for idle time to be the problem.
const IDLE_SHARE: f64 = 0.1;
/// A wakeup takes some 50 µs on an unloaded machine; a fourth longest idle of 1 ms is more than a plain wakeup.
const LONG_IDLE_NS: u64 = 1_000_000;

/// The lock was free, while a thread waited, for far longer than any thread ever held it. The cause decides the remedy.
fn long_idle(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let (idle, longest_hold) = (lock.idle_ns.as_ref()?, longest_of_both_sides(subject)?);
    let ratio = idle.max as f64 / longest_hold.max(1) as f64;
    let share = idle_share(lock)?;
    if ratio < IDLE_TIMES_HOLD || share < IDLE_SHARE || fourth(&idle.worst) < LONG_IDLE_NS {
        return None;
    }
    let why = match cause(lock) {
        IdleCause::NotWoken => "waiters are woken late",
        IdleCause::NotScheduled => "waiters are woken but get no CPU",
        IdleCause::Barged => "threads that did not wait take it before the waiters",
        IdleCause::Unknown => "its waiters are woken or scheduled late",
    };
    let no_cpu = subject.cpu_wanted.filter(|&share| share >= NO_CPU);
    let barged = cause(lock) == IdleCause::Barged && no_cpu.is_none();
    let advice = if barged { ": hand it over, or hold it less often" } else { "" };
    let remedy = no_cpu.map_or_else(String::new, |share| format!("; {}", without_cpu(share)));
    Some(Said {
        cost_ns: idle_wait_ns(lock)?,
        text: format!(
            "longest of {} idle intervals: {}, {} times its longest hold{} ({}): {why}{remedy}",
            count(idle.count),
            duration(idle.max),
            number(ratio),
            subject.which_holds(),
            duration(longest_hold)
        ),
        advice: advice.to_owned(),
        evidence: vec![
            ("longest_idle_ns", idle.max as f64),
            ("idle_intervals", idle.count as f64),
            ("fourth_longest_idle_ns", fourth(&idle.worst) as f64),
            ("longest_hold_ns", longest_hold as f64),
            ("idle_share_of_wait", share),
        ]
        .into_iter()
        .chain(no_cpu.map(|share| ("cpu_wanted_share", share)))
        .collect(),
    })
}

/// If threads lacked a CPU for at least this share of their runnable time, a hold or an idle interval may be long
/// because a thread lost its CPU, and no rule may blame the code alone.
pub(super) const NO_CPU: f64 = 0.3;

pub(super) fn without_cpu(share: f64) -> String {
    format!("its threads had no CPU for {} of the time in which they wanted one", percent(share))
}

/// The cause of most of the idle time. Of a run that an earlier version kept, that of the longest interval.
pub(crate) fn cause(lock: &Lock) -> IdleCause {
    let Some(causes) = lock.idle_causes else {
        return lock.worst_idle.as_ref().map_or(IdleCause::Unknown, |worst| worst.cause);
    };
    let total_ns = lock.idle_ns.as_ref().map_or(0, |idle| idle.total);
    let of = [
        (causes.not_woken_ns, IdleCause::NotWoken),
        (causes.not_scheduled_ns, IdleCause::NotScheduled),
        (causes.barged_ns, IdleCause::Barged),
    ];
    let most = of.into_iter().find(|&(ns, _)| ns > total_ns / 2);
    most.map_or(IdleCause::Unknown, |(_, cause)| cause)
}

/// In a first-come queue, every other thread goes before a waiter once. Twice that leaves room for clock steps.
const TURNS: f64 = 2.0;
/// Shorter waits do not matter, however unfair.
pub(super) const LONG_WAIT_NS: u64 = 10_000_000;

/// Of a lock that is held for this share of the run, fairness only decides who waits.
const NEARLY_ALWAYS: f64 = 0.7;

/// A wait consists of holds and idle intervals of the lock. A waiter whose wait is longer than `n` times the longest
/// hold plus the longest idle was passed over more than `n` times: this is arithmetic, not a guess.
fn passed_over(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let (wait, longest_hold) = (lock.wait_ns.as_ref()?, longest_known(lock)?);
    let idle_max = lock.idle_ns.as_ref().map_or(0, |idle| idle.max);
    let turn = longest_hold.saturating_add(idle_max).max(1);
    let others = f64::from(lock.threads.saturating_sub(1).max(1));
    let passed = wait.max / turn;
    let telling = telling_wait(subject, wait);
    if !is_exclusive(lock.kind)
        || ((telling / turn) as f64) < TURNS * others
        || telling < LONG_WAIT_NS
    {
        return None;
    }
    Some(Said {
        cost_ns: wait.total,
        text: format!(
            "{}, though no hold meanwhile took longer than {} and no idle longer than {}: that waiter was passed over at least {} \
             times",
            longest_wait(wait),
            duration(longest_hold),
            duration(idle_max),
            count(passed)
        ),
        advice: match lock.utilisation {
            Some(held) if held >= NEARLY_ALWAYS => format!(
                "; it starves where the lock is held nearly all the time ({} of the run; from {} on, no hand-off helps): hold it for \
                 less first",
                percent(held),
                percent(NEARLY_ALWAYS)
            ),
            _ => "; it starves, and needs a fair lock or a hand-off".to_owned(),
        },
        evidence: with_wait(
            wait,
            &[
                ("longest_hold_ns", longest_hold as f64),
                ("longest_idle_ns", idle_max as f64),
                ("passed_over_at_least", passed as f64),
                ("threads", f64::from(lock.threads)),
            ],
        ),
    })
}

/// The longest wait, with the number of waits, without which it means little. A lock's only wait need not be the only
/// one of its row.
pub(super) fn longest_wait(wait: &Distribution) -> String {
    match wait.count {
        1 => format!("one wait of {}", duration(wait.max)),
        waits => format!("longest of {} waits: {}", count(waits), duration(wait.max)),
    }
}

/// The evidence of a rule about waits, with further figures.
pub(super) fn with_wait(
    wait: &Distribution,
    more: &[(&'static str, f64)],
) -> Vec<(&'static str, f64)> {
    let waits = [
        ("longest_wait_ns", wait.max as f64),
        ("waits", wait.count as f64),
        ("fourth_longest_wait_ns", fourth(&wait.worst) as f64),
    ];
    [&waits, more].concat()
}

/// A single wait of this share of the run matters without repetition.
pub(super) const LARGE_SHARE: f64 = 0.05;

/// The wait that an arithmetic rule uses: the fourth longest, or the longest if it alone is a large part of the run.
fn telling_wait(subject: &Subject, wait: &Distribution) -> u64 {
    let large = wait.max as f64 >= LARGE_SHARE * subject.wall_ns as f64;
    if large { wait.max } else { fourth(&wait.worst) }
}

/// A writer that waits this many times the longest read plus the longest writes was kept out by overlapping readers:
/// any one of them would have been gone long before.
const WRITER_TIMES_HOLD: u64 = 4;

fn writer_starved(subject: &Subject) -> Option<Said> {
    let (writers, readers) = (subject.lock, subject.readers?);
    if writers.kind != Kind::RwlockWrite {
        return None;
    }
    let (wait, read_max) = (writers.wait_ns.as_ref()?, longest_known(readers)?);
    let write_max = longest_known(writers)?;
    let others = u64::from(writers.threads.max(1));
    let turn = read_max.saturating_add(write_max.saturating_mul(others));
    let long = telling_wait(subject, wait);
    if long < LONG_WAIT_NS || long / WRITER_TIMES_HOLD < turn {
        return None;
    }
    Some(Said {
        cost_ns: wait.total,
        text: format!(
            "a writer waited {} (the longest of {}), though no reader held longer than {}: readers overlap and keep writers \
             out",
            duration(wait.max),
            crate::terminal::several(wait.count, "wait", "waits"),
            duration(read_max)
        ),
        advice: "; prefer writers (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) or publish copies"
            .to_owned(),
        evidence: with_wait(
            wait,
            &[
                ("longest_read_hold_ns", read_max as f64),
                ("longest_write_hold_ns", write_max as f64),
                ("reads", readers.acquisitions as f64),
            ],
        ),
    })
}

/// Shorter holds end sooner than a thread can go to sleep and be woken.
pub(super) const SHORT_HOLD_NS: u64 = 10_000;
/// A lock that is free for this share of the waiting: no thread's work explains it.
pub(super) const MOSTLY_IDLE: f64 = 0.5;

/// Most of the waiting was without success if at least this share of it ended without the lock.
const MOSTLY_LOST: f64 = 0.5;

/// Most of the waiting failed: threads give up before they get the lock.
fn timed_out(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let (wait, lost) = (lock.wait_ns.as_ref()?, lock.timed_out?);
    let share = lost.total as f64 / wait.total.max(1) as f64;
    let is_taken = !matches!(lock.kind, Kind::Condition | Kind::Barrier | Kind::Futex);
    if share < MOSTLY_LOST || !is_taken {
        return None;
    }
    let (why, advice) = died::left_with(lock, lost.total).unwrap_or_else(|| {
        ("their timeouts are shorter than the wait for the lock".to_owned(), String::new())
    });
    Some(Said {
        cost_ns: lost.total,
        text: format!(
            "{} of {} waits ended without the lock, after {} in all, the longest after {}: {why}",
            count(lost.count),
            count(wait.count),
            duration(lost.total),
            duration(lost.max)
        ),
        advice,
        evidence: vec![
            ("timed_out", lost.count as f64),
            ("waits", wait.count as f64),
            ("timed_out_ns", lost.total as f64),
            ("timed_out_share_of_wait", share),
        ],
    })
}

/// Above this share, the lock's data moves to another core more often than it stays.
const CHANGES: f64 = 0.5;
/// Fewer acquisitions are not worth a thread of their own.
const MANY_ACQUISITIONS: u64 = 10_000;

/// Many threads do short work on the same data: a queue to one owner avoids moving the data.
fn owner_changes(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let hold = lock.hold_ns.as_ref()?;
    let changes = lock.owner_changes? as f64 / lock.acquisitions.max(1) as f64;
    let wait = lock.wait_ns.as_ref()?;
    let is_exclusive = is_exclusive(lock.kind) && lock.kind != Kind::Semaphore;
    // Threads that wait for a condition under it send each other what to do already.
    if subject.is_queue()
        || changes < CHANGES
        || lock.acquisitions < MANY_ACQUISITIONS
        || hold.p50 > SHORT_HOLD_NS
        || !is_exclusive
    {
        return None;
    }
    Some(Said {
        cost_ns: wait.total,
        text: format!(
            "it moves between threads: {} of its {} acquisitions came after another thread's, and holds{} take {} at the median",
            percent(changes),
            count(lock.acquisitions),
            subject.which_holds(),
            duration(hold.p50)
        ),
        advice: ": let one thread own the data, and others send it what to do".to_owned(),
        evidence: vec![
            ("owner_change_share", changes),
            ("acquisitions", lock.acquisitions as f64),
            ("median_hold_ns", hold.p50 as f64),
            ("threads", f64::from(lock.threads)),
        ],
    })
}

/// A program with fewer failed tries has other work to do between them.
const MANY_TRIES: u64 = 1_000;
/// Failed tries per acquisition.
const TRIES_PER_ACQUISITION: u64 = 5;
/// And this many per second: polling, not an occasional try.
const TRIES_PER_S: f64 = 500.0;
/// The cost of a failed try on a cache line that others write, only to order the findings.
const TRY_NS: u64 = 100;

/// A thread polls the lock instead of waiting.
fn polling(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let rate = lock.try_failed as f64 / (subject.wall_ns.max(1) as f64 / 1e9);
    let many = lock.try_failed >= MANY_TRIES && rate >= TRIES_PER_S;
    if !many || lock.try_failed / TRIES_PER_ACQUISITION < lock.acquisitions {
        return None;
    }
    Some(Said {
        cost_ns: lock.try_failed.saturating_mul(TRY_NS),
        text: format!(
            "{} tries failed for {} acquisitions: it is polled, {}",
            count(lock.try_failed),
            count(lock.acquisitions),
            polled_holds(subject)
        ),
        advice: "; block, or wait longer between tries".to_owned(),
        evidence: vec![
            ("try_failed", lock.try_failed as f64),
            ("acquisitions", lock.acquisitions as f64),
            ("try_failed_per_s", rate),
        ],
    })
}

/// What is known of the holds of a lock that no thread waits for.
fn polled_holds(subject: &Subject) -> String {
    let lock = subject.lock;
    let longest = lock.moments.iter().filter(|moment| moment.what == Span::Hold);
    let holder = longest.max_by_key(|moment| moment.ns).and_then(|moment| moment.tid);
    let by = holder.map_or_else(String::new, |tid| format!(" by thread {tid}"));
    match &lock.hold_ns {
        Some(hold) => {
            let (longest, half) = (duration(hold.max), duration(hold.p50));
            format!(
                "while it is held for up to {longest}{by} (median of its holds{}: {half})",
                subject.which_holds()
            )
        }
        None => {
            "and since no thread waited, its holds were not recorded: --all-holds does".to_owned()
        }
    }
}

/// The share of a lock's waiting that is of threads woken while it is held.
const MOSTLY_WOKEN_INTO: f64 = 0.5;

/// A thread signals and keeps the lock that those it wakes need.
fn woken_into(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let wait = lock.wait_ns.as_ref()?;
    let first = lock.held_by.iter().max_by_key(|by| by.woken_into_ns)?;
    let share = first.woken_into_ns as f64 / wait.total.max(1) as f64;
    if share < MOSTLY_WOKEN_INTO || !subject.is_costly() {
        return None;
    }
    let code = blamed(first).unwrap_or_else(|| "unknown code".to_owned());
    Some(Said {
        cost_ns: first.woken_into_ns,
        text: format!(
            "for {} of the {} that threads waited, they had been woken by a signal while {code} held it (for up to {})",
            percent(share),
            duration(wait.total),
            duration(first.longest_ns)
        ),
        advice: ": signal after the long work, or release the lock before it".to_owned(),
        evidence: vec![
            ("woken_into_ns", first.woken_into_ns as f64),
            ("woken_into_share", share),
            ("total_wait_ns", wait.total as f64),
            ("longest_hold_ns", first.longest_ns as f64),
        ],
    })
}

/// One thread holds the lock for long at a time, and the others pass through. The record does not show whether that is
/// meant to keep them out.
fn gate(subject: &Subject) -> Option<Said> {
    let lock = subject.lock;
    let wait = lock.wait_ns.as_ref()?;
    let is_gate = lock.class == Class::Gate && lock.kind != Kind::Barrier && subject.is_costly();
    // What its holds do is not why the others waited if it was free then, or if its holder waited itself.
    let elsewhere_ns = chain::waited_ns(subject).saturating_add(idle_wait_ns(lock).unwrap_or(0));
    let is_elsewhere = elsewhere_ns as f64 >= MOSTLY_IDLE * wait.total as f64;
    if !is_gate || is_elsewhere || woken_into(subject).is_some() {
        return None;
    }
    // What an earlier version kept is about holds.
    let (who, held_ns, longest_ns) = match lock.keeper {
        Some(keeper) => {
            let of = percent(keeper.share);
            let code =
                super::holder_code(lock).map_or_else(String::new, |code| format!(", in {code}"));
            let who = format!("{of} of the waiting is for the holds of one thread{code}");
            (who, keeper.hold_ns, keeper.longest_ns)
        }
        None => {
            let hold = lock.hold_ns.as_ref().filter(|_| is_exclusive(lock.kind))?;
            ("mostly one thread held it".to_owned(), Some(hold.total), Some(hold.max))
        }
    };
    let off_cpu = held_ns.and_then(|held_ns| off_cpu(subject, held_ns));
    let off_cpu = off_cpu.filter(|&share| share >= MOSTLY_OFF_CPU);
    let asleep = off_cpu.map_or_else(String::new, |share| {
        format!(", off the CPU for at least {} of that", percent(share))
    });
    let held = held_ns.zip(longest_ns).map_or_else(String::new, |(held_ns, longest_ns)| {
        format!(
            ", for up to {} at a time (in all {} of the run{asleep})",
            duration(longest_ns),
            subject.held_for(held_ns as f64 / subject.wall_ns.max(1) as f64)
        )
    });
    Some(Said {
        cost_ns: wait.total,
        text: format!("{who}{held}, and the others waited {} in all", duration(wait.total)),
        advice: "; if that is intended, nothing is wrong; else move the long work out of the lock"
            .to_owned(),
        evidence: vec![("total_wait_ns", wait.total as f64), ("wait_per_wall", subject.queue())]
            .into_iter()
            .chain(longest_ns.map(|ns| ("longest_hold_ns", ns as f64)))
            .chain(held_ns.map(|ns| ("total_hold_ns", ns as f64)))
            .chain(lock.keeper.map(|keeper| ("keeper_share", keeper.share)))
            .chain(off_cpu.map(|share| ("holder_off_cpu_share", share)))
            .collect(),
    })
}

/// A holder that is off the CPU for this share of its holds does not compute under the lock.
pub(super) const MOSTLY_OFF_CPU: f64 = 0.5;

/// The share of the holds during which the keeper, or else the thread of the longest hold, was surely off the CPU: it
/// cannot have run under the lock for longer than it ran at all. Nothing if its CPU time is unknown.
fn off_cpu(subject: &Subject, held_ns: u64) -> Option<f64> {
    let holds = subject.lock.moments.iter().filter(|moment| moment.what == Span::Hold);
    let longest = || holds.max_by_key(|moment| moment.ns)?.tid;
    let holder = subject.lock.keeper.map(|keeper| keeper.tid).or_else(longest)?;
    let thread = subject.threads().find(|thread| thread.tid == holder)?;
    let off_ns = held_ns.saturating_sub(thread.cpu_ns?);
    Some(off_ns as f64 / held_ns.max(1) as f64)
}

/// The same for the holds of all threads together: their sum is no more than what all of them ran.
pub(super) fn all_off_cpu(subject: &Subject, held_ns: u64) -> Option<f64> {
    let ran = subject.threads().map(|thread| thread.cpu_ns);
    let ran_ns = ran.reduce(|sum, ran_ns| Some(sum?.saturating_add(ran_ns?)))??;
    let off_ns = held_ns.saturating_sub(ran_ns);
    Some(off_ns as f64 / held_ns.max(1) as f64).filter(|&share| share >= MOSTLY_OFF_CPU)
}
