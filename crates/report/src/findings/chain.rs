//! The rule about locks whose holders wait themselves: less work under them would change nothing.
//!
//! # Contract
//! What filled the holds that others waited for is known as far as the holder was in a wait that was seen: one that
//! another thread ended (`passed_on_ns`), or, of the holds in the log, any (`holders_waited`). Whether a holder ran
//! or slept in the rest is not known, and no sentence says so.

use super::Subject;
use super::rules::Said;
use crate::helpers::blamed;
use crate::rows::{code, kind_of, place};
use crate::run::{Class, HoldersWaited, Kind, Lock, WaitedOn};
use uncontended_figures::{duration, percent};

/// The share of a lock's waiting in which its holder waits too, from which it is not their own work that matters.
const MOSTLY: f64 = 0.5;
/// A smaller share is not worth a word.
const ALSO: f64 = 0.1;
/// How many things that holders waited for are named.
const NAMED: usize = 2;
/// One with less of the holders' waiting is not, unless it is the first.
const LEAST: f64 = 0.1;

fn passed_on_ns(lock: &Lock) -> u64 {
    lock.held_by.iter().map(|by| by.passed_on_ns).fold(0, u64::saturating_add)
}

/// The share of the waiting during which the holder waited for another thread.
fn passed_on_share(subject: &Subject) -> f64 {
    (passed_on_ns(subject.lock) as f64 / subject.waited_ns().max(1) as f64).min(1.0)
}

/// The log may say this much less: it has other holds than those that the shares are of.
const NEAR: f64 = 0.01;

/// What the log says of it, if it says as much: it also says what the wait was for.
fn logged<'a>(subject: &Subject<'a>) -> Option<&'a HoldersWaited> {
    let logged = subject.lock.holders_waited.as_ref();
    let least = passed_on_share(subject) - NEAR;
    logged.filter(|logged| !logged.on.is_empty() && logged.share() >= least)
}

/// The share of a lock's waiting during which its holder was in a wait of its own.
fn share(subject: &Subject) -> f64 {
    logged(subject).map_or_else(|| passed_on_share(subject), |logged| logged.share().min(1.0))
}

/// The part of a lock's waiting during which its holder was in a wait of its own.
pub(super) fn waited_ns(subject: &Subject) -> u64 {
    (share(subject) * subject.waited_ns() as f64) as u64
}

/// What holders waited for, in words.
fn named(subject: &Subject, logged: &HoldersWaited) -> String {
    let least = (LEAST * logged.waited_ns as f64) as u64;
    let words = |on: &WaitedOn| {
        let of = on.lock.and_then(|id| subject.lock_of(id));
        let what = match (on.lock, of) {
            (None, _) => "another thread's end".to_owned(),
            (Some(id), Some(lock)) => format!("the {} #{id} ({})", kind_of(lock), place(lock)),
            (Some(id), None) => format!("#{id}"),
        };
        let site = on.site.as_ref().filter(|_| on.lock.is_some());
        site.map_or_else(|| what.clone(), |site| format!("{what} in {}", code(site)))
    };
    let on = logged.on.iter().enumerate();
    let on = on.filter(|(nth, on)| *nth == 0 || on.wait_ns >= least).take(NAMED);
    on.map(|(_, on)| words(on)).collect::<Vec<_>>().join(", and for ")
}

/// That holders waited themselves for a smaller part, for a sentence about their holds.
pub(super) fn also(subject: &Subject) -> String {
    let Some(logged) = logged(subject).filter(|logged| logged.share() >= ALSO) else {
        return String::new();
    };
    format!(
        "; for {} of that waiting, the holder itself waited, for {}",
        percent(logged.share().min(1.0)),
        named(subject, logged)
    )
}

/// What may make holds long, as far as the record does not exclude it.
pub(super) fn may_fill(subject: &Subject) -> &'static str {
    match &subject.lock.holders_waited {
        Some(logged) if logged.share() < ALSO => "work or sleep",
        _ => "work, sleep, another lock",
    }
}

const SHORTEN: &str = ": shorten what ends that wait, in the code that the culprits name; or let go of this lock before waiting for it";

const FOR_WORK: &str = ": if it waits for work there, nothing is wrong; else shorten what ends that wait, in the code that the culprits name, \
     or let go of this lock before waiting for it";

const BY_DEADLINE: &str = ": these waits end by their deadlines, and no wakeup ends them: wake that thread when what it waits for has come, \
     or let go of this lock before waiting for it";

/// Whether no thread ended what holders waited for: most of the waiting at what they waited for the most timed out.
fn is_by_deadline(subject: &Subject, logged: &HoldersWaited) -> bool {
    let first = logged.on.first().and_then(|on| subject.lock_of(on.lock?));
    let timed_out =
        first.and_then(|lock| Some((lock.timed_out?.total, lock.wait_ns.as_ref()?.total)));
    let is_mostly = timed_out.is_some_and(|(lost, all)| lost as f64 >= MOSTLY * all as f64);
    is_mostly && passed_on_share(subject) < MOSTLY
}

/// Whether what holders waited for the most is a row where threads may wait for work.
fn waits_for_work(subject: &Subject, logged: &HoldersWaited) -> bool {
    let first = logged.on.first().and_then(|on| subject.lock_of(on.lock?));
    first.is_some_and(|lock| lock.class == Class::Queue && lock.kind != Kind::Barrier)
}

/// Holders wait while they hold this lock.
pub(super) fn passed_on(subject: &Subject) -> Option<Said> {
    let (share, waited_ns) = (share(subject), waited_ns(subject));
    // What a thread has until its end is waited for as that end is.
    if share < MOSTLY || !subject.is_lock() || !(subject.is_costly() || subject.is_long()) {
        return None;
    }
    let logged = logged(subject);
    let (text, advice) = match logged {
        Some(logged) => (
            format!("its holder itself waited, for {}", named(subject, logged)),
            match logged {
                _ if is_by_deadline(subject, logged) => BY_DEADLINE,
                _ if waits_for_work(subject, logged) => FOR_WORK,
                _ => SHORTEN,
            },
        ),
        None => {
            let by = &subject.lock.held_by;
            let first = by.iter().max_by_key(|by| by.passed_on_ns)?;
            let holder = blamed(first).unwrap_or_else(|| "unknown code".to_owned());
            (format!("its holder waited for another thread (mostly in {holder})"), SHORTEN)
        }
    };
    let of = logged.map(|logged| ("holders_waited_share", logged.share()));
    Some(Said {
        cost_ns: waited_ns,
        text: format!(
            "for {} of the {} that threads waited, {text}",
            percent(share),
            duration(subject.waited_ns())
        ),
        advice: advice.to_owned(),
        evidence: vec![
            ("passed_on_ns", passed_on_ns(subject.lock) as f64),
            ("passed_on_share", passed_on_share(subject)),
            ("total_wait_ns", subject.waited_ns() as f64),
        ]
        .into_iter()
        .chain(of)
        .collect(),
    })
}
