//! Whether the limits of `unc` leave room for watching a program.

use crate::limits::is_of_files;
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
}
