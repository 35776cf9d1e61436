//! Rows of locks: merges the parts of all threads.

use super::blame::{Division, Sites, divide, ended, is_held, waited_in};
use super::classify::{Part, classify};
use super::distribution::Bucket;
use super::ends::{self, Users};
use super::joined::Joined;
use super::nature::Nature;
use super::stacks::Stacks;
use super::times::{Longest, Times};
use super::{keeper, permits, posters};
use crate::facts::Facts;
use crate::run::{
    Blame, Blamed, Class, Frame, IdleCause, IdleCauses, Kind, Like, Lock, Moment, Span, Summed,
    TimedOut, Unfinished, WaitedIn, Woken, WorstIdle, WorstWait,
};
use std::collections::{HashMap, HashSet};
use uncontended_trace::layout::{cause, crossed, kind, sharing};
use uncontended_trace::reader::{
    CausedRecord, CellAt, CellRecord, ExtremeRecord, LockRecord, ProcessRecord, Record,
    ThreadRecord, TimedOutRecord, TimesRecord,
};
use uncontended_trace::setup::Holds;

pub(super) type Cells<'a> = Vec<(&'a ThreadRecord, CellRecord)>;

type Figure = fn(&CellRecord) -> u64;

/// Its times of a sort.
type TimesOf = fn(&CellRecord) -> &TimesRecord;

/// A longest time: the thread, and the record's entry.
type Note = (u32, ExtremeRecord);

/// The rows of a process image.
#[derive(Default)]
pub(super) struct Rows {
    /// One per lock lifetime that any thread touched. Ids are left at zero.
    pub(super) locks: Vec<Lock>,
    /// The unit of each in the record.
    pub(super) units: Vec<u32>,
    /// For each, the code to blame for its waiting after chains.
    pub(super) followed: Vec<Vec<Blamed>>,
    /// Each thread's waiting, in ticks, at those whose holders cause it, by its number: of any process.
    pub(super) contended: HashMap<u32, u64>,
}

/// The locks of `image` that have rows, in their order: those that any thread touched.
pub(super) fn touched<'a>(
    image: &'a ProcessRecord,
    joined: &'a Joined<'_>,
) -> impl Iterator<Item = &'a LockRecord> {
    let cells = image.threads.iter().flat_map(|thread| &thread.cells);
    let units: HashSet<u32> = cells.map(|cell| cell.lock).collect();
    let locks = image.locks.iter();
    locks.filter(move |lock| units.contains(&lock.unit) || joined.is_touched(lock.unit))
}

