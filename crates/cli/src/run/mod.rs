//! Running a program under the observer.

pub(crate) mod cost;
mod ending;
mod futex;
pub(crate) mod load;
mod observer;
pub(crate) mod output;
pub(crate) mod plan;
mod program;
mod record;
pub(crate) mod session;
mod spans;
mod supervise;
mod threads;
mod watches;
