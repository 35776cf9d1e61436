//! Is one command better or worse than another, and by how much? Of commands in random blocks, or of pairs of values.

use super::aspect::Aspect;
use super::sessions::{self, Candidate};
use super::{Files, Keys, Limits, Plan, Runs, Told};
use crate::guard::{Guard, Watch};
use crate::lines::{Lines, pair};
use crate::measure::{Blocks, Budget, alone};
use crate::metric::Metric;
use crate::question::{Claim, Compare, Question};
use crate::ratio::Ratio;
use crate::record::Run;
use crate::revisions::Revisions;
use crate::runner::{Launch, Prepared, Runner};
use crate::scan::{self, Parameter};
use crate::server::Servers;
use crate::session::Session;
use crate::verdict::Verdict;
use crate::{Failure, catch_interrupts, seed, value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, whole};
use uncontended_stats::Rng;

/// The plan of `unc compare`, and of `[[compare]]`.
#[derive(Debug, Clone)]
pub struct ComparePlan {
    /// The claim about each candidate; none for the default that the commands suggest.
    pub claim: Option<Claim>,
    /// Differences up to this share do not count.
    pub margin: f64,
    /// The percentile that is compared, instead of the median of the paired ratios.
    pub quantile: Option<f64>,
    /// What else is asked about the same runs; the error is shared out equally.
    pub also: Vec<Aspect>,
    /// Whether larger values are better.
    pub higher_is_better: bool,
    /// Runs of each command in a block.
    pub block: u64,
    /// The number of the baseline, from 1.
    pub baseline: u64,
    /// Whether the trial continues after a run that fails.
    pub ignore_failure: bool,
    /// Whether to look for a heavier tail.
    pub tail_guard: bool,
    /// How many times as long as by chance bursts of slow runs may be that the guard rules out; 1: they are
    /// independent; none: 20, but only where they are seen to come in bursts.
    pub bursts: Option<f64>,
    /// Seed of the random order.
    pub seed: Option<u64>,
    /// What to compare.
    pub source: Source,
    /// How to run commands.
    pub runs: Runs,
    /// When to stop.
    pub limits: Limits,
}

/// What to compare.
#[derive(Debug, Clone)]
pub enum Source {
    /// Pairs of values, baseline and candidate on one line.
    Pairs(PathBuf),
    /// Commands.
    Commands(Commands),
    /// Sessions that were not interleaved.
    Sessions(sessions::Source),
}

impl Source {
    /// The one that was given, and the number of the baseline.
    ///
    /// # Errors
    /// If what was given does not go together.
    pub fn new(
        from: Option<PathBuf>,
        commands: Commands,
        baseline: Baseline,
        candidate: Option<PathBuf>,
        trusted: bool,
    ) -> Result<(Source, u64), Failure> {
        let log = match baseline {
            Baseline::Number(number) if candidate.is_none() && !trusted => {
                return Ok((from.map_or(Source::Commands(commands), Source::Pairs), number));
            }
            Baseline::Number(_) => {
                return Err(Failure::new(
                    "`Candidate::Log` and `Source::trusted` are about a recorded baseline",
                    "name its log as `ComparePlan::baseline`",
                ));
            }
            Baseline::Log(path) => path,
        };
        let is_plain = from.is_none()
            && !commands.with_itself
            && commands.names.is_empty()
            && commands.revisions.is_empty()
            && commands.servers.is_none();
        if !is_plain {
            return Err(Failure::new(
                format!(
                    "{} as the baseline is compared with one command or one log",
                    log.display()
                ),
                "leave out `Commands::with_itself`, `Commands::names`, `Commands::revisions`, `Servers::lines` and pairs of values",
            ));
        }
        let candidate = match candidate {
            Some(path) if commands.lines.is_empty() => Candidate::Log(path),
            Some(path) => {
                let cause = format!("{} and a command: there is one candidate", path.display());
                return Err(Failure::new(cause, "leave out one of them"));
            }
            None => Candidate::Command(commands.lines, commands.parameters),
        };
        Ok((Source::Sessions(sessions::Source { baseline: log, candidate, trusted }), 1))
    }
}

/// The baseline: one of the commands, or recorded runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Baseline {
    /// The number of a command, from 1.
    Number(u64),
    /// A log.
    Log(PathBuf),
}

