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
    /// Called for each of them, with the name of its type.
    fn visit<L: RawLock + 'static>(&mut self, name: &'static str, order: Order, waits: Waits);
}

/// Calls `visit` for every lock of this crate.
pub fn each(visit: &mut impl Visit) {
    use Order::{Arrival, Barging};
    use Waits::{Parks, Spins, Yields};
    visit.visit::<Tas>("Tas", Barging, Spins);
    visit.visit::<Ttas<Hint>>("Ttas<Hint>", Barging, Spins);
    visit.visit::<Ttas<Backoff>>("Ttas<Backoff>", Barging, Spins);
    visit.visit::<Ttas<HintThenYield>>("Ttas<HintThenYield>", Barging, Yields);
    visit.visit::<Ttas<Yield>>("Ttas<Yield>", Barging, Yields);
    visit.visit::<Futex>("Futex", Barging, Parks);
    visit.visit::<PreemptionAware>("PreemptionAware", Barging, Parks);
    visit.visit::<WordQueue<Park>>("WordQueue<Park>", Barging, Parks);
    visit.visit::<Bounded>("Bounded", Order::Bounded, Parks);
    visit.visit::<Reciprocating<Spin>>("Reciprocating<Spin>", Order::Bounded, Spins);
    visit.visit::<Reciprocating<SpinThenPark>>(
        "Reciprocating<SpinThenPark>",
        Order::Bounded,
        Parks,
    );
    visit.visit::<Ticket<Hint>>("Ticket<Hint>", Arrival, Spins);
    visit.visit::<Ticket<HintThenYield>>("Ticket<HintThenYield>", Arrival, Yields);
    visit.visit::<Clh<Hint>>("Clh<Hint>", Arrival, Spins);
    visit.visit::<Clh<HintThenYield>>("Clh<HintThenYield>", Arrival, Yields);
    visit.visit::<Published>("Published", Order::ArrivalOfRunning, Yields);
    visit.visit::<Mcs<Spin>>("Mcs<Spin>", Arrival, Spins);
    visit.visit::<Mcs<SpinThenYield>>("Mcs<SpinThenYield>", Arrival, Yields);
    visit.visit::<Mcs<Park>>("Mcs<Park>", Arrival, Parks);
    visit.visit::<Mcs<SpinThenPark>>("Mcs<SpinThenPark>", Arrival, Parks);
}
