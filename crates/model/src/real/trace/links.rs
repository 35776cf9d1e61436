//! Which rows of a trace are ordered by which others, and why two accesses are not.
//!
//! # Contract
//! There is one arrow for each read of another thread's write, for the start and the end of each thread, and for what
//! an acquire fence or an asymmetric fence learns. An arrow `orders` if what happens before its source also happens
//! before its target. [`reasons`] says which link is missing between two accesses that conflict.

use super::super::core::Core;
use super::super::ending::Clash;
use super::super::graph::{EventId, Kind};
use super::super::op::Op;
use super::missing::{self, Lack, Link, Repairs};
use crate::diagram::{Arrow, Diagram};
use std::collections::BTreeMap;

/// The most sets of missing orderings to print.
const MOST_SETS: usize = 4;

/// The row of each event that has one.
pub(crate) type RowOf = BTreeMap<EventId, usize>;

/// The arrows between rows, sorted by target row.
pub(crate) fn arrows(core: &Core, rows: &RowOf) -> Vec<Arrow> {
    let graph = &core.graph;
    let mut arrows = Vec::new();
    let mut add = |from: Option<usize>, to: Option<usize>, orders: bool| {
        if let (Some(from), Some(to)) = (from, to) {
            arrows.push(Arrow { from, to, orders });
        }
    };
    let last_row = |id: EventId| {
        let events = EventId { index: 1, ..id }..=id;
        rows.range(events).next_back().map(|(_, &row)| row)
    };
    for (&id, &row) in rows {
        let event = graph.get(id);
        let hb = &graph.clocks(id).hb;
        let before = Some(EventId { index: id.index - 1, ..id }).filter(|id| !id.is_initial());
        match (event.kind, event.op) {
            (Kind::Read, _) if event.from.thread != id.thread && !event.from.is_initial() => {
                add(rows.get(&event.from).copied(), Some(row), hb.knows(event.from));
            }
            (_, Op::Spawn { child }) => {
                let begin = EventId::new(usize::from(child), 1);
                let end = EventId { index: u16::MAX, ..begin };
                add(Some(row), rows.range(begin..=end).next().map(|(_, &row)| row), true);
            }
            (_, Op::Join { .. }) => add(last_row(event.from), Some(row), true),
            (Kind::Fence, _) => {
                for thread in (0..graph.threads.len()).filter(|&t| t != usize::from(id.thread)) {
                    let knew = before.map_or(0, |before| graph.clocks(before).hb.get(thread));
                    if hb.get(thread) > knew {
                        let last = EventId::new(thread, hb.get(thread));
                        add(last_row(last), Some(row), true);
                    }
                }
            }
            _ => {}
        }
    }
    arrows.sort_by_key(|arrow| (arrow.to, arrow.from));
    arrows.dedup();
    arrows
}

/// Why the two accesses, in rows `earlier` and `later`, are not ordered.
pub(crate) fn reasons(
    core: &Core,
    diagram: &Diagram,
    rows: &RowOf,
    clash: &Clash,
    (earlier, later): (usize, usize),
) -> Vec<String> {
    let [one, other] = clash.accesses;
    let (earlier, later) = (diagram.number(earlier), diagram.number(later));
    let told = Told { core, diagram, rows };
    let last = EventId::new(other.thread, other.events);
    if one.thread == other.thread
        || !last.is_initial() && core.graph.clocks(last).hb.get(one.thread) > one.events
    {
        return vec![format!("{later} comes after {earlier}")];
    }
    let is_led = !last.is_initial() && core.graph.clocks(last).prefix.get(one.thread) > one.events;
    let repairs = missing::repairs(core, one, other);
    let mut lines = vec![format!("no release/acquire pair orders {earlier} before {later}")];
    let mut sets = repairs.iter();
    match (sets.next(), sets.next()) {
        (None, _) if is_led => {
            lines.push("more orderings are missing between them than this search considers".into());
        }
        (None, _) => lines.push(format!(
            "nothing that leads to {later} reads what thread {} wrote after {earlier}",
            one.thread
        )),
        (Some((set, links)), None) => lines.extend(told.links(set, links, earlier)),
        _ => lines.push(told.sets(&repairs)),
    }
    lines
}

/// Missing orderings in words.
struct Told<'c> {
    core: &'c Core,
    diagram: &'c Diagram,
    rows: &'c RowOf,
}

impl Told<'_> {
    fn row(&self, id: EventId) -> String {
        self.rows.get(&id).map_or_else(|| "it".into(), |&row| self.diagram.number(row))
    }

    fn lack(&self, lack: Lack, does: &str, ending: &str) -> String {
        let (id, verb) = match lack {
            Lack::Release(id) => (id, "release"),
            Lack::Acquire(id) => (id, "acquire"),
        };
        let order = self.core.graph.get(id).order.name();
        format!("{} ({order}) {does}{verb}{ending}", self.row(id))
    }

    /// What each link lacks of the set.
    fn links(&self, set: &[Lack], links: &[Link], earlier: String) -> Vec<String> {
        let mut known = earlier;
        let line = |link: &Link| {
            let is_here = |lack: &&Lack| match lack {
                Lack::Release(id) => *id == link.head,
                Lack::Acquire(id) => *id == link.read,
            };
            let lacks = set.iter().filter(is_here).map(|&lack| self.lack(lack, "does not ", ""));
            let lacks: Vec<_> = lacks.collect();
            let carried = if link.head == link.write {
                String::new()
            } else {
                format!(", which continues the release sequence of {}", self.row(link.head))
            };
            let (read, write) = (self.row(link.read), self.row(link.write));
            let known = std::mem::replace(&mut known, read.clone());
            format!(
                "{read} reads what {write} wrote after {known}{carried}, but {}",
                lacks.join(", ")
            )
        };
        links.iter().map(line).collect()
    }

    /// Sets of which any one suffices.
    fn sets(&self, repairs: &Repairs) -> String {
        let set = |set: &Vec<Lack>| {
            let lacks: Vec<_> = set.iter().map(|&lack| self.lack(lack, "", "s")).collect();
            lacks.join(" and ")
        };
        let mut told: Vec<_> = repairs.keys().map(set).collect();
        // Repeated rounds share a row.
        told.dedup();
        let more = told.len().saturating_sub(MOST_SETS);
        told.truncate(MOST_SETS);
        let others = if more > 0 { format!("; or one of {more} others") } else { String::new() };
        format!("one of these would suffice: {}{others}", told.join("; or "))
    }
}
