//! The structures that come with the checker.

mod containers;
mod map;
mod register;
mod set;

pub use containers::{Put, Queue, Stack, Took};
pub use map::{Map, MapCall};
pub use register::{Register, RegisterCall, RegisterOutput};
pub use set::{Set, SetCall};

/// What structures hold.
pub type Value = i64;
