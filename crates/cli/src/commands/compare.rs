//! `unc compare`: is one command better or worse than another, and by how much?

use super::flags::{ClaimFlag, OF_ONE_PROPERTY, OutputFlags, RunFlags, StopFlags};
use super::suite;
use crate::decide::output::deliver;
use crate::failure::Failure;
use clap::Args;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::guard::{Guard, Watch};
use uncontended_decide::lines::Lines;
use uncontended_decide::measure::{Blocks, Budget};
use uncontended_decide::question::{Claim, Compare, Question};
use uncontended_decide::ratio::Ratio;
use uncontended_decide::record::{self, Outcome};
use uncontended_decide::runner::{Launch, Prepared, Runner};
use uncontended_decide::scan::{self, Parameter};
use uncontended_decide::session::{Session, Setting};
use uncontended_decide::value;
use uncontended_decide::verdict::Verdict;
use uncontended_decide::{catch_interrupts, seed};
use uncontended_figures::{Dimension, Quantity};
use uncontended_stats::Rng;

/// Compare commands by fresh processes in randomised blocks, and stop at the first look that settles the claim.
///
/// The claim is about each candidate against the baseline, the first command: `no-worse` by more than the margin,
/// unless --claim says otherwise. Exit status: 0 it holds, 1 it is refuted, 3 undecided within the budget, 2 could not
/// run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  unc compare -- './old' './new'                           is the new one no worse (by more than 2%)?
  unc compare --claim better --margin 5% -- './old' './new'
  unc compare --metric max-rss -- 'prog' 'env LD_PRELOAD=liballoc.so prog'
  unc compare --parameter-list threads 1,2,4 -- './prog {threads}'   each against the first
  unc compare --aa -- './prog'                             is this machine fit to compare on?")]
pub(crate) struct Flags {
    /// What is claimed of the candidate
    #[arg(long, value_enum, default_value_t)]
    claim: ClaimFlag,
    /// Differences up to this share do not matter: ratios from 1/(1+M) to 1+M are equivalent, ends included
    #[arg(long, value_name = "M", default_value = "2%", value_parser = value::margin, allow_negative_numbers = true)]
    margin: f64,
    /// Compare this percentile of all runs, such as p90, instead of the median of the paired ratios; no tail guard then
    #[arg(long, value_name = "P", value_parser = value::percentile)]
    quantile: Option<f64>,
    /// Large values of the metric are the good ones (throughput)
    #[arg(long)]
    higher_is_better: bool,
    /// Runs of each command in a block; their medians are compared
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    block: u64,
    /// The number of the command that the others are compared with
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    baseline: u64,
    /// Compare with the runs in the log of an earlier trial: not interleaved, so drift of the machine counts as a
    /// difference
    #[arg(long, value_name = "LOG", conflicts_with_all = ["baseline", "aa", "from"])]
    stored_baseline: Option<PathBuf>,
    /// Compare the command with itself: asks whether it is equivalent, unless --claim says otherwise
    #[arg(long, conflicts_with = "from")]
    aa: bool,
    /// Go on after runs that fail (a status other than zero, a signal, --timeout): each counts as worse than any value
    #[arg(long, short)]
    ignore_failure: bool,
    /// Ask about the median alone: a heavier tail of slow runs is then neither looked for nor refuted
    #[arg(long)]
    no_tail_guard: bool,
    /// Judge pairs of values from a file or pipe (-), baseline and candidate on one line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["commands", "block", "baseline"])]
    from: Option<PathBuf>,
    /// Values that {VAR} takes in the commands, one command each
    #[arg(long, num_args = 2, value_names = ["VAR", "A,B,C"], action = clap::ArgAction::Append)]
    parameter_list: Vec<String>,
    /// Whole or decimal numbers that {VAR} takes in the commands, from FIRST to LAST
    #[arg(long, num_args = 3, value_names = ["VAR", "FIRST", "LAST"])]
    parameter_scan: Vec<String>,
    /// The step of --parameter-scan
    #[arg(long, value_name = "STEP", default_value = "1", requires = "parameter_scan")]
    parameter_step_size: String,
    /// Seed of the random order [default: from the system]
    #[arg(long)]
    seed: Option<u64>,
    /// Judge every property in a TOML file: tables `[[slo]]`, `[[compare]]`, `[[permute]]` with these flags as keys,
    /// and one max-error for all of them together
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_ONE_PROPERTY,
        conflicts_with_all = ["commands", "from", "aa", "stored_baseline", "claim", "margin", "quantile", "higher_is_better", "block", "baseline", "ignore_failure", "no_tail_guard", "parameter_list", "parameter_scan", "seed"])]
    suite: Option<PathBuf>,
    #[command(flatten)]
    stop: StopFlags,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    output: OutputFlags,
    /// The commands, each one line
    #[arg(value_name = "COMMANDS")]
    commands: Vec<String>,
}

