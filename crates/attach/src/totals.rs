//! All futex waiting of the programs that this process starts: how long, of which threads, and in which code.
//!
//! # Contract
//! [`Totals::new`] arms programs in the kernel. Processes that this one forks from then on are counted, and those that
//! they fork. Each wait is from the entry into the system call to its return, or to the end of its thread. A call chain
//! has the innermost [`FRAMES`] calls, by frame pointers: where a program keeps none, it ends early. The kernel sums:
//! a switch of threads costs nothing, as it would with events of each thread.
//! # State
//! `members`: the processes that are counted ([`COUNTED`]), and this one ([`FORKS`]), by number. `threads`: the wait
//! in progress and the sums of each thread. `sums`: waits by process and call chain. `lost`: what found no room.
//! # Invariants
//! I1: only its own thread writes an entry of `threads`; an entry of `sums` is added to in one step. So none is lost.
//! # Sources
//! futex(2), for which operations wait. `futex_waitv` came with Linux 5.16, `futex_wait` with 6.7; each call of them
//! waits. `bpf_get_stack` in bpf-helpers(7).

use crate::CALLS;
use crate::cannot::{self, Cannot};
use crate::programs::{Call, end, entries, function, look_up, waits};
use crate::{arm, words};
use uncontended_sys::bpf::{
    Assembler, Attached, Condition::*, Kind, Map, Operation::*, Register::*, Width::*,
};
use uncontended_sys::tracefs::Tracefs;

/// Calls of a chain.
pub const FRAMES: usize = 24;

/// In `members`: the waits of its threads are counted.
const COUNTED: i32 = 1;
/// In `members`: what it forks is counted, and it itself is not.
const FORKS: i32 = 2;

const MOST_PROCESSES: u32 = 4096;
const MOST_THREADS: u32 = 16 << 10;
const MOST_CHAINS: u32 = 4096;

/// Places in an entry of `threads`.
mod thread {
    /// When the wait in progress began; 0 if there is none.
    pub(super) const SINCE: i16 = 0;
    pub(super) const TOTAL: i16 = 8;
    pub(super) const WAITS: i16 = 16;
    /// The key of `sums` of the wait in progress: the process, and the call chain.
    pub(super) const KEY: i16 = 24;
    pub(super) const CHAIN: i16 = KEY + 8;
    pub(super) const BYTES: usize = CHAIN as usize + super::CHAIN_BYTES;
}

const CHAIN_BYTES: usize = 8 * FRAMES;
const KEY_BYTES: usize = 8 + CHAIN_BYTES;

/// Places on a program's own stack.
mod own {
    /// The current thread's number, and its process's: the key of `threads`.
    pub(super) const THREAD: i16 = -8;
    pub(super) const PROCESS: i16 = -4;
    /// Another process.
    pub(super) const OTHER: i16 = -16;
    /// A value.
    pub(super) const VALUE: i16 = OTHER - super::thread::BYTES as i16;
}

/// The futex waits of one process's threads in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteTotal {
    /// Their time.
    pub total_ns: u64,
    /// The process.
    pub pid: u32,
    /// The calls, the innermost first; empty if no more chains are kept.
    pub chain: Vec<u64>,
    /// How many they are.
    pub waits: u64,
}

/// The futex waits of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadTotal {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// How many they are.
    pub waits: u64,
    /// Their time.
    pub total_ns: u64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    /// By thread.
    pub threads: Vec<ThreadTotal>,
    /// By call chain, the most waiting first.
    pub sites: Vec<SiteTotal>,
    /// Threads and processes that found no room, and futex calls, of any process, at which the kernel left the
    /// programs out.
    pub lost: u64,
}

#[derive(Debug)]
struct Tables {
    members: Map,
    threads: Map,
    sums: Map,
    lost: Map,
}

/// Programs in the kernel that count futex waits.
#[derive(Debug)]
pub struct Totals {
    tables: Tables,
    /// Whether a wait is missing where one is left out, and the programs.
    running: Vec<(bool, Attached)>,
}

