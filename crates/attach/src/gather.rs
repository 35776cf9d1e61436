//! What the kernel has summed, as a part of a record.
//!
//! # Contract
//! Each entry of the sums is in one cell: that of its thread and lock, which is an address or, where processes share
//! memory, a place ([`joint`]). (A join has no cell: its time is the
//! thread's.) Its time is divided twice: by the waiter's stack, and by the waker's if a wakeup ended it, or by those of
//! a chain of wakers. [`sites`] says how many stacks of a cell stay apart.

mod elsewhere;
mod joint;
mod lives;
mod sites;

use crate::conditions::Conditions;
use crate::process::Process;
use crate::programs::{
    ANOTHER_PROCESS, CHAIN, CHAINED, FIRST_STACK, JOINED, OTHERWISE, PRIVATE, SHARED, Tables,
    counter, entries, key, sum, wait,
};
use crate::seed::{self, Call};
use crate::shared::Shared;
use crate::{Attach, Forked, Losses, words};
use elsewhere::{Elsewhere, Stacks};
use joint::Joint;
use lives::Lives;
use sites::{Summed, WAITERS, WAKERS, add, limited};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use uncontended_trace::compose::Composed;
use uncontended_trace::histogram::FINE;
use uncontended_trace::layout::{self, Unit, WAITED, WAKE};
use uncontended_trace::reader::{
    CausedRecord, CellRecord, ExtremeRecord, ProcessRecord, ThreadRecord, WantsRecord,
};

/// What was seen of the processes that were named.
#[derive(Debug)]
pub struct Seen {
    /// They, and those that they forked of which there is something to tell, for a record.
    pub composed: Vec<Composed>,
    /// The processes that they forked.
    pub forked: Forked,
    /// What was lost.
    pub losses: Losses,
    /// Waiting that is summed by the innermost functions, since its code has too many callers.
    pub summed_ns: u64,
    /// Waiting without code, since there are too many such functions.
    pub rest_ns: u64,
    /// Waits that a thread of a process which is not watched ended.
    pub woken_by_others: u64,
    /// When watching began, on CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Those of the named processes that executed another program, up to which they were watched.
    pub executed: Vec<u32>,
    /// Programs that processes executed, and that were watched from then on.
    pub followed: u64,
    /// How long one of these ran before it was watched, at most.
    pub late_ns: u64,
}

/// An entry of the sums.
#[derive(Debug, Clone, Copy)]
struct Sum {
    process: u32,
    address: u64,
    thread: u32,
    waiter: u64,
    waker: u64,
    is_woken: bool,
    /// Whether threads of other processes may wait for the word.
    is_shared: bool,
    /// [`WAKE`], [`layout::CHAIN`] or, for a part of a wait that is counted elsewhere, [`layout::CHAINED`].
    mark: u32,
    count: u64,
    total: u64,
    longest: u64,
    longest_at: u64,
    not_scheduled: u64,
}

impl Sum {
    fn new(key: &[u8], value: &[u8]) -> Self {
        let of_key = |place: i16| words::at(key, usize::from(place.unsigned_abs()));
        let of_value = |place: i16| words::at(value, usize::from(place.unsigned_abs()));
        let half = |place: i16| words::half_at(key, usize::from(place.unsigned_abs()));
        Sum {
            process: of_key(key::PROCESS) as u32,
            address: of_key(key::ADDRESS),
            thread: half(key::THREAD),
            waiter: of_key(key::WAITER),
            waker: of_key(key::WAKER),
            is_woken: half(key::HOW) & OTHERWISE == 0,
            is_shared: half(key::HOW) & SHARED != 0,
            mark: match half(key::HOW) {
                how if how & CHAINED != 0 => layout::CHAINED,
                how if how & CHAIN != 0 => layout::CHAIN,
                _ => WAKE,
            },
            count: of_value(sum::COUNT),
            total: of_value(sum::TOTAL),
            longest: of_value(sum::LONGEST),
            longest_at: of_value(sum::LONGEST_AT),
            not_scheduled: of_value(sum::NOT_SCHEDULED),
        }
    }