impl Default for Baseline {
    fn default() -> Baseline {
        Baseline::Number(1)
    }
}

impl Baseline {
    /// Reads a number, or else the path of a log.
    ///
    /// # Errors
    /// If it is a number that no command has.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        match text.parse::<u64>() {
            Ok(0) => Err("commands are numbered from 1".to_owned()),
            Ok(number) => Ok(Baseline::Number(number)),
            Err(_) => Ok(Baseline::Log(text.into())),
        }
    }
}

/// Commands to compare.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// Each as one command line.
    pub lines: Vec<String>,
    /// A name for each, or none at all.
    pub names: Vec<String>,
    /// Parameters to substitute in the lines.
    pub parameters: Vec<Parameter>,
    /// Whether to compare the only command with itself.
    pub with_itself: bool,
    /// Revisions of the git repository, in each of which the only command runs.
    pub revisions: Vec<String>,
    /// The command that builds each of them.
    pub build: Option<String>,
    /// The servers to compare, under the only command as their load.
    pub servers: Option<Servers>,
}

/// The default margin.
pub const DEFAULT_MARGIN: f64 = 0.02;
/// Most runs of a command in a block.
pub const MOST_IN_BLOCK: u64 = 1000;

impl Plan for ComparePlan {
    fn files(&self) -> Files<'_> {
        let values = match &self.source {
            Source::Pairs(path) => vec![("from", path.as_path())],
            Source::Commands(_) => Vec::new(),
            Source::Sessions(sessions) => sessions.files(),
        };
        let read = values.into_iter().chain(self.runs.input()).collect();
        Files { read, log: self.limits.log.as_deref() }
    }

    fn verdict(&self, told: Told) -> Result<Verdict, Failure> {
        match &self.source {
            Source::Pairs(path) => {
                // Opened first: waiting for the writer of a named pipe may be interrupted at once.
                let lines = Lines::open(path, "two values per line: baseline, candidate")?;
                catch_interrupts()?;
                self.judge_pairs(lines, told)
            }
            Source::Commands(commands) => alone(self.judge_commands(commands, told)?),
            Source::Sessions(sessions) => self.judge_sessions(sessions, told),
        }
    }
}

impl Commands {
    /// The lines after scans, with the copy or one for each revision.
    fn expanded(&self, baseline: u64) -> Result<Vec<String>, Failure> {
        let mut lines = scan::expand(&self.lines, &self.parameters)?;
        if self.with_itself {
            match lines.as_slice() {
                [line] => lines.push(line.clone()),
                _ => {
                    let remedy = "name the command to compare with itself";
                    return Err(Failure::new("`Commands::with_itself` takes one command", remedy));
                }
            }
        }
        if let [alone] = self.revisions.as_slice() {
            return Err(Failure::new(
                format!("there is nothing to compare revision '{alone}' with"),
                "give `Commands::revisions` at least two",
            ));
        }
        if !self.revisions.is_empty() {
            lines = match lines.as_slice() {
                [line] => vec![line.clone(); self.revisions.len()],
                _ => {
                    let remedy = "name one command, which runs in each revision";
                    return Err(Failure::new("`Commands::revisions` take one command", remedy));
                }
            };
        }
        if let Some(servers) = &self.servers {
            lines = match lines.as_slice() {
                [load] => vec![load.clone(); servers.lines.len()],
                _ => {
                    return Err(Failure::new(
                        "servers take one load",
                        "name it with `Servers::load`",
                    ));
                }
            };
        }
        match lines.len() {
            0 | 1 => Err(Failure::new(
                "there is nothing to compare",
                "name at least two `Commands::lines`",
            )),
            count if baseline > count as u64 => Err(Failure::new(
                format!("`ComparePlan::baseline` {baseline} of {count} commands"),
                "number them from 1",
            )),
            _ => Ok(lines),
        }
    }
}

