//! The report as text for a terminal.
//!
//! # Contract
//! Tables are aligned, figures carry their units, and no line exceeds the requested width if a column can shrink.
//! What there is to gain stands below the header, in a line. Deadlocks come first, and locks taken in two orders, then
//! the code that made threads wait, then the locks, by total wait. What else is most important comes last, where a
//! terminal ends: what could not be seen, then the findings.
//! Colour only on request; the caller checks the terminal and `NO_COLOR`.
//! # Evidence
//! `tests/terminal.rs`: whole reports compared with golden texts.

mod bars;
mod culprits;
mod deadlocks;
mod history;
mod inversions;
mod locks;
mod ranking;
mod spans;
mod threads;
mod track;
mod worst;
mod wrappers;

pub(crate) use culprits::{
    beside_none, gain, negligible, notes, ranked, shown, still_waited_ns, unranked, waited_for,
    waited_ns, words,
};
pub(crate) use history::date;
pub use history::{difference, history};
pub(crate) use ranking::{long_work, mainly, then};
pub(crate) use threads::{longest_join, own_switches};
pub(crate) use track::{list as series_list, sentence as series_sentence, word as turn_word};
pub use track::{one_series, track};
pub(crate) use worst::{both_ends, cause, lost, member, slept};

use crate::called;
use crate::cost;
use crate::findings::{none, tried_by};
use crate::inversions::seen;
use crate::rows;
use crate::run::{AttachedTo, FutexSite, Observer, RunReport, Source};
use crate::summary::summary;
use uncontended_figures::text::{ascii, clean, fit, wrap};
use uncontended_figures::{self as figures, table::Paint};

/// Layout options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Rows of each table.
    pub top: usize,
    /// Bold headings and dim rules, by ANSI sequences.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether bars and other signs are those of Unicode, or ASCII.
    pub utf8: bool,
}

impl Default for Options {
    /// Ten rows, no colour, 100 columns, UTF-8.
    fn default() -> Self {
        Options { top: 10, colour: false, width: 100, utf8: true }
    }
}

impl Options {
    /// `text` in the characters of the locale.
    fn in_locale(&self, text: String) -> String {
        if self.utf8 { text } else { ascii(&text) }
    }
}

/// The report as text, each line ending in a line feed.
pub fn render(report: &RunReport, options: &Options) -> String {
    let paint = Paint { colour: options.colour };
    let rows = rows::rows(report);
    let mut text = head(report, options, paint);
    text.push_str(&deadlocks::deadlocks(report, options, paint));
    text.push_str(&deadlocks::still_waiting(report, options, paint));
    text.push_str(&inversions::inversions(report, options, paint));
    text.push_str(&culprits::culprits(report, options, paint));
    text.push_str(&spans::spans(report, options, paint));
    text.push_str(&locks::locks(report, &rows, options, paint));
    text.push_str(&worst::cases(&rows, options, paint));
    text.push_str(&threads::render_all(report, options, paint));
    text.push_str(&coverage(report, options, paint));
    text.push_str(&findings(report, options, paint));
    options.in_locale(text)
}

/// A section's heading: a name, and a remark on how to read it, on lines of its own if it does not fit behind the name.
fn heading(name: &str, remark: &str, options: &Options, paint: Paint) -> String {
    let name = format!("\n{}", paint.bold(name));
    let room = options.width.saturating_sub(figures::text::width(&name) + 2);
    if remark.is_empty() {
        return format!("{name}\n");
    }
    if figures::text::width(remark) <= room {
        return format!("{name}  {}\n", paint.dim(remark));
    }
    let lines: String = remark.split("  ").map(|part| wrap(part, "  ", options.width)).collect();
    let lines = lines.lines().map(|line| format!("{}\n", paint.dim(line)));
    format!("{name}\n{}", lines.collect::<String>())
}

fn head(report: &RunReport, options: &Options, paint: Paint) -> String {
    let processes = report.processes.len();
    let threads = rows::threads(report);
    let figures = [
        format!("wall {}", figures::duration(report.wall_ns)),
        ended(report),
        several(processes as u64, "process", "processes"),
        several(threads, "thread", "threads"),
        matching(report),
    ];
    let command = fit(&called::title(report), options.width);
    let load = load(report).map_or_else(String::new, |load| wrap(&load, "", options.width));
    let figures = wrap(&figures.join(" · "), "", options.width);
    let summary = summary(report);
    let summary = summary.map_or_else(String::new, |line| wrap(&line, "", options.width));
    let warning = cost::warning(report);
    let warning = warning.map_or_else(String::new, |line| wrap(&line, "", options.width));
    format!("{}\n{figures}{load}{summary}{warning}", paint.bold(&command))
}

/// How many locks there are, or match `--only`.
pub(crate) fn matching(report: &RunReport) -> String {
    let locks = rows::locks(report);
    match (&report.only, locks) {
        (None, locks) => several(locks, "lock", "locks"),
        (Some(pattern), 0) => format!("no lock matches '{}'", clean(pattern)),
        (Some(pattern), locks) => {
            format!("{} '{}'", several(locks, "lock matches", "locks match"), clean(pattern))
        }
    }
}

/// The load that used the program, with how it ended and how long it took.
pub(crate) fn load(report: &RunReport) -> Option<String> {
    let load = report.load.as_ref()?;
    let took = figures::duration(load.ended_ns.saturating_sub(load.begun_ns));
    let begun = figures::duration(load.begun_ns);
    let (command, status) = (clean(&load.command), load.exit_status);
    Some(format!("load: {command} · from {begun} on, for {took} · exit status {status}"))
}

