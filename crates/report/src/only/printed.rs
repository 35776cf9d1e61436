//! What a report prints of a lock, in any of its forms.
//!
//! # Contract
//! Of its row: its kind (in words and as the JSON has it), class, place, address and variable; the functions, lines,
//! files and modules of its stacks and of the code that waited for it, held it, ended its waits or called that code. Of
//! other blocks: the code of culprits that are of it, and the code and the names of threads that still wait for it or
//! hold it, that are in a deadlock at it, or that took it in an inversion. Nothing of what is about no lock: waits for
//! other threads' ends, spans, and the table of threads.

use crate::code::is_match;
use crate::deadlocks::named;
use crate::hangs::wanted;
use crate::helpers;
use crate::rows::{called, class_name, code, code_in, kind_name, kind_of, place, variable};
use crate::run::{Blamed, Frame, Inversion, Lock, RunReport, Stuck, Thread};
use crate::terminal::words;
use std::collections::HashMap;
use std::path::Path;

/// What is printed of each lock outside its row.
#[derive(Default)]
pub(super) struct Elsewhere<'r> {
    of: HashMap<u64, Part<'r>>,
}

#[derive(Default)]
struct Part<'r> {
    frames: Vec<&'r Frame>,
    /// Names of threads.
    threads: Vec<&'r str>,
    /// What stands as a whole in a line.
    lines: Vec<String>,
}

static NONE: Part<'static> = Part { frames: Vec::new(), threads: Vec::new(), lines: Vec::new() };

impl<'r> Part<'r> {
    fn add_thread(&mut self, tid: u32, name: &'r str) {
        self.threads.push(name);
        self.lines.push(named(tid, name));
    }
}

impl<'r> Elsewhere<'r> {
    pub(super) fn of(report: &'r RunReport) -> Self {
        let mut all = Elsewhere::default();
        for process in &report.processes {
            process.threads.iter().for_each(|thread| all.add_waiting(report, thread));
            process.locks.iter().for_each(|lock| all.add_holders(lock));
        }
        let deadlocked = report.deadlocks.iter().flat_map(|deadlock| &deadlock.threads);
        deadlocked.for_each(|thread| all.add_deadlocked(thread));
        let order = report.lock_order.iter();
        order.flat_map(|order| &order.inversions).for_each(|found| all.add_inversion(found));
        report.culprits.iter().for_each(|culprit| all.add_culprit(report, culprit));
        all
    }

    /// All that is printed of `lock`.
    pub(super) fn with<'a>(&'a self, lock: &'r Lock) -> Printed<'a>
    where
        'r: 'a,
    {
        Printed { lock, elsewhere: self.of.get(&lock.id).unwrap_or(&NONE) }
    }

    fn at(&mut self, lock: u64) -> &mut Part<'r> {
        self.of.entry(lock).or_default()
    }

    /// A thread that still waited when the run ended.
    fn add_waiting(&mut self, report: &RunReport, thread: &'r Thread) {
        let Some(id) = thread.unfinished_lock.or(thread.unfinished_object) else { return };
        let part = self.at(id);
        if part.lines.is_empty() {
            part.lines.push(wanted(report, thread));
        }
        part.add_thread(thread.tid, &thread.name);
        part.frames.extend(&thread.unfinished_stack);
    }

    /// The threads that hold it, as far as they are named.
    fn add_holders(&mut self, lock: &'r Lock) {
        let holder = lock.unfinished.and_then(|left| left.holder);
        let keeper = lock.keeper.map(|keeper| keeper.tid);
        for tid in holder.into_iter().chain(keeper) {
            self.at(lock.id).lines.push(named(tid, ""));
        }
        if let Some(head) = &lock.hung_behind {
            let part = self.at(lock.id);
            part.add_thread(head.tid, &head.name);
            part.frames.extend(&head.taken);
        }
    }

    fn add_deadlocked(&mut self, thread: &'r Stuck) {
        let Some(id) = thread.lock else { return };
        let part = self.at(id);
        part.add_thread(thread.tid, &thread.name);
        part.lines.push(named(thread.holder, ""));
        part.frames.extend(thread.stack.iter().chain(&thread.taken));
    }

    fn add_inversion(&mut self, inversion: &'r Inversion) {
        for thread in &inversion.threads {
            let acquisitions =
                [(thread.held, &thread.held_stack), (thread.taken, &thread.taken_stack)];
            for (id, stack) in acquisitions {
                let part = self.at(id);
                part.add_thread(thread.tid, &thread.name);
                part.frames.extend(stack);
            }
        }
    }

    fn add_culprit(&mut self, report: &RunReport, culprit: &'r Blamed) {
        let [place, _] = words(report, culprit);
        for &id in &culprit.locks {
            let part = self.at(id);
            part.frames.extend(of_blamed(culprit));
            part.lines.push(place.clone());
        }
    }
}

