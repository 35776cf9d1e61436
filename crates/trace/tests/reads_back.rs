//! Every field of every entry is written with a value of its own, at its place in the layout, and read back.
#![cfg(not(unc_model))]
#![allow(
    clippy::needless_update,
    reason = "fields that an entry gains later are zero here, their default"
)]

use std::mem::offset_of;
use uncontended_trace::histogram::{COARSE, FINE, Scale};
use uncontended_trace::layout::{
    self, Caused, Cell, Cold, Extreme, Header, Late, Lock, LogPart, Logged, Module, Process, Stack,
    Thread, UNIT, Unit, WaiterList,
};
use uncontended_trace::reader::{
    CellRecord, ExtremeRecord, FileRecord, LockRecord, LogRecord, LoggedRecord, ModuleRecord,
    ProcessRecord, ThreadRecord, TimedOutRecord, TimesRecord, Used, read,
};
use uncontended_trace::setup::Holds;

/// A record under construction. No value is written twice, so a field read from another's place is seen.
struct Writer {
    bytes: Vec<u8>,
    written: u32,
}

impl Writer {
    fn new() -> Self {
        let mut writer = Writer { bytes: Vec::new(), written: 0 };
        writer.entry(layout::HEADER_UNITS as usize * UNIT);
        writer.put(0, offset_of!(Header, magic), layout::MAGIC.to_le_bytes());
        writer.put(0, offset_of!(Header, version), layout::VERSION.to_le_bytes());
        writer
    }

    fn entry(&mut self, bytes: usize) -> Unit {
        let unit = (self.bytes.len() / UNIT) as Unit;
        self.bytes.resize(self.bytes.len() + layout::units(bytes) as usize * UNIT, 0);
        unit
    }

    /// An entry at the head of the list whose head lies at `offset` of `of`.
    fn listed(&mut self, bytes: usize, next: usize, of: Unit, offset: usize) -> Unit {
        let entry = self.entry(bytes);
        let head = of as usize * UNIT + offset;
        let first: [u8; 4] = self.bytes[head..head + 4].try_into().unwrap();
        self.put(entry, next, first);
        self.put(of, offset, entry.to_le_bytes());
        entry
    }

    fn put<const N: usize>(&mut self, unit: Unit, offset: usize, value: [u8; N]) {
        let at = unit as usize * UNIT + offset;
        self.bytes[at..at + N].copy_from_slice(&value);
    }

    /// Writes a new number of eight bytes, neither half of which is zero; sums of some do not overflow.
    fn word(&mut self, unit: Unit, offset: usize) -> u64 {
        self.written += 1;
        let value = u64::from(self.written) << 33 | u64::from(self.written);
        self.put(unit, offset, value.to_le_bytes());
        value
    }

    /// Writes a new number of four bytes, neither half of which is zero.
    fn half(&mut self, unit: Unit, offset: usize) -> u32 {
        self.written += 1;
        let value = self.written << 17 | self.written;
        self.put(unit, offset, value.to_le_bytes());
        value
    }

    fn text(&mut self, unit: Unit, offset: usize, text: &str) {
        let at = unit as usize * UNIT + offset;
        self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
    }

    fn process(&mut self) -> (Unit, ProcessRecord) {
        let of_header = offset_of!(Header, processes);
        let unit = self.listed(size_of::<Process>(), offset_of!(Process, next), 0, of_header);
        let arguments = [format!("program{}", self.written), "an argument".to_owned()];
        let command = arguments.join("\0") + "\0";
        let at = self.entry(command.len());
        self.text(at, 0, &command);
        self.put(unit, offset_of!(Process, command), at.to_le_bytes());
        let bytes = command.len() as u32;
        self.put(unit, offset_of!(Process, command_bytes), bytes.to_le_bytes());
        let record = ProcessRecord {
            pid: self.half(unit, offset_of!(Process, pid)),
            parent: self.half(unit, offset_of!(Process, parent)),
            command: arguments.to_vec(),
            start_ticks: self.word(unit, offset_of!(Process, start_ticks)),
            end_ticks: self.word(unit, offset_of!(Process, end_ticks)),
            ended_by: self.half(unit, offset_of!(Process, ended_by)),
            before: Used {
                cpu_ns: self.word(unit, offset_of!(Process, before)),
                system_ns: self.word(unit, offset_of!(Process, before) + 8),
                runnable_ns: self.word(unit, offset_of!(Process, before) + 16),
                voluntary: self.word(unit, offset_of!(Process, before) + 24),
                involuntary: self.word(unit, offset_of!(Process, before) + 32),
            },
            ..ProcessRecord::default()
        };
        (unit, record)
    }

