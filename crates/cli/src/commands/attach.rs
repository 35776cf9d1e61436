//! `unc attach`: reports where the threads of running processes wait.

use crate::attach::{self, MOST};
use crate::console::complain;
use crate::run::plan::{Plan, Refusal};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::Failure;
use uncontended_figures::read;
use uncontended_trace::setup::Holds;

const EXAMPLES: &str = "\
Examples:
  unc attach 1234                               where do the threads of process 1234 wait? (until Ctrl-C)
  unc attach --for 10s --html now.html 1234     ten seconds of it, as a page
  unc attach --json now.json $(pgrep -x nginx)  several processes at once, as data

Any program: static, Go, Rust, whatever its threads wait in, since they wait for futexes in the end. The process is \
never stopped or changed. Needs root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_ADMIN, and Linux 5.15 or newer.

Not seen: acquisitions that did not wait, how long locks are held, spinning. Processes that it starts meanwhile are not \
watched; one that executes another program is watched up to then.

Exit status: 0, or 125 if `unc` failed. The report is the one of `unc run`; `unc help terms` explains its words.";

/// Report where the threads of running processes wait, seen from the kernel
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Write the report as JSON (schema uncontended.run/1)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the report as text, instead of printing it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Keep the record, for `unc report`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Stop watching after this long (500ms, 10s, 2m)
    #[arg(long = "for", value_name = "DURATION", value_parser = read::duration)]
    limit: Option<Duration>,
    /// Show only locks whose number (#3), kind, class, code or address matches PATTERN
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Name locks and stacks by the code outside functions, files and modules that match PATTERN, in which `*` stands
    /// for any characters (repeatable)
    #[arg(long, value_name = "PATTERN")]
    skip_frames: Vec<String>,
    /// Look for debug information, or for what ran, in DIR as well as in /usr/lib/debug (repeatable)
    #[arg(long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    /// Show the N costliest locks
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Do not add this report to `unc history`
    #[arg(long)]
    no_history: bool,
    /// Print no report
    #[arg(long)]
    quiet: bool,
    /// The processes
    #[arg(required = true, value_name = "PID")]
    pids: Vec<u32>,
}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        match self.attach() {
            Ok(()) => ExitCode::SUCCESS,
            Err(refusal) => {
                complain(&refusal.failure);
                ExitCode::from(refusal.status)
            }
        }
    }

    fn attach(self) -> Result<(), Refusal> {
        let mut pids = self.pids;
        pids.sort_unstable();
        pids.dedup();
        if pids.len() > MOST {
            let cause = format!(
                "{} processes are more than the {MOST} that are watched at once",
                pids.len()
            );
            return Err(Failure::new(cause, "name fewer").into());
        }
        let plan = Plan {
            command: Vec::new(),
            limit: self.limit,
            delay: None,
            holds: Holds::None,
            lock_order: false,
            json: self.json.map(or_stdout),
            html: self.html.map(or_stdout),
            report: self.report.map(or_stdout),
            trace: self.trace,
            only: self.only,
            skip_frames: self.skip_frames,
            debug_dirs: self.debug_dir,
            span: None,
            top: self.top,
            no_history: self.no_history,
            quiet: self.quiet,
            load: None,
        };
        attach::attach(&plan, &pids)
    }
}

/// `-` stands for standard output, which no program of the user's has here.
fn or_stdout(path: PathBuf) -> PathBuf {
    if path.as_os_str() == "-" { "/dev/stdout".into() } else { path }
}
