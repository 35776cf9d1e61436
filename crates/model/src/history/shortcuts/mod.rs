//! Algorithms that decide without search: one per file, linear after the sort that builds the timeline.
//!
//! # Sources
//! Lee, Mathur, "Efficient decrease-and-conquer linearizability monitoring", arXiv 2410.04581; Abdulla, Grahn,
//! Jonsson, Krishna, Mishra, "Efficient linearizability monitoring", arXiv 2509.17795; Henzinger, Sezgin, Vafeiadis,
//! "Aspect-oriented linearizability proofs", CONCUR 2013; Gibbons, Korach, "Testing shared memories", SIAM J. Comput.
//! 1997. The files prove what they use.

mod flag;
mod lifetimes;
mod queue;
mod register;
mod stack;
mod stretch;
mod values;

pub(super) use flag::flag;
pub(super) use lifetimes::Step;
pub(super) use queue::queue;
pub(super) use register::{register, register_by};
pub(super) use stack::stack;