    /// The wait that a signal has interrupted, in an entry of a thread, if it has not been counted yet.
    fn interrupted(entry: &[u8]) -> Option<Self> {
        let at = |place: i16| usize::from(place.unsigned_abs());
        let of = |place: i16| words::at(entry, at(place));
        let (ended, length) = (of(wait::INTERRUPTED_AT), of(wait::INTERRUPTED_FOR));
        let key = &entry[at(wait::INTERRUPTED_KEY)..at(wait::DIED)];
        let value = [1, length, length, ended, 0].map(u64::to_le_bytes).concat();
        (ended != 0 && of(wait::DIED) == 0).then(|| Sum::new(key, &value))
    }

    /// Its waiting, for an entry of a cell.
    fn caused(&self) -> CausedRecord {
        CausedRecord {
            wait: self.total,
            waits: self.count,
            longest: self.longest,
            ..CausedRecord::default()
        }
    }
}

/// A wait that is in progress, or that ended with its thread.
struct Waiting {
    process: u32,
    address: u64,
    thread: u32,
    since: u64,
    operation: u64,
    /// The thread for whose end it is; 0 if it is for something else.
    joined: u32,
    /// The number of the stack of a thread that has ended; none if it lives.
    died_at: Option<u64>,
    /// Whether threads of other processes may wait for the word.
    is_shared: bool,
    /// The call chain of its thread.
    chain: Vec<u64>,
}

impl Waiting {
    fn new(key: &[u8], value: &[u8]) -> Self {
        let of = |place: i16| words::at(value, usize::from(place.unsigned_abs()));
        let is_private = of(wait::OPERATION) & PRIVATE as u64 != 0;
        let half = |place: i16| words::half_at(value, usize::from(place.unsigned_abs()));
        Waiting {
            process: half(wait::PROCESS),
            address: of(wait::ADDRESS),
            thread: words::half_at(key, 0),
            since: of(wait::SINCE),
            operation: of(wait::OPERATION),
            joined: if is_private { 0 } else { half(wait::VALUE) },
            is_shared: !is_private,
            died_at: (of(wait::DIED) != 0).then(|| of(wait::INTERRUPTED_KEY + key::WAITER)),
            chain: Vec::new(),
        }
    }
}

/// A program that a process ran before it executed another one.
pub(crate) struct Image(Composed, Summed);

/// What was seen of the program that `process` ran besides `others`, if there was some waiting or more than one thread.
/// `lives` are those of its threads, which have ended.
pub(crate) fn image(
    tables: &Tables,
    process: &mut Process,
    lives: BTreeMap<u32, [u64; 2]>,
    others: &BTreeMap<u32, Process>,
) -> Option<Image> {
    let mut sums = sums(tables);
    let stacks = elsewhere::stacks(others, &sums);
    let (sums, waiting) = (sums.remove(&process.pid), waiting(tables).remove(&process.pid));
    if sums.is_none() && waiting.is_none() && lives.len() < 2 {
        return None;
    }
    let (sums, waiting) = (sums.unwrap_or_default(), waiting.unwrap_or_default());
    // It is over before the other processes are: its locks stay its own.
    process.modules.shared = Shared::default();
    let (composed, summed) =
        of_process(process, (sums, waiting, lives), &stacks, &mut Joint::default());
    Some(Image(composed, summed))
}

/// The sums, by process.
fn sums(tables: &Tables) -> BTreeMap<u32, Vec<Sum>> {
    let sums = entries(&tables.sums).map(|(key, value)| Sum::new(&key, &value));
    let interrupted = entries(&tables.threads).filter_map(|(_, value)| Sum::interrupted(&value));
    let mut all: BTreeMap<u32, Vec<Sum>> = BTreeMap::new();
    for sum in sums.chain(interrupted).filter(|sum| sum.count > 0) {
        all.entry(sum.process).or_default().push(sum);
    }
    all
}

