//! Question: is the search for linearizations as fast as Porcupine's, and are the verdicts the same?
//!
//! The inputs are the histories of Porcupine's own tests, which are in its checkout and not here, and random ones,
//! which are written next to them in Porcupine's format. Both sides alternate, one process of Porcupine's per round of
//! ours; each ratio is of one round. `--go BINARY` is a test binary made of the checkout and
//! `oracles/porcupine_times_test.go`.
//!
//!     cargo run --release --manifest-path compare/Cargo.toml -- histories CHECKOUT --go BINARY

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use uncontended_model::history::specs::{Register, RegisterCall, RegisterOutput};
use uncontended_model::history::{
    Limits, Operation, OperationOf, Report, Spec, Verdict, check_on, search,
};
use uncontended_model::random::Random;

/// The verdict on one history, and its cost.
#[derive(Debug, Clone, Copy)]
struct Taken {
    is_linearizable: bool,
    wall_ns: f64,
    cpu_ns: f64,
}

type Round = BTreeMap<String, Taken>;

pub(crate) fn main(flags: &[String]) -> Result<(), String> {
    let usage = "usage: histories CHECKOUT [--go BINARY] [--rounds N]";
    let after = |flag: &str| {
        let at = flags.iter().position(|word| word == flag)?;
        flags.get(at + 1)
    };
    let checkout = flags.first().filter(|word| !word.starts_with('-')).ok_or(usage)?;
    let rounds: usize = match after("--rounds") {
        Some(count) => count.parse().map_err(|_| usage)?,
        None => 11,
    };
    let data = Path::new(checkout).join("test_data");
    make(&data.join("made")).map_err(|error| format!("{}: {error}", data.display()))?;
    let sets = ["jepsen", "kv", "made"].map(|set| data.join(set));
    let mut all: Vec<(Round, Option<Round>)> = Vec::new();
    for _ in 0..rounds {
        let ours = our_round(&sets)?;
        let theirs =
            after("--go").map(|binary| their_round(binary, checkout, &sets)).transpose()?;
        if let Some(theirs) = &theirs {
            agree(&ours, theirs)?;
        }
        all.push((ours, theirs));
    }
    println!(
        "| histories | no | ours, wall ms | Porcupine, wall ms | times ours | ours, CPU ms | Porcupine, CPU ms | times ours |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for set in &sets {
        let name = set.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        row(name, &all, |file| Path::new(file).parent() == Some(set));
    }
    row("all", &all, |_| true);
    Ok(())
}

/// A row of the table: sums over the files of a round, medians over rounds, extremes of the ratio.
fn row(name: &str, all: &[(Round, Option<Round>)], is_in: impl Fn(&str) -> bool) {
    let sum = |round: &Round, time: fn(&Taken) -> f64| {
        let taken = round.iter().filter(|(file, _)| is_in(file)).map(|(_, taken)| time(taken));
        taken.sum::<f64>() / 1e6
    };
    let files = all[0].0.iter().filter(|(file, _)| is_in(file));
    let (mut count, mut refuted) = (0, 0);
    for (_, taken) in files {
        count += 1;
        refuted += u32::from(!taken.is_linearizable);
    }
    let mut cells = String::new();
    for time in [|taken: &Taken| taken.wall_ns, |taken: &Taken| taken.cpu_ns] {
        let mut ours: Vec<f64> = all.iter().map(|(ours, _)| sum(ours, time)).collect();
        let _ = write!(cells, " {:.2} |", median(&mut ours));
        let pairs = all.iter().filter_map(|(ours, theirs)| Some((ours, theirs.as_ref()?)));
        let mut theirs: Vec<f64> = pairs.clone().map(|(_, theirs)| sum(theirs, time)).collect();
        let mut ratios: Vec<f64> =
            pairs.map(|(ours, theirs)| sum(theirs, time) / sum(ours, time)).collect();
        if ratios.is_empty() {
            cells += " | |";
            continue;
        }
        let ratio = median(&mut ratios);
        let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
        let _ = write!(cells, " {:.2} | {ratio:.1} [{low:.1}, {high:.1}] |", median(&mut theirs));
    }
    println!("| {name}: {count} | {refuted} |{cells}");
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn agree(ours: &Round, theirs: &Round) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} histories here, {} there", ours.len(), theirs.len()));
    }
    for (file, taken) in ours {
        let other = theirs.get(file).ok_or(format!("{file} is missing there"))?;
        if other.is_linearizable != taken.is_linearizable {
            return Err(format!("{file}: {} here, not there", taken.is_linearizable));
        }
    }
    Ok(())
}

