//! What a run showed, as data, and the forms in which people read it.
#![forbid(unsafe_code)]

pub mod run;