impl Totals {
    /// Arms the programs.
    ///
    /// # Errors
    /// Missing permission, or a kernel that lacks what is needed.
    pub fn new() -> Result<Self, Cannot> {
        cannot::check_namespace()?;
        let map = |kind, key, value, most| {
            Map::new(kind, key, value, most).map_err(|error| Cannot::from_error(&error))
        };
        let tables = Tables {
            members: map(Kind::Hash, 4, 8, MOST_PROCESSES)?,
            threads: map(Kind::Hash, 8, thread::BYTES, MOST_THREADS)?,
            sums: map(Kind::Hash, KEY_BYTES, 16, MOST_CHAINS)?,
            lost: map(Kind::Array, 4, 8, 1)?,
        };
        let events = Tracefs::open().map_err(|error| Cannot::from_tracing(&error))?;
        let offset = |tracepoint, field| {
            events.offset(tracepoint, field).map_err(|error| Cannot::from_tracing(&error))
        };
        let (forked, freed) = ("task/task_newtask", "sched/sched_process_free");
        let child = [offset(forked, "pid")?, offset(forked, "clone_flags")?];
        let mut running = vec![
            (false, arm(&events, freed, tables.freed(offset(freed, "pid")?))?),
            (false, arm(&events, "sched/sched_process_exit", tables.ended())?),
            (false, arm(&events, forked, tables.forked(child))?),
        ];
        for (name, call) in CALLS {
            let point = |end: &str| format!("syscalls/sys_{end}_{name}");
            if call != Call::Futex && events.event_id(&point("enter")).is_err() {
                continue; // An older kernel does not have it.
            }
            running.push((true, arm(&events, &point("exit"), tables.ended())?));
            running.push((true, arm(&events, &point("enter"), tables.began(call))?));
        }
        let own = std::process::id().to_le_bytes();
        tables.members.set(&own, &u64::from(FORKS.unsigned_abs()).to_le_bytes(), false);
        Ok(Totals { tables, running })
    }

    /// The processes that are counted and have not ended.
    pub fn processes(&self) -> Vec<u32> {
        let counted = u64::from(COUNTED.unsigned_abs());
        let all = entries(&self.tables.members).filter(|(_, value)| words::at(value, 0) == counted);
        all.map(|(key, _)| words::half_at(&key, 0)).collect()
    }

    /// Forgets all waits, also those in progress.
    pub fn forget(&self) {
        for map in [&self.tables.threads, &self.tables.sums] {
            map.keys().iter().for_each(|key| map.remove(key));
        }
    }

    /// All waits, those in progress up to `now_ns` (CLOCK_MONOTONIC).
    pub fn until(&self, now_ns: u64) -> Counted {
        let mut threads = Vec::new();
        let mut sites: Vec<SiteTotal> = Vec::new();
        for (key, value) in entries(&self.tables.threads) {
            let of = |place: i16| words::at(&value, usize::from(place.unsigned_abs()));
            let (pid, tid) = (words::half_at(&key, 4), words::half_at(&key, 0));
            let (mut waits, mut total_ns) = (of(thread::WAITS), of(thread::TOTAL));
            if of(thread::SINCE) != 0 {
                let length = now_ns.saturating_sub(of(thread::SINCE));
                (waits, total_ns) = (waits + 1, total_ns.saturating_add(length));
                sites.push(site(&value[usize::from(thread::KEY.unsigned_abs())..], 1, length));
            }
            threads.push(ThreadTotal { pid, tid, waits, total_ns });
        }
        for (key, value) in entries(&self.tables.sums) {
            sites.push(site(&key, words::at(&value, 0), words::at(&value, 8)));
        }
        threads.sort_unstable();
        Counted { threads, sites: merged(sites), lost: self.lost() }
    }

    fn lost(&self) -> u64 {
        let missed = self.running.iter().filter(|one| one.0).map(|one| one.1.counts().missed);
        let without_room = self.tables.lost.get(&[0; 4]).unwrap_or_default();
        missed.sum::<u64>().saturating_add(words::at(&without_room, 0))
    }

    /// Ends the counting, without waiting for the kernel.
    pub fn close(self) {
        Attached::close_aside(self.running.into_iter().map(|(_, attached)| attached).collect());
    }
}

