//! Locks that several threads may hold: the events of a read-write lock.
//!
//! # Contract
//! The lock has a row for its readers and one for its writers. The writers' row also has the lock's state: the
//! number of holders of both sides (it is free if that is 0) and the list of all waiters. An idle interval that a
//! reader ends is counted there too. Holds and waits are counted on the row of the thread's side.
//!
//! Of overlapping holds, each instant belongs to the one that ends last: without the others, a waiter would have waited
//! as long. So a thread that leaves others behind only notes its hold; the last one to leave divides what was waited
//! among the noted holds and its own, waits that have ended too ([`undivided`]). When the list is full, two of its
//! entries stand for all later holds: one for those that began before the last entry, of which they hide all, and the
//! last entry for the rest ([`overflow`]).
//! # State
//! `Lock::holders` of the writers' row counts the holders that were seen taking the lock. `Recent` has the holds that
//! ended while others went on; `Recent::noted` is their number, and `Recent::divided_to` up to when waiting is divided.
//! # Invariants
//! I1: only the thread that takes `noted` to zero divides the holds noted before.
//! I2: no piece of a wait is booked twice. A thread stores `divided_to` before it reads the list of waiters; a waiter
//!     that gives up leaves the list before it reads `divided_to`, and before it keeps its wait.
//! # Edges
//! left: [`leave`] counts itself out of `holders` after noting its hold -> the last one to leave. Carries `PastHold`.
//! freed: [`leave`], alone, stores `release`, then counts itself out of `holders` -> [`acquired`] stores 0.
//! taken: [`acquired`] counts itself in `holders`, then stores 0 -> [`leave`], where two left at once, finds it there.
//! hold: [`note`] stores `PastHold::ended` -> [`divide`] takes it. Carries the entry.
//! # Evidence
//! `tests/shared.rs`, `tests/model_shared.rs`; `tests/programs`: `blame_rwlock.c`, `readers_starve_writer.c`.

use crate::blame::{self, Share};
use crate::chain::{self, Part};
use crate::events::{self, End, Idle, Waited};
use crate::given_up;
use crate::list::{self, CLAIMED};
use crate::log::{self, By};
use crate::releases::{Unlock, stamp};
use crate::site::{Recorder, Row, Site};
use crate::undivided::{self, Undivided};
use crate::waiters::{self, Side, Wait};
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use uncontended_trace::layout::{
    ARRIVALS, CHAIN_PARTS, Cell, Lock, PastHold, RECENT, Recent, UNDIVIDED, WaiterList, attention,
    cause, units,
};
use uncontended_trace::setup::Holds;

/// Both rows of a lock, for one thread.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The row of the thread's side.
    pub mine: Row,
    /// The writers' row, which knows whether the lock is free.
    pub state: Row,
    /// The thread's side.
    pub side: Side,
}

/// Begins a wait for the lock by a thread that called at `call`.
#[cold]
pub fn wait(at: impl Site, rows: Rows, call: u64) -> Wait {
    let busy = at.begin();
    let mut wait = Wait::begin(at, rows.state.lock, call, rows.side);
    wait.called_in(at.recorder(), at.stack());
    drop(busy);
    wait
}

/// The lock was taken. `wait` is the thread's wait for it, if there was one.
#[inline(always)]
pub fn acquired(at: impl Site, rows: Rows, wait: Option<Wait>) {
    let Rows { mine, state, .. } = rows;
    events::bump(&mine.cell.acquisitions);
    let is_noted = is_noted(state.lock);
    // EDGE freed (acquire): the time of the release, which the store below takes back.
    let first = state.lock.holders.fetch_add(1, Acquire) == 0;
    let now = if at.recorder().holds != Holds::None || is_noted { at.ticks() } else { 1 };
    if is_noted {
        end_wait(at, rows, wait, first, now);
    }
    // EDGE free (release): the time that was free, as in `events::take`.
    // EDGE taken (release): this holder.
    state.lock.release.store(0, Release);
    if mine.cell.depth.load(Relaxed) == 0 {
        events::own(at.recorder(), mine, at.site(), || now);
    } else {
        mine.cell.depth.store(mine.cell.depth.load(Relaxed) + 1, Relaxed);
    }
}

/// Whether its holds are to be noted: a thread waits for the lock, or has waited for holds that go on.
#[inline(always)]
fn is_noted(lock: &Lock) -> bool {
    lock.attention.load(Relaxed) & (attention::WAITERS | attention::UNDIVIDED) != 0
}

