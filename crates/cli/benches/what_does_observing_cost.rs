//! Question: what does observing cost a program, per uncontended lock and unlock, per unlock for which threads wait,
//! and when threads contend for one lock?
//!
//! Every round runs all subjects in turn: plain, with a preloaded library that only passes calls through, with one that
//! also reads the clock twice per pair (x86-64; without that, holds cannot be measured), under `unc run`, also
//! with `--all-holds`, `--no-hold` and `--lock-order`, under the `unc` that `UNC_BEFORE` names, and under Debian's
//! `mutrace` if it is installed. Printed: the median of the rounds, and the median and quartiles of a subject's cost
//! over the plain run of its round. Not measured: the startup of `unc` and the writing of its report. Needs a C
//! compiler. `cargo bench -p uncontended-cli --bench what_does_observing_cost`

use std::path::{Path, PathBuf};
use std::process::Command;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{number, ratio};

const ROUNDS: usize = 15;

fn main() {
    let shared = ["-shared", "-fPIC", "-ldl", "-ftls-model=initial-exec"];
    let library = compile("bench_passthrough", "pass", &shared);
    let clock = compile("bench_passthrough", "clock", &[&shared[..], &["-DREAD_CLOCK"]].concat());
    let pair = compile("bench_pair", "pair", &["-pthread"]);
    let release = compile("bench_release", "release", &["-pthread"]);
    let hammer = compile("bench_hammer", "hammer", &["-pthread"]);
    let subjects = subjects(&library, &clock);
    println!("{ROUNDS} rounds, all subjects in turn in each\n");
    table(
        "one lock, used by one thread: ns for a lock and unlock",
        &subjects,
        &pair,
        &[],
        |cost, plain| cost - plain,
    );
    table(
        "1000 locks in turn: ns for a lock and unlock",
        &subjects,
        &pair,
        &["1000"],
        |cost, plain| cost - plain,
    );
    table(
        "4096 locks, each far from the last: ns for a lock and unlock",
        &subjects,
        &pair,
        &["4096", "apart"],
        |cost, plain| cost - plain,
    );
    table(
        "500,000 locks in turn, most of them without a row of their own: ns for a lock and unlock",
        &subjects,
        &pair,
        &["500000"],
        |cost, plain| cost / plain,
    );
    table(
        "one lock, while another is held: ns for a lock and unlock",
        &subjects,
        &pair,
        &["1", "nested"],
        |cost, plain| cost - plain,
    );
    for (waiters, title) in [
        ("1", "an unlock for which a thread waits: ns"),
        ("8", "an unlock for which 8 threads wait: ns"),
    ] {
        table(title, &subjects, &release, &[waiters], |cost, plain| cost - plain);
    }
    let four = ["4", "300000"];
    table("4 threads on one lock, nothing inside: ms", &subjects, &hammer, &four, |cost, plain| {
        cost / plain
    });
    let inside = ["4", "30000", "400"];
    table(
        "4 threads on one lock, some work inside: ms",
        &subjects,
        &hammer,
        &inside,
        |cost, plain| cost / plain,
    );
}

/// A way to run a program: the words before its name, and an environment variable.
struct Subject {
    name: &'static str,
    before: Vec<String>,
    preload: Option<PathBuf>,
}

fn subjects(library: &Path, clock: &Path) -> Vec<Subject> {
    let unc = |flags: &[&str]| -> Vec<String> {
        let words = [env!("CARGO_BIN_EXE_unc"), "run", "--quiet", "--no-history"]
            .iter()
            .chain(flags)
            .chain(&["--"]);
        words.map(|word| (*word).to_owned()).collect()
    };
    let mut subjects = vec![
        Subject { name: "plain", before: vec![], preload: None },
        Subject { name: "pass-through", before: vec![], preload: Some(library.to_owned()) },
        Subject { name: "two clock readings", before: vec![], preload: Some(clock.to_owned()) },
        Subject { name: "unc run", before: unc(&[]), preload: None },
        Subject { name: "unc run --all-holds", before: unc(&["--all-holds"]), preload: None },
        Subject { name: "unc run --no-hold", before: unc(&["--no-hold"]), preload: None },
        Subject { name: "unc run --lock-order", before: unc(&["--lock-order"]), preload: None },
    ];
    if let Ok(earlier) = std::env::var("UNC_BEFORE") {
        for (name, flags) in
            [("UNC_BEFORE run", &[][..]), ("UNC_BEFORE run --no-hold", &["--no-hold"])]
        {
            let mut before = unc(flags);
            before[0].clone_from(&earlier);
            subjects.push(Subject { name, before, preload: None });
        }
    }
    if Command::new("mutrace").arg("--help").output().is_ok() {
        subjects.push(Subject { name: "mutrace", before: vec!["mutrace".into()], preload: None });
    } else {
        uncontended_testkit::skip!("mutrace", "it is not installed");
    }
    subjects
}

/// Runs everything and prints one table; `over` compares a subject's figure with the plain one of its round.
fn table(
    title: &str,
    subjects: &[Subject],
    program: &Path,
    arguments: &[&str],
    over: fn(f64, f64) -> f64,
) {
    let rounds: Vec<Vec<f64>> = (0..ROUNDS)
        .map(|_| subjects.iter().map(|subject| subject.measure(program, arguments)).collect())
        .collect();
    let columns =
        [Column::word(""), Column::figure("median"), Column::figure("over plain, quartiles")];
    let mut table = Table::new(columns.to_vec());
    for (at, subject) in subjects.iter().enumerate() {
        let all = sorted(rounds.iter().map(|round| round[at]));
        let over = sorted(rounds.iter().map(|round| over(round[at], round[0])));
        let [low, middle, high] = [1, 2, 3].map(|quarter| over[ROUNDS * quarter / 4]);
        let name = subject.name.to_string();
        table.row([name, number(all[ROUNDS / 2]), ratio(Some(middle), low, high)]);
    }
    println!("{title}\n{}", table.text(usize::MAX, Paint::default()));
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

impl Subject {
    /// The first number that the program prints.
    fn measure(&self, program: &Path, arguments: &[&str]) -> f64 {
        let mut words = self
            .before
            .iter()
            .map(String::as_str)
            .chain(program.to_str())
            .chain(arguments.iter().copied());
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words);
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        let output = command.output().expect("the program can be started");
        assert!(
            output.status.success(),
            "{}: {}",
            self.name,
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout);
        text.split_whitespace().find_map(|word| word.parse().ok()).expect("a figure")
    }
}

fn compile(name: &str, binary: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/programs")
        .join(format!("{name}.c"));
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench_{binary}"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let compiled =
        Command::new(compiler).arg("-O2").arg("-o").args([&binary, &source]).args(flags).status();
    assert!(compiled.expect("a C compiler").success(), "{name} compiles");
    binary
}
