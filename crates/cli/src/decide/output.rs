//! Delivers a verdict: the line on the terminal, JSON, Markdown, HTML.
//!
//! # Contract
//! The verdict goes to standard output, or to standard error if `--json -` takes standard output. A failure prints no
//! verdict line, and its JSON says `error`.

use super::tell;
use crate::commands::flags::OutputFlags;
use crate::failure::Failure;
use crate::run::output::Output;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::record::Stop;
use uncontended_decide::verdict::{Answer, SCHEMA, Verdict};
use uncontended_figures::text::wrap;
use uncontended_report::verdict::{human, markdown, page::page};

/// A file and what names it.
pub(crate) type Named<'a> = (&'a str, Option<&'a Path>);

/// Runs `judge`, delivers the verdict in every requested form, and returns the exit status.
pub(crate) fn deliver(
    judge: impl FnOnce() -> Result<Verdict, Failure>,
    output: &OutputFlags,
    log: Option<&Path>,
    read: &[Named<'_>],
) -> ExitCode {
    if let Err(failure) = output.distinct(&[("--log", log)], read) {
        return refuse(SCHEMA, &failure, output.json.as_deref());
    }
    let result = output
        .writable()
        .and_then(|()| judge())
        .and_then(|mut verdict| write_all(&mut verdict, output).map(|()| verdict));
    let verdict = match result {
        Ok(verdict) => verdict,
        Err(failure) => {
            tell(&format!("{failure}\n"));
            // The failure itself is what counts; a second one while reporting it adds nothing.
            let _ = write_failure(SCHEMA, &failure, output.json.as_deref());
            return ExitCode::from(Answer::Error.exit_status());
        }
    };
    if verdict.stopped_by == Stop::Interrupted
        && let Some(signal) = uncontended_sys::interrupts::received()
    {
        uncontended_sys::interrupts::die_by(signal);
    }
    ExitCode::from(verdict.finding.verdict.exit_status())
}

/// A verdict as JSON.
pub(crate) fn json(verdict: &mut Verdict) -> Result<serde_json::Value, Failure> {
    if verdict.log.is_some() {
        verdict.runs = None; // The log has them.
    }
    serde_json::to_value(verdict)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}"), ""))
}

fn write_all(verdict: &mut Verdict, output: &OutputFlags) -> Result<(), Failure> {
    say(&human(verdict), to_stdout(output))?;
    if let Some(path) = &output.html {
        write_file(path, &page(verdict, verdict.runs.as_deref().unwrap_or_default())?)?;
    }
    if let Some(path) = &output.json {
        write_file(path, &format!("{:#}\n", json(verdict)?))?;
    }
    if let Some(path) = &output.markdown {
        write_file(path, &markdown(verdict))?;
    }
    Ok(())
}

/// Prints for people: to standard output, or to standard error if JSON takes standard output. A closed pipe is not an
/// error; the exit status still carries the verdict.
pub(crate) fn say(text: &str, for_json: bool) -> Result<(), Failure> {
    let printed = match for_json {
        true => std::io::stderr().write_all(on(&std::io::stderr(), text).as_bytes()),
        false => std::io::stdout().write_all(on(&std::io::stdout(), text).as_bytes()),
    };
    unless_nobody_reads(printed).map_err(|error| Failure::new(format!("cannot print: {error}"), ""))
}

/// Wraps the lines of `text` if `stream` is a terminal.
fn on(stream: &impl AsFd, text: &str) -> String {
    let Some((width, _)) = terminal_size::terminal_size_of(stream) else { return text.to_string() };
    let width = usize::from(width.0).max(20);
    let wrapped = text.lines().map(|line| match line.len() <= width {
        true => format!("{line}\n"),
        false => {
            let indent = &line[..line.len() - line.trim_start().len()];
            wrap(line, indent, width)
        }
    });
    wrapped.collect()
}

fn unless_nobody_reads(printed: std::io::Result<()>) -> std::io::Result<()> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Whether JSON goes to standard output.
fn to_stdout(output: &OutputFlags) -> bool {
    output.json.as_deref() == Some(Path::new("-"))
}

/// Reports that the files of a command clash. No file is written: it might be the one that must not be.
pub(crate) fn refuse(schema: &str, failure: &Failure, json: Option<&Path>) -> ExitCode {
    tell(&format!("{failure}\n"));
    // The failure itself is what counts; a second one while reporting it adds nothing.
    let _ = write_failure(schema, failure, json.filter(|path| *path == Path::new("-")));
    ExitCode::from(Answer::Error.exit_status())
}

/// Refuses, before anything is read or run, a file to write that is also one of the others. `-` among those `read` is
/// standard input.
pub(crate) fn distinct<'a>(written: &[Named<'a>], read: &[Named<'a>]) -> Result<(), Failure> {
    let named = |(name, path): &Named<'a>| Some((*name, (*path)?));
    let stdin = |path| if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let read = read.iter().filter_map(named).map(|(name, path)| (name, File::at(stdin(path))));
    let mut known: Vec<(&str, File)> = read.collect();
    for (name, path) in written.iter().filter_map(named) {
        let file = File::at(path);
        if file == File::At("/dev/null".into()) {
            continue; // What goes there is lost on purpose, however often.
        }
        if let Some((earlier, _)) = known.iter().find(|(_, other)| *other == file) {
            let cause = format!("{earlier} and {name} both name {}", path.display());
            return Err(Failure::new(cause, "name another file for one of them"));
        }
        known.push((name, file));
    }
    Ok(())
}

/// A file's identity on the system, so that links to one file compare equal.
#[derive(Debug, PartialEq)]
enum File {
    There { device: u64, inode: u64 },
    At(PathBuf),
}

impl File {
    fn at(path: &Path) -> File {
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_file() => File::There { device: facts.dev(), inode: facts.ino() },
            _ => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
                let inside = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
                File::At(inside.unwrap_or(path))
            }
        }
    }
}

/// Refuses, before anything is read or run, a file that cannot be written.
pub(crate) fn writable<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    // Opening and closing a pipe would look like its end to the reader.
    let is_file =
        |path: &Path| std::fs::metadata(path).map_or(true, |at| at.is_file() || at.is_dir());
    let mut files = paths.into_iter().filter(|path| *path != Path::new("-"));
    files.try_for_each(|path| match is_file(path) {
        true => Output::open(path).map(drop),
        false => Ok(()),
    })
}

/// Writes a failure as JSON, if JSON was requested.
pub(crate) fn write_failure(
    schema: &str,
    failure: &Failure,
    json: Option<&Path>,
) -> Result<(), Failure> {
    let Some(path) = json else { return Ok(()) };
    let error = serde_json::json!({
        "schema": schema,
        "verdict": Answer::Error.name(),
        "error": failure.cause,
        "remedy": failure.remedy,
    });
    write_file(path, &format!("{error:#}\n"))
}

/// Writes a file, or to standard output for `-`.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let written = match path == Path::new("-") {
        true => unless_nobody_reads(std::io::stdout().write_all(text.as_bytes())),
        false => std::fs::write(path, text),
    };
    written.map_err(|error| Failure::new(format!("{}: {error}", path.display()), ""))
}
