//! Records as a stream of bytes: producers write ([`std::io::Write`]), and consumers read ([`Bytes`]).
//!
//! # Contract
//! Each call of `write`, and each `write!` and `writeln!`, makes one record, of as many bytes as the longest one has at
//! most, and sleeps until there is room; wrap a producer in a [`BufWriter`](std::io::BufWriter) if calls are small.
//! Records of several producers never mix, but those that are made of a longer text may have others in between. A
//! reader sees the bytes of the records one after another, without their limits.
//! # Invariants
//! I1: the first `taken` bytes of the oldest record have been read; a record whose bytes all have is released before
//!     the next is looked for.
//! I2: `taken` is at most `len`, the length of the record that was returned last; both are 0 if there is none.

use super::record::payload;
use super::{RecordError, mpsc, spsc};
use crate::ClaimError;
use crate::notifier::Sleeping;
use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read, Write};

/// A consumer as a stream of bytes. It sleeps while there is nothing to read, and ends once the producers have gone.
///
/// ```
/// use std::io::{BufRead, Write};
///
/// let (mut producer, consumer) = uncontended_ring::records::spsc::blocking(4096)?;
/// let writer = std::thread::spawn(move || producer.write_all(b"one\ntwo\n"));
/// let lines: Result<Vec<String>, _> = consumer.into_bytes().lines().collect();
/// assert_eq!(lines?, ["one", "two"]);
/// writer.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bytes<C> {
    consumer: C,
    /// I1.
    taken: usize,
    /// I2.
    len: usize,
}

impl<C> Bytes<C> {
    /// The consumer. A record that was read in part is read again, whole.
    pub fn into_inner(self) -> C {
        self.consumer
    }
}

impl<C> fmt::Debug for Bytes<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bytes").finish_non_exhaustive()
    }
}

macro_rules! streams {
    ($($kind:ident)*) => { $(
        /// Fails with [`ErrorKind::BrokenPipe`] once the consumer has gone.
        impl<N: Sleeping> Write for $kind::Producer<N> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let most = bytes.len().min(self.longest());
                if most > 0 {
                    self.push_wait(&bytes[..most]).map_err(broken)?;
                }
                Ok(most)
            }

            /// Piece by piece, as the formatter writes, each would be a record, and those of several producers mix.
            fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
                if let Some(text) = text.as_str() {
                    return self.write_all(text.as_bytes());
                }
                let mut whole = String::new();
                fmt::write(&mut whole, text).map_err(io::Error::other)?;
                self.write_all(whole.as_bytes())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        impl<N: Sleeping> $kind::Consumer<N> {
            /// The records as a stream of bytes.
            pub fn into_bytes(self) -> Bytes<Self> {
                Bytes { consumer: self, taken: 0, len: 0 }
            }
        }

        /// Fails with [`ErrorKind::InvalidData`] if something other than the ring's producers wrote to its memory.
        impl<N: Sleeping> BufRead for Bytes<$kind::Consumer<N>> {
            fn fill_buf(&mut self) -> io::Result<&[u8]> {
                let place = loop {
                    match self.consumer.read_wait() {
                        Ok(record) if record.place().len > self.taken => break record.place(),
                        Ok(record) => record.release(),
                        Err(RecordError::Closed) => return Ok(&[]),
                        Err(why) => return Err(io::Error::new(ErrorKind::InvalidData, why)),
                    }
                    (self.taken, self.len) = (0, 0); // I1, I2
                };
                self.len = place.len;
                // SAFETY: it was found just now, and is released by a later call, for which this borrow ends (R2).
                Ok(unsafe { &payload(&self.consumer, place)[self.taken..] })
            }

            fn consume(&mut self, read: usize) {
                self.taken = self.taken.saturating_add(read).min(self.len); // I2
            }
        }

        impl<N: Sleeping> Read for Bytes<$kind::Consumer<N>> {
            fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
                if room.is_empty() {
                    return Ok(0);
                }
                let read = self.fill_buf()?.read(room)?;
                self.consume(read);
                Ok(read)
            }
        }
    )* };
}

streams!(spsc mpsc);

fn broken(why: ClaimError) -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, why)
}
