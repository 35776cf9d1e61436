//! The structures that the crate can check.

mod containers;
mod map;
mod register;
mod set;

pub use containers::{Put, Queue, Stack, Took};
pub use map::{Map, MapCall};
pub use register::{Register, RegisterCall, RegisterOutput};
pub use set::{Set, SetCall};

/// The type of values.
pub type Value = i64;
