//! Bugs seeded at run time, for the checker to find; nothing of them is left without `--cfg unc_model`.

#[cfg(unc_model)]
pub use uncontended_atomic::seed_mutant as seed;
pub(crate) use uncontended_atomic::{mutant as is, unless_mutant as order};