#[cold]
fn end_wait(at: impl Site, rows: Rows, wait: Option<Wait>, was_free: bool, now: u64) {
    let Rows { mine, state, .. } = rows;
    let busy = at.begin();
    let release = if was_free { state.lock.release.load(Relaxed) } else { 0 };
    let opened = match release {
        0 => None,
        release => waiters::opened(at.recorder(), state.lock, release, now),
    };
    if release != 0 {
        blame::close(state.lock, release, now);
    }
    let mut cause = cause::BARGED;
    if let Some(wait) = wait {
        let Wait { call, arrival, free, stack, .. } = wait;
        let slept = wait.sleeps.slept(at);
        wait.leave(at.recorder(), state.lock);
        let is_let_in =
            rows.side == Side::Shared && !was_free && state.lock.signalled.load(Relaxed) < arrival;
        if let (true, Some(list)) = (is_let_in, recent(at.recorder(), state.lock)) {
            // The holds that it waited for go on: it is among them because another waiter gave up.
            let wait = Undivided { side: rows.side, arrival, until: now };
            undivided::keep(state.lock, list, wait);
        }
        chain::was_blocked(at.recorder(), state.lock, arrival);
        let stamped = state.lock.stack_at.load(Relaxed);
        let by = By::leaver(at.recorder(), state.lock, (call, now));
        let free = free.since(state.lock, 0).min(now.saturating_sub(arrival));
        let waited =
            Waited { call, now, release: stamped, stack, by, free, slept, ..Waited::default() };
        events::record_wait(at, mine, waited);
        cause = events::cause_of(call, opened.unwrap_or(now), state.lock.woken.load(Relaxed), now);
    }
    if let Some(opened) = opened {
        events::close_idle(at, state, Idle { opened, now, release, cause });
    }
    drop(busy);
}

/// The call failed since its own thread holds the lock (EDEADLK): that was no wait.
#[cold]
pub fn refused(at: impl Site, rows: Rows, wait: Wait) {
    let busy = at.begin();
    wait.give_up(at.recorder(), rows.state.lock);
    drop(busy);
}

/// A wait ended without the lock. `readers`: the readers' row, if there is one.
#[cold]
pub fn gave_up(at: impl Site, rows: Rows, wait: Wait, readers: Option<Row>) {
    let Rows { mine, state, .. } = rows;
    let busy = at.begin();
    let Wait { call, arrival, free, stack, .. } = wait;
    let slept = wait.sleeps.slept(at);
    let now = at.ticks();
    let release = state.lock.release.load(Relaxed);
    let opened = match release {
        0 => None,
        release => waiters::opened(at.recorder(), state.lock, release, now),
    };
    let others = wait.give_up(at.recorder(), state.lock);
    let free_now = if release != 0 { now.saturating_sub(release) } else { 0 };
    let free = free.since(state.lock, free_now).min(now.saturating_sub(arrival));
    let ended = End::TimedOut;
    events::record_wait(
        at,
        mine,
        Waited { call, now, ended, stack, free, slept, ..Waited::default() },
    );
    // A free lock has no holder, however late its thread's writes arrive here.
    if release == 0 {
        gave_up_during_holds(at.recorder(), rows, readers, (arrival, now));
    }
    if let (Some(opened), true) = (opened, others != 0) {
        state.lock.open_since.store(opened, Relaxed);
    }
    drop(busy);
}

/// A wait from `arrival` to `now` has ended, and holds go on. A holder that is alone gets its piece at once; what is
/// left is the holders' that left before it. Of several, the one that ends last is not known yet.
fn gave_up_during_holds(
    recorder: &Recorder,
    rows: Rows,
    readers: Option<Row>,
    (arrival, now): (u64, u64),
) {
    let Rows { mine, state, side } = rows;
    let list = recent(recorder, state.lock);
    // SeqCst: keeps the store that emptied the slot before this load (I2).
    let divided_to = list.map_or(0, |list| list.divided_to.load(SeqCst));
    let arrival = arrival.max(divided_to);
    let piece = last_piece(recorder, rows, readers, arrival, now);
    if let Some(piece) = piece {
        chain::waited_for(recorder, piece.until(now));
    }
    let own = piece.filter(|_| state.lock.holders.load(Relaxed) == 1);
    let until = now - own.map_or(0, |own| own.wait);
    let wait = Undivided { side, arrival, until };
    let is_kept =
        arrival < until && list.is_some_and(|list| undivided::keep(state.lock, list, wait));
    if let Some(piece) = own.or(piece.filter(|_| !is_kept)) {
        blame::book(recorder, mine.cell, piece);
    }
}

