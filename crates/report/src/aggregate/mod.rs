//! From the record of a run to its report.

mod classify;
mod distribution;

pub use classify::{Part, classify};
pub use distribution::{Bucket, distribution};

use crate::run::Frame;

/// Names for addresses; found by whoever can read the files of the program.
pub trait Symbols {
    /// The frames, innermost first, at `address` (as the file of `module` counts), which is a return address. At least
    /// one: without a name it has its module and address alone.
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame>;

    /// The same for the byte at `offset` in the file of `module`.
    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame>;
}
