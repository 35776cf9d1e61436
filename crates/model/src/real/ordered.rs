//! SC and x86-TSO: one acyclic order over the events of all threads.
//!
//! # Contract
//! SC: program order, reads-from, write order and from-reads have no cycle together. TSO: the same, except that a plain
//! store is not ordered before a later plain load, and that a read of the own thread's store orders nothing. A SeqCst
//! store (an `xchg`), every read-modify-write, and a SeqCst fence (an `mfence`) are ordered with everything in their
//! thread. Starting and joining a thread are system calls and order like fences.
//!
//! Heavy fence (expedited membarrier) on TSO: every other thread takes an interrupt at some instruction boundary: what
//! comes before the boundary is in memory before the fence, what comes after sees what the fence saw. Which boundary is
//! found by need: an event already ordered before the fence lies before it, one ordered after lies after; both for one
//! instruction is a contradiction. The halves of a read-modify-write without LOCK are one instruction.
//!
//! # Sources
//! Owens, Sarkar, Sewell: A better x86 memory model: x86-TSO, TPHOLs 2009. Alglave, Maranget, Tautschnig: Herding cats,
//! TOPLAS 2014 (`x86tso.cat`). membarrier(2).

use super::clock::MAX_THREADS;
use super::graph::{Event, EventId, Graph, Kind};
use super::memory::Digraph;
use super::op::Op;

pub(crate) fn consistent(graph: &Graph, buffered: bool) -> bool {
    let mut order = Ordered::new(graph, buffered);
    order.global.is_acyclic() && (!buffered || order.interrupts())
}

/// The same, given that `graph` is consistent without the events `added`, each of which is the last of its thread: any
/// cycle then contains one of them. Only what follows them is searched.
pub(crate) fn admits(graph: &Graph, buffered: bool, added: &[EventId]) -> bool {
    let is_heavy = |event: &Event| event.op == Op::Heavy;
    if buffered && graph.sc_events > 0 && graph.iter().any(|(_, event)| is_heavy(event)) {
        return consistent(graph, true);
    }
    added.iter().all(|&id| !Followers::new(graph, buffered).lead_to(id))
}

/// What the order of memory puts after an event.
struct Followers<'g> {
    graph: &'g Graph,
    buffered: bool,
    /// By thread, the first event from which on all that its thread orders after it has been reached.
    all: [u16; MAX_THREADS],
    /// The same without plain loads, which a store lets pass.
    but_loads: [u16; MAX_THREADS],
    /// Ranges of reached events still to be followed: from one of a thread up to, not including, another.
    open: Vec<(EventId, u16, bool)>,
}

