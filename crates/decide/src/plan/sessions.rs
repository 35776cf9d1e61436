//! A comparison with runs that were recorded earlier: of a command that runs now, or of another recording.

use super::compare::order;
use super::{ComparePlan, Told};
use crate::circumstances::{self, Circumstances};
use crate::fingerprint::Fingerprint;
use crate::measure::{Blocks, Budget, alone};
use crate::metric::Metric;
use crate::question::{Compare, Question};
use crate::record::{self, Outcome, Run, Stop};
use crate::runner::{Prepared, Runner};
use crate::scan::{self, Parameter};
use crate::session::Session;
use crate::sessions::{self, Sessions};
use crate::verdict::Verdict;
use crate::{Failure, catch_interrupts, seed, words};
use std::fs::{self, File};
use std::io::BufReader;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use uncontended_figures::text::{escaped, several};
use uncontended_figures::{Dimension, whole};
use uncontended_stats::Rng;

/// The sessions to compare.
#[derive(Debug, Clone)]
pub struct Source {
    /// The log of the earlier session.
    pub baseline: PathBuf,
    /// The candidate.
    pub candidate: Candidate,
    /// Whether the machine is taken to be equally fast in both.
    pub trusted: bool,
}

/// Where the candidate's runs come from.
#[derive(Debug, Clone)]
pub enum Candidate {
    /// The log of a later session.
    Log(PathBuf),
    /// Command lines that run now, after parameters: there must be one.
    Command(Vec<String>, Vec<Parameter>),
}

impl Source {
    /// The files that are read, by the keys that name them.
    pub(super) fn files(&self) -> Vec<(&'static str, &Path)> {
        let mut files = vec![("baseline", self.baseline.as_path())];
        if let Candidate::Log(path) = &self.candidate {
            files.push(("candidate", path));
        }
        files
    }
}

/// As many runs of the candidate decide if any number does.
const ENOUGH_RUNS: u64 = 1000;

/// The runs of a log.
#[derive(Debug)]
struct Recorded {
    path: PathBuf,
    metric: String,
    unit: String,
    command: String,
    control: Option<String>,
    /// Of the command, number 0, and the control, number 1.
    runs: Vec<Run>,
    machine: Option<Fingerprint>,
    circumstances: Option<Circumstances>,
    /// The number of the command in the log, and of the control if there is one.
    arms: Vec<usize>,
    is_cut: bool,
}

impl Recorded {
    /// Reads a log of `unc record` or `unc slo`, or the baseline's runs of `unc compare`.
    fn read(path: &Path, ignore_failure: bool) -> Result<Recorded, Failure> {
        let refused = |cause: String, remedy: &str| {
            Failure::new(format!("{}: {cause}", path.display()), remedy.to_owned())
        };
        let unusable = |cause| refused(cause, "give a log that `unc record` wrote");
        let file = File::open(path).map_err(|error| unusable(error.to_string()))?;
        let log = record::read(BufReader::new(file)).map_err(unusable)?;
        let (metric, unit, command, control, own) = match log.head.hypothesis {
            Question::Record(kept) => (kept.metric, kept.unit, kept.command, kept.control, 0),
            Question::Slo(slo) => {
                (slo.metric, slo.unit, slo.command.unwrap_or_else(|| "values".to_owned()), None, 0)
            }
            Question::Compare(compare) if compare.sessions.is_none() => {
                let own = compare.baseline;
                let lines = if compare.lines.is_empty() { compare.commands } else { compare.lines };
                let line = lines.into_iter().nth(own).unwrap_or_default();
                (compare.metric, compare.unit, line, None, own)
            }
            Question::Compare(_) | Question::Permute(_) => {
                return Err(unusable("it does not have the runs of one session".to_owned()));
            }
        };
        let number = |arm: usize| match arm {
            arm if arm == own => Some(0),
            1 if control.is_some() => Some(1),
            _ => None,
        };
        let runs =
            log.runs.into_iter().filter_map(|run| Some(Run { arm: number(run.arm)?, ..run }));
        let runs: Vec<Run> = runs.collect();
        if let Some((Stop::Failed, _)) = &log.end {
            let cause = "it ended because a run failed".to_owned();
            let remedy = "record it again, with `ComparePlan::ignore_failure` if failed runs count";
            return Err(refused(cause, remedy));
        }
        let failed = runs.iter().filter(|run| run.outcome != Outcome::Ok).count();
        if failed > 0 && !ignore_failure {
            let cause =
                format!("{failed} of its {} failed", several(runs.len() as u64, "run", "runs"));
            return Err(refused(
                cause,
                "pass `ComparePlan::ignore_failure` to count them as worse than any value",
            ));
        }
        for arm in 0..=usize::from(control.is_some()) {
            if !runs.iter().any(|run| run.arm == arm) {
                return Err(unusable("there is no run in it".to_owned()));
            }
        }
        let arms = std::iter::once(own).chain(control.as_ref().map(|_| 1)).collect();
        let (machine, circumstances) = (log.head.machine, log.head.circumstances);
        let is_cut = log.end.is_none();
        Ok(Recorded {
            path: path.to_owned(),
            metric,
            unit,
            command,
            control,
            runs,
            machine,
            circumstances,
            arms,
            is_cut,
        })
    }

