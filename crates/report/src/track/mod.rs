//! Verdicts that were kept, one a line, and the series that they form.
//!
//! # Contract
//! One file, `<state>/uncontended/verdicts.jsonl` next to the runs of [`crate::history`], or wherever the user says. It
//! only grows, by a line for each figure of a verdict, written at once. A line that is not ours, as of another version
//! or cut by a crash, is left out and said; the others count. A file without any line of ours is refused, and not
//! written to. The file is accessible to the user alone, since command lines may hold secrets.
//!
//! [`Of`] says which lines form a series: those about the same figure of the same question, on the same machine, in the
//! order in which they were kept. A new kernel or another governor does not end a series: a change says what differs.
//! # Evidence
//! `tests/track.rs`, `crates/cli/tests/track.rs`, `fuzz/fuzz_targets/track.rs`.

mod page;
mod series;

pub use page::{markdown, page};
pub use series::{Change, Newest, SCHEMA, Series, Tracked, Turn, tracked};

use crate::history::{HistoryError, state_folder};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use uncontended_decide::fingerprint::Fingerprint;
use uncontended_decide::question::{Asked as _, Compare, Permute, Side, Slo, spoken};
use uncontended_decide::record::Outcome;
use uncontended_decide::recording::Recording;
use uncontended_decide::spread::Spread;
use uncontended_decide::verdict::{Answer, Finding, Verdict};
use uncontended_figures::{Dimension, measured, percentile};

/// The value of a line's `schema`.
pub const LINE_SCHEMA: &str = "uncontended.kept-verdict/1";

/// Why there is nothing to choose.
const NO_RATIO: &str = "only a comparison has a ratio and values of its own to choose from";

/// What a series is of. Lines that agree in all of it form one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Of {
    /// The command, or the name that the user gave.
    pub name: String,
    /// The baseline, if the figure is a ratio to its values and the user gave no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Which figure: `median`, `p99`, `median ratio`, `ratio of p90`.
    pub figure: String,
    /// The metric's name.
    pub metric: String,
    /// Base unit of the figure; empty for a ratio.
    pub unit: String,
    /// Whether greater figures are better.
    pub higher_is_better: bool,
    /// The model of the machine's processor, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// How many CPUs the runs could use, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
}

impl Of {
    /// As people read it: `./request: median of the wall time`.
    #[must_use]
    pub fn title(&self) -> String {
        let over = self.baseline.as_ref().map_or_else(String::new, |name| format!(" over {name}"));
        format!("{}{over}: {} of {}", self.name, self.figure, spoken(&self.metric))
    }

    /// The machine, as people read it.
    #[must_use]
    pub fn machine(&self) -> String {
        let cpus = self.cpus.map(|cpus| crate::terminal::several(cpus, "CPU", "CPUs"));
        let known: Vec<String> = self.cpu.clone().into_iter().chain(cpus).collect();
        if known.is_empty() { "not known".to_owned() } else { known.join(", ") }
    }

    /// A figure of the series with its unit.
    #[must_use]
    pub fn shown(&self, value: f64) -> String {
        measured(value, self.dimension())
    }

    fn dimension(&self) -> Dimension {
        Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number)
    }
}

/// A figure of one verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Always [`LINE_SCHEMA`].
    pub schema: String,
    /// The series that it belongs to.
    pub of: Of,
    /// The figure, in the series' unit.
    pub value: f64,
    /// How many runs or pairs it is of.
    pub runs: u64,
    /// The answer.
    pub verdict: Answer,
    /// Whether nothing was asked: the runs were only kept. Older lines do not say.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recorded: bool,
    /// The revision that was measured, if it is known; with `-dirty` if files of it were changed, or a `+`
    /// in older lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The machine, as the log has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Fingerprint>,
    /// When it was kept, in seconds since 1970.
    pub kept_unix_s: u64,
    /// Identifies the log, so that it is not kept twice.
    pub log: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Kept {
    /// The answer, as people read it.
    #[must_use]
    pub fn answer(&self) -> &'static str {
        if self.recorded { "recorded" } else { self.verdict.name() }
    }

    /// The revision, short.
    #[must_use]
    pub fn revision(&self) -> String {
        const SHORT: usize = 9;
        let revision = self.revision.as_deref().unwrap_or("–");
        let (commit, changed) = revision.strip_suffix('+').map_or((revision, ""), |at| (at, "+"));
        let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { format!("{}{changed}", &commit[..SHORT]) } else { revision.to_owned() }
    }

    /// Whether another line is the same figure of the same log: also if it is said to be of another revision.
    fn repeats(&self, other: &Kept) -> bool {
        (&self.of, &self.log) == (&other.of, &other.log)
    }
}

/// What is said of a verdict that is not in it.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// A name for the series instead of the command.
    pub name: Option<String>,
    /// Of a comparison: the candidate's own value instead of the ratio.
    pub own_value: bool,
    /// The revision.
    pub revision: Option<String>,
    /// The machine.
    pub machine: Option<Fingerprint>,
    /// Now, in seconds since 1970.
    pub now_unix_s: u64,
    /// Identifies the log.
    pub log: String,
}