/// The waits that are in progress or ended with their threads, by process.
fn waiting(tables: &Tables) -> BTreeMap<u32, Vec<Waiting>> {
    let all = entries(&tables.threads).map(|(key, value)| Waiting::new(&key, &value));
    let mut waiting: BTreeMap<u32, Vec<Waiting>> = BTreeMap::new();
    for wait in all.filter(|wait| wait.since != 0) {
        waiting.entry(wait.process).or_default().push(wait);
    }
    waiting
}

/// Reads the tables.
pub(crate) fn seen(attach: &mut Attach, ended_ns: u64) -> Seen {
    let mut all = sums(&attach.tables);
    let mut in_progress = waiting(&attach.tables);
    let of_woken = all.values().flatten().filter(|sum| sum.waker == ANOTHER_PROCESS);
    let states = attach.tables.processes();
    let mut seen = Seen {
        composed: Vec::new(),
        forked: attach.forked.with(
            &states,
            attach.counter(counter::FORKED),
            attach.counter(counter::PROCESSES),
        ),
        woken_by_others: of_woken.map(|sum| sum.count).sum(),
        losses: attach.losses(),
        summed_ns: 0,
        rest_ns: 0,
        began_ns: attach.began_ns,
        ended_ns,
        executed: attach.executed(),
        followed: attach.followed,
        late_ns: attach.late_ns,
    };
    for Image(composed, summed) in &attach.earlier {
        seen.composed.push(composed.clone());
        seen.summed_ns += summed.inner;
        seen.rest_ns += summed.rest;
    }
    let mut lives = attach.tables.lives();
    let stacks = elsewhere::stacks(&attach.processes, &all);
    let named = attach.pids.clone();
    // The first ones are those that were named.
    let order = |process: &&mut Process| {
        let place = named.iter().position(|&pid| pid == process.pid);
        (place.unwrap_or(usize::MAX), process.began_ns)
    };
    let mut processes: Vec<&mut Process> = attach.processes.values_mut().collect();
    processes.sort_by_key(order);
    let mut joint = Joint::default();
    for process in processes {
        let (sums, waiting) = (all.remove(&process.pid), in_progress.remove(&process.pid));
        if !named.contains(&process.pid) && sums.is_none() && waiting.is_none() {
            continue;
        }
        let (sums, waiting) = (sums.unwrap_or_default(), waiting.unwrap_or_default());
        let lives = lives.remove(&process.pid).unwrap_or_default();
        let (composed, summed) = of_process(process, (sums, waiting, lives), &stacks, &mut joint);
        seen.composed.push(composed);
        seen.summed_ns += summed.inner;
        seen.rest_ns += summed.rest;
    }
    seen.composed.iter_mut().for_each(|composed| joint.complete(&mut composed.process.locks));
    seen
}

fn of_process(
    process: &mut Process,
    (mut sums, waiting, lives): (Vec<Sum>, Vec<Waiting>, BTreeMap<u32, [u64; 2]>),
    stacks: &Stacks,
    joint: &mut Joint,
) -> (Composed, Summed) {
    let lives = Lives::new(process, lives, &sums);
    let alive = lives.alive(process);
    let waiting = waiting.into_iter();
    let waiting = waiting.filter(|wait| wait.died_at.is_some() || alive.contains(&wait.thread));
    let own = |&tid: &u32| (seed::own_number(process.pid, tid), tid);
    let numbers: BTreeMap<u32, u32> = alive.iter().map(own).collect();
    let mut waiting: Vec<Waiting> = waiting.map(|wait| known(process, wait, &numbers)).collect();
    join_words(process, &mut sums, &mut waiting);
    let mut parts = Parts::new(process, stacks);
    (parts.composed(&sums, &waiting, &lives, joint), parts.summed())
}

