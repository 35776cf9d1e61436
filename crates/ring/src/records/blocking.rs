//! Sides that sleep: [`Sleepers`] as notifiers, and the calls that wait; the same for one producer and for many.
//!
//! # Contract
//! A waiting call tries first and sleeps only while its try fails. A commit, an abort, a release, or the departure of a
//! side wakes it: each notifies after its store (`notifier`), and [`Sleepers`] loses no notification.
//!
//! # Evidence
//! tests/model_records.rs: explored with [`Sleepers`]' asymmetric fences. Tests in `records`.

use super::{Chunk, Record, RecordError, mpsc, spsc};
use crate::ClaimError;
#[cfg(feature = "async")]
use crate::notifier::wait;
use crate::notifier::{Sleeping, sleep};
use std::time::Duration;
use uncontended_wait::Deadline;

macro_rules! sleeping_sides {
    ($kind:ident) => {
        impl<N: Sleeping> $kind::Producer<N> {
            /// Like [`claim`](Self::claim), but sleeps until there is room.
            ///
            /// # Errors
            /// As for [`claim`](Self::claim), but never [`ClaimError::Full`].
            #[inline]
            pub fn claim_wait(&mut self, len: usize) -> Result<Chunk<'_, Self>, ClaimError> {
                self.claim_deadline(len, Deadline::NEVER)
            }

            /// Like [`claim_wait`](Self::claim_wait), but gives up at `deadline`.
            ///
            /// # Errors
            /// As for [`claim`](Self::claim).
            #[inline]
            pub fn claim_deadline(
                &mut self,
                len: usize,
                deadline: impl Into<Deadline>,
            ) -> Result<Chunk<'_, Self>, ClaimError> {
                let claimed = match self.find(len) {
                    Err(ClaimError::Full) => {
                        let deadline = deadline.into();
                        let look = |side: &mut Self| match side.find(len) {
                            Err(ClaimError::Full) => None,
                            found => Some(found),
                        };
                        // SAFETY: the notifier lies in the ring, which this side keeps (R1).
                        let slept = unsafe {
                            sleep(self, |one| one.ring.room().sleepers(), look, deadline)
                        };
                        slept.unwrap_or(Err(ClaimError::Full))?
                    }
                    found => found?,
                };
                // SAFETY: the range was claimed just now (R2).
                Ok(unsafe { Chunk::new(self, claimed) })
            }

            /// Like [`claim_wait`](Self::claim_wait), but gives up after `time`.
            ///
            /// # Errors
            /// As for [`claim`](Self::claim).
            pub fn claim_timeout(
                &mut self,
                len: usize,
                time: Duration,
            ) -> Result<Chunk<'_, Self>, ClaimError> {
                self.claim_deadline(len, Deadline::after(time))
            }

            /// Like [`claim_wait`](Self::claim_wait), for a task.
            ///
            /// # Errors
            /// As for [`claim_wait`](Self::claim_wait).
            #[cfg(feature = "async")]
            pub async fn claim_async(&mut self, len: usize) -> Result<Chunk<'_, Self>, ClaimError> {
                let look = |side: &mut Self| match side.find(len) {
                    Err(ClaimError::Full) => None,
                    found => Some(found),
                };
                // SAFETY: the notifier lies in the ring, which this side keeps (R1).
                let claimed = unsafe { wait(self, |one| one.ring.room().sleepers(), look) }.await?;
                // SAFETY: the range was claimed just now (R2).
                Ok(unsafe { Chunk::new(self, claimed) })
            }

            /// Like [`push`](Self::push), but sleeps until there is room.
            ///
            /// # Errors
            /// As for [`claim_wait`](Self::claim_wait).
            #[inline]
            #[doc(alias = "send")]
            pub fn push_wait(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
                self.push_deadline(bytes, Deadline::NEVER)
            }

            /// Like [`push_wait`](Self::push_wait), but gives up at `deadline`.
            ///
            /// # Errors
            /// As for [`claim`](Self::claim).
            #[inline]
            pub fn push_deadline(
                &mut self,
                bytes: &[u8],
                deadline: impl Into<Deadline>,
            ) -> Result<(), ClaimError> {
                let mut chunk = self.claim_deadline(bytes.len(), deadline)?;
                chunk.fill(bytes);
                chunk.commit();
                Ok(())
            }

            /// Like [`push_wait`](Self::push_wait), but gives up after `time`.
            ///
            /// # Errors
            /// As for [`claim`](Self::claim).
            #[doc(alias = "send_timeout")]
            pub fn push_timeout(&mut self, bytes: &[u8], time: Duration) -> Result<(), ClaimError> {
                self.push_deadline(bytes, Deadline::after(time))
            }
        }

        impl<N: Sleeping> $kind::Consumer<N> {
            /// Like [`read`](Self::read), but sleeps until there is a record.
            ///
            /// **A record that is not released is returned again by the next read**: `while let Ok(record) =
            /// consumer.read_wait()` never ends if its body does not release it, and the producers wait for room.
            ///
            /// # Errors
            /// There will never be a record; never [`RecordError::Empty`].
            #[inline]
            #[doc(alias = "recv")]
            pub fn read_wait(&mut self) -> Result<Record<'_, Self>, RecordError> {
                self.read_deadline(Deadline::NEVER)
            }

            /// Like [`read_wait`](Self::read_wait), but gives up after `time`.
            ///
            /// # Errors
            /// As for [`read_deadline`](Self::read_deadline).
            #[doc(alias = "recv_timeout")]
            pub fn read_timeout(
                &mut self,
                time: Duration,
            ) -> Result<Record<'_, Self>, RecordError> {
                self.read_deadline(Deadline::after(time))
            }

            /// Like [`read_wait`](Self::read_wait), for a task.
            ///
            /// # Errors
            /// As for [`read_wait`](Self::read_wait).
            #[cfg(feature = "async")]
            pub async fn read_async(&mut self) -> Result<Record<'_, Self>, RecordError> {
                let look = |side: &mut Self| match side.find() {
                    Err(RecordError::Empty) => None,
                    found => Some(found),
                };
                // SAFETY: the notifier lies in the ring, which this side keeps (R1).
                let place = unsafe { wait(self, |one| one.ring.values().sleepers(), look) }.await?;
                // SAFETY: the record was found just now (R2).
                Ok(unsafe { Record::new(self, place) })
            }

            /// Like [`read_wait`](Self::read_wait), but gives up at `deadline`.
            ///
            /// # Errors
            /// There is still no record, or there will never be one.
            #[inline]
            pub fn read_deadline(
                &mut self,
                deadline: impl Into<Deadline>,
            ) -> Result<Record<'_, Self>, RecordError> {
                let place = match self.find() {
                    Err(RecordError::Empty) => {
                        let deadline = deadline.into();
                        let look = |side: &mut Self| match side.find() {
                            Err(RecordError::Empty) => None,
                            found => Some(found),
                        };
                        // SAFETY: the notifier lies in the ring, which this side keeps (R1).
                        let slept = unsafe {
                            sleep(self, |one| one.ring.values().sleepers(), look, deadline)
                        };
                        slept.unwrap_or(Err(RecordError::Empty))?
                    }
                    found => found?,
                };
                // SAFETY: the record was found just now (R2).
                Ok(unsafe { Record::new(self, place) })
            }
        }
    };
}

sleeping_sides!(spsc);
sleeping_sides!(mpsc);
