//! The tables that the programs in the kernel fill, and the places in their keys and values.
//!
//! # Contract
//! [`Tables::new`] makes them: 29 MiB in the kernel. The modules say what is where.

use super::STACK_VALUE;
use crate::words;
use std::collections::BTreeMap;
use std::io;
use uncontended_sys::bpf::{Kind, Map};

/// Places in an entry of `threads`.
pub(crate) mod wait {
    pub(crate) const ADDRESS: i16 = 0;
    /// When the call began; 0 if the thread is in none.
    pub(crate) const SINCE: i16 = 8;
    /// The second argument; of `futex_waitv`, the first.
    pub(crate) const OPERATION: i16 = 16;
    /// When it was woken; 0 if it was not.
    pub(crate) const WOKEN: i16 = 24;
    /// The waker's stack.
    pub(crate) const WAKER: i16 = 32;
    /// What the word was expected to hold, in 32 bits.
    pub(crate) const VALUE: i16 = 40;
    /// The thread's process, in 32 bits.
    pub(crate) const PROCESS: i16 = 44;
    /// Pairs of the time until which an earlier waker was to blame (0: none) and its stack, the newest first.
    pub(crate) const EARLIER: i16 = 48;
    /// How many there are.
    pub(crate) const EARLIER_WAKERS: i16 = 3;
    /// The wait that a signal has interrupted, not counted yet: when (0: none), how long it was, and its key of `sums`.
    pub(crate) const INTERRUPTED_AT: i16 = EARLIER + 16 * EARLIER_WAKERS;
    pub(crate) const INTERRUPTED_FOR: i16 = INTERRUPTED_AT + 8;
    pub(crate) const INTERRUPTED_KEY: i16 = INTERRUPTED_AT + 16;
    /// 1 if the thread ended in the wait.
    pub(crate) const DIED: i16 = INTERRUPTED_KEY + super::key::BYTES as i16;
    pub(crate) const BYTES: usize = DIED as usize + 8;
}

/// Places in a key of `sums`.
pub(crate) mod key {
    pub(crate) const ADDRESS: i16 = 0;
    pub(crate) const WAITER: i16 = 8;
    pub(crate) const WAKER: i16 = 16;
    pub(crate) const THREAD: i16 = 24;
    /// The octave and quarter of the length, and one of [`OTHERWISE`], [`CHAIN`] and [`CHAINED`], and [`SHARED`].
    pub(crate) const HOW: i16 = 28;
    /// In 64 bits, the upper half zero.
    pub(crate) const PROCESS: i16 = 32;
    pub(crate) const BYTES: usize = 40;
}

/// In [`key::HOW`]: the wait timed out or was interrupted.
pub(crate) const OTHERWISE: u32 = 1 << 16;
/// In [`key::HOW`], besides [`OTHERWISE`]: it was interrupted.
pub(crate) const INTERRUPTED: u32 = 1 << 19;
/// In [`key::HOW`]: the wait is divided among a chain of wakers, of which this is the last.
pub(crate) const CHAIN: u32 = 1 << 17;
/// In [`key::HOW`]: a part of a wait that is counted elsewhere, by the code of one waker of a chain.
pub(crate) const CHAINED: u32 = 1 << 18;
/// In [`key::HOW`]: threads of other processes may wait for the word, and wake.
pub(crate) const SHARED: u32 = 1 << 20;
/// In place of a waker's stack: a thread of a process that is not watched.
pub(crate) const ANOTHER_PROCESS: u64 = 1;
/// In place of a waker's stack: the end of the thread for which the call waited.
pub(crate) const JOINED: u64 = 2;
/// In [`wait::OPERATION`]: only threads of one process use the word.
pub(crate) const PRIVATE: i32 = 0x80;
/// Numbers of stacks begin here.
pub(crate) const FIRST_STACK: u64 = 16;

/// Places in a value of `sums`.
pub(crate) mod sum {
    pub(crate) const COUNT: i16 = 0;
    pub(crate) const TOTAL: i16 = 8;
    pub(crate) const LONGEST: i16 = 16;
    /// When the longest ended.
    pub(crate) const LONGEST_AT: i16 = 24;
    /// From the wakeups to the returns.
    pub(crate) const NOT_SCHEDULED: i16 = 32;
    pub(crate) const BYTES: usize = 40;
}

/// Places in `counters`.
pub(crate) mod counter {
    /// Waits that found no room in `sums`, and their time.
    pub(crate) const WAITS: i16 = 0;
    pub(crate) const WAITED: i16 = 8;
    /// Stacks that found no room.
    pub(crate) const STACKS: i16 = 16;
    /// Waits of threads that found no room.
    pub(crate) const THREADS: i16 = 24;
    /// Forked processes that are watched, and those that found no room.
    pub(crate) const FORKED: i16 = 32;
    pub(crate) const PROCESSES: i16 = 40;
    pub(crate) const BYTES: usize = 48;
}

