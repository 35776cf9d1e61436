//! Replays what the graph already holds.
//!
//! # Contract
//! A request must be the one that the graph holds at its place: any other request means that the code depends on
//! something the checker does not see. Values that are addresses are taken from this run (C2 of `core`).

use super::core::{Core, Request, State, Stop};
use super::graph::{EventId, Kind};
use super::op::{Effect, Op};
use super::rounds::{Seen, What};
use super::verdict::hidden;

impl Core {
    /// Answers a load or a store from the graph if nothing else is needed: most steps of a long execution are replayed
    /// like this. `None`: [`Core::step`] decides. (The run that made the step checked that the atomic was created
    /// before it.)
    #[inline(always)]
    pub(crate) fn step_again(&mut self, thread: usize, op: &Op, location: u32) -> Option<u64> {
        let run = &self.threads[thread];
        let event = self.graph.threads[thread].get(run.executed)?;
        if event.location != location || run.condition.is_some() || self.stop.is_some() {
            return None;
        }
        let (site, value, from) = (event.site, event.value, event.from);
        match (op, &event.op) {
            // Effects matter only in conditions.
            (Op::Store { value, order }, Op::Store { value: before, order: asked })
                if value == before && order == asked && event.kind == Kind::Write =>
            {
                self.threads[thread].rounds.changed();
            }
            (Op::Load { order }, Op::Load { order: asked })
                if order == asked
                    && event.kind == Kind::Read
                    && self.is_executed(from)
                    && self.graph.value_of(location, from) == value =>
            {
                self.threads[thread].rounds.saw(Seen { site, location, what: What::Read(from) });
            }
            _ => return None,
        }
        let run = &mut self.threads[thread];
        run.executed += 1;
        run.hinted = false;
        self.log.push(EventId::new(thread, run.executed));
        Some(value)
    }

    /// Answers from the graph.
    pub(super) fn replay(&mut self, thread: usize, request: &Request) -> Option<u64> {
        let id = EventId::new(thread, self.threads[thread].executed + 1);
        let event = self.graph.get(id);
        let same_op =
            event.op == request.op || (request.address && event.op.same_shape(request.op));
        if !same_op || event.location != request.location {
            let message = format!(
                "thread {thread} {} at {} where it {} at {} in an earlier run (its step {})",
                request.op, request.site, event.op, event.site, id.index
            );
            self.stop = Some(Stop::Diverged(hidden(message)));
            return None;
        }
        match event.kind {
            Kind::Blocked => {
                self.threads[thread].state = State::Blocked;
                return None;
            }
            Kind::Read | Kind::Thread if !self.is_executed(event.from) => return None,
            Kind::Read => self.refresh_read(id, request)?,
            Kind::Write => {
                if let Op::Store { value, .. } = request.op
                    && event.value != value
                {
                    self.graph.get_mut(id).value = value;
                }
            }
            Kind::Fence | Kind::Thread | Kind::Choice => {}
        }
        if self.graph.get(id).op != request.op {
            self.graph.get_mut(id).op = request.op;
        }
        Some(self.answered(thread, id))
    }

    /// Takes the value of a read, and of the write that may go with it, from this run (C2).
    fn refresh_read(&mut self, id: EventId, request: &Request) -> Option<()> {
        let event = self.graph.get(id);
        let (old, had_write) =
            (event.value, matches!(event.op.effect(event.value), Some(Effect::Write { .. })));
        let value = self.graph.value_of(event.location, event.from);
        let effect = request.op.effect(value);
        let written =
            if let Some(Effect::Write { value, .. }) = effect { Some(value) } else { None };
        if (!request.address && value != old)
            || written.is_some() != had_write
            || effect == Some(Effect::Blocked)
        {
            let message = format!(
                "{}: an earlier run found {old:#x} here, this one finds {value:#x} (addresses differ between executions: \
                 allocate with `real::Box` or `real::alloc`, and keep pointers in an `AtomicPtr`)",
                request.site
            );
            self.stop = Some(Stop::Diverged(hidden(message)));
            return None;
        }
        if value != old {
            self.graph.get_mut(id).value = value;
        }
        let half = EventId { index: id.index + 1, ..id };
        if let Some(written) = written
            && (self.graph.get(half).value != written || self.graph.get(half).op != request.op)
        {
            let event = self.graph.get_mut(half);
            event.value = written;
            event.op = request.op;
        }
        Some(())
    }

    pub(super) fn is_executed(&self, id: EventId) -> bool {
        id.is_initial()
            || self
                .threads
                .get(usize::from(id.thread))
                .is_some_and(|run| run.executed >= usize::from(id.index))
    }
}
