//! Our code next to its rivals, one file per question: `-- --list` lists the questions, `-- QUESTION [flags]` answers
//! one.

mod beside_hyperfine;
mod evidence;
mod histories;
mod how_fast_is_sampling;
mod l1_locks;
mod l2_readers;
mod loom_outcomes;
mod m1_read;
mod m2_retire;
mod m3_asleep;
mod m4_ping;
mod p1_count;
mod p2_lists;
mod r10_one_way;
mod r11_many_one_way;
mod r12_tasks;
mod r1_stream;
mod r2_bursts;
mod r3_ping_pong;
mod r4_idle;
mod r5_broadcast;
mod r6_one_cpu;
mod r7_many_producers;
mod r8_idle_workers;
mod r9_many_to_many;
mod rivals;
mod robbins;
mod track;
mod u1_publish;
mod u2_wake;

use std::process::ExitCode;
use uncontended_bench::{Bench, Options};

/// A question: its name, what it answers, and its code.
type Question = (&'static str, &'static str, fn(&[String]) -> Result<(), String>);

#[rustfmt::skip]
const QUESTIONS: &[Question] = &[
    ("u1_publish", "what does it cost to publish when no thread waits", u1_publish::main),
    ("u2_wake", "what does it cost to wake one sleeper, and when does it run", u2_wake::main),
    ("r1_stream", "how many items a second does a stream carry", r1_stream::main),
    ("r2_bursts", "what does an item cost when items come in bursts", r2_bursts::main),
    ("r3_ping_pong", "how long does a message take there and back", r3_ping_pong::main),
    ("r4_idle", "what does a consumer cost that has nothing to do", r4_idle::main),
    ("r5_broadcast", "how many items a second reach two consumers on two CPUs", r5_broadcast::main),
    ("r6_one_cpu", "how much slower is a stream whose ends share a CPU", r6_one_cpu::main),
    ("r7_many_producers", "how many items a second many producers hand to one consumer", r7_many_producers::main),
    ("r8_idle_workers", "what does an item cost that goes to one of many idle workers", r8_idle_workers::main),
    ("r9_many_to_many", "how many items a second many producers hand to many consumers", r9_many_to_many::main),
    ("r10_one_way", "how long is an item under way when items come at a given rate", r10_one_way::main),
    ("r11_many_one_way", "how long is an item of one of many producers under way", r11_many_one_way::main),
    ("r12_tasks", "what does an item cost between a thread and a task", r12_tasks::main),
    ("l1_locks", "what does a lock cost, free and wanted by several threads", l1_locks::main),
    ("l2_readers", "what does it cost to read a value that others read, and some write", l2_readers::main),
    ("p1_count", "what does it cost to count what several CPUs do", p1_count::main),
    ("p2_lists", "what does a buffer cost that comes from a free list", p2_lists::main),
    ("m1_read", "what does it cost to read what another thread may free", m1_read::main),
    ("m2_retire", "what does it cost to replace an object and free it", m2_retire::main),
    ("m3_asleep", "how much garbage waits while a reader sleeps", m3_asleep::main),
    ("m4_ping", "what does it cost to order readers by signals instead of a barrier", m4_ping::main),
    ("robbins", "is the certified bound ever below the truth (for oracles/robbins.py)", robbins::main),
    ("evidence", "is any prior's evidence ever above its integral (for oracles/evidence.py)", evidence::main),
    ("track", "how many false changes are found in a series, and how soon a true one (for oracles/track.py)", track::main),
    ("how_fast_is_sampling", "what does a sample without replacement cost", how_fast_is_sampling::main),
    ("beside_hyperfine", "which tool says sooner whether a command is slower, and is right", beside_hyperfine::main),
    ("histories", "is the search for linearizations as fast as Porcupine's", histories::main),
    ("loom_outcomes", "does the checker of real code find all that loom finds", loom_outcomes::main),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => usage(),
        Some((list, _)) if list == "--list" => {
            let width = QUESTIONS.iter().map(|question| question.0.len()).max().unwrap_or(0);
            QUESTIONS.iter().for_each(|(name, answers, _)| println!("{name:width$}  {answers}"));
            ExitCode::SUCCESS
        }
        Some((name, flags)) => match QUESTIONS.iter().find(|question| question.0 == name) {
            None => {
                eprintln!("{name}: no such question; --list shows them");
                usage()
            }
            Some((.., run)) => run(flags).map_or_else(
                |problem| {
                    eprintln!("{name}: {problem}");
                    ExitCode::from(2)
                },
                |()| ExitCode::SUCCESS,
            ),
        },
    }
}

/// Measures and prints. A rival that fails becomes a row that says so; a subject of ours that fails is an error.
fn answer(bench: Bench, options: &Options) -> Result<(), String> {
    let report = bench.show(options)?;
    let tables = report.tables.iter().filter_map(|table| table.outcome.as_ref().ok());
    let ours = tables.flat_map(|table| &table.rows).filter(|row| row.name.starts_with("ours"));
    let failed: Vec<String> =
        ours.filter_map(|row| Some(format!("{}: {}", row.name, row.failed.as_ref()?))).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: compare --list | QUESTION [flags]\nflags of the benchmarks:\n{}",
        Options::HELP
    );
    ExitCode::from(2)
}
