//! Results of calls, and deadlines.

use uncontended_fence::{Backend, Reason, backend};
use uncontended_ring::{CapacityError, PopError, PushError};
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

/// The deadline `ns` nanoseconds from now.
#[unsafe(no_mangle)]
pub extern "C" fn unc_deadline_after(ns: u64) -> u64 {
    Deadline::after(std::time::Duration::from_nanos(ns)).as_ns()
}

/// How publishers avoid a fence, in words. Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn unc_backend() -> *const std::ffi::c_char {
    let words = match backend() {
        Backend::Expedited => c"expedited membarrier",
        Backend::FullFences(refused) => match refused.reason {
            Reason::Unknown => c"bounded sleeps: the kernel does not support expedited membarriers",
            Reason::Forbidden => c"bounded sleeps: a seccomp filter forbids membarrier",
            Reason::Failed | Reason::Interpreted => c"bounded sleeps: membarrier fails",
        },
    };
    words.as_ptr()
}