/// A wait in progress with its call chain, and its thread if it is for one: any other word is not waited for as one.
/// `numbers` are those of the threads, by what the process itself calls them.
fn known(process: &mut Process, wait: Waiting, numbers: &BTreeMap<u32, u32>) -> Waiting {
    if let Some(stack) = wait.died_at {
        let chain = process.knows(stack).cloned().unwrap_or_default();
        let joined = if process.lives.contains_key(&wait.joined) { wait.joined } else { 0 };
        return Waiting { joined, chain, ..wait };
    }
    let joined = numbers.get(&wait.joined).copied().unwrap_or(0);
    let call = Call::of(process.pid, wait.thread);
    // It may be in another call by now.
    let call = call.filter(|call| call.is(wait.address, wait.operation));
    let top = call.and_then(|call| call.top(process.pid, wait.thread));
    let chain = top.map(|top| process.chain(&top)).unwrap_or_default();
    Waiting { joined, chain, ..wait }
}

/// The words of one condition become one.
fn join_words(process: &Process, sums: &mut [Sum], waiting: &mut [Waiting]) {
    let mut conditions = Conditions::new(&process.modules);
    for sum in sums.iter() {
        if let Some(chain) = process.knows(sum.waiter) {
            conditions.add(sum.address, chain);
        }
    }
    waiting.iter().for_each(|wait| conditions.add(wait.address, &wait.chain));
    let objects = conditions.objects();
    let words = sums.iter_mut().map(|sum| &mut sum.address);
    for word in words.chain(waiting.iter_mut().map(|wait| &mut wait.address)) {
        *word = objects.get(word).copied().unwrap_or(*word);
    }
}

/// What a record is made of.
struct Parts<'a> {
    process: &'a Process,
    elsewhere: Elsewhere<'a>,
    stacks: HashMap<u32, Vec<u64>>,
    /// The numbers of call chains in the record, and of stacks in the kernel's tables.
    chains: HashMap<Vec<u64>, u32>,
    numbers: HashMap<u64, u32>,
    /// What found no room, of the code that waited and of the code that woke.
    lost: [Summed; 2],
}

impl<'a> Parts<'a> {
    fn new(process: &'a Process, elsewhere: &'a Stacks) -> Self {
        let (stacks, chains, numbers) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (elsewhere, lost) = (Elsewhere::new(elsewhere), [Summed::default(); 2]);
        Parts { process, elsewhere, stacks, chains, numbers, lost }
    }

    /// The larger one of the two: they are about the same waiting.
    fn summed(&self) -> Summed {
        let [waited, woke] = self.lost;
        Summed { inner: waited.inner.max(woke.inner), rest: waited.rest.max(woke.rest) }
    }

    fn composed(
        &mut self,
        sums: &[Sum],
        waiting: &[Waiting],
        lives: &Lives,
        joint: &mut Joint,
    ) -> Composed {
        let mut sums = sums.to_vec();
        sums.sort_by_key(|sum| sum.thread);
        let (joins, sums): (Vec<Sum>, Vec<Sum>) =
            sums.into_iter().partition(|sum| sum.waker == JOINED);
        let (units, mut locks) = joint.locks(&self.process.modules.shared, &sums, waiting);
        let (mut threads, mut cells) = (Vec::new(), Vec::new());
        for (&tid, &life) in &lives.of {
            let wants = waiting.iter().find(|wait| wait.thread == tid);
            let [born, ended] = life;
            // Its wait has not ended.
            let ended = if wants.is_some() { 0 } else { ended };
            let thread = self.thread(tid, [born, ended], wants, &units);
            let joined = of_thread(&joins, tid).map(|sum| sum.total).sum();
            threads.push(ThreadRecord { joined, ..thread });
            cells.push(self.cells(of_thread(&sums, tid), wants, &units));
        }
        // Of each lock, the last one is that which took longest.
        let mut waits: Vec<&Sum> = sums.iter().filter(|sum| sum.mark != layout::CHAINED).collect();
        waits.sort_by_key(|sum| sum.total);
        let costliest: HashMap<u64, u64> =
            waits.into_iter().map(|sum| (sum.address, sum.waiter)).collect();
        for lock in &mut locks {
            let costliest = costliest.get(&lock.address).copied().unwrap_or(0);
            let wanted = threads.iter().filter_map(|thread: &ThreadRecord| thread.wants);
            let wanted = wanted.filter(|wants| wants.lock == lock.unit).map(|wants| wants.stack);
            let number = self.number(costliest);
            lock.first_taken = if number == 0 { wanted.max().unwrap_or(0) } else { number };
        }
        let mut modules = self.process.modules.records();
        modules.append(&mut self.elsewhere.modules);
        let process = ProcessRecord {
            pid: self.process.pid,
            parent: self.process.parent,
            command: self.process.command.clone(),
            start_ticks: self.process.began_ns,
            end_ticks: lives.last().unwrap_or(self.process.ended_ns),
            locks,
            threads,
            stacks: std::mem::take(&mut self.stacks),
            modules,
            ..ProcessRecord::default()
        };
        Composed { process, cells }
    }

