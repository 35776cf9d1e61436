//! The processes that a program left running, also those that no sample met.
//!
//! # Contract
//! A process whose parent has ended is no longer its descendant. It is known by the record that it has mapped, or by
//! the environment that names the record, which programs without the observer inherit too. One that has neither (it
//! cleared its environment and executed another program) is not found, nor is one that we may not inspect. Processes
//! older than the program are not looked at.
//! # Sources
//! proc(5).

use super::record::Record;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// When a process started, in clock ticks since the machine did: the field `starttime`.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19)?.parse().ok()
}

/// The processes that have or name this record, of those that started at `since` or later.
pub(crate) fn find(record: &Record, since: u64) -> Vec<u32> {
    let own = std::process::id();
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let young = pids.filter(|&pid| pid != own && started(pid).is_some_and(|at| at >= since));
    let variable = [Record::VARIABLE.as_bytes(), b"=", record.path().as_bytes()].concat();
    let inode = record.inode().to_string();
    young.filter(|&pid| has(pid, &inode) || is_told(pid, &variable)).collect()
}

/// Whether it has the record mapped.
fn has(pid: u32, inode: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut records = maps.lines().filter(|line| line.contains("/memfd:uncontended-record"));
    records.any(|line| line.split_ascii_whitespace().nth(4) == Some(inode))
}

/// Whether its environment names the record.
fn is_told(pid: u32, variable: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|word| word == variable)
}
