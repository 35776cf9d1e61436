//! Ours, behind the same interface.

use uncontended_ring::spsc;

use super::payload::Payload;
use super::pipe::{Pipe, spin};
use super::pipes::{insist, pipe};

pipe!(
    /// The ring that is polled, item by item.
    Silent,
    spsc::Producer<T>,
    spsc::Consumer<T>,
    |capacity| spsc::ring(capacity).expect("a small capacity"),
    |to: &mut spsc::Producer<T>, item| insist(item, |item| to.push(item).map_err(uncontended_ring::PushError::into_inner)),
    |from: &mut spsc::Consumer<T>| spin(|| from.pop().ok())
);
