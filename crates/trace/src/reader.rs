//! The reader's side of the record: plain values from untrusted bytes.
//!
//! # Contract
//! [`read`] never panics and takes time linear in the number of bytes, whatever they are. If a program was killed while
//! it wrote, the complete part is read. Cells, of which there may be millions, stay bytes until [`Record::cell`] reads
//! one.
//! # Invariants
//! I1: a unit is the beginning of at most one entry. A list ends at a unit met before, so all lists together end.
//! I2: every access is checked against the length; bytes beyond it are zero.
//! # Evidence
//! The tests in `reader/tests.rs`, and `fuzz/fuzz_targets/record.rs`.

mod hold;
mod sums;
#[cfg(test)]
mod tests;
mod ticks;

use crate::histogram::{COARSE, FINE, Scale};
use crate::layout::{
    self, Caused, Cell, Cold, ENTRIES, Extreme, Header, Held, LATE, LOGGED, Late, Lock, LogPart,
    Logged, Module, NESTED, Nested, Process, SPAN_NAME, SpanName, Stack, Thread, UNIT, Unit,
    WaiterList, passing, sharing,
};
pub use crate::read_error::ReadError;
pub use crate::records::{
    CausedRecord, CellAt, CellRecord, ExtremeRecord, FileRecord, HeldRecord, HoldRecord,
    LockRecord, LogRecord, LoggedRecord, ModuleRecord, NestedRecord, ProcessRecord, SpanNameRecord,
    ThreadRecord, TimedOutRecord, TimesRecord, Used, WantsRecord,
};
use crate::setup::Holds;
use std::cell::{Cell as Counter, RefCell};
use std::fmt;
use std::mem::offset_of;

/// The contents of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<'b> {
    /// One of [`layout::clock`].
    pub clock: u32,
    /// Nanoseconds of a tick.
    pub tick_ns: f64,
    /// The smallest difference that the clock shows, in nanoseconds.
    pub step_ns: f64,
    /// Ticks at the start of the program.
    pub start_ticks: u64,
    /// Which holds were recorded.
    pub holds: Holds,
    /// Whether it was recorded which locks were held while another was taken.
    pub lock_order: bool,
    /// Whether the kernel saw it, from outside the program.
    pub from_kernel: bool,
    /// Events dropped because there was no room.
    pub dropped_room: u64,
    /// Events dropped because the thread was recording another one.
    pub dropped_busy: u64,
    /// Time differences that came out negative.
    pub negative: u64,
    /// When locks without entries of their own were first counted in sums, in ticks; 0 if none was.
    pub summed_since: u64,
    /// Program images, oldest first.
    pub processes: Vec<ProcessRecord>,
    /// Files that processes executed, oldest first; some became images.
    pub announced: Vec<ProcessRecord>,
    view: View<'b>,
}

/// Reads a whole record.
///
/// # Errors
/// The bytes do not begin with a header of this version.
pub fn read(bytes: &[u8]) -> Result<Record<'_>, ReadError> {
    check(bytes)?;
    let view = View { bytes };
    let met = RefCell::new(vec![false; bytes.len() / UNIT + 1]);
    let log_parts = Counter::new(bytes.len() / size_of::<LogPart>());
    let lists = Lists { view, met, log_parts };
    let positive = |offset| {
        Some(f64::from_bits(view.u64(offset))).filter(|value| value.is_finite() && *value > 0.0)
    };
    let mut processes: Vec<ProcessRecord> = lists
        .list(view.u32(offset_of!(Header, processes)), offset_of!(Process, next))
        .map(|at| lists.process(at))
        .collect();
    processes.reverse();
    let (announced, processes) =
        processes.into_iter().partition(|process| process.parent == layout::ANNOUNCED);
    let flags = view.u32(offset_of!(Header, flags));
    Ok(Record {
        clock: view.u32(offset_of!(Header, clock)),
        tick_ns: positive(offset_of!(Header, tick_ns)).unwrap_or(1.0),
        step_ns: positive(offset_of!(Header, step_ns)).unwrap_or(1.0),
        start_ticks: view.u64(offset_of!(Header, start_ticks)),
        holds: Holds::of(flags),
        lock_order: flags & layout::flag::LOCK_ORDER != 0,
        from_kernel: flags & layout::flag::FROM_KERNEL != 0,
        dropped_room: view.u64(offset_of!(Header, dropped_room)),
        dropped_busy: view.u64(offset_of!(Header, dropped_busy)),
        negative: view.u64(offset_of!(Header, negative)),
        summed_since: view.u64(offset_of!(Header, summed_since)),
        processes,
        announced,
        view,
    })
}

