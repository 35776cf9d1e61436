//! Question: which tool answers "is the new command slower by more than 5 %?" sooner, and which is right?
//!
//! Ten tasks whose answers are known, since both commands are this program at a known work: it sleeps, or computes for
//! so long. The truth is about the typical run, except for the tasks with a tail: a command that takes four times as
//! long in a third of its runs is slower, whatever its median. `unc compare --margin 5%` answers by its exit status.
//! hyperfine prints the ratio of the means and its deviation: that is taken for "slower" if the ratio less the deviation
//! is above 1.05, for "not slower" if the ratio and the deviation are below, and for no answer otherwise. Both run with
//! what they do by default. Their order alternates.
//!
//!     cargo build --release && cargo run --release --manifest-path compare/Cargo.toml -- beside_hyperfine [--rounds N]

use std::hash::{BuildHasher, RandomState};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A task: two commands of [`work`], and whether the second is slower by more than 5 %.
struct Task {
    name: &'static str,
    baseline: &'static [&'static str],
    candidate: &'static [&'static str],
    is_slower: bool,
}

#[rustfmt::skip]
const TASKS: [Task; 10] = [
    Task { name: "equal, asleep", baseline: &["sleep", "20"], candidate: &["sleep", "20"], is_slower: false },
    Task { name: "equal, computing", baseline: &["compute", "20"], candidate: &["compute", "20"], is_slower: false },
    Task { name: "1 % slower, asleep", baseline: &["sleep", "50"], candidate: &["sleep", "50.5"], is_slower: false },
    Task { name: "10 % slower, asleep", baseline: &["sleep", "20"], candidate: &["sleep", "22"], is_slower: true },
    Task { name: "10 % slower, computing", baseline: &["compute", "20"], candidate: &["compute", "22"], is_slower: true },
    Task { name: "20 % faster, computing", baseline: &["compute", "20"], candidate: &["compute", "16"], is_slower: false },
    Task { name: "equal, two modes", baseline: &["modes", "20"], candidate: &["modes", "20"], is_slower: false },
    Task { name: "10 % slower, two modes", baseline: &["modes", "20"], candidate: &["modes", "22"], is_slower: true },
    Task { name: "a third takes four times as long", baseline: &["sleep", "20"], candidate: &["tail", "20"], is_slower: true },
    Task { name: "twice as slow", baseline: &["compute", "5"], candidate: &["compute", "10"], is_slower: true },
];

/// What a tool said about a task.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    Slower,
    NotSlower,
    Open,
}

/// All answers of one tool to one task.
#[derive(Default)]
struct Tally {
    right: u32,
    wrong: u32,
    open: u32,
    seconds: Vec<f64>,
}

impl Tally {
    fn add(&mut self, task: &Task, answer: Answer, took: Duration) {
        match answer {
            Answer::Open => self.open += 1,
            _ if (answer == Answer::Slower) == task.is_slower => self.right += 1,
            _ => self.wrong += 1,
        }
        self.seconds.push(took.as_secs_f64());
    }

    /// A cell for the table: right, wrong and open, and the median time.
    fn cells(&mut self) -> String {
        self.seconds.sort_by(f64::total_cmp);
        let median = self.seconds[self.seconds.len() / 2];
        format!("{} | {} | {} | {median:.1}", self.right, self.wrong, self.open)
    }
}

