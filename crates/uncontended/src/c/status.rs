//! How calls end, and what time it is.

use uncontended_fence::{Backend, Reason, backend};
use uncontended_ring::{CapacityError, PopError, PushError};
use uncontended_wait::Deadline;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// As it should.
    Ok = 0,
    /// There is no room, or was none until the deadline passed.
    Full = 1,
    /// There is no value, or was none until the deadline passed.
    Empty = 2,
    /// The other side has gone, and nothing is left.
    Closed = 3,
    /// A ring holds at least one value.
    ZeroCapacity = 4,
    /// There is not that much memory.
    TooLarge = 5,
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

/// The deadline that is `ns` nanoseconds from now.
#[unsafe(no_mangle)]
pub extern "C" fn unc_deadline_after(ns: u64) -> u64 {
    Deadline::after(std::time::Duration::from_nanos(ns)).as_ns()
}

/// What lets publishers go without a fence, in words; never freed.
#[unsafe(no_mangle)]
pub extern "C" fn unc_backend() -> *const std::ffi::c_char {
    let words = match backend() {
        Backend::Expedited => c"expedited membarrier",
        Backend::FullFences(refused) => match refused.reason {
            Reason::Unknown => c"sleeps of bounded length: the kernel has no expedited membarrier",
            Reason::Forbidden => c"sleeps of bounded length: a filter forbids membarrier",
            Reason::Failed | Reason::Interpreted => c"sleeps of bounded length: membarrier fails",
        },
    };
    words.as_ptr()
}