/// Places in an entry of `processes`.
pub(crate) mod process {
    /// In 32 bits: [`WATCHED`] or one of the others.
    pub(crate) const STATE: i16 = 0;
    /// In 32 bits: the process that forked it; 0 if it ran already.
    pub(crate) const PARENT: i16 = 4;
    /// When it was forked.
    pub(crate) const BEGAN: i16 = 8;
    /// When it ended; 0 if it has not.
    pub(crate) const ENDED: i16 = 16;
    /// Whether one of its futex calls has returned, or it has ended a wait: 0 or 1.
    pub(crate) const CALLED: i16 = 24;
    /// Whether the programs that it executes are watched, too: 0 or 1, in 64 bits.
    pub(crate) const FOLLOWS: i16 = 32;
    pub(crate) const BYTES: usize = 40;
    /// States.
    pub(crate) const WATCHED: u32 = 1;
    pub(crate) const EXECUTED: u32 = 2;
    pub(crate) const GONE: u32 = 3;
    /// It has executed another program, which is watched once we look at it.
    pub(crate) const FOLLOWED: u32 = 4;
    /// It was forked by such a one, and is watched once we look at it.
    pub(crate) const UNMET: u32 = 5;
}

/// Places in an entry of `lives`.
pub(crate) mod life {
    /// When the thread was created, or met when watching began.
    pub(crate) const BORN: i16 = 0;
    /// When it ended; 0 if it has not.
    pub(crate) const ENDED: i16 = 8;
    /// Its process, in 64 bits.
    pub(crate) const PROCESS: i16 = 16;
    pub(crate) const BYTES: usize = 24;
}

/// The tables that the programs share with us.
#[derive(Debug)]
pub(crate) struct Tables {
    /// The processes that are or were watched.
    pub(crate) processes: Map,
    /// Where the code of each is: start and length of its program, and of all its libraries.
    pub(crate) ranges: Map,
    pub(crate) counters: Map,
    pub(crate) threads: Map,
    /// When each thread of the processes was born and ended.
    pub(super) lives: Map,
    /// Not 0: nothing is counted any more.
    pub(super) stopped: Map,
    pub(crate) sums: Map,
    /// The numbers of stacks that were met.
    pub(super) numbers: Map,
    /// Copies of stacks that are new. Each is removed when it is read.
    pub(crate) stacks: Map,
    pub(super) scratch: Map,
}

/// Threads that wait.
const THREADS: u32 = 16 << 10;
/// Waits that differ in thread, address, stacks or length.
const SUMS: u32 = 64 << 10;
/// Threads that live, or lived meanwhile.
const LIVES: u32 = 64 << 10;
/// Stacks.
const NUMBERS: u32 = 32 << 10;
/// Stacks that are new between two looks.
const STACKS: u32 = 1 << 10;
/// Processes: those that were attached to, and those that they fork.
const PROCESSES: u32 = 1024;