/// All that is printed of a lock.
pub(super) struct Printed<'a> {
    lock: &'a Lock,
    elsewhere: &'a Part<'a>,
}

impl<'a> Printed<'a> {
    /// Whether any of it contains `pattern`.
    pub(super) fn matches(&self, pattern: &str) -> bool {
        let part = format!("*{pattern}*");
        self.words().any(|word| is_match(word, &part))
            || self.lines().any(|line| is_match(&line, &part))
            || self.elsewhere.lines.iter().any(|line| is_match(line, &part))
    }

    /// Its words, of which a person may mean one.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let lock = self.lock;
        let names = [kind_of(lock), class_name(lock.class), &lock.address];
        let known = lock.variable.iter().chain(&lock.known_as).map(String::as_str);
        let names = names.into_iter().chain(known).chain(self.elsewhere.threads.iter().copied());
        names.chain(self.frames().flat_map(of_frame))
    }

    /// What stands as a whole in a line.
    fn lines(&self) -> impl Iterator<Item = String> + use<'a> {
        let lock = self.lock;
        let variable = variable(lock).map_or_else(String::new, |name| format!(" ({name})"));
        let names = [
            kind_name(lock.kind).replace(' ', "-"),
            place(lock),
            format!("#{}{variable} {}", lock.id, place(lock)),
            format!("lock #{} ({})", lock.id, place(lock)),
            format!("#{} {}", lock.id, place(lock)),
            format!("#{} {}", lock.id, called(lock)),
        ];
        let blamed = lock.held_by.iter().chain(&lock.ended_by).filter_map(helpers::blamed);
        let waited = lock.waited_in.iter();
        let waited = waited.filter_map(|at| Some(code_in(at.site.as_ref()?, Some(&at.stack))));
        let of_frames = self.frames().flat_map(|frame| [Some(code(frame)), path(frame)]);
        names.into_iter().chain(blamed).chain(waited).chain(of_frames.flatten())
    }

    /// Its code.
    fn frames(&self) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let lock = self.lock;
        let (wait, idle) = (lock.worst_wait.as_ref(), lock.worst_idle.as_ref());
        let stacks = [
            wait.map(|worst| &worst.waiter),
            wait.map(|worst| &worst.holder),
            idle.map(|worst| &worst.releaser),
            idle.map(|worst| &worst.waiter),
            Some(&lock.created),
            Some(&lock.first_taken),
        ];
        let blamed = lock.held_by.iter().chain(&lock.ended_by).flat_map(of_blamed);
        let waited = lock.waited_in.iter().flat_map(|at| at.site.iter().chain(&at.stack));
        let holders = lock.holders_waited.iter().flat_map(|holders| &holders.on);
        let frames = lock.site.iter().chain(stacks.into_iter().flatten().flatten());
        let frames = frames.chain(blamed).chain(waited);
        let frames = frames.chain(holders.filter_map(|on| on.site.as_ref()));
        frames.chain(self.elsewhere.frames.iter().copied())
    }
}

fn of_blamed(by: &Blamed) -> impl Iterator<Item = &Frame> {
    by.site.iter().chain(&by.stack).chain(&by.callers)
}

fn of_frame(frame: &Frame) -> impl Iterator<Item = &str> {
    let names = [&frame.function, &frame.file, &frame.module].map(Option::as_deref);
    let [_, file, module] = names;
    names.into_iter().chain([file.and_then(base), module.and_then(base)]).flatten()
}

/// The file with its directories, and the line, as the page has it.
fn path(frame: &Frame) -> Option<String> {
    Some(format!("{}:{}", frame.file.as_deref()?, frame.line?))
}

fn base(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()
}
