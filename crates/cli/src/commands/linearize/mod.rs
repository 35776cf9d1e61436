//! `unc linearize`: is a recorded history of a structure linearizable?
//!
//! # Contract
//! Exit status: 0 yes, 1 no, 3 a limit was hit (or Ctrl-C), 2 the file could not be read. Yes and no are proved; a
//! check that a limit cut short is neither.

mod finding;
mod words;

use crate::console::{complain, say};
use crate::deliver::{refuse, write_failure};
use crate::files::{self, distinct, writable};
use crate::memory;
use clap::{Args, ValueEnum};
use finding::{Answer, Finding};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use uncontended_decide::Failure;
use uncontended_decide::{catch_interrupts, interrupted};
use uncontended_figures::progress::{Line, State};
use uncontended_figures::read::whole;
use uncontended_figures::{Dimension, Quantity, bytes, count, given};
use uncontended_model::history::lines::{
    CallOf, Container, Dictionary, Form, OutputOf, Problem, Recorded, read,
};
use uncontended_model::history::specs::{Map, Register, Set};
use uncontended_model::history::{Bound, Limits, Progress, Verdict, check_on, shrink};

/// The value of `schema`.
pub(crate) const SCHEMA: &str = "uncontended.linearize/1";

const EXAMPLES: &str = "\
Examples:
  unc linearize run.jsonl --spec queue               is there an order that a queue allows?
  unc linearize run.jsonl --spec map --html no.html  if not, draw the operations that matter
  unc linearize run.jsonl --spec register --initial 0 --max-time 1m

