//! One observed run, from looking up the program to the last report.

use super::after;
use super::ending::status;
use super::load::Load;
use super::loader;
use super::observer::Library;
use super::printing::Printing;
use super::program::{self, Missing, Obstacle};
use super::record::{Kinds, Record};
use super::reports::Reports;
use super::room;
use super::source;
use super::supervise::{self, Schedule};
use super::threads::ThreadWatch;
use super::watches::Watches;
use crate::attach;
use crate::console::{Stream, complain};
use crate::limits;
use crate::output::Output;
use crate::run::plan::{Plan, Refusal};
use crate::symbols::ElfSymbols;
use crate::view::Opened;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use uncontended_attach::Seen;
use uncontended_decide::Failure;
use uncontended_report::facts::{Facts, SeenFacts};
use uncontended_sys::affinity;
use uncontended_sys::process::{self, Child, Exit, Image};
use uncontended_sys::signals::Signals;

/// Runs the program, writes the reports and returns the exit status of `unc`.
pub(crate) fn run(plan: &Plan) -> Result<u8, Refusal> {
    let path = find(&plan.command[0])?;
    let program = loader::loaded(&path, &plan.command[1..]);
    let obstacle = program::obstacle(&program);
    let mut outputs = Outputs::open(plan)?;
    let signals =
        Signals::block(&supervise::TAKEN).map_err(|error| own("block signals", &error))?;
    let mut record = Record::create(plan.kinds(), plan.delay.is_none())
        .map_err(|error| own("create the memory for the record", &error))?;
    let (library, cost_ns_per_pair) =
        library(plan.kinds()).map_err(|error| own("place the observer", &error))?;
    let mut symbols = symbols(plan, &program);
    let mut watches = Watches::open(plan, &program, obstacle)?;
    // Of a program that the observer cannot be loaded into, it sees the children.
    let is_preloaded = !watches.is_outside() || obstacle.is_some();
    let environment = environment(is_preloaded.then_some((&library, &record)));
    let started_unix_s = now_unix_s();
    refuse_if_ended(&signals)?;
    record.begin().map_err(|error| own("write to the record", &error))?;
    let start = Instant::now();
    let from = (obstacle, record.start_ns());
    let child = start_watched(&path, plan, &environment, &signals, from, &mut watches)?;
    let pid = child.pid();
    let mut schedule = schedule(plan, &signals, start);
    let mut threads = ThreadWatch::new(pid, start);
    let run = Run { plan, record: &record, pid, start, started_unix_s, cost_ns_per_pair, obstacle };
    let mut so_far = |threads: &mut ThreadWatch, watches: &mut Watches| {
        threads.look();
        symbols.hold(threads.programs());
        let written = run.report_so_far(threads, watches, &mut outputs, &mut symbols);
        written.unwrap_or_else(|failure| complain(&failure));
    };
    supervise::until_end(
        &child,
        &signals,
        &mut schedule,
        &record,
        &mut threads,
        &mut watches,
        &mut so_far,
    );
    let wall_ns = nanoseconds(start.elapsed());
    let exit = child.reap().map_err(|error| own("learn how the program ended", &error))?;
    let ended = status(exit.code, exit.signal);
    // Of its children, the observer may have recorded more.
    let seen = watches.outside().filter(|_| !record.has_processes());
    threads.look_for_heirs(&record);
    symbols.hold(threads.programs());
    let facts = Facts {
        ended_by_limit: plan.limit.is_some() && schedule.end.is_none(),
        wall_ns,
        still_running: threads.still_running(pid),
        load: schedule.load.as_ref().and_then(Load::facts),
        ..of_exit(&exit, run.facts(&threads, &mut watches, &mut symbols, seen.as_ref()))
    };
    let written = match plan.wants_report() {
        true => bytes(&record, seen)
            .and_then(|record| after::after_run(plan, &record, facts, &mut outputs, &mut symbols)),
        false => record.check().map_err(unreadable),
    };
    watches.close();
    std::mem::forget(symbols); // The process exits now; freeing large tables would only take time.
    let (status, failure) = ending(ended, schedule.load.as_ref());
    [failure, written.as_ref().err()].into_iter().flatten().for_each(complain);
    Ok(if status == 0 && written.is_err() { 125 } else { status })
}

