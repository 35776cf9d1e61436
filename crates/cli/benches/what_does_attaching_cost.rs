//! Question: what does `unc attach` add to a futex call of the program?
//!
//! One program makes blocks of 100,000 calls, with and without `unc attach`, each pair of blocks in the other order
//! than the pair before: calls that sleep and wake another thread, and calls that return at once. Printed are medians
//! and quartiles, over the pairs, of what a call takes more, as CPU time of the program and as wall time, and what the
//! former is of a CPU at 100,000 calls a second. Needs root. `cargo bench -p uncontended-cli --bench
//! what_does_attaching_cost`

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use uncontended_figures::duration_f;

const PAIRS: usize = 30;
const CALLS: u32 = 100_000;

/// The program, ready for the next block.
struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start() -> Self {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/bench_futexes.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench_futexes");
        let mut compiler = Command::new("cc");
        let compiled = compiler.args(["-O2", "-pthread", "-o"]).arg(&program).arg(source);
        assert!(compiled.status().expect("a C compiler").success());
        let mut command = Command::new(program);
        command.arg(CALLS.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().unwrap());
        Program { child, output }
    }

    /// CPU and wall nanoseconds per call of a block.
    fn block(&mut self, kind: &str) -> [f64; 2] {
        writeln!(self.child.stdin.as_mut().unwrap(), "{kind}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let (cpu, wall) = line.trim().split_once(' ').expect("two figures");
        [cpu, wall].map(|figure| figure.parse::<f64>().unwrap() / f64::from(CALLS))
    }

    /// The same while it is watched; nothing if it may not be.
    fn watched_block(&mut self, kind: &str) -> Option<[f64; 2]> {
        let mut unc = Command::new(env!("CARGO_BIN_EXE_unc"));
        unc.args(["attach", "--no-history"]).arg(self.child.id().to_string());
        let mut unc = unc.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(unc.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        if !line.contains("watching") {
            uncontended_testkit::skip!("what_does_attaching_cost", "{}", line.trim());
            unc.wait().unwrap();
            return None;
        }
        let cost = self.block(kind);
        let ended = Command::new("kill").args(["-INT", &unc.id().to_string()]).status().unwrap();
        assert!(ended.success());
        said.read_to_string(&mut line).unwrap();
        assert!(unc.wait().unwrap().success());
        Some(cost)
    }
}

/// The quartiles.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|nth| values[values.len() * nth / 4])
}

fn main() {
    let mut program = Program::start();
    for (kind, name) in [("s", "sleep and wake"), ("r", "return at once")] {
        program.block(kind);
        let (mut plain, mut more) = (Vec::new(), [Vec::new(), Vec::new()]);
        for pair in 0..PAIRS {
            let first = (pair % 2 == 0).then(|| program.block(kind));
            let Some(watched) = program.watched_block(kind) else { return };
            let alone = first.unwrap_or_else(|| program.block(kind));
            plain.push(alone[0]);
            for (nth, more) in more.iter_mut().enumerate() {
                more.push(watched[nth] - alone[nth]);
            }
        }
        let [_, plain, _] = quartiles(plain);
        println!("{name}: {} of CPU time a call", duration_f(plain));
        for (more, clock) in more.into_iter().zip(["CPU time", "wall time"]) {
            let [low, median, high] = quartiles(more).map(|ns| format!("{ns:.0} ns"));
            println!("  more {clock} while it is watched: {median} ({low} to {high})");
            if clock == "CPU time" {
                let ns: f64 = median.trim_end_matches(" ns").parse().unwrap();
                println!("  at 100,000 calls a second: {:.1} % of a CPU", ns * 1e5 / 1e9 * 100.0);
            }
        }
    }
    drop(program.child.stdin.take());
    program.child.wait().unwrap();
}
