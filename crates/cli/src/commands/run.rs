//! `unc run`: runs a program under the observer and reports where its threads waited.

use super::flags::ViewFlags;
use super::meant;
use crate::console::complain;
use crate::run::load::LoadPlan;
use crate::run::plan::{Plan, Refusal, refuse_stdout};
use crate::run::session;
use crate::run::source::Source;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::Failure;
use uncontended_decide::runner::{Launch, Prepared};
use uncontended_figures::read;
use uncontended_figures::text::closest;
use uncontended_trace::setup::Holds;

const EXAMPLES: &str = "\
Examples:
  unc run -- sort --parallel=4 big.txt          where do the threads of sort wait?
  unc run --json run.json -- ./server           the same as data
  unc run --for 10s --html run.html -- ./server observe a server for ten seconds, as a page
  unc run --delay 5s --for 15s -- ./server      the same ten seconds, without the first five
  unc run --load './client 9000' --ready 'nc -z localhost 9000' -- ./server 9000
                                                observe a server while a client uses it
  unc run --every 10s --html now.html -- ./server
                                                a page of what was recorded so far, every ten seconds
  kill -USR1 $(pgrep -x unc)                    the same once, of a run in progress
  unc run --only '*cache*' -- ./program         only the locks that this code takes or holds
  unc run --debug-dir ./symbols -- ./program    with debug information from elsewhere
  unc run --lock-order -- ./program             which locks are taken in different orders?
  unc run --skip-frames 'mylock_*' -- ./program name locks by the callers of these
  unc run --span handle_request -- ./server     what did its slowest calls wait for?
  unc run --source kernel -- ./program          watch all futex waits from outside, with root
  unc run --trace run.unc -- ./program          keep the record for `unc report run.unc`

The program keeps its own input, output, signals and file descriptors. Ctrl-C and kill are passed on to it; \
when it has ended, the report is printed; `unc help terms` explains its words. Ctrl-C three times within 2 s kills a program that does \
not end.

Not seen: async tasks, locks of the kernel, and programs that are running already (see `unc attach`). Of statically linked \
programs, Go and gcc's OpenMP, the kernel sees the futex waits, with root.

Exit status: the program's own, or with --load the load's; 128 + N if signal N ended it; 127 not found; 126 not executable; \
125 if `unc` failed (also if the program exited with 0 but the report or an output file could not be written).";

/// What `--source` takes.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum SourceName {
    /// By the observer: the C library's locks, their holders and how long they hold them
    Preload,
    /// By the kernel: all futex waits, and what ended them (needs root)
    Kernel,
}

/// Run a program and report how long its threads waited for each lock, and why
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Keep the record, for `unc report`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// End the program with SIGTERM this long after its start (500ms, 10s, 2m), and with SIGKILL 10 s later
    #[arg(long = "for", value_name = "DURATION", value_parser = read::duration)]
    limit: Option<Duration>,
    /// End the program when this command, which uses it, has ended; `unc` exits with its status
    #[arg(long, value_name = "COMMAND")]
    load: Option<String>,
    /// Start the load when this command succeeds, tried every 50 ms for at most a minute
    #[arg(long, value_name = "COMMAND", requires = "load")]
    ready: Option<String>,
    /// Start recording this long after its start
    #[arg(long, value_name = "DURATION", value_parser = read::duration)]
    delay: Option<Duration>,
    /// Report what was recorded so far each time that this has passed; files are written again (SIGUSR1 to `unc`: once)
    #[arg(long, value_name = "DURATION", value_parser = every)]
    every: Option<Duration>,
    /// Follow the calls of FUNCTION in the program: what the slowest 1 % waited for, and the median ones (needs root)
    #[arg(long, value_name = "FUNCTION")]
    span: Option<String>,
    /// Watch from inside or from outside; by default the kernel watches what the observer cannot see, if it may
    #[arg(long, value_name = "SOURCE")]
    source: Option<SourceName>,
    /// Record how long locks are held for every hold, not only where a thread waited (one more clock reading per hold)
    #[arg(long)]
    all_holds: bool,
    /// Do not record how long locks are held, which costs a clock reading per acquisition
    #[arg(long, conflicts_with = "all_holds")]
    no_hold: bool,
    /// Report locks that threads took in different orders, which may deadlock
    #[arg(long)]
    lock_order: bool,
    /// Do not add this run to `unc history`
    #[arg(long)]
    no_history: bool,
    /// Print no report
    #[arg(long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
    #[command(flatten)]
    view: ViewFlags,
}

