//! Whether this process reads the same clock as the kernel's program.
//!
//! # Contract
//! The kernel's program stamps the machine's monotonic time. In a time namespace of its own a process reads another
//! one, so a stamp would seem later than it is, and a fence complete that is not.
//! # Evidence
//! crates/cli/tests/barrierd.rs: a daemon and a client in such a namespace.
//! # Sources
//! time_namespaces(7); Linux include/linux/proc_ns.h (`PROC_TIME_INIT_INO`).

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;

/// The number of the machine's own time namespace, on every machine.
const MACHINES: u64 = 0xefff_fffa;

/// Whether `CLOCK_MONOTONIC` is the machine's here. False if that cannot be seen.
pub fn is_machines() -> bool {
    match std::fs::metadata("/proc/self/ns/time") {
        Ok(namespace) => namespace.ino() == MACHINES,
        // A kernel without such namespaces, if the others are there.
        Err(error) => {
            error.kind() == ErrorKind::NotFound && std::fs::metadata("/proc/self/ns/mnt").is_ok()
        }
    }
}