/// Most blocks where the user names no budget.
const DEFAULT_BLOCKS: u64 = 1000;

impl Flags {
    /// Does the work and answers with the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        if let Some(suite) = &self.suite {
            return suite::execute(suite, self.stop.max_error, &self.output);
        }
        deliver(|| self.verdict(), &self.output)
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> Result<Verdict, Failure> {
        match &self.from {
            Some(path) => {
                // Opened first: waiting for the writer of a named pipe may be ended without further ado.
                let lines = Lines::open(path, "two values a line: baseline, candidate")?;
                catch_interrupts()?;
                self.judge_pairs(lines)
            }
            None => self.judge_commands(),
        }
    }

    fn hypothesis(&self, metric: &str, unit: Dimension, commands: Vec<String>) -> Compare {
        let claim = match self.claim {
            ClaimFlag::NoWorse if self.aa => Claim::Equivalent,
            claim => claim.into(),
        };
        Compare {
            metric: metric.to_string(),
            unit: unit.unit().to_string(),
            claim,
            margin: self.margin,
            higher_is_better: self.higher_is_better,
            max_error: self.stop.max_error,
            block: self.block,
            baseline: usize::try_from(self.baseline - 1).unwrap_or(usize::MAX),
            commands,
            ignore_failure: self.ignore_failure,
            quantile: self.quantile,
            guard: Guard::new(!self.no_tail_guard && self.quantile.is_none(), self.ignore_failure),
        }
    }

    fn setting(&self, most_runs: Option<u64>, warnings: Vec<String>) -> Setting<'_> {
        Setting {
            seed: seed(self.seed),
            warnings,
            most_runs,
            most_time: self.stop.max_time,
            log: self.stop.log.as_deref(),
            keep_runs: self.output.needs_runs(),
        }
    }

    /// The verdict of pairs of values, one pair a line.
    pub(crate) fn judge_pairs(&self, lines: Lines) -> Result<Verdict, Failure> {
        let names = ["column 1", "column 2"].map(String::from).to_vec();
        let compare = self.hypothesis("value", Dimension::Number, names);
        let warnings = check_budget(&compare, self.stop.max_runs)?;
        let setting = self.setting(self.stop.max_runs.map(|runs| runs.saturating_mul(2)), warnings);
        let session = Session::open(Question::Compare(compare), setting, self.output.progress())?;
        Ok(lines.judge(session, |line| pair(line).map(|[a, b]| [(0, a), (1, b)]))?)
    }

    /// The commands after scans, with the stored baseline or the copy for --aa before them.
    fn lines(&self) -> Result<Vec<String>, Failure> {
        let mut parameters = Vec::new();
        for pair in self.parameter_list.chunks_exact(2) {
            parameters.push(Parameter::list(&pair[0], &pair[1])?);
        }
        if let [name, first, last] = self.parameter_scan.as_slice() {
            parameters.push(Parameter::scan(name, first, last, &self.parameter_step_size)?);
        }
        let mut lines = scan::expand(&self.commands, &parameters)?;
        if self.aa {
            match lines.as_slice() {
                [line] => lines.push(line.clone()),
                _ => {
                    return Err(Failure::new(
                        "--aa takes one command",
                        "name the command to compare with itself",
                    ));
                }
            }
        }
        if let Some(path) = &self.stored_baseline {
            lines.insert(0, format!("stored in {}", path.display()));
        }
        match lines.len() {
            0 | 1 => Err(Failure::new(
                "there is nothing to compare",
                "name two commands or more after --, each in quotes",
            )),
            count if self.baseline > count as u64 => Err(Failure::new(
                format!("--baseline {} of {count} commands", self.baseline),
                "number them from 1",
            )),
            _ => Ok(lines),
        }
    }

    fn judge_commands(&self) -> Result<Verdict, Failure> {
        let lines = self.lines()?;
        let metric = self.run.metric()?;
        let unit = metric.dimension().unwrap_or(Dimension::Number);
        let compare = self.hypothesis(&metric.name, unit, lines.clone());
        let most = self.stop.max_runs.unwrap_or_else(|| self.block.saturating_mul(DEFAULT_BLOCKS));
        let stored = match &self.stored_baseline {
            Some(path) => Some(stored_values(path, unit)?.into_iter()),
            None => None,
        };
        let most = stored.as_ref().map_or(most, |values| most.min(values.len() as u64));
        let mut warnings = check_budget(&compare, Some(most))?;
        warnings.extend(metric.floor(0.0));
        if stored.is_some() {
            warnings.push("the baseline is stored, not interleaved: whatever changed on the machine since counts as a difference".to_string());
        }
        let launch = self.run.launch()?;
        let own = usize::from(stored.is_some());
        let commands: Vec<Option<Prepared>> = lines
            .iter()
            .enumerate()
            .map(|(arm, line)| (arm >= own).then(|| Prepared::from_line(line, &launch)).transpose())
            .collect::<Result<_, _>>()?;
        refuse_arguments(&commands, &launch)?;
        let around = self.run.around(&launch, lines.len() - own)?;
        let runner = Runner::new(launch, metric, None)?;
        catch_interrupts()?;
        let setting = self.setting(None, warnings);
        let rng = Rng::new(setting.seed);
        let mut session =
            Session::open(Question::Compare(compare), setting, self.output.progress())?;
        session.progress.say(&format!(
            "Commands: {} in random order, {} ({})",
            lines.len(),
            if self.block == 1 {
                "pair by pair".to_string()
            } else {
                format!("{} runs of each a block", self.block)
            },
            self.stop.sentence(Some(most))
        ));
        let blocks = Blocks {
            session,
            runner,
            around,
            commands,
            rng,
            block: self.block,
            ignore_failure: self.ignore_failure,
        };
        let budget = Budget { warmup: self.run.warmup, most, time: self.stop.max_time };
        Ok(blocks.run(stored, budget)?)
    }
}

