//! The numbers of processes and threads in a PID namespace of their own.
//!
//! # Contract
//! `unc` and the kernel's events know a process by its number in the namespace of `/proc`, through which it found the
//! record; a program in a container knows another one. These functions tell the former, or nothing if the kernel does
//! not say.
//! # Sources
//! proc(5): `/proc/self`, `/proc/thread-self` and the numbers in `stat` are those of the namespace of that `/proc`.
//! # Evidence
//! `crates/cli/tests/run_namespaces.rs`.

use crate::kernel::{self, Descriptor};
use std::ffi::CStr;

/// The link, as text in `room`.
fn link<'r>(path: &CStr, room: &'r mut [u8]) -> Option<&'r str> {
    let length = kernel::read_link(path, room)?;
    std::str::from_utf8(room.get(..length)?).ok()
}

/// The calling process.
pub(crate) fn process() -> Option<u32> {
    link(c"/proc/self", &mut [0; 16])?.parse().ok()
}

/// The calling thread, of the process `pid`.
pub(crate) fn thread_of(pid: u32) -> Option<u32> {
    let mut room = [0; 64];
    let (of, thread) = link(c"/proc/thread-self", &mut room)?.split_once("/task/")?;
    (of.parse() == Ok(pid)).then(|| thread.parse().ok())?
}

/// The parent of the calling process.
pub(crate) fn parent() -> Option<u32> {
    let mut text = [0; 128];
    let length = Descriptor::open(c"/proc/self/stat", libc::O_RDONLY)?.read(&mut text)?;
    let (_, fields) = std::str::from_utf8(text.get(..length)?).ok()?.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}
