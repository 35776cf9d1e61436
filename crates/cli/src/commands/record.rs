//! `unc record`: keeps runs without a question, for comparisons to come.

use super::flags::RunFlags;
use crate::console::{complain, say};
use crate::emit::look;
use crate::files;
use crate::settings;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::plan::record::MOST_RUNS;
use uncontended_decide::plan::{Limits, Plan as _, RecordPlan, Told};
use uncontended_decide::record::{Stop, is_there};
use uncontended_decide::suite::DEFAULT_ERROR;
use uncontended_decide::{Failure, Verdict, value};
use uncontended_figures::progress::Line;
use uncontended_figures::read::whole;
use uncontended_report::verdict::recording::kept;

/// Keep runs of a command, to compare others with them later
///
/// `unc compare --baseline LOG` uses all of them. A log says on what machine it was made. What the machine does between
/// two sessions cannot be told from what the candidate does, unless a control, which does not change, is run in both:
/// --control interleaves it here, and the comparison runs it again. Exit status: 0 kept, 2 could not run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  unc record -- ./bench                                 up to 1,000 runs or 60 s, in base.log
  unc record --runs 200 -o main.log -- ./bench --fast
  unc record --for 5m --control 'sha256sum big.iso' -o main.log -- ./bench
  unc compare --baseline main.log -- './bench --fast'   the same command, in a later session
  unc verdict main.log                                  what is in it")]
pub(crate) struct Flags {
    /// Keep this many runs of each command [default: 1000, if there is no --for]
    #[arg(long, short, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(1..=MOST_RUNS))]
    runs: Option<u64>,
    /// Keep runs for this long [default: 60 s, if there is no --runs]
    #[arg(long = "for", value_name = "TIME", value_parser = value::duration, allow_hyphen_values = true)]
    time: Option<Duration>,
    /// The log: the runs, in the form that `unc verdict` reads
    #[arg(long, short = 'o', alias = "output", value_name = "FILE", default_value = "base.log")]
    log: PathBuf,
    /// Run this command, too, in random order with the other: it must not change between sessions, and show the same
    /// metric
    #[arg(long, value_name = "COMMAND")]
    control: Option<String>,
    /// Replace a file of that name once the new recording is complete
    #[arg(long)]
    force: bool,
    /// Keep runs that fail (nonzero status, signal, --timeout): each counts as worse than any value
    #[arg(long, short)]
    ignore_failure: bool,
    /// Print nothing but what was kept
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    run: RunFlags,
    /// The command and its arguments; a single word is taken as a command line
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND",
        required = true,
        help_heading = "Arguments"
    )]
    command: Vec<String>,
}

impl Flags {
    /// Makes the runs and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let input = [("--input", self.run.input.as_deref())];
        let kept_runs = files::distinct(&[("--log", Some(self.log.as_path()))], &input)
            .and_then(|()| self.keep_earlier())
            .and_then(|()| settings::verdict(self.record()))
            .and_then(|verdict| tell(&verdict).map(|()| verdict));
        match kept_runs {
            Ok(verdict) => {
                if verdict.stopped_by == Stop::Interrupted
                    && let Some(signal) = uncontended_sys::interrupts::received()
                {
                    uncontended_sys::interrupts::die_by(signal);
                }
                ExitCode::SUCCESS
            }
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }

    /// Refuses to replace a file, unless that is asked for.
    fn keep_earlier(&self) -> Result<(), Failure> {
        if self.force || !is_there(&self.log) {
            return Ok(());
        }
        Err(Failure::new(
            format!("{} exists, and a recording would replace it", self.log.display()),
            "name another file with -o, or pass --force",
        ))
    }

    fn record(&self) -> Result<Verdict, Failure> {
        let progress = Box::new(settings::Told(Line::new(self.quiet)));
        self.plan()?.verdict(Told { progress, keep_runs: false })
    }

    fn plan(&self) -> Result<RecordPlan, Failure> {
        Ok(RecordPlan {
            command: self.command.clone(),
            control: self.control.clone(),
            ignore_failure: self.ignore_failure,
            runs: self.run.plan()?,
            limits: Limits {
                max_error: DEFAULT_ERROR,
                max_runs: self.runs,
                max_time: self.time,
                log: Some(self.log.clone()),
            },
        })
    }
}

/// Says what was kept.
fn tell(verdict: &Verdict) -> Result<(), Failure> {
    if verdict.finding.n == 0 {
        let remedy = "give --for more time, or --runs instead";
        return Err(Failure::new("no run ended in that time, so none is kept", remedy));
    }
    say(&kept(verdict, look(0, &std::io::stdout()).width), false)
}