/// Waits with this key of `sums`.
fn site(key: &[u8], waits: u64, total_ns: u64) -> SiteTotal {
    let chain = (0..FRAMES).map(|nth| words::at(key, 8 + 8 * nth));
    let chain = chain.take_while(|&address| address != 0).collect();
    SiteTotal { total_ns, pid: words::half_at(key, 0), chain, waits }
}

/// One of each process and chain, the most waiting first.
fn merged(mut sites: Vec<SiteTotal>) -> Vec<SiteTotal> {
    sites.sort_unstable_by(|a, b| (a.pid, &a.chain).cmp(&(b.pid, &b.chain)));
    sites.dedup_by(|next, kept| {
        let is_same = (next.pid, &next.chain) == (kept.pid, &kept.chain);
        if is_same {
            kept.waits = kept.waits.saturating_add(next.waits);
            kept.total_ns = kept.total_ns.saturating_add(next.total_ns);
        }
        is_same
    });
    sites.sort_by_key(|site| std::cmp::Reverse(site.total_ns));
    sites
}

/// What runs in the kernel.
impl Tables {
    /// At the entry into `call`.
    fn began(&self, call: Call) -> Assembler {
        let mut code = Assembler::default();
        let (out, new, made, full) = (code.label(), code.label(), code.label(), code.label());
        code.copy(R6, R1);
        if call == Call::Futex {
            waits(&mut code, out);
        }
        identify(&mut code);
        look_up(&mut code, &self.members, own::PROCESS, out);
        code.load(Double, R1, R0, 0);
        code.jump_if_with(NotEqual, R1, COUNTED, out);
        look_up(&mut code, &self.threads, own::THREAD, new);
        code.jump(made);
        code.place(new);
        zero(&mut code, FP, own::VALUE, thread::BYTES);
        code.load(Word, R1, FP, own::PROCESS);
        code.store(Double, FP, own::VALUE + thread::KEY, R1);
        set(&mut code, &self.threads, own::THREAD);
        look_up(&mut code, &self.threads, own::THREAD, full);
        code.place(made);
        code.copy(R7, R0);
        // The kernel writes as many calls as there are.
        zero(&mut code, R7, thread::CHAIN, CHAIN_BYTES);
        code.copy(R1, R6);
        code.copy(R2, R7);
        code.compute_with(Add, R2, i32::from(thread::CHAIN));
        code.set(R3, CHAIN_BYTES as i32);
        code.set(R4, function::USER);
        code.call(function::STACK);
        code.call(function::TIME);
        code.store(Double, R7, thread::SINCE, R0);
        code.jump(out);
        code.place(full);
        self.lose(&mut code);
        end(&mut code, out);
        code
    }

    /// At the return from a call, or the end of a thread.
    fn ended(&self) -> Assembler {
        let mut code = Assembler::default();
        let (out, new, known) = (code.label(), code.label(), code.label());
        identify(&mut code);
        look_up(&mut code, &self.threads, own::THREAD, out);
        code.copy(R7, R0);
        code.load(Double, R8, R7, thread::SINCE);
        code.jump_if_with(Equal, R8, 0, out);
        code.call(function::TIME);
        code.copy(R9, R0);
        code.compute(Subtract, R9, R8);
        code.store_constant(Double, R7, thread::SINCE, 0);
        code.load(Double, R1, R7, thread::TOTAL);
        code.compute(Add, R1, R9);
        code.store(Double, R7, thread::TOTAL, R1);
        code.load(Double, R1, R7, thread::WAITS);
        code.compute_with(Add, R1, 1);
        code.store(Double, R7, thread::WAITS, R1);
        self.look_up_sum(&mut code, new);
        code.jump(known);
        code.place(new);
        zero(&mut code, FP, own::VALUE, 16);
        code.map(R1, &self.sums);
        code.copy(R2, R7);
        code.compute_with(Add, R2, i32::from(thread::KEY));
        value(&mut code);
        code.set(R4, 1);
        code.call(function::UPDATE);
        // Without room, the thread's own sums have it.
        self.look_up_sum(&mut code, out);
        code.place(known);
        code.set(R1, 1);
        code.add_to_shared(R0, 0, R1);
        code.add_to_shared(R0, 8, R9);
        end(&mut code, out);
        code
    }

