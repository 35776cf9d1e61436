//! An execution as a diagram: one column per thread, and under TSO one per store buffer that delays a store.
//!
//! # Contract
//! Under SC and TSO the rows are in an order of memory that explains every read: each sees the newest write, or its own
//! thread's buffered store. Under C11 there may be no such order; rows are then in the order of the run, and a read
//! that misses newer writes is marked `stale`. Rows are numbered, and a read names the row that it reads from.
//! Identical rounds of a thread are shown once, with their number (`fold`). Threads that a thread starts, or joins, in
//! a row share a row; a thread that takes no step that is drawn has none. Of plain memory only the two conflicting
//! accesses are drawn, with what is missing between them (`links`). The signs that occur are explained (`signs`).

mod fold;
mod links;
mod locks;
mod missing;
mod names;
mod signs;
mod waits;

use self::links::RowOf;
use self::names::{Names, is_queue};
use super::core::Core;
use super::ending::Access;
use super::graph::{Event, EventId, Kind, NOWHERE};
use super::memory::Memory;
use super::op::{Op, queued};
use super::ordered;
use super::verdict::Failure;
use crate::diagram::{Diagram, Pen};
use std::collections::BTreeSet;
use std::panic::Location as Site;

/// What is drawn in one row.
enum Moment {
    Happens(EventId),
    /// A store enters its thread's buffer.
    Enters(EventId),
    /// The thread's oldest buffered store reaches memory.
    Drains(usize),
}

/// Where a read has its value from.
#[derive(Clone, Copy)]
enum Origin {
    Initial,
    Buffer,
    Write { from: EventId, newer: Option<EventId> },
}

/// What a row is about, in addition to what is drawn in it.
#[derive(Clone, Copy, Default)]
struct Fact {
    event: Option<EventId>,
    origin: Option<Origin>,
    /// One of the conflicting accesses, by its index.
    access: Option<usize>,
}

/// Draws the run that `core` has just made and that ended in `failure`.
pub(crate) fn diagram(core: &Core, failure: &Failure) -> Diagram {
    let order = match core.growth.memory {
        Memory::C11 => core.log.clone(),
        Memory::Tso => ordered::memory_order(&core.graph, &core.log, true),
        Memory::Sc => ordered::memory_order(&core.graph, &core.log, false),
    };
    let moments = moments(core, &order);
    let buffers = |thread: usize| {
        moments.iter().any(|moment| matches!(moment, Moment::Enters(id) if of(*id) == thread))
    };
    let heads = (0..core.threads.len()).map(|thread| (format!("thread {thread}"), buffers(thread)));
    let mut drawing = Drawing::new(core, Pen::new(heads));
    drawing.find_drawn(&order, failure);
    for moment in moments {
        drawing.draw(&moment);
    }
    drawing.end(failure);
    drawing.finish(title(core, failure))
}

/// The rule that was broken and, for threads that wait forever, where each waits for what.
fn title(core: &Core, failure: &Failure) -> String {
    let lines = failure.to_string();
    let lines: Vec<_> = lines.lines().map(str::trim).collect();
    let told = lines.join("; ");
    let (threads, is_assumed) = match failure {
        Failure::Deadlock { threads } => (threads, false),
        Failure::Livelock { threads, .. } => (threads, true),
        _ => return told,
    };
    let names = Names::new(&core.graph);
    let waits: Vec<_> = threads.iter().map(|&at| (at, waits::of(core, &names, at))).collect();
    let kind = if waits.iter().any(|(_, wait)| wait.is_lost) { "lost wakeup" } else { "deadlock" };
    let mut lines: Vec<_> = waits.iter().map(|(thread, wait)| wait.told(*thread)).collect();
    if threads.len() > 1 || is_assumed {
        lines.insert(0, told.replacen("deadlock", kind, 1));
    } else {
        lines[0].insert_str(0, &format!("{kind}: "));
    }
    lines.join("\n")
}

fn of(id: EventId) -> usize {
    usize::from(id.thread)
}