fn their_round(binary: &str, checkout: &str, sets: &[PathBuf]) -> Result<Round, String> {
    let patterns: Vec<String> = sets.iter().map(|set| format!("{}/*.*", set.display())).collect();
    let output = Command::new(binary)
        .args(["-test.run", "^TestTimes$", "-test.timeout", "30m"])
        .env("HISTORIES", patterns.join(" "))
        .current_dir(checkout)
        .output()
        .map_err(|error| format!("{binary}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut round = Round::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("TIME ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let [file, verdict, wall, cpu] = words[..] else { return Err(line.to_owned()) };
        let number = |text: &str| text.parse::<f64>().map_err(|error| format!("{line}: {error}"));
        let (wall_ns, cpu_ns) = (number(wall)?, number(cpu)?);
        let is_linearizable = verdict == "true";
        round.insert(file.to_owned(), Taken { is_linearizable, wall_ns, cpu_ns });
    }
    Ok(round)
}

fn our_round(sets: &[PathBuf]) -> Result<Round, String> {
    let mut round = Round::new();
    for set in sets {
        let entries = fs::read_dir(set).map_err(|error| format!("{}: {error}", set.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let taken = match path.extension().is_some_and(|ending| ending == "log") {
                true => {
                    let history = jepsen(&text);
                    time(|| search(&Register::default(), &history, &mut Limits::default()))
                }
                false => {
                    let history = texts(&text);
                    time(|| check_on(threads(), &Texts, &history, &mut Limits::default()))
                }
            };
            round.insert(path.display().to_string(), taken);
        }
    }
    Ok(round)
}

/// For what has several keys: as many as there are CPUs, as on the other side.
fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// As the other side does it: again and again for 20 ms.
fn time(decide: impl Fn() -> Report) -> Taken {
    let (wall, cpu, mut times) = (Instant::now(), cpu_ns(), 0u32);
    let mut is_linearizable = false;
    while times == 0 || (times < 100 && wall.elapsed() < Duration::from_millis(20)) {
        is_linearizable = decide().verdict == Verdict::Linearizable;
        times += 1;
    }
    let each = f64::from(times);
    let wall_ns = wall.elapsed().as_nanos() as f64 / each;
    Taken { is_linearizable, wall_ns, cpu_ns: (cpu_ns() - cpu) / each }
}

/// User and system time of all threads of this process.
fn cpu_ns() -> f64 {
    uncontended_sys::usage::process().cpu_ns as f64
}

/// A register's operations, of which times are line numbers.
fn jepsen(text: &str) -> Vec<OperationOf<Register>> {
    let mut open: HashMap<u32, (u64, RegisterCall)> = HashMap::new();
    let mut history = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((_, rest)) = line.split_once("jepsen.util - ") else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [process, kind, op, ref values @ ..] = words[..] else { continue };
        let Ok(process) = process.parse() else { continue };
        let number =
            |at: usize| -> Option<i64> { values[at].trim_matches(['[', ']']).parse().ok() };
        match (kind, op) {
            (":invoke", ":read") => drop(open.insert(process, (at as u64, RegisterCall::Read))),
            (":invoke", ":write") => {
                open.insert(process, (at as u64, RegisterCall::Write(number(0))));
            }
            (":invoke", ":cas") => {
                let call = RegisterCall::CompareAndSwap { old: number(0), new: number(1) };
                open.insert(process, (at as u64, call));
            }
            (":ok" | ":fail", _) => {
                let Some((called_at, call)) = open.remove(&process) else { continue };
                let output = match op {
                    ":read" if values[0] == ":timed-out" => continue, // It saw nothing.
                    ":read" => RegisterOutput::Value(number(0)),
                    ":write" => RegisterOutput::Done,
                    _ => RegisterOutput::Succeeded(kind == ":ok"),
                };
                history.push(Operation::done(process, called_at, call, at as u64, output));
            }
            _ => (), // `:info`: it never returned.
        }
    }
    let pending = |(process, (at, call))| Operation::pending(process, at, call);
    history.extend(open.into_iter().map(pending));
    history
}

/// A map of texts that are put, read and added to: a spec of a user's own.
struct Texts;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TextCall {
    key: String,
    op: TextOp,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextOp {
    Get,
    Put,
    Append,
}

impl Spec for Texts {
    type Call = TextCall;
    type Output = String;
    type State = String;
    type Key = String;

    fn initial(&self) -> String {
        String::new()
    }

    fn key(&self, call: &TextCall) -> String {
        call.key.clone()
    }

    fn apply(&self, state: &String, call: &TextCall, output: Option<&String>) -> Option<String> {
        match call.op {
            TextOp::Get => output.is_none_or(|seen| seen == state).then(|| state.clone()),
            TextOp::Put => Some(call.value.clone()),
            TextOp::Append => Some([state.as_str(), &call.value].concat()),
        }
    }

    fn keeps_state(&self, call: &TextCall, _: Option<&String>) -> bool {
        call.op == TextOp::Get
    }
}

/// The operations of a log of texts.
fn texts(text: &str) -> Vec<OperationOf<Texts>> {
    let mut open: HashMap<u32, (u64, TextCall)> = HashMap::new();
    let mut history = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let field = |name: &str| line.split_once(name).map_or("", |(_, rest)| rest);
        let quoted = |name: &str| field(name).split('"').nth(1).unwrap_or_default().to_owned();
        let process = field(":process ").split(',').next().and_then(|word| word.parse().ok());
        let Some(process) = process else { continue };
        if field(":type ").starts_with(":ok") {
            let Some((called_at, call)) = open.remove(&process) else { continue };
            let value = if call.op == TextOp::Get { quoted(":value ") } else { String::new() };
            history.push(Operation::done(process, called_at, call, at as u64, value));
            continue;
        }
        let op = match field(":f ") {
            get if get.starts_with(":get") => TextOp::Get,
            put if put.starts_with(":put") => TextOp::Put,
            _ => TextOp::Append,
        };
        let call = TextCall { key: quoted(":key "), op, value: quoted(":value ") };
        open.insert(process, (at as u64, call));
    }
    let pending = |(process, (at, call))| Operation::pending(process, at, call);
    history.extend(open.into_iter().map(pending));
    history
}

/// Writes random histories of a register that ten clients share: half as a true register answers, half with one answer
/// changed.
fn make(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    for seed in 0..20 {
        fs::write(folder.join(format!("made_{seed:02}.log")), log(seed, seed % 2 == 1))?;
    }
    Ok(())
}

fn log(seed: u64, spoilt: bool) -> String {
    let mut random = Random(seed + 100);
    let mut text = String::new();
    let mut held: Option<i64> = None;
    let mut open: Vec<Option<(RegisterCall, Option<RegisterOutput>)>> = vec![None; 10];
    let (mut returned, most) = (0, 2000);
    while returned < most {
        let process = random.below(10) as usize;
        let small = |random: &mut Random| random.below(5) as i64;
        let shown = |value: Option<i64>| value.map_or("nil".to_owned(), |value| value.to_string());
        let mut line = |rest: String| {
            let _ = writeln!(text, "INFO  jepsen.util - {process}\t{rest}");
        };
        match open[process].take() {
            None => {
                let (old, new) = (small(&mut random), small(&mut random));
                let call = match random.below(3) {
                    0 => RegisterCall::Read,
                    1 => RegisterCall::Write(Some(new)),
                    _ => RegisterCall::CompareAndSwap { old: Some(old), new: Some(new) },
                };
                line(match call {
                    RegisterCall::Read => ":invoke\t:read\tnil".to_owned(),
                    RegisterCall::Write(_) => format!(":invoke\t:write\t{new}"),
                    _ => format!(":invoke\t:cas\t[{old} {new}]"),
                });
                open[process] = Some((call, None));
            }
            Some((call, None)) => {
                let output = match call {
                    RegisterCall::Read => RegisterOutput::Value(held),
                    RegisterCall::CompareAndSwap { old, .. } => {
                        RegisterOutput::Succeeded(old == held)
                    }
                    _ => RegisterOutput::Done,
                };
                held = Register::default().apply(&held, &call, Some(&output)).expect("it fits");
                open[process] = Some((call, Some(output)));
            }
            Some((call, Some(output))) => {
                returned += 1;
                let is_lie = spoilt && returned == most * 3 / 4;
                line(match (call, output) {
                    (
                        RegisterCall::CompareAndSwap { old, new },
                        RegisterOutput::Succeeded(done),
                    ) => {
                        let kind = if done != is_lie { ":ok" } else { ":fail" };
                        format!("{kind}\t:cas\t[{} {}]", shown(old), shown(new))
                    }
                    (RegisterCall::Write(value), _) => format!(":ok\t:write\t{}", shown(value)),
                    (_, RegisterOutput::Value(_)) if is_lie => ":ok\t:read\t77".to_owned(),
                    (_, RegisterOutput::Value(value)) => format!(":ok\t:read\t{}", shown(value)),
                    _ => unreachable!("what effects answer"),
                });
            }
        }
    }
    text
}
