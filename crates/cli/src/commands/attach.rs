//! `unc attach`: reports where the threads of running processes wait.

use super::flags::ViewFlags;
use super::run::every;
use crate::attach::{self, MOST};
use crate::console::complain;
use crate::run::plan::{Plan, Refusal, refuse_stdout};
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

Any program of 64 bits: static, Go, Rust, whatever its threads wait in, since they wait for futexes in the end. \
Goroutines and Java's threads wait for each other in their runtimes, whose own profiles show that. The process is \
never stopped or changed. Needs root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH, and Linux 5.15 or newer.

Not seen: acquisitions that did not wait, how long locks are held, spinning. Processes that it forks meanwhile are \
watched, too, and as long as they run; those that it has already are not. One that executes another program is watched up to then.

The report goes to standard output. FILE may be `-`, too, except of --trace: the report then goes to standard error.

Exit status: 0, or 125 if `unc` failed. The report is the one of `unc run`; `unc help terms` explains its words.";

/// Report where the threads of running processes wait, seen from the kernel
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Keep the record, for `unc report`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Stop watching after this long (500ms, 10s, 2m)
    #[arg(long = "for", value_name = "DURATION", value_parser = read::duration)]
    limit: Option<Duration>,
    /// Report what was seen so far each time that this has passed; files are written again (SIGUSR1 to `unc`: once)
    #[arg(long, value_name = "DURATION", value_parser = every)]
    every: Option<Duration>,
    /// Do not add this report to `unc history`
    #[arg(long)]
    no_history: bool,
    /// Print no report
    #[arg(long)]
    quiet: bool,
    /// The processes
    #[arg(required_unless_present = "named", value_name = "PID", value_parser = pid)]
    pids: Vec<u32>,
    /// The same, as other tools have it
    #[arg(short = 'p', long = "pid", id = "named", value_name = "PID", value_delimiter = ',', value_parser = pid)]
    named: Vec<u32>,
    #[command(flatten)]
    view: ViewFlags,
}

fn pid(text: &str) -> Result<u32, String> {
    let is_there = |&pid: &u32| pid > 0;
    text.parse()
        .ok()
        .filter(is_there)
        .ok_or_else(|| "give a PID; `pgrep NAME` finds them".to_owned())
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
        refuse_stdout(&[("--trace", self.trace.as_deref())], "a record does not go to stdout")?;
        let mut pids = [self.pids, self.named].concat();
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
            every: self.every,
            source: None,
            holds: Holds::None,
            lock_order: false,
            view: self.view.plan(),
            trace: self.trace,
            span: None,
            no_history: self.no_history,
            quiet: self.quiet,
            load: None,
        };
        attach::attach(&plan, &pids)
    }
}
