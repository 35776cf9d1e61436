//! What `rtla osnoise` says of each CPU: the kernel's own tracer of noise, where it is installed and may run.
//!
//! # Contract
//! [`run`] starts `rtla osnoise top`, waits for its end, and kills it if it takes [`GRACE`] longer than it was told, or
//! if the survey is interrupted. Of its output, lines are read that begin with a number and a number of periods.
//! # Sources
//! rtla-osnoise-top(1); Documentation/trace/osnoise-tracer.rst.

use serde::Serialize;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use uncontended_figures::text::{escaped, fit};

/// What it may take to start and to end.
const GRACE: Duration = Duration::from_secs(5);

/// Noise of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Noise {
    /// How long the tracer ran.
    pub runtime_ns: u64,
    /// The noise of that time.
    pub noise_ns: u64,
    /// The most noise of a period.
    pub max_noise_ns: u64,
    /// The longest single noise.
    pub max_single_ns: u64,
    /// Noises of the hardware: neither the kernel nor a thread.
    pub hardware: u64,
    /// Non-maskable interrupts.
    pub nmi: u64,
    /// Interrupts.
    pub irq: u64,
    /// Softirqs.
    pub softirq: u64,
    /// Other threads.
    pub thread: u64,
}

const NOT_INSTALLED: &str = "it is not installed";

/// Runs `program` for this long.
///
/// # Errors
/// Why it says nothing: it is not installed, not permitted, or not supported by the kernel.
pub(crate) fn run(
    program: &str,
    time: Duration,
    is_over: fn() -> bool,
) -> Result<BTreeMap<usize, Noise>, String> {
    let seconds = format!("{}s", time.as_secs().max(1));
    let child = Command::new(program)
        .args(["osnoise", "top", "-q", "-d", &seconds])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NOT_INSTALLED.to_owned(),
        // What exec(2) says of a program that is nowhere, if one folder of the path cannot be searched.
        std::io::ErrorKind::PermissionDenied if !is_found(program) => NOT_INSTALLED.to_owned(),
        _ => format!("it cannot be started: {error}"),
    })?;
    let (stdout, stderr) = (drained(child.stdout.take()), drained(child.stderr.take()));
    let status = ended(&mut child, time + GRACE, is_over);
    let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    let noise = parse(&stdout);
    match status? {
        status if status.success() && !noise.is_empty() => Ok(noise),
        _ => {
            let told =
                stderr.lines().chain(stdout.lines()).map(str::trim).find(|line| !line.is_empty());
            Err(told.map_or_else(|| "it says nothing".to_owned(), |line| fit(&escaped(line), 200)))
        }
    }
}

/// Whether a folder of the path has the program, or its own path leads to it.
fn is_found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // With a slash in it, a program's path is taken from the working directory.
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    if program.contains('/') {
        folders = vec![".".into()];
    }
    folders.iter().any(|folder| folder.join(program).is_file())
}

/// Reads to the end aside, so that the program never waits for its reader.
fn drained(stream: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read before an error is all that there is.
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end; kills a program that does not end in time.
fn ended(
    child: &mut Child,
    limit: Duration,
    is_over: fn() -> bool,
) -> Result<std::process::ExitStatus, String> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        let why = match () {
            () if is_over() => "interrupted",
            () if Instant::now() >= end => "it did not end in time",
            () => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = child.wait();
        return Err(why.to_owned());
    }
}

/// The lines of CPUs: number, periods, runtime, noise, share available, most of a period, longest single, and counts.
fn parse(text: &str) -> BTreeMap<usize, Noise> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [cpu, periods, runtime, noise, _, max_noise, max_single, counts @ ..] = &words[..]
        else {
            return None;
        };
        periods.strip_prefix('#')?;
        let us = |text: &str| text.parse::<u64>().ok()?.checked_mul(1_000);
        // An older kernel leaves out the first count, of the hardware.
        let count = |from_end: usize| {
            counts.len().checked_sub(from_end).map_or(Some(0), |at| counts[at].parse().ok())
        };
        let noise = Noise {
            runtime_ns: us(runtime)?,
            noise_ns: us(noise)?,
            max_noise_ns: us(max_noise)?,
            max_single_ns: us(max_single)?,
            hardware: count(5)?,
            nmi: count(4)?,
            irq: count(3)?,
            softirq: count(2)?,
            thread: count(1)?,
        };
        Some((cpu.parse().ok()?, noise))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::Folder;

    const SAMPLE: &str = "                                        Operating System Noise
duration:   0 00:01:00 | time is in us
CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI          IRQ      Softirq       Thread
  0 #59         53100000       304896    99.42580        6978           56         549            0        53111         1590           13
 17 #59         53100000       338339    99.36282        8092           24         399            1        53130         1448           31
";

    #[test]
    fn the_manuals_example_is_read() {
        let found = parse(SAMPLE);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 17]);
        let expected = Noise {
            runtime_ns: 53_100_000_000,
            noise_ns: 338_339_000,
            max_noise_ns: 8_092_000,
            max_single_ns: 24_000,
            hardware: 399,
            nmi: 1,
            irq: 53_130,
            softirq: 1_448,
            thread: 31,
        };
        assert_eq!(found[&17], expected);
        assert!(parse("CPU 0 is #1\n 0 #5 1 2 3\n\n0 #1 a b c d e f g h i j").is_empty());
    }

    /// A folder of the path that cannot be searched makes exec(2) refuse a program that is nowhere.
    #[test]
    fn a_program_is_found_by_the_path_or_by_its_own() {
        assert!(is_found("sh") && is_found("/bin/sh"));
        assert!(!is_found("no-such-program-of-unc") && !is_found("/no/such/program"));
    }

    /// A program of that name in a folder, which does this.
    fn program(folder: &Folder, does: &str) -> String {
        let path = folder.file("rtla");
        // A file that this process has open for writing, as a child of another test may have, cannot be run.
        let write = format!("cat > '{path}' <<'END'\n#!/bin/sh\n{does}\nEND\nchmod 755 '{path}'");
        assert!(Command::new("sh").args(["-c", &write]).status().unwrap().success());
        path
    }

    #[test]
    fn why_it_says_nothing_is_told() {
        let folder = Folder::new();
        let second = Duration::from_secs(1);
        let of = |does: &str| run(&program(&folder, does), second, || false);
        assert_eq!(of(&format!("cat <<'E'\n{SAMPLE}E")).unwrap().len(), 2);
        let asked = of("[ \"$*\" = 'osnoise top -q -d 1s' ] || echo asked $*").unwrap_err();
        assert_eq!(asked, "it says nothing");
        assert_eq!(of("echo; echo no tracer >&2; exit 1").unwrap_err(), "no tracer");
        let absent = run(&folder.file("absent"), second, || false).unwrap_err();
        assert_eq!(absent, "it is not installed");
        let begun = Instant::now();
        let over = run(&program(&folder, "exec sleep 60"), second, || true).unwrap_err();
        assert!(over == "interrupted" && begun.elapsed() < second * 30, "{over}");
    }
}