impl Commands {
    /// The names of these lines: their own, unless others are given.
    fn named(&self, lines: &[String]) -> Result<Vec<String>, Failure> {
        if self.names.is_empty() {
            let servers = self.servers.as_ref().map(|servers| servers.lines.as_slice());
            return Ok(servers.unwrap_or(lines).to_vec());
        }
        let count = |count: usize, one, more| several(count as u64, one, more);
        if self.names.len() != lines.len() {
            let (names, commands) = (self.names.len(), lines.len());
            return Err(Failure::new(
                format!(
                    "{} for {}",
                    count(names, "name", "names"),
                    count(commands, "command", "commands")
                ),
                "give `Commands::names` once for each command, in their order",
            ));
        }
        let twice =
            self.names.iter().enumerate().find(|(at, name)| self.names[..*at].contains(name));
        match twice {
            Some((_, name)) => {
                Err(Failure::new(format!("two commands are named '{name}'"), "give each another"))
            }
            None => Ok(self.names.clone()),
        }
    }
}

impl ComparePlan {
    /// From the keys of a suite's table.
    ///
    /// # Errors
    /// What is wrong with a value, or with all of them together.
    pub fn from_keys(keys: &mut Keys, max_error: f64) -> Result<ComparePlan, String> {
        exclude(keys)?;
        let from = keys.text("from")?;
        // The second is its old name, for a log.
        keys.exclude(&["baseline", "stored-baseline"])?;
        let recorded = keys.read("stored-baseline", Baseline::parse)?;
        let baseline = keys.read("baseline", Baseline::parse)?.or(recorded).unwrap_or_default();
        let candidate = keys.text("candidate")?.map(PathBuf::from);
        let trusted = keys.flag("trust-sessions")?;
        let commands = Commands {
            with_itself: keys.flag("aa")?,
            parameters: parameters(
                &keys.texts("parameter-list")?,
                &keys.texts("parameter-scan")?,
                keys.text("parameter-step-size")?.as_deref().unwrap_or("1"),
            )
            .map_err(|failure| failure.cause)?,
            lines: [keys.texts("commands")?, Vec::from_iter(keys.text("load")?)].concat(),
            names: keys.texts("command-name")?,
            revisions: keys.texts("rev")?,
            build: keys.text("build")?,
            servers: Servers::of(
                keys.texts("server")?,
                keys.text("ready")?,
                keys.read("ready-timeout", value::duration)?,
            )
            .map_err(|failure| failure.cause)?,
        };
        if commands.servers.is_some() && commands.lines.len() != 1 {
            return Err("server takes one load".to_string());
        }
        let (source, baseline) =
            Source::new(from.map(Into::into), commands, baseline, candidate, trusted)
                .map_err(|failure| failure.to_string())?;
        let plan = ComparePlan {
            claim: keys.named("claim", &Claim::ALL)?,
            margin: keys.read("margin", value::margin)?.unwrap_or(DEFAULT_MARGIN),
            quantile: keys.read("quantile", value::percentile)?,
            also: Vec::new(),
            higher_is_better: keys.flag("higher-is-better")?,
            block: keys.whole("block", 1..=MOST_IN_BLOCK)?.unwrap_or(1),
            baseline,
            ignore_failure: keys.flag("ignore-failure")?,
            tail_guard: !keys.flag("no-tail-guard")?,
            bursts: keys.read("bursts", value::stretch)?,
            seed: keys.whole("seed", 0..=u64::MAX)?,
            source,
            runs: Runs::from_keys(keys)?,
            limits: Limits::from_keys(keys, max_error)?,
        };
        keys.end()?;
        Ok(plan)
    }

    pub(super) fn hypothesis(
        &self,
        metric: &str,
        unit: Dimension,
        commands: Vec<String>,
    ) -> Compare {
        let with_itself =
            matches!(&self.source, Source::Commands(commands) if commands.with_itself);
        let usual = if with_itself { Claim::Equivalent } else { Claim::NoWorse };
        Compare {
            metric: metric.to_string(),
            unit: unit.unit().to_string(),
            claim: self.claim.unwrap_or(usual),
            margin: self.margin,
            higher_is_better: self.higher_is_better,
            max_error: self.limits.max_error,
            block: self.block,
            lines: Vec::new(),
            baseline: usize::try_from(self.baseline - 1).unwrap_or(usize::MAX),
            commands,
            ignore_failure: self.ignore_failure,
            quantile: self.quantile,
            guard: Guard::new(self.tail_guard && self.quantile.is_none(), self.ignore_failure)
                .map(|guard| guard.with_bursts(self.bursts)),
            sessions: None,
        }
    }

