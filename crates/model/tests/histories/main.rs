//! Checks histories against every permutation of their operations.

mod brute;
mod lines;
mod random;
mod threads;
mod truth;
