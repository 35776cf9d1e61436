//! Limits that keep `unc` from its work: what would help, in words.

use crate::files::why;
use std::io::{Error, ErrorKind};
use uncontended_decide::Failure;

/// Open files that a run needs besides its program's.
pub(crate) const FOR_A_RUN: u64 = 24;
/// Those that the programs and tables in the kernel need, and the mapped files of processes.
pub(crate) const FOR_ATTACHING: u64 = 128;

/// Memory that `unc` needs for a small report, in bytes.
const MEMORY: u64 = 100 << 20;

/// Refuses to begin with less memory, or with fewer open files than `files`: names of code would be missing.
pub(crate) fn check(files: u64) -> Result<(), Failure> {
    let list = match std::fs::read_to_string("/proc/self/limits") {
        Ok(list) => list,
        Err(error) if is_of_files(&error) => "Max open files 0".to_owned(),
        Err(_) => return Ok(()),
    };
    let is_below = |name, needed| limit(&list, name).is_some_and(|limit| limit < needed);
    let refused = |needed: String, remedy| {
        Err(Failure::new(format!("unc needs {needed}, which is more than the limit"), remedy))
    };
    if is_below("Max open files", files) {
        return refused(format!("{files} open files"), "raise it: `ulimit -n 1024`");
    }
    if is_below("Max address space", MEMORY) {
        let needed = format!("{} MiB of memory", MEMORY >> 20);
        return refused(needed, "raise it: `ulimit -v unlimited`");
    }
    Ok(())
}

/// The limit in force, of the list in /proc/self/limits; none if there is none.
fn limit(list: &str, name: &str) -> Option<u64> {
    let line = list.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn is_of_files(error: &Error) -> bool {
    const MACHINE: i32 = 23; // ENFILE
    const PROCESS: i32 = 24; // EMFILE
    [Some(MACHINE), Some(PROCESS)].contains(&error.raw_os_error())
}

/// That `what` could not be done; if a limit is why, with what would help.
pub(crate) fn could_not(what: &str, error: &Error) -> Failure {
    Failure::new(format!("could not {what}: {}", why(error)), remedy(error).unwrap_or_default())
}

/// What would help, if a limit is why something failed.
pub(crate) fn remedy(error: &Error) -> Option<&'static str> {
    const AGAIN: i32 = 11; // EAGAIN: of a fork.
    match error.kind() {
        ErrorKind::FileTooLarge => Some("raise `ulimit -f`: the file size limit applies to it"),
        ErrorKind::OutOfMemory => {
            Some("raise the limit of memory, if one is set: `ulimit -v unlimited`")
        }
        _ if is_of_files(error) => Some("raise the limit of open files: `ulimit -n 1024`"),
        _ if error.raw_os_error() == Some(AGAIN) => {
            Some("raise the limit of processes: `ulimit -u` in bash, `prlimit --nproc`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let list = "Max open files            1024                 4096 files\nMax x  unlimited  1 bytes\n";
        assert_eq!([limit(list, "Max open files"), limit(list, "Max x")], [Some(1024), None]);
        assert!(check(1).is_ok());
        assert!(check(u64::MAX).unwrap_err().remedy.contains("ulimit -n"));
    }

    #[test]
    fn each_limit_has_a_remedy_and_another_failure_has_none() {
        for (number, part) in [(27, "-f"), (12, "-v"), (24, "-n"), (23, "-n"), (11, "-u")] {
            let failure = could_not("try", &Error::from_raw_os_error(number));
            assert!(failure.remedy.contains(&format!("ulimit {part}")), "{failure}");
        }
        assert_eq!(remedy(&Error::from_raw_os_error(13)), None);
    }
}
