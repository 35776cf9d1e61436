//! Both sides of an asymmetric fence, chosen together.
//!
//! # Invariants
//! I1: a `Fences` never changes its way, and its light side orders whatever its heavy side leaves to it.

use crate::backend::{self, backend};
use crate::bare;
use crate::mprotect;
use crate::quiescent::Quiescent;
use crate::reason::{Backend, Cost, Reason, Refused};
use crate::stamps::Stamps;
use crate::ticket::Ticket;
use uncontended_atomic::{Ordering::SeqCst, Scope, compiler_fence, fence};

/// A pair of fences: the protocol that both sides of an algorithm follow, as a value.
///
/// # Contract
/// The threads of an algorithm all use one `Fences`, or copies of it. It is chosen with the algorithm's shared
/// structure, before any thread reads, and never changes: a light fence of one pair and a heavy fence of another order
/// nothing.
///
/// ```
/// use uncontended_atomic::{AtomicBool, Ordering::Relaxed};
/// use uncontended_fence::Fences;
///
/// let fences = Fences::best();
/// let (mine, theirs) = (AtomicBool::new(false), AtomicBool::new(false));
/// // Often, in one thread:
/// mine.store(true, Relaxed);
/// fences.light();
/// let i_saw = theirs.load(Relaxed);
/// // Seldom, in another:
/// theirs.store(true, Relaxed);
/// fences.heavy()?;
/// let they_saw = mine.load(Relaxed);
/// assert!(i_saw || they_saw);
/// println!("{}: {}", fences.backend(), fences.cost());
/// # Ok::<(), uncontended_fence::Refused>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fences(Way);

#[derive(Clone, Copy, Debug)]
enum Way {
    /// As the process decides when it first needs a fence.
    Process,
    /// Membarrier, which works.
    Expedited,
    /// Changes of protection, which order here.
    Mprotect,
    Stamps(&'static Stamps),
    CheckIn(&'static Quiescent),
    Full(Refused),
}

/// A backend by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Expedited membarrier, or an error.
    Expedited,
    /// Changes of a page's protection, if they interrupt the other CPUs here. The first call tries it out on every CPU
    /// that the process may use, which takes some milliseconds. For x86-64 alone, and only worth having where
    /// membarrier is forbidden: it takes longer, and no manual promises that it orders.
    Mprotect,
    /// Full fences on both sides: for sides that are equally busy, and for CPUs that must not be interrupted.
    FullFences,
}

impl Fences {
    /// Those of [`light`](crate::light) and [`heavy`](crate::heavy): membarrier, or full fences where it is refused.
    /// The first fence of the process decides it, so this may be in a `static`.
    pub const fn process() -> Fences {
        Fences(Way::Process)
    }

    /// The cheapest for readers that works here, decided now. Its light fence reads no flag.
    pub fn best() -> Fences {
        match backend::decide(Scope::Private) {
            Ok(()) => Fences(Way::Expedited),
            Err(refused) => Fences(Way::Full(refused)),
        }
    }

    /// Those of this backend, and no other.
    ///
    /// # Errors
    /// The backend does not work here.
    pub fn with(choice: Choice) -> Result<Fences, Refused> {
        match choice {
            Choice::Expedited => backend::decide(Scope::Private).map(|()| Fences(Way::Expedited)),
            Choice::Mprotect => mprotect::decide().map(|()| Fences(Way::Mprotect)),
            Choice::FullFences => {
                Ok(Fences(Way::Full(Refused { reason: Reason::Unwanted, errno: 0 })))
            }
        }
    }

    /// Those of a daemon's stamps: both halves are free of fences and interrupts, and a heavy one takes up to a tick of
    /// the kernel's timer. In all processes that have connected, light fences pair with it. See
    /// [`stamps`](crate::stamps). [`best`](Fences::best) never takes them, since a membarrier is complete earlier.
    pub fn by_stamps(stamps: &'static Stamps) -> Fences {
        Fences(Way::Stamps(stamps))
    }

    /// Those of threads that check in: both halves are free of fences and interrupts, and a heavy one lasts until all
    /// `threads` have checked in.
    ///
    /// # Safety
    /// A thread that runs a light fence of this pair, or of a copy, is registered with `threads` and online then: it
    /// has a [`Member`](crate::Member), or has forgotten it and not begun to end (the destructor of a thread-local is
    /// too late), and is not in `offline`. Of other threads,
    /// the heavy half orders nothing, so what relies on it may use what has been freed.
    pub unsafe fn by_check_in(threads: &'static Quiescent) -> Fences {
        Fences(Way::CheckIn(threads))
    }

    /// The light half: at most a branch where the heavy half pays for both.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn light(self) {
        match self.0 {
            Way::Process if backend::works(Scope::Private) => bare::light(),
            Way::Expedited | Way::Mprotect | Way::Stamps(_) => bare::light(),
            // SeqCst: keeps the compiler from moving a store before it past a load after it; a check-in does the rest.
            Way::CheckIn(_) => compiler_fence(SeqCst),
            Way::Process | Way::Full(_) => full(),
        }
    }

    /// The heavy half. It returns when it is complete. Threads that call it at the same time share barriers.
    ///
    /// # Errors
    /// Membarrier worked before and is refused now: the call orders nothing.
    #[cfg_attr(unc_model, track_caller)]
    pub fn heavy(self) -> Result<(), Refused> {
        self.ticket().wait()
    }

    /// Asks for a heavy fence now, to be complete later.
    #[cfg_attr(unc_model, track_caller)]
    pub fn ticket(self) -> Ticket {
        match self.0 {
            Way::Process if backend::decide(Scope::Private).is_ok() => Ticket::expedited(),
            Way::Expedited => Ticket::expedited(),
            Way::Mprotect => Ticket::mprotect(),
            Way::Stamps(stamps) => Ticket::stamps(stamps.ask()),
            Way::CheckIn(threads) => threads.ticket(),
            Way::Process | Way::Full(_) => {
                full();
                Ticket::complete()
            }
        }
    }

    /// The implementation, with the reason where it is not the best.
    pub fn backend(self) -> Backend {
        match self.0 {
            Way::Process => backend(),
            Way::Expedited => Backend::Expedited,
            Way::Mprotect => Backend::Mprotect,
            Way::Stamps(_) => Backend::Stamps,
            Way::CheckIn(_) => Backend::CheckIn,
            Way::Full(refused) => Backend::FullFences(refused),
        }
    }

    /// What each side pays.
    pub fn cost(self) -> Cost {
        self.backend().cost()
    }
}

impl Default for Fences {
    fn default() -> Fences {
        Fences::process()
    }
}

/// A fence of this thread alone, where no other thread's barrier orders its accesses.
#[inline(always)]
#[cfg_attr(unc_model, track_caller)]
fn full() {
    // SeqCst: orders earlier stores before later loads, as the other side's full fence does there (I1).
    compiler_fence(SeqCst);
    fence(SeqCst);
}