/// Checks that the bytes begin with a header of this version; [`read`] accepts all that do.
///
/// # Errors
/// They do not.
pub fn check(bytes: &[u8]) -> Result<(), ReadError> {
    let view = View { bytes };
    if bytes.len() < size_of::<Header>() {
        return Err(ReadError::Truncated);
    }
    if view.u64(offset_of!(Header, magic)) != layout::MAGIC {
        return Err(ReadError::NotARecord);
    }
    let version = view.u32(offset_of!(Header, version));
    if version != layout::VERSION {
        return Err(ReadError::Version(version));
    }
    Ok(())
}

impl Record<'_> {
    /// What one thread did to one lock.
    pub fn cell(&self, cell: CellAt) -> CellRecord {
        self.view.cell(cell)
    }

    /// The stack of the last acquisition by its thread; 0 if unknown.
    pub fn last_site(&self, cell: CellAt) -> u32 {
        self.view.u32(cell.unit as usize * UNIT + offset_of!(Cell, site))
    }

    /// The part of it about the waiting that holds caused.
    pub fn caused(&self, cell: CellAt) -> Vec<CausedRecord> {
        self.view.caused(self.view.u32(cell.unit as usize * UNIT + offset_of!(Cell, caused)))
    }
}

/// The bytes, followed by zeroes (I2).
#[derive(Clone, Copy, PartialEq)]
struct View<'b> {
    bytes: &'b [u8],
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes", self.bytes.len())
    }
}

/// The bytes while their lists are followed.
struct Lists<'b> {
    view: View<'b>,
    /// Units at which an entry was met (I1).
    met: RefCell<Vec<bool>>,
    /// Parts of logs yet to be read: their entries together are no longer than the bytes.
    log_parts: Counter<usize>,
}

impl<'b> View<'b> {
    fn u64(&self, at: usize) -> u64 {
        self.array(at).map_or(0, u64::from_le_bytes)
    }

    fn u32(&self, at: usize) -> u32 {
        self.array(at).map_or(0, u32::from_le_bytes)
    }

    fn u8(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.get(..N)?.try_into().ok()
    }