impl<'g> Followers<'g> {
    fn new(graph: &'g Graph, buffered: bool) -> Followers<'g> {
        let none = [u16::MAX; MAX_THREADS];
        Followers { graph, buffered, all: none, but_loads: none, open: Vec::new() }
    }

    fn lead_to(&mut self, start: EventId) -> bool {
        self.follow(start);
        while let Some((first, end, with_loads)) = self.open.pop() {
            let thread = usize::from(first.thread);
            let end = usize::from(end).min(self.graph.threads[thread].len() + 1);
            for index in usize::from(first.index)..end {
                let (id, event) =
                    (EventId::new(thread, index), &self.graph.threads[thread][index - 1]);
                if self.buffered && (is_silent(event) || (!with_loads && is_plain_load(event))) {
                    continue;
                }
                if id == start {
                    return true;
                }
                if !with_loads && !is_plain(event) {
                    self.reach(id);
                }
                self.follow(id);
            }
        }
        false
    }

    /// Follows the edges from the event to other threads.
    fn follow(&mut self, id: EventId) {
        let event = self.graph.get(id);
        match event.kind {
            Kind::Write => {
                let location = &self.graph.locations[event.location as usize];
                let next = location.order.get(self.graph.position(event.location, id));
                next.into_iter().for_each(|&next| self.reach(next));
                for read in location.accesses() {
                    let other = self.graph.get(read);
                    let is_read = other.kind == Kind::Read && other.from == id;
                    if is_read && (!self.buffered || read.thread != id.thread) {
                        self.reach(read);
                    }
                }
            }
            Kind::Read => {
                let position = self.graph.position(event.location, event.from);
                let next = self.graph.locations[event.location as usize].order.get(position);
                // The write of a read-modify-write follows its own read anyway.
                next.into_iter().for_each(|&next| self.reach(next));
            }
            Kind::Thread => match event.op {
                Op::Spawn { child } => {
                    let begin = EventId::new(usize::from(child), 1);
                    if self.graph.has(begin) {
                        self.reach(begin);
                    }
                }
                Op::End => self.graph.joined[usize::from(id.thread)]
                    .into_iter()
                    .for_each(|join| self.reach(join)),
                _ => {}
            },
            Kind::Blocked | Kind::Fence | Kind::Choice => {}
        }
    }

    /// Records that an event is reached, and with it what its thread orders after it.
    fn reach(&mut self, id: EventId) {
        let thread = usize::from(id.thread);
        let event = self.graph.get(id);
        let with_loads = !(self.buffered && is_plain(event) && event.kind == Kind::Write);
        let all = self.all[thread];
        let end = if with_loads { all } else { all.min(self.but_loads[thread]) };
        if id.index < end {
            self.open.push((id, end, with_loads));
            let limit = if with_loads { &mut self.all } else { &mut self.but_loads };
            limit[thread] = id.index;
        }
    }
}

/// The events of `run` in an order in which they reach memory; `graph` is consistent. A thread continues as long as it
/// can; otherwise the event that ran first is next. Silent events and waits are left out: they have no place in the
/// order.
pub(crate) fn memory_order(graph: &Graph, run: &[EventId], buffered: bool) -> Vec<EventId> {
    let mut order = Ordered::new(graph, buffered);
    if buffered {
        order.interrupts();
    }
    let later = graph.iter().map(|(id, _)| id).filter(|id| !run.contains(id));
    let before = order.global.before();
    let mut left: Vec<EventId> = run.iter().copied().chain(later).collect();
    let (mut sorted, mut running) = (Vec::new(), 0);
    while !left.is_empty() {
        let is_free = |&id: &EventId| {
            let before = before.of(order.number(id));
            !left.iter().any(|&other| before.contains(&(order.number(other) as u32)))
        };
        let goes_on = |id: &EventId| usize::from(id.thread) == running && is_free(id);
        let next = left.iter().position(goes_on).or_else(|| left.iter().position(is_free));
        let next = left.remove(next.expect("a consistent execution has no cycle"));
        running = usize::from(next.thread);
        sorted.push(next);
    }
    sorted.retain(|id| run.contains(id) && (!buffered || !is_silent(graph.get(*id))));
    sorted
}

struct Ordered<'g> {
    graph: &'g Graph,
    /// Number of the first event of each thread.
    base: Vec<usize>,
    global: Digraph,
}

/// A store that may wait in the buffer, or a load that may overtake it: everything else is ordered with both.
fn is_plain(event: &Event) -> bool {
    match event.kind {
        Kind::Write => !event.exclusive && !event.order.sc,
        // A LOCKed instruction is one whether or not it compares equal.
        Kind::Read => !event.exclusive && !matches!(event.op, Op::Cas { .. }),
        _ => false,
    }
}

fn is_plain_load(event: &Event) -> bool {
    event.kind == Kind::Read && is_plain(event)
}

/// What leaves no trace in the hardware: a light fence, a fence below SeqCst, a choice, a wait that continues.
fn is_silent(event: &Event) -> bool {
    match event.op {
        Op::Fence { order } => !order.sc,
        Op::Light | Op::Choice { .. } => true,
        _ => event.kind == Kind::Blocked,
    }
}