/// The figures of a verdict: one of `slo` and of runs without a question, one for each candidate of `compare`.
///
/// # Errors
/// What the verdict lacks, in words.
pub fn figures(verdict: &Verdict, about: &About) -> Result<Vec<Kept>, &'static str> {
    let question: &dyn Followed =
        verdict.hypothesis.each(|slo| slo, |compare| compare, |permute| permute, |kept| kept);
    question.figures(verdict, about)
}

/// A kind of question whose verdicts are followed.
trait Followed {
    /// The figures of such a verdict, or what it lacks.
    fn figures(&self, verdict: &Verdict, about: &About) -> Result<Vec<Kept>, &'static str>;
}

impl Followed for Slo {
    fn figures(&self, verdict: &Verdict, about: &About) -> Result<Vec<Kept>, &'static str> {
        Ok(vec![of_slo(self, verdict, about)?])
    }
}

impl Followed for Compare {
    fn figures(&self, verdict: &Verdict, about: &About) -> Result<Vec<Kept>, &'static str> {
        let findings = verdict.comparisons.iter();
        let kept = findings.map(|finding| of_pair(self, finding, about));
        let kept: Vec<Kept> = kept.collect::<Result<_, _>>()?;
        let twice = |(at, one): (usize, &Kept)| kept[..at].iter().any(|other| other.of == one.of);
        match kept.iter().enumerate().any(twice) {
            true => Err("two of its candidates have the same name, so they would be one series"),
            false => Ok(kept),
        }
    }
}

impl Followed for Permute {
    fn figures(&self, _: &Verdict, _: &About) -> Result<Vec<Kept>, &'static str> {
        Err("a permutation test is about two groups, and has no figure to follow")
    }
}

impl Followed for Recording {
    fn figures(&self, verdict: &Verdict, about: &About) -> Result<Vec<Kept>, &'static str> {
        if about.own_value {
            return Err(NO_RATIO);
        }
        let of = Of {
            name: self.command.clone(),
            baseline: None,
            figure: "median".to_owned(),
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            higher_is_better: false,
            cpu: None,
            cpus: None,
        };
        let ours = verdict.runs.iter().flatten().filter(|run| run.arm == 0);
        let good = ours.filter(|run| run.outcome == Outcome::Ok).filter_map(|run| run.value);
        let median = Spread::of(&good.collect::<Vec<f64>>()).map(|spread| spread.median);
        Ok(vec![Kept { recorded: true, ..kept(of, median, &verdict.finding, about)? }])
    }
}

fn of_slo(slo: &Slo, verdict: &Verdict, about: &About) -> Result<Kept, &'static str> {
    if about.own_value {
        return Err(NO_RATIO);
    }
    let finding = &verdict.finding;
    let of_quantile = finding.rate().and_then(|rate| rate.quantile?.value);
    let quantile = slo.quantile.zip(of_quantile);
    let values = verdict.runs.iter().flatten().filter_map(|run| run.value);
    let median = || Spread::of(&values.collect::<Vec<f64>>()).map(|spread| spread.median);
    let (figure, value) = match quantile {
        Some((rate, value)) => (percentile(rate), Some(value)),
        None => ("median".to_owned(), median()),
    };
    let of = Of {
        name: slo.command.clone().unwrap_or_else(|| "values".to_owned()),
        baseline: None,
        figure,
        metric: slo.metric.clone(),
        unit: slo.unit().to_owned(),
        higher_is_better: slo.bound.is_some_and(|bound| bound.side == Side::AtLeast),
        cpu: None,
        cpus: None,
    };
    kept(of, value, finding, about)
}

fn of_pair(compare: &Compare, finding: &Finding, about: &About) -> Result<Kept, &'static str> {
    let pairs = finding.pairs().ok_or("it has no pairs")?;
    let label = |arm: usize| {
        // Revisions run the same line, and have names of their own, which change.
        let is_of_revisions = compare.lines.first().is_some_and(|first| {
            compare.lines.len() > 1 && compare.lines.iter().all(|line| line == first)
        });
        let names = if is_of_revisions { &compare.lines } else { &compare.commands };
        names.get(arm).cloned().unwrap_or_default()
    };
    let arm = compare.commands.iter().position(|command| *command == pairs.candidate);
    let of = Of {
        name: label(arm.unwrap_or(1)),
        baseline: Some(label(compare.baseline)).filter(|_| !about.own_value),
        figure: compare.effect_name(),
        metric: compare.metric.clone(),
        unit: String::new(),
        higher_is_better: compare.higher_is_better,
        cpu: None,
        cpus: None,
    };
    if about.own_value {
        let median = pairs.values.map(|values| values.candidate.median);
        let own = Of { figure: "median".to_owned(), unit: compare.unit.clone(), ..of };
        return kept(own, median, finding, about);
    }
    kept(of, pairs.effect.ratio, finding, about)
}

