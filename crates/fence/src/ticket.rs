//! A heavy fence that is asked for now and complete later.
//!
//! # Contract
//! Once a ticket is complete, every light fence that ran before the ticket was made, or before what its maker had seen
//! then, is ordered: as if a heavy fence had run in the maker, between the making and the completion. The thread that
//! finds the ticket complete need not be the one that made it, and neither need be the one that ran the barrier.
//!
//! # Edges
//! Those of `barriers` and `quiescent`. A ticket passes from one thread to another by an edge of the program's.
//!
//! # Evidence
//! tests/model_tickets.rs; tests/tickets.rs.

use crate::backend;
use crate::backoff::Backoff;
use crate::barriers::Barriers;
use crate::mprotect;
use crate::quiescent::Quiescent;
use crate::reason::Refused;
use crate::stamps::Asked;
use std::time::Duration;
use uncontended_atomic::Scope;

/// The barriers of this process.
static EXPEDITED: Barriers = Barriers::new();
static MPROTECT: Barriers = Barriers::new();

/// A heavy fence that was asked for ([`Fences::ticket`](crate::Fences::ticket)).
///
/// A thread makes one after it has, say, unlinked a node, continues to work, and looks at the ticket from time to time.
/// A ticket costs an atomic addition (of stamps, also a look at the count of each CPU). A barrier serves all those made
/// before it began, of all threads.
///
/// ```
/// let unlinked = uncontended_fence::Fences::process().ticket();
/// // Other work. Then:
/// assert!(unlinked.poll()?);
/// assert!(unlinked.is_complete());
/// # Ok::<(), uncontended_fence::Refused>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a heavy fence that is not awaited orders nothing"]
pub struct Ticket(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// The maker ran a full fence.
    Complete,
    /// A request to [`EXPEDITED`].
    Expedited(u64),
    /// A request to [`MPROTECT`].
    Mprotect(u64),
    /// The counts that are to grow.
    Stamps(Asked),
    /// A request to these threads.
    CheckIn(&'static Quiescent, u64),
}

impl Quiescent {
    /// Asks all threads to check in from now on. With [`Fences::by_check_in`](crate::Fences::by_check_in) it is a heavy
    /// fence.
    #[cfg_attr(unc_model, track_caller)]
    pub fn ticket(&'static self) -> Ticket {
        Ticket(Kind::CheckIn(self, self.request()))
    }
}

impl Ticket {
    pub(crate) fn complete() -> Ticket {
        Ticket(Kind::Complete)
    }

    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn expedited() -> Ticket {
        Ticket(Kind::Expedited(EXPEDITED.request()))
    }

    pub(crate) fn mprotect() -> Ticket {
        Ticket(Kind::Mprotect(MPROTECT.request()))
    }

    pub(crate) fn stamps(asked: Asked) -> Ticket {
        Ticket(Kind::Stamps(asked))
    }

    /// Whether the fence is complete. It only looks, which takes nanoseconds.
    #[cfg_attr(unc_model, track_caller)]
    pub fn is_complete(&self) -> bool {
        match &self.0 {
            Kind::Complete => true,
            &Kind::Expedited(number) => EXPEDITED.is_served(number),
            &Kind::Mprotect(number) => MPROTECT.is_served(number),
            Kind::Stamps(asked) => asked.is_past(),
            &Kind::CheckIn(threads, number) => threads.is_ripe(number),
        }
    }

    /// Whether the fence is complete. Where barriers interrupt, this runs one if need be, unless another thread is
    /// running one: it takes microseconds then, but does not wait for another thread. With check-ins, the calling
    /// thread checks in.
    ///
    /// # Errors
    /// The backend worked before and is refused now. The ticket remains incomplete.
    #[cfg_attr(unc_model, track_caller)]
    pub fn poll(&self) -> Result<bool, Refused> {
        match &self.0 {
            Kind::Complete => Ok(true),
            &Kind::Mprotect(number) => MPROTECT.serve(number, mprotect::barrier),
            Kind::Stamps(asked) => asked.poll(),
            &Kind::CheckIn(threads, number) => {
                threads.check_in_here(number);
                Ok(threads.is_ripe(number))
            }
            &Kind::Expedited(number) => {
                EXPEDITED.serve(number, || backend::barrier(Scope::Private))
            }
        }
    }

    /// Waits until the fence is complete. No thread wakes the waiter (except for stamps, where the daemon does): it
    /// pauses between looks, each time for a tenth of what it has waited so far.
    ///
    /// # Errors
    /// Those of [`poll`](Ticket::poll).
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait(&self) -> Result<(), Refused> {
        self.wait_at_most(None).map(drop)
    }

    /// Waits until the fence is complete, but not longer than `limit`. Returns whether it is complete.
    ///
    /// # Errors
    /// Those of [`poll`](Ticket::poll).
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_for(&self, limit: Duration) -> Result<bool, Refused> {
        self.wait_at_most(Some(limit))
    }

    #[cfg_attr(unc_model, track_caller)]
    fn wait_at_most(&self, limit: Option<Duration>) -> Result<bool, Refused> {
        if let Kind::Stamps(asked) = &self.0 {
            return asked.wait(limit);
        }
        let backoff = Backoff::new(limit);
        loop {
            if self.poll()? {
                return Ok(true);
            }
            if !backoff.pause() {
                return Ok(false);
            }
        }
    }
}
