//! Question: what does observing cost a server under load: memcached with four threads?
//!
//! Four clients, one connection each, send gets and every tenth time a set, and wait for each answer. Every round runs
//! all subjects in turn, each as a fresh server: plain, plain again (the difference between equals), under `unc run`,
//! without holds, and with a report, for which root also watches the kernel's futexes. Printed: the server's own CPU
//! time and the clients' wall time per request, as the median of the rounds, and the median and quartiles of their
//! ratios to the first plain run of the round. Server and clients share the machine. Both figures exclude the server's
//! start and end, and a warm-up of a quarter as many requests, in which each thread takes most locks for the first
//! time. `cargo bench -p uncontended-cli --bench what_does_observing_memcached_cost`

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{duration_f, ratio};

const CLIENTS: usize = 4;
/// One request in this many is a set.
const SET_EVERY: usize = 10;
const KEYS: usize = 1000;
const VALUE: [u8; 100] = [b'v'; 100];

fn main() {
    let setting =
        |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (rounds, requests) = (setting("ROUNDS", 15), setting("REQUESTS", 20_000));
    if Command::new("memcached").arg("--version").stdout(Stdio::null()).status().is_err() {
        return uncontended_testkit::skip!("memcached", "it is not installed");
    }
    let unc = |flags: &'static [&'static str]| {
        [env!("CARGO_BIN_EXE_unc"), "run", "--no-history"]
            .iter()
            .chain(flags)
            .chain(&["--"])
            .copied()
    };
    let subjects: [(&str, Vec<&str>); 5] = [
        ("plain", vec![]),
        ("plain again", vec![]),
        ("unc run", unc(&["--quiet"]).collect()),
        ("unc run --no-hold", unc(&["--quiet", "--no-hold"]).collect()),
        ("unc run, reporting", unc(&[]).collect()),
    ];
    let rounds: Vec<Vec<Cost>> = (0..rounds)
        .map(|_| {
            subjects
                .iter()
                .map(|(_, before)| measure(before, requests).expect("memcached serves"))
                .collect()
        })
        .collect();
    println!("{} rounds of {} requests", rounds.len(), CLIENTS * requests);
    let figures = ["CPU", "ratio and quartiles", "wall", "ratio and quartiles"].map(Column::figure);
    let mut table = Table::new([&[Column::word("")][..], &figures].concat());
    for (at, (name, _)) in subjects.iter().enumerate() {
        let mut cells = vec![(*name).to_owned()];
        for figure in [|cost: &Cost| cost.cpu_us, |cost: &Cost| cost.wall_us] {
            let all = sorted(rounds.iter().map(|round| figure(&round[at])));
            let ratios = sorted(rounds.iter().map(|round| figure(&round[at]) / figure(&round[0])));
            let of = |share: usize| ratios[(ratios.len() - 1) * share / 4];
            cells.push(duration_f(all[all.len() / 2] * 1e3));
            cells.push(ratio(Some(of(2)), of(1), of(3)));
        }
        table.row(cells);
    }
    print!("{}", table.text(usize::MAX, Paint::default()));
}

/// Microseconds per request.
struct Cost {
    cpu_us: f64,
    wall_us: f64,
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Starts a server behind the words `before`, loads it with this many requests from each client, and ends it.
fn measure(before: &[&str], requests: usize) -> io::Result<Cost> {
    let socket = std::env::temp_dir().join(format!("unc-memcached-{}", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let mut server = start(before, &socket)?;
    let mut control = connect(&socket)?;
    for key in 0..KEYS {
        set(&mut control, key)?;
    }
    let mut clients = (0..CLIENTS).map(|_| connect(&socket)).collect::<io::Result<Vec<_>>>()?;
    load_all(&mut clients, requests / 4)?;
    let (cpu, begun) = (cpu_us(&mut control)?, Instant::now());
    load_all(&mut clients, requests)?;
    let wall_us = begun.elapsed().as_secs_f64() * 1e6;
    let cpu = cpu_us(&mut control)? - cpu;
    control.write_all(b"shutdown\r\n")?;
    server.wait()?;
    let all = (CLIENTS * requests) as f64;
    Ok(Cost { cpu_us: cpu / all, wall_us: wall_us / all })
}

fn start(before: &[&str], socket: &Path) -> io::Result<Child> {
    let words = ["memcached", "-A", "-U", "0", "-t", "4", "-u", "root", "-s"];
    let mut words = before.iter().copied().chain(words);
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).arg(socket).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()
}

fn connect(socket: &PathBuf) -> io::Result<UnixStream> {
    for _ in 0..500 {
        if let Ok(stream) = UnixStream::connect(socket) {
            return Ok(stream);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    UnixStream::connect(socket)
}

fn set(stream: &mut UnixStream, key: usize) -> io::Result<()> {
    stream.write_all(&request(key, true))?;
    stream.read_exact(&mut [0; STORED.len()])
}

const STORED: &[u8] = b"STORED\r\n";

/// A request for a key of fixed length, so that the length of the answer is known.
fn request(key: usize, sets: bool) -> Vec<u8> {
    match sets {
        true => {
            let mut text = format!("set key{key:06} 0 0 {}\r\n", VALUE.len()).into_bytes();
            text.extend(VALUE);
            text.extend(b"\r\n");
            text
        }
        false => format!("get key{key:06}\r\n").into_bytes(),
    }
}

fn answer_length(sets: bool) -> usize {
    if sets { STORED.len() } else { b"VALUE key000000 0 100\r\n\r\nEND\r\n".len() + VALUE.len() }
}

/// Runs all clients at once.
fn load_all(clients: &mut [UnixStream], requests: usize) -> io::Result<()> {
    std::thread::scope(|scope| {
        let loads: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(client, stream)| scope.spawn(move || load(stream, client, requests)))
            .collect();
        loads.into_iter().try_for_each(|load| load.join().expect("a client does not panic"))
    })
}

fn load(stream: &mut UnixStream, client: usize, requests: usize) -> io::Result<()> {
    let mut state = client as u64 + 1;
    let mut answer = vec![0; answer_length(false)];
    for number in 0..requests {
        let sets = number % SET_EVERY == 0;
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        stream.write_all(&request((state >> 33) as usize % KEYS, sets))?;
        stream.read_exact(&mut answer[..answer_length(sets)])?;
    }
    Ok(())
}

/// The server's CPU time so far, as reported by the server.
fn cpu_us(control: &mut UnixStream) -> io::Result<f64> {
    control.write_all(b"stats\r\n")?;
    let mut cpu = 0.0;
    for line in BufReader::new(control).lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["END"] => break,
            ["STAT", "rusage_user" | "rusage_system", seconds] => {
                cpu += seconds.parse::<f64>().unwrap_or(0.0) * 1e6;
            }
            _ => {}
        }
    }
    Ok(cpu)
}
