//! Watching processes that run already, from the kernel.
//!
//! # Contract
//! The processes are never stopped, signalled or changed. Watching ends at the limit, at a signal to `unc`, or when all
//! of them have ended or executed another program; then the report is written.

mod target;

use crate::console::complain;
use crate::emit;
use crate::run::plan::{Plan, Refusal};
use crate::run::reports::Reports;
use crate::run::session::{Outputs, now_unix_s};
use crate::run::supervise::{ENDING, USER_1};
use crate::run::threads::ThreadWatch;
use crate::symbols::ElfSymbols;
use std::time::{Duration, Instant};
use target::Target;
use uncontended_attach::{Attach, Cannot, Seen};
use uncontended_decide::Failure;
use uncontended_report::facts::{Facts, SeenFacts, ThreadFacts};
use uncontended_report::run::Thread;
use uncontended_sys::signals::Signals;
use uncontended_trace::compose;
use uncontended_trace::layout::clock::MONOTONIC;
use uncontended_trace::setup::{Holds, Setup};

/// How often to look for new stacks, files and ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Processes at once: each has tables of 23 MiB in the kernel, and programs that every wakeup of the machine runs.
pub(crate) const MOST: usize = 8;

/// A process that is watched.
struct Watched {
    target: Target,
    attach: Attach,
    /// The kernel's figures of its threads when it began.
    before: Vec<ThreadFacts>,
}

/// Watches the processes `pids` and writes the reports.
pub(crate) fn attach(plan: &Plan, pids: &[u32]) -> Result<(), Refusal> {
    let targets: Vec<Target> =
        pids.iter().map(|&pid| Target::open(pid)).collect::<Result<_, _>>()?;
    let mut outputs = Outputs::open(plan)?;
    let taken = [&ENDING[..], &[CHILD, USER_1]].concat();
    let signals = Signals::block(&taken)
        .map_err(|error| Failure::new(format!("could not block signals: {error}"), ""))?;
    let started_unix_s = now_unix_s();
    let mut watched = Vec::new();
    for target in targets {
        let mut attach = Attach::new().map_err(|cannot| failure(&cannot))?;
        attach.begin(target.pid);
        let before = threads(target.pid);
        watched.push(Watched { target, attach, before });
    }
    if !plan.quiet {
        tell_begin(pids, plan.limit);
    }
    let mut symbols = ElfSymbols::new(&plan.view.debug_dirs);
    watch(&mut watched, &signals, plan, |watched| {
        if plan.wants_report_so_far() {
            let seen: Vec<Seen> = watched.iter_mut().map(|one| one.attach.so_far()).collect();
            let facts = Facts { so_far: true, ..facts(plan, watched, &seen, started_unix_s) };
            let written = report(plan, seen, facts, &mut outputs, &mut symbols);
            written.unwrap_or_else(|failure| complain(&failure));
        }
    });
    let seen: Vec<Seen> = watched.iter_mut().map(|one| one.attach.finish()).collect();
    if !plan.wants_report() {
        return Ok(());
    }
    let facts = facts(plan, &watched, &seen, started_unix_s);
    symbols.hold(watched.iter().flat_map(|one| one.attach.files()));
    report(plan, seen, facts, &mut outputs, &mut symbols).map_err(Refusal::from)
}

/// Why the kernel cannot do it, as a failure.
pub(crate) fn failure(cannot: &Cannot) -> Failure {
    Failure::new(cannot.cause.clone(), cannot.remedy.clone())
}

fn tell_begin(pids: &[u32], limit: Option<Duration>) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let until = if limit.is_some() { "its time is over, or Ctrl-C" } else { "Ctrl-C" };
    let line =
        format!("unc: watching {} until {until}; the program is not stopped\n", pids.join(", "));
    crate::console::tell(&line);
}

const CHILD: i32 = 17;

/// Looks from time to time, until the end. `so_far` is called for each report that is due, and for SIGUSR1.
fn watch(
    watched: &mut [Watched],
    signals: &Signals,
    plan: &Plan,
    mut so_far: impl FnMut(&mut [Watched]),
) {
    let start = Instant::now();
    let end = plan.limit.map(|limit| start + limit);
    let mut reports = Reports::new(plan.every, start);
    loop {
        let now = Instant::now();
        let wake = [end, reports.next()].into_iter().flatten().min();
        let pause = wake.map_or(LOOK_EVERY, |wake| wake.saturating_duration_since(now));
        if end.is_some_and(|end| now >= end) {
            return;
        }
        let received = signals.wait(pause.min(LOOK_EVERY)).map(|received| received.signal);
        if received.is_some_and(|signal| ENDING.contains(&signal)) {
            return;
        }
        for one in watched.iter_mut() {
            one.attach.look();
        }
        let is_due = reports.is_due(Instant::now());
        if received == Some(USER_1) || is_due {
            let began = Instant::now();
            so_far(watched);
            if is_due {
                reports.made(began, Instant::now());
            }
        }
        if watched.iter().all(|one| one.target.has_ended() || one.attach.has_executed()) {
            return;
        }
    }
}