/// The rows of `image`.
pub(super) fn rows(
    record: &Record<'_>,
    image: &ProcessRecord,
    facts: &Facts,
    (sites, joined): (&Sites, &Joined<'_>),
    stacks: &mut Stacks<'_>,
) -> Rows {
    let mut cells: HashMap<u32, Vec<(&ThreadRecord, CellAt)>> = HashMap::new();
    for thread in &image.threads {
        for &cell in &thread.cells {
            cells.entry(cell.lock).or_default().push((thread, cell));
        }
    }
    let mut rows = Rows::default();
    let logged = logged_holds(image);
    let cells_of = |unit: u32| {
        let (cells, processes) = match joined.cells(unit) {
            Some(shared) => of_all(shared),
            None => (cells.get(&unit).cloned().unwrap_or_default(), Vec::new()),
        };
        let cells = cells.into_iter().map(|(thread, at)| {
            let mut cell = record.cell(at);
            let of_lock = logged.get(&(thread.unit, unit)).map_or(&[][..], Vec::as_slice);
            date(&mut cell.hold.worst, of_lock);
            (thread, cell)
        });
        (cells.collect::<Cells>(), processes)
    };
    for record_of in touched(image, joined) {
        let unit = record_of.unit;
        let (cells, processes) = cells_of(unit);
        let own = [image.pid];
        let pids = if processes.is_empty() { &own[..] } else { &processes };
        stacks.is_shared = pids.len() > 1;
        let is_apart = joined.is_apart(record_of);
        let users = joined.cells(unit).map_or(Users::Own(image), Users::Shared);
        let scale = Scale { record, facts, users, pids, is_apart };
        let variable = stacks.variable(record_of.address);
        let (mut lock, followed) = scale.row((record_of, &cells), sites, stacks);
        stacks.is_shared = false;
        lock.variable = variable;
        if lock.class == Class::Gate && lock.kind != Kind::Barrier {
            let other = keeper::other_side(image, record_of).map(|unit| cells_of(unit).0);
            lock.keeper = keeper::keeper(&lock, &cells, &other.unwrap_or_default(), record);
        }
        lock.processes = if is_apart { Vec::new() } else { processes };
        if lock.class.is_caused_by_holders() {
            for (thread, cell) in &cells {
                let sum = rows.contended.entry(thread.unit).or_default();
                *sum = sum.saturating_add(cell.wait.total);
            }
        }
        rows.units.push(unit);
        rows.locks.push(lock);
        rows.followed.push(followed);
    }
    rows
}

/// The cells of a shared lock, and the processes whose threads they are of.
fn of_all<'a>(
    shared: &[(&'a ProcessRecord, &'a ThreadRecord, CellAt)],
) -> (Vec<(&'a ThreadRecord, CellAt)>, Vec<u32>) {
    let mut pids: Vec<u32> = Vec::new();
    for (image, ..) in shared {
        if !pids.contains(&image.pid) {
            pids.push(image.pid);
        }
    }
    (shared.iter().map(|&(_, thread, cell)| (thread, cell)).collect(), pids)
}

/// The beginnings and lengths of the holds in the logs of `image`, by thread and lock.
fn logged_holds(image: &ProcessRecord) -> HashMap<(u32, u32), Vec<(u64, u64)>> {
    let mut holds: HashMap<_, Vec<(u64, u64)>> = HashMap::new();
    for thread in &image.threads {
        for hold in thread.log.holds() {
            let length = hold.ended.saturating_sub(hold.began);
            holds.entry((thread.unit, hold.lock)).or_default().push((hold.began, length));
        }
    }
    holds
}

/// Dates those of a cell's longest holds that the record does not, by the log's entries of the same length.
fn date(longest: &mut [ExtremeRecord], logged: &[(u64, u64)]) {
    for place in 0..longest.len() {
        let dated = |began: u64| longest.iter().any(|hold| hold.at == began);
        let same =
            logged.iter().find(|&&(began, length)| length == longest[place].ticks && !dated(began));
        if let (0, Some(&(began, _))) = (longest[place].at, same) {
            longest[place].at = began;
        }
    }
}

fn is_shared(lock: &LockRecord) -> bool {
    lock.sharing != sharing::PRIVATE && summed(lock).is_none()
}

/// How a lock of the record is known.
fn summed(lock: &LockRecord) -> Option<Summed> {
    match lock.sharing {
        sharing::SUMMED => Some(Summed::Many),
        sharing::PRIVATE_IN_PART => Some(Summed::Part),
        _ => None,
    }
}

/// The site of the first of these stacks that has one. What a lock's code makes a thread sleep on is made with the
/// thread, which tells nothing: then that of the most waiting.
fn site(
    of: [&[Frame]; 2],
    waited_in: &[WaitedIn],
    (kind, named): (Kind, Option<Like>),
    stacks: &Stacks<'_>,
) -> Option<Frame> {
    let is_sleepers = named.is_some() && kind != Kind::Futex;
    let slept_in = waited_in.first().filter(|_| is_sleepers).and_then(|first| first.site.clone());
    slept_in.or_else(|| of.iter().find_map(|stack| stacks.skipped.site(stack)).cloned())
}

/// What the holds of a thread caused.
pub(super) fn held(cell: &CellRecord) -> impl Iterator<Item = &CausedRecord> {
    cell.caused.iter().filter(|caused| is_held(caused))
}

/// How many threads took a lock.
fn takers(cells: &Cells<'_>) -> u32 {
    let takers = cells.iter().filter(|(_, cell)| cell.acquisitions > 0);
    u32::try_from(takers.count()).unwrap_or(u32::MAX)
}

/// Converts the record's ticks into figures.
#[derive(Clone, Copy)]
struct Scale<'a> {
    record: &'a Record<'a>,
    facts: &'a Facts,
    users: Users<'a>,
    /// The processes whose threads use the lock.
    pids: &'a [u32],
    /// Whether others may use it too.
    is_apart: bool,
}

