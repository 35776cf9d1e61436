//! The newest waits, holds and spans of every thread, for a picture in time.
//!
//! # Contract
//! [`timeline`] reads the threads' logs: at most 32,512 entries each; of holds, those for which others waited
//! and those of at least 20,000 ticks. Locks have the numbers of [`super::report`].

use super::joined::Joined;
use super::logs::Logs;
use super::stacks::Stacks;
use super::{Symbols, locks};
use crate::code::Skipped;
use crate::facts::Facts;
use crate::rows;
use std::collections::HashMap;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{
    self, LoggedRecord, ProcessRecord, ReadError, Record, ThreadRecord,
};

/// What a thread did for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It waited for a lock, or for another thread's end.
    Wait,
    /// It held a lock.
    Hold,
    /// The program announced a span.
    Span,
}

/// A wait, a hold or a span. Times are in nanoseconds from the start of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Which of them.
    pub what: Activity,
    /// The thread.
    pub tid: u32,
    /// The lock; none for a wait for another thread's end and for a span.
    pub lock: Option<u64>,
    /// When it began.
    pub at_ns: u64,
    /// How long it lasted.
    pub ns: u64,
    /// The thread that ended the wait, and when; none if unknown.
    pub by: Option<(u32, u64)>,
    /// The code that waited or took the lock, or the span's name; none if unknown.
    pub code: Option<usize>,
}

/// What the threads of one process did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// The process.
    pub pid: u32,
    /// What each thread did, in the order in which they ended.
    pub events: Vec<Event>,
    /// Code, by its number: function, file and line; or a span's name.
    pub codes: Vec<String>,
    /// How many earlier events were not kept.
    pub lost: u64,
}

/// The timelines of all processes that `record` has, in the order of the report.
///
/// # Errors
/// If the bytes are not a record of this version.
pub fn timeline(
    record: &[u8],
    facts: &Facts,
    symbols: &mut dyn Symbols,
) -> Result<Vec<Timeline>, ReadError> {
    let record = reader::read(record)?;
    let skipped = Skipped::with(&facts.skip_frames);
    let joined = Joined::of(&record);
    let images = record.processes.iter();
    let units: Vec<Vec<u32>> = images
        .map(|image| locks::touched(image, &joined).map(|lock| lock.unit).collect())
        .collect();
    let ids: HashMap<u32, u64> = units.iter().flatten().copied().zip(0..).collect();
    let mut timelines = Vec::new();
    for (image, units) in record.processes.iter().zip(&units) {
        let stacks = Stacks::new(image, &joined, symbols, &skipped);
        let mut of = Of {
            logs: Logs::new(&record, image, units),
            ids: &ids,
            stacks,
            known: HashMap::new(),
            codes: Vec::new(),
        };
        of.add_names(image);
        let events =
            image.threads.iter().flat_map(|thread| of.events(&record, image, thread)).collect();
        let lost = super::sum(image.threads.iter().map(|thread| thread.log.lost));
        timelines.push(Timeline { pid: image.pid, events, codes: of.codes, lost });
    }
    Ok(timelines)
}

/// What the events of a process refer to.
struct Of<'a> {
    logs: Logs<'a>,
    ids: &'a HashMap<u32, u64>,
    stacks: Stacks<'a>,
    /// Code by the number of its stack, and names by theirs.
    known: HashMap<u32, Option<usize>>,
    codes: Vec<String>,
}

impl Of<'_> {
    /// Units are of one kind, so the names of spans and stacks do not mix.
    fn add_names(&mut self, image: &ProcessRecord) {
        for name in image.threads.iter().flat_map(|thread| &thread.spans) {
            self.known.insert(name.unit, Some(self.codes.len()));
            self.codes.push(name.name.clone());
        }
    }

    fn events(
        &mut self,
        record: &Record<'_>,
        image: &ProcessRecord,
        thread: &ThreadRecord,
    ) -> Vec<Event> {
        let ns = |ticks| record.ns_at(ticks);
        let event = |entry: &LoggedRecord| {
            let what = match entry.what {
                logged::HOLD => Activity::Hold,
                logged::SPAN => Activity::Span,
                _ => Activity::Wait,
            };
            let by = self.logs.by(entry);
            let by = by.filter(|&(_, at)| what == Activity::Wait && at >= entry.began);
            let by = by.and_then(|(by, at)| Some((image.threads.get(by)?.tid, ns(at))));
            let at_ns = ns(entry.began);
            Event {
                what,
                tid: thread.tid,
                lock: self.ids.get(&entry.lock).copied(),
                at_ns,
                ns: ns(entry.ended).saturating_sub(at_ns),
                by,
                code: match what {
                    Activity::Span => self.known.get(&entry.lock).copied().flatten(),
                    _ => self.code(entry.stack),
                },
            }
        };
        thread.log.entries.iter().map(event).collect()
    }

    fn code(&mut self, stack: u32) -> Option<usize> {
        if let Some(&known) = self.known.get(&stack) {
            return known;
        }
        let frames = self.stacks.frames(stack);
        let site = self.stacks.skipped.site(&frames);
        let code = site.map(|frame| {
            self.codes.push(rows::code(frame));
            self.codes.len() - 1
        });
        self.known.insert(stack, code);
        code
    }
}
