//! System calls and machine instructions, each behind the smallest interface that its users need.
//!
//! Starting and following a program: [`inherited`], [`process`], [`signals`]. Memory that a program shares with its
//! observer: [`memfd`].

pub mod inherited;
pub mod memfd;
pub mod process;
pub mod signals;
