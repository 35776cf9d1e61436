//! `unc survey`: what contention costs on this machine.

use crate::console::{complain, say};
use crate::deliver::{refuse, write_failure};
use crate::emit;
use crate::files;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::{Failure, catch_interrupts, value};
use uncontended_figures::read::whole;
use uncontended_figures::table::Paint;
use uncontended_figures::text::{closest, wrap};
use uncontended_survey::locks::{self, Work};
use uncontended_survey::usl::Point;
use uncontended_survey::{PARTS, Part, Plan, SCHEMA, Survey, throughput};
use uncontended_sys::interrupts;

const QUICK: Duration = Duration::from_secs(55);
const FULL: Duration = Duration::from_secs(900);

/// The width of the help.
const HELP_COLUMNS: usize = 80;

const EXAMPLES: &str = "\
Examples:
  unc survey                      every topic, in a minute
  unc survey locks --full         also under other scheduling classes
  unc survey locks --inside 16    with more work while the lock is held
  unc survey locks --lock futex --lock mcs-park      these, next to std's mutex
  unc survey scale --from DATA    the scalability law of your own figures
  unc survey --html survey.html   the same as a page, with pictures
  unc survey --list               the topics; with `locks`, the locks

Every ratio is taken within a round of interleaved blocks, and its interval holds at all looks together; each table compares \
its baseline with itself. Figures are of this machine at this hour.

Exit status: 0 measured; 3 some interval has no bound yet within the budget, or a row failed; 2 could not run; \
130 interrupted (Ctrl-C; what was measured until then is printed and written).";