impl Scale<'_> {
    fn ns(self, ticks: u64) -> u64 {
        self.record.ns(ticks)
    }

    fn knows_holds(self) -> bool {
        self.record.holds != Holds::None
    }

    fn gather<'c>(
        self,
        times: impl Iterator<Item = (&'c ThreadRecord, &'c TimesRecord)>,
    ) -> Times<Note> {
        let mut all = Times::new();
        for (thread, times) in times {
            let buckets = times.buckets.iter().map(|&(low, high, count)| {
                let (low, high) = (self.ns(low), self.ns(high));
                Bucket { low, high: high.max(low + 1), count }
            });
            let longest = times.worst.iter().map(|&extreme| Longest {
                ns: self.ns(extreme.ticks),
                note: (thread.tid, extreme),
            });
            all.add(self.ns(times.total), buckets, longest);
        }
        all
    }

    fn row(
        self,
        (lock, cells): (&LockRecord, &Cells<'_>),
        sites: &Sites,
        stacks: &mut Stacks<'_>,
    ) -> (Lock, Vec<Blamed>) {
        let sum = |figure: Figure| super::sum(cells.iter().map(|(_, cell)| figure(cell)));
        let of = |of: TimesOf| self.gather(cells.iter().map(|(thread, cell)| (*thread, of(cell))));
        let [wait, idle, hold] = [of(|c| &c.wait), of(|c| &c.idle), of(|c| &c.hold)];
        let kind = kind_of(lock.kind);
        let (blocked, known) = (sum(|cell| cell.blocked), sum(|cell| cell.slept_known));
        let meaning = Meaning::of_lock(kind, lock, cells).known(self.is_apart);
        let [created, first_taken] = [lock.created, lock.first_taken].map(|at| stacks.frames(at));
        let hold_ns = hold.distribution().filter(|_| meaning.hold && self.knows_holds());
        let worst_wait = worst_wait(&wait, stacks);
        let waiter = worst_wait.as_ref().map_or(&[][..], |worst| &worst.waiter);
        let waited_in = self.waited_in(cells, wait.total_ns(), stacks);
        let named = Nature::by_name(kind, waiter, &waited_in, stacks.skipped);
        let (of, by) = ((lock, kind, meaning), (waiter, named, sites));
        let (division, nature) = self.understood(of, cells, wait.total_ns(), by, stacks);
        let lock = Lock {
            id: 0,
            kind,
            class: nature.class,
            like: nature.like,
            known_as: nature.known_as.map(str::to_owned),
            shared: is_shared(lock),
            processes: Vec::new(),
            summed: summed(lock),
            other_side: None,
            blame: division.blame,
            held_by: division.held_by,
            holders_waited: None,
            keeper: None,
            ended_by: division.ended_by,
            site: site([&created, &first_taken], &waited_in, (kind, named), stacks),
            waited_in,
            address: format!("{:#x}", lock.address),
            variable: None,
            life: lock.generation,
            acquisitions: sum(|cell| cell.acquisitions),
            blocked,
            slept: (known > 0).then(|| sum(|cell| cell.slept)),
            slept_known: Some(known).filter(|&known| known > 0 && known < blocked),
            try_failed: sum(|cell| cell.try_failed),
            timed_out: self.timed_out(cells),
            owner_died: sum(|cell| cell.inherited),
            left: None,
            herd: None,
            threads: takers(cells),
            waiters: sum(|cell| u64::from(cell.blocked > 0)),
            owner_changes: meaning.owner.then(|| sum(|cell| cell.owner_changes)),
            utilisation: hold_ns.as_ref().and_then(|hold| self.of_wall(hold.total)),
            mean_queue: self.of_wall(wait.total_ns()),
            wait_share: None,
            worst_wait,
            worst_idle: worst_idle(&idle, stacks).filter(|_| meaning.idle),
            moments: self.moments(meaning, [&wait, &idle, &hold]),
            wait_ns: wait.distribution(),
            idle_ns: idle.distribution().filter(|_| meaning.idle),
            idle_causes: (meaning.idle && idle.total_ns() > 0).then(|| self.idle_causes(cells)),
            woken: (self.record.from_kernel && wait.total_ns() > 0).then(|| self.woken(cells)),
            hold_ns,
            unfinished: self.unfinished(kind, meaning, lock, cells),
            hung_behind: None,
            created,
            first_taken,
        };
        (lock, division.followed)
    }

    fn of_wall(self, ns: u64) -> Option<f64> {
        let wall_ns = self.facts.wall_ns;
        (wall_ns > 0).then(|| ns as f64 / wall_ns as f64)
    }

    /// What a row with waits of `total_ns` was waited for, and what it is used for; `waiter` is its longest wait's
    /// stack, and `named` what its names say.
    fn understood(
        self,
        (lock, kind, meaning): (&LockRecord, Kind, Meaning),
        cells: &Cells<'_>,
        total_ns: u64,
        (waiter, named, sites): (&[Frame], Option<Like>, &Sites),
        stacks: &mut Stacks<'_>,
    ) -> (Division, Nature) {
        let is_held = meaning.blame;
        let posted = match named {
            Some(Like::Semaphore) => Some(posters::class(lock.unit, cells, stacks)),
            _ => None,
        };
        let is_lock = named == Some(Like::Mutex) || posted == Some(Class::Contention);
        let kinds = (is_held, kind == Kind::Futex && is_lock);
        let taken = (lock, posted == Some(Class::Contention));
        let by_several = self.permits(taken, cells, total_ns, sites, stacks);
        if let Some(division) = by_several {
            let nature = Nature::of(kind, Class::Contention, &division, waiter, named);
            return (division, nature);
        }
        let mut division = match total_ns {
            0 if lock.waiting.is_empty() => Division::default(),
            _ => self.divide(cells, kinds, total_ns, sites, stacks),
        };
        if total_ns == 0 && division.held_by.is_empty() && division.ended_by.is_empty() {
            division.blame = None;
        }
        if let Some(blame) = division.blame.as_mut().filter(|_| self.is_apart) {
            // Another process may have held it while it seemed free.
            blame.unknown_ns = blame.unknown_ns.saturating_add(std::mem::take(&mut blame.idle_ns));
        }
        let class = posted.unwrap_or_else(|| self.class(kind, meaning, cells, division.blame));
        let class = if meaning.is_many || meaning.is_open { Class::Unknown } else { class };
        let nature = Nature::of(kind, class, &division, waiter, named);
        if !is_held && nature.class.is_caused_by_holders() {
            division.followed = division.ended_by.clone();
        }
        (division, nature)
    }

    /// Of a semaphore with several permits, all of whose users take one and give it back.
    fn permits(
        self,
        (lock, of_futexes): (&LockRecord, bool),
        cells: &Cells<'_>,
        total_ns: u64,
        sites: &Sites,
        stacks: &mut Stacks<'_>,
    ) -> Option<Division> {
        if total_ns == 0 || (!of_futexes && lock.crossed != crossed::SEVERAL) || is_shared(lock) {
            return None;
        }
        let threads = cells.iter().map(|&(thread, _)| thread);
        let total = (total_ns, |ticks| self.ns(ticks));
        let divide = if of_futexes { permits::of_futexes } else { permits::divide };
        divide(lock.unit, threads, total, sites, stacks)
    }

    fn divide(
        self,
        cells: &Cells<'_>,
        (is_held, is_lock): (bool, bool),
        total_ns: u64,
        sites: &Sites,
        stacks: &mut Stacks<'_>,
    ) -> Division {
        let cells = cells.iter().map(|(_, cell)| cell);
        let ns = |ticks| self.ns(ticks);
        match is_held {
            true => divide(cells, total_ns, ns, sites, stacks),
            false => ended(cells, total_ns, is_lock, ns, sites, stacks),
        }
    }

    fn waited_in(self, cells: &Cells<'_>, total_ns: u64, stacks: &mut Stacks<'_>) -> Vec<WaitedIn> {
        let cells = cells.iter().map(|(_, cell)| cell);
        waited_in(cells, total_ns, |ticks| self.ns(ticks), stacks)
    }

    fn idle_causes(self, cells: &Cells<'_>) -> IdleCauses {
        // As the total: in nanoseconds per cell.
        let of = |nth: usize| super::sum(cells.iter().map(|(_, cell)| self.ns(cell.idle_by[nth])));
        let [not_woken_ns, elsewhere_ns, barged_ns, releasers_cpu_ns] =
            [cause::NOT_WOKEN, cause::NOT_SCHEDULED, cause::BARGED, cause::RELEASERS_CPU]
                .map(|cause| of(cause as usize - 1));
        let not_scheduled_ns = elsewhere_ns.saturating_add(releasers_cpu_ns);
        IdleCauses { not_woken_ns, not_scheduled_ns, releasers_cpu_ns, barged_ns }
    }

    /// Of futexes that the kernel saw: what is the idle time of other locks.
    fn woken(self, cells: &Cells<'_>) -> Woken {
        let IdleCauses { not_woken_ns, not_scheduled_ns, .. } = self.idle_causes(cells);
        Woken { not_woken_ns, not_scheduled_ns }
    }

    fn timed_out(self, cells: &Cells<'_>) -> Option<TimedOut> {
        let lost = cells.iter().map(|(_, cell)| cell.timed_out).filter(|lost| lost.count > 0);
        let ns = |lost: TimedOutRecord| TimedOut {
            count: lost.count,
            total: self.ns(lost.total),
            max: self.ns(lost.max),
        };
        lost.map(ns).reduce(TimedOut::and)
    }

    /// The waits in progress. The holder is known for locks that one thread holds at a time.
    fn unfinished(
        self,
        kind: Kind,
        meaning: Meaning,
        lock: &LockRecord,
        cells: &Cells<'_>,
    ) -> Option<Unfinished> {
        let held = cells.iter().filter_map(|(thread, cell)| Some((*thread, cell.held_since?)));
        let known = meaning.hold && self.record.holds != Holds::None && kind != Kind::RwlockRead;
        let holder = held.filter(|_| known).max_by_key(|&(_, since)| since);
        ends::unfinished((self.record, self.facts), self.users, lock, holder)
    }

    fn class(self, kind: Kind, meaning: Meaning, cells: &Cells<'_>, blame: Option<Blame>) -> Class {
        let part = |thread: &ThreadRecord, cell: &CellRecord| Part {
            acquisitions: cell.acquisitions,
            blocked: cell.blocked,
            wait_ns: self.ns(cell.wait.total),
            waited_holds: super::sum(held(cell).map(|caused| caused.holds)),
            caused_ns: self.ns(super::sum(held(cell).map(|caused| caused.wait))),
            hold_ns: if meaning.hold { self.ns(cell.hold.total) } else { 0 },
            until_its_end: meaning.hold
                && !self.pids.contains(&thread.tid)
                && held_until_end(thread, cell),
        };
        let parts: Vec<Part> = cells.iter().map(|(thread, cell)| part(thread, cell)).collect();
        let owner_changes = super::sum(cells.iter().map(|(_, cell)| cell.owner_changes));
        let are_single = parts.iter().all(|part| part.acquisitions <= 1);
        match classify(kind, !meaning.hold, &parts, owner_changes) {
            // Whether a thread held it until its end, for others to wait for that, is not known.
            Class::Contention if kind == Kind::Semaphore && are_single && !self.knows_holds() => {
                Class::Unknown
            }
            Class::HandOff if kind != Kind::Semaphore && is_mostly_held(blame) => Class::Contention,
            // What its threads of other processes do is not known.
            Class::HandOff | Class::Gate if self.is_apart => Class::Unknown,
            class => class,
        }
    }

    /// The moments of the longest times. The record notes their ends and, of holds, the beginnings.
    fn moments(self, meaning: Meaning, times: [&Times<Note>; 3]) -> Vec<Moment> {
        let spans = [Span::Wait, Span::Idle, Span::Hold].into_iter().zip(times);
        let known = spans.filter(|(span, _)| match span {
            Span::Wait => true,
            Span::Idle => meaning.idle,
            Span::Hold => meaning.hold,
        });
        let moment = |span: Span, longest: &Longest<Note>| {
            let (tid, extreme) = longest.note;
            let begun = if span == Span::Hold {
                extreme.at
            } else {
                extreme.at.checked_sub(extreme.ticks)?
            };
            let ticks = begun.checked_sub(self.record.start_ticks).filter(|_| extreme.at != 0);
            let at_ns = self.ns(ticks?);
            let cause = (span == Span::Idle).then(|| cause_of(extreme.cause));
            Some(Moment { what: span, at_ns, ns: longest.ns, tid: Some(tid), cause })
        };
        known
            .flat_map(|(span, times)| {
                times.longest().iter().filter_map(move |longest| moment(span, longest))
            })
            .collect()
    }
}