    fn thread(
        &mut self,
        tid: u32,
        [born, ended]: [u64; 2],
        wants: Option<&Waiting>,
        units: &BTreeMap<u64, Unit>,
    ) -> ThreadRecord {
        let name = self.process.lives.get(&tid).map(|life| life.name.clone());
        let wants = wants.map(|wait| WantsRecord {
            lock: if wait.joined == 0 { units.get(&wait.address).copied().unwrap_or(0) } else { 0 },
            joined: u64::from(wait.joined),
            since: wait.since,
            stack: self.stack(&wait.chain),
            ..WantsRecord::default()
        });
        ThreadRecord {
            tid,
            handle: u64::from(tid),
            name: name.unwrap_or_default(),
            start_ticks: born,
            end_ticks: ended,
            asleep_since: wants.map(|wants| wants.since),
            wants,
            ..ThreadRecord::default()
        }
    }

    /// The number of a call chain; 0 for none.
    fn stack(&mut self, chain: &[u64]) -> u32 {
        if chain.is_empty() {
            return 0;
        }
        let next = self.stacks.len() as u32 + 1;
        let number = *self.chains.entry(chain.to_vec()).or_insert(next);
        self.stacks.entry(number).or_insert_with(|| chain.to_vec());
        number
    }

    /// The number of the stack of the inner frames of one: its lock's own functions and `callers` more.
    fn inner(&mut self, stack: u32, callers: usize) -> u32 {
        let chain = self.stacks.get(&stack).cloned().unwrap_or_default();
        let inner = self.process.modules.leading(&chain) + callers;
        self.stack(&chain[..chain.len().min(inner)])
    }

    fn limited(
        &mut self,
        stacks: BTreeMap<u32, CausedRecord>,
        mark: u32,
        most: usize,
    ) -> Vec<CausedRecord> {
        let (all, summed) =
            limited(stacks, mark, most, |stack, callers| self.inner(stack, callers));
        // The parts of chains are counted once.
        if mark != layout::CHAIN {
            let lost = &mut self.lost[usize::from(mark != WAITED)];
            lost.inner += summed.inner;
            lost.rest += summed.rest;
        }
        all
    }

    /// The number of a stack in the record; 0 if it is not known.
    fn number(&mut self, stack: u64) -> u32 {
        if stack < FIRST_STACK {
            return 0;
        }
        if let Some(&number) = self.numbers.get(&stack) {
            return number;
        }
        let process = self.process;
        let own = process.knows(stack).cloned();
        let chain = own.unwrap_or_else(|| self.elsewhere.chain(stack, &process.modules));
        let number = self.stack(&chain);
        self.numbers.insert(stack, number);
        number
    }

