//! From where a program is watched: from inside, by the observer that is loaded into it, or by the kernel.
//!
//! # Contract
//! The observer sees the C library's locks, who holds them and for how long; the kernel sees every futex wait, and who
//! ended it. `--source` says which; else the kernel watches where the observer cannot be loaded, and programs that are
//! linked with gcc's OpenMP runtime, whose threads wait by system calls of its own. If it may not, a line says what it
//! needs, and the observer does what it can.

use super::plan::{Plan, Refusal};
use super::program::Obstacle;
use crate::attach;
use object::{Object, ObjectSection};
use std::path::Path;
use uncontended_attach::{Attach, Cannot};
use uncontended_trace::setup::Holds;

/// From where a program is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Preload,
    Kernel,
}

/// The OpenMP runtime of gcc. That of clang (libomp) sleeps by the C library's functions.
const RUNTIME: &str = "libgomp.so";

/// The watch on a program from outside.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// The kernel, if that is the way and it may.
    pub(crate) watch: Option<Attach>,
    /// What it takes, of a program that is not observed either.
    pub(crate) remedy: Option<String>,
}

/// The remedy where a flag asks for an observer that cannot be loaded.
const NOT_PRELOAD: &str = "without --source preload, the kernel watches it (as root)";

/// Lets the kernel watch the program, if that is the way. `obstacle` is why the observer cannot, and `has_runtime`
/// whether it is linked with gcc's OpenMP runtime.
pub(crate) fn outside(
    plan: &Plan,
    has_runtime: bool,
    obstacle: Option<Obstacle>,
) -> Result<Outside, Refusal> {
    let name = plan.command[0].to_string_lossy();
    // The kernel has other tracepoints for the calls of 32-bit programs.
    let is_foreign = obstacle == Some(Obstacle::OtherMachine);
    match (plan.source, obstacle) {
        (Some(Source::Kernel), _) if !is_foreign => {
            let watch = Attach::new().map_err(|cannot| attach::failure(&cannot))?;
            Ok(Outside { watch: Some(watch), remedy: None })
        }
        (_, Some(obstacle)) if is_foreign => {
            eprintln!("unc: {name} runs unobserved: {}", obstacle.reason());
            Ok(Outside::default())
        }
        (Some(Source::Preload), Some(obstacle)) => Ok(unobserved(&name, obstacle, NOT_PRELOAD)),
        (_, Some(obstacle)) => Ok(instead(&name, obstacle)),
        (None, None) if plan.holds == Holds::Waited && !plan.lock_order && has_runtime => {
            Ok(Outside { watch: of_openmp(&name), remedy: None })
        }
        _ => Ok(Outside::default()),
    }
}

/// Why a program is not observed, to follow "because".
pub(crate) fn why_unobserved(obstacle: Obstacle, remedy: Option<&str>) -> String {
    let reason = obstacle.reason();
    remedy.map_or_else(|| reason.to_owned(), |remedy| format!("{reason}; {remedy}"))
}

fn unobserved(name: &str, obstacle: Obstacle, remedy: &str) -> Outside {
    eprintln!("unc: {name} runs unobserved: {}", why_unobserved(obstacle, Some(remedy)));
    Outside { watch: None, remedy: Some(remedy.to_owned()) }
}

/// The kernel, in place of an observer that cannot be loaded.
fn instead(name: &str, obstacle: Obstacle) -> Outside {
    match Attach::new() {
        Ok(watch) => {
            let reason = obstacle.reason();
            eprintln!("unc: {name}: {reason}; the kernel watches its futex waits instead");
            Outside { watch: Some(watch), remedy: None }
        }
        Err(Cannot { cause, remedy }) => unobserved(name, obstacle, &format!("{cause}: {remedy}")),
    }
}

/// The kernel, for a program that uses gcc's OpenMP runtime.
fn of_openmp(name: &str) -> Option<Attach> {
    let reason = format!("its OpenMP runtime ({RUNTIME}) waits by system calls of its own");
    match Attach::new() {
        Ok(attach) => {
            eprintln!(
                "unc: {name}: {reason}; the kernel watches all its futex waits (--source preload: \
                 the C library's locks alone)"
            );
            Some(attach)
        }
        Err(Cannot { cause, remedy }) => {
            eprintln!("unc: {name}: {reason}, which are not seen; {cause}: {remedy}");
            None
        }
    }
}

/// Whether the program in `path` is linked with gcc's OpenMP runtime.
pub(super) fn has_runtime(path: &Path) -> bool {
    let names = || {
        let cache = object::ReadCache::new(std::fs::File::open(path).ok()?);
        let program = object::File::parse(&cache).ok()?;
        // The names of libraries are there too, not only those of symbols.
        let names = program.section_by_name(".dynstr")?.data().ok()?;
        let mut names = names.split(|&byte| byte == 0);
        Some(names.any(|name| name.starts_with(RUNTIME.as_bytes())))
    };
    names() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_without_openmp_and_files_that_are_no_programs_have_no_runtime() {
        for path in ["/bin/sh", "/proc/self/exe", "/etc/passwd", "/nowhere", "/"] {
            assert!(!has_runtime(Path::new(path)), "{path}");
        }
    }
}
