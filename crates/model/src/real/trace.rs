//! An execution drawn: a column for each thread, and under TSO one for each buffer that holds something back.
//!
//! # Contract
//! Under SC and TSO the moments stand in an order of memory that explains every read: each sees the newest write, or
//! its own thread's waiting store. Under C11 there need be no such order; there the moments stand as they were run, and
//! a read that misses newer writes says so. Plain cells are no events: of a race only the later access is drawn.

use super::core::{Core, QUEUE};
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
    /// A store that waits in its thread's buffer from here on.
    Enters(EventId),
    /// The oldest store of the thread reaches memory.
    Drains(usize),
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
    let mut pen = Pen::new(heads);
    let mut drawing = Drawing { core, before: Vec::new(), waiting: BTreeSet::new() };
    for moment in moments {
        drawing.draw(&mut pen, &moment);
    }
    drawing.end(&mut pen, failure);
    let lines = failure.to_string();
    let lines: Vec<_> = lines.lines().map(str::trim).collect();
    pen.finish(lines.join("; "), drawing.legend())
}

fn of(id: EventId) -> usize {
    usize::from(id.thread)
}

/// Events at their place in the order; a store that later events of its thread overtake enters a buffer before them.
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
    /// Events drawn so far.
    before: Vec<EventId>,
    /// Stores in buffers.
    waiting: BTreeSet<EventId>,
}