impl<'g> Ordered<'g> {
    fn new(graph: &'g Graph, buffered: bool) -> Ordered<'g> {
        let mut next = 0;
        let base = graph.threads.iter().map(|events| {
            let first = next;
            next += events.len();
            first
        });
        let base = base.collect();
        let mut order = Ordered { graph, base, global: Digraph::new(next) };
        order.program_order(buffered);
        order.communication(buffered);
        order
    }

    fn number(&self, id: EventId) -> usize {
        self.base[usize::from(id.thread)] + usize::from(id.index) - 1
    }

    /// Each event after the last one of each kind that it must follow: the others follow from those.
    fn program_order(&mut self, buffered: bool) {
        for (thread, events) in self.graph.threads.iter().enumerate() {
            let base = self.base[thread];
            if !buffered {
                (1..events.len()).for_each(|at| self.global.add(base + at - 1, base + at));
                continue;
            }
            let (mut stored, mut other) = (None, None);
            for (at, event) in events.iter().enumerate().filter(|(_, event)| !is_silent(event)) {
                let plain = is_plain(event);
                let before = if plain && event.kind == Kind::Read { None } else { stored };
                before
                    .into_iter()
                    .chain(other)
                    .for_each(|before| self.global.add(before, base + at));
                let last =
                    if plain && event.kind == Kind::Write { &mut stored } else { &mut other };
                *last = Some(base + at);
            }
        }
    }

    fn communication(&mut self, buffered: bool) {
        for (id, event) in self.graph.iter() {
            let here = self.number(id);
            match event.kind {
                Kind::Read => {
                    if !event.from.is_initial() && (!buffered || event.from.thread != id.thread) {
                        self.global.add(self.number(event.from), here);
                    }
                    let position = self.graph.position(event.location, event.from);
                    let next = self.graph.locations[event.location as usize].order.get(position);
                    // The write of a read-modify-write follows its own read anyway.
                    if let Some(&next) = next {
                        self.global.add(here, self.number(next));
                    }
                }
                Kind::Thread if !event.from.is_initial() => {
                    self.global.add(self.number(event.from), here)
                }
                _ => {}
            }
        }
        for location in &self.graph.locations {
            for pair in location.order.windows(2) {
                self.global.add(self.number(pair[0]), self.number(pair[1]));
            }
        }
    }

    /// Places the interrupts of every heavy fence, until a fixed point. False: there is no place for one.
    fn interrupts(&mut self) -> bool {
        let heavy: Vec<EventId> = self
            .graph
            .iter()
            .filter(|(_, event)| event.op == Op::Heavy)
            .map(|(id, _)| id)
            .collect();
        loop {
            let mut moved = false;
            for &fence in &heavy {
                for thread in (0..self.graph.threads.len())
                    .filter(|&thread| thread != usize::from(fence.thread))
                {
                    match self.interrupt(self.number(fence), thread) {
                        Some(changed) => moved |= changed,
                        None => return false,
                    }
                }
            }
            if !moved {
                return self.global.is_acyclic();
            }
        }
    }

    /// Orders the events of `thread` around `fence` as far as it is forced. `None`: contradiction.
    fn interrupt(&mut self, fence: usize, thread: usize) -> Option<bool> {
        let events = &self.graph.threads[thread];
        let base = self.base[thread];
        let before_fence = self.global.before().reached(fence);
        let reaches_fence = &before_fence[base..base + events.len()];
        let after = self.global.after().reached(fence);
        let after_fence = &after[base..base + events.len()];
        // Events before `low` lie before the interrupt; events from `high` on lie after it.
        let mut low = reaches_fence.iter().rposition(|&before| before).map_or(0, |at| at + 1);
        let mut high = after_fence.iter().position(|&after| after).unwrap_or(events.len());
        let is_second_half = |at: usize| {
            events
                .get(at)
                .is_some_and(|e| e.kind == Kind::Write && matches!(e.op, Op::Unlocked { .. }))
        };
        if is_second_half(low) {
            low += 1;
        }
        if is_second_half(high) {
            high -= 1;
        }
        if low > high {
            return None;
        }
        let mut changed = false;
        for (at, _) in reaches_fence.iter().enumerate().take(low).filter(|(_, reaches)| !**reaches)
        {
            self.global.add(base + at, fence);
            changed = true;
        }
        for (at, _) in after_fence.iter().enumerate().skip(high).filter(|(_, after)| !**after) {
            self.global.add(fence, base + at);
            changed = true;
        }
        Some(changed)
    }
}