    fn text(&self, at: usize, length: usize) -> &'b [u8] {
        let from = at.min(self.bytes.len());
        &self.bytes[from..from.saturating_add(length).min(self.bytes.len())]
    }

    /// A text that ends with the first NUL, if there is one.
    fn padded(&self, at: usize, length: usize) -> String {
        let text = self.text(at, length).split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// Whether this lock is a sum, which says nothing of holders and of free time.
    fn is_summed(&self, lock: Unit) -> bool {
        self.u8(lock as usize * UNIT + offset_of!(Lock, sharing)) == sharing::SUMMED
    }

    fn span_name(&self, at: usize) -> SpanNameRecord {
        SpanNameRecord {
            unit: (at / UNIT) as Unit,
            name: self.padded(at + offset_of!(SpanName, text), SPAN_NAME),
            count: self.u64(at + offset_of!(SpanName, count)),
        }
    }

    fn module(&self, at: usize) -> ModuleRecord {
        let length = self.u32(at + offset_of!(Module, path_bytes)) as usize;
        let path_at = at + size_of::<Module>();
        let id_bytes = self.u32(at + offset_of!(Module, id_bytes)) as usize;
        let file = FileRecord {
            bytes: self.u64(at + offset_of!(Module, file_bytes)),
            modified_ns: self.u64(at + offset_of!(Module, modified_ns)),
            inode: self.u64(at + offset_of!(Module, inode)),
        };
        ModuleRecord {
            path: String::from_utf8_lossy(self.text(path_at, length)).into_owned(),
            build_id: self.text(path_at + length, id_bytes.min(layout::BUILD_ID)).to_vec(),
            file: (file != FileRecord::default()).then_some(file),
            bias: self.u64(at + offset_of!(Module, bias)),
            start: self.u64(at + offset_of!(Module, start)),
            end: self.u64(at + offset_of!(Module, end)),
        }
    }

    /// What the main thread of the process at this offset had used before.
    fn used(&self, at: usize) -> Used {
        let figure = |nth: usize| self.u64(at + offset_of!(Process, before) + 8 * nth);
        let [cpu_ns, system_ns, runnable_ns, voluntary, involuntary] = [0, 1, 2, 3, 4].map(figure);
        Used { cpu_ns, system_ns, runnable_ns, voluntary, involuntary }
    }

    fn lock(&self, at: usize) -> LockRecord {
        LockRecord {
            unit: (at / UNIT) as u32,
            address: self.u64(at + offset_of!(Lock, address)) & !layout::READERS,
            kind: self.u8(at + offset_of!(Lock, kind)),
            generation: self.u32(at + offset_of!(Lock, generation)),
            created: self.u32(at + offset_of!(Lock, created)),
            first_taken: self.u32(at + offset_of!(Lock, first_taken)),
            owner: self.u32(at + offset_of!(Lock, owner)),
            is_released: self.u64(at + offset_of!(Lock, release)) != 0,
            crossed: self.u8(at + offset_of!(Lock, crossed)),
            given_back: self.u8(at + offset_of!(Lock, passing)) & passing::BACK != 0,
            sharing: self.u8(at + offset_of!(Lock, sharing)),
            waiting: self.arrivals(self.u32(at + offset_of!(Lock, waiters)) as usize * UNIT),
        }
    }

    fn cell(&self, cell_at: CellAt) -> CellRecord {
        let at = cell_at.unit as usize * UNIT;
        let hold_start = self.u64(at + offset_of!(Cell, hold_start));
        let mut cell = CellRecord {
            acquisitions: self.u64(at + offset_of!(Cell, acquisitions)),
            owner_changes: self.u64(at + offset_of!(Cell, owner_changes)),
            inherited: self.u8(at + offset_of!(Cell, inherited)).into(),
            held_since: (hold_start != 0).then_some(hold_start),
            hold: self.holds(at),
            caused: self.caused(self.u32(at + offset_of!(Cell, caused))),
            ..CellRecord::default()
        };
        let cold = self.u32(at + offset_of!(Cell, cold)) as usize * UNIT;
        if cold != 0 {
            let lock = cell_at.lock as usize * UNIT;
            let waiters = self.u32(lock + offset_of!(Lock, waiters)) as usize * UNIT;
            let times = |total, buckets, worst| TimesRecord {
                total: self.u64(cold + total),
                buckets: self.buckets(FINE, |bucket| self.u64(cold + buckets + 8 * bucket)),
                worst: (0..4)
                    .map(|rank| self.extreme(cold + worst + rank * size_of::<Extreme>(), waiters))
                    .filter(|extreme| extreme.ticks > 0)
                    .collect(),
            };
            cell.blocked = self.u64(cold + offset_of!(Cold, blocked));
            cell.try_failed = self.u64(cold + offset_of!(Cold, try_failed));
            cell.slept_known = self.u64(cold + offset_of!(Cold, slept_known));
            cell.slept = self.u64(cold + offset_of!(Cold, slept)).min(cell.slept_known);
            cell.wait_free = self.u64(cold + offset_of!(Cold, wait_free));
            let idle_by = cold + offset_of!(Cold, idle_by);
            cell.idle_by = std::array::from_fn(|nth| self.u64(idle_by + 8 * nth));
            cell.timed_out = TimedOutRecord {
                count: self.u64(cold + offset_of!(Cold, timed_out)),
                total: self.u64(cold + offset_of!(Cold, timed_out_total)),
                max: self.u64(cold + offset_of!(Cold, timed_out_max)),
                served: self.u64(cold + offset_of!(Cold, served)),
            };
            cell.wait = times(
                offset_of!(Cold, wait_total),
                offset_of!(Cold, wait),
                offset_of!(Cold, wait_worst),
            );
            cell.idle = times(
                offset_of!(Cold, idle_total),
                offset_of!(Cold, idle),
                offset_of!(Cold, idle_worst),
            );
        }
        if self.is_summed(cell_at.lock) { sums::known(cell) } else { cell }
    }

    /// The entries of a cell's list of sites that begins at `unit`. A list has at most [`ENTRIES`].
    fn caused(&self, unit: u32) -> Vec<CausedRecord> {
        let at = |unit: u32| unit as usize * UNIT;
        let is_entry = |unit: &u32| *unit >= layout::HEADER_UNITS && at(*unit) < self.bytes.len();
        let first = Some(unit).filter(is_entry);
        let next = |unit: &u32| {
            let link = self.u32(at(*unit) + offset_of!(Caused, next));
            Some(link).filter(|link| link != unit && is_entry(link))
        };
        let entry = |unit: u32| CausedRecord {
            stack: self.u32(at(unit) + offset_of!(Caused, stack)),
            wait: self.u64(at(unit) + offset_of!(Caused, wait)),
            waits: self.u64(at(unit) + offset_of!(Caused, waits)),
            holds: self.u64(at(unit) + offset_of!(Caused, holds)),
            longest: self.u64(at(unit) + offset_of!(Caused, longest)),
            release: self.u32(at(unit) + offset_of!(Caused, release)),
            passed_to: self.u32(at(unit) + offset_of!(Caused, passed_to)),
            passed_on: self.u64(at(unit) + offset_of!(Caused, passed_on)),
        };
        std::iter::successors(first, next).take(ENTRIES).map(entry).collect()
    }

    /// The arrivals in a waiter list; none for 0.
    fn arrivals(&self, waiters: usize) -> Vec<u64> {
        let places = if waiters == 0 { 0 } else { layout::ARRIVALS };
        let arrivals = (0..places)
            .map(|place| self.u64(waiters + offset_of!(WaiterList, arrivals) + 8 * place));
        arrivals.filter(|&arrival| arrival != 0).collect()
    }

    fn logged(&self, at: usize) -> LoggedRecord {
        let (u32, u64) = (|field| self.u32(at + field), |field| self.u64(at + field));
        LoggedRecord {
            what: u32(offset_of!(Logged, what)),
            began: u64(offset_of!(Logged, began)),
            ended: u64(offset_of!(Logged, ended)),
            by_at: u64(offset_of!(Logged, by_at)),
            joined: u64(offset_of!(Logged, joined)),
            free: u64(offset_of!(Logged, free)),
            between: u32(offset_of!(Logged, between)),
            lock: u32(offset_of!(Logged, lock)),
            stack: u32(offset_of!(Logged, stack)),
            by: u32(offset_of!(Logged, by)),
            by_stack: u32(offset_of!(Logged, by_stack)),
        }
    }

    fn nested(&self, at: usize) -> NestedRecord {
        let count = self.u32(at + offset_of!(Nested, count)) as usize;
        let held = (0..count.min(NESTED)).map(|nth| {
            let at = at + offset_of!(Nested, held) + nth * size_of::<Held>();
            let (lock, site) = (offset_of!(Held, lock), offset_of!(Held, site));
            HeldRecord { lock: self.u32(at + lock), site: self.u32(at + site) }
        });
        NestedRecord {
            lock: self.u32(at + offset_of!(Nested, lock)),
            stack: self.u32(at + offset_of!(Nested, stack)),
            held: held.collect(),
        }
    }

    fn holds(&self, at: usize) -> TimesRecord {
        let low: [u8; 4 * COARSE.buckets] =
            self.array(at + offset_of!(Cell, hold)).unwrap_or([0; 4 * COARSE.buckets]);
        let carry: [u8; COARSE.buckets] =
            self.array(at + offset_of!(Cell, hold_carry)).unwrap_or([0; COARSE.buckets]);
        let low = low.as_chunks::<4>().0;
        let count = |bucket: usize| {
            u64::from(u32::from_le_bytes(low[bucket])) | u64::from(carry[bucket]) << 32
        };
        let begun = self.u64(at + offset_of!(Cell, hold_worst_at));
        let kept = offset_of!(Cell, hold_worst);
        let places = [kept, kept + 8, kept + 16, offset_of!(Cell, hold_fourth)];
        let worst = places.into_iter().enumerate().map(|(rank, place)| ExtremeRecord {
            ticks: self.u64(at + place),
            at: if rank == 0 { begun } else { 0 },
            ..ExtremeRecord::default()
        });
        TimesRecord {
            total: self.u64(at + offset_of!(Cell, hold_total)),
            buckets: self.buckets(COARSE, count),
            worst: worst.filter(|extreme| extreme.ticks > 0).collect(),
        }
    }

    fn buckets(&self, scale: Scale, count: impl Fn(usize) -> u64) -> Vec<(u64, u64, u64)> {
        let all = (0..scale.buckets)
            .map(|bucket| (scale.low(bucket), scale.low(bucket + 1), count(bucket)));
        all.filter(|&(_, _, count)| count > 0).collect()
    }

    fn extreme(&self, at: usize, waiters: usize) -> ExtremeRecord {
        let release = self.u64(at + offset_of!(Extreme, release));
        let mut other = self.u32(at + offset_of!(Extreme, other));
        if other == 0 && release != 0 && waiters != 0 {
            other = self.late_stack(waiters, release);
        }
        ExtremeRecord {
            ticks: self.u64(at + offset_of!(Extreme, ticks)),
            at: self.u64(at + offset_of!(Extreme, at)),
            mine: self.u32(at + offset_of!(Extreme, mine)),
            other,
            cause: self.u32(at + offset_of!(Extreme, cause)),
        }
    }

    /// The stack of the release at `ticks`, if it became known after the release.
    fn late_stack(&self, waiters: usize, ticks: u64) -> u32 {
        let slots =
            (0..LATE).map(|slot| waiters + offset_of!(WaiterList, late) + slot * size_of::<Late>());
        let mut found = slots.filter(|&slot| self.u64(slot + offset_of!(Late, ticks)) == ticks);
        found.next().map_or(0, |slot| self.u64(slot + offset_of!(Late, stack)) as u32)
    }
}