impl Drawing<'_> {
    fn draw(&mut self, pen: &mut Pen, moment: &Moment) {
        match *moment {
            Moment::Drains(thread) => {
                let oldest = self.waiting.iter().copied().find(|id| of(*id) == thread);
                oldest.map(|id| self.waiting.remove(&id));
                pen.drained(thread);
            }
            Moment::Enters(id) => {
                let event = self.core.graph.get(id);
                let waiting =
                    format!("{}={}", self.name(event.location), self.value(event, event.value));
                if let Some(text) = self.describe(id, event) {
                    pen.buffered(of(id), text, waiting).note = place(event.site);
                }
                self.waiting.insert(id);
                self.before.push(id);
            }
            Moment::Happens(id) => {
                let event = self.core.graph.get(id);
                if let Some(text) = self.describe(id, event) {
                    pen.moment(of(id), text).note = place(event.site);
                }
                self.before.push(id);
            }
        }
    }

    /// What the run ended in.
    fn end(&self, pen: &mut Pen, failure: &Failure) {
        let mut point = |thread: usize, text: String, note: String| {
            let row = pen.moment(thread, text);
            (row.note, row.marked) = (note, true);
        };
        match failure {
            Failure::Panic { thread, place, .. } => {
                let place = place.as_deref().unwrap_or_default();
                let file = place.rsplit('/').next().unwrap_or(place);
                point(*thread, "panics".into(), file.to_owned());
            }
            Failure::Race { thread, site, other } => {
                let what = self.core.clash.map_or("access", |[_, later]| later.what);
                point(*thread, format!("plain {what}, races with {}", place(other)), place(site))
            }
            Failure::UseAfterFree { thread, site, freed, .. } => {
                point(*thread, format!("uses memory freed at {}", place(freed)), place(site));
            }
            Failure::DoubleFree { thread, site, freed, .. } => {
                point(
                    *thread,
                    format!("frees again what was freed at {}", place(freed)),
                    place(site),
                );
            }
            Failure::Leak { site } => {
                point(0, "ends with memory left".into(), format!("allocated at {}", place(site)));
            }
            Failure::Condition { thread, site, why } => {
                point(*thread, format!("its condition {why}"), place(site));
            }
            Failure::Unpublished { thread, site } => {
                point(*thread, "uses an atomic not published to it".into(), place(site))
            }
            Failure::Deadlock { threads } => {
                for &thread in threads {
                    let last = self.core.graph.threads[thread].last();
                    match last.filter(|event| event.kind == Kind::Blocked) {
                        Some(event) => {
                            let what = format!("waits for {}, for ever", self.name(event.location));
                            point(thread, what, place(event.site));
                        }
                        None => point(thread, "waits for ever".into(), String::new()),
                    }
                }
            }
        }
    }

    /// Where the atomics drawn were made.
    fn legend(&self) -> String {
        let graph = &self.core.graph;
        let locations: BTreeSet<u32> = self
            .before
            .iter()
            .map(|&id| graph.get(id).location)
            .filter(|&at| at != NOWHERE)
            .collect();
        let made = locations.into_iter().filter_map(|at| {
            let site = graph.locations[at as usize].made?;
            Some(format!("{} made at {}", self.name(at), place(site)))
        });
        made.collect::<Vec<_>>().join(", ")
    }

    fn name(&self, location: u32) -> String {
        let (creator, count) = self.core.graph.locations[location as usize].name;
        match creator {
            0..=15 => format!("a{creator}.{count}"),
            255 => format!("static.{count}"),
            QUEUE.. => format!("queue of a{}.{count}", creator & 15),
            64.. => format!("token of thread {}", creator & 15),
            _ => format!("location {location}"),
        }
    }

    fn describe(&self, id: EventId, event: &Event) -> Option<String> {
        let name = || self.name(event.location);
        Some(match (event.kind, event.op) {
            // A LOCKed read-modify-write stands where its write does: nobody writes in between.
            (Kind::Read, _) if event.exclusive => return None,
            (Kind::Write, _) if event.exclusive => {
                let read = self.core.graph.get(EventId { index: id.index - 1, ..id });
                let (old, new) = (self.value(read, read.value), self.value(event, event.value));
                format!("{}: {old} -> {new}{}{}", name(), self.order(read), self.origin(id, read))
            }
            (Kind::Read, _) => {
                let half = matches!(event.op, Op::Unlocked { .. });
                let what = if half { " unlocked load".into() } else { self.order(event) };
                let old = if self.is_stale(event) { ", not the newest" } else { "" };
                let value = self.value(event, event.value);
                format!("{} = {value}{what}{}{old}", name(), self.origin(id, event))
            }
            (Kind::Write, _) => {
                format!("{} := {}{}", name(), self.value(event, event.value), self.order(event))
            }
            (_, Op::Fence { order }) => format!("fence {}", order.name()),
            (_, Op::Light) => "light fence".into(),
            (_, Op::Heavy) => "heavy fence".into(),
            (_, Op::Spawn { child }) => format!("spawn {child}"),
            (_, Op::Join { child }) => format!("join {child}"),
            (_, Op::Choice { .. }) => format!("choose {}", event.value),
            _ => {
                debug_assert_eq!(event.location, NOWHERE);
                return None;
            }
        })
    }

    /// A value of the event's location; of a queue, the threads in it.
    fn value(&self, event: &Event, value: u64) -> String {
        let (creator, _) = self.core.graph.locations[event.location as usize].name;
        if (QUEUE..u8::MAX).contains(&creator) {
            format!("{:?}", queued(value))
        } else {
            format!("{value:#x}")
        }
    }

    /// The ordering of an access; under SC and TSO only SeqCst makes a difference.
    fn order(&self, event: &Event) -> String {
        let is_told = self.core.growth.memory == Memory::C11 || event.order.sc;
        if is_told { format!(" {}", event.order.name()) } else { String::new() }
    }

    /// Whether a write drawn above is newer than the one read.
    fn is_stale(&self, read: &Event) -> bool {
        let graph = &self.core.graph;
        let place = graph.position(read.location, read.from);
        !self.waiting.contains(&read.from)
            && self.before.iter().filter(|write| !self.waiting.contains(write)).any(|&write| {
                let other = graph.get(write);
                other.kind == Kind::Write
                    && other.location == read.location
                    && graph.position(read.location, write) > place
            })
    }

    fn origin(&self, id: EventId, read: &Event) -> String {
        if read.from.is_initial() {
            " (initial)".into()
        } else if read.from.thread == id.thread && self.waiting.contains(&read.from) {
            " (own buffer)".into()
        } else {
            format!(" (thread {})", read.from.thread)
        }
    }
}

fn place(site: &Site<'_>) -> String {
    let file = site.file();
    format!("{}:{}", file.rsplit('/').next().unwrap_or(file), site.line())
}