/// Events in their places in the order; a store that later events of its thread overtake enters a buffer before them.
fn moments(core: &Core, order: &[EventId]) -> Vec<Moment> {
    let mut moments = Vec::new();
    let mut begun = vec![0; core.threads.len()];
    for &id in order {
        let (thread, index) = (of(id), usize::from(id.index));
        while begun[thread] + 1 < index {
            begun[thread] += 1;
            let earlier = EventId::new(thread, begun[thread]);
            let is_store = core.graph.get(earlier).kind == Kind::Write;
            moments.push(if is_store { Moment::Enters(earlier) } else { Moment::Happens(earlier) });
        }
        if begun[thread] < index {
            begun[thread] = index;
            moments.push(Moment::Happens(id));
        } else if core.graph.get(id).kind == Kind::Write {
            moments.push(Moment::Drains(thread));
        }
    }
    moments
}

struct Drawing<'c> {
    core: &'c Core,
    pen: Pen,
    names: Names,
    /// Of each row drawn.
    facts: Vec<Fact>,
    /// Events drawn so far.
    before: Vec<EventId>,
    /// Stores in buffers.
    waiting: BTreeSet<EventId>,
    /// Conflicting accesses that are not drawn yet, with their indices.
    accesses: Vec<(usize, Access)>,
    /// Events that share a row with others of their thread.
    sharing: Vec<(EventId, usize)>,
    /// By thread: whether anything of it is drawn.
    is_drawn: Vec<bool>,
}

