//! Parts of [`Thread::wants_how`](super::Thread::wants_how).

/// To share the lock with others (a reader).
pub const SHARED: u32 = 1;
/// Until a time at most.
pub const DEADLINE: u32 = 2;
/// For the end of another thread, and not for a lock.
pub const JOIN: u32 = 4;