    /// The cells of a thread.
    fn cells<'s>(
        &mut self,
        sums: impl Iterator<Item = &'s Sum>,
        wants: Option<&Waiting>,
        units: &BTreeMap<u64, Unit>,
    ) -> Vec<(Unit, CellRecord)> {
        let mut by_address: BTreeMap<u64, Vec<Sum>> = BTreeMap::new();
        for sum in sums {
            by_address.entry(sum.address).or_default().push(*sum);
        }
        if let Some(wait) = wants.filter(|wait| wait.joined == 0) {
            by_address.entry(wait.address).or_default(); // A lock has a row if a thread has a cell of it.
        }
        let cells = by_address.into_iter();
        cells
            .filter_map(|(address, sums)| Some((*units.get(&address)?, self.cell(&sums))))
            .collect()
    }

    fn cell(&mut self, sums: &[Sum]) -> CellRecord {
        let mut cell = CellRecord::default();
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        let mut waiters = BTreeMap::new();
        let mut wakers = [WAKE, layout::CHAIN, layout::CHAINED].map(|mark| (mark, BTreeMap::new()));
        for sum in sums.iter().filter(|sum| sum.is_woken) {
            let of = wakers.iter_mut().find(|(mark, _)| *mark == sum.mark);
            let number = self.number(sum.waker);
            of.into_iter().for_each(|(_, stacks)| add(stacks, number, &sum.caused()));
        }
        for sum in sums.iter().filter(|sum| sum.mark != layout::CHAINED) {
            cell.acquisitions += sum.count;
            cell.blocked += sum.count;
            cell.wait.total += sum.total;
            // Its lengths are within a quarter of an octave, as those of the record's buckets are.
            *buckets.entry(sum.longest).or_default() += sum.count;
            cell.wait.worst.push(ExtremeRecord {
                ticks: sum.longest,
                at: sum.longest_at,
                mine: self.number(sum.waiter),
                other: self.number(sum.waker),
                cause: 0,
            });
            add(&mut waiters, self.number(sum.waiter), &sum.caused());
            if sum.is_woken {
                cell.idle_by[0] += sum.total.saturating_sub(sum.not_scheduled);
                cell.idle_by[1] += sum.not_scheduled;
            } else {
                cell.timed_out.count += sum.count;
                cell.timed_out.total += sum.total;
                cell.timed_out.max = cell.timed_out.max.max(sum.longest);
            }
        }
        cell.wait.buckets = bucketed(buckets);
        cell.wait.worst.sort_by_key(|extreme| Reverse(extreme.ticks));
        // The longest of each entry: only the first is sure to be one of the longest of all.
        cell.wait.worst.truncate(1);
        cell.caused = self.limited(waiters, WAITED, WAITERS);
        for (mark, stacks) in wakers {
            cell.caused.extend(self.limited(stacks, mark, WAKERS));
        }
        cell
    }
}

/// The sums of one thread, of `sums` in the order of their threads.
fn of_thread(sums: &[Sum], tid: u32) -> impl Iterator<Item = &Sum> {
    let first = sums.partition_point(|sum| sum.thread < tid);
    sums[first..].iter().take_while(move |sum| sum.thread == tid)
}

/// Times by their lengths, as the buckets of a record.
fn bucketed(lengths: BTreeMap<u64, u64>) -> Vec<(u64, u64, u64)> {
    let mut buckets: BTreeMap<usize, u64> = BTreeMap::new();
    for (length, count) in lengths {
        *buckets.entry(FINE.bucket(length)).or_default() += count;
    }
    let edges = |(bucket, count)| (FINE.low(bucket), FINE.low(bucket + 1), count);
    buckets.into_iter().map(edges).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_what_the_kernel_wrote() {
        let mut key = vec![0; key::BYTES];
        let mut value = vec![0; sum::BYTES];
        key[0] = 64;
        key[key::THREAD as usize] = 7;
        key[key::HOW as usize + 2] = 1; // It timed out.
        for (place, figure) in [(sum::COUNT, 2), (sum::TOTAL, 200), (sum::LONGEST, 150)] {
            value[place as usize] = figure;
        }
        let entry = Sum::new(&key, &value);
        assert_eq!((entry.address, entry.thread, entry.is_woken), (64, 7, false));
        assert_eq!((entry.count, entry.total, entry.longest), (2, 200, 150));
    }

    #[test]
    fn lengths_of_one_bucket_are_counted_together() {
        let buckets = bucketed(BTreeMap::from([(64, 2), (70, 3), (1 << 20, 1)]));
        assert_eq!(buckets, [(64, 80, 5), (1 << 20, 1_310_720, 1)]);
    }
}