/// The facts with how the program ended.
fn of_exit(exit: &Exit, facts: Facts) -> Facts {
    Facts {
        exit_status: i32::from(status(exit.code, exit.signal)),
        signal: exit.signal,
        cpu_ns: Some(nanoseconds(exit.user + exit.system)),
        ..facts
    }
}

/// The program's file.
fn find(name: &OsStr) -> Result<PathBuf, Refusal> {
    program::find(name).map_err(|missing| refusal(name, &missing))
}

/// A program that has been started.
struct Run<'a> {
    plan: &'a Plan,
    record: &'a Record,
    pid: u32,
    start: Instant,
    started_unix_s: u64,
    cost_ns_per_pair: Option<f64>,
    obstacle: Option<Obstacle>,
}

impl Run<'_> {
    /// What is known of it while it runs.
    fn facts(
        &self,
        threads: &ThreadWatch,
        watches: &mut Watches,
        symbols: &mut ElfSymbols,
        seen: Option<&Seen>,
    ) -> Facts {
        let Run { plan, record, pid, start, started_unix_s, cost_ns_per_pair, obstacle } = *self;
        Facts {
            command: plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            pid: Some(pid),
            wall_ns: nanoseconds(start.elapsed()),
            started_unix_s,
            delay_ns: plan.delay.map_or(0, nanoseconds),
            other_users: threads.of_other_users(),
            unrecorded: threads.unrecorded(),
            threads: threads.facts(),
            ends: threads.ends.facts(),
            cpus: affinity::allowed().ok().and_then(|cpus| u32::try_from(cpus.len()).ok()),
            cost_ns_per_pair,
            skip_frames: plan.view.skip_frames.clone(),
            openmp_unseen: watches.openmp_unseen,
            unobserved: obstacle
                .filter(|_| seen.is_none())
                .map(|obstacle| source::why_unobserved(obstacle, watches.remedy.as_deref())),
            futex: watches.futexes(symbols),
            spans: watches.spans(record.start_ns()),
            seen: seen
                .map(|seen| SeenFacts { unseen_ns: watches.unseen_ns, ..attach::facts_of(seen) }),
            ..Facts::default()
        }
    }

    /// Writes the report on what was recorded so far.
    fn report_so_far(
        &self,
        threads: &ThreadWatch,
        watches: &mut Watches,
        outputs: &mut Outputs,
        symbols: &mut ElfSymbols,
    ) -> Result<(), Failure> {
        if !self.plan.wants_report_so_far() {
            return Ok(());
        }
        let seen = watches.outside_so_far().filter(|_| !self.record.has_processes());
        let facts = self.facts(threads, watches, symbols, seen.as_ref());
        let record = bytes(self.record, seen)?;
        after::after_run(self.plan, &record, Facts { so_far: true, ..facts }, outputs, symbols)
    }
}

/// The names of a program, which it may delete or replace.
fn symbols(plan: &Plan, path: &Path) -> ElfSymbols {
    let mut symbols = ElfSymbols::new(&plan.view.debug_dirs);
    symbols.hold(File::open(path));
    symbols
}

/// When to do what, of a program that started at `start`.
fn schedule<'a>(plan: &'a Plan, signals: &'a Signals, start: Instant) -> Schedule<'a> {
    Schedule {
        end: plan.limit.map(|limit| start + limit),
        begin: plan.delay.map(|delay| start + delay),
        load: plan.load.as_ref().map(|load| Load::new(load, signals, start)),
        reports: Reports::new(plan.every, start),
    }
}

