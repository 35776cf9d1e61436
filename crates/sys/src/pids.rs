//! Whether a pid is in use.
//! # Evidence
//! `crates/wait/tests/roles.rs`.
//! # Sources
//! kill(2): with signal 0, only the errors of a signal; ESRCH where no process has the pid, EPERM where one has it that
//! the caller may not signal. A process that has ended has its pid until it is waited for.

/// Whether no process of this process's pid namespace has the pid, as far as that is known. It takes no descriptor, and
/// sees the processes that `/proc` hides.
pub fn is_unused(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return true };
    // In a call of `kill` zero means a group.
    pid == 0 || has_none(pid)
}

#[cfg(all(unix, not(miri)))]
fn has_none(pid: i32) -> bool {
    // SAFETY: numbers only; signal 0 is not sent (L1).
    let answer = unsafe { libc::kill(pid, 0) };
    answer != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

#[cfg(not(all(unix, not(miri))))]
fn has_none(_: i32) -> bool {
    false
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_pid_is_in_use_until_its_process_has_been_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        assert!(!is_unused(pid) && !is_unused(std::process::id()) && !is_unused(1));
        assert!(child.wait().unwrap().success());
        assert!(is_unused(pid));
        assert!([0, u32::MAX, 1 << 31].into_iter().all(is_unused));
    }
}
