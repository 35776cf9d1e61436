//! Errors: small enums. A failed push hands the value back.

use core::error::Error;
use core::fmt;

/// Why a ring cannot have the requested capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapacityError {
    /// The capacity is zero.
    Zero,
    /// The capacity exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory, or there are more lanes than
    /// [`MAX_LANES`](crate::lanes::MAX_LANES).
    TooLarge,
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CapacityError::Zero => "the capacity of a ring must be at least 1",
            CapacityError::TooLarge => "the capacity exceeds 2^31 or the available memory, or there are more than 65,536 lanes",
        })
    }
}

impl Error for CapacityError {}

/// Why a value was not pushed. It contains the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushError<T> {
    /// There is no room now.
    Full(T),
    /// No consumer is left.
    Closed(T),
}

impl<T> PushError<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        match self {
            PushError::Full(value) | PushError::Closed(value) => value,
        }
    }
}

impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "Full(..)",
            PushError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "the ring is full",
            PushError::Closed(_) => "the ring is closed: no consumer is left",
        })
    }
}

impl<T> Error for PushError<T> {}

/// Why room could not be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// There is not enough room now.
    Full,
    /// The claim is larger than the ring can ever satisfy.
    TooLong {
        /// The most that can be claimed at once.
        most: usize,
    },
    /// No consumer is left.
    Closed,
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Full => f.write_str("the ring is full"),
            ClaimError::TooLong { most } => {
                write!(f, "the claim is too long: the ring has room for at most {most}")
            }
            ClaimError::Closed => f.write_str("the ring is closed: no consumer is left"),
        }
    }
}

impl Error for ClaimError {}

/// Why no value was popped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PopError {
    /// There is no value now.
    Empty,
    /// There is no value, and none will ever come.
    Closed,
}

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PopError::Empty => "the ring is empty",
            PopError::Closed => "the ring is empty and closed: no more values will come",
        })
    }
}

impl Error for PopError {}
