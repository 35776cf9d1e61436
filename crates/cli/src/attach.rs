//! Watching processes that run already, from the kernel.
//!
//! # Contract
//! The processes are never stopped, signalled or changed. Watching ends at the limit, at a signal to `unc`, or when all
//! of them, and those that they forked, have ended or executed another program: of all at one instant. Then the report
//! is written.

mod figures;
mod target;

use crate::console::complain;
use crate::limits;
use crate::run::after;
use crate::run::plan::{Plan, Refusal};
use crate::run::reports::Reports;
use crate::run::session::{Outputs, now_unix_s};
use crate::run::supervise::{ENDING, USER_1};
use crate::symbols::ElfSymbols;
use figures::Figures;
use std::time::{Duration, Instant};
use target::Target;
use uncontended_attach::{Attach, Cannot, Seen};
use uncontended_decide::Failure;
use uncontended_report::facts::{Facts, SeenFacts};
use uncontended_sys::signals::Signals;
use uncontended_trace::compose;
use uncontended_trace::layout::clock::MONOTONIC;
use uncontended_trace::setup::{Holds, Setup};

/// How often to look for new stacks, files and ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Processes at once: they share the room in the kernel's tables.
pub(crate) const MOST: usize = 8;

/// The processes that are watched.
struct Watched {
    targets: Vec<Target>,
    attach: Attach,
    figures: Figures,
}

/// Watches the processes `pids` and writes the reports.
pub(crate) fn attach(plan: &Plan, pids: &[u32]) -> Result<(), Refusal> {
    let targets: Vec<Target> =
        pids.iter().map(|&pid| Target::open(pid)).collect::<Result<_, _>>()?;
    let mut outputs = Outputs::open(plan)?;
    let taken = [&ENDING[..], &[CHILD, USER_1]].concat();
    let signals =
        Signals::block(&taken).map_err(|error| limits::could_not("block signals", &error))?;
    let started_unix_s = now_unix_s();
    let attach = Attach::new().map_err(|cannot| failure(&cannot))?;
    let mut watched = Watched { targets, attach, figures: Figures::new() };
    for target in &watched.targets {
        watched.attach.begin(target.pid);
        watched.figures.begin(target.pid, |pid| watched.attach.is_watched(pid));
    }
    if !plan.quiet {
        tell_begin(pids, plan.limit);
        watched.targets.iter().filter(|target| target.is_stopped).for_each(tell_stopped);
    }
    let mut symbols = ElfSymbols::new(&plan.view.debug_dirs);
    watch(&mut watched, &signals, plan, |watched| {
        if plan.wants_report_so_far() {
            let seen = watched.attach.so_far();
            watched.look_at_figures(true);
            let facts = Facts { so_far: true, ..facts(plan, watched, &seen, started_unix_s) };
            let written = report(plan, seen, facts, &mut outputs, &mut symbols);
            written.unwrap_or_else(|failure| complain(&failure));
        }
    });
    watched.attach.look();
    watched.look_at_figures(true);
    watched.attach.stop();
    let seen = watched.attach.finish();
    if !plan.wants_report() {
        watched.attach.close();
        return Ok(());
    }
    let facts = facts(plan, &watched, &seen, started_unix_s);
    symbols.hold(watched.attach.files());
    watched.attach.close();
    report(plan, seen, facts, &mut outputs, &mut symbols).map_err(Refusal::from)
}

impl Watched {
    fn look_at_figures(&mut self, at_once: bool) {
        let is_still = |pid| self.attach.is_watched(pid);
        self.figures.look(&self.attach.watched(), at_once, is_still);
    }

