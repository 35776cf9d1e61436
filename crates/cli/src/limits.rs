//! Limits that keep `unc` from its work: what would help, in words.

use crate::files::why;
use std::io::{Error, ErrorKind};
use uncontended_decide::Failure;

/// Whether the limit on open files is why something failed.
pub(crate) fn is_of_files(error: &Error) -> bool {
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
    match error.kind() {
        ErrorKind::FileTooLarge => Some("raise `ulimit -f`: the file size limit applies to it"),
        ErrorKind::OutOfMemory => {
            Some("raise the limit of memory, if one is set: `ulimit -v unlimited`")
        }
        _ if is_of_files(error) => Some("raise the limit of open files: `ulimit -n 1024`"),
        // EAGAIN: of a fork.
        ErrorKind::WouldBlock => {
            Some("raise the limit of processes: `ulimit -u` in bash, `prlimit --nproc`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_a_remedy_and_another_failure_has_none() {
        for (number, part) in [(27, "-f"), (12, "-v"), (24, "-n"), (23, "-n"), (11, "-u")] {
            let failure = could_not("try", &Error::from_raw_os_error(number));
            assert!(failure.remedy.contains(&format!("ulimit {part}")), "{failure}");
        }
        assert_eq!(remedy(&Error::from_raw_os_error(13)), None);
    }
}
