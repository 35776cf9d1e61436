//! The observer's cost on this machine, measured by `unc` running itself under the observer.

use super::observer::Library;
use super::record::{Kinds, Record};
use std::process::{Command, ExitCode, Stdio};

/// The hidden subcommand that measures and prints.
pub(crate) const SUBCOMMAND: &str = "measure-observer-cost";

/// Nanoseconds that an uncontended lock and unlock takes longer than a plain one where `kinds` are recorded; nothing if
/// that cannot be measured.
pub(crate) fn measure(library: &Library, kinds: Kinds) -> Option<f64> {
    let record = Record::small(kinds).ok()?;
    let mut own = Command::new("/proc/self/exe");
    own.arg(SUBCOMMAND).stdin(Stdio::null()).stderr(Stdio::null());
    own.env("LD_PRELOAD", library.preload(None)).env(Record::VARIABLE, record.path());
    let output = own.output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The measuring process.
pub(crate) fn print() -> ExitCode {
    match uncontended_sys::pair_cost::over_plain_ns() {
        Some(cost) => {
            println!("{cost}");
            ExitCode::SUCCESS
        }
        None => ExitCode::from(2),
    }
}
