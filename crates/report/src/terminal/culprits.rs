//! The code that made threads wait: the first thing to read.

use super::ranking::about_ranking;
use super::wrappers::wrapper;
use super::{Options, heading};
use crate::code::{base, line};
use crate::findings::{HEAVY_NS, NOT_SEEN, cause, why_unknown};
use crate::hangs;
use crate::helpers::blamed;
use crate::rows;
use crate::run::{
    Blamed, BlamedKind, Class, Frame, GAINS, IdleCause, Kind, Lock, Process, RankedBy, RunReport,
    Source,
};
use std::collections::HashSet;
use uncontended_figures as figures;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::{fit, width, wrap};

/// How many culprits are shown.
const MOST: usize = 5;
/// A smaller share is not shown unless it is the greatest.
const LEAST: f64 = 0.005;

const COLUMNS: [Column; 6] = [
    Column::figure(GAIN).of(OF_RUN),
    Column::figure(ON_PATH).of(OF_RUN).goes(2),
    Column::figure("share"),
    Column::figure("total").goes(1),
    Column::elastic("where").least(WHERE),
    Column::word("what"),
];
/// The code to change is what the table is for.
const WHERE: usize = 48;
/// What it does is cut where this much of the code would not fit otherwise, but not below `LEAST_WHAT`.
const LEAST_WHERE: usize = 30;
const LEAST_WHAT: usize = 20;
const GAIN: &str = "gain (est.)";
const ON_PATH: &str = "on path";
const OF_RUN: &str = "of the run";

/// The culprits of a report that are worth a line, the worst first.
pub(crate) fn shown(report: &RunReport) -> impl Iterator<Item = &Blamed> {
    let gains = |culprit: &Blamed| report.of_path(culprit)[0].is_some_and(|gain| gain >= LEAST);
    let is_worth = move |(nth, culprit): &(usize, &Blamed)| {
        *nth == 0 || culprit.share >= LEAST || gains(culprit)
    };
    let is_little = is_dwarfed(report);
    let blamed =
        report.culprits.iter().filter(move |culprit| !is_little && !report.is_for_cpu(culprit));
    blamed.take(MOST).enumerate().filter(is_worth).map(|(_, culprit)| culprit)
}

/// Whether the waiting at contended locks is nothing next to that at locks of unknown class, which the kernel saw.
fn is_dwarfed(report: &RunReport) -> bool {
    const LITTLE: f64 = 0.01;
    let contended_ns = contended_ns(report) as f64;
    let is_little = contended_ns < GAINS * report.wall_ns as f64;
    let is_known = report.source == Source::Preload || !report.spans.is_empty();
    let unknown_ns = unknown(report).fold(0u64, |sum, (ns, _)| sum.saturating_add(ns));
    !is_known && is_little && unknown_ns >= HEAVY_NS && contended_ns < LITTLE * unknown_ns as f64
}

/// The waiting at each row of unknown class, and its number.
fn unknown(report: &RunReport) -> impl Iterator<Item = (u64, u64)> {
    waited_at(report, |class| class == Class::Unknown)
}

/// The waiting at each row of such classes, and its number.
fn waited_at(
    report: &RunReport,
    is_asked: impl Fn(Class) -> bool,
) -> impl Iterator<Item = (u64, u64)> {
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let of = locks.filter(move |lock| is_asked(lock.class));
    of.map(|lock| (lock.wait_ns.as_ref().map_or(0, |wait| wait.total), lock.id))
}

/// What all waiting at contended locks comes to, in a sentence, if it is too little to be worth a change and no finding
/// says otherwise.
pub(crate) fn negligible(report: &RunReport) -> Option<String> {
    let waited_ns = contended_ns(report).saturating_add(still_waited_ns(report));
    let of_run = waited_ns as f64 / report.wall_ns.max(1) as f64;
    let is_asked = report.only.is_some() || !report.spans.is_empty();
    let is_found = report.findings.iter().any(|finding| finding.lock.is_some());
    let is_found = is_found && !is_dwarfed(report);
    (waited_ns > 0 && of_run < GAINS && !is_asked && !is_found).then(|| {
        let (waited, share) = (figures::duration(waited_ns), figures::percent(of_run));
        match Ending::of(report) {
            Ending::Itself => format!(
                "none: without all waiting at contended locks, {waited}, the run would be {share} shorter at most"
            ),
            Ending::Stuck => {
                format!("none: the waiting at contended locks that ended is {waited}, {share} of the run")
            }
            Ending::Cut => format!("none: all waiting at contended locks is {waited}, {share} of the run"),
        }
    })
}

