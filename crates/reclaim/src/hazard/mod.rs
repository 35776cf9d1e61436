//! Hazard pointers: a reader names the one object that it reads, and a reclaimer frees what no reader names.
//!
//! # Contract
//! [`Hazard::protect`] is a load, a store, a light fence and a second load. A [`Domain`] frees retired objects in
//! batches: one heavy fence, one look at all hazards. The hazards of a process are one list that all domains look at,
//! so a hazard protects objects of every domain, and there is no wrong one.
//!
//! Garbage is bounded, whatever readers do: what is in a batch, and one object for each hazard ([`Domain::bound`]).
//!
//! # Invariants
//! H1: an object is freed only after a heavy fence that comes after its unlinking, and a look at all hazards after
//!     that fence which did not find it.
//! H2: a hazard that found its cell unchanged, after it published the pointer and a light fence, protects the object:
//!     the light fence comes before the heavy one of H1, and then the look finds the pointer, or after it, and then
//!     the cell has changed.
//!
//! # Edges
//! cleared: a hazard protects something else, or nothing -> `protected`. The reader's last use of what it protected.
//! object: `Shared::replace` -> `Hazard::protect`. What is in an object.
//!
//! # Evidence
//! tests/model_hazards.rs, tests/mutants/hazards.toml; tests/hazards.rs, tests/stalled.rs, tests/fork.rs.
//! # Sources
//! Michael, "Hazard Pointers", TPDS 2004; Goldblatt, WG21 P1202; folly's `Hazptr.h` (its issue 1632: the thread that
//! reclaims is not the one that unlinked).

/// Refuses types without a size, whose objects share an address: a hazard of one would keep all of them.
const fn has_address<T>() {
    const {
        assert!(
            size_of::<T>() > 0,
            "objects without a size cannot be told apart by a hazard: give the type a byte, or use epochs"
        )
    }
}

mod domain;
mod guard;
mod holder;
mod places;
mod shared;

pub use domain::{Domain, Held};
pub use guard::Guard;
pub use holder::{Changed, Hazard};
#[cfg(unc_model)]
#[doc(hidden)]
pub use places::fresh;
pub use places::in_use;
pub use shared::Shared;
