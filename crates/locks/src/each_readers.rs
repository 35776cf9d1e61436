//! All locks for readers by name: the one list that measurements and tests go through.

use crate::{Bravo, Park, PhaseFair, RawRwLock, Spin, SpinThenPark, SpinThenYield, Waits};

/// What to do with each lock for readers.
pub trait VisitReaders {
    /// Called for each of them, with its name.
    fn visit<L: RawRwLock + 'static>(&mut self, name: &'static str, waits: Waits);
}

/// Calls `visit` for every lock of this crate that many readers hold at once.
pub fn each_readers(visit: &mut impl VisitReaders) {
    use Waits::{Parks, Spins, Yields};
    visit.visit::<PhaseFair<Spin>>("phase-fair", Spins);
    visit.visit::<PhaseFair<SpinThenYield>>("phase-fair-yield", Yields);
    visit.visit::<PhaseFair<Park>>("phase-fair-parks", Parks);
    visit.visit::<PhaseFair<SpinThenPark>>("phase-fair-park", Parks);
    visit.visit::<Bravo<PhaseFair<SpinThenYield>>>("bravo-yield", Yields);
    visit.visit::<Bravo<PhaseFair<SpinThenPark>>>("bravo-park", Parks);
}