    /// Where and how its runs were made.
    fn made(&self) -> Made<'_> {
        let Recorded { machine, circumstances, arms, .. } = self;
        Made { machine: machine.as_ref(), circumstances: circumstances.as_ref(), arms }
    }

    /// How many runs of the command there are.
    fn count(&self) -> u64 {
        self.runs.iter().filter(|run| run.arm == 0).count() as u64
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// That the log breaks off, if it does.
    fn cut(&self) -> Option<String> {
        let name = self.path.display();
        self.is_cut.then(|| format!("{name} breaks off: the runs in it are compared"))
    }

    /// Its runs, with the numbers that its command and its control have in the comparison.
    fn numbered(&self, [own, control]: [usize; 2]) -> impl Iterator<Item = Run> {
        let number = move |arm| if arm == 0 { own } else { control };
        self.runs.iter().map(move |run| Run { arm: number(run.arm), stored: true, ..run.clone() })
    }
}

/// Where and how the runs of a session were made, as far as is known.
#[derive(Debug, Clone, Copy)]
struct Made<'a> {
    machine: Option<&'a Fingerprint>,
    circumstances: Option<&'a Circumstances>,
    /// The number of the command in it, and of the control if there is one.
    arms: &'a [usize],
}

impl Made<'_> {
    /// Where `later` differs, a sentence each, for the command alone or `with_control`.
    fn differences(&self, later: &Made<'_>, with_control: bool) -> Vec<String> {
        let changes = self.machine.zip(later.machine).map(|(then, now)| then.differences(now));
        let count = if with_control { 2 } else { 1 };
        let entries = |circumstances: &Circumstances, arms: &[usize]| {
            circumstances.entries(&arms[..arms.len().min(count)])
        };
        let settings = self.circumstances.zip(later.circumstances).map(|(then, now)| {
            circumstances::differences(&entries(then, self.arms), &entries(now, later.arms))
        });
        [changes, settings].into_iter().flatten().flatten().collect()
    }
}

/// The numbers of the baseline and its control, and of the candidate and its.
const THEN: [usize; 2] = [sessions::BASELINE, sessions::CONTROL_THEN];
const NOW: [usize; 2] = [sessions::CANDIDATE, sessions::CONTROL_NOW];

/// Whether the first of these words is a program, not a command with its arguments.
fn is_program(words: &[String]) -> bool {
    words.first().is_some_and(|word| !word.contains(char::is_whitespace))
}

