//! System calls and machine instructions, each behind the smallest interface that its users need.
//!
//! Starting and following a program: [`inherited`], [`process`], [`signals`]. Memory that a program shares with its
//! observer: [`memfd`]. What
//! observing costs: [`pair_cost`].

pub mod inherited;
pub mod memfd;
pub mod pair_cost;
pub mod process;
pub mod signals;