    /// The verdict of pairs of values, one pair per line.
    ///
    /// # Errors
    /// If the question makes no sense, or a line does not have two values.
    pub fn judge_pairs(&self, lines: Lines, told: Told) -> Result<Verdict, Failure> {
        let names = ["column 1", "column 2"].map(String::from).to_vec();
        let compare = self.hypothesis("value", Dimension::Number, names);
        let warnings = check_budget(&compare, self.limits.max_runs)?;
        let most = self.limits.max_runs.map(|runs| runs.saturating_mul(2));
        let setting = self.limits.setting(seed(self.seed), most, warnings, told.keep_runs);
        let session = Session::open(Question::Compare(compare), setting, told.progress)?;
        let mut first = None;
        lines.to_the_end().judge(session, |line| {
            let ([a, b], dimension) = pair(line)?;
            if *first.get_or_insert(dimension) != dimension {
                return Err(format!("'{line}' has a different unit than the first line"));
            }
            // As of a metric that is printed: what has no unit of its own shows none.
            let unit = (dimension != Dimension::Number).then(|| dimension.unit().to_owned());
            Ok([(0, a), (1, b)]
                .map(|(arm, value)| Run { unit: unit.clone(), ..Run::of(arm, value) }))
        })
    }

    /// The verdict about each aspect.
    pub(super) fn judge_commands(
        &self,
        commands: &Commands,
        mut told: Told,
    ) -> Result<Vec<Result<Verdict, Failure>>, Failure> {
        let limits = self.limits.of_runs();
        let lines = commands.expanded(self.baseline)?;
        let parts = self.parts()?;
        // Kept to the end: its worktrees go with it.
        let revisions = self.check_out(commands)?;
        let names = match &revisions {
            Some(revisions) => revisions.names().to_vec(),
            None => commands.named(&lines)?,
        };
        let most = self.limits.max_runs.unwrap_or(u64::MAX);
        let asked = |(plan, metric): &(ComparePlan, Metric)| {
            let unit = metric.dimension().unwrap_or(Dimension::Number);
            let mut compare = plan.hypothesis(&metric.name, unit, names.clone());
            if names != lines {
                compare.lines.clone_from(&lines);
            }
            let mut warnings = check_budget(&compare, self.limits.max_runs)?;
            warnings.extend(metric.floor(0.0));
            warnings.extend(revisions.as_ref().and_then(Revisions::warning));
            Ok((compare, warnings))
        };
        let asked: Vec<_> = parts.iter().map(asked).collect::<Result<_, Failure>>()?;
        let launch = self.runs.launch()?;
        let build = commands.build.as_deref();
        let servers = commands.servers.as_ref().map(|servers| servers.prepared(&launch));
        let servers = servers.transpose()?.unwrap_or_default();
        let prepared = |arm: usize| {
            let prepared = Prepared::from_line(&lines[arm], &launch)?;
            Ok(match &revisions {
                Some(revisions) => prepared.within(revisions.directory(arm)),
                None => prepared,
            })
        };
        let each = (0..lines.len()).map(|arm| prepared(arm).map(Some));
        let commands: Vec<Option<Prepared>> = each.collect::<Result<_, Failure>>()?;
        let around = self.runs.around(&launch, lines.len())?;
        let mut metrics = parts.into_iter().map(|(_, metric)| metric);
        let first = metrics.next().expect("a plan has a metric");
        let runner = Runner::new(launch.clone(), first, None)?.also(metrics.collect())?;
        catch_interrupts()?;
        if let (Some(revisions), Some(line)) = (&revisions, build) {
            told.progress.say(&format!("Building {}: {line}", revisions.names().join(", ")));
            revisions.build(line, &launch, &runner)?;
        }
        refuse_arguments(&commands, &launch)?;
        let seed = seed(self.seed);
        let mut sessions = limits.sessions(asked, &self.runs, seed, told)?;
        let sentence = order(lines.len(), self.block, &limits.sentence(limits.max_runs));
        sessions[0].progress.say(&sentence);
        let blocks = Blocks {
            sessions,
            runner,
            around,
            commands,
            servers,
            notes: BTreeSet::new(),
            rng: Rng::new(seed),
            block: self.block,
            ignore_failure: self.ignore_failure,
        };
        Ok(blocks.run(Budget { warmup: self.runs.warmup, most, time: limits.max_time }))
    }
}

