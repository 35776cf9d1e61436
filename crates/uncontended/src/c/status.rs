//! Results of calls, and deadlines.

use std::ffi::{c_char, c_int};
use uncontended_fence::{Backend, Reason, backend};
use uncontended_ring::records::RecordError;
use uncontended_ring::{CapacityError, ClaimError, PopError, PushError};
use uncontended_wait::Deadline;

/// The result of a call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// There is no room, or there was none until the deadline.
    Full = 1,
    /// There is no value, or there was none until the deadline.
    Empty = 2,
    /// The other side is gone, and the ring has nothing left.
    Closed = 3,
    /// The capacity is zero; a ring holds at least one value.
    ZeroCapacity = 4,
    /// There is not enough memory.
    TooLarge = 5,
    /// The record is longer than the ring can ever hold, or than the memory given for it; or an element is too long.
    TooLong = 6,
    /// A null pointer where one is needed, a size of zero, an element of another size than the ring holds, or a call
    /// that must wait: to push while elements are claimed, to commit more than were.
    Invalid = 7,
    /// Something other than the ring's producers wrote to its memory: none of its contents can be trusted.
    Corrupt = 8,
    /// The deadline has passed.
    TimedOut = 9,
    /// The memory is too small for the ring.
    TooSmall = 10,
    /// The memory holds no ring, or one of another kind or of another version of this library.
    NoRing = 11,
    /// Another holder has the role.
    Held = 12,
    /// The process that held the role died. The role can be taken over.
    Died = 13,
}

impl From<CapacityError> for Status {
    fn from(error: CapacityError) -> Status {
        match error {
            CapacityError::Zero => Status::ZeroCapacity,
            CapacityError::TooLarge => Status::TooLarge,
        }
    }
}

impl<T> From<PushError<T>> for Status {
    fn from(error: PushError<T>) -> Status {
        match error {
            PushError::Full(_) => Status::Full,
            PushError::Closed(_) => Status::Closed,
        }
    }
}

impl From<PopError> for Status {
    fn from(error: PopError) -> Status {
        match error {
            PopError::Empty => Status::Empty,
            PopError::Closed => Status::Closed,
        }
    }
}

impl From<ClaimError> for Status {
    fn from(error: ClaimError) -> Status {
        match error {
            ClaimError::Full => Status::Full,
            ClaimError::TooLong { .. } => Status::TooLong,
            ClaimError::Closed => Status::Closed,
        }
    }
}

impl From<RecordError> for Status {
    fn from(error: RecordError) -> Status {
        match error {
            RecordError::Empty => Status::Empty,
            RecordError::Closed => Status::Closed,
            RecordError::Corrupt => Status::Corrupt,
        }
    }
}

/// What a status means, in a few words. Never freed. Any number may be passed.
#[unsafe(no_mangle)]
pub extern "C" fn unc_status_text(status: c_int) -> *const c_char {
    let words = match status {
        0 => c"success",
        1 => c"there is no room",
        2 => c"there is no value",
        3 => c"the other side is gone",
        4 => c"the capacity is zero",
        5 => c"there is not enough memory",
        6 => c"the record or the element is too long",
        7 => c"a null pointer, a wrong size, or a call that does not fit a claim or read",
        8 => c"the ring is corrupt",
        9 => c"the deadline has passed",
        10 => c"the memory is too small for the ring",
        11 => c"the memory holds no ring of this kind and version",
        12 => c"another holder has the role",
        13 => c"the process that held the role died",
        _ => c"no status of this library",
    };
    words.as_ptr()
}

/// The deadline `ns` nanoseconds from now.
#[unsafe(no_mangle)]
pub extern "C" fn unc_deadline_after(ns: u64) -> u64 {
    Deadline::after(std::time::Duration::from_nanos(ns)).as_ns()
}

/// How publishers avoid a fence, in words. Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn unc_backend() -> *const c_char {
    let words = match backend() {
        Backend::FullFences(refused) => match refused.reason {
            Reason::Unknown => c"bounded sleeps: the kernel does not support expedited membarriers",
            Reason::Forbidden => c"bounded sleeps: a seccomp filter forbids membarrier",
            Reason::Portable => c"full fences: the program is built to run without membarrier",
            _ => c"bounded sleeps: membarrier fails",
        },
        _ => c"expedited membarrier",
    };
    words.as_ptr()
}
