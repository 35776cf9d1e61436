//! The entries that tell code: stacks, and the modules that their addresses are in.

use super::FRAMES;
use uncontended_atomic::{AtomicU32, AtomicU64};

/// A list of return addresses, innermost first.
#[repr(C)]
#[derive(Debug)]
pub struct Stack {
    /// Next in the process's list.
    pub next: AtomicU32,
    /// The number of frames.
    pub count: AtomicU32,
    /// Hash of the frames.
    pub hash: AtomicU64,
    /// The frames; only `count` of them are allocated.
    pub frames: [AtomicU64; FRAMES],
}

/// A loaded program or library.
#[repr(C)]
#[derive(Debug)]
pub struct Module {
    /// Next in the process's list.
    pub next: AtomicU32,
    /// Bytes of the path behind this entry.
    pub path_bytes: AtomicU32,
    /// What to subtract from an address to get its address in the file.
    pub bias: AtomicU64,
    /// Its first address.
    pub start: AtomicU64,
    /// One past its last address.
    pub end: AtomicU64,
    /// Bytes of its file; 0 if unknown, as the next two; `u64::MAX` if there was none any more.
    pub file_bytes: AtomicU64,
    /// When its file was changed last, in nanoseconds since 1970.
    pub modified_ns: AtomicU64,
    /// The inode of its file.
    pub inode: AtomicU64,
    /// Bytes of the build id behind the path; 0 if it has none.
    pub id_bytes: AtomicU32,
    /// A hash of the path: the program may unload a module and load another one there.
    pub path_hash: AtomicU32,
}

/// Most bytes of a build id.
pub const BUILD_ID: usize = 64;
