//! Locks that processes share: what the threads of all of them did to a lock, and whose stacks there are.
//!
//! # Contract
//! A shared lock is in the list of one image, and has its row there; the cells of threads of any image may be about it.
//! Where no lock is shared, nothing is gathered.

use std::collections::{HashMap, HashSet};
use uncontended_trace::layout::sharing;
use uncontended_trace::reader::{CellAt, LockRecord, ProcessRecord, Record, ThreadRecord};

/// What processes share.
#[derive(Default)]
pub(super) struct Joined<'a> {
    /// The cells of each shared lock, with the image and the thread of each.
    cells: HashMap<u32, Vec<(&'a ProcessRecord, &'a ThreadRecord, CellAt)>>,
    /// The image of each stack.
    homes: HashMap<u32, &'a ProcessRecord>,
    /// The kinds of shared locks that a process could not recognise: which of those known elsewhere it uses is unknown.
    apart: HashSet<u8>,
    /// Whether the kernel saw the wakeups. A waiter's process then has its wakers' stacks, too.
    is_from_kernel: bool,
}

impl<'a> Joined<'a> {
    pub(super) fn of(record: &'a Record<'_>) -> Self {
        let locks = || record.processes.iter().flat_map(|image| &image.locks);
        let apart = locks().filter(|lock| lock.sharing == sharing::APART);
        let apart = apart.map(|lock| lock.kind).collect();
        let shared = locks()
            .filter(|lock| matches!(lock.sharing, sharing::JOINED | sharing::JOINED_IN_PART))
            .map(|lock| lock.unit);
        let shared: HashSet<u32> = shared.collect();
        let mut joined = Joined { apart, is_from_kernel: record.from_kernel, ..Joined::default() };
        if shared.is_empty() {
            return joined;
        }
        for image in &record.processes {
            joined.homes.extend(image.stacks.keys().map(|&stack| (stack, image)));
            for thread in &image.threads {
                for &cell in thread.cells.iter().filter(|cell| shared.contains(&cell.lock)) {
                    joined.cells.entry(cell.lock).or_default().push((image, thread, cell));
                }
            }
        }
        joined
    }

    /// Whether a thread of any process touched this lock.
    pub(super) fn is_touched(&self, lock: u32) -> bool {
        self.cells.contains_key(&lock)
    }

    /// The cells of a shared lock.
    pub(super) fn cells(
        &self,
        lock: u32,
    ) -> Option<&[(&'a ProcessRecord, &'a ThreadRecord, CellAt)]> {
        self.cells.get(&lock).map(Vec::as_slice)
    }

    /// Whether threads may use this lock that are not known to.
    pub(super) fn is_apart(&self, lock: &LockRecord) -> bool {
        match lock.sharing {
            sharing::JOINED_IN_PART | sharing::PRIVATE_IN_PART => true,
            sharing::PRIVATE | sharing::SUMMED => false,
            _ => self.apart.contains(&lock.kind),
        }
    }

    /// The process whose thread had the stack of a hold or wakeup, if that is known.
    pub(super) fn pid(&self, stack: u32) -> Option<u32> {
        self.home(stack).filter(|_| !self.is_from_kernel).map(|home| home.pid)
    }

    /// The image that a stack is of.
    pub(super) fn home(&self, stack: u32) -> Option<&'a ProcessRecord> {
        self.homes.get(&stack).copied()
    }
}