/// What is known of the processes besides what the kernel has `seen` of each.
fn facts(plan: &Plan, watched: &[Watched], seen: &[Seen], started_unix_s: u64) -> Facts {
    let mut facts =
        Facts { started_unix_s, skip_frames: plan.view.skip_frames.clone(), ..Facts::default() };
    let mut seen_facts = SeenFacts::default();
    for (Watched { target, before, .. }, seen) in watched.iter().zip(seen) {
        let pid = target.pid;
        facts.threads.extend(since(before, threads(pid)));
        let forked = seen.composed.iter().skip(1).map(|composed| composed.process.pid);
        // Those that executed another program have its figures now.
        let forked = forked.filter(|pid| !seen.forked.executed.contains(pid));
        facts.threads.extend(forked.flat_map(threads));
        seen_facts.attached.push(pid);
        add(&mut seen_facts, seen, pid);
        if target.has_ended() {
            seen_facts.ended.push(pid);
        }
    }
    facts.pid = seen_facts.attached.first().copied();
    let first = seen.first().and_then(|seen| seen.composed.first());
    facts.command = first.map(|first| first.process.command.clone()).unwrap_or_default();
    facts.seen = Some(seen_facts);
    facts.wall_ns = wall_ns(seen);
    facts
}

fn report(
    plan: &Plan,
    seen: Vec<Seen>,
    facts: Facts,
    outputs: &mut Outputs,
    symbols: &mut ElfSymbols,
) -> Result<(), Failure> {
    let start_ns = seen.iter().map(|seen| seen.began_ns).min().unwrap_or(0);
    emit::after_run(plan, &record(start_ns, seen), facts, outputs, symbols)
}

/// Adds what was lost of one process, and what became of it.
pub(crate) fn add(facts: &mut SeenFacts, seen: &Seen, pid: u32) {
    facts.lost_waits += seen.losses.waits;
    facts.lost_ns += seen.losses.waited_ns;
    facts.lost_stacks += seen.losses.stacks;
    facts.woken_by_others += seen.woken_by_others;
    facts.missed += seen.losses.missed;
    facts.summed_ns += seen.summed_ns;
    facts.rest_ns += seen.rest_ns;
    if seen.has_executed {
        facts.executed.push(pid);
    }
    facts.forked += seen.forked.count;
    facts.forked_kept.extend(&seen.forked.kept);
    facts.forked_executed += seen.forked.executed_count;
    facts.forked_executed_pids.extend(&seen.forked.executed);
    facts.forked_unwatched += seen.forked.without_room;
}

fn wall_ns(all: &[Seen]) -> u64 {
    let began = all.iter().map(|seen| seen.began_ns).min().unwrap_or(0);
    all.iter().map(|seen| seen.ended_ns).max().unwrap_or(0).saturating_sub(began)
}

/// The record of what was seen, with times from `start_ns` on (CLOCK_MONOTONIC).
pub(crate) fn record(start_ns: u64, all: Vec<Seen>) -> Vec<u8> {
    let setup = Setup {
        clock: MONOTONIC,
        start_ticks: start_ns,
        tick_ns: 1.0,
        step_ns: 1.0,
        holds: Holds::None,
        switches: false,
        lock_order: false,
        from_kernel: true,
        enabled: false,
        capacity: 0,
        available: 0,
    };
    let processes: Vec<compose::Composed> =
        all.into_iter().flat_map(|seen| seen.composed).collect();
    compose::record(&setup, &processes)
}

/// The kernel's figures of the threads of `pid`.
fn threads(pid: u32) -> Vec<ThreadFacts> {
    let mut watch = ThreadWatch::new(pid);
    watch.look();
    watch.facts().into_iter().filter(|facts| facts.pid == pid).collect()
}

/// What the threads did between two looks.
fn since(before: &[ThreadFacts], after: Vec<ThreadFacts>) -> Vec<ThreadFacts> {
    let less = |after: Option<u64>, before: Option<u64>| {
        after.map(|after| after.saturating_sub(before.unwrap_or(0)))
    };
    let of = |mut facts: ThreadFacts| {
        let old = before.iter().find(|old| old.thread.tid == facts.thread.tid);
        if let Some(Thread {
            cpu_ns,
            user_ns,
            system_ns,
            runnable_ns,
            voluntary_switches,
            involuntary_switches,
            migrations,
            ..
        }) = old.map(|old| &old.thread)
        {
            let new = &mut facts.thread;
            new.cpu_ns = less(new.cpu_ns, *cpu_ns);
            new.user_ns = less(new.user_ns, *user_ns);
            new.system_ns = less(new.system_ns, *system_ns);
            new.runnable_ns = less(new.runnable_ns, *runnable_ns);
            new.voluntary_switches = less(new.voluntary_switches, *voluntary_switches);
            new.involuntary_switches = less(new.involuntary_switches, *involuntary_switches);
            new.migrations = less(new.migrations, *migrations);
        }
        facts
    };
    after.into_iter().map(of).collect()
}
