//! The entries from which blame is computed: who made others wait, and what ended their waits.

use uncontended_atomic::{AtomicU32, AtomicU64};

/// Sites of one cell that made others wait with entries of their own. As many entries are for the others by the two
/// inner frames of their stacks, as many by the innermost, and one for the rest.
pub const SITES: usize = 32;
/// The same of the sites where its thread waited.
pub const WAITED_SITES: usize = 16;
/// The most entries of a cell.
pub const ENTRIES: usize = 3 * SITES + 1 + 3 * WAITED_SITES + 1;
/// Holds of a mutex that its list of recent holds keeps: one bit each in a word.
pub const RECENT: usize = 64;
/// Waits for a read-write lock that are kept until the holds that they fell into end.
pub const UNDIVIDED: usize = 8;
/// Wakeups of futexes that an image keeps.
pub const WAKES: usize = 256;

/// Parts that a chain keeps.
pub const CHAIN_PARTS: usize = 19;
/// Further holds than the first that one hold passes waiting on to, told apart by their stacks.
pub const FURTHER: usize = 3;

/// The last holds of a lock that others waited for, or of the locks that a thread waited for, in parts: number `n` is
/// at `n` modulo [`CHAIN_PARTS`].
#[repr(C)]
#[derive(Debug)]
pub struct Chain {
    /// How many there were.
    pub noted: AtomicU64,
    /// The last ones.
    pub parts: [ChainPart; CHAIN_PARTS],
    /// Of a thread's chain: what its hold that ends now passes on to further holds than the first.
    pub further: [PassedOn; FURTHER],
}

/// Waiting that a hold passes on.
#[repr(C)]
#[derive(Debug)]
pub struct PassedOn {
    /// How much; 0 if the entry is free.
    pub wait: AtomicU64,
    /// Stack of the acquisition of the hold that it is passed on to.
    pub to: AtomicU32,
    /// Keeps what follows aligned.
    pub spare: AtomicU32,
}

/// A part of a hold, or of the time in which a thread waited for it.
#[repr(C)]
#[derive(Debug)]
pub struct ChainPart {
    /// When it began.
    pub from: AtomicU64,
    /// When it ended.
    pub to: AtomicU64,
    /// Stack of the hold's acquisition.
    pub by: AtomicU32,
    /// Keeps what follows aligned.
    pub spare: AtomicU32,
}

/// Holds that ended: of a mutex, the last ones while threads that left it wait for a condition variable; of a
/// read-write lock, those that ended while others went on.
#[repr(C)]
#[derive(Debug)]
pub struct Recent {
    /// The holds that were noted; of a mutex, number `n` is at `n` modulo [`RECENT`].
    pub noted: AtomicU64,
    /// A bit for each place: whether the hold is counted among those that a thread waited for (mutexes).
    pub counted: AtomicU64,
    /// The holds.
    pub holds: [PastHold; RECENT],
    /// Up to when waiting is divided (read-write locks).
    pub divided_to: AtomicU64,
    /// Waits that ended while the lock was held on (read-write locks).
    pub undivided: [Undivided; UNDIVIDED],
    /// Keeps the size a multiple of a unit.
    pub spare: [AtomicU64; 5],
}

/// A wait for a read-write lock that ended before the holds that it fell into.
#[repr(C)]
#[derive(Debug)]
pub struct Undivided {
    /// When it began; 0 if the entry is free, 1 while it is written or read.
    pub arrival: AtomicU64,
    /// When it ended.
    pub until: AtomicU64,
    /// 1 if the thread wanted to share the lock.
    pub shared: AtomicU64,
}

/// A hold that ended.
#[repr(C)]
#[derive(Debug)]
pub struct PastHold {
    /// When it began.
    pub began: AtomicU64,
    /// When it ended.
    pub ended: AtomicU64,
    /// Stack of its acquisition; 0 if unknown.
    pub site: AtomicU32,
    /// Stack of its release; 0 if unknown.
    pub release: AtomicU32,
}

/// The last wakeups of futexes: number `n` is at `n` modulo [`WAKES`].
#[repr(C)]
#[derive(Debug)]
pub struct Wakes {
    /// How many there were.
    pub noted: AtomicU64,
    /// The last ones.
    pub of: [Wake; WAKES],
}

/// A wakeup of a futex that a thread waited for.
#[repr(C)]
#[derive(Debug)]
pub struct Wake {
    /// When it was.
    pub at: AtomicU64,
    /// The number of the wakeup that ended its thread's last wait, plus one; 0 for none.
    pub before: AtomicU64,
    /// The futex.
    pub lock: AtomicU32,
    /// Its stack.
    pub site: AtomicU32,
}

/// In [`Caused::passed_to`]. No stack has this number.
pub const WAKE: u32 = u32::MAX;
/// In [`Caused::passed_to`]: a wakeup by a thread that had what the waiter wanted. No stack has this number.
pub const PASSED: u32 = u32::MAX - 1;
/// In [`Caused::passed_to`]: the wakeup that ended a chain of them, with the whole wait (futexes). No stack has this
/// number.
pub const CHAIN: u32 = u32::MAX - 2;
/// In [`Caused::passed_to`]: a wakeup of such a chain, with its own part of the same wait. No stack has this number.
pub const CHAINED: u32 = u32::MAX - 3;
/// In [`Caused::passed_to`]: the thread's own waits in the code of `stack`. No stack has this number.
pub const WAITED: u32 = u32::MAX - 4;
/// In [`Caused::passed_to`]: the part of the same site's waiting that was of threads which a signal had woken during
/// the hold. No stack has this number.
pub const WOKEN_INTO: u32 = u32::MAX - 5;
/// In [`Caused::passed_to`]: the part of the same site's waiting that was for holds whose threads died with the lock.
/// No stack has this number, nor a greater one.
pub const DIED: u32 = u32::MAX - 6;

/// Waiting for one lock that the holds of one site caused. A cell has an entry for each of [`SITES`] sites (and
/// site that these waited for), and some for the others.
#[repr(C)]
#[derive(Debug)]
pub struct Caused {
    /// Next in the cell's list.
    pub next: AtomicU32,
    /// Stack of the acquisition; 0 for unknown ones, and in the entry for all others.
    pub stack: AtomicU32,
    /// The waiting that fell into these holds, summed over the waiters.
    pub wait: AtomicU64,
    /// The waits of which a part fell into these holds, summed over the holds.
    pub waits: AtomicU64,
    /// The holds.
    pub holds: AtomicU64,
    /// The longest of them; where holds are not recorded, of the parts that were waited for.
    pub longest: AtomicU64,
    /// Stack of the longest one's release; 0 if unknown.
    pub release: AtomicU32,
    /// Stack of the acquisition of another lock for whose holder these holders waited meanwhile; 0 for none. [`WAKE`],
    /// [`PASSED`], [`CHAIN`] or [`CHAINED`] if the code of `stack` held nothing but ended the waits.
    pub passed_to: AtomicU32,
    /// The part of `wait` that fell into those waits.
    pub passed_on: AtomicU64,
    /// Keeps the size a multiple of a unit.
    pub spare: AtomicU64,
}
