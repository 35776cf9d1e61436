//! What can go wrong: small enums, each with what the caller gave.

use std::error::Error;
use std::fmt;

/// Why a ring cannot have this capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapacityError {
    /// A ring holds at least one value.
    Zero,
    /// More than [`MAX_CAPACITY`](crate::MAX_CAPACITY), or more memory than there is.
    TooLarge,
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CapacityError::Zero => "a ring needs a capacity of at least one",
            CapacityError::TooLarge => "a ring of that capacity needs more memory than there is",
        })
    }
}

impl Error for CapacityError {}

/// Why a value was not pushed; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushError<T> {
    /// There is no room now.
    Full(T),
    /// Nobody will ever pop it.
    Closed(T),
}

impl<T> PushError<T> {
    /// The value.
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
            PushError::Closed(_) => "the ring's other side has gone",
        })
    }
}

impl<T> Error for PushError<T> {}

/// Why room was not given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// There is not that much room now.
    Full,
    /// More than the ring ever has room for.
    TooLong {
        /// The most that can be claimed at once.
        most: usize,
    },
    /// Nobody will ever read it.
    Closed,
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Full => f.write_str("the ring is full"),
            ClaimError::TooLong { most } => {
                write!(f, "the ring never has room for more than {most}")
            }
            ClaimError::Closed => f.write_str("the ring's other side has gone"),
        }
    }
}

impl Error for ClaimError {}

/// Why no value was popped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PopError {
    /// There is none now.
    Empty,
    /// There is none, and none will ever come.
    Closed,
}

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PopError::Empty => "the ring is empty",
            PopError::Closed => "the ring is empty and its other side has gone",
        })
    }
}

impl Error for PopError {}
