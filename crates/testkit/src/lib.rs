//! Helpers shared by the workspace's tests. Only a dev-dependency.
#![forbid(unsafe_code)]

pub mod chance;
mod depth;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod explored;
mod folder;
mod golden;
pub mod programs;
mod skip;
mod tasks;

pub use depth::{all_of, hand_offs, is_full, repetitions};
pub use folder::Folder;
pub use golden::golden;
pub use skip::skip;
pub use tasks::block_on;
pub use uncontended_model::random::Random;

use std::fmt::Display;
use std::path::PathBuf;

/// A text of several lines on one, with single spaces.
pub fn one_line(text: impl Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The workspace's root.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