fn worst_wait(wait: &Times<Note>, stacks: &mut Stacks<'_>) -> Option<WorstWait> {
    let longest = wait.longest().first()?;
    let (_, extreme) = longest.note;
    let (waiter, holder) = (stacks.frames(extreme.mine), stacks.frames(extreme.other));
    Some(WorstWait { ns: longest.ns, waiter, holder })
}

fn worst_idle(idle: &Times<Note>, stacks: &mut Stacks<'_>) -> Option<WorstIdle> {
    let longest = idle.longest().first()?;
    let (_, extreme) = longest.note;
    let (releaser, waiter) = (stacks.frames(extreme.other), stacks.frames(extreme.mine));
    let on_releasers_cpu = extreme.cause == cause::RELEASERS_CPU;
    let cause = cause_of(extreme.cause);
    Some(WorstIdle { ns: longest.ns, releaser, waiter, cause, on_releasers_cpu })
}

/// Whether at least half of the waiting is for holds: two threads that hold a lock in turn do not hand a free one over.
fn is_mostly_held(blame: Option<Blame>) -> bool {
    blame.is_some_and(|blame| blame.held_ns >= blame.idle_ns.saturating_add(blame.unknown_ns))
}

/// Which figures are meaningful for a kind.
#[derive(Clone, Copy)]
struct Meaning {
    /// Waits are for holds.
    blame: bool,
    hold: bool,
    idle: bool,
    owner: bool,
    /// It is the sum over many locks.
    is_many: bool,
    /// It is a semaphore that was taken, and that no thread has posted: it may be a lock or a signal.
    is_open: bool,
}

