//! Why a program cannot be watched from outside, and what would be needed.

use std::io;
use uncontended_sys::bpf::Refused;

/// A reason, and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cannot {
    /// Why, as a sentence without its full stop.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

const PERMISSIONS: &str = "run it as root, or give it CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_ADMIN (for the list of tracepoints)";
const TRACEPOINTS: &str = "it needs a kernel with CONFIG_FTRACE_SYSCALLS, CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and \
    CONFIG_DEBUG_INFO_BTF, since 5.15";

const FULL: &str = "the programs and tables in the kernel need about thirty open files";
const DESCRIPTORS: &str = "raise the limit of open files: `ulimit -n 1024`";

/// Whether there is no room for another open file: of the process, or of the machine.
fn is_full(error: &io::Error) -> bool {
    const MACHINE: i32 = 23; // ENFILE
    const PROCESS: i32 = 24; // EMFILE
    [Some(MACHINE), Some(PROCESS)].contains(&error.raw_os_error())
}

impl Cannot {
    fn new(cause: impl Into<String>, remedy: &str) -> Self {
        Cannot { cause: cause.into(), remedy: remedy.into() }
    }

    pub(crate) fn from_error(error: &io::Error) -> Self {
        let path = "/sys/kernel/security/lockdown";
        Cannot::under_lockdown(error, &std::fs::read_to_string(path).unwrap_or_default())
    }

    /// `lockdown` is what the kernel says of it: all levels, the one in force in brackets.
    fn under_lockdown(error: &io::Error, lockdown: &str) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied if lockdown.contains("[confidentiality]") => {
                Cannot::new(
                    "the kernel is locked down (confidentiality), so no program may be traced",
                    "boot it without `lockdown=confidentiality`",
                )
            }
            io::ErrorKind::PermissionDenied => {
                Cannot::new("tracing futex waits needs permission", PERMISSIONS)
            }
            _ if is_full(error) => Cannot::new(format!("{FULL}: {error}"), DESCRIPTORS),
            _ => Cannot::new(format!("the kernel cannot trace futex waits: {error}"), TRACEPOINTS),
        }
    }

    pub(crate) fn from_tracing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Cannot::from_error(error),
            _ if is_full(error) => Cannot::from_error(error),
            _ => Cannot::new(
                format!("this kernel lacks the tracepoints of futex calls and wakeups: {error}"),
                TRACEPOINTS,
            ),
        }
    }

    pub(crate) fn from_refusal(tracepoint: &str, refused: &Refused) -> Self {
        match refused.error.kind() {
            io::ErrorKind::PermissionDenied if refused.log.is_empty() => {
                Cannot::from_error(&refused.error)
            }
            _ if is_full(&refused.error) => Cannot::from_error(&refused.error),
            _ => {
                let log = refused.log.replace('\n', "; ");
                let error = &refused.error;
                let cause =
                    format!("the kernel refused the program for {tracepoint}: {error}: {log}");
                Cannot::new(cause, TRACEPOINTS)
            }
        }
    }
}

/// Refuses where the kernel's numbers of threads, or the machine, would be others than ours.
pub(crate) fn check() -> Result<(), Cannot> {
    /// The kernel's number for the first PID namespace.
    const FIRST: u64 = 0xEFFF_FFFC;
    if !cfg!(target_arch = "x86_64") {
        let remedy = "on this machine, start the program with `unc run`";
        return Err(Cannot::new("attaching knows the registers of x86-64 only", remedy));
    }
    let namespace = std::fs::metadata("/proc/self/ns/pid").map(|facts| {
        use std::os::unix::fs::MetadataExt as _;
        facts.ino()
    });
    match namespace {
        Ok(number) if number != FIRST => Err(Cannot::new(
            "this is a container's PID namespace, whose numbers the kernel's tracepoints do not use",
            "run `unc attach` outside the container, with the PID that the program has there",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_down_kernel_is_the_cause_only_where_it_is() {
        let denied = io::Error::from_raw_os_error(1);
        let of = |lockdown| Cannot::under_lockdown(&denied, lockdown);
        let locked = of("none integrity [confidentiality]\n");
        assert!(locked.cause.contains("locked down"), "{locked:?}");
        assert!(locked.remedy.contains("lockdown=confidentiality"), "{locked:?}");
        for lockdown in
            ["none [integrity] confidentiality\n", "[none] integrity confidentiality\n", ""]
        {
            assert_eq!(of(lockdown).remedy, PERMISSIONS);
        }
        let other = io::Error::from_raw_os_error(22);
        let other = Cannot::under_lockdown(&other, "none integrity [confidentiality]\n");
        assert_eq!(other.remedy, TRACEPOINTS);
    }

    #[test]
    fn each_reason_has_a_cause_and_a_remedy() {
        let error = |number| io::Error::from_raw_os_error(number);
        let refused = |number, log: &str| Refused { error: error(number), log: log.into() };
        for cannot in [
            Cannot::from_error(&error(1)),
            Cannot::from_error(&error(22)),
            Cannot::from_tracing(&error(1)),
            Cannot::from_tracing(&error(2)),
            Cannot::from_refusal("a/b", &refused(1, "")),
            Cannot::from_refusal("a/b", &refused(22, "R1 type=ctx\nbad")),
        ] {
            assert!(!cannot.cause.is_empty() && !cannot.remedy.is_empty());
            assert!(!cannot.cause.contains('\n'), "{cannot:?}");
        }
        assert!(Cannot::from_error(&error(1)).remedy.contains("root"));
        assert!(Cannot::from_tracing(&error(2)).cause.contains("tracepoints"));
        for full in [
            Cannot::from_error(&error(24)),
            Cannot::from_tracing(&error(24)),
            Cannot::from_refusal("a/b", &refused(24, "")),
        ] {
            assert!(full.cause.contains("open files") && full.remedy.contains("ulimit -n"));
        }
    }
}
