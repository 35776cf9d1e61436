//! `unc litmus`: the outcomes of a small concurrent program, under memory models and on this machine.
//!
//! # Contract
//! Reads herd's x86-64 litmus files; prints states with counts and the observation as herd does. Exit status: 0 ran, or
//! the expectation holds; 1 the expectation is refuted; 3 unknown within bounds; 2 a file could not be run. With
//! several files, the first of 1, 2, 3 that applies to any of them.

mod json;
mod machine;
mod print;
mod said;

use crate::console::{complain, tell};
use crate::files;
use clap::{Args, ValueEnum};
use machine::Seen;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};
use uncontended_decide::Failure;
use uncontended_figures::read::whole;
use uncontended_model::classics::{CLASSICS, named};
use uncontended_model::diagram::Diagram;
use uncontended_model::litmus::{Answer, Memory, Observation, Test, parse};
use uncontended_model::outcome::{Bound, Limits};
use uncontended_model::search::Verdict;

/// Enumerate the outcomes of a small concurrent program, in theory and on this machine
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unc litmus --builtin SB --trace               a classic, explained and shown
  unc litmus --builtin SB --model tso,machine   also run it a million times here
  unc litmus a.litmus b.litmus --expect never   exit 1 if tso allows either
  unc litmus a.litmus --model tso --svg a.svg   draw a counterexample

Beyond herd's format: `lock or`, `lock and`, `membarrier`, `interrupt P1` (wait until that thread has taken one), \
`futex_wait $v,(x)`, `futex_wake $n,(x)`, `mutex_lock (m)`, `mutex_unlock (m)`, `delay $n` (ticks, for --delta); a condition \
may say `deadlock`.

Exit: 0 ran, or the expectation holds · 1 refuted · 3 unknown within bounds · 2 could not run

Each expectation is checked against every model named with --model, by default tso. A state seen on the machine confirms `sometimes` \
and refutes `never`; a state not seen proves nothing. A state that the machine shows and tso forbids is exit status 1.")]
pub(crate) struct Litmus {
    /// Litmus files in herd's X86_64 format; `-` reads one from stdin
    files: Vec<String>,
    /// Memory models, separated by commas [default: sc,tso]
    #[arg(long, value_delimiter = ',')]
    model: Vec<Model>,
    /// Runs of each test on the machine [default: 1000000; 20000 if it calls membarrier]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    runs: Option<u64>,
    /// Check every test against this expectation
    #[arg(long)]
    expect: Option<Expect>,
    /// Print an execution that reaches the condition (for `forall`: one that violates it)
    #[arg(long)]
    trace: bool,
    /// Write the results as JSON; with `-`, to stdout, and the text to stderr. States are written and counted as herd
    /// 7.57 does, which leaves the halves of a read-modify-write unordered; if that adds executions, `ordered` excludes
    /// them
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the first execution that --trace finds; if there is none, write nothing
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Worker threads [default: one per CPU]
    #[arg(short, value_name = "N", value_parser = whole::<u16>(1..=u16::MAX.into()))]
    jobs: Option<u16>,
    /// How many rounds of a loop to follow when counting executions
    #[arg(long, value_name = "N", default_value_t = Limits::default().loops,
        value_parser = whole::<u16>(0..=u16::MAX.into()))]
    loops: u16,
    /// Under tso, assume that no store waits for more than N ticks; `delay $N` lets them pass
    #[arg(long, value_name = "N", value_parser = whole::<u8>(0..=u8::MAX.into()))]
    delta: Option<u8>,
    /// List the built-in tests
    #[arg(long)]
    list: bool,
    /// Run a built-in test, and explain it
    #[arg(long, value_name = "NAME")]
    builtin: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Sequential consistency.
    Sc,
    /// x86-TSO: stores wait in a buffer.
    Tso,
    /// Real runs on pinned threads.
    Machine,
}