    /// `R0` = the sum for the wait of the thread's entry at `R7`; jumps to `none` without one.
    fn look_up_sum(&self, code: &mut Assembler, none: uncontended_sys::bpf::Label) {
        code.map(R1, &self.sums);
        code.copy(R2, R7);
        code.compute_with(Add, R2, i32::from(thread::KEY));
        code.call(function::LOOK_UP);
        code.jump_if_with(Equal, R0, 0, none);
    }

    /// At `task_newtask`, in the parent, whose event has the number of the new task and the flags of `clone` at
    /// `offsets`.
    fn forked(&self, [pid, flags]: [i16; 2]) -> Assembler {
        const THREAD: i32 = 0x10000;
        let mut code = Assembler::default();
        let out = code.label();
        code.load(Word, R6, R1, pid);
        code.load(Double, R7, R1, flags);
        code.compute_with(And, R7, THREAD);
        code.jump_if_with(NotEqual, R7, 0, out);
        identify(&mut code);
        look_up(&mut code, &self.members, own::PROCESS, out);
        code.store(Word, FP, own::OTHER, R6);
        code.store_constant(Double, FP, own::VALUE, COUNTED);
        set(&mut code, &self.members, own::OTHER);
        code.jump_if_with(Equal, R0, 0, out);
        self.lose(&mut code);
        end(&mut code, out);
        code
    }

    /// At `sched_process_free`, whose event has the number of a thread that is gone at `offset`: a process goes with
    /// its first thread, last of all, and another one may get its number.
    fn freed(&self, offset: i16) -> Assembler {
        let mut code = Assembler::default();
        let out = code.label();
        code.load(Word, R2, R1, offset);
        code.store(Word, FP, own::OTHER, R2);
        code.map(R1, &self.members);
        code.copy(R2, FP);
        code.compute_with(Add, R2, i32::from(own::OTHER));
        code.call(function::REMOVE);
        end(&mut code, out);
        code
    }

    /// Counts what found no room.
    fn lose(&self, code: &mut Assembler) {
        let none = code.label();
        code.store_constant(Word, FP, own::OTHER, 0);
        look_up(code, &self.lost, own::OTHER, none);
        code.set(R1, 1);
        code.add_to_shared(R0, 0, R1);
        code.place(none);
    }
}

/// Stores the current thread's number and its process's.
fn identify(code: &mut Assembler) {
    code.call(function::PROCESS_AND_THREAD);
    code.store(Double, FP, own::THREAD, R0);
}

/// Sets `bytes` to zero.
fn zero(code: &mut Assembler, base: uncontended_sys::bpf::Register, place: i16, bytes: usize) {
    for word in 0..bytes / 8 {
        code.store_constant(Double, base, place + 8 * word as i16, 0);
    }
}

/// `R3` = the address of [`own::VALUE`].
fn value(code: &mut Assembler) {
    code.copy(R3, FP);
    code.compute_with(Add, R3, i32::from(own::VALUE));
}

/// Sets the value of the key at `place` to [`own::VALUE`]; `R0` = 0 if there was room.
fn set(code: &mut Assembler, map: &Map, place: i16) {
    code.map(R1, map);
    code.copy(R2, FP);
    code.compute_with(Add, R2, i32::from(place));
    value(code);
    code.set(R4, 0);
    code.call(function::UPDATE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_one_place_are_one_site() {
        let of = |pid: u64, chain: &[u64], waits, total_ns| {
            let words = [&[pid][..], chain, &[0; FRAMES]].concat();
            let key: Vec<u8> =
                words[..=FRAMES].iter().flat_map(|word| word.to_le_bytes()).collect();
            site(&key, waits, total_ns)
        };
        let sites =
            merged(vec![of(7, &[1, 2], 3, 30), of(8, &[1, 2], 1, 100), of(7, &[1, 2], 1, 5)]);
        let total = |pid, waits, total_ns| SiteTotal { pid, chain: vec![1, 2], waits, total_ns };
        assert_eq!(sites, [total(8, 1, 100), total(7, 4, 35)]);
    }
}
