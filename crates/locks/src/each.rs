//! All locks by name: the one list that measurements and tests go through.

use crate::{
    Backoff, Bounded, Clh, Futex, Hint, HintThenYield, Mcs, Park, PreemptionAware, Published,
    RawLock, Reciprocating, Spin, SpinThenPark, SpinThenYield, Tas, Ticket, Ttas, WordQueue, Yield,
};

/// Which thread is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first to come after it was given back.
    Barging,
    /// The same, but a waiter is overtaken a bounded number of times.
    Bounded,
    /// In order of arrival.
    Arrival,
    /// In order of arrival, of those that have a CPU.
    ArrivalOfRunning,
}

/// How waiters wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// They spin.
    Spins,
    /// They spin, then let other threads run.
    Yields,
    /// They sleep, mostly after a spin.
    Parks,
}

/// What to do with each lock.
pub trait Visit {
    /// Called for each of them, with its name.
    fn visit<L: RawLock + 'static>(&mut self, name: &'static str, order: Order, waits: Waits);
}

/// Calls `visit` for every lock of this crate.
pub fn each(visit: &mut impl Visit) {
    use Order::{Arrival, Barging};
    use Waits::{Parks, Spins, Yields};
    visit.visit::<Tas>("tas", Barging, Spins);
    visit.visit::<Ttas<Hint>>("ttas", Barging, Spins);
    visit.visit::<Ttas<Backoff>>("ttas-backoff", Barging, Spins);
    visit.visit::<Ttas<HintThenYield>>("ttas-yield", Barging, Yields);
    visit.visit::<Ttas<Yield>>("ttas-yields", Barging, Yields);
    visit.visit::<Futex>("futex", Barging, Parks);
    visit.visit::<PreemptionAware>("preemption-aware", Barging, Parks);
    visit.visit::<WordQueue<Park>>("word-queue", Barging, Parks);
    visit.visit::<Bounded>("bounded", Order::Bounded, Parks);
    visit.visit::<Reciprocating<Spin>>("reciprocating", Order::Bounded, Spins);
    visit.visit::<Reciprocating<SpinThenPark>>("reciprocating-park", Order::Bounded, Parks);
    visit.visit::<Ticket<Hint>>("ticket", Arrival, Spins);
    visit.visit::<Ticket<HintThenYield>>("ticket-yield", Arrival, Yields);
    visit.visit::<Clh<Hint>>("clh", Arrival, Spins);
    visit.visit::<Clh<HintThenYield>>("clh-yield", Arrival, Yields);
    visit.visit::<Published>("published", Order::ArrivalOfRunning, Yields);
    visit.visit::<Mcs<Spin>>("mcs", Arrival, Spins);
    visit.visit::<Mcs<SpinThenYield>>("mcs-yield", Arrival, Yields);
    visit.visit::<Mcs<Park>>("mcs-parks", Arrival, Parks);
    visit.visit::<Mcs<SpinThenPark>>("mcs-park", Arrival, Parks);
}
