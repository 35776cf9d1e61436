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

/// The capabilities that attaching takes, with their numbers: the last two for the list of tracepoints.
const CAPABILITIES: [(u32, &str); 5] = [
    (39, "CAP_BPF"),
    (38, "CAP_PERFMON"),
    (19, "CAP_SYS_PTRACE"),
    (21, "CAP_SYS_ADMIN"),
    (2, "CAP_DAC_READ_SEARCH"),
];
/// This one is enough for what the first two allow.
const ADMINISTRATOR: u32 = 21;
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

/// The capabilities in effect, of /proc/self/status; none if it does not say.
fn effective(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|held| u64::from_str_radix(held.trim(), 16).ok()).unwrap_or(0)
}

/// What to do for permission, with these capabilities.
fn permissions(held: u64) -> String {
    let has = |number: u32| held >> number & 1 == 1;
    let is_covered = |number| has(number) || (number >= 38 && has(ADMINISTRATOR));
    let lacking = CAPABILITIES.iter().filter(|(number, _)| !is_covered(*number));
    match lacking.map(|(_, name)| *name).collect::<Vec<_>>().split_last() {
        None => "it has all capabilities for it: a seccomp filter or a security module forbids it; run it as root \
            outside the container or sandbox"
            .into(),
        Some((one, [])) => format!("run it as root, or give it {one}, which it lacks"),
        Some((last, others)) => {
            format!("run it as root, or give it {} and {last}, which it lacks", others.join(", "))
        }
    }
}

impl Cannot {
    fn new(cause: impl Into<String>, remedy: &str) -> Self {
        Cannot { cause: cause.into(), remedy: remedy.into() }
    }

    pub(crate) fn from_error(error: &io::Error) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let lockdown = read("/sys/kernel/security/lockdown");
        Cannot::under_lockdown(error, &lockdown, effective(&read("/proc/self/status")))
    }

    /// `lockdown` is what the kernel says of it: all levels, the one in force in brackets. `held` are the capabilities
    /// in effect.
    fn under_lockdown(error: &io::Error, lockdown: &str, held: u64) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied if lockdown.contains("[confidentiality]") => {
                Cannot::new(
                    "the kernel is locked down (confidentiality), so no program may be traced",
                    "boot it without `lockdown=confidentiality`",
                )
            }
            io::ErrorKind::PermissionDenied => {
                Cannot::new("tracing futex waits needs permission", &permissions(held))
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
    if !cfg!(target_arch = "x86_64") {
        let remedy = "on this machine, start the program with `unc run`";
        return Err(Cannot::new("attaching knows the registers of x86-64 only", remedy));
    }
    check_namespace()
}

/// Why the numbers of threads that the kernel gives are not those of this process, if that is so.
pub(crate) fn check_namespace() -> Result<(), Cannot> {
    /// The kernel's number for the first PID namespace.
    const FIRST: u64 = 0xEFFF_FFFC;
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
        let of = |lockdown| Cannot::under_lockdown(&denied, lockdown, 0);
        let locked = of("none integrity [confidentiality]\n");
        assert!(locked.cause.contains("locked down"), "{locked:?}");
        assert!(locked.remedy.contains("lockdown=confidentiality"), "{locked:?}");
        for lockdown in
            ["none [integrity] confidentiality\n", "[none] integrity confidentiality\n", ""]
        {
            assert_eq!(of(lockdown).remedy, permissions(0));
        }
        let other = io::Error::from_raw_os_error(22);
        let other = Cannot::under_lockdown(&other, "none integrity [confidentiality]\n", 0);
        assert_eq!(other.remedy, TRACEPOINTS);
    }

    #[test]
    fn the_capabilities_that_are_lacking_are_named() {
        let held = |text: &str| permissions(effective(&format!("Name:\tunc\nCapEff:\t{text}\n")));
        let all = "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH";
        assert!(held("0000000000000000").contains(&format!("give it {all}, which it lacks")));
        assert!(held("000000c000280000").contains("give it CAP_DAC_READ_SEARCH, which it lacks"));
        assert!(held("0000000000200004").contains("give it CAP_SYS_PTRACE, which it lacks"));
        assert!(held("000001ffffffffff").contains("seccomp"));
        assert_eq!(effective("Name:\tunc\n"), 0);
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
