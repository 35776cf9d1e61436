//! A benchmark as its author describes it: cases with their subjects, places, and what is compared.

use std::sync::Arc;
use std::time::Duration;

use crate::block::Block;
use crate::guard::Work;
use crate::instruments::{Instruments, Machine};
use crate::options::Options;
use crate::place::{Cpu, Place};
use crate::report::Report;
use crate::{json, run, table};

/// The ratio to the baseline that a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ratio {
    /// Wall time per operation: lower is better.
    Time,
    /// Operations per second: higher is better.
    Speed,
    /// CPU time per operation: lower is better.
    Cpu,
}

impl Ratio {
    /// Its name in headings and in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Ratio::Time => "time",
            Ratio::Speed => "speed",
            Ratio::Cpu => "cpu",
        }
    }
}

pub(crate) struct Subject {
    pub(crate) name: String,
    /// Where it runs, if not at the table's place.
    pub(crate) place: Option<Place>,
    /// Its code; none after it hung.
    pub(crate) work: Option<Work>,
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) subjects: Vec<Subject>,
}

/// A benchmark: subjects that do the same work, compared with a baseline.
///
/// ```
/// use uncontended_bench::{Bench, Block, Options, Place};
/// let add = |block: &mut Block| {
///     let n = block.operations();
///     block.measure(|| (0..n).fold(0u64, |sum, i| std::hint::black_box(sum + i)));
/// };
/// let multiply = |block: &mut Block| {
///     let n = block.operations();
///     block.measure(|| (0..n).fold(1u64, |sum, i| std::hint::black_box(sum.wrapping_mul(i | 1))));
/// };
/// let bench = Bench::new("arithmetic", "what does a multiplication cost").places([Place::Free]);
/// let options = Options { seconds: 0.1, quiet: true, ..Options::default() };
/// let report = bench.subject("add", add).subject("multiply", multiply).run(&options);
/// assert_eq!(report.tables.len(), 1);
/// ```
pub struct Bench {
    pub(crate) name: String,
    pub(crate) question: String,
    pub(crate) operation: &'static str,
    pub(crate) places: Vec<Place>,
    pub(crate) cases: Vec<Case>,
    pub(crate) baseline: Option<String>,
    pub(crate) ratio: Ratio,
    pub(crate) block: Duration,
    pub(crate) limit: Duration,
    pub(crate) notes: Vec<String>,
    pub(crate) summarised: bool,
    pub(crate) is_over: fn() -> bool,
    pub(crate) instruments: Arc<dyn Instruments>,
    pub(crate) cpus: Vec<Cpu>,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Bench {
    /// A benchmark of wall time on two CPUs, without subjects.
    #[must_use]
    pub fn new(name: &str, question: &str) -> Bench {
        Bench {
            name: name.to_owned(),
            question: question.to_owned(),
            operation: "operation",
            places: vec![Place::TwoCpus],
            cases: Vec::new(),
            baseline: None,
            ratio: Ratio::Time,
            block: Duration::from_millis(10),
            limit: Duration::from_secs(20),
            notes: Vec::new(),
            summarised: false,
            is_over: || false,
            instruments: Arc::new(Machine),
            cpus: Cpu::allowed().unwrap_or_default(),
        }
    }

    /// The places to measure at, one table each.
    #[must_use]
    pub fn places(mut self, places: impl IntoIterator<Item = Place>) -> Bench {
        self.places = places.into_iter().collect();
        self
    }

    /// The name of an operation in tables.
    #[must_use]
    pub fn per(mut self, operation: &'static str) -> Bench {
        self.operation = operation;
        self
    }

    /// The ratio that the tables show and whose intervals decide when to stop.
    #[must_use]
    pub fn ratio(mut self, ratio: Ratio) -> Bench {
        self.ratio = ratio;
        self
    }

    /// The length of a block (10 ms).
    #[must_use]
    pub fn block(mut self, length: Duration) -> Bench {
        self.block = length;
        self
    }

    /// The time after which a block counts as hung (20 s).
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Bench {
        self.limit = limit;
        self
    }

    /// Ends early once `is_over` is true, asked between blocks and during them: a block that does not end soon then is
    /// abandoned. Blocks of a round that was not finished count.
    #[must_use]
    pub fn until(mut self, is_over: fn() -> bool) -> Bench {
        self.is_over = is_over;
        self
    }

    /// A sentence below the tables: what is not measured, what was left out and why.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Bench {
        self.notes.push(note.into());
        self
    }

    /// Makes Markdown show all cases in one table of ratios and one of CPU time per place, instead of a table per case.
    #[must_use]
    pub fn summarised(mut self) -> Bench {
        self.summarised = true;
        self
    }

    /// The subject that the others are compared with; by default the first of each case.
    #[must_use]
    pub fn baseline(mut self, name: &str) -> Bench {
        self.baseline = Some(name.to_owned());
        self
    }

    /// Begins a case, to which the following subjects belong: for example the same work at another size. One table
    /// each.
    #[must_use]
    pub fn case(mut self, name: impl Into<String>) -> Bench {
        self.cases.push(Case { name: name.into(), subjects: Vec::new() });
        self
    }

    /// Adds a subject: code that runs one block.
    #[must_use]
    pub fn subject(self, name: &str, work: impl FnMut(&mut Block) + Send + 'static) -> Bench {
        self.add(name, None, Box::new(work))
    }

    /// Adds a subject that runs at its own place, to compare places.
    #[must_use]
    pub fn subject_at(
        self,
        place: Place,
        name: &str,
        work: impl FnMut(&mut Block) + Send + 'static,
    ) -> Bench {
        self.add(name, Some(place), Box::new(work))
    }

    fn add(mut self, name: &str, place: Option<Place>, work: Work) -> Bench {
        if self.cases.is_empty() {
            self = self.case("");
        }
        let subjects =
            &mut self.cases.last_mut().expect("a case, added above if there was none").subjects;
        subjects.push(Subject { name: name.to_owned(), place, work: Some(work) });
        self
    }

    /// Reads `instruments` instead of the machine's, and places threads on `cpus`.
    #[must_use]
    pub fn on(mut self, instruments: Arc<dyn Instruments>, cpus: Vec<Cpu>) -> Bench {
        (self.instruments, self.cpus) = (instruments, cpus);
        self
    }

    /// Measures what the options select.
    #[must_use]
    pub fn run(self, options: &Options) -> Report {
        run::run(self, options)
    }

    /// Measures, prints the tables, and writes JSON if requested.
    ///
    /// # Errors
    /// The JSON cannot be written: its path and the reason.
    pub fn show(self, options: &Options) -> Result<Report, String> {
        let summarised = self.summarised;
        let report = self.run(options);
        let json_to_stdout = options.json.as_ref().is_some_and(|path| path.as_os_str() == "-");
        let text = match (options.markdown, summarised) {
            (false, _) => table::text(&report),
            (true, false) => table::markdown(&report),
            (true, true) => table::matrix(&report),
        };
        if json_to_stdout {
            eprint!("{text}");
            print!("{}", json::text(&report));
        } else {
            print!("{text}");
            if let Some(path) = &options.json {
                std::fs::write(path, json::text(&report))
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(report)
    }
}