/// Refuses several commands of which some are no programs: they are meant to be arguments.
fn refuse_arguments(commands: &[Option<Prepared>], launch: &Launch) -> Result<(), Failure> {
    let commands: Vec<&Prepared> = commands.iter().flatten().collect();
    let Some(odd) = commands.iter().skip(1).find(|command| command.is_no_program(launch)) else {
        return Ok(());
    };
    if commands.len() < 3 {
        return Ok(());
    }
    let lines: Vec<String> = commands.iter().map(|command| format!("'{}'", command.line)).collect();
    Err(Failure::new(
        format!(
            "these are {} commands: {}; there is no program '{}'",
            lines.len(),
            lines.join(", "),
            odd.line
        ),
        "put each command into quotes with its arguments: unc compare -- './prog 1' './prog 2'",
    ))
}

/// Refuses a budget with which no answer can ever be given, and warns of one that the tail guard makes too small for
/// one.
fn check_budget(compare: &Compare, most: Option<u64>) -> Result<Vec<String>, Failure> {
    let share = compare.shares()?.median;
    let blocks = Ratio::new(compare, share)?.fewest_pairs(share, compare);
    let runs = blocks.saturating_mul(compare.block);
    let Some(most) = most else { return Ok(Vec::new()) };
    if most < runs {
        return Err(Failure::new(
            format!(
                "{most} runs of each command can never decide this: at least {runs} are needed, if all pairs turn out alike"
            ),
            format!("say --max-runs {runs} or more, or allow a larger --max-error"),
        ));
    }
    let clears = compare.guard.as_ref().map_or(0, Watch::fewest_pairs);
    let cannot = if compare.claim == Claim::Different { "no" } else { "yes" };
    Ok((most < clears)
        .then(|| {
            format!(
                "{most} runs of each command can never answer {cannot}: a heavier tail is ruled out with {clears} at least (--no-tail-guard asks about the median alone)"
            )
        })
        .into_iter()
        .collect())
}

/// The values of the first command in an earlier trial's log.
fn stored_values(path: &Path, unit: Dimension) -> Result<Vec<f64>, Failure> {
    let unusable = |cause: String| {
        Failure::new(
            format!("{}: {cause}", path.display()),
            "give a log that --log wrote, of the same metric",
        )
    };
    let file = File::open(path).map_err(|error| unusable(error.to_string()))?;
    let log = record::read(BufReader::new(file)).map_err(unusable)?;
    let asked = log.head.hypothesis.asked();
    let (Some(arm), had) = (asked.baseline(), asked.unit()) else {
        return Err(unusable("it has no runs".to_string()));
    };
    if had != unit.unit() {
        return Err(unusable(format!("its values are in {had}, not in {}", unit.unit())));
    }
    let values: Vec<f64> = log
        .runs
        .iter()
        .filter(|run| run.arm == arm && run.outcome == Outcome::Ok)
        .filter_map(|run| run.value)
        .collect();
    if values.is_empty() {
        return Err(unusable("there is no successful run in it".to_string()));
    }
    Ok(values)
}

/// Two values, in one unit or in none.
fn pair(line: &str) -> Result<[f64; 2], String> {
    let mut parts = line
        .split(|symbol: char| symbol.is_whitespace() || symbol == ',')
        .filter(|part| !part.is_empty());
    let (Some(a), Some(b), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("'{line}' is not two values"));
    };
    let (a, b) = (Quantity::parse(a)?, Quantity::parse(b)?);
    if a.dimension != b.dimension {
        return Err(format!("the two values in '{line}' have different units"));
    }
    Ok([a.value, b.value])
}
