//! How people ask and are told: flags, progress, and the forms of a verdict. What decides is the crate
//! `uncontended-decide`.

pub(crate) mod flags;
pub(crate) mod output;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod suite;
#[cfg(test)]
mod truth;