pub(crate) fn main(flags: &[String]) -> Result<(), String> {
    if let [work, kind, ms] = flags
        && work == "--work"
    {
        return self::work(kind, ms.parse().map_err(|_| "the work is in milliseconds")?);
    }
    let rounds = match flags {
        [] => 5,
        [flag, rounds] if flag == "--rounds" => {
            rounds.parse().map_err(|_| "--rounds takes a number")?
        }
        _ => return Err("usage: beside_hyperfine [--rounds N]".into()),
    };
    println!(
        "|  | truth | `unc`: right | wrong | open | s | hyperfine: right | wrong | open | s |"
    );
    println!("|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|");
    for task in &TASKS {
        let (mut ours, mut theirs) = (Tally::default(), Tally::default());
        for round in 0..rounds {
            let ask_ours = |tally: &mut Tally| ask(tally, task, by_unc);
            let ask_theirs = |tally: &mut Tally| ask(tally, task, by_hyperfine);
            if round % 2 == 0 {
                ask_ours(&mut ours)?;
                ask_theirs(&mut theirs)?;
            } else {
                ask_theirs(&mut theirs)?;
                ask_ours(&mut ours)?;
            }
        }
        let truth = if task.is_slower { "slower" } else { "not slower" };
        println!("| {} | {truth} | {} | {} |", task.name, ours.cells(), theirs.cells());
    }
    Ok(())
}

fn ask(
    tally: &mut Tally,
    task: &Task,
    tool: fn(&str, &str) -> Result<Answer, String>,
) -> Result<(), String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let line =
        |work: &[&str]| format!("{} beside_hyperfine --work {}", here.display(), work.join(" "));
    let begun = Instant::now();
    let answer = tool(&line(task.baseline), &line(task.candidate))?;
    tally.add(task, answer, begun.elapsed());
    Ok(())
}

fn by_unc(baseline: &str, candidate: &str) -> Result<Answer, String> {
    let unc = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/unc");
    let mut command = Command::new(unc);
    command.args(["compare", "--margin", "5%", "--quiet", "--", baseline, candidate]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status.map_err(|error| format!("{unc}: {error}; cargo build --release"))?.code() {
        Some(0) => Ok(Answer::NotSlower),
        Some(1) => Ok(Answer::Slower),
        Some(3) => Ok(Answer::Open),
        other => Err(format!("unc ended with {other:?}")),
    }
}

fn by_hyperfine(baseline: &str, candidate: &str) -> Result<Answer, String> {
    let mut command = Command::new("hyperfine");
    command.args(["-N", "--style", "none", "--export-csv", "/dev/stdout", baseline, candidate]);
    let output = command.stderr(Stdio::null()).output();
    let output = output.map_err(|error| format!("hyperfine: {error}; install it"))?;
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = |line: &str| -> Option<(f64, f64)> {
        let cells: Vec<&str> = line.split(',').collect();
        Some((cells.get(1)?.parse().ok()?, cells.get(2)?.parse().ok()?))
    };
    let rows: Vec<(f64, f64)> = table.lines().filter_map(row).collect();
    // It writes what it has after each command.
    let [_, (base, base_deviation), (mean, deviation)] = rows[..] else {
        return Err(format!("hyperfine printed no two rows: {table}"));
    };
    // As it prints the ratio: the relative deviations add up like independent errors.
    let ratio = mean / base;
    let about = ratio * (deviation / mean).hypot(base_deviation / base);
    Ok(match () {
        () if ratio - about > 1.05 => Answer::Slower,
        () if ratio + about < 1.05 => Answer::NotSlower,
        () => Answer::Open,
    })
}

/// Sleeps or computes for so long.
fn work(kind: &str, ms: f64) -> Result<(), String> {
    // As random as the process.
    let chance = RandomState::new().hash_one(0) % 6;
    let asleep = match kind {
        "sleep" => ms,
        "modes" => ms * if chance < 3 { 1.0 } else { 1.5 },
        "tail" => ms * if chance < 2 { 4.0 } else { 1.0 },
        "compute" => {
            // The amount of work is what is known, not its time.
            let rounds = (ms * 400_000.0) as u64;
            std::hint::black_box(
                (0..rounds).fold(1_u64, |x, i| std::hint::black_box(x ^ i).rotate_left(5)),
            );
            return Ok(());
        }
        _ => return Err(format!("{kind}: no such work")),
    };
    std::thread::sleep(Duration::from_secs_f64(asleep / 1_000.0));
    Ok(())
}
