//! A bounded queue from one thread to another, as the benchmarks use it.

use super::payload::Payload;

/// A rival, with the calls that it recommends.
pub trait Pipe<T: Payload>: 'static {
    /// The producer's side.
    type Sender: Send;
    /// The consumer's side.
    type Receiver: Send;

    /// A queue for `capacity` items.
    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);

    /// Sends the items numbered `from..to`, waiting for room in the rival's own way.
    fn send(sender: &mut Self::Sender, from: u64, to: u64);

    /// Takes `count` items, waiting for each in the rival's own way, and adds up their checksums.
    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64;
}

/// A handle on its own cache lines, as if its thread owned it. Next to each other in one stack frame, two small handles
/// share a line, which makes rtrb, for one, several times slower.
#[repr(align(128))]
pub struct Apart<S>(pub S);

impl<S> std::ops::Deref for Apart<S> {
    type Target = S;

    #[inline(always)]
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> std::ops::DerefMut for Apart<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

/// A queue for `capacity` items whose handles share no cache line.
pub fn sides<T: Payload, P: Pipe<T>>(capacity: usize) -> (Apart<P::Sender>, Apart<P::Receiver>) {
    let (sender, receiver) = P::new(capacity);
    (Apart(sender), Apart(receiver))
}

/// Fills and empties a queue once, so that its memory is resident before timing. Returns the number of items.
pub fn warm<T: Payload, P: Pipe<T>>(
    sender: &mut P::Sender,
    receiver: &mut P::Receiver,
    capacity: usize,
) -> u64 {
    let count = capacity as u64;
    P::send(sender, 0, count);
    assert_eq!(P::receive(receiver, count), super::payload::checksum::<T>(0, count));
    count
}

/// Retries `attempt` until it returns a value, with the processor's spin hint.
#[inline(always)]
pub fn spin<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
    loop {
        match attempt() {
            Some(result) => return result,
            None => std::hint::spin_loop(),
        }
    }
}
