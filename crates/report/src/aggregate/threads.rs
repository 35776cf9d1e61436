//! The threads of a run: the observer's figures at their end, completed by the kernel's.

use super::once;
use super::stacks::Stacks;
use crate::facts::{Facts, ThreadFacts};
use crate::run::{Hung, Process, Thread};
use std::collections::{BTreeMap, HashMap, HashSet};
use uncontended_trace::layout::sharing::{APART, JOINED, JOINED_IN_PART};
use uncontended_trace::reader::{ProcessRecord, Record, ThreadRecord, Used};

/// One row per thread of a process image. The kernel counts per process, so its figures, and threads that only it saw,
/// belong to the last image. What they wait for is not said yet ([`set_wanted`]).
pub(super) fn rows(
    record: &Record<'_>,
    image: &ProcessRecord,
    facts: &Facts,
    last: bool,
    stacks: &mut Stacks<'_>,
) -> Vec<Thread> {
    let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
    let before = |tid| if tid == image.pid { image.before } else { Used::default() };
    if last {
        threads.extend(counted(record, image, facts).map(|counted| {
            let tid = counted.thread.tid;
            (tid, without(counted.thread.clone(), before(tid)))
        }));
    }
    for seen in &image.threads {
        let unsampled = || Thread { tid: seen.tid, ..Thread::default() };
        let thread = threads.entry(seen.tid).or_insert_with(unsampled);
        complete(thread, record, seen, before(seen.tid));
        thread.lived_ns = lived_ns(record, image, seen, facts.wall_ns);
        once::bound(thread);
        let unfinished_ns = unfinished_ns(record, image, seen, facts.wall_ns);
        thread.other_wait_ns = other_wait_ns(thread, unfinished_ns);
        thread.unfinished_wait_ns = Some(unfinished_ns).filter(|&ns| ns > 0);
        if let Some(wants) = seen.wants.filter(|_| unfinished_ns > 0) {
            thread.unfinished_join = joined(image, wants.joined).map(|at| image.threads[at].tid);
            thread.unfinished_stack = stacks.frames(wants.stack);
        }
    }
    threads.into_values().collect()
}

/// The threads of the last image that the kernel counted: not those that an earlier program of its process had.
fn counted<'f>(
    record: &Record<'_>,
    image: &ProcessRecord,
    facts: &'f Facts,
) -> impl Iterator<Item = &'f ThreadFacts> {
    let tids = |image: &ProcessRecord| image.threads.iter().map(|of| of.tid).collect::<Vec<_>>();
    let own: HashSet<u32> = tids(image).into_iter().collect();
    let pid = image.pid;
    let images = record.processes.iter().filter(|other| other.pid == pid);
    let earlier: HashSet<u32> = images.flat_map(tids).filter(|tid| !own.contains(tid)).collect();
    let of_process = facts.threads.iter().filter(move |counted| counted.pid == pid);
    of_process.filter(move |counted| !earlier.contains(&counted.thread.tid))
}

/// Says which lock each thread waited for at the end: `units` are those of the rows of each process. A lock that
/// processes share has its row in one of them.
pub(super) fn set_wanted(processes: &mut [Process], record: &Record<'_>, units: &[Vec<u32>]) {
    let rows = processes.iter().zip(units).flat_map(|(process, units)| {
        units.iter().copied().zip(process.locks.iter().map(|lock| (lock.id, lock.is_held())))
    });
    let rows: HashMap<u32, (u64, bool)> = rows.collect();
    for (process, image) in processes.iter_mut().zip(&record.processes) {
        let wanted = image.threads.iter().filter_map(|seen| Some((seen.tid, seen.wants?.lock)));
        let wanted: HashMap<u32, u32> = wanted.collect();
        for thread in
            process.threads.iter_mut().filter(|thread| thread.unfinished_wait_ns.is_some())
        {
            match wanted.get(&thread.tid).and_then(|lock| rows.get(lock)) {
                Some(&(id, true)) => thread.unfinished_lock = Some(id),
                Some(&(id, false)) => thread.unfinished_object = Some(id),
                None => {}
            }
        }
    }
}