/// The record, or what the kernel saw from outside.
fn bytes(record: &Record, seen: Option<Seen>) -> Result<Vec<u8>, Failure> {
    match seen {
        Some(seen) => Ok(attach::record(record.start_ns(), seen)),
        None => record.read().map_err(unreadable),
    }
}

/// The time, in seconds since 1970.
pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The exit status of `unc`, given the program's, and why its load failed.
fn ending<'a>(status: u8, load: Option<&'a Load<'_>>) -> (u8, Option<&'a Failure>) {
    load.map_or((status, None), |load| load.status(status))
}

/// Reports a signal that came before the program was started, which could not reach it.
fn refuse_if_ended(signals: &Signals) -> Result<(), Refusal> {
    while let Some(received) = signals.wait(Duration::ZERO) {
        if supervise::ENDING.contains(&received.signal) {
            let failure = Failure::new("a signal came before the program was started", "");
            return Err(Refusal { failure, status: 128 + received.signal as u8 });
        }
    }
    Ok(())
}

/// The observer, where the loader can open it, and its cost. If it cannot be loaded from the cache directory (mounted
/// `noexec`, say), nothing can be measured, and it is loaded from memory instead.
fn library(kinds: Kinds) -> std::io::Result<(Library, Option<f64>)> {
    let library = Library::place()?;
    let cost = super::cost::measure(&library, kinds);
    if cost.is_some() {
        return Ok((library, cost));
    }
    let in_memory = Library::in_memory()?;
    let cost = super::cost::measure(&in_memory, kinds);
    Ok((if cost.is_some() { in_memory } else { library }, cost))
}

/// The files named by flags.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) forms: Opened,
    pub(crate) trace: Option<Output>,
    pub(crate) printing: Printing,
}

impl Outputs {
    pub(crate) fn open(plan: &Plan) -> Result<Self, Failure> {
        let attaches = plan.command.is_empty();
        room::check(if attaches { room::FOR_ATTACHING } else { room::FOR_A_RUN })?;
        if plan.every.is_some() && plan.quiet && !plan.view.is_written() {
            let remedy = "name a file (--report, --json, --html), or leave out --quiet";
            return Err(Failure::new("--every with --quiet has nowhere to report to", remedy));
        }
        let forms = plan.view.open(&[("--trace", plan.trace.as_deref())], &[])?;
        let trace = plan.trace.as_deref().map(Output::open).transpose()?;
        // What is attached to has an output of its own.
        let is_free =
            attaches && !plan.view.named().iter().any(|&(_, path)| path == Some(Path::new("-")));
        let stream = if is_free { Stream::Output } else { Stream::Error };
        Ok(Outputs { forms, trace, printing: Printing::on(stream) })
    }
}

fn refusal(name: &OsStr, missing: &Missing) -> Refusal {
    let name = name.to_string_lossy();
    match missing {
        Missing::NotFound if name.is_empty() => Refusal {
            failure: Failure::new(
                "the program's name is empty",
                "name a program; is a variable of the command line unset?",
            ),
            status: 127,
        },
        Missing::NotFound if name.contains(' ') => Refusal {
            failure: Failure::new(
                format!("no program is named '{name}'"),
                format!(
                    "give the program and its arguments without quotes around all: unc run -- {name}"
                ),
            ),
            status: 127,
        },
        Missing::NotFound => Refusal {
            failure: Failure::new(
                format!("{name}: no such program"),
                "give its path, or a name that is in PATH",
            ),
            status: 127,
        },
        Missing::NotExecutable(reason) => {
            let [cause, remedy] = reason.words(&name);
            let cause = format!("{name} cannot be executed: {cause}");
            Refusal { failure: Failure::new(cause, remedy), status: 126 }
        }
    }
}

fn unreadable(error: std::io::Error) -> Failure {
    own("read the record", &error).failure
}

