//! Sides may be used after a panic, by the code that catches it.
//!
//! # Contract
//! [`UnwindSafe`] asks whether a panic can leave a broken state where the code that catches it sees it. In a ring, none
//! is left. Code of the caller runs inside it where the positions say what the slots hold:
//! - the `clone` of a value, an idle strategy, the conversion of a deadline: before anything changes;
//! - the iterator that fills a claim: while the claim has the slots, and nothing of it is published;
//! - the `drop` of a value: once the slot is the next value's, or while a guard records how many were taken;
//! - a waker of a task: after the store that the task waits for.
//!
//! A panic while a side is dropped still tells the others that it has gone. So after a panic each side is in a state
//! that the ring's documentation has: a value was pushed or was not, it was popped or is still there. The same by
//! reference ([`RefUnwindSafe`]), since `&self` offers counts, other sides, and the pushes of `mpsc`. What values refer
//! to is their own matter, as it is for the channels of the standard library.
//!
//! # Evidence
//! tests/unwinding.rs, and in the tests of each ring the values whose drop or clone panics.

use crate::notifier::Notifier;
use crate::plain::Plain;
use crate::{broadcast, lossy, mpsc, records, spsc};
use core::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! unwind_safe {
    ($([$($value:tt)*] $side:ty)*) => { $(
        impl<$($value)* N: Notifier> UnwindSafe for $side {}
        impl<$($value)* N: Notifier> RefUnwindSafe for $side {}
    )* };
}

unwind_safe! {
    [T,] spsc::Producer<T, N>
    [T,] spsc::Consumer<T, N>
    [T,] mpsc::Producer<T, N>
    [T,] mpsc::Consumer<T, N>
    [T,] broadcast::Producer<T, N>
    [T,] broadcast::Consumer<T, N>
    [T,] broadcast::Consumers<T, N>
    [T: Plain,] lossy::Producer<T, N>
    [T: Plain,] lossy::Observer<T, N>
    [] records::spsc::Producer<N>
    [] records::spsc::Consumer<N>
    [] records::mpsc::Producer<N>
    [] records::mpsc::Consumer<N>
}

#[cfg(feature = "std")]
mod with_std {
    use super::{Notifier, RefUnwindSafe, UnwindSafe};
    use crate::lanes::{self, group};
    use crate::notifier::Joint;

    unwind_safe! {
        [T,] lanes::Producer<T, N>
        [T,] lanes::Consumer<T, N>
        [T,] group::Producer<T, N>
        [T,] group::Consumer<T, N>
    }

    impl UnwindSafe for Joint {}
    impl RefUnwindSafe for Joint {}
}
