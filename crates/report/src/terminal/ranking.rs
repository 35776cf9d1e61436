//! What the ranking of the culprits says, in a sentence: what gains are, or why there are none to rank by.

use super::culprits::{
    Ending, MOSTLY, WAKEUP_NS, contended_ns, is_delay, rows_of, shown, waited_ns, words,
};
use crate::aggregate::sum;
use crate::rows;
use crate::run::{Blamed, BlamedKind, Class, GAINS, Holds, PathTaken, RankedBy, RunReport, Source};
use uncontended_figures as figures;

/// Above this share of the run, gains say for how much of it no cause is known.
const OPEN: f64 = 0.2;

const NOT_KNOWN: &str = "it is not known what set its length: threads slept, or waited for input or for what is not \
                         observed";

/// For which share of the run it is not known what set its length, as far as its longest path says.
fn open(report: &RunReport) -> Option<f64> {
    let taken = report.longest_path()?;
    Some(taken.unseen_ns().min(report.wall_ns) as f64 / report.wall_ns.max(1) as f64)
}

/// What the ranking of the culprits says, in a sentence: what gains are, or why they are ranked by waiting.
pub(crate) fn about_ranking(report: &RunReport) -> Option<String> {
    shown(report).next()?;
    if report.ranked_by == RankedBy::Gain {
        return Some(about_gains(report));
    }
    if let Some(short) = of_short_waits(report) {
        return short;
    }
    if report.culprits.iter().any(|culprit| report.is_shared(culprit)) {
        return Some(
            "Ranked by waiting: processes share some of these locks, and what set the run's length is only followed within \
             a process."
                .into(),
        );
    }
    let nameless =
        report.culprits.iter().filter(|of| of.kind == BlamedKind::Hold && of.site.is_none());
    let nameless = nameless.map(|of| of.share).fold(0.0, f64::max);
    if nameless >= GAINS {
        return Some(format!(
            "Ranked by waiting: where {} of it came from was not recorded, so what set the run's length is not known.",
            figures::percent(nameless)
        ));
    }
    let Some(taken) = report.longest_path() else {
        return Some(format!("Ranked by waiting: {}.", without_path(report)));
    };
    if taken.tells_gains(report.wall_ns) {
        return Some(about_small_gains(report, taken));
    }
    if taken.is_of_wakeups() {
        return Some(about_wakeups(report, taken));
    }
    let lost_ns = taken.from_ns.min(report.wall_ns);
    if lost_ns as f64 >= MOSTLY * report.wall_ns as f64 {
        return Some(format!(
            "Ranked by waiting: what set the run's length is known of its last {} only: the record of the time before was \
             overwritten, or had not begun.",
            figures::duration(report.wall_ns - lost_ns)
        ));
    }
    let lost = match taken.from_ns as f64 > GAINS * report.wall_ns as f64 {
        true => ", or the record of that time was overwritten",
        false => "",
    };
    let share = figures::percent(open(report).unwrap_or_default());
    Some(format!(
        "Ranked by waiting: for {share} of the run, {NOT_KNOWN}{lost}{}.",
        then(mainly(report, taken))
    ))
}

/// Why known gains rank nothing.
fn about_small_gains(report: &RunReport, taken: &PathTaken) -> String {
    if report.culprits.iter().any(|culprit| culprit.lacks_gain(report.wall_ns)) {
        return "Ranked by waiting: of some of these it could not be estimated how much shorter the run would be without them."
            .into();
    }
    if let Some((culprit, gain)) = long_work(report) {
        return format!(
            "Ranked by waiting, which is little for any one of these. But {} for an estimated {} of the run's length: long \
             work, with the lock or without it.",
            words(report, culprit).join(" "),
            figures::percent(gain)
        );
    }
    format!(
        "Ranked by waiting: without any one of these, the run would be less than {} shorter, by estimate; a run of fixed \
         length may get more done{}.",
        figures::percent(GAINS),
        then(mainly(report, taken))
    )
}

/// The code without whose holds the run would be much shorter, though threads waited little for them, and by how much.
pub(crate) fn long_work(report: &RunReport) -> Option<(&Blamed, f64)> {
    let taken = report.longest_path()?;
    let is_known = report.ranked_by == RankedBy::Wait && taken.tells_gains(report.wall_ns);
    let holds = report.culprits.iter().filter(|of| of.kind == BlamedKind::Hold);
    let gains = holds.filter_map(|of| Some((of, of.gain_at_most_ns?)));
    let (most, ns) = gains.max_by_key(|&(_, ns)| ns).filter(|_| is_known)?;
    let gain = (ns as f64 / report.wall_ns.max(1) as f64).min(1.0);
    (gain >= GAINS).then_some((most, gain))
}

/// The thread that most of a run's path is in, if it is one: where to look instead.
pub(crate) fn mainly(report: &RunReport, taken: &PathTaken) -> Option<String> {
    let most = taken.mainly.as_ref()?;
    let share = most.own_ns as f64 / report.wall_ns.max(1) as f64;
    let code =
        most.body.as_ref().map_or_else(String::new, |body| format!(" ({})", rows::code(body)));
    (share >= MOSTLY).then(|| {
        let share = figures::percent(share.min(1.0));
        format!("the path to the run's end is in thread {}{code} for {share} of it", most.tid)
    })
}

