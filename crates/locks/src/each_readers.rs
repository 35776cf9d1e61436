//! All locks for readers by name: the one list that measurements and tests go through.

use crate::{Bravo, Park, PhaseFair, RawRwLock, Spin, SpinThenPark, SpinThenYield, Waits};

/// What to do with each lock for readers.
pub trait VisitReaders {
    /// Called for each of them, with the name of its type.
    fn visit<L: RawRwLock + 'static>(&mut self, name: &'static str, waits: Waits);
}

/// Calls `visit` for every lock of this crate that many readers hold at once.
pub fn each_readers(visit: &mut impl VisitReaders) {
    use Waits::{Parks, Spins, Yields};
    visit.visit::<PhaseFair<Spin>>("PhaseFair<Spin>", Spins);
    visit.visit::<PhaseFair<SpinThenYield>>("PhaseFair<SpinThenYield>", Yields);
    visit.visit::<PhaseFair<Park>>("PhaseFair<Park>", Parks);
    visit.visit::<PhaseFair<SpinThenPark>>("PhaseFair<SpinThenPark>", Parks);
    visit.visit::<Bravo<PhaseFair<SpinThenYield>>>("Bravo<PhaseFair<SpinThenYield>>", Yields);
    visit.visit::<Bravo<PhaseFair<SpinThenPark>>>("Bravo<PhaseFair<SpinThenPark>>", Parks);
}
