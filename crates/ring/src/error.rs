//! Errors: small enums. A failed push hands the value back, in an error that is [`Error`] for every type of value: `?`
//! and `expect` work where the value lacks `Debug`, too.

use core::error::Error;
use core::fmt;

const CLOSED: &str = "the ring is closed: no consumer is left";

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
            PushError::Closed(_) => CLOSED,
        })
    }
}

impl<T> Error for PushError<T> {}

impl<T> PushError<T> {
    /// The error of a call that waits for room for as long as it takes.
    #[inline(always)]
    pub(crate) fn closed(self) -> Closed<T> {
        Closed(self.into_inner())
    }
}

/// No consumer is left, and a push waits for none. It contains the value, which was not pushed.
///
/// ```
/// use uncontended_ring::{Closed, spsc};
///
/// type Job = Box<dyn FnOnce() + Send>;
///
/// fn submit(queue: &mut spsc::BlockingProducer<Job>, job: Job) -> Result<(), Box<dyn std::error::Error>> {
///     queue.push_wait(job)?;
///     Ok(())
/// }
///
/// let (mut queue, worker) = spsc::blocking::<Job>(4)?;
/// submit(&mut queue, Box::new(|| println!("done")))?;
/// drop(worker);
/// assert!(submit(&mut queue, Box::new(|| ())).is_err());
/// if let Err(Closed(job)) = queue.push_wait(Box::new(|| println!("done by the caller"))) {
///     job();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

impl<T> Closed<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED)
    }
}

impl<T> Error for Closed<T> {}

/// Why room could not be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// There is not enough room now.
    Full,
    /// The claim is larger than the ring can ever satisfy.
    TooLong {
        /// The most that can be claimed at once: values, or bytes of a record.
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
                write!(f, "the claim is too long: at most {most} values, or bytes of a record, fit")
            }
            ClaimError::Closed => f.write_str(CLOSED),
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
