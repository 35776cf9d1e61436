//! The compared code, behind interfaces that add no overhead: every use is compiled for its rival.

pub mod broadcasts;
pub mod concurrency_kit;
pub mod many;
pub mod ours;
pub mod payload;
pub mod pipe;
pub mod pipes;
pub mod queues;
pub mod reclaimers;
pub mod signal;