impl ComparePlan {
    /// The verdict of two sessions.
    ///
    /// # Errors
    /// If a log cannot be read, the two do not fit, or the command cannot be run.
    pub(super) fn judge_sessions(&self, source: &Source, told: Told) -> Result<Verdict, Failure> {
        if self.block != 1 {
            let cause =
                "`ComparePlan::block` is about runs that alternate, which those of a log do not";
            return Err(Failure::new(cause, "leave it out"));
        }
        if self.bursts.is_some() {
            let cause =
                "`ComparePlan::bursts` is about tails, which are not compared between sessions";
            return Err(Failure::new(cause, "leave it out"));
        }
        let baseline = Recorded::read(&source.baseline, self.ignore_failure)?;
        match &source.candidate {
            Candidate::Log(path) => self.judge_logs(&baseline, path, source.trusted, told),
            Candidate::Command(lines, parameters) => {
                let lines = scan::expand(lines, parameters)?;
                let line = match lines.as_slice() {
                    [line] => line.clone(),
                    // There is one candidate, so several words are it and its arguments.
                    words if parameters.is_empty() && is_program(words) => words::join(words),
                    lines => {
                        let count = lines.len() as u64;
                        return Err(Failure::new(
                            format!("{} for one log", several(count, "command", "commands")),
                            "name one, and give each parameter one value",
                        ));
                    }
                };
                self.judge_command(&baseline, &line, source.trusted, told)
            }
        }
    }

    /// The verdict of two recordings.
    fn judge_logs(
        &self,
        baseline: &Recorded,
        path: &Path,
        trusted: bool,
        told: Told,
    ) -> Result<Verdict, Failure> {
        let candidate = Recorded::read(path, self.ignore_failure)?;
        let same = |path: &Path| fs::canonicalize(path).ok();
        if same(path).is_some_and(|path| Some(path) == same(&baseline.path)) {
            let cause = format!("{} is both the baseline and the candidate", path.display());
            return Err(Failure::new(cause, "give the logs of two sessions"));
        }
        fits(baseline, &candidate.metric, &candidate.unit)?;
        let control = match (&baseline.control, &candidate.control) {
            (Some(then), Some(now)) if then != now && !trusted => {
                return Err(Failure::new(
                    format!("the sessions have different controls: '{then}' and '{now}'"),
                    "record both with the same `RecordPlan::control`, or pass `Source::trusted`",
                ));
            }
            (Some(then), Some(_)) => Some(then.clone()),
            _ => None,
        };
        let lines = [baseline.command.clone(), candidate.command.clone()];
        let compare = self.of_sessions(baseline, &candidate.name(), lines, control, trusted);
        can_decide(&compare, baseline, candidate.count()..=candidate.count())?;
        let mut warnings = self.of_both(&compare, baseline, &candidate.made());
        warnings.extend(candidate.cut());
        let setting = self.limits.setting(0, None, warnings, told.keep_runs);
        let mut session = Session::open(Question::Compare(compare), setting, told.progress)?;
        let is_asked = session.trial().active().len();
        for run in baseline.numbered(THEN).chain(candidate.numbered(NOW)) {
            if is_asked > 1 || run.arm <= sessions::CANDIDATE {
                session.push(run)?;
            }
        }
        let stop = session.stop().unwrap_or(Stop::EndOfInput);
        session.finish(stop)
    }