fn kept(
    of: Of,
    value: Option<f64>,
    finding: &Finding,
    about: &About,
) -> Result<Kept, &'static str> {
    let value = value.filter(|value| value.is_finite()).ok_or("no run has a value to follow")?;
    let machine = about.machine.as_ref();
    let (name, baseline) = match &about.name {
        Some(name) => (name.clone(), None),
        None => (of.name, of.baseline),
    };
    let cpu = machine.and_then(|machine| machine.cpu.clone());
    let cpus = machine.and_then(|machine| machine.cpus);
    Ok(Kept {
        schema: LINE_SCHEMA.to_owned(),
        of: Of { name, baseline, cpu, cpus, ..of },
        value,
        runs: finding.n,
        verdict: finding.verdict,
        recorded: false,
        revision: about.revision.clone(),
        machine: about.machine.clone(),
        kept_unix_s: about.now_unix_s,
        log: about.log.clone(),
    })
}

/// The file of kept verdicts.
#[derive(Debug, Clone)]
pub struct Verdicts {
    path: PathBuf,
    /// Whether its folder is ours, and made if there is none.
    has_own_folder: bool,
}

/// What the file has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// The lines that are ours, in order.
    pub kept: Vec<Kept>,
    /// The numbers of the others, from 1 on.
    pub others: Vec<usize>,
}

impl Lines {
    /// Reads any bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Lines {
        let mut lines = Lines::default();
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let ours = serde_json::from_slice(line).ok();
            let ours =
                ours.filter(|kept: &Kept| kept.schema == LINE_SCHEMA && kept.value.is_finite());
            match ours {
                Some(kept) => lines.kept.push(kept),
                None if line.is_empty() => {}
                None => lines.others.push(index + 1),
            }
        }
        lines
    }
}

impl Verdicts {
    /// The user's verdicts. Nothing is created before one is kept.
    ///
    /// # Errors
    /// [`HistoryError::NoHome`].
    pub fn of_user() -> Result<Verdicts, HistoryError> {
        Ok(Verdicts { path: state_folder()?.join("verdicts.jsonl"), has_own_folder: true })
    }

    /// Those in the file at `path`, whose folder must be there.
    pub fn at(path: impl Into<PathBuf>) -> Verdicts {
        Verdicts { path: path.into(), has_own_folder: false }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All lines; none if there is no file yet.
    ///
    /// # Errors
    /// [`HistoryError::Io`], and [`HistoryError::Damaged`] if no line of several is ours.
    pub fn read(&self) -> Result<Lines, HistoryError> {
        let bytes = match std::fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(HistoryError::Io(self.path.clone(), error)),
            Ok(bytes) => bytes,
        };
        let lines = Lines::read(&bytes);
        if lines.kept.is_empty() && !lines.others.is_empty() {
            let why = "it has no verdict that `unc track` kept".to_owned();
            return Err(HistoryError::Damaged(self.path.clone(), why));
        }
        Ok(lines)
    }

    /// Adds those of these figures that are not there yet, and returns how many those are.
    ///
    /// # Errors
    /// As [`Verdicts::read`]; [`HistoryError::Io`] if the file cannot be written: what was there stays.
    pub fn add(&self, figures: &[Kept]) -> Result<usize, HistoryError> {
        let earlier = self.read()?.kept;
        let new = figures.iter().filter(|new| !earlier.iter().any(|kept| kept.repeats(new)));
        let new: Vec<&Kept> = new.collect();
        if !new.is_empty() {
            self.append(&new).map_err(|error| HistoryError::Io(self.path.clone(), error))?;
        }
        Ok(new.len())
    }

    /// The file, open to be added to, and made if there is none. A process that may add at the same time as another
    /// locks it first, and only then reads what is there.
    ///
    /// # Errors
    /// [`HistoryError::Io`].
    pub fn open(&self) -> Result<File, HistoryError> {
        self.opened().map_err(|error| HistoryError::Io(self.path.clone(), error))
    }

    fn opened(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent().filter(|_| self.has_own_folder) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600).open(&self.path)
    }

    fn append(&self, new: &[&Kept]) -> io::Result<()> {
        let mut file = self.opened()?;
        let mut text = Vec::new();
        if !ends_a_line(&mut file)? {
            text.push(b'\n');
        }
        for kept in new {
            serde_json::to_writer(&mut text, kept)?;
            text.push(b'\n');
        }
        file.write_all(&text)?;
        file.sync_data()
    }
}

/// Whether the file is empty or ends with a line feed: a crash may have cut its last line.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Identifies a log by its question, its seed, its beginning and its runs (FNV-1a, 64 bits): equal logs have equal
/// names.
#[must_use]
pub fn log_name(verdict: &Verdict) -> String {
    let all = serde_json::to_string(&(
        &verdict.hypothesis,
        &verdict.seed,
        &verdict.origin,
        &verdict.runs,
    ));
    let hash = all.unwrap_or_default().bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