    fn stack(&mut self, process: Unit, frames: usize) -> (Unit, Vec<u64>) {
        let of_process = offset_of!(Process, stacks);
        let unit = self.listed(size_of::<Stack>(), offset_of!(Stack, next), process, of_process);
        let written: Vec<u64> = (0..frames.min(layout::FRAMES))
            .map(|frame| self.word(unit, offset_of!(Stack, frames) + 8 * frame))
            .collect();
        self.put(unit, offset_of!(Stack, count), (frames as u32).to_le_bytes());
        (unit, written)
    }

    fn module(&mut self, process: Unit, path: &str) -> ModuleRecord {
        const ID: &str = "a build id of 20 ...";
        let size = size_of::<Module>() + path.len() + ID.len();
        let of_process = offset_of!(Process, modules);
        let unit = self.listed(size, offset_of!(Module, next), process, of_process);
        self.put(unit, offset_of!(Module, path_bytes), (path.len() as u32).to_le_bytes());
        self.put(unit, offset_of!(Module, id_bytes), (ID.len() as u32).to_le_bytes());
        self.text(unit, size_of::<Module>(), path);
        self.text(unit, size_of::<Module>() + path.len(), ID);
        ModuleRecord {
            path: path.to_owned(),
            bias: self.word(unit, offset_of!(Module, bias)),
            start: self.word(unit, offset_of!(Module, start)),
            end: self.word(unit, offset_of!(Module, end)),
            build_id: ID.into(),
            file: Some(FileRecord {
                bytes: self.word(unit, offset_of!(Module, file_bytes)),
                modified_ns: self.word(unit, offset_of!(Module, modified_ns)),
                inode: self.word(unit, offset_of!(Module, inode)),
            }),
        }
    }

    /// A lock, whose waiter list has every place taken, with the stacks of its late releases by their times.
    fn lock(&mut self, process: Unit, kind: u8) -> (LockRecord, Vec<(u64, u32)>) {
        let of_process = offset_of!(Process, locks);
        let unit = self.listed(size_of::<Lock>(), offset_of!(Lock, next), process, of_process);
        let list = self.entry(size_of::<WaiterList>());
        self.put(unit, offset_of!(Lock, waiters), list.to_le_bytes());
        self.put(unit, offset_of!(Lock, kind), [kind]);
        let crossed = u8::from(kind == layout::kind::SEMAPHORE);
        self.put(unit, offset_of!(Lock, crossed), [crossed]);
        let address = self.word(unit, offset_of!(Lock, address));
        self.put(unit, offset_of!(Lock, address), (address | layout::READERS).to_le_bytes());
        let place = |place| offset_of!(WaiterList, arrivals) + 8 * place;
        let record = LockRecord {
            unit,
            address,
            kind,
            generation: self.half(unit, offset_of!(Lock, generation)),
            created: self.half(unit, offset_of!(Lock, created)),
            first_taken: self.half(unit, offset_of!(Lock, first_taken)),
            crossed,
            waiting: (0..layout::ARRIVALS).map(|nth| self.word(list, place(nth))).collect(),
            ..LockRecord::default()
        };
        let late = (0..length(|list: &WaiterList| &list.late)).map(|slot| {
            let at = offset_of!(WaiterList, late) + slot * size_of::<Late>();
            let ticks = self.word(list, at + offset_of!(Late, ticks));
            (ticks, self.half(list, at + offset_of!(Late, stack)))
        });
        (record, late.collect())
    }