impl Meaning {
    /// Without what only other processes could tell, if they may use the lock too.
    fn known(self, is_apart: bool) -> Self {
        let is_known = !is_apart;
        Meaning { idle: self.idle && is_known, owner: self.owner && is_known, ..self }
    }

    /// Of many locks, without what only the part of each could tell.
    fn of_lock(kind: Kind, lock: &LockRecord, cells: &Cells<'_>) -> Self {
        let is_taken = takers(cells) > 0;
        let is_many = lock.sharing == sharing::SUMMED;
        let is_open = is_taken && lock.crossed == 0 && !lock.has_holders();
        let meaning = Self { is_open, ..Self::of(kind, !is_taken || !lock.has_holders()) };
        match is_many {
            true => Meaning { hold: false, idle: false, owner: false, is_many, ..meaning },
            false => meaning,
        }
    }

    /// `is_signal`: of a semaphore, that it is not known to be a lock: another thread posts it than the one that took
    /// it, none has posted it, or none ever got it. Its holds need not be recorded for that.
    fn of(kind: Kind, is_signal: bool) -> Self {
        let [blame, hold, idle, owner] = [true; 4];
        let all = Meaning { blame, hold, idle, owner, is_many: false, is_open: false };
        let wait_only = Meaning { blame: false, hold: false, idle: false, owner: false, ..all };
        match kind {
            Kind::Mutex | Kind::Spin | Kind::Annotated => all,
            Kind::RwlockWrite => all,
            Kind::RwlockRead => Meaning { blame: true, hold: true, ..wait_only },
            Kind::Semaphore if !is_signal => all,
            Kind::Semaphore | Kind::Condition | Kind::Barrier | Kind::Futex => wait_only,
        }
    }
}

