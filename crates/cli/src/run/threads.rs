//! The kernel's per-thread figures: CPU time, time in the run queue, context switches, migrations.
//!
//! # Contract
//! A [`ThreadWatch`] samples a program and its descendants periodically and keeps the last figures of every thread that
//! it ever saw. A figure that the kernel does not provide is `None`. A thread that lives between two samples is missing
//! here; the observer's own record has it.
//! # Sources
//! proc(5); `Documentation/scheduler/sched-stats.rst` for `schedstat`.

use super::ends::Ends;
use super::heirs;
use super::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use uncontended_report::facts::{EndedBy, ThreadFacts, Unrecorded};
use uncontended_report::run::{StillRunning, Thread};

/// Samples a program's threads periodically.
#[derive(Debug)]
pub(crate) struct ThreadWatch {
    pids: BTreeSet<u32>,
    /// When the program started, as the kernel counts it.
    started: u64,
    /// By process and thread.
    seen: BTreeMap<(u32, u32), Thread>,
    /// Processes seen running as another user, which are neither recording nor among `unrecorded`.
    others: BTreeSet<u32>,
    /// The program with which each process was seen recording.
    recording: BTreeMap<u32, PathBuf>,
    /// Their files.
    programs: Vec<File>,
    /// The programs seen without the record.
    unrecorded: Vec<Unrecorded>,
    /// When to sample next.
    due: Instant,
    /// When processes end.
    pub(crate) ends: Ends,
}

/// Sampling takes CPU time that the program may need: at most one part in this many.
const SHARE: u32 = 100;
const SHORTEST: Duration = Duration::from_millis(20);

impl ThreadWatch {
    /// Watches the process `pid` and its descendants, in a run that began at `start`.
    pub(crate) fn new(pid: u32, start: Instant) -> Self {
        ThreadWatch {
            pids: BTreeSet::from([pid]),
            started: heirs::started(pid).unwrap_or(0),
            seen: BTreeMap::new(),
            others: BTreeSet::new(),
            recording: BTreeMap::new(),
            programs: Vec::new(),
            unrecorded: Vec::new(),
            due: Instant::now() + SHORTEST,
            ends: Ends::new(pid, start),
        }
    }

    /// When to call [`ThreadWatch::look`] next.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// The processes alive at the last sample.
    pub(crate) fn pids(&self) -> &BTreeSet<u32> {
        &self.pids
    }

    /// How many processes that we may not inspect have run as another user.
    pub(crate) fn of_other_users(&self) -> u32 {
        u32::try_from(self.others.len()).unwrap_or(u32::MAX)
    }

    /// Notes the processes of `record` that have ended.
    pub(crate) fn look_for_ends(&mut self, record: &Record) {
        self.ends.look(record, &self.pids);
    }

    /// Looks once more, also at the processes that left the program between two samples.
    pub(crate) fn look_for_heirs(&mut self, record: &Record) {
        let before = self.pids.len();
        self.pids.extend(heirs::find(record, self.started));
        if self.pids.len() > before {
            self.look();
        }
    }

    /// The processes other than `ended` that are alive.
    pub(crate) fn still_running(&self, ended: u32) -> Vec<StillRunning> {
        let alive = |pid: &u32| *pid != ended && is_alive(*pid);
        let left = self.pids.iter().copied().filter(alive);
        left.map(|pid| StillRunning { pid, command: command(pid) }).collect()
    }

    /// The files of the programs seen, also of those that have been deleted since.
    pub(crate) fn programs(&mut self) -> impl Iterator<Item = File> + use<> {
        std::mem::take(&mut self.programs).into_iter()
    }

    /// Keeps the file of the program that `pid` runs open, unless there are many.
    fn hold_program(&mut self, pid: u32) {
        const MOST: usize = 16;
        if self.programs.len() < MOST {
            self.programs.extend(File::open(format!("/proc/{pid}/exe")));
        }
    }

    /// Reads every thread's figures.
    pub(crate) fn look(&mut self) {
        let start = Instant::now();
        let mut pending: Vec<u32> = self.pids.iter().copied().collect();
        while let Some(pid) = pending.pop() {
            let children = self.look_at(pid);
            pending.extend(children.into_iter().filter(|&child| self.pids.insert(child)));
        }
        let now = Instant::now();
        self.due = now + SHORTEST.max((now - start) * SHARE);
    }

    /// Reads the threads of `pid` and returns its children.
    fn look_at(&mut self, pid: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            self.pids.remove(&pid);
            return found;
        };
        let is_known = self.look_for_record(pid) || self.recording.contains_key(&pid);
        let theirs = user(&format!("/proc/{pid}"));
        if !is_known && theirs.is_some() && theirs != user("/proc/self") {
            self.others.insert(pid);
        }
        for task in tasks.flatten() {
            let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(thread) = figures(&task.path(), tid) {
                self.seen.insert((pid, tid), thread);
            }
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        found
    }

