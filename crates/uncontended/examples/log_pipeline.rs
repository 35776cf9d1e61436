//! A log pipeline: threads that must not wait for a disk pass finished lines to one that may.
//!
//!     cargo run --release -p uncontended --example log_pipeline [FILE]
//!
//! Four workers push lines into one ring of bytes; a writer pops and writes them, and sleeps when there are none. At
//! the end the file is read back: no line is lost, torn, or out of its worker's order.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;
use uncontended::ring::records::mpsc;
use uncontended::wait::Sleepers;

const WORKERS: usize = 4;
const LINES: usize = 50_000;
const RING_BYTES: usize = 256 * 1024;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let path = given.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("log_pipeline.{}", std::process::id()))
    });
    let (first, consumer) = mpsc::blocking(RING_BYTES)?;
    let mut producers = vec![first.clone(); WORKERS - 1];
    producers.push(first);
    let begun = Instant::now();
    let file = File::create(&path)?;
    let writer = thread::spawn(move || write(consumer, file));
    let workers: Vec<_> = producers
        .into_iter()
        .enumerate()
        .map(|(worker, producer)| thread::spawn(move || work(worker, producer)))
        .collect();
    for worker in workers {
        worker.join().expect("a worker does not panic")?;
    }
    // All producers are gone, so the writer finishes.
    let written = writer.join().expect("the writer does not panic")?;
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!((written, read_again(&path)?), (WORKERS * LINES, WORKERS * LINES));
    println!(
        "{written} lines in {:.0} ms: {:.2} million a second",
        seconds * 1e3,
        written as f64 / seconds / 1e6
    );
    match given {
        Some(path) => println!("{}", path.display()),
        None => std::fs::remove_file(path)?,
    }
    Ok(())
}

/// Logs lines of different lengths.
fn work(
    worker: usize,
    mut log: mpsc::Producer<Sleepers>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut line = Vec::new();
    for number in 0..LINES {
        line.clear();
        writeln!(line, "{worker} {number} {}", ".".repeat(number % 60))?;
        log.push_wait(&line)?;
    }
    Ok(())
}

/// Writes lines until all loggers are gone; returns their number.
fn write(mut log: mpsc::Consumer<Sleepers>, file: File) -> std::io::Result<usize> {
    let mut out = BufWriter::new(file);
    let mut count = 0;
    while let Ok(line) = log.read_wait() {
        out.write_all(&line)?;
        line.release();
        count += 1;
    }
    out.flush()?;
    Ok(count)
}

/// Checks the file, and returns its number of lines.
fn read_again(path: &Path) -> Result<usize, Box<dyn Error + Send + Sync>> {
    let mut next = [0; WORKERS];
    for line in BufReader::new(File::open(path)?).lines() {
        let line = line?;
        let mut words = line.split(' ');
        let mut number = || words.next().unwrap_or_default().parse::<usize>();
        let (worker, number) = (number()?, number()?);
        assert_eq!(number, next[worker], "worker {worker} wrote in order");
        assert_eq!(words.next().map(str::len), Some(number % 60), "the line is whole");
        next[worker] += 1;
    }
    Ok(next.iter().sum())
}