/// The piece of a wait that fell into the present hold: of the writer, or of the reader that came last.
fn last_piece(
    recorder: &Recorder,
    rows: Rows,
    readers: Option<Row>,
    arrival: u64,
    now: u64,
) -> Option<Share> {
    let owners = [Some(rows.state), Some(rows.mine), readers].into_iter().flatten();
    let holds = |cell: &&Cell| cell.depth.load(Relaxed) != 0 && cell.hold_start.load(Relaxed) != 0;
    let owners = owners.map(|row| row.lock.owner.load(Relaxed)).filter(|&owner| owner != 0);
    let holder = owners.map(|owner| recorder.arena.at::<Cell>(owner)).find(holds)?;
    let began = holder.hold_start.load(Relaxed);
    let from = arrival.max(began);
    given_up::leave(recorder, rows.state.lock, began, rows.side);
    (from <= now).then(|| blame::piece((holder.site.load(Relaxed), began), from, now))
}

/// The holds of a lock that ended while others went on, made when they are first needed; none if there is no room.
fn recent(recorder: &Recorder, lock: &'static Lock) -> Option<&'static Recent> {
    let made = || recorder.arena.allocate(units(size_of::<Recent>()));
    let unit = list::published(&lock.recent, made)?;
    Some(recorder.arena.at(unit))
}

/// Notes the hold that the calling thread is about to end.
fn note(at: impl Site, list: &Recent, cell: &Cell, (began, now): (u64, u64)) {
    let place = list.noted.fetch_add(1, Relaxed) as usize;
    match list.holds.get(place) {
        Some(hold) => put(at, hold, cell, (began, now)),
        None => overflow(at, list, cell, (began, now)),
    }
}

fn put(at: impl Site, hold: &PastHold, cell: &Cell, (began, now): (u64, u64)) {
    hold.began.store(began, Relaxed);
    hold.site.store(cell.site.load(Relaxed), Relaxed);
    hold.release.store(at.known_stack().unwrap_or(0), Relaxed);
    // EDGE hold (release): the entry is complete.
    hold.ended.store(now, Release);
}

/// The same with a full list, whose last two entries are for this if they are complete. A hold that began before the
/// last entry contains all of it: it has the entry before it, and the last one is for what comes next. Any other hold
/// lengthens the last entry: what lies between them was held by a thread that will end later, or is in the list.
/// Threads that come here at once may mix two holds in an entry, which gives no instant to two.
#[cold]
fn overflow(at: impl Site, list: &Recent, cell: &Cell, (began, now): (u64, u64)) {
    let [.., long, last] = &list.holds;
    // EDGE hold (acquire): when they began.
    if [long, last].iter().any(|hold| hold.ended.load(Acquire) == 0) {
        return;
    }
    let [last_began, last_ended] = [&last.began, &last.ended].map(|at| at.load(Relaxed));
    if last_began == last_ended {
        return put(at, last, cell, (began, now));
    }
    if began > last_began {
        last.ended.fetch_max(now, Relaxed);
        return;
    }
    if began <= long.began.load(Relaxed) {
        put(at, long, cell, (began, now));
    } else {
        long.ended.fetch_max(now, Relaxed);
    }
    last.began.store(now, Relaxed);
    last.ended.fetch_max(now, Relaxed);
}

/// The waits of each side: when they began, and when they ended if they have.
struct Arrivals {
    of: [[(u64, u64); ARRIVALS + UNDIVIDED]; 2],
    count: [usize; 2],
}

impl Arrivals {
    fn add(&mut self, side: Side, arrival: u64, until: u64) {
        let side = side as usize;
        self.of[side][self.count[side]] = (arrival, until);
        self.count[side] += 1;
    }

    fn none() -> Arrivals {
        Arrivals { of: [[(0, 0); ARRIVALS + UNDIVIDED]; 2], count: [0; 2] }
    }

    /// Adds what is to be divided until `now`: in place, since there is little of the stack for a copy.
    fn add_all(&mut self, recorder: &Recorder, lock: &Lock, recent: &Recent, now: u64) {
        undivided::take(lock, recent, now, |wait| self.add(wait.side, wait.arrival, wait.until));
        let unit = lock.waiters.load(Relaxed);
        if unit == 0 {
            return;
        }
        let list: &WaiterList = recorder.arena.at(unit);
        for (place, slot) in list.arrivals.iter().enumerate() {
            // SeqCst: keeps the store of `divided_to` before this load (I2). EDGE side (acquire): the bit of this slot.
            let arrival = slot.load(SeqCst);
            if arrival > CLAIMED {
                let is_shared = list.shared.load(Relaxed) >> place & 1 != 0;
                let side = if is_shared { Side::Shared } else { Side::Exclusive };
                self.add(side, arrival, u64::MAX);
            }
        }
    }

    /// What the time from `start` to `end` cost each side: the waiting, and the number of threads.
    fn cost(&self, start: u64, end: u64) -> [(u64, u64); 2] {
        [0, 1].map(|side| {
            let arrivals = self.of[side][..self.count[side]].iter();
            let parts =
                arrivals.map(|&(from, until)| end.min(until).saturating_sub(from.max(start)));
            parts
                .filter(|&part| part > 0)
                .fold((0, 0), |(sum, count), part| (sum + part, count + 1))
        })
    }
}

/// Divides what was waited until `now` among the noted holds and the calling thread's own, which is about to end.
/// Books the others' shares and returns its own, for each side. Not inlined: it needs much of the stack.
#[inline(never)]
fn divide(
    at: impl Site,
    rows: Rows,
    list: &Recent,
    readers: Option<Row>,
    (began, now): (u64, u64),
) -> [Option<Share>; 2] {
    let recorder = at.recorder();
    // SeqCst: keeps this store before the loads of the arrivals (I2).
    let divided_to = list.divided_to.swap(now, SeqCst);
    let mut arrivals = Arrivals::none();
    arrivals.add_all(recorder, rows.state.lock, list, now);
    let noted = list.noted.swap(0, Relaxed) as usize; // I1
    let is_full = noted > RECENT;
    let share = |hold: Share, began: u64, costs: [(u64, u64); 2]| {
        let of = |side: Side| {
            let (wait, waits) = costs[side as usize];
            let is_waited = waits > 0 || given_up::is_in(recorder, rows.state.lock, began, side);
            is_waited.then_some(Share { wait, waits, holds: 1, ..hold })
        };
        [Side::Exclusive, Side::Shared].map(of)
    };
    let own = Part { from: began.max(divided_to), to: now, by: rows.mine.cell.site.load(Relaxed) };
    let (mut cover, mut parts, mut count) = (own.from, [Part::default(); CHAIN_PARTS], 0);
    let holds = list.holds[..noted.min(RECENT)].iter().enumerate();
    for (place, PastHold { began, ended, site, release }) in holds.rev() {
        // EDGE hold (acquire): the entry is complete; 0 if its thread is still at it, or has been counted.
        let ended = ended.swap(0, Acquire);
        let began = began.load(Relaxed);
        let start = began.max(divided_to);
        if ended > start && start < cover {
            let part = Part { from: start, to: cover.min(ended), by: site.load(Relaxed) };
            let costs = arrivals.cost(part.from, part.to);
            let is_several = is_full && place == RECENT - 1;
            let length = if is_several { 0 } else { ended.saturating_sub(began) };
            let (site, release) = (part.by, release.load(Relaxed));
            let hold = Share { site, release, length, ..Share::default() };
            book(recorder, rows, readers, share(hold, began, costs));
            cover = start;
            if let Some(place) = parts.get_mut(count) {
                (*place, count) = (part, count + 1);
            }
        }
    }
    chain::leave(recorder, rows.state.lock, parts[..count].iter().rev(), (began, own));
    let length = now.saturating_sub(began);
    let hold = Share { site: own.by, length, ..Share::default() };
    let mut shares = share(hold, began, arrivals.cost(own.from, now));
    if let Some(meanwhile) = chain::meanwhile(recorder, own.from) {
        for (side, row) in [Some(rows.state), readers].into_iter().enumerate() {
            let (Some(share), Some(row)) = (&mut shares[side], row) else { continue };
            let cost = |part: Part| arrivals.cost(part.from, part.to)[side].0;
            blame::pass_on(recorder, row.cell, share, chain::divided(meanwhile, own, cost));
        }
    }
    shares
}

/// Adds shares, of the writers' waiting and of the readers', to the cells of their rows.
fn book(recorder: &Recorder, rows: Rows, readers: Option<Row>, shares: [Option<Share>; 2]) {
    for (share, row) in shares.into_iter().zip([Some(rows.state), readers]) {
        if let (Some(share), Some(row)) = (share, row) {
            blame::book(recorder, row.cell, share);
        }
    }
}

/// A release, from its timestamp to what is recorded after it.
#[derive(Debug)]
pub struct Left {
    unlock: Unlock,
    caused: [Option<Share>; 2],
    readers: Option<Row>,
}

impl Left {
    /// Records what the release ended, outside the critical section.
    #[inline(always)]
    pub fn done(self, at: impl Site, rows: Rows) {
        let now = self.unlock.now;
        let is_contended = self.caused.iter().any(Option::is_some);
        self.unlock.done(at, rows.mine, rows.state.lock, is_contended);
        if is_contended {
            let busy = at.begin();
            let release = at.stack();
            let of_release = |share: Share| Share {
                site: if share.site == 0 { release } else { share.site },
                release,
                ..share
            };
            let caused = self.caused.map(|share| share.map(of_release));
            book(at.recorder(), rows, self.readers, caused);
            let longest =
                caused.into_iter().flatten().map(|share| (share.length, share.site)).max();
            if let Some((length, site)) = longest {
                let hold = (now.saturating_sub(length), now);
                log::hold(at.recorder(), rows.mine.lock, hold, site);
            }
            drop(busy);
        }
    }
}

/// The calling thread is the last one to leave, at `now`.
#[inline(always)]
fn left_by(recorder: &Recorder, rows: Rows, now: u64) {
    let Rows { mine, state, .. } = rows;
    state.lock.ended_by.store(events::id(recorder, mine.cell), Relaxed);
    state.lock.signalled.store(now, Relaxed);
}

/// Whether what is to be divided, when the hold ends that began at `began`, is readers' waiting too.
fn wants_readers(at: impl Site, lock: &Lock, list: &Recent, began: u64) -> bool {
    list::shared(at.recorder(), lock)
        || undivided::is_shared(lock, list)
        || given_up::is_in(at.recorder(), lock, began, Side::Shared)
}

/// Records the release that is about to happen. `readers` makes the readers' row for a writer that they wait for.
pub fn leave(at: impl Site, rows: Rows, readers: impl FnOnce() -> Option<Row>) -> Left {
    let Rows { mine, state, side } = rows;
    let depth = mine.cell.depth.load(Relaxed);
    let unlock = stamp(at, state.lock, depth == 1);
    let now = unlock.now;
    let list = match depth == 1 && is_noted(state.lock) {
        true => recent(at.recorder(), state.lock),
        false => None,
    };
    let began = mine.cell.hold_start.load(Relaxed);
    // A reader cannot know yet whether it is the last one. Its own entry does not count against it.
    if let Some(list) = list.filter(|_| side == Side::Shared) {
        note(at, list, mine.cell, (began, now));
    }
    mine.cell.depth.store(depth.saturating_sub(1), Relaxed);
    let is_alone = depth != 0 && state.lock.holders.load(Relaxed) == 1;
    if is_alone {
        left_by(at.recorder(), rows, now);
        state.lock.release.store(now, Relaxed);
    }
    // EDGE freed (release): the time of the release.
    // EDGE left (release): what this thread has noted.
    // EDGE left (acquire): what the threads that left before have noted.
    let is_last = depth != 0 && state.lock.holders.fetch_sub(1, AcqRel) == 1;
    let readers = match side {
        Side::Shared => Some(mine),
        Side::Exclusive => {
            list.filter(|list| wants_readers(at, state.lock, list, began)).and_then(|_| readers())
        }
    };
    let mut caused = [None; 2];
    if let Some(list) = list.filter(|_| is_last) {
        let busy = at.begin();
        caused = divide(at, rows, list, readers, (began, now));
        drop(busy);
    }
    let has_company = match (is_alone, is_last) {
        (true, _) => !is_last,
        (false, true) => {
            left_by(at.recorder(), rows, now);
            // EDGE taken (acquire): the reader that stored 0 counts as a holder.
            state.lock.release.swap(now, Acquire);
            state.lock.holders.load(Relaxed) != 0
        }
        (false, false) => false,
    };
    if has_company {
        // A reader has come: the lock is not free.
        let _ = state.lock.release.compare_exchange(now, 0, Relaxed, Relaxed);
    }
    Left { unlock, caused, readers }
}
