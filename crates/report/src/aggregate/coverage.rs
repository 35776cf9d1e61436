//! What a run could not see, in sentences.

use super::scripts::scripts;
use super::unnamed::unnamed;
use super::{cut, once, outside, stacks, sum, threads};
use crate::called::numbered;
use crate::code::base;
use crate::facts::{Facts, FutexFacts, Unrecorded};
use crate::run::{Coverage, Degraded, NotRecording, Process, Summed, SymbolsMismatch};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use uncontended_figures::text::{clean, some_of};
use uncontended_figures::{Dimension, duration, given};
use uncontended_trace::layout::{OWN_LIVES, OWN_LOCKS, sharing};
use uncontended_trace::reader::{ProcessRecord, Record};
use uncontended_trace::setup::Holds;

/// The gaps that the record reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gaps {
    /// Hold times were not recorded.
    pub(super) holds: Holds,
    /// Events dropped because there was no memory for them.
    pub(super) dropped: u64,
    /// Events inside a signal handler that interrupted the observer.
    pub(super) reentered: u64,
    /// Clock differences that were negative.
    pub(super) negative: u64,
    /// Program images that loaded the observer.
    pub(super) observed: u32,
    /// Modules whose files are not those that ran.
    pub(super) symbols_mismatch: Vec<SymbolsMismatch>,
}

const OPENMP: &str = "OpenMP's runtime (libgomp) waits by system calls of its own, which were not seen. As root, the kernel sees \
    them (--source kernel).";

const ALWAYS: &str = "Not seen: locks inside glibc (stdio, malloc, the loader), spinning that is compiled into the program, \
    futex calls that bypass the C library's syscall(), Go's runtime, statically linked programs.";

const NOT_WAITED_FOR: &str =
    "Hold times are of holds that a thread waited for; --all-holds records the others too.";

const NEEDS_ROOT: &str = "How much of all futex waiting the rows cover could not be measured: that needs root, outside a container.";

/// The waiting that the observer knows of each thread (by process and thread): at locks, for other threads' ends, and
/// unfinished waits.
pub(super) type Accounted = HashMap<(u32, u32), u64>;

fn accounted(record: &Record<'_>, wall_ns: u64) -> Accounted {
    let mut accounted = Accounted::new();
    for image in &record.processes {
        for thread in &image.threads {
            let still = threads::unfinished_ns(record, image, thread, wall_ns);
            let known = accounted.entry((image.pid, thread.tid)).or_default();
            let (waited, joined) = once::waited(thread);
            *known = sum([*known, record.ns(waited), record.ns(joined), still]);
        }
    }
    accounted
}

/// What the record lacks, in sentences.
fn lacking(gaps: &Gaps, from_kernel: bool) -> Vec<String> {
    let mut unseen = Vec::new();
    match gaps.holds {
        Holds::None if from_kernel => {}
        Holds::None => unseen.push("Hold times were not recorded (--no-hold).".into()),
        Holds::Waited => unseen.push(NOT_WAITED_FOR.into()),
        Holds::All => {}
    }
    if gaps.dropped > 0 {
        unseen.push(format!(
            "Events dropped because there was no memory for them (the record was full, or the program limits its \
            memory or forbids itself system calls), missing from every figure: {}.",
            gaps.dropped
        ));
    }
    if gaps.reentered > 0 {
        let text = "Events of signal handlers that interrupted the observer, not recorded";
        unseen.push(format!("{text}: {}.", gaps.reentered));
    }
    if gaps.negative > 0 {
        unseen.push(format!(
            "Times that were negative because the CPUs' clocks differ, counted as zero: {}.",
            gaps.negative
        ));
    }
    unseen
}