/// What set the length of a run.
pub(super) enum Ending {
    /// Its threads still waited when it ended: without other waits, they would have waited as long.
    Stuck,
    /// Something else than its threads' work: a signal, or it has not ended.
    Cut,
    /// What its threads did.
    Itself,
}

impl Ending {
    pub(super) fn of(report: &RunReport) -> Self {
        let is_stuck = !report.deadlocks.is_empty() || !hangs::all(report).is_empty();
        let is_ended = report.signal.is_some() || report.ended_by_limit;
        let is_cut = is_ended || report.so_far || report.attached.is_some();
        match (is_stuck, is_cut) {
            (true, _) => Ending::Stuck,
            (false, true) => Ending::Cut,
            (false, false) => Ending::Itself,
        }
    }
}

/// How much of the waiting was for a CPU, in a sentence: no code of the program is to blame for that.
pub(crate) fn for_cpu(report: &RunReport) -> Option<String> {
    let mut of: Vec<&Blamed> =
        report.culprits.iter().filter(|culprit| report.is_for_cpu(culprit)).collect();
    of.retain(|culprit| culprit.share >= LEAST);
    let wait_ns = of.iter().fold(0, |sum: u64, culprit| sum.saturating_add(culprit.wait_ns));
    let share: f64 = of.iter().map(|culprit| culprit.share).sum();
    let locks = of.iter().flat_map(|culprit| &culprit.locks).copied().collect::<Vec<u64>>();
    (!of.is_empty()).then(|| {
        format!(
            "For {} of that waiting ({}), {} stood idle: the waiters had been woken, but did not run yet{}. {}",
            figures::percent(share.min(1.0)),
            figures::duration(wait_ns),
            rows_of(report, &locks),
            in_their_way(report, &locks).unwrap_or_default(),
            why_not_running(report, &locks, wait_ns)
        )
    })
}

/// Waking a thread that sleeps may take this long on a machine with little other work.
pub(super) const WAKEUP_NS: u64 = 100_000;

/// What keeps woken waiters of these locks from running: by how long that took of each wait, on average.
fn why_not_running(report: &RunReport, locks: &[u64], idle_ns: u64) -> String {
    let all = report.processes.iter().flat_map(|process| &process.locks);
    let waits =
        all.filter(|lock| locks.contains(&lock.id)).filter_map(|lock| lock.wait_ns.as_ref());
    let count = waits.fold(0, |sum: u64, wait| sum.saturating_add(wait.count));
    let mean_ns = idle_ns / count.max(1);
    let (mean, limit) = (figures::duration(mean_ns), figures::duration(WAKEUP_NS));
    if mean_ns < WAKEUP_NS {
        format!(
            "That is {mean} of a wait on average, as wakeups take (up to {limit}): fewer waits would change that, shorter holds \
             hardly."
        )
    } else {
        format!(
            "That is {mean} of a wait on average, longer than a wakeup ({limit}): the cause is usually more threads than CPUs, or \
             other programs, and not code that holds a lock."
        )
    }
}

/// More than any other.
pub(super) const MOSTLY: f64 = 0.5;

/// For which CPU the waiters of these locks waited, if it was mostly one that is known.
fn in_their_way(report: &RunReport, locks: &[u64]) -> Option<String> {
    let all = report.processes.iter().flat_map(|process| &process.locks);
    let causes = all.filter(|lock| locks.contains(&lock.id)).filter_map(|lock| lock.idle_causes);
    let (releasers_ns, all_ns) = causes.fold((0.0, 0.0), |(releasers_ns, all_ns), causes| {
        (releasers_ns + causes.releasers_cpu_ns as f64, all_ns + causes.not_scheduled_ns as f64)
    });
    (releasers_ns >= MOSTLY * all_ns && all_ns > 0.0).then(|| {
        let share = figures::percent(releasers_ns / all_ns);
        format!(
            "; {share} of that time, they waited for the CPU on which the lock had been released, where another thread \
             still ran"
        )
    })
}

/// What is said below the culprits.
pub(crate) fn notes(report: &RunReport) -> impl Iterator<Item = String> {
    let of_all =
        [wrapper(report), for_cpu(report), unseen(report), unranked(report), about_ranking(report)];
    of_all.into_iter().flatten()
}