/// The end of a sentence, if there is more to say.
pub(crate) fn then(more: Option<String>) -> String {
    more.map_or_else(String::new, |more| format!("; {more}"))
}

/// Why wakeups leave no gains to rank by.
fn about_wakeups(report: &RunReport, taken: &PathTaken) -> String {
    if mean_wait_ns(report) < WAKEUP_NS {
        return "Ranked by waiting: with waits as short as these, sleeping and waking may cost more than the holds.".into();
    }
    format!(
        "Ranked by waiting: {} times, one thread's wakeup of another was part of what set the run's length, and sleeping \
         and waking, which no hold contains, may be much of it.",
        figures::count(taken.handovers)
    )
}

/// What gains are.
fn about_gains(report: &RunReport) -> String {
    let not_recorded = match report.holds {
        Some(Holds::All) => "",
        _ => {
            " Holds that none waited for do not count: more of this code's would add to a gain, and those of other locks \
             may take from it (--all-holds)."
        }
    };
    let mut next: Vec<u64> = shown(report).flat_map(|of| &of.may_move_to).copied().collect();
    next.sort_unstable();
    next.dedup();
    let bound = match &next[..] {
        [] => String::new(),
        next => format!(
            " ≤: threads take {} about as often; for how long is not recorded. If it is long, they wait there next, and much \
             less is gained.",
            rows_of(report, next)
        ),
    };
    let delays = match shown(report).any(|culprit| is_delay(report, culprit)) {
        true => {
            " Of code that delays a holder, the time until the holder could go on counts as a hold."
        }
        false => "",
    };
    let unseen = open(report).filter(|&share| share >= OPEN);
    let unseen =
        unseen.map(|share| format!(" For {} of the run, {NOT_KNOWN}.", figures::percent(share)));
    let cpus = about_cpus(report).unwrap_or_default();
    format!(
        "Gains are estimates: what the run would be shorter by if the holds that threads waited for took no time, and \
         locks served first come, first served.{delays}{bound}{not_recorded}{cpus} A run of fixed length gains nothing.{}",
        unseen.unwrap_or_default()
    )
}

/// What the threads need the CPUs for, if the largest gain leaves less: what one of them no longer waits for, others
/// still run.
fn about_cpus(report: &RunReport) -> Option<String> {
    let cpus = report.cpus.filter(|&cpus| cpus > 0)?;
    let threads = report.processes.iter().flat_map(|process| &process.threads);
    let least_ns = sum(threads.filter_map(|thread| thread.cpu_ns)) / u64::from(cpus);
    let most_ns = report.wall_ns.saturating_sub(least_ns);
    let gain_ns = shown(report).filter_map(|culprit| culprit.gain_at_most_ns).max()?;
    (gain_ns > most_ns).then(|| {
        format!(
            " What the threads ran takes {} at least on {}: a gain above {} needs them to run less, too.",
            figures::duration(least_ns),
            super::several(u64::from(cpus), "CPU", "CPUs"),
            figures::percent(most_ns as f64 / report.wall_ns.max(1) as f64)
        )
    })
}

/// What is said in place of the ranking if all the waiting is little: none if it is not, and then perhaps nothing.
fn of_short_waits(report: &RunReport) -> Option<Option<String>> {
    let contended_ns = contended_ns(report);
    let of_run = contended_ns as f64 / report.wall_ns.max(1) as f64;
    if of_run >= GAINS {
        return None;
    }
    // What is of unknown class may be locks too.
    let unknown_ns = waited_ns(report, |lock| lock.class == Class::Unknown);
    let (waited, share) = (figures::duration(contended_ns), figures::percent(of_run));
    Some((unknown_ns < contended_ns).then(|| match Ending::of(report) {
        Ending::Itself => format!(
            "All waiting at these locks is {waited}, {share} of the run: without it, the run would be shorter by that at most."
        ),
        Ending::Stuck => format!(
            "The waiting at these locks that ended is {waited}, {share} of the run. The waits that did not end stand above."
        ),
        Ending::Cut => format!(
            "All waiting at these locks is {waited}, {share} of the run: without it, threads would have had that much more time \
             at most."
        ),
    }))
}

/// Why no path to the run's end is known.
fn without_path(report: &RunReport) -> &'static str {
    if report.attached.is_some() {
        "the program was not watched from its start to its end"
    } else if report.so_far {
        "the program had not ended, so it has no length yet"
    } else if report.ended_by_limit {
        "--for ended the program, and no thread's work set the run's length"
    } else if report.signal.is_some() {
        "a signal ended the program, and no thread's work set the run's length"
    } else if report.source == Source::Kernel {
        "from outside the program, it is not known what set the run's length"
    } else {
        "the program ended without exit(), and what led to its end was not followed"
    }
}

/// The mean wait at the locks that culprits are of.
fn mean_wait_ns(report: &RunReport) -> u64 {
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let waits = locks.filter(|lock| lock.class.is_caused_by_holders()).map(|lock| lock.blocked);
    contended_ns(report) / waits.fold(0, u64::saturating_add).max(1)
}