fn own(what: &str, error: &std::io::Error) -> Refusal {
    limits::could_not(what, error).into()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The variable that AddressSanitizer's runtime reads.
const SANITIZER: &str = "ASAN_OPTIONS";

/// Lets another library precede AddressSanitizer's runtime; a program's later options override earlier ones.
fn sanitizer_options() -> OsString {
    let present = std::env::var_os(SANITIZER).filter(|present| !present.is_empty());
    let mut options = present.unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

/// Our environment, with the observer for the program, or for its children if the program itself cannot be observed.
fn environment(observer: Option<(&Library, &Record)>) -> Vec<CString> {
    let set = observer.map(|(library, record)| {
        let preload = library.preload(std::env::var_os("LD_PRELOAD").as_deref());
        let allow = || (SANITIZER.into(), sanitizer_options());
        let allow = (!library.may_precede_sanitizer()).then(allow);
        let set = [("LD_PRELOAD".into(), preload), (Record::VARIABLE.into(), record.path())];
        set.into_iter().chain(allow)
    });
    let set: Vec<(OsString, OsString)> = set.into_iter().flatten().collect();
    let is_ours = |name: &OsString| set.iter().any(|(own, _)| own == name);
    let variables: Vec<_> = std::env::vars_os().filter(|(name, _)| !is_ours(name)).collect();
    let variables = variables.into_iter().chain(set);
    let joined = variables.map(|(mut variable, value)| {
        variable.push("=");
        variable.push(value);
        variable
    });
    joined.filter_map(|variable| CString::new(variable.into_vec()).ok()).collect()
}

/// Starts the program, and watches it from outside if that is the way: a static one before it runs, since all its code
/// is mapped by then. The run began at `start_ns` (CLOCK_MONOTONIC).
fn start_watched(
    path: &Path,
    plan: &Plan,
    environment: &[CString],
    signals: &Signals,
    (obstacle, start_ns): (Option<Obstacle>, u64),
    watches: &mut Watches,
) -> Result<Child, Refusal> {
    watches.expect(plan);
    let hold = watches.is_outside() && obstacle == Some(Obstacle::Static) && plan.delay.is_none();
    let mut child = spawn(path, plan, (environment, hold), signals)?;
    if plan.delay.is_none() {
        watches.follow(child.pid());
        watches.note_unseen(&child, start_ns);
        child.let_go();
    }
    Ok(child)
}

/// Starts the program; a file that the kernel does not recognise goes to the shell, as in `execvp`.
fn spawn(
    path: &Path,
    plan: &Plan,
    (environment, hold): (&[CString], bool),
    signals: &Signals,
) -> Result<Child, Refusal> {
    const NO_PROGRAM: i32 = 8; // ENOEXEC
    let name = plan.command[0].to_string_lossy();
    let no_nul = |_| Failure::new(format!("{name}: an argument has a NUL byte in it"), "");
    let words = plan.command.iter().map(|word| CString::new(word.as_bytes()));
    let mut words = words.collect::<Result<Vec<_>, _>>().map_err(no_nul)?;
    let path = CString::new(path.as_os_str().as_bytes()).map_err(no_nul)?;
    let image = Image { path: &path, arguments: &words, environment, hold };
    let started = process::spawn(&image, signals);
    let started = match started {
        Err(error) if error.raw_os_error() == Some(NO_PROGRAM) => {
            words[0] = path;
            words.insert(0, c"sh".into());
            let image = Image { path: c"/bin/sh", arguments: &words, environment, hold };
            process::spawn(&image, signals)
        }
        other => other,
    };
    started.map_err(|error| match error.kind() {
        // Of the fork: an executed file has no such limits.
        _ if limits::remedy(&error).is_some() => own("start the program", &error),
        std::io::ErrorKind::NotFound => Refusal {
            failure: Failure::new(format!("{name}: its interpreter or loader was not found"), ""),
            status: 127,
        },
        _ => Refusal {
            failure: Failure::new(format!("{name} cannot be executed: {error}"), ""),
            status: 126,
        },
    })
}