/// That each thread of `image` that had not ended waited when the run did, if its process had not ended. A thread whose
/// wait has a deadline, or is for something unknown, may go on by itself, and one that waits for what processes share
/// may be woken by another one.
pub(super) fn hung(record: &Record<'_>, image: &ProcessRecord, facts: &Facts) -> Option<Hung> {
    let wall_ns = facts.wall_ns;
    let seen: HashSet<u32> = image.threads.iter().map(|thread| thread.tid).collect();
    if counted(record, image, facts).any(|counted| !seen.contains(&counted.thread.tid)) {
        return None;
    }
    let alive = image.threads.iter().filter(|thread| thread.end_ticks == 0);
    if alive.clone().any(|thread| thread.wants.is_none_or(|wants| wants.has_deadline)) {
        return None;
    }
    let locks = record.processes.iter().flat_map(|image| &image.locks);
    let shared = locks.filter(|lock| [APART, JOINED, JOINED_IN_PART].contains(&lock.sharing));
    let shared: HashSet<u32> = shared.map(|lock| lock.unit).collect();
    if alive.clone().filter_map(|thread| thread.wants).any(|wants| shared.contains(&wants.lock)) {
        return None;
    }
    let waited = alive.map(|thread| unfinished_ns(record, image, thread, wall_ns));
    let waited: Vec<u64> = waited.collect();
    let since_ns = waited.iter().copied().min().filter(|&ns| ns > 0 && image.end_ticks == 0)?;
    Some(Hung { threads: waited.len() as u64, since_ns })
}

/// The thread with this handle, by its place: of several, the one that has not ended.
pub(super) fn joined(image: &ProcessRecord, handle: u64) -> Option<usize> {
    let all = image.threads.iter().enumerate();
    let of_handle = all.filter(|(_, thread)| thread.handle == handle && handle != 0);
    of_handle.max_by_key(|(_, thread)| thread.end_ticks == 0).map(|(at, _)| at)
}

/// Adds the waiting of threads, by their numbers, at the locks of a process.
pub(super) fn add_contended(all: &mut HashMap<u32, u64>, more: HashMap<u32, u64>) {
    for (thread, ticks) in more {
        let sum = all.entry(thread).or_default();
        *sum = sum.saturating_add(ticks);
    }
}

/// Sets each thread's waiting at locks whose holders cause it: `contended` has it in ticks, by the thread's number.
pub(super) fn set_contended(
    threads: &mut [Thread],
    record: &Record<'_>,
    image: &ProcessRecord,
    contended: &HashMap<u32, u64>,
) {
    let mut of: HashMap<u32, u64> = HashMap::new();
    for thread in &image.threads {
        let sum = of.entry(thread.tid).or_default();
        *sum = sum.saturating_add(contended.get(&thread.unit).copied().unwrap_or(0));
    }
    for thread in threads.iter_mut().filter(|thread| thread.wait_ns.is_some()) {
        let ticks = of.get(&thread.tid).copied().unwrap_or(0);
        thread.contention_wait_ns = Some(record.ns(ticks)).min(thread.wait_ns);
    }
}

/// Figures only grow, so the greater of two samples is the later.
fn complete(thread: &mut Thread, record: &Record<'_>, seen: &ThreadRecord, before: Used) {
    let (waited, joined) = once::waited(seen);
    thread.wait_ns = Some(record.ns(waited));
    thread.blocked = Some(seen.blocked);
    thread.joined_ns = Some(record.ns(joined));
    if thread.name.is_empty() || seen.end_ticks != 0 && !seen.name.is_empty() {
        thread.name.clone_from(&seen.name);
    }
    // Noted where the thread ends, or ends the process; the kernel's record has none of these.
    let is_noted = seen.end_ticks != 0 || seen.cpu_ns != 0;
    if is_noted && !record.from_kernel {
        let noted = Thread {
            cpu_ns: Some(seen.cpu_ns),
            user_ns: Some(seen.cpu_ns.saturating_sub(seen.system_ns)),
            system_ns: Some(seen.system_ns),
            voluntary_switches: Some(seen.voluntary),
            involuntary_switches: Some(seen.involuntary),
            ..Thread::default()
        };
        let noted = without(noted, before);
        thread.cpu_ns = thread.cpu_ns.max(noted.cpu_ns);
        thread.divide_cpu(noted.user_ns.unwrap_or(0), noted.system_ns.unwrap_or(0));
        thread.voluntary_switches = thread.voluntary_switches.max(noted.voluntary_switches);
        thread.involuntary_switches = thread.involuntary_switches.max(noted.involuntary_switches);
    }
}