    fn thread(&mut self, process: Unit, name: &str) -> (Unit, ThreadRecord) {
        let of_process = offset_of!(Process, threads);
        let unit = self.listed(size_of::<Thread>(), offset_of!(Thread, next), process, of_process);
        self.text(unit, offset_of!(Thread, name), name);
        let record = ThreadRecord {
            unit,
            handle: self.word(unit, offset_of!(Thread, handle)),
            tid: self.half(unit, offset_of!(Thread, tid)),
            name: name.to_owned(),
            start_ticks: self.word(unit, offset_of!(Thread, start_ticks)),
            made_ticks: self.word(unit, offset_of!(Thread, made_ticks)),
            creator: self.half(unit, offset_of!(Thread, creator)),
            began_in: self.half(unit, offset_of!(Thread, began_in)),
            end_ticks: self.word(unit, offset_of!(Thread, end_ticks)),
            cpu_ns: self.word(unit, offset_of!(Thread, cpu_ns)),
            system_ns: self.word(unit, offset_of!(Thread, system_ns)),
            voluntary: self.word(unit, offset_of!(Thread, voluntary)),
            involuntary: self.word(unit, offset_of!(Thread, involuntary)),
            joined: self.word(unit, offset_of!(Thread, joined)),
            asleep_since: Some(self.word(unit, offset_of!(Thread, asleep_since))),
            ..ThreadRecord::default()
        };
        (unit, record)
    }

    /// A part of a log with three entries, from number `first` on.
    fn log_part(&mut self, first: u64) -> (Unit, Vec<LoggedRecord>) {
        let unit = self.entry(size_of::<LogPart>());
        self.put(unit, offset_of!(LogPart, first), first.to_le_bytes());
        self.put(unit, offset_of!(LogPart, noted), 3u32.to_le_bytes());
        let entries = (0..3).map(|nth| {
            let at = offset_of!(LogPart, entries) + nth * size_of::<Logged>();
            LoggedRecord {
                what: self.half(unit, at + offset_of!(Logged, what)),
                began: self.word(unit, at + offset_of!(Logged, began)),
                ended: self.word(unit, at + offset_of!(Logged, ended)),
                by_at: self.word(unit, at + offset_of!(Logged, by_at)),
                joined: self.word(unit, at + offset_of!(Logged, joined)),
                free: self.word(unit, at + offset_of!(Logged, free)),
                between: self.half(unit, at + offset_of!(Logged, between)),
                lock: self.half(unit, at + offset_of!(Logged, lock)),
                stack: self.half(unit, at + offset_of!(Logged, stack)),
                by: self.half(unit, at + offset_of!(Logged, by)),
                by_stack: self.half(unit, at + offset_of!(Logged, by_stack)),
            }
        });
        (unit, entries.collect())
    }

    /// A cell without waits.
    fn cell(&mut self, thread: Unit, lock: Unit) -> (Unit, CellRecord) {
        let of_thread = offset_of!(Thread, cells);
        let unit = self.listed(size_of::<Cell>(), offset_of!(Cell, next), thread, of_thread);
        self.put(unit, offset_of!(Cell, lock), lock.to_le_bytes());
        let counts = (0..COARSE.buckets).map(|bucket| {
            let carry = bucket as u8 + 1;
            self.put(unit, offset_of!(Cell, hold_carry) + bucket, [carry]);
            let low = self.half(unit, offset_of!(Cell, hold) + 4 * bucket);
            u64::from(carry) << 32 | u64::from(low)
        });
        let buckets = buckets(COARSE, counts);
        let mut worst: Vec<ExtremeRecord> = (0..3)
            .map(|rank| offset_of!(Cell, hold_worst) + 8 * rank)
            .chain([offset_of!(Cell, hold_fourth)])
            .map(|at| ExtremeRecord { ticks: self.word(unit, at), ..ExtremeRecord::default() })
            .collect();
        worst[0].at = self.word(unit, offset_of!(Cell, hold_worst_at));
        let total = self.word(unit, offset_of!(Cell, hold_total));
        let record = CellRecord {
            acquisitions: self.word(unit, offset_of!(Cell, acquisitions)),
            owner_changes: self.word(unit, offset_of!(Cell, owner_changes)),
            held_since: Some(self.word(unit, offset_of!(Cell, hold_start))),
            hold: TimesRecord { total, buckets, worst },
            ..CellRecord::default()
        };
        (unit, record)
    }

