//! The newest waits and holds of every thread, for a picture in time.
//!
//! # Contract
//! [`timeline`] reads the threads' logs: at most 32,512 waits and holds each; of holds, those for which others waited
//! and those of at least 20,000 ticks. Locks have the numbers of [`super::report`].

use super::path::Logs;
use super::stacks::Stacks;
use super::{Symbols, locks};
use crate::code::Skipped;
use crate::facts::Facts;
use crate::rows;
use crate::run::Span;
use std::collections::HashMap;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{
    self, LoggedRecord, ProcessRecord, ReadError, Record, ThreadRecord,
};

/// A wait or a hold. Times are in nanoseconds from the start of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// [`Span::Wait`] or [`Span::Hold`].
    pub what: Span,
    /// The thread.
    pub tid: u32,
    /// The lock; none for a wait for another thread's end.
    pub lock: Option<u64>,
    /// When it began.
    pub at_ns: u64,
    /// How long it lasted.
    pub ns: u64,
    /// The thread that ended the wait, and when; none if unknown.
    pub by: Option<(u32, u64)>,
    /// The code that waited or took the lock; none if unknown.
    pub code: Option<usize>,
}

/// What the threads of one process did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// The process.
    pub pid: u32,
    /// The waits and holds of each thread, in the order in which they ended.
    pub events: Vec<Event>,
    /// Code, by its number: function, file and line.
    pub codes: Vec<String>,
    /// How many earlier waits and holds were not kept.
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
    let mut first_id = 0;
    let mut timelines = Vec::new();
    for image in &record.processes {
        let units: Vec<u32> = locks::touched(image).map(|lock| lock.unit).collect();
        let ids = units.iter().zip(first_id..).map(|(&unit, id)| (unit, id)).collect();
        first_id += units.len() as u64;
        let stacks = Stacks::new(image, symbols, &skipped);
        let mut of = Of {
            logs: Logs::new(&record, image, &units),
            ids,
            stacks,
            known: HashMap::new(),
            codes: Vec::new(),
        };
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
    ids: HashMap<u32, u64>,
    stacks: Stacks<'a>,
    /// Code by the number of its stack.
    known: HashMap<u32, Option<usize>>,
    codes: Vec<String>,
}

impl Of<'_> {
    fn events(
        &mut self,
        record: &Record<'_>,
        image: &ProcessRecord,
        thread: &ThreadRecord,
    ) -> Vec<Event> {
        let ns =
            |ticks: u64| (ticks.saturating_sub(record.start_ticks) as f64 * record.tick_ns) as u64;
        let event = |entry: &LoggedRecord| {
            let is_hold = entry.what == logged::HOLD;
            let by = self.logs.by(entry).filter(|&(_, at)| !is_hold && at >= entry.began);
            let by = by.and_then(|(by, at)| Some((image.threads.get(by)?.tid, ns(at))));
            let at_ns = ns(entry.began);
            Event {
                what: if is_hold { Span::Hold } else { Span::Wait },
                tid: thread.tid,
                lock: self.ids.get(&entry.lock).copied(),
                at_ns,
                ns: ns(entry.ended).saturating_sub(at_ns),
                by,
                code: self.code(entry.stack),
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