/// The figures without what the thread used before it was observed: for what ran in its process before, and to start.
fn without(mut thread: Thread, before: Used) -> Thread {
    let less = |figure: &mut Option<u64>, before: u64| {
        *figure = figure.map(|figure| figure.saturating_sub(before));
    };
    less(&mut thread.cpu_ns, before.cpu_ns);
    less(&mut thread.runnable_ns, before.runnable_ns);
    less(&mut thread.voluntary_switches, before.voluntary);
    less(&mut thread.involuntary_switches, before.involuntary);
    if let (Some(cpu_ns), Some(system_ns)) = (thread.cpu_ns, thread.system_ns) {
        let system_ns = system_ns.saturating_sub(before.system_ns).min(cpu_ns);
        thread.system_ns = Some(system_ns);
        thread.user_ns = Some(cpu_ns - system_ns);
    }
    thread
}

/// From when the thread was made or, if that was not seen, the observer first saw it, or the process if it is the main
/// one, to its end or, if that was not
/// seen, to the end of the process or of the run.
fn lived_ns(
    record: &Record<'_>,
    image: &ProcessRecord,
    thread: &ThreadRecord,
    wall_ns: u64,
) -> Option<u64> {
    let is_main = thread.tid == image.pid;
    let start_ticks = if is_main { image.start_ticks } else { thread.since() };
    let end_ns = match thread.end_ticks {
        0 => ended_ns(record, image, wall_ns),
        ticks => record.ns_at(ticks).min(wall_ns),
    };
    (start_ticks != 0).then(|| end_ns.saturating_sub(record.ns_at(start_ticks)))
}

/// When the process ended or, if that was not seen, the run.
pub(super) fn ended_ns(record: &Record<'_>, image: &ProcessRecord, wall_ns: u64) -> u64 {
    let ended = Some(image.end_ticks).filter(|&ticks| ticks != 0);
    ended.map_or(wall_ns, |ticks| record.ns_at(ticks).min(wall_ns))
}

/// How long a wait had lasted that was in progress at the end of `image`.
pub(super) fn unfinished_ns(
    record: &Record<'_>,
    image: &ProcessRecord,
    thread: &ThreadRecord,
    wall_ns: u64,
) -> u64 {
    let slept = thread.asleep_since.filter(|_| thread.end_ticks == 0);
    let since = slept.and_then(|since| since.checked_sub(record.start_ticks));
    let ended_ns = ended_ns(record, image, wall_ns);
    since.map_or(0, |ticks| ended_ns.saturating_sub(record.ns(ticks)))
}

/// What is left of the life of `thread`. A wait may contain time on a CPU, so it is at least that long.
fn other_wait_ns(thread: &Thread, unfinished_ns: u64) -> Option<u64> {
    let (lived_ns, cpu_ns) = (thread.lived_ns?, thread.cpu_ns?);
    let waits = [thread.wait_ns?, thread.joined_ns.unwrap_or(0), unfinished_ns];
    let known = super::sum([cpu_ns, thread.runnable_ns.unwrap_or(0)].into_iter().chain(waits));
    Some(lived_ns.saturating_sub(known))
}

/// Processes that were sampled but did not load the observer; their threads are known all the same.
pub(super) fn unobserved(facts: &Facts, observed: &HashSet<u32>) -> Vec<Process> {
    let mut processes: BTreeMap<u32, Vec<Thread>> = BTreeMap::new();
    for counted in facts.threads.iter().filter(|counted| !observed.contains(&counted.pid)) {
        processes.entry(counted.pid).or_default().push(counted.thread.clone());
    }
    let command =
        |pid: u32| if Some(pid) == facts.pid { facts.command.clone() } else { Vec::new() };
    let rows = processes.into_iter();
    rows.map(|(pid, threads)| Process {
        pid,
        command: command(pid),
        locks: Vec::new(),
        threads,
        joins: Vec::new(),
        hung: None,
        ended_ns: None,
    })
    .collect()
}