/// The coverage of a run, the rows of whose processes have these units.
pub(super) fn coverage(
    facts: &Facts,
    record: &Record<'_>,
    (processes, units): (&[Process], &[Vec<u32>]),
    gaps: Gaps,
) -> Coverage {
    let from_kernel = record.from_kernel;
    let mut unseen = if from_kernel { outside::unseen(facts) } else { vec![ALWAYS.to_owned()] };
    unseen.extend(lacking(&gaps, from_kernel));
    if facts.delay_ns > 0 && !is_too_late(facts) {
        let delay = given(facts.delay_ns as f64, Dimension::Time);
        unseen.push(format!("The first {delay} were not recorded (--delay)."));
    }
    unseen.extend(left_running(facts));
    let cut_short = cut::short(record, facts, processes, units);
    unseen.extend(cut::lines(&cut_short, processes));
    if facts.other_users > 0 && !from_kernel {
        let text = "Processes that ran as another user, whose programs cannot open the record";
        unseen.push(format!("{text}: {}.", facts.other_users));
    }
    let not_recording = not_recording(facts, record);
    unseen.extend(not_recording_lines(&not_recording));
    let degraded = degraded(record, processes);
    unseen.extend(degraded.iter().map(degraded_line));
    unseen.extend(apart(processes));
    unseen.extend(kernel_gaps(processes));
    unseen.extend(symbols_mismatch(&gaps.symbols_mismatch));
    unseen.extend(replaced(record));
    unseen.extend(unnamed(processes, &gaps.symbols_mismatch));
    unseen.extend(scripts(record, processes));
    unseen.extend(facts.openmp_unseen.then(|| OPENMP.to_owned()));
    let futex = facts.futex.as_ref();
    let share = match futex {
        Some(futex) => {
            unseen.extend(futex_gaps(futex));
            share_unaccounted(futex, &accounted(record, facts.wall_ns))
        }
        None => {
            unseen.extend((!from_kernel && !is_too_late(facts)).then(|| NEEDS_ROOT.into()));
            None
        }
    };
    let nothing_seen = nothing_seen(facts, processes, gaps.observed, &not_recording);
    Coverage {
        processes_observed: gaps.observed,
        unseen,
        nothing_seen,
        not_recording,
        still_running: facts.still_running.clone(),
        cut_short,
        symbols_mismatch: gaps.symbols_mismatch,
        degraded,
        futex_share_unaccounted: share,
        futex_wait_ns: futex.map(|futex| futex.total_ns),
        futex_sites: futex.map_or_else(Vec::new, |futex| futex.sites.clone()),
        lost_waits: facts.seen.as_ref().map_or(0, |seen| seen.lost_waits),
        lost_wait_ns: facts.seen.as_ref().map_or(0, |seen| seen.lost_ns),
        more: BTreeMap::new(),
    }
}

/// Processes that outlived the program.
fn left_running(facts: &Facts) -> Option<String> {
    const NAMED: usize = 3;
    let count = facts.still_running.len().max(facts.left_running as usize);
    let all = facts.still_running.iter();
    let names = numbered(all.map(|left| (&left.command[..], left.pid)));
    let names = some_of(&names, count, NAMED);
    let text = "Processes still running when the program ended, reported up to then";
    (count > 0).then(|| format!("{text}: {names}. Watch them with `unc attach PID`."))
}

/// Code that was loaded where other code had been.
fn replaced(record: &Record<'_>) -> Option<String> {
    const NAMED: usize = 4;
    let paths = record.processes.iter().flat_map(stacks::replaced);
    let name = |path: &str| clean(path.rsplit('/').next().unwrap_or(path));
    let names: BTreeSet<String> = paths.map(name).collect();
    let names: Vec<String> = names.into_iter().collect();
    let text = "Functions not named, because the program unloaded their code and loaded other code at its addresses";
    (!names.is_empty()).then(|| format!("{text}: {}.", some_of(&names, names.len(), NAMED)))
}

/// Modules whose functions have no names because their files are not those that ran.
fn symbols_mismatch(modules: &[SymbolsMismatch]) -> Vec<String> {
    const NAMED: usize = 3;
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for SymbolsMismatch { module, reason, .. } in modules {
        let name = Path::new(module).file_name().unwrap_or(module.as_ref());
        by_reason.entry(reason).or_default().push(clean(&name.to_string_lossy()));
    }
    let line = |(reason, names): (&str, Vec<String>)| {
        let names = some_of(&names, names.len(), NAMED);
        let remedy = "run with --trace, which keeps the names, or keep what ran, or its debug information, in a folder \
            that --debug-dir names";
        format!("Functions not named, because {reason}: {names}; {remedy}.")
    };
    by_reason.into_iter().map(line).collect()
}