impl<'c> Drawing<'c> {
    fn new(core: &'c Core, pen: Pen) -> Drawing<'c> {
        let names = Names::new(&core.graph);
        let clash = core.clash.iter().flat_map(|clash| clash.accesses).enumerate().collect();
        let (facts, before, waiting, sharing) = Default::default();
        let is_drawn = vec![false; core.threads.len()];
        let accesses = clash;
        Drawing { core, pen, names, facts, before, waiting, accesses, sharing, is_drawn }
    }

    /// Finds the threads of which something is drawn.
    fn find_drawn(&mut self, order: &[EventId], failure: &Failure) {
        let accesses = self.accesses.iter().map(|(_, access)| access.thread);
        let ends = match failure {
            Failure::Deadlock { threads } | Failure::Livelock { threads, .. } => threads.clone(),
            Failure::Panic { thread, .. }
            | Failure::Condition { thread, .. }
            | Failure::Unpublished { thread, .. } => vec![*thread],
            _ => Vec::new(),
        };
        accesses.chain(ends).collect::<Vec<_>>().iter().for_each(|&at| self.is_drawn[at] = true);
        // A start or a join is drawn if its other thread is: so until nothing is added.
        loop {
            let is_drawn = |id: &&EventId| self.describe(**id, self.core.graph.get(**id)).is_some();
            let more = order.iter().filter(|id| !self.is_drawn[of(**id)]).find(is_drawn);
            let Some(&id) = more else { return };
            self.is_drawn[of(id)] = true;
        }
    }

    /// Adds a start or a join to the row drawn last, if that is one of the same thread. `None`: it is not.
    fn share(&mut self, id: EventId, event: &Event) -> Option<()> {
        let last = self.facts.last().and_then(|fact| fact.event)?;
        let child = match (event.op, self.core.graph.get(last).op) {
            (Op::Spawn { child }, Op::Spawn { .. }) | (Op::Join { child }, Op::Join { .. }) => {
                child
            }
            _ => return None,
        };
        let row = if last.thread == id.thread { self.pen.last() } else { None }?;
        let cell = row.cells.iter_mut().find(|cell| !cell.is_empty())?;
        *cell += &format!(", {child}");
        let (here, line) = (place(event.site), event.site.line().to_string());
        let file = here.strip_suffix(&line).unwrap_or_default();
        if !row.note.starts_with(file) {
            row.note += &format!(", {here}");
        } else if !row.note[file.len()..].split(", ").any(|told| told == line) {
            row.note += &format!(", {line}");
        }
        self.sharing.push((id, self.facts.len() - 1));
        Some(())
    }

    fn row(&mut self, thread: usize, text: String, note: String, fact: Fact) {
        self.pen.moment(thread, text).note = note;
        self.facts.push(fact);
    }

    /// A row that shows where the failure is.
    fn point(&mut self, thread: usize, text: String, note: String, fact: Fact) {
        let row = self.pen.moment(thread, text);
        (row.note, row.marked) = (note, true);
        self.facts.push(fact);
    }

    fn draw(&mut self, moment: &Moment) {
        match *moment {
            Moment::Drains(thread) => {
                let oldest = self.waiting.iter().copied().find(|id| of(*id) == thread);
                oldest.map(|id| self.waiting.remove(&id));
                let is_drawn = |id| self.describe(id, self.core.graph.get(id)).is_some();
                if oldest.is_some_and(is_drawn) && self.pen.drained(thread) {
                    self.facts.push(Fact::default());
                }
            }
            Moment::Enters(id) => {
                self.access_before(id);
                let event = self.core.graph.get(id);
                let name = self.names.of(event.location);
                let waiting = format!("{name}={}", self.value(event, event.value));
                if let Some(text) = self.describe(id, event) {
                    self.pen.buffered(of(id), text, waiting).note = place(event.site);
                    self.facts.push(Fact { event: Some(id), ..Fact::default() });
                }
                self.waiting.insert(id);
                self.before.push(id);
            }
            Moment::Happens(id) => {
                self.access_before(id);
                let event = self.core.graph.get(id);
                if let Some(text) = self.describe(id, event)
                    && self.share(id, event).is_none()
                {
                    let fact = Fact { event: Some(id), origin: self.origin(id), access: None };
                    self.row(of(id), text, place(event.site), fact);
                }
                self.before.push(id);
            }
        }
    }

    /// The plain accesses of a thread before this event.
    fn access_before(&mut self, id: EventId) {
        let is_due =
            |access: &Access| access.thread == of(id) && access.events < usize::from(id.index);
        while let Some(at) = self.accesses.iter().position(|(_, access)| is_due(access)) {
            let (which, access) = self.accesses.remove(at);
            self.access(which, access);
        }
    }

    fn access(&mut self, which: usize, access: Access) {
        let memory = self.core.clash.as_ref().map_or("memory", |clash| &clash.of);
        let plain = if access.what == "uses" { "" } else { ", plain" };
        let text = format!("{} {memory}{plain}", access.what);
        let fact = Fact { access: Some(which), ..Fact::default() };
        self.point(access.thread, text, place(access.site), fact);
    }

    /// Draws how the run ended.
    fn end(&mut self, failure: &Failure) {
        for (which, access) in std::mem::take(&mut self.accesses) {
            self.access(which, access);
        }
        let mut point = |thread: usize, text: String, note: String| {
            self.point(thread, text, note, Fact::default());
        };
        match failure {
            Failure::Panic { thread, place, .. } => {
                let place = place.as_deref().unwrap_or_default();
                let file = place.rsplit('/').next().unwrap_or(place);
                point(*thread, "panics".into(), file.to_owned());
            }
            // Both accesses are already drawn.
            Failure::Race { .. } | Failure::UseAfterFree { .. } | Failure::DoubleFree { .. } => {}
            Failure::Leak { site } => {
                point(0, "ends with memory leaked".into(), format!("allocated at {}", place(site)));
            }
            Failure::Condition { thread, site, why } => {
                point(*thread, format!("its condition {why}"), place(site));
            }
            Failure::Unpublished { thread, site } => {
                point(*thread, "uses an atomic not published to it".into(), place(site));
            }
            Failure::Deadlock { threads } | Failure::Livelock { threads, .. } => {
                for &thread in threads {
                    let wait = waits::of(self.core, &self.names, thread);
                    let note = wait.site.map_or_else(String::new, place);
                    self.point(thread, wait.drawn(), note, Fact::default());
                }
            }
        }
    }

    /// Folds identical rounds, numbers the rows, and adds what leads from one to another.
    fn finish(mut self, title: String) -> Diagram {
        let pen = std::mem::replace(&mut self.pen, Pen::new(std::iter::empty()));
        let mut diagram = pen.finish(title, self.legend());
        diagram.numbered = true;
        let keys: Vec<_> = (0..diagram.rows.len()).map(|row| self.key(&diagram, row)).collect();
        let (shown, stands) = fold::fold(&keys);
        let mut rows = RowOf::new();
        for (row, fact) in self.facts.iter().enumerate() {
            if let Some(id) = fact.event {
                rows.insert(id, stands[row]);
                if self.core.graph.get(id).is_half() && self.core.graph.get(id).exclusive {
                    rows.insert(EventId { index: id.index - 1, ..id }, stands[row]);
                }
            }
        }
        rows.extend(self.sharing.iter().map(|&(id, row)| (id, stands[row])));
        let all = std::mem::take(&mut diagram.rows);
        for &(at, times) in &shown {
            let mut row = all[at].clone();
            let told = self.facts[at].origin.map(|origin| tell(origin, &diagram, &rows));
            let rounds = if times > 1 { format!(" ×{times}") } else { String::new() };
            if let Some(cell) = row.cells.iter_mut().find(|cell| !cell.is_empty()) {
                *cell += &(told.unwrap_or_default() + &rounds);
            }
            diagram.rows.push(row);
        }
        diagram.arrows = links::arrows(self.core, &rows);
        let row_of = |which| {
            let at = self.facts.iter().position(|fact| fact.access == Some(which))?;
            Some(stands[at])
        };
        if let (Some(clash), Some(one), Some(other)) = (&self.core.clash, row_of(0), row_of(1)) {
            diagram.reasons = links::reasons(self.core, &diagram, &rows, clash, (one, other));
        }
        diagram.legend = signs::legend(&diagram, self.unnamed(), &self.idle());
        self.without_idle(diagram)
    }

    /// Threads of which nothing is drawn.
    fn idle(&self) -> Vec<usize> {
        (1..self.is_drawn.len()).filter(|&thread| !self.is_drawn[thread]).collect()
    }

    /// The diagram without the columns of threads of which nothing is drawn.
    fn without_idle(&self, mut diagram: Diagram) -> Diagram {
        let idle: Vec<String> =
            self.idle().iter().map(|thread| format!("thread {thread}")).collect();
        let keeps: Vec<bool> = diagram.heads.iter().map(|head| !idle.contains(head)).collect();
        let kept = |cells: &mut Vec<String>| {
            let mut keeps = keeps.iter();
            cells.retain(|_| *keeps.next().expect("as many as columns"));
        };
        kept(&mut diagram.heads);
        diagram.rows.iter_mut().for_each(|row| kept(&mut row.cells));
        diagram
    }

    /// The first location in the diagram that has no name of its own.
    fn unnamed(&self) -> Option<String> {
        let graph = &self.core.graph;
        let cell = self.core.clash.iter().find(|clash| clash.of.starts_with("the cell of"));
        let of = |id: &EventId| graph.get(*id).location;
        let mut locations = self.before.iter().map(of).filter(|&at| at != NOWHERE);
        let at = locations.find(|&at| self.names.could_be_named(&graph.locations[at as usize]));
        at.map(|at| self.names.of(at).to_owned()).or(cell.map(|clash| clash.of.clone()))
    }

    /// The key of a row: rows with equal keys may be folded. Thread, text, place and, for a plain read, the origin.
    fn key(&self, diagram: &Diagram, at: usize) -> Option<(usize, String)> {
        let (row, fact) = (&diagram.rows[at], &self.facts[at]);
        let id = fact.event.filter(|_| !row.marked)?;
        let from = match fact.origin {
            Some(Origin::Write { from, newer }) if self.core.graph.get(id).kind == Kind::Read => {
                format!("{from:?} {newer:?}")
            }
            _ => String::new(),
        };
        Some((of(id), format!("{} {} {from}", row.cells.concat(), row.note)))
    }

    /// Where the named atomics in the diagram were created.
    fn legend(&self) -> String {
        let graph = &self.core.graph;
        let locations: BTreeSet<u32> = self
            .before
            .iter()
            .map(|&id| graph.get(id).location)
            .filter(|&at| at != NOWHERE)
            .collect();
        let made = |at: u32| self.names.legend(at, &graph.locations[at as usize]);
        locations.into_iter().filter_map(made).collect::<Vec<_>>().join(", ")
    }

    fn describe(&self, id: EventId, event: &Event) -> Option<String> {
        let name = || self.names.of(event.location);
        if let Some(step) = locks::step(&self.core.graph, &self.names, event) {
            return step;
        }
        Some(match (event.kind, event.op) {
            // A LOCKed read-modify-write is placed at its write: no other write comes in between.
            (Kind::Read, _) if event.exclusive => return None,
            (Kind::Write, _) if event.exclusive => {
                let read = self.core.graph.get(EventId { index: id.index - 1, ..id });
                let (old, new) = (self.value(read, read.value), self.value(event, event.value));
                format!("{}: {old} -> {new}{}", name(), self.order(read))
            }
            (Kind::Read, Op::Cas { expected, new, .. }) => {
                let [expected, new, found] =
                    [expected, new, event.value].map(|value| self.value(event, value));
                let order = self.order(event);
                format!("{}: {expected} -> {new} fails, reads {found}{order}", name())
            }
            (Kind::Read, _) => {
                let half = matches!(event.op, Op::Unlocked { .. });
                let what = if half { " unlocked load".into() } else { self.order(event) };
                format!("{} = {}{what}", name(), self.value(event, event.value))
            }
            (Kind::Write, _) => {
                format!("{} := {}{}", name(), self.value(event, event.value), self.order(event))
            }
            (_, Op::Fence { order }) => format!("fence {}", order.name()),
            (_, Op::Light) => "light fence".into(),
            (_, Op::Heavy) => "heavy fence".into(),
            (_, Op::Spawn { child } | Op::Join { child }) if !self.is_drawn[usize::from(child)] => {
                return None;
            }
            (_, Op::Spawn { child }) => format!("spawn {child}"),
            (_, Op::Join { child }) => format!("join {child}"),
            (_, Op::Choice { .. }) => format!("choose {}", event.value),
            _ => {
                debug_assert_eq!(event.location, NOWHERE);
                return None;
            }
        })
    }

    /// A value of the event's location; for a queue, the threads in it; for a pointer into watched memory, the thread
    /// that allocated it and which of its allocations it is.
    fn value(&self, event: &Event, value: u64) -> String {
        if is_queue(&self.core.graph.locations[event.location as usize]) {
            return format!("{:?}", queued(value));
        }
        match self.core.heap.named(value) {
            Some((thread, number, 0)) => format!("block {thread}.{number}"),
            Some((thread, number, offset)) => format!("block {thread}.{number}+{offset}"),
            None => format!("{value:#x}"),
        }
    }

    /// The ordering of an access; under SC and TSO only SeqCst matters.
    fn order(&self, event: &Event) -> String {
        let is_told = self.core.growth.memory == Memory::C11 || event.order.sc;
        if is_told { format!(" {}", event.order.name()) } else { String::new() }
    }

    /// The newest write drawn above, if it is newer than the one read.
    fn newer(&self, read: &Event) -> Option<EventId> {
        let graph = &self.core.graph;
        let place = |write: EventId| graph.position(read.location, write);
        let is_write = |&id: &EventId| {
            let event = graph.get(id);
            let is_in_memory = event.kind == Kind::Write && !self.waiting.contains(&id);
            is_in_memory && event.location == read.location && place(id) > place(read.from)
        };
        let newest = self.before.iter().copied().filter(is_write).max_by_key(|&write| place(write));
        newest.filter(|_| !self.waiting.contains(&read.from))
    }

    fn origin(&self, id: EventId) -> Option<Origin> {
        let event = self.core.graph.get(id);
        if matches!(event.op, Op::RwLock(_)) {
            return None;
        }
        let read = match event.kind {
            Kind::Write if event.exclusive => {
                self.core.graph.get(EventId { index: id.index - 1, ..id })
            }
            Kind::Read => event,
            _ => return None,
        };
        let from = read.from;
        let newer = if event.exclusive { None } else { self.newer(read) };
        Some(if from.is_initial() && newer.is_none() {
            Origin::Initial
        } else if from.thread == id.thread && self.waiting.contains(&from) {
            Origin::Buffer
        } else {
            Origin::Write { from, newer }
        })
    }
}

/// An origin in words, once the rows have numbers.
fn tell(origin: Origin, diagram: &Diagram, rows: &RowOf) -> String {
    match origin {
        Origin::Initial => " (initial)".into(),
        Origin::Buffer => " (own buffer)".into(),
        Origin::Write { from, newer } => {
            let number = |id: EventId| rows.get(&id).map_or("?".into(), |&row| diagram.number(row));
            let from =
                if from.is_initial() { "initial".into() } else { format!("from {}", number(from)) };
            match newer {
                None => format!(" ({from})"),
                Some(newer) => format!(" ({from}, stale: {} is newer)", number(newer)),
            }
        }
    }
}

/// A place in the code, shortened.
pub(crate) fn place(site: &Site<'_>) -> String {
    let file = site.file();
    format!("{}:{}", file.rsplit('/').next().unwrap_or(file), site.line())
}
