//! Threads at one mutex, at times that the test sets.

use super::{At, ROOM, image, recorder_of};
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_events::events::{self, Back, Blocked, Waited};
use uncontended_events::recent;
use uncontended_events::site::Row;
use uncontended_trace::layout::{Caused, Cold, DIED, WAITED, WOKEN_INTO};
use uncontended_trace::setup::Holds;

/// A thread with its row of the one mutex.
#[derive(Clone, Copy)]
pub(crate) struct Party {
    pub(crate) at: At,
    pub(crate) row: Row,
}

pub(crate) fn parties<const N: usize>() -> [Party; N] {
    parties_of(Holds::All)
}

/// The same, with these holds recorded.
pub(crate) fn parties_of<const N: usize>(holds: Holds) -> [Party; N] {
    let image = image(ROOM);
    let party = |number: usize| {
        let at = At { stack: number as u32 + 1, ..At::new(recorder_of(image, holds), 1) };
        Party { at, row: at.row(64) }
    };
    std::array::from_fn(party)
}

impl Party {
    pub(crate) fn takes(self, now: u64) {
        self.at.set(now);
        events::acquired(self.at, self.row);
    }

    pub(crate) fn releases(self, now: u64) {
        self.at.set(now);
        assert_eq!(events::release(self.at, self.row, || true, || 0), 0);
    }

    pub(crate) fn waits(self, now: u64) -> Blocked<At> {
        self.at.set(now);
        Blocked::begin(self.at, self.row)
    }

    pub(crate) fn gets(self, wait: Blocked<At>, now: u64) {
        self.at.set(now);
        wait.acquired();
    }

    pub(crate) fn gives_up(self, wait: Blocked<At>, now: u64) {
        self.at.set(now);
        wait.gave_up();
    }

    /// Releases the mutex at `now` to wait for a condition.
    pub(crate) fn leaves(self, now: u64) {
        self.at.set(now);
        let release = events::leaving(self.at, self.row).expect("not recursive");
        release.done(self.at, self.row, self.row.lock, false);
    }

    /// Has the mutex again at `now`, for a signal at `ended`.
    pub(crate) fn returns(self, ended: u64, now: u64) {
        self.at.set(now);
        let Party { at, row } = self;
        let release = row.lock.release.load(Relaxed);
        recent::come_back(row.lock);
        if release > ended {
            let back = Back { ended, is_signalled: true, release, now };
            let free = events::came_back(at, row, back);
            let waited = Waited { call: ended, now, release, stack: 9, free, ..Waited::default() };
            events::record_wait(at, row, waited);
        }
        events::take(at.recorder, row, at.stack, now);
    }

    /// `(wait, passed_on, passed_to)` of each entry for holds, ordered.
    pub(crate) fn passed(self) -> Vec<(u64, u64, u32)> {
        let list = self.at.recorder.arena.list::<Caused>(&self.row.cell.caused);
        let all = list.map(|(_, entry)| {
            let [wait, passed_on] = [&entry.wait, &entry.passed_on].map(|word| word.load(Relaxed));
            (wait, passed_on, entry.passed_to.load(Relaxed))
        });
        let mut of_holds: Vec<_> = all.filter(|&(.., to)| to < u32::MAX / 2).collect();
        of_holds.sort_unstable();
        of_holds
    }

    /// `(stack, wait, waits, holds, longest)` of each entry, oldest first.
    pub(crate) fn caused(self) -> Vec<(u32, u64, u64, u64, u64)> {
        let list = self.at.recorder.arena.list::<Caused>(&self.row.cell.caused);
        let read = |word: &AtomicU64| word.load(Relaxed);
        let entry = |(_, entry): (u32, &'static Caused)| {
            let Caused { wait, waits, holds, longest, .. } = entry;
            (entry.stack.load(Relaxed), read(wait), read(waits), read(holds), read(longest))
        };
        let of_others = list.filter(|(_, entry)| {
            ![WAITED, WOKEN_INTO, DIED].contains(&entry.passed_to.load(Relaxed))
        });
        let mut entries: Vec<_> = of_others.map(entry).collect();
        entries.reverse();
        entries
    }

    /// `(stack, wait, waits, longest)` of each place where the thread waited, oldest first.
    pub(crate) fn waited_in(self) -> Vec<(u32, u64, u64, u64)> {
        self.booked(WAITED)
    }

    /// The same of each hold into which the thread was woken.
    pub(crate) fn woken_into(self) -> Vec<(u32, u64, u64, u64)> {
        self.booked(WOKEN_INTO)
    }

    fn booked(self, how: u32) -> Vec<(u32, u64, u64, u64)> {
        let list = self.at.recorder.arena.list::<Caused>(&self.row.cell.caused);
        let own = list.filter(|(_, entry)| entry.passed_to.load(Relaxed) == how);
        let read = |word: &AtomicU64| word.load(Relaxed);
        let entry = |(_, entry): (u32, &'static Caused)| {
            let Caused { stack, wait, waits, longest, .. } = entry;
            (stack.load(Relaxed), read(wait), read(waits), read(longest))
        };
        let mut entries: Vec<_> = own.map(entry).collect();
        entries.reverse();
        entries
    }

    pub(crate) fn cold(self) -> Option<&'static Cold> {
        let unit = self.row.cell.cold.load(Relaxed);
        (unit != 0).then(|| self.at.recorder.arena.at(unit))
    }

    pub(crate) fn free(self) -> u64 {
        self.cold().map_or(0, |cold| cold.wait_free.load(Relaxed))
    }

    pub(crate) fn waited(self) -> u64 {
        self.cold().map_or(0, |cold| cold.wait_total.load(Relaxed))
    }
}