    /// Gives a cell its part for waits. The releases of the extremes, waits before idles, were at the times in
    /// `releases`; those with a stack of 0 leave it to the waiter list.
    fn waited(&mut self, cell: Unit, record: &mut CellRecord, releases: &[(u64, Option<u32>)]) {
        let cold = self.entry(size_of::<Cold>());
        self.put(cell, offset_of!(Cell, cold), cold.to_le_bytes());
        record.blocked = self.word(cold, offset_of!(Cold, blocked));
        record.slept = self.word(cold, offset_of!(Cold, slept));
        record.slept_known = self.word(cold, offset_of!(Cold, slept_known));
        record.try_failed = self.word(cold, offset_of!(Cold, try_failed));
        record.wait_free = self.word(cold, offset_of!(Cold, wait_free));
        let idle_by = |nth: usize| self.word(cold, offset_of!(Cold, idle_by) + 8 * nth);
        record.idle_by = [0, 1, 2, 3].map(idle_by);
        record.timed_out = TimedOutRecord {
            count: self.word(cold, offset_of!(Cold, timed_out)),
            total: self.word(cold, offset_of!(Cold, timed_out_total)),
            max: self.word(cold, offset_of!(Cold, timed_out_max)),
            served: self.word(cold, offset_of!(Cold, served)),
        };
        let mut times = |total: usize, counts: usize, worst: usize, releases| TimesRecord {
            total: self.word(cold, total),
            buckets: buckets(FINE, (0..FINE.buckets).map(|nth| self.word(cold, counts + 8 * nth))),
            worst: self.extremes(cold, worst, releases),
        };
        let (waits, idles) = releases.split_at(length(|cold: &Cold| &cold.wait_worst));
        record.wait = times(
            offset_of!(Cold, wait_total),
            offset_of!(Cold, wait),
            offset_of!(Cold, wait_worst),
            waits,
        );
        record.idle = times(
            offset_of!(Cold, idle_total),
            offset_of!(Cold, idle),
            offset_of!(Cold, idle_worst),
            idles,
        );
    }

    fn extremes(
        &mut self,
        cold: Unit,
        worst: usize,
        releases: &[(u64, Option<u32>)],
    ) -> Vec<ExtremeRecord> {
        let extremes = releases.iter().enumerate().map(|(rank, &(release, late))| {
            let at = worst + rank * size_of::<Extreme>();
            self.put(cold, at + offset_of!(Extreme, release), release.to_le_bytes());
            let other = offset_of!(Extreme, other);
            ExtremeRecord {
                ticks: self.word(cold, at + offset_of!(Extreme, ticks)),
                at: self.word(cold, at + offset_of!(Extreme, at)),
                mine: self.half(cold, at + offset_of!(Extreme, mine)),
                other: late.unwrap_or_else(|| self.half(cold, at + other)),
                cause: self.half(cold, at + offset_of!(Extreme, cause)),
            }
        });
        extremes.collect()
    }
}

/// The length of an array in an entry.
fn length<E, T, const N: usize>(_: fn(&E) -> &[T; N]) -> usize {
    N
}

fn buckets(scale: Scale, counts: impl Iterator<Item = u64>) -> Vec<(u64, u64, u64)> {
    let edges = |(nth, count)| (scale.low(nth), scale.low(nth + 1), count);
    counts.enumerate().map(edges).collect()
}

