//! Sides as the streams and sinks of `futures`.
//!
//! # Contract
//! A stream or a sink may live on without being polled, while its task waits for something else. So its [`Ticket`]
//! makes it a bystander: it keeps no value and no room from the other tasks and threads that wait for one.
//!
//! # State
//! I1: that of the module above: the sleepers of a side lie in the ring that it keeps.

use super::{Drain, Source, taken};
use crate::notifier::kept;
use crate::{Closed, PushError};
use futures_core::Stream;
use futures_sink::Sink;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use uncontended_wait::Ticket;

/// A consumer as a stream of its values. It may be left unpolled at any time, with `next()` dropped: a value that it is
/// woken for goes to another consumer of its group that waits. Where many tasks share a group, each value wakes all
/// streams that wait, but only one task that waits by `pop_async`.
#[derive(Debug)]
pub struct Values<S: Source> {
    side: S,
    ticket: Ticket,
}

impl<S: Source> Values<S> {
    pub(super) fn new(side: S) -> Values<S> {
        Values { side, ticket: Ticket::default() }
    }
}

// The side is used by reference and never pinned.
impl<S: Source> Unpin for Values<S> {}

impl<S: Source> Stream for Values<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let Values { side, ticket } = self.get_mut();
        // SAFETY: by the trait's contract (I1).
        let sleepers = unsafe { kept(side.sleepers()) };
        sleepers.poll_until(ticket, context, || taken(side))
    }
}

impl<S: Source> Drop for Values<S> {
    fn drop(&mut self) {
        self.side.sleepers().give_up(&mut self.ticket);
    }
}

/// A producer as a sink. It has room for one value more than its ring, which a task that is not ready yet may send. It
/// may be left unpolled at any time: room that it is woken for goes to another producer that waits.
/// [`Closed`]: all on the other side have gone, or the sink is closed; what waited for room is dropped.
#[derive(Debug)]
pub struct Entry<S: Drain> {
    /// `None` once it is closed.
    side: Option<S>,
    waiting: Option<S::Item>,
    ticket: Ticket,
}

impl<S: Drain> Entry<S> {
    pub(super) fn new(side: S) -> Entry<S> {
        Entry { side: Some(side), waiting: None, ticket: Ticket::default() }
    }

    /// Puts the waiting value in, once there is room.
    fn poll_put(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed<()>>> {
        let Entry { side, waiting, ticket } = self;
        let Some(side) = side else { return Poll::Ready(Err(Closed(()))) };
        // SAFETY: by the trait's contract (I1).
        let sleepers = unsafe { kept(side.sleepers()) };
        sleepers.poll_until(ticket, context, || match waiting.take() {
            None => Some(Ok(())),
            Some(value) => match side.put(value) {
                Err(PushError::Full(back)) => {
                    *waiting = Some(back);
                    None
                }
                done => Some(done.map_err(|_| Closed(()))),
            },
        })
    }

    fn close(&mut self) {
        if let Some(side) = &self.side {
            side.sleepers().give_up(&mut self.ticket);
        }
        self.side = None;
    }
}

// The side and the values are used by reference and never pinned.
impl<S: Drain> Unpin for Entry<S> {}

impl<S: Drain> Sink<S::Item> for Entry<S> {
    type Error = Closed<()>;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Closed<()>>> {
        self.get_mut().poll_put(context)
    }

    fn start_send(self: Pin<&mut Self>, value: S::Item) -> Result<(), Closed<()>> {
        let this = self.get_mut();
        debug_assert!(this.waiting.is_none(), "`poll_ready` came first");
        let side = this.side.as_mut().ok_or(Closed(()))?;
        match side.put(value) {
            Err(PushError::Full(back)) => {
                this.waiting = Some(back);
                Ok(())
            }
            done => done.map_err(|_| Closed(())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Closed<()>>> {
        self.get_mut().poll_put(context)
    }

    /// Flushes, then ends the side, which the other side notices.
    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Closed<()>>> {
        let this = self.get_mut();
        if this.side.is_some() && this.waiting.is_some() {
            ready!(this.poll_put(context))?;
        }
        this.close();
        Poll::Ready(Ok(()))
    }
}

impl<S: Drain> Drop for Entry<S> {
    fn drop(&mut self) {
        self.close();
    }
}
