//! Epochs: a reader says when it began to read, and a reclaimer frees what was unlinked two epochs before.
//!
//! # Contract
//! A [`Guard`] pins its thread to the epoch in which it was made: until it is dropped, nothing is freed that the thread
//! may have found since. Pinning is a load, a store, a light fence and a second load, whatever the thread then reads.
//! A thread that stays pinned keeps all garbage from then on; [`Collector::stalled`] names it.
//!
//! # State
//! `epoch`: from 1 on. A record for each reader: 0, or the epoch to which it is pinned. Garbage lies in the bag of the
//! reader that retired it, then among what is fresh, then in a batch, which gets the epoch in which its round ends.
//!
//! # Invariants
//! E1: there is one round at a time, and one thread at a time takes a step of it. The first step takes what is fresh
//!     and asks for a heavy fence. When that is complete, the last one gives what was taken the number of the current
//!     epoch, and then advances the epoch by one, unless a reader is pinned to an earlier one.
//! E2: so a pinned reader is never more than one epoch behind: a round whose heavy fence comes after the reader's light
//!     one finds it pinned, and of one whose fence comes before, all earlier rounds had advanced before the reader
//!     looked again.
//! E3: a batch of epoch `e` is freed in epoch `e + 2`. A reader that may use an object of it passed its light fence
//!     before the heavy one of the batch, or it would have found the object unlinked; so it is pinned to `e` or
//!     earlier, and the epoch goes no further than `e + 1` while it is.
//!
//! # Edges
//! unpinned: a record's `state`, `unpin` and the next `pin` -> `collect`. The reader's last use of what it found.
//!
//! # Evidence
//! tests/model_epochs.rs, tests/mutants/epochs.toml; tests/epochs.rs, tests/stalled.rs, tests/fork.rs.
//! # Sources
//! Fraser, "Practical lock-freedom", 2004. Different from it: the epoch of garbage is that of the collector that takes
//! it, after its heavy fence, so that threads retire without a fence, pinned or not.

mod collector;
mod guard;
#[cfg(not(unc_model))]
mod local;
mod participant;
mod queue;
mod record;
mod shared;
mod stalled;
mod ticket;

pub use collector::Collector;
pub use guard::Guard;
pub use participant::Participant;
pub use shared::Shared;
pub use stalled::Stalled;
pub use ticket::Ticket;
