//! Why there is no finding, in a sentence.

use super::{HEAVY_NS, MATERIAL_SHARE, MOSTLY};
use crate::aggregate::scripts::has_own_locks;
use crate::aggregate::sum;
use crate::hangs;
use crate::helpers::blamed;
use crate::run::{Class, Kind, Lock, RunReport, Thread};
use crate::terminal::{negligible, shown, still_waited_ns, unranked};
use uncontended_figures::text::clean;
use uncontended_figures::{duration, percent};

/// Why: nothing was seen, no thread waited, none for a lock, or not for long enough.
pub fn none(report: &RunReport) -> String {
    if let Some(why) = &report.coverage.nothing_seen {
        let why = clean(why.trim_end_matches('.'));
        let first: String = why.chars().take(1).collect();
        return first.to_lowercase() + &why[first.len()..];
    }
    if report.only.is_some() && report.processes.iter().all(|process| process.locks.is_empty()) {
        return "no lock matches".to_owned();
    }
    let mut waited: Vec<(&Lock, u64, u64)> = Vec::new();
    for process in &report.processes {
        let lived_ns = process.lived_ns(report.wall_ns);
        let locks = process.locks.iter();
        waited.extend(locks.filter_map(|lock| Some((lock, waited_ns(lock)?, lived_ns))));
    }
    let is_contended = |(lock, ..): &&(&Lock, u64, u64)| match lock.class {
        Class::Gate => lock.kind != Kind::Barrier,
        class => class == Class::Contention,
    };
    let most = waited.iter().filter(is_contended).max_by_key(|&&(lock, ns, _)| (ns, lock.id));
    let unseen = match report.coverage.futex_share_unaccounted {
        Some(share) if share > 0.0 => {
            format!("; {} of all futex waiting was not seen", percent(share.min(1.0)))
        }
        _ => String::new(),
    };
    let work = for_work(&waited, is_contended).unwrap_or_default();
    let not_ended = not_ended(report);
    match most {
        None if waited.is_empty() => match unfinished(report) {
            None => format!("no thread waited for a lock that was seen{unseen}"),
            Some((longest_ns, thread)) => still(report, longest_ns, thread) + &unseen,
        },
        None if has_own_locks(&report.coverage) => format!(
            "the waits that are seen are for work, a turn or an event; locks of this language's runtime are not among them \
             (Coverage){work}{unseen}"
        ),
        None if is_mostly_unknown(&waited) => format!(
            "whether threads waited for each other, or for work or an event, was not seen{}{work}{unseen}",
            if unranked(report).is_some() { " (Culprits)" } else { "" }
        ),
        None => format!(
            "threads waited only for work, a turn or an event, which is often as intended{work}{unseen}"
        ),
        Some(&(lock, ns, lived_ns)) => {
            let is_shared = lock.processes.len() > 1;
            let of_all = lock.wait_share.filter(|_| is_shared);
            let share = of_all.unwrap_or(ns as f64 / lived_ns as f64).min(1.0);
            let least = match share >= MATERIAL_SHARE && ns < HEAVY_NS {
                true => format!("{} in all", duration(HEAVY_NS)),
                false => percent(MATERIAL_SHARE),
            };
            format!(
                "the most waiting for one lock, #{}, is {}, {} of the threads' time; a finding needs {least}, or long \
                 waits{}{not_ended}{work}{unseen}",
                lock.id,
                duration(ns),
                percent(share),
                gain(report).unwrap_or_default()
            )
        }
    }
}

/// Whether most of the waiting is of unknown class.
fn is_mostly_unknown(waited: &[(&Lock, u64, u64)]) -> bool {
    let unknown = waited.iter().filter(|(lock, ..)| lock.class == Class::Unknown);
    sum(unknown.map(|&(_, ns, _)| ns)) > sum(waited.iter().map(|&(_, ns, _)| ns)) / 2
}

/// What the run could gain at the first culprit, if that is known, and not too little to name one.
fn gain(report: &RunReport) -> Option<String> {
    if negligible(report).is_some() {
        return None;
    }
    let gain_ns = shown(report).next()?.gain_at_most_ns?;
    let share = gain_ns as f64 / report.wall_ns.max(1) as f64;
    // Less is within the noise of any run.
    (share >= 0.01).then(|| {
        let share = percent(share);
        format!(
            "; without what the first culprit does, the run would be an estimated {share} shorter"
        )
    })
}

/// The share of the threads' time from which waiting for work is worth a word.
const MUCH: f64 = 0.2;

/// The row at which threads waited most for what no thread holds, if that took much of their time: the locks and how
/// long they were waited for, and the threads' lives.
fn for_work(
    waited: &[(&Lock, u64, u64)],
    is_contended: impl Fn(&&(&Lock, u64, u64)) -> bool,
) -> Option<String> {
    let others = waited.iter().filter(|of| !is_contended(of));
    let &(lock, ns, lived_ns) = others.max_by_key(|&&(lock, ns, _)| (ns, lock.id))?;
    let share = (ns as f64 / lived_ns as f64).min(1.0);
    let by = lock.ended_by.first().filter(|by| by.share >= MOSTLY)?;
    let code = blamed(by)?;
    (share >= MUCH).then(|| {
        format!(
            "; {} of the threads' time was waiting for work or an event at #{}, mostly ended by {code}",
            percent(share),
            lock.id
        )
    })
}

/// The longest wait that had not ended, and its thread.
fn unfinished(report: &RunReport) -> Option<(u64, &Thread)> {
    let alive = report.processes.iter().filter(|process| process.ended_ns.is_none());
    let threads = alive.flat_map(|process| &process.threads);
    let waits = threads.filter_map(|thread| Some((thread.unfinished_wait_ns?, thread)));
    waits.max_by_key(|&(ns, thread)| (ns, thread.tid))
}

/// That a thread still waited, though no wait for a lock ended.
fn still(report: &RunReport, longest_ns: u64, thread: &Thread) -> String {
    let said = match report.so_far {
        true => "no wait for a lock has ended so far, but a thread waits",
        false => "no wait for a lock ended, but a thread still waited when the run did",
    };
    let (long, wanted) = (duration(longest_ns), wanted(report, thread));
    format!("{said}, for {long}{wanted} (Threads: not ended)")
}

/// The waits that had not ended, to follow a sentence; nothing if there are none.
fn not_ended(report: &RunReport) -> String {
    match still_waited_ns(report) {
        0 => String::new(),
        ns if report.so_far => {
            format!("; waits that have not ended so far come to {}", duration(ns))
        }
        ns => format!("; waits that had not ended when the run did come to {}", duration(ns)),
    }
}

/// What a thread still waited for, if that is known.
fn wanted(report: &RunReport, thread: &Thread) -> String {
    let is_known = thread.unfinished_lock.is_some()
        || thread.unfinished_object.is_some()
        || thread.unfinished_join.is_some();
    match is_known {
        true => format!(", for {}", hangs::wanted(report, thread)),
        false => String::new(),
    }
}

fn waited_ns(lock: &Lock) -> Option<u64> {
    lock.wait_ns.as_ref().map(|wait| wait.total).filter(|&ns| ns > 0)
}