/// Rows of which it is not known whether threads wait for each other there: they have no culprits, but may be most of
/// the waiting.
pub(crate) fn unranked(report: &RunReport) -> Option<String> {
    let (wait_ns, locks) = most_of(unknown(report));
    let all_ns = contended_ns(report).saturating_add(wait_ns);
    let is_much = wait_ns >= HEAVY_NS && wait_ns as f64 >= MUCH * all_ns as f64;
    is_much.then(|| {
        format!(
            "Not ranked: {} of waiting at {}, of class unknown: whether threads waited for each other there, or for work or \
             an event, was not seen.",
            figures::duration(wait_ns),
            rows_of(report, &locks)
        )
    })
}

/// What is said below that the waiting at contended locks is negligible.
pub(crate) fn beside_none(report: &RunReport) -> impl Iterator<Item = String> {
    [at_queues(report), unranked(report)].into_iter().flatten()
}

/// The waiting for work or a turn, if much of the run was waited so: a program may make its own locks of that.
fn at_queues(report: &RunReport) -> Option<String> {
    const LEAST_OF_RUN: f64 = 0.2;
    let (wait_ns, locks) =
        most_of(waited_at(report, |class| matches!(class, Class::Queue | Class::HandOff)));
    let is_much = wait_ns >= HEAVY_NS && wait_ns as f64 >= LEAST_OF_RUN * report.wall_ns as f64;
    is_much.then(|| {
        format!(
            "Not counted: {} of waiting for work or a turn, at {}. That may be intended, or a lock that the program makes \
             itself, as language runtimes do.",
            figures::duration(wait_ns),
            rows_of(report, &locks)
        )
    })
}

/// The waiting at all of these rows, and the numbers of those with much of it, the worst first.
fn most_of(rows: impl Iterator<Item = (u64, u64)>) -> (u64, Vec<u64>) {
    let mut rows: Vec<(u64, u64)> = rows.collect();
    let wait_ns = rows.iter().fold(0u64, |sum, (ns, _)| sum.saturating_add(*ns));
    rows.retain(|&(ns, _)| ns as f64 >= MUCH * wait_ns as f64);
    rows.sort_by_key(|&(ns, id)| (std::cmp::Reverse(ns), id));
    (wait_ns, rows.into_iter().map(|(_, id)| id).collect())
}

/// The gain of a culprit, of which this is its share of the run.
pub(crate) fn gain(culprit: &Blamed, share: f64) -> String {
    let most = if culprit.may_move_to.is_empty() { "" } else { "≤ " };
    format!("{most}{}", figures::percent(share))
}

/// The waiting of all threads at the locks that culprits are of.
pub(super) fn contended_ns(report: &RunReport) -> u64 {
    waited_ns(report, |lock| lock.class.is_caused_by_holders())
}

/// The waiting at these locks that had not ended when the run did. Of a run that hung, that is said apart.
pub(crate) fn still_waited_ns(report: &RunReport) -> u64 {
    if !report.deadlocks.is_empty() || !hangs::all(report).is_empty() {
        return 0;
    }
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let locks = locks.filter(|lock| lock.class.is_caused_by_holders());
    let unfinished = locks.filter_map(|lock| lock.unfinished).filter(|left| !left.waiters_ended);
    crate::aggregate::sum(unfinished.map(|left| left.total_ns))
}

/// The waiting of all threads at such locks.
pub(crate) fn waited_ns(report: &RunReport, is_asked: impl Fn(&Lock) -> bool) -> u64 {
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let waits = locks.filter(|lock| is_asked(lock)).filter_map(|lock| lock.wait_ns.as_ref());
    waits.fold(0, |sum: u64, wait| sum.saturating_add(wait.total))
}

/// A larger share without a culprit is said.
const MUCH: f64 = 0.05;

/// How much of the waiting no culprit caused, in a sentence, if it is much.
pub(crate) fn unseen(report: &RunReport) -> Option<String> {
    let seen: f64 = report.culprits.iter().map(|culprit| culprit.share).sum();
    let share = figures::percent(1.0 - seen);
    let sentence =
        || format!("{share} of that waiting has no known cause: {}.", why_unseen(report));
    // Of a run without culprits, it is worth a sentence if much of the run was waited for.
    let of_run = contended_ns(report) as f64 / report.wall_ns.max(1) as f64;
    let mut locks = report.processes.iter().flat_map(|process| &process.locks);
    let mut is_divided =
        || locks.any(|lock| lock.class.is_caused_by_holders() && lock.blame.is_some());
    let is_much = !report.culprits.is_empty() || of_run >= MUCH && is_divided();
    // What `--only` leaves out is not unseen.
    (report.only.is_none() && is_much && seen <= 1.0 - MUCH).then(sentence)
}