impl Model {
    /// The memory model, unless it is the machine.
    fn memory(self, delta: Option<u8>) -> Option<Memory> {
        match self {
            Model::Sc => Some(Memory::Sc),
            Model::Tso => Some(delta.map_or(Memory::Tso, Memory::TsoWithin)),
            Model::Machine => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Expect {
    Sometimes,
    Never,
    Always,
}

impl Expect {
    fn meets(self, observation: Observation) -> bool {
        matches!(
            (self, observation),
            (Expect::Sometimes, Observation::Sometimes)
                | (Expect::Never, Observation::Never)
                | (Expect::Always, Observation::Always)
        )
    }
}

/// A test to run: where it came from, and its text or why there is none.
struct Input {
    path: String,
    about: Option<&'static str>,
    text: Result<String, String>,
}

/// One test, run.
struct Ran {
    path: String,
    about: Option<&'static str>,
    test: Test,
    models: Vec<Shown>,
    /// What the machine showed, or why it could not run the test.
    machine: Option<Result<Seen, String>>,
}

/// What one model showed of one test.
struct Shown {
    memory: Memory,
    answer: Result<Answer, String>,
    /// The verdict and diagram of `--trace`.
    trace: Option<(Verdict, Option<Diagram>)>,
}

/// A file that could not be run.
struct Refused {
    path: String,
    reason: String,
}

impl Litmus {
    pub(crate) fn execute(mut self) -> ExitCode {
        let outcome = if self.list { print::list(CLASSICS) } else { self.run() };
        match outcome {
            Ok(code) => ExitCode::from(code),
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }

    fn run(&mut self) -> Result<u8, Failure> {
        let named_models = !self.model.is_empty();
        if !named_models {
            self.model = vec![Model::Sc, Model::Tso];
        }
        if self.delta.is_some() && !self.model.contains(&Model::Tso) {
            return Err(Failure::new(
                "--delta bounds how long a store waits under tso, which --model leaves out",
                "add tso to --model, or leave --delta out",
            ));
        }
        let inputs = self.inputs()?;
        let mut results = self.answer_all(inputs);
        if self.model.contains(&Model::Machine) {
            // One test at a time: each needs all CPUs.
            for ran in results.iter_mut().flatten() {
                ran.machine = Some(Seen::measure(&ran.test, self.runs, self.limits()));
            }
        }
        let to_stdout = self.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
        let mut text = String::new();
        for result in &results {
            match result {
                Ok(ran) => {
                    said::verdict(&mut text, self, named_models, ran);
                    print::test(&mut text, ran);
                }
                Err(Refused { path, reason }) => {
                    // The position follows the path directly, as editors expect.
                    let separator =
                        if reason.starts_with(|c: char| c.is_ascii_digit()) { ":" } else { ": " };
                    eprintln!("unc: {path}{separator}{reason}");
                }
            }
        }
        match to_stdout {
            true => tell(&text),
            false => files::write(Path::new("-"), &text)?,
        }
        if let Some(path) = &self.json {
            files::write(path, json::document(&results))?;
        }
        if let Some(path) = &self.svg {
            let drawn = results.iter().flatten().flat_map(|ran| &ran.models);
            let mut drawn = drawn.filter_map(|shown| shown.trace.as_ref()?.1.as_ref());
            match drawn.next() {
                Some(diagram) => files::write(path, diagram.svg())?,
                None => eprintln!(
                    "unc: {} is not written: no execution to draw was found",
                    path.display()
                ),
            }
        }
        Ok(self.verdict(&results, named_models))
    }

    fn inputs(&self) -> Result<Vec<Input>, Failure> {
        let mut inputs = Vec::new();
        for name in &self.builtin {
            let Some(classic) = named(name) else {
                return Err(Failure::new(
                    format!("there is no test `{name}`"),
                    "`unc litmus --list` names them",
                ));
            };
            let path = format!("builtin:{}", classic.name);
            inputs.push(Input {
                path,
                about: Some(classic.about),
                text: Ok(classic.text.to_owned()),
            });
        }
        for path in &self.files {
            let mut bytes = Vec::new();
            let read = if path == "-" {
                std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
            } else {
                fs::read(path)
            };
            let text = read.map_err(|error| format!("cannot be read: {error}")).and_then(|bytes| {
                String::from_utf8(bytes).map_err(|error| {
                    let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
                    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
                    format!("{line}:{column}: the text is not UTF-8")
                })
            });
            inputs.push(Input { path: path.clone(), about: None, text });
        }
        if inputs.is_empty() {
            return Err(Failure::new(
                "no litmus test was named",
                "name files, or --builtin NAME, or --list",
            ));
        }
        Ok(inputs)
    }

    /// Runs every input on `-j` threads; the results keep the order of the inputs.
    fn answer_all(&self, inputs: Vec<Input>) -> Vec<Result<Ran, Refused>> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.map_or(cpus, usize::from).min(inputs.len());
        let mut results: Vec<_> = inputs.iter().map(|_| None).collect();
        let queue = Mutex::new(inputs.into_iter().enumerate());
        let (send, receive) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let (queue, send) = (&queue, send.clone());
                scope.spawn(move || {
                    let next = || queue.lock().map_or(None, |mut queue| queue.next());
                    while let Some((at, input)) = next() {
                        let _ = send.send((at, self.answer(input)));
                    }
                });
            }
            drop(send);
            receive.into_iter().for_each(|(at, result)| results[at] = Some(result));
        });
        results.into_iter().flatten().collect()
    }