    /// Once none of the processes runs any more, as it was: those that they forked and that run.
    fn left(&self) -> Option<Vec<u32>> {
        let executed = self.attach.executed();
        let is_over = |target: &Target| target.has_ended() || executed.contains(&target.pid);
        self.targets.iter().all(is_over).then(|| self.attach.running())
    }
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

fn tell_stopped(target: &Target) {
    let pid = target.pid;
    let line = format!("unc: {pid} is stopped (state T): it runs after `kill -CONT {pid}`\n");
    crate::console::tell(&line);
}

fn tell_left(left: &[u32]) {
    const MOST: usize = 8;
    let mut pids: Vec<String> = left.iter().take(MOST).map(u32::to_string).collect();
    if left.len() > MOST {
        pids.push(format!("{} more", left.len() - MOST));
    }
    let line = format!(
        "unc: the program has ended; processes that it forked run on, and are watched on: {}\n",
        pids.join(", ")
    );
    crate::console::tell(&line);
}

const CHILD: i32 = 17;

/// Looks from time to time, until the end. `so_far` is called for each report that is due, and for SIGUSR1.
fn watch(
    watched: &mut Watched,
    signals: &Signals,
    plan: &Plan,
    mut so_far: impl FnMut(&mut Watched),
) {
    let start = Instant::now();
    let end = plan.limit.map(|limit| start + limit);
    let mut reports = Reports::new(plan.every, start);
    let mut has_told = false;
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
        watched.attach.look();
        watched.look_at_figures(false);
        let is_due = reports.is_due(Instant::now());
        if received == Some(USER_1) || is_due {
            let began = Instant::now();
            so_far(watched);
            if is_due {
                reports.made(began, Instant::now());
            }
        }
        match watched.left() {
            Some(left) if left.is_empty() => return,
            Some(left) if !has_told && !plan.quiet => {
                tell_left(&left);
                has_told = true;
            }
            _ => {}
        }
    }
}

/// What is known of the processes besides what the kernel has `seen` of each.
fn facts(plan: &Plan, watched: &Watched, seen: &Seen, started_unix_s: u64) -> Facts {
    let targets = &watched.targets;
    let ended = targets.iter().filter(|target| target.has_ended());
    let stopped = targets.iter().filter(|target| target.is_stopped);
    let children = targets.iter().flat_map(|target| target.children.iter().copied());
    let is_named = |pid| targets.iter().any(|target| target.pid == pid);
    let seen_facts = SeenFacts {
        attached: targets.iter().map(|target| target.pid).collect(),
        ended: ended.map(|target| target.pid).collect(),
        children: children.filter(|&pid| !is_named(pid)).collect(),
        stopped: stopped.map(|target| target.pid).collect(),
        ..facts_of(seen)
    };
    let shown = |pid| seen.composed.iter().any(|composed| composed.process.pid == pid);
    let threads = watched.figures.facts().into_iter().filter(|facts| shown(facts.pid));
    let first = seen.composed.first();
    Facts {
        started_unix_s,
        skip_frames: plan.view.skip_frames.clone(),
        pid: seen_facts.attached.first().copied(),
        command: first.map(|first| first.process.command.clone()).unwrap_or_default(),
        wall_ns: seen.ended_ns.saturating_sub(seen.began_ns),
        threads: threads.collect(),
        seen: Some(seen_facts),
        ..Facts::default()
    }
}

fn report(
    plan: &Plan,
    seen: Seen,
    facts: Facts,
    outputs: &mut Outputs,
    symbols: &mut ElfSymbols,
) -> Result<(), Failure> {
    after::after_run(plan, &record(seen.began_ns, seen), facts, outputs, symbols)
}

/// What was lost, and what became of the processes.
pub(crate) fn facts_of(seen: &Seen) -> SeenFacts {
    let Seen { losses, forked, .. } = seen;
    SeenFacts {
        lost_waits: losses.waits,
        lost_ns: losses.waited_ns,
        lost_stacks: losses.stacks,
        woken_by_others: seen.woken_by_others,
        missed: losses.missed,
        summed_ns: seen.summed_ns,
        rest_ns: seen.rest_ns,
        executed: seen.executed.clone(),
        followed: seen.followed,
        late_ns: seen.late_ns,
        forked: forked.count,
        forked_kept: forked.kept.clone(),
        forked_executed: forked.executed_count,
        forked_executed_pids: forked.executed.clone(),
        forked_unwatched: forked.without_room,
        ..SeenFacts::default()
    }
}

/// The record of what was seen, with times from `start_ns` on (CLOCK_MONOTONIC).
pub(crate) fn record(start_ns: u64, seen: Seen) -> Vec<u8> {
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
    compose::record(&setup, &seen.composed)
}