    /// The verdict of a command that runs now.
    fn judge_command(
        &self,
        baseline: &Recorded,
        line: &str,
        trusted: bool,
        told: Told,
    ) -> Result<Verdict, Failure> {
        let limits = self.limits.of_runs();
        let metric = match &self.runs.metric {
            Some(_) => self.runs.metric()?,
            // Values of a file have a name of their own, and are refused below.
            None => Metric::parse(&baseline.metric).or_else(|_| self.runs.metric())?,
        };
        // What prints its unit shows it with the first run.
        let unit = metric
            .dimension()
            .map_or(baseline.unit.clone(), |dimension| dimension.unit().to_owned());
        fits(baseline, &metric.name, &unit)?;
        let launch = self.runs.launch()?;
        let prepared = Prepared::from_line(line, &launch)?;
        let lines = [baseline.command.clone(), line.to_owned()];
        let control = baseline.control.clone();
        let compare = self.of_sessions(baseline, line, lines, control, trusted);
        let control = compare.sessions.as_ref().and_then(|sessions| sessions.control.as_ref());
        let control = control.map(|line| Prepared::from_line(line, &launch)).transpose()?;
        let most = self.limits.max_runs.unwrap_or(u64::MAX);
        can_decide(&compare, baseline, 1..=most.min(ENOUGH_RUNS))?;
        let (machine, circumstances) = (Fingerprint::here(), Circumstances::of(&self.runs));
        let here =
            Made { machine: Some(&machine), circumstances: Some(&circumstances), arms: &[0, 1] };
        let mut warnings = self.of_both(&compare, baseline, &here);
        warnings.extend(metric.floor(0.0));
        let around = self.runs.around(&launch, 1 + usize::from(control.is_some()))?;
        let dimension = Dimension::of_unit(&baseline.unit);
        // Older logs lack the unit that was printed.
        let dimension = dimension.filter(|dimension| *dimension != Dimension::Number);
        let runner = Runner::new(launch, metric, dimension)?;
        catch_interrupts()?;
        let setting = limits.setting(seed(self.seed), None, warnings, told.keep_runs);
        let setting = setting.of_commands(&self.runs);
        let rng = Rng::new(setting.seed);
        let has_control = control.is_some();
        let mut session = Session::open(Question::Compare(compare), setting, told.progress)?;
        let count = if has_control { 2 } else { 1 };
        session.progress.say(&order(count, 1, &limits.sentence(limits.max_runs)));
        if let Some(control) = &control {
            let (name, line) = (escaped(&baseline.name()), escaped(&control.line));
            session.progress.insist(&format!("Running the control in {name}: {line}"));
        }
        for run in
            baseline.numbered(THEN).filter(|run| has_control || run.arm == sessions::BASELINE)
        {
            session.push(run)?;
        }
        let commands = vec![None, Some(prepared), None, control];
        let blocks = Blocks::of_one(session, runner, around, commands, rng);
        let blocks = Blocks { ignore_failure: self.ignore_failure, ..blocks };
        alone(blocks.run(Budget { warmup: self.runs.warmup, most, time: limits.max_time }))
    }

    /// The question about two sessions.
    fn of_sessions(
        &self,
        baseline: &Recorded,
        candidate: &str,
        lines: [String; 2],
        control: Option<String>,
        trusted: bool,
    ) -> Compare {
        let names = vec![baseline.name(), candidate.to_owned()];
        let control = control.filter(|_| !trusted);
        Compare {
            unit: baseline.unit.clone(),
            lines: lines.to_vec(),
            baseline: sessions::BASELINE,
            guard: None,
            sessions: Some(Sessions { trusted, control }),
            ..self.hypothesis(&baseline.metric, Dimension::Number, names)
        }
    }

    /// What makes the verdict of two sessions weaker than it looks.
    fn of_both(&self, compare: &Compare, baseline: &Recorded, candidate: &Made<'_>) -> Vec<String> {
        let mut warnings: Vec<String> = baseline.cut().into_iter().collect();
        let has_control =
            compare.sessions.as_ref().is_some_and(|sessions| sessions.control.is_some());
        let changes = baseline.made().differences(candidate, has_control);
        warnings.extend(changes.iter().map(|change| format!("between the sessions, {change}")));
        if self.tail_guard && compare.quantile.is_none() {
            warnings.push("tails are not compared between sessions: ask about them with `ComparePlan::quantile` p90".to_owned());
        }
        warnings
    }
}

/// Refuses runs of another metric than the baseline's.
fn fits(baseline: &Recorded, metric: &str, unit: &str) -> Result<(), Failure> {
    if (baseline.metric.as_str(), baseline.unit.as_str()) == (metric, unit) {
        return Ok(());
    }
    Err(Failure::new(
        format!("{} has runs of the metric {}, not of {metric}", baseline.name(), baseline.metric),
        "compare runs of the same `Runs::metric`",
    ))
}

/// Refuses numbers of runs that permit no answer.
fn can_decide(
    compare: &Compare,
    baseline: &Recorded,
    candidate: RangeInclusive<u64>,
) -> Result<(), Failure> {
    let recorded = baseline.count();
    let most = *candidate.end();
    let numbers = (0..40).map(|power| 1 << power).filter(|runs| candidate.contains(runs));
    for runs in numbers.chain([most]) {
        if sessions::could_decide(compare, recorded, runs)? {
            return Ok(());
        }
    }
    Err(Failure::new(
        format!(
            "{} in {} and {} of the candidate cannot decide this, even if all agree",
            several(recorded, "run", "runs"),
            baseline.name(),
            whole(most)
        ),
        "record more, or allow a larger `Limits::max_error`",
    ))
}