#[test]
fn the_header() {
    let mut writer = Writer::new();
    let clock = writer.half(0, offset_of!(Header, clock));
    let [start, room, busy, negative] = [
        offset_of!(Header, start_ticks),
        offset_of!(Header, dropped_room),
        offset_of!(Header, dropped_busy),
        offset_of!(Header, negative),
    ]
    .map(|at| writer.word(0, at));
    writer.put(0, offset_of!(Header, tick_ns), 0.25f64.to_le_bytes());
    writer.put(0, offset_of!(Header, step_ns), 12.5f64.to_le_bytes());
    let (none, waited) = (layout::flag::NO_HOLD, layout::flag::WAITED_HOLDS);
    let of = [
        (none, Holds::None),
        (!none, Holds::Waited),
        (waited, Holds::Waited),
        (!(none | waited), Holds::All),
    ];
    for (flags, holds) in of {
        writer.put(0, offset_of!(Header, flags), flags.to_le_bytes());
        let record = read(&writer.bytes).unwrap();
        assert_eq!(record.holds, holds);
        assert_eq!((record.clock, record.tick_ns, record.step_ns), (clock, 0.25, 12.5));
        let read = [record.start_ticks, record.dropped_room, record.dropped_busy, record.negative];
        assert_eq!(read, [start, room, busy, negative]);
        assert!(record.processes.is_empty());
    }
}

/// Oldest first, but modules, of which the newest comes first.
#[test]
fn processes_and_what_they_list() {
    let mut writer = Writer::new();
    let mut written = Vec::new();
    for _ in 0..2 {
        let (process, mut record) = writer.process();
        let kinds = [layout::kind::SEMAPHORE, layout::kind::RWLOCK_READ];
        record.locks = kinds.map(|kind| writer.lock(process, kind).0).to_vec();
        record.threads =
            ["main", "sixteen letters."].map(|name| writer.thread(process, name).1).to_vec();
        // More frames than a stack has are not read.
        let frames = [0, 3, layout::FRAMES, layout::FRAMES + 1];
        record.stacks = frames.map(|frames| writer.stack(process, frames)).into_iter().collect();
        let paths = ["/usr/lib/libm.so.6", "/bin/program"];
        record.modules = paths.map(|path| writer.module(process, path)).into_iter().rev().collect();
        written.push(record);
    }
    assert_eq!(read(&writer.bytes).unwrap().processes, written);
}

#[test]
fn cells() {
    let mut writer = Writer::new();
    let (process, _) = writer.process();
    let (first, late) = writer.lock(process, layout::kind::MUTEX);
    let (second, _) = writer.lock(process, layout::kind::SPIN);
    let (thread, mut record) = writer.thread(process, "worker");
    let of_extremes = 2 * length(|cold: &Cold| &cold.wait_worst);
    assert!(late.len() < of_extremes, "one extreme is left without a late stack");

    // Stacks that became known late, and one that never did.
    let (a, mut with_late) = writer.cell(thread, first.unit);
    let mut releases: Vec<_> = late.iter().map(|&(ticks, stack)| (ticks, Some(stack))).collect();
    releases.resize(of_extremes, (1, Some(0)));
    writer.waited(a, &mut with_late, &releases);
    // A stack that was known at once is not looked up.
    let (b, mut with_own) = writer.cell(thread, first.unit);
    let known: Vec<_> = releases.iter().map(|&(ticks, _)| (ticks, None)).collect();
    writer.waited(b, &mut with_own, &known);
    let (_, without_waits) = writer.cell(thread, second.unit);
    record.blocked = with_late.blocked + with_own.blocked;
    record.waited = with_late.wait.total + with_own.wait.total;

    let read = read(&writer.bytes).unwrap();
    let thread = &read.processes[0].threads[0];
    record.cells.clone_from(&thread.cells);
    assert_eq!(*thread, record);
    let locks: Vec<Unit> = thread.cells.iter().map(|cell| cell.lock).collect();
    assert_eq!(locks, [first.unit, first.unit, second.unit]);
    let cells: Vec<CellRecord> = thread.cells.iter().map(|&cell| read.cell(cell)).collect();
    assert_eq!(cells, [with_late, with_own, without_waits]);
}