    /// Notes whether the program that `pid` runs has the record mapped. Returns false for a process that we may not
    /// inspect.
    fn look_for_record(&mut self, pid: u32) -> bool {
        let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else { return false };
        // Between fork and exec, a process is still what started it: `unc`, at first.
        if self.recording.get(&pid) == Some(&program) || is_ours(&program) {
            return true;
        }
        let read = |name| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let (maps, words) = (read("maps"), read("cmdline"));
        let has = |name: &str| maps.windows(name.len()).any(|part| part == name.as_bytes());
        if maps.is_empty() || words.is_empty() {
            return true; // It has just ended.
        }
        if has("/memfd:uncontended-record") {
            if !self.recording.values().any(|known| *known == program) {
                self.hold_program(pid);
            }
            self.recording.insert(pid, program);
            return true;
        }
        if self.recording.remove(&pid).is_some() {
            self.ends.note(pid, EndedBy::Exec);
        }
        let command = split(&words);
        let loaded = has("/uncontended/observe-") || has("/memfd:uncontended-observe");
        let elsewhere = root(&format!("{pid}")) != root("self");
        let seen = Unrecorded { pid, command, loaded, elsewhere };
        if !self.unrecorded.contains(&seen) {
            self.unrecorded.push(seen);
        }
        true
    }

    /// The programs seen without the record.
    pub(crate) fn unrecorded(&self) -> Vec<Unrecorded> {
        self.unrecorded.clone()
    }

    /// All figures, by process and thread.
    pub(crate) fn facts(&self) -> Vec<ThreadFacts> {
        let of = |(&(pid, _), thread): (&(u32, u32), &Thread)| ThreadFacts {
            pid,
            thread: thread.clone(),
        };
        self.seen.iter().map(of).collect()
    }
}

/// The arguments of a process.
fn command(pid: u32) -> Vec<String> {
    let words = split(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    if words.iter().any(|word| !word.is_empty()) {
        return words;
    }
    // It has none: one that is about to end, or that has overwritten it.
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    vec![name.trim_end().to_owned()]
}

/// Words that each end in NUL; the last one may not.
fn split(words: &[u8]) -> Vec<String> {
    let words = words.strip_suffix(b"\0").unwrap_or(words).split(|&byte| byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn is_ours(program: &Path) -> bool {
    fs::read_link("/proc/self/exe").is_ok_and(|own| own == program)
}

/// The user that a process runs as.
fn user(process: &str) -> Option<u32> {
    fs::metadata(process).map(|facts| facts.uid()).ok()
}

/// Which directory is the root of a process.
fn root(process: &str) -> Option<(u64, u64)> {
    fs::metadata(format!("/proc/{process}/root")).map(|facts| (facts.dev(), facts.ino())).ok()
}

/// A process that has ended but has not been reaped is not alive.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|fields| !fields.is_empty() && !fields.starts_with(['Z', 'X']))
}

/// The figures of the thread in the directory `task`, or nothing if it is gone.
pub(crate) fn figures(task: &Path, tid: u32) -> Option<Thread> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim())
    };
    let schedstat = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    let mut times = schedstat.split_whitespace().map(|number| number.parse().ok());
    let sched = fs::read_to_string(task.join("sched")).unwrap_or_default();
    let mut thread = Thread {
        tid,
        name: field("Name")?.to_owned(),
        cpu_ns: times.next().flatten(),
        runnable_ns: times.next().flatten(),
        voluntary_switches: field("voluntary_ctxt_switches").and_then(|number| number.parse().ok()),
        involuntary_switches: field("nonvoluntary_ctxt_switches")
            .and_then(|number| number.parse().ok()),
        migrations: migrations(&sched),
        ..Thread::default()
    };
    let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
    if let Some([user, system]) = user_and_system(&stat) {
        thread.divide_cpu(user, system);
    }
    Some(thread)
}

/// User and system time in clock ticks: the fields `utime` and `stime`. The name before them may contain spaces.
fn user_and_system(stat: &str) -> Option<[u64; 2]> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11).map(|field| field.parse().ok());
    Some([fields.next()??, fields.next()??])
}

fn migrations(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_threads_are_seen_by_name() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let named = std::thread::Builder::new().name("watched".into());
        let thread = named.spawn(move || stopped.recv().is_err()).unwrap();
        let mut watch = ThreadWatch::new(std::process::id(), Instant::now());
        for _ in 0..200 {
            watch.look(); // Until the new thread has set its name.
            if watch.seen.values().any(|thread| thread.name == "watched") {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(stop);
        assert!(thread.join().unwrap());
        let seen = watch.facts();
        assert!(seen.iter().any(|facts| facts.thread.name == "watched"));
        assert!(seen.iter().all(|facts| facts.thread.voluntary_switches.is_some()));
    }

    #[test]
    fn user_and_system_time_follow_a_name_with_spaces() {
        let stat = "7 (a) b c) S 1 2 3 4 5 6 7 8 9 10 1234 567 13 14\n";
        assert_eq!(user_and_system(stat), Some([1234, 567]));
        assert_eq!(user_and_system(""), None);
        let own = user_and_system(&fs::read_to_string("/proc/self/stat").unwrap());
        assert!(own.is_some());
    }

    #[test]
    fn migrations_are_read_where_the_kernel_gives_them() {
        assert_eq!(
            migrations("x (1, #threads: 1)\nse.nr_migrations            :       12\n"),
            Some(12)
        );
        assert_eq!(migrations(""), None);
    }
}
