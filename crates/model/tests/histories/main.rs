//! Histories, held against every permutation of their operations.

mod brute;
mod random;
mod truth;
