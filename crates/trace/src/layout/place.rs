//! Locks that processes share: where they are for all of them.

use uncontended_atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Values of [`Lock::sharing`](super::Lock::sharing).
pub mod sharing {
    /// Only the threads of its process use it.
    pub const PRIVATE: u8 = 0;
    /// Other processes may use it, and where it is for them is unknown.
    pub const APART: u8 = 1;
    /// Processes share it: it is the lock of a [`Place`](super::Place) for all of them.
    pub const JOINED: u8 = 2;
    /// The same, and a thread held it that is not in the record.
    pub const JOINED_IN_PART: u8 = 4;
    /// No lock, but the address of one in a process: in no list.
    pub const ALIAS: u8 = 3;
    /// No lock, but the sum of what one thread did to many that it took in one place (`Lock::first_taken`): in that
    /// thread's list. No other thread uses it, so what its words say of holders and of free time means nothing.
    pub const SUMMED: u8 = 5;
    /// Only the threads of its process use it, and some of them are counted in sums.
    pub const PRIVATE_IN_PART: u8 = 6;
}

/// Lists of places.
pub const PLACE_LISTS: usize = 1024;

/// Where a lock is that processes share, for all of them. There is one for each place.
#[repr(C)]
#[derive(Debug)]
pub struct Place {
    /// Next in its list.
    pub next: AtomicU32,
    /// The kind of the lock: one of [`kind`](super::kind).
    pub kind: AtomicU8,
    /// Keeps what follows aligned.
    pub reserved: [AtomicU8; 3],
    /// The current generation of the lock, as a slot of an index has it.
    pub lock: AtomicU64,
    /// The device of the file that is mapped.
    pub device: AtomicU64,
    /// The file's number on it.
    pub inode: AtomicU64,
    /// The offset in the file.
    pub offset: AtomicU64,
    /// Keeps the size a multiple of a unit.
    pub spare: [AtomicU64; 3],
}