/// All sites of a cell are read, and no more than a cell can have.
#[test]
fn sites() {
    let mut writer = Writer::new();
    let (process, _) = writer.process();
    let (lock, _) = writer.lock(process, layout::kind::MUTEX);
    let (thread, _) = writer.thread(process, "worker");
    let (cell, _) = writer.cell(thread, lock.unit);
    let mut written = Vec::new();
    for entries in 1..layout::ENTRIES + 2 {
        let of_cell = offset_of!(Cell, caused);
        let unit = writer.listed(size_of::<Caused>(), offset_of!(Caused, next), cell, of_cell);
        written.push(writer.word(unit, offset_of!(Caused, wait)));
        let read = read(&writer.bytes).unwrap();
        let caused = read.caused(read.processes[0].threads[0].cells[0]);
        let newest = written.iter().rev().take(layout::ENTRIES);
        assert!(caused.iter().map(|site| &site.wait).eq(newest), "{entries} sites");
    }
}

/// The oldest part may be any of the ring.
#[test]
fn logs() {
    let mut writer = Writer::new();
    let (process, _) = writer.process();
    let (thread, mut record) = writer.thread(process, "worker");
    let parts = [508, 254, 381].map(|first| writer.log_part(first));
    for (nth, (part, _)) in parts.iter().enumerate() {
        let after = parts[(nth + 1) % parts.len()].0;
        writer.put(*part, offset_of!(LogPart, after), after.to_le_bytes());
    }
    writer.put(thread, offset_of!(Thread, log), parts[0].0.to_le_bytes());
    let in_order = [1, 2, 0].map(|nth: usize| parts[nth].1.clone());
    record.log = LogRecord { lost: 254, entries: in_order.concat() };
    assert_eq!(read(&writer.bytes).unwrap().processes[0].threads, [record]);
}

/// Parts of a log that overlap are not what a program wrote: together they are no longer than the record.
#[test]
fn logs_that_overlap_are_cut() {
    let mut writer = Writer::new();
    let (process, _) = writer.process();
    let (thread, _) = writer.thread(process, "worker");
    let first = writer.entry(40 * size_of::<LogPart>());
    for unit in first..first + 1_000 {
        writer.put(unit, offset_of!(LogPart, after), (unit + 1).to_le_bytes());
        writer.put(unit, offset_of!(LogPart, noted), u32::MAX.to_le_bytes());
    }
    writer.put(thread, offset_of!(Thread, log), first.to_le_bytes());
    let read = read(&writer.bytes).unwrap();
    let entries = read.processes[0].threads[0].log.entries.len();
    assert_eq!(entries, writer.bytes.len() / size_of::<LogPart>() * layout::LOGGED);
}

/// Zero says that there is none.
#[test]
fn what_is_zero_is_absent() {
    let mut writer = Writer::new();
    let (process, _) = writer.process();
    let lock = writer.listed(
        size_of::<Lock>(),
        offset_of!(Lock, next),
        process,
        offset_of!(Process, locks),
    );
    let of_process = offset_of!(Process, threads);
    let thread = writer.listed(size_of::<Thread>(), offset_of!(Thread, next), process, of_process);
    let of_thread = offset_of!(Thread, cells);
    let cell = writer.listed(size_of::<Cell>(), offset_of!(Cell, next), thread, of_thread);
    writer.put(cell, offset_of!(Cell, lock), lock.to_le_bytes());
    let cold = writer.entry(size_of::<Cold>());
    writer.put(cell, offset_of!(Cell, cold), cold.to_le_bytes());
    let list = writer.entry(size_of::<WaiterList>());
    writer.put(lock, offset_of!(Lock, waiters), list.to_le_bytes());

    let read = read(&writer.bytes).unwrap();
    let process = &read.processes[0];
    assert_eq!(process.locks, [LockRecord { unit: lock, ..LockRecord::default() }]);
    let cells = process.threads[0].cells.clone();
    assert_eq!(
        process.threads,
        [ThreadRecord { unit: thread, cells: cells.clone(), ..Default::default() }]
    );
    assert_eq!(read.cell(cells[0]), CellRecord::default());
}
