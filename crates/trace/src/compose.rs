//! Makes the bytes of a record from plain values, for an observer outside the program.
//!
//! # Contract
//! [`reader::read`](crate::reader::read) of [`record`] gives the values back: processes, modules, stacks,
//! locks, threads
//! and their cells with waits and what ended them. Holds, idle intervals, logs, nested locks and spans are not written:
//! from outside they are not seen. Numbers of locks and stacks are the caller's own; the record has others. A lock
//! that several processes share (`sharing::JOINED`) is in the list of one, and later ones have cells with its number.
//! # Evidence
//! The test below.

use crate::histogram::FINE;
use crate::layout::{
    self, BUILD_ID, Caused, Cell, Cold, ENTRIES, Extreme, FRAMES, HEADER_UNITS, Header, Lock,
    Module, Process, Stack, Thread, UNIT, Unit, WaiterList, sharing,
};
use crate::records::{CausedRecord, CellRecord, LockRecord, ProcessRecord, ThreadRecord};
use crate::setup::Setup;
use std::collections::HashMap;
use std::mem::offset_of;

/// A process, and what each of its threads did: a number of a lock with each cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Composed {
    /// The process; its threads' cells are not looked at.
    pub process: ProcessRecord,
    /// For each of its threads.
    pub cells: Vec<Vec<(Unit, CellRecord)>>,
}

/// The bytes of a record. `setup` says its clock and start; the rest of it follows from the values.
pub fn record(setup: &Setup, processes: &[Composed]) -> Vec<u8> {
    let bytes = vec![0; HEADER_UNITS as usize * UNIT];
    let mut writer = Writer { bytes, shared: Numbers::new() };
    for composed in processes {
        writer.process(composed);
    }
    let bytes = writer.bytes.len() as u64;
    let processes = writer.number(offset_of!(Header, processes));
    let header = Setup { capacity: bytes, available: bytes, ..*setup }.bytes();
    writer.bytes[..header.len()].copy_from_slice(&header);
    writer.put(offset_of!(Header, processes), processes);
    writer.put(offset_of!(Header, allocated), (bytes / UNIT as u64) as u32);
    writer.bytes
}

struct Writer {
    bytes: Vec<u8>,
    /// Locks that later processes may have cells of.
    shared: Numbers,
}

/// The numbers in the record by the caller's.
type Numbers = HashMap<u32, Unit>;

fn named(numbers: &Numbers, number: u32) -> Unit {
    numbers.get(&number).copied().unwrap_or(0)
}

impl Writer {
    fn put(&mut self, at: usize, value: u32) {
        self.text(at, &value.to_le_bytes());
    }

    fn put_wide(&mut self, at: usize, value: u64) {
        self.text(at, &value.to_le_bytes());
    }

    fn text(&mut self, at: usize, text: &[u8]) {
        self.bytes[at..at + text.len()].copy_from_slice(text);
    }