/// Why: of the lock with the most such waiting.
fn why_unseen(report: &RunReport) -> String {
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let ranked = locks.filter(|lock| lock.class.is_caused_by_holders());
    let most = ranked.max_by_key(|lock| lock.blame.map_or(0, |blame| blame.unknown_ns));
    most.map_or_else(|| NOT_SEEN.to_owned(), |lock| why_unknown(report, lock))
}

/// Where the culprit is, and what it does.
pub(crate) fn words(report: &RunReport, culprit: &Blamed) -> [String; 2] {
    let mut all = report.processes.iter().flat_map(|process| &process.locks);
    let lock = culprit.locks.first().and_then(|&id| all.find(|lock| lock.id == id));
    let place = match (&culprit.site, culprit.kind) {
        (Some(frame), BlamedKind::Idle) => rows::code_in(frame, Some(&culprit.stack)),
        (Some(frame), _) => match own_code(report, culprit, frame) {
            Some(own) => format!("{} ← {}", rows::code(frame), rows::code(own)),
            None => blamed(culprit).unwrap_or_default(),
        },
        (None, BlamedKind::Idle) => lock.map_or_else(|| "–".to_owned(), waited_for),
        (None, BlamedKind::Hold | BlamedKind::Wake) => "code not recorded".to_owned(),
    };
    let locks = rows_of(report, &culprit.locks);
    let what = match culprit.kind {
        BlamedKind::Hold if has_died(culprit) => does(report, culprit, "died holding {}"),
        BlamedKind::Hold => does(report, culprit, "holds {}"),
        BlamedKind::Wake => does(report, culprit, wakes(own_rows(report, culprit).next())),
        BlamedKind::Idle => match culprit.cause.or(lock.map(cause)).unwrap_or(IdleCause::Unknown) {
            IdleCause::NotWoken => format!("{locks} stood idle: woken late"),
            IdleCause::NotScheduled => format!("{locks} stood idle: no CPU"),
            IdleCause::Barged => format!("{locks} stood idle: barged"),
            IdleCause::Unknown => format!("{locks} stood idle"),
        },
    };
    [place, what]
}

/// The code that waited the most for a lock, else the lock's own place: no code holds a lock that stands idle.
pub(crate) fn waited_for(lock: &Lock) -> String {
    let most = lock.waited_in.first();
    let code = most.and_then(|at| Some(rows::code_in(at.site.as_ref()?, Some(&at.stack))));
    code.unwrap_or_else(|| rows::place(lock))
}

/// Whether most of the waiting that it caused was for threads that died with the lock.
fn has_died(culprit: &Blamed) -> bool {
    culprit.died_ns > culprit.wait_ns / 2
}

/// What a wakeup does to the first of its rows.
fn wakes(first: Option<&Lock>) -> &'static str {
    match first {
        Some(lock) if lock.is_given_back() => "releases {}",
        Some(lock) if lock.kind == Kind::Barrier => "arrives last at {}",
        _ => "passes {} on",
    }
}

/// Those of a culprit's rows that its code held, or whose waiters it woke: at the others, it delayed their holders.
fn own_rows<'r>(report: &'r RunReport, culprit: &'r Blamed) -> impl Iterator<Item = &'r Lock> {
    let site = culprit.site.as_ref().map(line);
    let is_site = move |by: &Blamed| by.kind == culprit.kind && by.site.as_ref().map(line) == site;
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let locks = locks.filter(|lock| culprit.locks.contains(&lock.id));
    locks.filter(move |lock| lock.held_by.iter().chain(&lock.ended_by).any(&is_site))
}

/// Whether the code ended a wait of a holder, and so delayed a lock that it did not have.
pub(super) fn is_delay(report: &RunReport, culprit: &Blamed) -> bool {
    let own = own_rows(report, culprit).count();
    culprit.kind == BlamedKind::Wake && own < culprit.locks.len()
}