/// What the record has only in sums.
fn degraded(record: &Record<'_>, processes: &[Process]) -> Option<Degraded> {
    let locks = || processes.iter().flat_map(|process| &process.locks);
    let of = |summed| locks().filter(move |lock| lock.summed == Some(summed));
    let count = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
    let (rows, in_part) = (count(of(Summed::Many).count()), count(of(Summed::Part).count()));
    (record.summed_since != 0 && rows + in_part > 0).then(|| Degraded {
        what: format!("locks by the code that took them: {}", why_summed(record)),
        remedy: "--delay begins later, which leaves room for the locks that come then".into(),
        from_ns: record.ns_at(record.summed_since),
        rows,
        acquisitions: sum(of(Summed::Many).map(|lock| lock.acquisitions)),
        blocked: sum(of(Summed::Many).map(|lock| lock.blocked)),
        in_part,
    })
}

/// Why locks have no rows of their own.
fn why_summed(record: &Record<'_>) -> String {
    let locks = record.processes.iter().flat_map(|process| &process.locks);
    let own = locks.filter(|lock| lock.sharing != sharing::SUMMED).count() as u64;
    let count = uncontended_figures::count;
    match own >= OWN_LOCKS.into() {
        true => format!("{} others have rows of their own", count(own)),
        false => format!(
            "an address had {} locks in turn, or there was no memory for more rows than those of {} locks",
            count(OWN_LIVES.into()),
            count(own)
        ),
    }
}

fn degraded_line(degraded: &Degraded) -> String {
    let Degraded { what, remedy, from_ns, rows, acquisitions, .. } = degraded;
    let from = uncontended_figures::duration(*from_ns);
    let (rows, taken) =
        (uncontended_figures::count(*rows), uncontended_figures::count(*acquisitions));
    format!(
        "From {from} on, summed {what}. {rows} such rows with {taken} acquisitions have no holds, no idle time and no \
        class; their waiting is blamed on no code. Remedy: {remedy}."
    )
}

/// Locks that other processes may use, in which they could not be recognised.
fn apart(processes: &[Process]) -> Option<String> {
    let locks = processes.iter().flat_map(|process| &process.locks);
    let apart = locks.filter(|lock| lock.is_apart()).count() as u64;
    let text = "Locks shared with processes that were not observed, or in which they could not be recognised (the kernel \
        may not be asked, or did not say what is mapped), so that when they were free is unknown";
    (apart > 0).then(|| format!("{text}: {}.", uncontended_figures::count(apart)))
}

/// What the kernel did not provide for some threads.
fn kernel_gaps(processes: &[Process]) -> Option<String> {
    let threads = || processes.iter().flat_map(|process| &process.threads);
    let mut missing = Vec::new();
    if threads().any(|thread| thread.runnable_ns.is_none()) {
        missing.push("the time runnable but not running");
    }
    if threads().any(|thread| thread.migrations.is_none()) {
        missing.push("migrations");
    }
    let what = missing.join(" and ");
    (!missing.is_empty()).then(|| format!("For some threads the kernel did not provide {what}, or they ended before they could be sampled."))
}

fn futex_gaps(futex: &FutexFacts) -> Option<String> {
    let text = "threads, processes or futex calls were left out of the kernel's sum of futex waiting, for lack of \
        room or time; the share of unseen waiting is a lower bound.";
    (futex.lost > 0).then(|| format!("{} {text}", futex.lost))
}

/// The share of the kernel's futex waiting that no row accounts for, thread by thread: what the observer counts in
/// addition to the kernel's time (spinning, the return to user mode) in one thread must not hide what it missed in
/// another.
fn share_unaccounted(futex: &FutexFacts, accounted: &Accounted) -> Option<f64> {
    let missed = futex.threads.iter().map(|thread| {
        let seen = accounted.get(&(thread.pid, thread.tid)).copied().unwrap_or(0);
        thread.total_ns.saturating_sub(seen)
    });
    (futex.total_ns > 0).then(|| sum(missed) as f64 / futex.total_ns as f64)
}

const NOT_LOADED: &str =
    "the observer was not loaded (started without LD_PRELOAD, statically linked, or privileged)";
const ANOTHER_ROOT: &str = "its root directory is another one (chroot, a sandbox, a container), in which the observer's file is not: \
    start `unc run` inside it";