impl<'b> Lists<'b> {
    /// Offsets of the entries of a list that begins at `unit`, newest first (I1).
    fn list(&self, unit: u32, link: usize) -> impl Iterator<Item = usize> + use<'_, 'b> {
        let mut unit = unit;
        std::iter::from_fn(move || {
            let at = unit as usize * UNIT;
            let is_entry = unit >= layout::HEADER_UNITS && at < self.view.bytes.len();
            if !is_entry || std::mem::replace(&mut self.met.borrow_mut()[unit as usize], true) {
                return None;
            }
            unit = self.view.u32(at + link); // The last one's own number has been met.
            Some(at)
        })
    }

    fn process(&self, at: usize) -> ProcessRecord {
        let view = self.view;
        let head = |offset| view.u32(at + offset);
        let mut locks: Vec<LockRecord> = self
            .list(head(offset_of!(Process, locks)), offset_of!(Lock, next))
            .map(|lock| view.lock(lock))
            .collect();
        locks.reverse();
        let mut threads: Vec<ThreadRecord> = self
            .list(head(offset_of!(Process, threads)), offset_of!(Thread, next))
            .map(|thread| self.thread(thread))
            .collect();
        threads.reverse();
        self.join_sums(&mut threads, &mut locks);
        let stacks =
            self.list(head(offset_of!(Process, stacks)), offset_of!(Stack, next)).map(|stack| {
                let count =
                    (view.u32(stack + offset_of!(Stack, count)) as usize).min(layout::FRAMES);
                let frame = |index| view.u64(stack + offset_of!(Stack, frames) + 8 * index);
                ((stack / UNIT) as u32, (0..count).map(frame).collect())
            });
        let modules = self.list(head(offset_of!(Process, modules)), offset_of!(Module, next));
        let command = view.text(
            head(offset_of!(Process, command)) as usize * UNIT,
            head(offset_of!(Process, command_bytes)) as usize,
        );
        let arguments = command.strip_suffix(&[0]).unwrap_or(command).split(|&byte| byte == 0);
        ProcessRecord {
            pid: head(offset_of!(Process, pid)),
            parent: head(offset_of!(Process, parent)),
            command: arguments
                .map(|argument| String::from_utf8_lossy(argument).into_owned())
                .collect(),
            start_ticks: view.u64(at + offset_of!(Process, start_ticks)),
            end_ticks: view.u64(at + offset_of!(Process, end_ticks)),
            ended_by: head(offset_of!(Process, ended_by)),
            before: view.used(at),
            locks,
            threads,
            stacks: stacks.collect(),
            modules: modules.map(|module| view.module(module)).collect(),
        }
    }