impl ComparePlan {
    /// The revisions in which the command runs, if any are named.
    fn check_out(&self, commands: &Commands) -> Result<Option<Revisions>, Failure> {
        let directory = self.runs.directory.as_deref().unwrap_or(Path::new("."));
        let named = Some(&commands.revisions).filter(|revisions| !revisions.is_empty());
        named.map(|revisions| Revisions::check_out(revisions, directory)).transpose()
    }
}

/// Refuses keys that do not go together.
fn exclude(keys: &Keys) -> Result<(), String> {
    for key in [
        "commands",
        "block",
        "aa",
        "baseline",
        "parameter-list",
        "parameter-scan",
        "parameter-step-size",
        "command-name",
    ] {
        keys.exclude(&["from", key])?;
    }
    for key in ["aa", "from", "command-name"] {
        keys.exclude(&["rev", key])?;
    }
    for key in [
        "aa",
        "from",
        "candidate",
        "trust-sessions",
        "rev",
        "commands",
        "parameter-list",
        "parameter-scan",
    ] {
        keys.exclude(&["server", key])?;
    }
    keys.exclude(&["bursts", "no-tail-guard"])?;
    keys.exclude(&["bursts", "quantile"])?;
    keys.exclude(&["load", "commands"])
}

/// Refuses several commands of which some are not programs: they are probably meant as arguments.
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
        "quote each command together with its arguments: unc compare -- './prog 1' './prog 2'",
    ))
}

/// Refuses a budget that permits no answer, and warns of one that the tail guard makes too small for a particular
/// answer.
fn check_budget(compare: &Compare, most: Option<u64>) -> Result<Vec<String>, Failure> {
    let share = compare.shares()?.median;
    let blocks = Ratio::new(compare, share)?.fewest_pairs(share, compare);
    let runs = blocks.saturating_mul(compare.block);
    let Some(most) = most else { return Ok(Vec::new()) };
    if most < runs {
        return Err(Failure::new(
            format!(
                "{} {} of each command cannot decide this: it takes at least {}, even if all pairs agree",
                whole(most),
                if most == 1 { "run" } else { "runs" },
                whole(runs)
            ),
            format!(
                "pass `Limits::max_runs` {runs} or more, or allow a larger `Limits::max_error`"
            ),
        ));
    }
    let clears = compare.guard.as_ref().map_or(0, Watch::fewest_pairs);
    let cannot = if compare.claim == Claim::Different { "no" } else { "yes" };
    Ok((most < clears)
        .then(|| {
            format!(
                "{} of each command can never answer {cannot}: ruling out a heavier tail takes at least {} (`ComparePlan::tail_guard` off asks about the median alone)",
                several(most, "run", "runs"),
                whole(clears)
            )
        })
        .into_iter()
        .collect())
}

/// What is run, in which order and within which limits.
pub(super) fn order(commands: usize, block: u64, limits: &str) -> String {
    let by = match block {
        _ if commands == 1 => return format!("Commands: 1 ({limits})"),
        1 => "pair by pair".to_string(),
        runs => format!("{runs} runs of each per block"),
    };
    format!("Commands: {commands} in random order, {by} ({limits})")
}

/// Parameters to substitute in commands: lists of values by name, and one scan.
///
/// # Errors
/// If a list has no name, or a scan no values.
pub fn parameters(
    lists: &[String],
    scan: &[String],
    step: &str,
) -> Result<Vec<Parameter>, Failure> {
    let mut parameters = Vec::new();
    for pair in lists.chunks(2) {
        let [name, values] = pair else {
            return Err(Failure::new("a parameter's list is its name and its values", ""));
        };
        parameters.push(Parameter::list(name, values)?);
    }
    match scan {
        [] => {}
        [name, first, last] => parameters.push(Parameter::scan(name, first, last, step)?),
        _ => return Err(Failure::new("a scan is a name, its first and its last value", "")),
    }
    Ok(parameters)
}