const NO_RECORD: &str = "the record could not be opened (another user, a user namespace, or a PID namespace with its own /proc)";

/// Programs sampled without the record, except those that were only about to open it; the record knows these by their
/// arguments.
fn not_recording(facts: &Facts, record: &Record<'_>) -> Vec<NotRecording> {
    if record.from_kernel {
        return Vec::new(); // It watches them all; those without room are counted.
    }
    let opened_later = |seen: &&Unrecorded| {
        record.processes.iter().any(|image| image.pid == seen.pid && image.command == seen.command)
    };
    let rows = facts.unrecorded.iter().filter(|seen| !opened_later(seen));
    let rows = rows.map(|seen| {
        let reason = match &facts.unobserved {
            Some(reason) if Some(seen.pid) == facts.pid => reason.as_str(),
            _ if seen.loaded => NO_RECORD,
            _ if seen.elsewhere => ANOTHER_ROOT,
            _ => NOT_LOADED,
        };
        NotRecording { pid: seen.pid, command: seen.command.clone(), reason: reason.to_owned() }
    });
    let mut rows: Vec<NotRecording> = rows.collect();
    rows.extend(too_short_for_a_sample(facts, record, &rows));
    rows.extend(announced(facts, record, &rows));
    rows
}

/// The program itself, of which it was known that it would not record, if no sample met it.
fn too_short_for_a_sample(
    facts: &Facts,
    record: &Record<'_>,
    sampled: &[NotRecording],
) -> Option<NotRecording> {
    let (reason, pid) = (facts.unobserved.clone()?, facts.pid?);
    let is_known = sampled.iter().any(|row| row.pid == pid)
        || record.processes.iter().any(|image| image.pid == pid);
    (!is_known).then(|| NotRecording { pid, command: facts.command.clone(), reason })
}

const IN_VALGRIND: &str = "it runs under valgrind, whose tools would check the observer, too: the observer does nothing in it";

const NOT_BEGUN: &str = "the observer did not begin in it (started without LD_PRELOAD, statically linked, privileged, or in a user \
    namespace or another root directory)";

/// Files that were executed without an image that recorded, of processes that have no row of `sampled`.
fn announced(facts: &Facts, record: &Record<'_>, sampled: &[NotRecording]) -> Vec<NotRecording> {
    const STARTING_NS: u64 = 100_000_000;
    // What each process did, in time: executed a file, or began to record.
    let mut deeds: BTreeMap<u32, Vec<(u64, Option<&ProcessRecord>)>> = BTreeMap::new();
    for note in &record.announced {
        deeds.entry(note.pid).or_default().push((note.start_ticks, Some(note)));
    }
    deeds.remove(&0);
    for image in &record.processes {
        if let Some(deeds) = deeds.get_mut(&image.pid) {
            deeds.push((image.start_ticks, None));
        }
    }
    let is_known = |pid| {
        sampled.iter().any(|row| row.pid == pid)
            || facts.still_running.iter().any(|left| left.pid == pid)
    };
    deeds.retain(|&pid, _| !is_known(pid));
    let is_starting =
        |ticks| facts.so_far && record.ns_at(ticks).saturating_add(STARTING_NS) > facts.wall_ns;
    let mut rows = Vec::new();
    for (pid, mut deeds) in deeds {
        deeds.sort_by_key(|&(ticks, note)| (ticks, note.is_none()));
        let then = deeds.iter().skip(1).map(Some).chain([None]);
        let unseen = deeds.iter().zip(then).filter_map(|(&(ticks, note), then)| {
            let began = then.is_some_and(|(_, note)| note.is_none());
            note.filter(|_| !began && !is_starting(ticks))
        });
        rows.extend(unseen.map(|note| NotRecording {
            pid,
            command: note.command.clone(),
            reason: why_not_begun(note).into(),
        }));
    }
    rows
}

/// Why no image recorded after this file was executed.
fn why_not_begun(note: &ProcessRecord) -> &'static str {
    // Its tools are programs in a folder of that name.
    let file = note.command.first().map_or("", String::as_str);
    let is_valgrind = file.contains("/valgrind/") || base(file).starts_with("valgrind");
    if is_valgrind { IN_VALGRIND } else { NOT_BEGUN }
}

