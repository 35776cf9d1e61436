//! How people are told of a trial and its verdict: progress, and where its forms go.

pub(crate) mod output;
pub(crate) mod progress;
#[cfg(test)]
mod truth;
