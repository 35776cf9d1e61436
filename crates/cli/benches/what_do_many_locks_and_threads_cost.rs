//! Question: what does observing cost a program that takes many locks, or makes many threads or processes?
//!
//! Every round runs each program plain, and under `unc run`, in turn. Printed: medians of the rounds, and the median
//! and quartiles of the ratio within a round. CPU time, of all threads and children: other work on the machine counts
//! for little. Not measured: the startup of `unc` and its report. Needs a C compiler.
//! `cargo bench -p uncontended-cli --bench what_do_many_locks_and_threads_cost`

use std::path::{Path, PathBuf};
use std::process::Command;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{duration_f, ratio};

const ROUNDS: usize = 11;

const SUBJECTS: [(&str, &[&str]); 10] = [
    ("lock and unlock of 1 mutex", &["random", "1"]),
    ("of 1,000, at random", &["random", "1000"]),
    ("of 50,000, at random", &["random", "50000"]),
    ("of 500,000, at random", &["random", "500000"]),
    ("of 1,000, each found in the one before", &["linked", "1000"]),
    ("of 50,000, each found in the one before", &["linked", "50000"]),
    ("of 500,000, each found in the one before", &["linked", "500000"]),
    ("making and joining a thread, a hundred at a time", &["threads", "0"]),
    ("the same, if it takes one lock", &["threads", "1"]),
    ("fork and exit of a process, waited for", &["forks"]),
];

fn main() {
    let program = compile();
    let columns = ["without `unc`", "`unc run`", "ratio, quartiles"].map(Column::figure);
    let mut table = Table::new([&[Column::word("")][..], &columns[..]].concat());
    for (name, arguments) in SUBJECTS {
        let rounds: Vec<[f64; 2]> = (0..ROUNDS)
            .map(|_| [false, true].map(|is_observed| measure(&program, arguments, is_observed)))
            .collect();
        let medians = [0, 1].map(|at| sorted(rounds.iter().map(|round| round[at]))[ROUNDS / 2]);
        let over = sorted(rounds.iter().map(|[plain, observed]| observed / plain));
        let [low, middle, high] = [1, 2, 3].map(|quarter| over[ROUNDS * quarter / 4]);
        let [plain, observed] = medians.map(duration_f);
        table.row([name.to_owned(), plain, observed, ratio(Some(middle), low, high)]);
    }
    println!("{}", table.text(usize::MAX, Paint::default()));
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The nanoseconds that the program prints.
fn measure(program: &Path, arguments: &[&str], is_observed: bool) -> f64 {
    let mut command = Command::new(program);
    if is_observed {
        command = Command::new(env!("CARGO_BIN_EXE_unc"));
        command.args(["run", "--quiet", "--no-history", "--"]).arg(program);
    }
    let output = command.args(arguments).output().expect("the program can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a figure")
}

fn compile() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/bench_many.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench_many");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let flags = ["-O2", "-pthread", "-o"];
    let compiled = Command::new(compiler).args(flags).args([&program, &source]).status();
    assert!(compiled.expect("a C compiler").success(), "it compiles");
    program
}