/// How the program ended.
pub(crate) fn ended(report: &RunReport) -> String {
    if let Some(attached) = &report.attached {
        return attached_to(attached);
    }
    if report.so_far {
        return "so far: still running".into();
    }
    match report.signal {
        Some(signal) => format!("ended by {} (status {})", signal_name(signal), report.exit_status),
        None if report.ended_by_limit => {
            format!("ended by --for (exit status {})", report.exit_status)
        }
        None => format!("exit status {}", report.exit_status),
    }
}

/// The processes that were attached to, and what became of them.
fn attached_to(attached: &AttachedTo) -> String {
    let state = |pid: &u32| match (attached.executed.contains(pid), attached.ended.contains(pid)) {
        (true, _) => format!("{pid} (up to its exec)"),
        (_, true) => format!("{pid} (has ended)"),
        _ => format!("{pid} (still running)"),
    };
    let pids: Vec<String> = attached.pids.iter().map(state).collect();
    format!("attached to {}", pids.join(", "))
}

/// `SIGKILL`.
pub(crate) fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 15] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM",
    ];
    let name = usize::try_from(signal).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}

/// `1 lock`, `12 locks`.
pub(crate) fn several(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", figures::count(number), if number == 1 { one } else { many })
}

/// A command as it would be typed, safe to print on a terminal.
pub(crate) fn command_line(command: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%^".contains(c);
    let words = command.iter().map(|word| {
        let word = clean(word);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn coverage(report: &RunReport, options: &Options, paint: Paint) -> String {
    let mut text = heading("Coverage", "what this run could not see", options, paint);
    let coverage = &report.coverage;
    let lines = coverage.nothing_seen.iter().chain(&coverage.unseen);
    for line in lines {
        text.push_str(&wrap(&clean(line), "  · ", options.width));
    }
    if let Some(share) = coverage.futex_share_unaccounted {
        text.push_str(&wrap(&futex_waiting(share), "  · ", options.width));
    }
    text.push_str(&worst::futex_sites(report, options));
    if let Some(order) = &report.lock_order {
        text.push_str(&wrap(&seen(order), "  · ", options.width));
    }
    text.push_str(&wrap(&observer(report), "  · ", options.width));
    text
}

/// From this share on that no row contains, the kernel's sites are listed.
const LISTED: f64 = 0.01;

/// The kernel's sites, seen or not, where they may tell whose the waiting is that no row contains.
pub(crate) fn listed_futex_sites(report: &RunReport) -> &[FutexSite] {
    let coverage = &report.coverage;
    let is_much = coverage.futex_share_unaccounted.is_some_and(|share| share >= LISTED);
    if is_much { &coverage.futex_sites } else { &[] }
}

/// How much of all futex waiting no row contains, in a sentence.
pub(crate) fn futex_waiting(unaccounted: f64) -> String {
    match figures::percent(unaccounted).as_str() {
        "0 %" => "All futex waiting that the kernel counted is in the rows above, or was for a thread's end.".to_owned(),
        share => {
            format!(
                "{share} of the futex waiting that the kernel counted is in none of the rows above."
            )
        }
    }
}

/// The cost of observing, in a sentence.
pub(crate) fn observer(report: &RunReport) -> String {
    let from_kernel = report.source == Source::Kernel;
    let cost = if from_kernel { KERNEL_COST.to_owned() } else { cost::of_locks(report) };
    let step = figures::duration_f(report.clock.step_ns);
    let clock = format!(
        "times are from {}, which advances in steps of {step}",
        clean(&report.clock.source)
    );
    let dropped = match report.observer.records_dropped {
        0 => "nothing was dropped".to_owned(),
        lost => format!(
            "{} dropped for want of memory, and in no figure",
            several(lost, "event was", "events were")
        ),
    };
    if from_kernel {
        return format!("{cost}; {clock}.");
    }
    let many = many_locks(report).unwrap_or_default();
    format!("{cost}; {clock}; {dropped}.{many}")
}

/// The rows of a thread that has taken more locks do not stay in the caches of its CPU.
const NEAR: u64 = 1_000;

/// Which cost was measured, where a thread took many locks.
fn many_locks(report: &RunReport) -> Option<String> {
    let Observer { cost_ns_per_pair, most_locks, .. } = report.observer;
    cost_ns_per_pair.filter(|_| most_locks > NEAR)?;
    Some(format!(
        " That is the cost of one lock, taken again and again. A thread took at least {} here: where a thread takes \
        thousands of locks in turn, each costs several times as much, since the CPU's caches do not hold what is \
        recorded of them.",
        figures::count(most_locks)
    ))
}

/// `docs/reading_a_report.md` says how it was measured.
const KERNEL_COST: &str = "Watching adds less than a microsecond to a futex call";

/// What a report with `--only` has no findings about.
pub(crate) fn about(report: &RunReport) -> String {
    let pattern = report.only.as_deref().map(clean);
    pattern.map_or_else(String::new, |pattern| format!(" about the locks that match '{pattern}'"))
}

fn findings(report: &RunReport, options: &Options, paint: Paint) -> String {
    if report.findings.is_empty() {
        let none = format!("none{}: {}", about(report), none(report));
        let none = wrap(&none, "Findings  ", options.width);
        return format!("\n{}{}", paint.bold("Findings"), &none["Findings".len()..]);
    }
    let mut text = heading("Findings", "", options, paint);
    for (nth, finding) in report.findings.iter().enumerate() {
        let mut first = format!("  {}. ", nth + 1);
        for line in finding.text.split('\n') {
            text.push_str(&wrap(&clean(line), &first, options.width));
            first = "     ".to_owned();
        }
    }
    if let Some(trial) = tried_by(report) {
        let introduction = wrap(trial.introduction, "  ", options.width);
        text.push_str(&format!("{introduction}    {}\n", trial.command));
    }
    text
}