    fn answer(&self, input: Input) -> Result<Ran, Refused> {
        let Input { path, about, text } = input;
        let test = match text.and_then(|text| parse(&text).map_err(|refusal| refusal.to_string())) {
            Ok(test) => test,
            Err(reason) => return Err(Refused { path, reason }),
        };
        let limits = self.limits();
        let models = self.model.iter().filter_map(|model| model.memory(self.delta)).map(|memory| {
            let answer = test.answer(memory, limits).map_err(|unsupported| unsupported.to_string());
            let trace = (self.trace || self.svg.is_some()).then(|| {
                let verdict = test.witness(memory, limits);
                let diagram = match &verdict {
                    Verdict::Allowed(trace) => {
                        let title = format!("{} under {memory}: {}", test.name, test.condition);
                        Some(Diagram::of_trace(
                            title,
                            &test.program,
                            trace,
                            test.line(&trace.outcome),
                        ))
                    }
                    _ => None,
                };
                (verdict, diagram)
            });
            Shown { memory, answer, trace }
        });
        let models = models.collect();
        Ok(Ran { path, about, test, models, machine: None })
    }

    fn limits(&self) -> Limits {
        Limits { loops: self.loops, ..Limits::default() }
    }

    /// Whether a model's answer is checked against the expectation. Without `--model`, sc is only shown for comparison.
    fn checks(&self, named_models: bool, memory: Memory) -> bool {
        named_models || memory != Memory::Sc
    }

    /// The exit status for all results together.
    fn verdict(&self, results: &[Result<Ran, Refused>], named_models: bool) -> u8 {
        let mut refused = results.iter().any(Result::is_err);
        let (mut refuted, mut unknown) = (false, false);
        for shown in results.iter().flatten().flat_map(|ran| &ran.models) {
            match (&shown.answer, self.expect) {
                (Err(_), _) => refused = true,
                (Ok(answer), None) => {
                    unknown |= answer.bound.is_some_and(|bound| bound != Bound::Uncounted);
                }
                (Ok(_), Some(_)) if !self.checks(named_models, shown.memory) => {}
                (Ok(answer), Some(expect)) => match answer.observation() {
                    Some(observation) => refuted |= !expect.meets(observation),
                    None => unknown = true,
                },
            }
        }
        for seen in results.iter().flatten().filter_map(|ran| ran.machine.as_ref()) {
            match (seen, self.expect) {
                (Err(_), _) => refused = true,
                (Ok(seen), None) => refuted |= !seen.forbidden.is_empty(),
                (Ok(seen), Some(expect)) => {
                    let settled = seen.meets(expect);
                    refuted |= settled == Some(false) || !seen.forbidden.is_empty();
                    // A state that a model decides need not be seen.
                    unknown |= settled.is_none() && self.model == [Model::Machine];
                }
            }
        }
        match (refuted, refused, unknown) {
            (true, ..) => 1,
            (_, true, _) => 2,
            (_, _, true) => 3,
            _ => 0,
        }
    }
}