impl Tables {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Tables {
            processes: Map::new(Kind::Hash, 4, process::BYTES, PROCESSES)?,
            ranges: Map::new(Kind::Hash, 4, 32, PROCESSES)?,
            counters: Map::new(Kind::Array, 4, counter::BYTES, 1)?,
            threads: Map::new(Kind::Hash, 4, wait::BYTES, THREADS)?,
            lives: Map::new(Kind::Hash, 4, life::BYTES, LIVES)?,
            stopped: Map::new(Kind::Array, 4, 8, 1)?,
            sums: Map::new(Kind::Hash, key::BYTES, sum::BYTES, SUMS)?,
            numbers: Map::new(Kind::Hash, 8, 8, NUMBERS)?,
            stacks: Map::new(Kind::Hash, 8, STACK_VALUE, STACKS)?,
            scratch: Map::new(Kind::ArrayOfCpu, 4, STACK_VALUE, 1)?,
        })
    }

    /// Watches a process that runs already, and that `parent` forked (0: not a watched one).
    pub(crate) fn watch(&self, pid: u32, parent: u32, began_ns: u64, follows: bool) {
        self.note(pid, process::WATCHED, parent, began_ns, follows);
    }

    /// Notes the processes that `pid` forks, to be watched once they are looked at. They do not count as forked.
    pub(crate) fn expect_forks(&self, pid: u32) {
        self.note(pid, process::UNMET, 0, 0, true);
    }

    fn note(&self, pid: u32, state: u32, parent: u32, began_ns: u64, follows: bool) {
        let mut value = [0; process::BYTES];
        value[process::STATE as usize] = state as u8;
        value[process::FOLLOWS as usize] = follows.into();
        value[process::PARENT as usize..][..4].copy_from_slice(&parent.to_le_bytes());
        value[process::BEGAN as usize..][..8].copy_from_slice(&began_ns.to_le_bytes());
        self.processes.set(&pid.to_le_bytes(), &value, false);
    }

    /// Whether a process is watched, and has not executed another program.
    pub(crate) fn is_watched(&self, pid: u32) -> bool {
        let state = self.processes.get(&pid.to_le_bytes());
        let state =
            state.map(|value| words::half_at(&value, usize::from(process::STATE.unsigned_abs())));
        state == Some(process::WATCHED)
    }

    /// Stops all counting, at once.
    pub(crate) fn stop(&self) {
        self.stopped.set(&[0; 4], &1u64.to_le_bytes(), false);
    }

    /// Notes that the thread `tid` of `pid` lived at `now_ns`, unless it is noted already.
    pub(crate) fn meet(&self, pid: u32, tid: u32, now_ns: u64) {
        self.lives.set(&tid.to_le_bytes(), &lived(pid, [now_ns, 0]), true);
    }

    /// Notes that the thread `tid` of `pid`, met at `now_ns`, has ended then.
    pub(crate) fn miss(&self, pid: u32, tid: u32, now_ns: u64) {
        self.lives.set(&tid.to_le_bytes(), &lived(pid, [now_ns, now_ns]), false);
    }

    /// When each thread was born and, if it has, when it ended (else 0), by process and thread.
    pub(crate) fn lives(&self) -> BTreeMap<u32, BTreeMap<u32, [u64; 2]>> {
        let mut lives: BTreeMap<u32, BTreeMap<u32, [u64; 2]>> = BTreeMap::new();
        for key in self.lives.keys() {
            let Some(value) = self.lives.get(&key) else { continue };
            let of = |place: i16| words::at(&value, usize::from(place.unsigned_abs()));
            let of_process = lives.entry(of(life::PROCESS) as u32).or_default();
            of_process.insert(words::half_at(&key, 0), [of(life::BORN), of(life::ENDED)]);
        }
        lives
    }

    /// Says where the code of a process is.
    pub(crate) fn tell_ranges(&self, pid: u32, ranges: [u64; 4]) {
        let ranges: Vec<u8> = ranges.into_iter().flat_map(u64::to_le_bytes).collect();
        self.ranges.set(&pid.to_le_bytes(), &ranges, false);
    }

    /// Removes what was counted of a process.
    pub(crate) fn clear(&self, pid: u32) {
        let process = usize::from(key::PROCESS.unsigned_abs());
        for key in self.sums.keys().iter().filter(|key| words::at(key, process) == u64::from(pid)) {
            self.sums.remove(key);
        }
        for (key, value) in entries(&self.threads) {
            let place = |place: i16| usize::from(place.unsigned_abs());
            let has_died = words::at(&value, place(wait::DIED)) != 0;
            if has_died && words::half_at(&value, place(wait::PROCESS)) == pid {
                self.threads.remove(&key);
            }
        }
    }

    /// Removes the lives of the threads of a process that has executed another program, and gives them: they ended when
    /// it did so, which its first thread's life says, or at `now_ns`.
    pub(crate) fn end_lives(&self, pid: u32, now_ns: u64) -> BTreeMap<u32, [u64; 2]> {
        let mut lives = self.lives().remove(&pid).unwrap_or_default();
        let executed_ns = lives.get(&pid).map(|life| life[1]).filter(|&ended| ended != 0);
        for (tid, life) in &mut lives {
            self.lives.remove(&tid.to_le_bytes());
            if life[1] == 0 {
                life[1] = executed_ns.unwrap_or(now_ns);
            }
        }
        lives
    }

    /// Forgets a process that has ended.
    pub(crate) fn forget(&self, pid: u32) {
        self.ranges.remove(&pid.to_le_bytes());
        self.processes.remove(&pid.to_le_bytes());
        self.lives.remove(&pid.to_le_bytes());
    }

    /// The processes that are or were watched, parents before their children.
    pub(crate) fn processes(&self) -> Vec<State> {
        let of_another = [process::EXECUTED, process::FOLLOWED, process::UNMET];
        let state = |key: Vec<u8>| {
            let value = self.processes.get(&key)?;
            let of = |place: i16| words::at(&value, usize::from(place.unsigned_abs()));
            let half = |place: i16| words::half_at(&value, usize::from(place.unsigned_abs()));
            Some(State {
                pid: words::half_at(&key, 0),
                parent: half(process::PARENT),
                began_ns: of(process::BEGAN),
                ended_ns: of(process::ENDED),
                has_executed: of_another.contains(&half(process::STATE)),
                is_unmet: half(process::STATE) == process::UNMET,
                has_called: of(process::CALLED) != 0,
            })
        };
        let mut all: Vec<State> = self.processes.keys().into_iter().filter_map(state).collect();
        all.sort_by_key(|state| state.began_ns);
        all
    }
}

/// The entries of a table.
pub(crate) fn entries(map: &Map) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    map.keys().into_iter().filter_map(|key| map.get(&key).map(|value| (key, value)))
}

/// An entry of `lives`.
fn lived(pid: u32, [born, ended]: [u64; 2]) -> Vec<u8> {
    [born, ended, u64::from(pid)].into_iter().flat_map(u64::to_le_bytes).collect()
}

/// What became of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) pid: u32,
    /// The process that forked it; 0 if it ran already.
    pub(crate) parent: u32,
    /// When watching of it, or of the program that it executed, began.
    pub(crate) began_ns: u64,
    /// When it ended; 0 if it has not.
    pub(crate) ended_ns: u64,
    /// Or a process that forked it had; it is not watched as it is.
    pub(crate) has_executed: bool,
    /// Only the latter.
    pub(crate) is_unmet: bool,
    /// Whether one of its futex calls has returned, or it has ended a wait.
    pub(crate) has_called: bool,
}