    fn number(&self, at: usize) -> u32 {
        self.bytes[at..].first_chunk().map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// The offset of new bytes, and their unit.
    fn room(&mut self, bytes: usize) -> (usize, Unit) {
        let at = self.bytes.len();
        self.bytes.resize(at + layout::units(bytes) as usize * UNIT, 0);
        (at, (at / UNIT) as Unit)
    }

    /// A new entry at the head of the list that begins at the offset `head`; `link` is its place for the next one.
    fn entry(&mut self, bytes: usize, head: usize, link: usize) -> (usize, Unit) {
        let (at, unit) = self.room(bytes);
        let first = self.number(head);
        self.put(at + link, if first == 0 { unit } else { first });
        self.put(head, unit);
        (at, unit)
    }

    fn process(&mut self, composed: &Composed) {
        let Composed { process, cells } = composed;
        let (at, _) = self.entry(
            size_of::<Process>(),
            offset_of!(Header, processes),
            offset_of!(Process, next),
        );
        self.put(at + offset_of!(Process, pid), process.pid);
        self.put(at + offset_of!(Process, parent), process.parent);
        self.put_wide(at + offset_of!(Process, start_ticks), process.start_ticks);
        self.put_wide(at + offset_of!(Process, end_ticks), process.end_ticks);
        let words = process.command.iter().flat_map(|word| word.bytes().chain([0]));
        let words: Vec<u8> = words.collect();
        let (text, unit) = self.room(words.len());
        self.text(text, &words);
        self.put(at + offset_of!(Process, command), unit);
        self.put(at + offset_of!(Process, command_bytes), words.len() as u32);
        for module in &process.modules {
            let id = &module.build_id[..module.build_id.len().min(BUILD_ID)];
            let bytes = size_of::<Module>() + module.path.len() + id.len();
            let (entry, _) =
                self.entry(bytes, at + offset_of!(Process, modules), offset_of!(Module, next));
            self.put(entry + offset_of!(Module, path_bytes), module.path.len() as u32);
            self.put_wide(entry + offset_of!(Module, bias), module.bias);
            self.put_wide(entry + offset_of!(Module, start), module.start);
            self.put_wide(entry + offset_of!(Module, end), module.end);
            let file = module.file.unwrap_or_default();
            self.put_wide(entry + offset_of!(Module, file_bytes), file.bytes);
            self.put_wide(entry + offset_of!(Module, modified_ns), file.modified_ns);
            self.put_wide(entry + offset_of!(Module, inode), file.inode);
            self.put(entry + offset_of!(Module, id_bytes), id.len() as u32);
            let path_at = entry + size_of::<Module>();
            self.text(path_at, module.path.as_bytes());
            self.text(path_at + module.path.len(), id);
        }
        let stacks = self.stacks(at, &process.stacks);
        let mut locks = self.shared.clone();
        for lock in &process.locks {
            let unit = self.lock(at, lock, &stacks);
            locks.insert(lock.unit, unit);
            if lock.sharing == sharing::JOINED {
                self.shared.insert(lock.unit, unit);
            }
        }
        for (thread, cells) in process.threads.iter().zip(cells) {
            self.thread(at, thread, cells, &locks, &stacks);
        }
    }

    fn stacks(&mut self, process: usize, stacks: &HashMap<u32, Vec<u64>>) -> Numbers {
        let mut numbers = Numbers::new();
        let mut sorted: Vec<_> = stacks.iter().collect();
        sorted.sort_unstable();
        for (&number, frames) in sorted {
            let frames = &frames[..frames.len().min(FRAMES)];
            let (at, unit) = self.entry(
                offset_of!(Stack, frames) + 8 * frames.len(),
                process + offset_of!(Process, stacks),
                offset_of!(Stack, next),
            );
            self.put(at + offset_of!(Stack, count), frames.len() as u32);
            for (nth, &frame) in frames.iter().enumerate() {
                self.put_wide(at + offset_of!(Stack, frames) + 8 * nth, frame);
            }
            numbers.insert(number, unit);
        }
        numbers
    }

    fn lock(&mut self, process: usize, lock: &LockRecord, stacks: &Numbers) -> Unit {
        let head = process + offset_of!(Process, locks);
        let (at, unit) = self.entry(size_of::<Lock>(), head, offset_of!(Lock, next));
        self.put_wide(at + offset_of!(Lock, address), lock.address);
        self.text(at + offset_of!(Lock, kind), &[lock.kind]);
        self.text(at + offset_of!(Lock, sharing), &[lock.sharing]);
        self.put(at + offset_of!(Lock, generation), lock.generation);
        self.put(at + offset_of!(Lock, created), named(stacks, lock.created));
        self.put(at + offset_of!(Lock, first_taken), named(stacks, lock.first_taken));
        if !lock.waiting.is_empty() {
            let (list, waiters) = self.room(size_of::<WaiterList>());
            self.put(at + offset_of!(Lock, waiters), waiters);
            for (nth, &arrival) in lock.waiting.iter().take(layout::ARRIVALS).enumerate() {
                self.put_wide(list + offset_of!(WaiterList, arrivals) + 8 * nth, arrival);
            }
        }
        unit
    }

    fn thread(
        &mut self,
        process: usize,
        thread: &ThreadRecord,
        cells: &[(Unit, CellRecord)],
        locks: &Numbers,
        stacks: &Numbers,
    ) {
        let head = process + offset_of!(Process, threads);
        let (at, _) = self.entry(size_of::<Thread>(), head, offset_of!(Thread, next));
        self.put(at + offset_of!(Thread, tid), thread.tid);
        self.put_wide(at + offset_of!(Thread, start_ticks), thread.start_ticks);
        self.put_wide(at + offset_of!(Thread, end_ticks), thread.end_ticks);
        self.put_wide(at + offset_of!(Thread, handle), thread.handle);
        self.put_wide(at + offset_of!(Thread, joined), thread.joined);
        let name = thread.name.as_bytes();
        self.text(at + offset_of!(Thread, name), &name[..name.len().min(15)]);
        self.put_wide(at + offset_of!(Thread, asleep_since), thread.asleep_since.unwrap_or(0));
        if let Some(wants) = thread.wants {
            let deadline = if wants.has_deadline { layout::wants::DEADLINE } else { 0 };
            let join = if wants.joined != 0 { layout::wants::JOIN } else { 0 };
            self.put_wide(at + offset_of!(Thread, wants_end_of), wants.joined);
            self.put(at + offset_of!(Thread, wants), named(locks, wants.lock));
            self.put_wide(at + offset_of!(Thread, wants_since), wants.since);
            self.put(at + offset_of!(Thread, wants_stack), named(stacks, wants.stack));
            self.put(at + offset_of!(Thread, wants_how), deadline | join);
        }
        for (lock, cell) in cells {
            let (entry, _) = self.entry(
                size_of::<Cell>(),
                at + offset_of!(Thread, cells),
                offset_of!(Cell, next),
            );
            self.put(entry + offset_of!(Cell, lock), named(locks, *lock));
            self.put_wide(entry + offset_of!(Cell, acquisitions), cell.acquisitions);
            self.put_wide(entry + offset_of!(Cell, owner_changes), cell.owner_changes);
            self.cold(entry, cell, stacks);
            self.caused(entry + offset_of!(Cell, caused), &cell.caused, stacks);
        }
    }

    fn cold(&mut self, cell_at: usize, cell: &CellRecord, stacks: &Numbers) {
        let (at, unit) = self.room(size_of::<Cold>());
        self.put(cell_at + offset_of!(Cell, cold), unit);
        for (place, value) in [
            (offset_of!(Cold, blocked), cell.blocked),
            (offset_of!(Cold, wait_total), cell.wait.total),
            (offset_of!(Cold, timed_out), cell.timed_out.count),
            (offset_of!(Cold, timed_out_total), cell.timed_out.total),
            (offset_of!(Cold, timed_out_max), cell.timed_out.max),
            (offset_of!(Cold, served), cell.timed_out.served),
            (offset_of!(Cold, try_failed), cell.try_failed),
            (offset_of!(Cold, wait_free), cell.wait_free),
        ] {
            self.put_wide(at + place, value);
        }
        for (nth, &sum) in cell.idle_by.iter().enumerate() {
            self.put_wide(at + offset_of!(Cold, idle_by) + 8 * nth, sum);
        }
        for &(low, _, count) in &cell.wait.buckets {
            let place = at + offset_of!(Cold, wait) + 8 * FINE.bucket(low);
            self.put_wide(place, count);
        }
        for (nth, extreme) in cell.wait.worst.iter().take(4).enumerate() {
            let place = at + offset_of!(Cold, wait_worst) + nth * size_of::<Extreme>();
            self.put_wide(place + offset_of!(Extreme, ticks), extreme.ticks);
            self.put_wide(place + offset_of!(Extreme, at), extreme.at);
            self.put(place + offset_of!(Extreme, mine), named(stacks, extreme.mine));
            self.put(place + offset_of!(Extreme, other), named(stacks, extreme.other));
            self.put(place + offset_of!(Extreme, cause), extreme.cause);
        }
    }

    /// At most as many as a reader takes.
    fn caused(&mut self, head: usize, all: &[CausedRecord], stacks: &Numbers) {
        for caused in all.iter().take(ENTRIES) {
            let (at, _) = self.entry(size_of::<Caused>(), head, offset_of!(Caused, next));
            self.put(at + offset_of!(Caused, stack), named(stacks, caused.stack));
            self.put_wide(at + offset_of!(Caused, wait), caused.wait);
            self.put_wide(at + offset_of!(Caused, waits), caused.waits);
            self.put_wide(at + offset_of!(Caused, holds), caused.holds);
            self.put_wide(at + offset_of!(Caused, longest), caused.longest);
            self.put(at + offset_of!(Caused, release), named(stacks, caused.release));
            // A mark, or a stack.
            let passed_to = stacks.get(&caused.passed_to).copied().unwrap_or(caused.passed_to);
            self.put(at + offset_of!(Caused, passed_to), passed_to);
            self.put_wide(at + offset_of!(Caused, passed_on), caused.passed_on);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{WAITED, WAKE, clock, kind};
    use crate::reader;
    use crate::records::{
        ExtremeRecord, FileRecord, ModuleRecord, TimedOutRecord, TimesRecord, WantsRecord,
    };
    use crate::setup::Holds;

    fn setup() -> Setup {
        Setup {
            clock: clock::MONOTONIC,
            start_ticks: 100,
            tick_ns: 1.0,
            step_ns: 1.0,
            holds: Holds::None,
            lock_order: false,
            switches: false,
            enabled: false,
            from_kernel: true,
            capacity: 0,
            available: 0,
        }
    }

    fn cell() -> CellRecord {
        let worst = ExtremeRecord { ticks: 90, at: 290, mine: 1, other: 2, cause: 0 };
        let waits =
            CausedRecord { stack: 1, wait: 160, waits: 2, longest: 90, ..Default::default() };
        CellRecord {
            acquisitions: 2,
            blocked: 2,
            timed_out: TimedOutRecord { count: 1, total: 70, max: 70, served: 0 },
            idle_by: [150, 6, 0, 4],
            wait: TimesRecord {
                total: 160,
                buckets: vec![(64, 80, 1), (80, 96, 1)],
                worst: vec![worst],
            },
            caused: vec![
                CausedRecord { passed_to: WAKE, stack: 2, ..waits },
                CausedRecord { passed_to: WAITED, ..waits },
            ],
            ..CellRecord::default()
        }
    }

    /// One with a build id, and one without.
    fn modules() -> Vec<ModuleRecord> {
        let file = FileRecord { bytes: 4, modified_ns: 5, inode: 6 };
        let module = |path: &str| ModuleRecord { path: path.into(), ..ModuleRecord::default() };
        let first = ModuleRecord { bias: 1, start: 2, end: 3, ..module("/lib/a") };
        vec![
            ModuleRecord { build_id: vec![7; 20], ..first },
            ModuleRecord { file: Some(file), ..module("/lib/b") },
        ]
    }

    #[test]
    fn what_is_written_reads_back() {
        let lock =
            |unit, address| LockRecord { unit, address, kind: kind::FUTEX, ..Default::default() };
        let thread = |tid| ThreadRecord {
            tid,
            name: "worker".into(),
            start_ticks: 110,
            ..Default::default()
        };
        let wants = WantsRecord { lock: 7, since: 300, stack: 1, ..WantsRecord::default() };
        let joins = WantsRecord { joined: 77, since: 310, ..WantsRecord::default() };
        let process = ProcessRecord {
            pid: 12,
            command: vec!["./a b".into(), "c".into()],
            start_ticks: 105,
            locks: vec![LockRecord { waiting: vec![300], ..lock(7, 0x70) }, lock(9, 0x90)],
            threads: vec![
                ThreadRecord {
                    asleep_since: Some(310),
                    wants: Some(joins),
                    joined: 40,
                    ..thread(12)
                },
                ThreadRecord {
                    handle: 77,
                    asleep_since: Some(300),
                    wants: Some(wants),
                    ..thread(13)
                },
            ],
            stacks: HashMap::from([(1, vec![0x10, 0x11]), (2, vec![0x20])]),
            modules: modules(),
            ..ProcessRecord::default()
        };
        let composed = Composed { process, cells: vec![vec![(9, cell())], vec![(7, cell())]] };
        let bytes = record(&setup(), &[composed.clone(), composed.clone()]);
        let read = reader::read(&bytes).unwrap();
        assert!(read.from_kernel && read.holds == Holds::None && read.clock == clock::MONOTONIC);
        assert_eq!((read.start_ticks, read.processes.len()), (100, 2));
        let process = &read.processes[1];
        assert_eq!(process.command, composed.process.command);
        let newest_first = composed.process.modules.iter().rev();
        assert!(process.modules.iter().eq(newest_first), "{:?}", process.modules);
        let places: Vec<(u64, &[u64])> =
            process.locks.iter().map(|lock| (lock.address, &lock.waiting[..])).collect();
        assert_eq!(places, [(0x70, &[300][..]), (0x90, &[][..])]);
        let second = &process.threads[1];
        assert_eq!(
            (second.tid, second.name.as_str(), second.asleep_since),
            (13, "worker", Some(300))
        );
        let wanted = second.wants.unwrap();
        assert_eq!(wanted.lock, process.locks[0].unit);
        assert_eq!(process.stacks[&wanted.stack], [0x10, 0x11]);
        let first = &process.threads[0];
        assert_eq!((first.joined, first.wants, second.handle), (40, Some(joins), 77));
        let expected = cell();
        let found = read.cell(process.threads[0].cells[0]);
        assert_eq!(process.threads[0].cells[0].lock, process.locks[1].unit);
        assert_eq!(found.wait.buckets, expected.wait.buckets);
        assert_eq!(found.wait.worst[0].ticks, 90);
        assert_eq!(process.stacks[&found.wait.worst[0].other], [0x20]);
        assert_eq!((found.timed_out, found.idle_by), (expected.timed_out, expected.idle_by));
        let marks: Vec<u32> = found.caused.iter().map(|caused| caused.passed_to).collect();
        assert_eq!(marks, [WAITED, WAKE]);
        assert_eq!(process.stacks[&found.caused[1].stack], [0x20]);
        assert_eq!((found.caused[1].wait, found.caused[1].waits), (160, 2));
    }

    #[test]
    fn a_lock_of_two_processes_is_one() {
        let lock = LockRecord { unit: 7, sharing: sharing::JOINED, ..Default::default() };
        let thread = ThreadRecord { tid: 12, ..Default::default() };
        let first = ProcessRecord {
            locks: vec![lock],
            threads: vec![thread.clone()],
            ..ProcessRecord::default()
        };
        let second = ProcessRecord { threads: vec![thread], ..ProcessRecord::default() };
        let composed =
            |process| Composed { process, cells: vec![vec![(7, CellRecord::default())]] };
        let bytes = record(&setup(), &[first, second].map(composed));
        let [first, second] = &reader::read(&bytes).unwrap().processes[..] else { panic!() };
        let [lock] = &first.locks[..] else { panic!("{:?}", first.locks) };
        assert_eq!((lock.sharing, second.locks.len()), (sharing::JOINED, 0));
        let locks = [first, second].map(|process| process.threads[0].cells[0].lock);
        assert_eq!(locks, [lock.unit; 2]);
    }

    #[test]
    fn all_entries_of_a_cell_that_have_room_are_read_back() {
        let lock = LockRecord { unit: 7, kind: kind::FUTEX, ..Default::default() };
        let thread = ThreadRecord { tid: 12, ..Default::default() };
        let process =
            ProcessRecord { locks: vec![lock], threads: vec![thread], ..ProcessRecord::default() };
        let caused = (1..=ENTRIES as u64).map(|wait| CausedRecord { wait, ..Default::default() });
        let cell = CellRecord { caused: caused.collect(), ..CellRecord::default() };
        let composed = Composed { process, cells: vec![vec![(7, cell)]] };
        let bytes = record(&setup(), &[composed]);
        let read = reader::read(&bytes).unwrap();
        let found = read.cell(read.processes[0].threads[0].cells[0]);
        let waits: Vec<u64> = found.caused.iter().map(|caused| caused.wait).collect();
        assert_eq!(waits, (1..=ENTRIES as u64).rev().collect::<Vec<_>>());
    }
}