impl Arguments {
    fn plan(self) -> Result<Plan, Failure> {
        let view = self.view.plan();
        let written = [&view.named()[..], &[("--trace", self.trace.as_deref())]].concat();
        refuse_stdout(&written, "stdout belongs to the program")?;
        if self.source == Some(SourceName::Kernel) && (self.all_holds || self.lock_order) {
            let remedy = "leave out --source, or --all-holds and --lock-order";
            return Err(Failure::new("the kernel does not see how locks are held", remedy));
        }
        Ok(Plan {
            command: self.command,
            limit: self.limit,
            delay: self.delay,
            every: self.every,
            source: self.source.map(|source| match source {
                SourceName::Preload => Source::Preload,
                SourceName::Kernel => Source::Kernel,
            }),
            holds: match (self.all_holds, self.no_hold) {
                (true, _) => Holds::All,
                (false, true) => Holds::None,
                (false, false) => Holds::Waited,
            },
            lock_order: self.lock_order,
            view,
            trace: self.trace,
            span: self.span,
            no_history: self.no_history,
            quiet: self.quiet,
            load: self.load.map(|client| load(&client, self.ready.as_deref())).transpose()?,
        })
    }

    pub(crate) fn execute(self) -> ExitCode {
        let outcome = refuse_flag(&self).and_then(|()| session::run(&self.plan()?));
        match outcome {
            Ok(status) => ExitCode::from(status),
            Err(refusal) => {
                complain(&refusal.failure);
                ExitCode::from(refusal.status)
            }
        }
    }
}

/// How often to report what was recorded so far: a report costs milliseconds, and more of a large record.
pub(super) fn every(text: &str) -> Result<Duration, String> {
    const LEAST: Duration = Duration::from_millis(100);
    match read::duration(text)? {
        every if every < LEAST => Err("a report takes time: give at least 100ms".to_owned()),
        every => Ok(every),
    }
}

/// Whether the command came after `--`; an unknown flag before it would be its first word.
fn is_after_dashes(arguments: &Arguments) -> bool {
    let has_own = arguments.command.iter().any(|word| word == "--");
    !has_own && std::env::args_os().any(|typed| typed == "--")
}

/// Without this check, the parser would take an unknown flag for the program's name.
fn refuse_flag(arguments: &Arguments) -> Result<(), Refusal> {
    match &arguments.command[0].to_string_lossy() {
        word if word.starts_with('-') && is_after_dashes(arguments) => {
            let remedy = "give its path (./-x) if its name begins so; flags of unc go before `--`";
            Err(Failure::new(format!("'{word}' is not a program"), remedy).into())
        }
        flag if ["-p", "--pid"].contains(&flag.split('=').next().unwrap_or(flag)) => {
            let remedy = "`unc attach PID` watches a program that runs already";
            Err(Failure::new(format!("`unc run` starts a program: it has no {flag}"), remedy)
                .into())
        }
        flag if flag.starts_with('-') => {
            let known = Arguments::augment_args(clap::Command::new("run"));
            let known = known.get_arguments().filter_map(|argument| argument.get_long());
            let known: Vec<String> = known.map(|long| format!("--{long}")).collect();
            let typed = flag.split('=').next().unwrap_or(flag);
            let near = closest(typed, known.iter().map(String::as_str)).map(str::to_owned);
            let meant = meant::of_other_tools(typed).map(str::to_owned).or(near);
            let meant = meant.map_or_else(String::new, |meant| format!("did you mean {meant}? "));
            let remedy = format!("{meant}see `unc run --help`; the program goes after `--`");
            Err(Failure::new(format!("unknown flag {flag}"), remedy).into())
        }
        _ => Ok(()),
    }
}

/// The commands of a load, whose programs must be there before anything starts.
fn load(client: &str, ready: Option<&str>) -> Result<LoadPlan, Failure> {
    let launch = Launch::default();
    let command = |flag: &str, line: &str| {
        let prepared = Prepared::from_line(line, &launch)?;
        if prepared.is_no_program(&launch) {
            let cause = format!("{flag} '{line}': its program was not found; nothing was started");
            return Err(Failure::new(cause, "give its path, or a name that is in PATH"));
        }
        Ok(prepared)
    };
    let ready = ready.map(|line| command("--ready", line)).transpose()?;
    Ok(LoadPlan { ready, client: command("--load", client)? })
}