A line is an operation, or its call and later its return; an operation that never returned may have \
taken effect or not:
  {\"client\":1,\"op\":\"enqueue\",\"value\":7,\"call\":100,\"return\":180}
  {\"client\":2,\"op\":\"dequeue\",\"call\":120}
  {\"client\":2,\"return\":200,\"result\":7}

queue: enqueue VALUE; dequeue, result VALUE or null     stack: push VALUE; pop, result VALUE or null
set: insert, remove, contains VALUE, result true/false  register: read, write VALUE, cas OLD NEW
map: get, put VALUE, cas OLD NEW, delete, each with KEY

Times are integers from one clock. One operation precedes another if its return is smaller than the \
other's call; equal numbers order nothing. docs/json.md describes the whole format.

Exit status: 0 yes, 1 no, 3 undecided (a limit, or Ctrl-C), 2 the file could not be read.";

/// Check a recorded history of a queue, stack, set, register or map: is it linearizable?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// The history, one JSON object per line; `-` reads stdin
    file: PathBuf,
    /// The structure that the operations were made on
    #[arg(long, value_enum)]
    spec: Structure,
    /// The register's initial value, as JSON or as bare text [default: none]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    initial: Option<String>,
    /// The capacity of the queue or stack [default: unbounded]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u32>(1..=u32::MAX.into()))]
    capacity: Option<u32>,
    /// Give up (undecided) after this time
    #[arg(long, value_name = "TIME", value_parser = uncontended_figures::read::time_limit, allow_hyphen_values = true)]
    max_time: Option<Duration>,
    /// Give up (undecided) when the history, or the search, takes more memory [default: 8GiB, or half of what the
    /// machine and the control group have free if that is less]
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    max_memory: Option<usize>,
    /// Search this many keys at the same time, for sets and maps whose keys need a search [default: one per CPU]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u16>(1..=u16::MAX.into()))]
    threads: Option<u16>,
    /// Write the result as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the result, with the picture, as a self-contained HTML page (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Do not print progress
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Structure {
    Register,
    Queue,
    Stack,
    Set,
    Map,
}

impl Structure {
    fn name(self) -> &'static str {
        match self {
            Structure::Register => "register",
            Structure::Queue => "queue",
            Structure::Stack => "stack",
            Structure::Set => "set",
            Structure::Map => "map",
        }
    }
}

fn size(text: &str) -> Result<usize, String> {
    let quantity = Quantity::parse(text)?;
    match quantity.dimension {
        Dimension::Bytes if quantity.value >= 1.0 => Ok(quantity.value as usize),
        _ => Err(format!("'{text}' is not a size, such as 512MiB or 8GiB")),
    }
}

/// The default limit, given `spare` bytes.
fn most_of(spare: u64) -> usize {
    usize::try_from(spare / 2).unwrap_or(usize::MAX).min(8 << 30)
}

impl Flags {
    /// Checks the history and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let written = [("--json", self.json.as_deref()), ("--html", self.html.as_deref())];
        if let Err(failure) = distinct(&written, &[("FILE", Some(&self.file))]) {
            return refuse(SCHEMA, &failure, self.json.as_deref());
        }
        match writable(written.into_iter().filter_map(|(_, path)| path)).and_then(|()| self.run()) {
            Ok(answer) => ExitCode::from(answer.exit_status()),
            Err(failure) => {
                complain(&failure);
                // The failure itself is what counts; a second one while reporting it adds nothing.
                let _ = write_failure(SCHEMA, &failure, self.json.as_deref());
                ExitCode::from(2)
            }
        }
    }

    fn run(&self) -> Result<Answer, Failure> {
        let refuse = |flag: &str, of: &str| {
            Err(Failure::new(format!("{flag} applies only to {of}"), "leave it out"))
        };
        let is_container = matches!(self.spec, Structure::Queue | Structure::Stack);
        if self.capacity.is_some() && !is_container {
            return refuse("--capacity", "queues and stacks");
        }
        if self.initial.is_some() && self.spec != Structure::Register {
            return refuse("--initial", "registers");
        }
        let mut names = Dictionary::default();
        let capacity = self.capacity.map(|capacity| capacity as usize);
        match self.spec {
            Structure::Queue => self.decide(&Container::queue(capacity), names),
            Structure::Stack => self.decide(&Container::stack(capacity), names),
            Structure::Set => self.decide(&Set, names),
            Structure::Map => self.decide(&Map, names),
            Structure::Register => {
                let initial = self.initial.as_deref().map(|word| names.values.of_word(word));
                let initial = initial.transpose().map_err(failure)?.flatten();
                self.decide(&Register { initial }, names)
            }
        }
    }

    fn decide<F: Form>(&self, form: &F, names: Dictionary) -> Result<Answer, Failure>
    where
        F::Spec: Sync,
        CallOf<F>: Sync,
        OutputOf<F>: Sync,
    {
        catch_interrupts()?;
        let started = Instant::now();
        let most_memory = self.max_memory.unwrap_or_else(|| most_of(memory::spare()));
        let late = || self.max_time.is_some_and(|most| started.elapsed() >= most);
        let mut telling = Line::new(self.quiet);
        let mut reading = |lines: u64| {
            let text = || format!("{} lines read", count(lines));
            telling.tick(lines, &|| State { text: text(), ..State::default() });
            !interrupted() && !late()
        };
        let input = self.open()?;
        let recorded = read(form, input, names, most_memory, &mut reading);
        let recorded = recorded.map_err(|unreadable| {
            let line = unreadable.line.map_or(String::new(), |line| format!("line {line}: "));
            let Problem { cause, remedy } = unreadable.problem;
            Failure::new(format!("{}: {line}{cause}", self.file.display()), remedy)
        })?;
        let mut ticks = 0;
        let mut go_on = |progress: &Progress| {
            ticks += 1;
            telling.tick(ticks, &|| State { text: of_search(progress), ..State::default() });
            !interrupted() && !late()
        };
        let mut limits = Limits { memory_bytes: most_memory, go_on: &mut go_on };
        let mut finding =
            Finding::new(self.spec.name(), &self.file.display().to_string(), &recorded);
        match recorded.stopped {
            Some(stopped) => finding.bound = Some(self.bound(stopped, most_memory)),
            None => self.judge(form, &recorded, &mut limits, &mut finding),
        }
        telling.clear();
        self.deliver(&finding)
    }

    /// Decides, and finds the operations to show.
    fn judge<F: Form>(
        &self,
        form: &F,
        recorded: &Recorded<F>,
        limits: &mut Limits<'_>,
        finding: &mut Finding,
    ) where
        F::Spec: Sync,
        CallOf<F>: Sync,
        OutputOf<F>: Sync,
    {
        let most_memory = limits.memory_bytes;
        let report = check_on(self.threads(), form.spec(), &recorded.operations, limits);
        finding.decided(&report);
        match &report.verdict {
            Verdict::Linearizable => (),
            Verdict::Undecided(bound) => finding.bound = Some(self.bound(*bound, most_memory)),
            Verdict::Refuted(refutation) => {
                let core = shrink(form.spec(), &recorded.operations, refutation, limits);
                finding.refuted(form, recorded, &core, self.initial.as_deref());
            }
        }
    }

    fn threads(&self) -> NonZeroUsize {
        let chosen = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        chosen.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }

    /// The limit that was hit, in words.
    fn bound(&self, stopped: Bound, most_memory: usize) -> String {
        let memory = match self.max_memory {
            Some(most) => format!("--max-memory {}", given(most as f64, Dimension::Bytes)),
            None => {
                format!("{}, all that it takes without --max-memory", bytes(most_memory as u64))
            }
        };
        match (stopped, self.max_time) {
            (Bound::Memory, _) => format!("it takes more than {memory}"),
            (Bound::Stopped, Some(most)) if !interrupted() => {
                let most = given(most.as_nanos() as f64, Dimension::Time);
                format!("it takes longer than --max-time {most}")
            }
            (Bound::Stopped, _) => "it was interrupted".to_owned(),
        }
    }

    fn open(&self) -> Result<Box<dyn BufRead>, Failure> {
        if self.file == Path::new("-") {
            return Ok(Box::new(BufReader::with_capacity(1 << 16, std::io::stdin())));
        }
        let cannot = |error| {
            let cause = format!("{} cannot be read: {error}", self.file.display());
            Failure::new(cause, "name a history of JSON lines, or - for stdin")
        };
        let file = File::open(&self.file).map_err(cannot)?;
        if self.file.is_dir() {
            return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
        }
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    fn deliver(&self, finding: &Finding) -> Result<Answer, Failure> {
        let takes_stdout = [&self.json, &self.html]
            .into_iter()
            .any(|path| path.as_deref() == Some(Path::new("-")));
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        say(&finding.text(width), takes_stdout)?;
        if let Some(path) = &self.html {
            files::write(path, finding.page())?;
        }
        if let Some(path) = &self.json {
            files::write(path, format!("{:#}\n", finding.json()))?;
        }
        Ok(finding.answer())
    }
}

fn failure(Problem { cause, remedy }: Problem) -> Failure {
    Failure::new(cause, remedy)
}

fn of_search(progress: &Progress) -> String {
    let Progress { configurations, met, returns, memory_bytes } = progress;
    let memory = bytes(*memory_bytes as u64);
    format!("{configurations} configurations, {met} of {returns} returns met, {memory}")
}

#[cfg(test)]
mod tests {
    use super::most_of;

    #[test]
    fn half_of_a_small_machine_and_8_gib_of_a_large_one() {
        assert_eq!(most_of(3 << 30), 3 << 29);
        assert_eq!(most_of(100 << 30), 8 << 30);
        assert_eq!(most_of(u64::MAX), 8 << 30);
    }
}