    fn thread(&self, at: usize) -> ThreadRecord {
        let view = self.view;
        let (mut blocked, mut waited) = (0u64, 0u64);
        let mut cells = Vec::new();
        for cell in self.list(view.u32(at + offset_of!(Thread, cells)), offset_of!(Cell, next)) {
            let cold = view.u32(cell + offset_of!(Cell, cold)) as usize * UNIT;
            if cold != 0 {
                blocked = blocked.saturating_add(view.u64(cold + offset_of!(Cold, blocked)));
                waited = waited.saturating_add(view.u64(cold + offset_of!(Cold, wait_total)));
            }
            let lock = view.u32(cell + offset_of!(Cell, lock));
            cells.push(CellAt { lock, unit: (cell / UNIT) as Unit });
        }
        cells.reverse();
        let first = view.u32(at + offset_of!(Thread, nested));
        let nested = self.list(first, offset_of!(Nested, next)).map(|at| view.nested(at));
        let mut nested: Vec<NestedRecord> = nested.collect();
        nested.reverse();
        ThreadRecord {
            unit: (at / UNIT) as Unit,
            handle: view.u64(at + offset_of!(Thread, handle)),
            tid: view.u32(at + offset_of!(Thread, tid)),
            name: view.padded(at + offset_of!(Thread, name), 16),
            start_ticks: view.u64(at + offset_of!(Thread, start_ticks)),
            made_ticks: view.u64(at + offset_of!(Thread, made_ticks)),
            creator: view.u32(at + offset_of!(Thread, creator)),
            began_in: view.u32(at + offset_of!(Thread, began_in)),
            end_ticks: view.u64(at + offset_of!(Thread, end_ticks)),
            cpu_ns: view.u64(at + offset_of!(Thread, cpu_ns)),
            system_ns: view.u64(at + offset_of!(Thread, system_ns)),
            voluntary: view.u64(at + offset_of!(Thread, voluntary)),
            involuntary: view.u64(at + offset_of!(Thread, involuntary)),
            blocked,
            waited,
            joined: view.u64(at + offset_of!(Thread, joined)),
            asleep_since: Some(view.u64(at + offset_of!(Thread, asleep_since)))
                .filter(|&since| since != 0),
            wants: self.wants(at),
            cells,
            nested,
            nested_lost: view.u64(at + offset_of!(Thread, nested_lost)),
            log: self.log(view.u32(at + offset_of!(Thread, log))),
            spans: self
                .list(view.u32(at + offset_of!(Thread, spans)), offset_of!(SpanName, next))
                .map(|at| view.span_name(at))
                .collect(),
        }
    }

