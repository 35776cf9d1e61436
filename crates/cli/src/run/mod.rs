//! Running a program under the observer.

pub(crate) mod after;
pub(crate) mod cost;
mod ending;
mod ends;
mod futex;
mod heirs;
mod insist;
pub(crate) mod load;
mod loader;
mod observer;
pub(crate) mod plan;
mod printing;
mod program;
mod record;
pub(crate) mod reports;
mod room;
pub(crate) mod session;
pub(crate) mod source;
mod spans;
pub(crate) mod supervise;
pub(crate) mod threads;
mod watches;