/// Whether the thread's longest hold took at least half of its life and ended in the last tenth of it. A thread may
/// wait before it can take the lock, and takes some time to end.
fn held_until_end(thread: &ThreadRecord, cell: &CellRecord) -> bool {
    let Some(hold) = cell.hold.worst.first().filter(|hold| hold.at != 0) else { return false };
    let life = thread.end_ticks.saturating_sub(thread.start_ticks);
    let left = thread.end_ticks.saturating_sub(hold.at.saturating_add(hold.ticks));
    life > 0 && hold.ticks >= life / 2 && left <= life / 10
}

fn kind_of(code: u8) -> Kind {
    match code {
        kind::RWLOCK_READ => Kind::RwlockRead,
        kind::RWLOCK_WRITE => Kind::RwlockWrite,
        kind::SPIN => Kind::Spin,
        kind::CONDITION => Kind::Condition,
        kind::SEMAPHORE => Kind::Semaphore,
        kind::BARRIER => Kind::Barrier,
        kind::FUTEX => Kind::Futex,
        kind::ANNOTATED => Kind::Annotated,
        _ => Kind::Mutex,
    }
}

fn cause_of(code: u32) -> IdleCause {
    match code {
        cause::NOT_WOKEN => IdleCause::NotWoken,
        cause::NOT_SCHEDULED | cause::RELEASERS_CPU => IdleCause::NotScheduled,
        cause::BARGED => IdleCause::Barged,
        _ => IdleCause::Unknown,
    }
}