    /// The entries in the parts of a log that begins at `unit`, oldest first.
    fn log(&self, unit: u32) -> LogRecord {
        let view = self.view;
        let first = |at: &usize| view.u64(at + offset_of!(LogPart, first));
        let left = self.log_parts.get();
        let mut parts: Vec<usize> =
            self.list(unit, offset_of!(LogPart, after)).take(left).collect();
        self.log_parts.set(left - parts.len());
        parts.sort_by_key(first);
        let entries = parts.iter().flat_map(|&at| {
            let noted = view.u32(at + offset_of!(LogPart, noted)) as usize;
            let places = 0..noted.min(LOGGED);
            places.map(move |nth| {
                view.logged(at + offset_of!(LogPart, entries) + nth * size_of::<Logged>())
            })
        });
        LogRecord { lost: parts.first().map_or(0, first), entries: entries.collect() }
    }

    /// What the thread at this offset waits for.
    fn wants(&self, at: usize) -> Option<WantsRecord> {
        let (u32, u64) = (|field| self.view.u32(at + field), |field| self.view.u64(at + field));
        let how = u32(offset_of!(Thread, wants_how));
        let is_join = how & layout::wants::JOIN != 0;
        let wants = WantsRecord {
            lock: if is_join { 0 } else { u32(offset_of!(Thread, wants)) },
            joined: if is_join { u64(offset_of!(Thread, wants_end_of)) } else { 0 },
            since: u64(offset_of!(Thread, wants_since)),
            stack: u32(offset_of!(Thread, wants_stack)),
            shared: how & layout::wants::SHARED != 0,
            has_deadline: how & layout::wants::DEADLINE != 0,
        };
        let is_current = u64(offset_of!(Thread, asleep_since)) == wants.since
            && u64(offset_of!(Thread, end_ticks)) == 0;
        ((wants.lock != 0 || is_join) && is_current).then_some(wants)
    }
}