/// One sentence per reason.
fn not_recording_lines(programs: &[NotRecording]) -> Vec<String> {
    const NAMED: usize = 3;
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for program in programs {
        let name = numbered(std::iter::once((&program.command[..], program.pid)));
        by_reason.entry(&program.reason).or_default().extend(name);
    }
    let line = |(reason, names): (&str, Vec<String>)| {
        let names = some_of(&names, names.len(), NAMED);
        format!("Not recorded, because {reason}: {names}.")
    };
    by_reason.into_iter().map(line).collect()
}

/// Whether the program ended before recording began.
fn is_too_late(facts: &Facts) -> bool {
    facts.delay_ns > 0 && facts.delay_ns >= facts.wall_ns
}

/// Why the observer was in no process. `own` says it of the program, if it is known.
fn not_loaded(own: Option<&NotRecording>, so_far: bool) -> String {
    let usual = match so_far {
        true => "the observer was not loaded (the program has yet to begin, or cleared LD_PRELOAD)",
        false => "the observer was not loaded (the program ended before, or cleared LD_PRELOAD)",
    };
    format!("Nothing was seen: {}.", own.map_or(usual, |own| &own.reason))
}

fn too_late(facts: &Facts) -> String {
    let delay = given(facts.delay_ns as f64, Dimension::Time);
    let wall = duration(facts.wall_ns);
    let until = if facts.so_far { "has run for" } else { "ended after" };
    format!(
        "Nothing was recorded: the program {until} {wall}, before recording began (--delay {delay})."
    )
}

fn nothing_seen(
    facts: &Facts,
    processes: &[Process],
    observed: u32,
    not_recording: &[NotRecording],
) -> Option<String> {
    if processes.iter().any(|process| !process.locks.is_empty()) {
        return None;
    }
    if let Some(seen) = &facts.seen {
        if !seen.executed.is_empty() {
            return Some(
                "Nothing was seen: the program executed another one, which was not watched.".into(),
            );
        }
        if seen.forked_executed > 0 {
            return Some("Nothing was seen: processes that the program forked executed other programs, which were not watched.".into());
        }
        return Some(outside::no_wait(seen));
    }
    if let Some(reason) = &facts.unobserved {
        return Some(format!("Nothing was seen: {reason}."));
    }
    let own = not_recording.iter().find(|other| Some(other.pid) == facts.pid);
    if observed == 0 {
        return Some(not_loaded(own, facts.so_far));
    }
    if is_too_late(facts) {
        return Some(too_late(facts));
    }
    if let Some(other) = own {
        let name = other.command.first().map_or("another one", String::as_str);
        return Some(format!(
            "Nothing was seen: the program executed {name}, which did not record, because {}. As root, `--source kernel` watches it.",
            other.reason
        ));
    }
    if !not_recording.is_empty() || facts.other_users > 0 {
        return Some("Nothing was seen: the observed processes took no lock, and other processes did not record.".into());
    }
    if !facts.still_running.is_empty() || facts.left_running > 0 {
        return Some("Nothing was seen until the program ended: its processes took no lock until then. Some of them still run.".into());
    }
    if processes.iter().any(|process| !process.joins.is_empty()) {
        return Some("No lock was seen: the program called none of the C library's lock functions; its threads waited for other threads to end, and not for locks that are seen.".into());
    }
    let sampled = |pid| facts.threads.iter().filter(|seen| seen.pid == pid).count();
    let threads = processes
        .iter()
        .map(|process| process.threads.len().max(sampled(process.pid)))
        .max()
        .unwrap_or(0);
    let waited = facts.futex.as_ref().is_some_and(|futex| futex.total_ns > 0);
    let pids: HashSet<u32> = processes.iter().map(|process| process.pid).collect();
    Some(if threads > 1 || waited {
        "Nothing was seen: the program called none of the C library's lock functions; if its threads wait, then not for locks that are seen.".into()
    } else if pids.len() > 1 {
        let number = uncontended_figures::count(pids.len() as u64);
        format!(
            "Nothing was seen: none of its {number} processes took a lock, and each has one thread."
        )
    } else {
        "Nothing was seen: the program has one thread and took no lock.".into()
    })
}