/// What it does to its rows, and those whose holders waited for it meanwhile.
fn does(report: &RunReport, culprit: &Blamed, to_rows: &str) -> String {
    let of_site: HashSet<u64> = own_rows(report, culprit).map(|lock| lock.id).collect();
    let (own, delayed): (Vec<u64>, Vec<u64>) =
        culprit.locks.iter().partition(|&id| of_site.contains(id));
    let own = rows::labels(report, &own);
    let mut delayed = rows::labels(report, &delayed);
    delayed.retain(|row| !own.contains(row));
    let does = to_rows.replace("{}", &listed(&own));
    match (&own[..], &delayed[..]) {
        (_, []) => does,
        ([], delayed) => format!("delays {}", listed(delayed)),
        (_, delayed) => format!("{does}; delays {}", listed(delayed)),
    }
}

/// The rows of these locks.
pub(super) fn rows_of(report: &RunReport, locks: &[u64]) -> String {
    listed(&rows::labels(report, locks))
}

fn listed(rows: &[String]) -> String {
    match rows {
        [] => "a lock".to_owned(),
        [row] => row.clone(),
        [row, other] => format!("{row} and {other}"),
        [row, ..] => format!("{row} and {} more", rows.len() - 1),
    }
}

/// The innermost code of the program itself, where a culprit is in a library: what a person can change.
fn own_code<'r>(report: &RunReport, culprit: &'r Blamed, site: &Frame) -> Option<&'r Frame> {
    let first = culprit.locks.first()?;
    let is_its = |process: &&Process| process.locks.iter().any(|lock| lock.id == *first);
    let program = report.processes.iter().find(is_its)?.command.first()?;
    let is_own = |frame: &&Frame| {
        frame.module.as_deref().is_some_and(|module| base(module) == base(program))
    };
    culprit.stack.iter().find(is_own).filter(|_| !is_own(&site))
}

/// The remark on the block and on the section of a page.
pub(crate) fn ranked(report: &RunReport) -> &'static str {
    match report.ranked_by {
        RankedBy::Wait => "share of all waiting at contended locks and gates",
        RankedBy::Gain => "by estimated gain; share of all waiting at contended locks and gates",
    }
}

/// How wide what culprits do may be in a table of this width, of culprits in these places.
fn most_what<'p>(
    report: &RunReport,
    places: impl Iterator<Item = &'p str>,
    columns: usize,
) -> usize {
    // With what is between columns.
    const OF_GAIN: usize = 13;
    const OF_SHARE: usize = 10;
    let figures = match report.ranked_by {
        RankedBy::Gain => OF_GAIN + OF_SHARE,
        RankedBy::Wait => OF_SHARE,
    };
    let longest = places.map(width).max().unwrap_or(0);
    columns.saturating_sub(figures + longest.min(LEAST_WHERE)).max(LEAST_WHAT)
}

/// The block; nothing if there was no contention.
pub(super) fn culprits(report: &RunReport, options: &Options, paint: Paint) -> String {
    if let Some(none) = negligible(report) {
        let rest: String =
            beside_none(report).map(|rest| wrap(&rest, "  ", options.width)).collect();
        return heading("Culprits", &none, options, paint) + &rest;
    }
    let mut table = Table::new(COLUMNS.to_vec());
    let said: Vec<(&Blamed, [String; 2])> =
        shown(report).map(|culprit| (culprit, words(report, culprit))).collect();
    let is_empty = said.is_empty();
    let places = said.iter().map(|(_, [place, _])| place.as_str());
    let most_what = most_what(report, places, options.width);
    for (culprit, [place, what]) in said {
        let [of_run, on_path] = report.of_path(culprit);
        let gain = of_run.map_or_else(|| "–".to_owned(), |share| gain(culprit, share));
        let on_path = on_path.map_or_else(|| "–".to_owned(), figures::percent);
        let total = figures::duration(culprit.wait_ns);
        let what = fit(&what, most_what);
        table.row([gain, on_path, figures::percent(culprit.share), total, place, what]);
    }
    let rest: Vec<String> = notes(report).collect();
    if is_empty && rest.is_empty() {
        return String::new();
    }
    if report.ranked_by == RankedBy::Wait {
        [GAIN, ON_PATH].into_iter().for_each(|title| table.drop_column(title));
    }
    let table = if is_empty { String::new() } else { table.text(options.width, paint) };
    let rest: String = rest.iter().map(|rest| wrap(rest, "  ", options.width)).collect();
    heading("Culprits", ranked(report), options, paint) + &table + &rest
}