/// Measure what contention costs on this machine: increments, locks, scaling, and what the machine puts in doubt
#[derive(Debug, Clone, Args)]
#[command(after_help = after_help())]
pub(crate) struct Flags {
    /// The topics [default: all]
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    /// List the topics with their questions; with the topic `locks`, its locks
    #[arg(long, conflicts_with_all = ["quick", "full", "json", "markdown", "from"])]
    list: bool,
    /// Measure in a minute what most people look for (the default)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Measure everything, in a quarter of an hour
    #[arg(long)]
    full: bool,
    /// The time for all topics together [default: 55s; with --full, 15min]
    #[arg(long, value_name = "TIME", value_parser = value::duration, allow_hyphen_values = true)]
    budget: Option<Duration>,
    /// Measure this lock alone, next to std's (repeatable) [default: all; `unc survey locks --list` names them]
    #[arg(long = "lock", value_name = "NAME")]
    locks: Vec<String>,
    /// Measure with up to N threads, and with N [default: twice as many as CPUs]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=1024))]
    threads: Option<usize>,
    /// Cache lines that a holder changes
    #[arg(long, value_name = "LINES", default_value_t = Work::default().inside, value_parser = whole::<usize>(0..=100_000))]
    inside: usize,
    /// Cache lines of its own that a thread changes between two acquisitions
    #[arg(long, value_name = "LINES", default_value_t = Work::default().outside, value_parser = whole::<usize>(0..=100_000))]
    outside: usize,
    /// Fit the topic `scale` to these figures (`-` for stdin): a number of threads and a throughput a line
    #[arg(long, value_name = "DATA")]
    from: Option<PathBuf>,
    /// Seed of the order of blocks
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// No progress on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Write the figures as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write pictures and tables as a page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the tables as Markdown (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Flags {
    /// Measures, prints, and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let written = [
            ("--json", self.json.as_deref()),
            ("--html", self.html.as_deref()),
            ("--markdown", self.markdown.as_deref()),
        ];
        if let Err(failure) = files::distinct(&written, &[("--from", self.from.as_deref())]) {
            return refuse(SCHEMA, &failure, self.json.as_deref());
        }
        match self.answer() {
            Ok(status) => {
                if let Some(signal) = interrupts::received() {
                    interrupts::die_by(signal);
                }
                ExitCode::from(status)
            }
            Err(failure) => {
                complain(&failure);
                // The failure itself is what counts; a second one while reporting it adds nothing.
                let _ = write_failure(SCHEMA, &failure, self.json.as_deref());
                ExitCode::from(2)
            }
        }
    }

    fn answer(&self) -> Result<u8, Failure> {
        let parts = self.parts()?;
        if self.list {
            let look = emit::look(0, &std::io::stdout());
            say(&list(&parts, look.width), false)?;
            return Ok(0);
        }
        let locks = self.locks(&parts)?;
        let throughput = self.throughput(&parts)?;
        files::writable(
            [&self.json, &self.html, &self.markdown].into_iter().filter_map(|path| path.as_deref()),
        )?;
        catch_interrupts()?;
        let plan = self.plan(locks, throughput);
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let survey = Survey { command, ..uncontended_survey::measure(&parts, &plan) };
        self.write(&survey)?;
        Ok(match () {
            () if survey.is_empty() => 2,
            () if survey.is_undecided() => 3,
            () => 0,
        })
    }

    fn parts(&self) -> Result<Vec<Part>, Failure> {
        if self.topics.is_empty() {
            return Ok(PARTS.to_vec());
        }
        for name in &self.topics {
            if !PARTS.iter().any(|part| part.name == name) {
                let known = || PARTS.iter().map(|part| part.name);
                return Err(unknown("topic", name, closest(name, known()), known()));
            }
        }
        let is_asked = |part: &Part| self.topics.iter().any(|name| name == part.name);
        Ok(PARTS.into_iter().filter(is_asked).collect())
    }

    /// The locks asked for, by the names that the survey has for them.
    fn locks(&self, parts: &[Part]) -> Result<Vec<&'static str>, Failure> {
        if !self.locks.is_empty() && !parts.iter().any(|part| part.name == "locks") {
            return Err(Failure::new(
                "--lock names a lock, but the topic locks is not measured".to_owned(),
                "add the topic locks".to_owned(),
            ));
        }
        let known = locks::list();
        let shorts = || known.iter().map(|known| known.short.as_str());
        let lock = |name: &String| {
            let nearest = || {
                let near = locks::nearest(name);
                unknown("lock", name, near.as_deref(), shorts())
            };
            locks::find(name).ok_or_else(nearest)
        };
        self.locks.iter().map(lock).collect()
    }

    /// The user's own figures, with their name.
    fn throughput(&self, parts: &[Part]) -> Result<Option<(String, Vec<Point>)>, Failure> {
        let Some(path) = &self.from else { return Ok(None) };
        if !parts.iter().any(|part| part.name == "scale") {
            return Err(Failure::new(
                "--from gives figures to the topic scale, which is not asked for",
                "name the topic scale, or leave out --from",
            ));
        }
        let read = match path.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        };
        let name =
            if path.as_os_str() == "-" { "standard input".to_owned() } else { files::named(path) };
        let remedy =
            "give lines such as `4 1200`: a number of threads, and the throughput that they have";
        let text = read.map_err(|error| {
            Failure::new(format!("{name} cannot be read: {}", files::why(&error)), remedy)
        })?;
        let points = throughput::parse(&text)
            .map_err(|why| Failure::new(format!("{name}: {why}"), remedy))?;
        Ok(Some((name, points)))
    }

    fn plan(&self, locks: Vec<&'static str>, throughput: Option<(String, Vec<Point>)>) -> Plan {
        let usual = if self.full { FULL } else { QUICK };
        Plan {
            budget: self.budget.unwrap_or(usual),
            full: self.full,
            seed: self.seed,
            quiet: self.quiet,
            work: Work { inside: self.inside, outside: self.outside },
            locks,
            threads: self.threads,
            throughput,
            is_over: || interrupts::received().is_some(),
        }
    }

    fn write(&self, survey: &Survey) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            files::write(path, &emit::json(survey)?)?;
        }
        if let Some(path) = &self.html {
            files::write(path, uncontended_report::survey::page(survey))?;
        }
        if let Some(path) = &self.markdown {
            files::write(path, uncontended_survey::markdown(survey))?;
        }
        let stdout_is_taken = [&self.json, &self.html, &self.markdown]
            .into_iter()
            .flatten()
            .any(|path| path.as_os_str() == "-");
        let look = match stdout_is_taken {
            true => emit::look(0, &std::io::stderr()),
            false => emit::look(0, &std::io::stdout()),
        };
        let paint = Paint { colour: look.colour };
        say(&uncontended_survey::text(survey, look.width, paint), stdout_is_taken)
    }
}

/// That there is no such thing, with the one that was probably meant.
fn unknown<'k>(
    what: &str,
    name: &str,
    near: Option<&str>,
    known: impl Iterator<Item = &'k str>,
) -> Failure {
    let remedy = match near {
        Some(near) => format!("did you mean {near}?"),
        None => format!("use {}", known.collect::<Vec<_>>().join(", ")),
    };
    Failure::new(format!("there is no {what} '{name}'"), remedy)
}

/// The topics and examples, for the end of the help.
fn after_help() -> String {
    format!("Topics:\n{}\n{EXAMPLES}", list(&PARTS, HELP_COLUMNS))
}

/// Topics with their questions; one alone that is `locks`, with its locks.
fn list(parts: &[Part], columns: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let name = format!("  {:<12}", part.name);
        text.push_str(&wrap(&format!("{}?", part.question), &name, columns));
        if let ([_], "locks") = (parts, part.name) {
            for locks::Named { name, short, about } in locks::list() {
                let is_short = name.eq_ignore_ascii_case(&short);
                let about = if is_short { about } else { format!("{name}: {about}") };
                text.push_str(&wrap(&about, &format!("    {short:<20}"), columns));
            }
        }
    }
    text
}
