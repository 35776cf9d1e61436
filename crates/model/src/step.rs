//! The steps that can happen next and their effects: one definition for every memory model and both engines.
//!
//! # Contract
//! A step of a thread is one operation that other threads can observe, followed by private operations: arithmetic,
//! branches, and stores into the thread's own buffer. Running the private ones at once loses no outcome, since they
//! commute with every step of every other actor. In a program that asks for interrupts stores are not private, since an
//! interrupt may fall before or after a store. [`Stepper::in_program_order`] gives each store its own step, so that an
//! execution reads like the program.
//! # State
//! I1: a thread that is `Running` stands before an operation that other threads can observe.
//! I2: an interrupt falls on an instruction boundary: never on a thread that is `Half`, and only once its buffer is
//! empty (its stores drain one by one before that, which is equivalent to draining at the interrupt). Under TSO the
//! halves of a split read-modify-write need not be separate steps: no thread can distinguish a store not yet made from
//! one in the buffer.

pub use crate::happening::{Actor, Happening, Touch};

use crate::memory::Model;
use crate::program::{Loc, Op, Operand, Place, Program, Reg, Value};
use crate::state::{Control, State, Status};

/// Private operations in a row after which a thread counts as looping forever.
const PRIVATE_BOUND: u32 = 10_000;

/// A program under a memory model, ready to run step by step.
#[derive(Debug, Clone)]
pub struct Stepper<'p, M> {
    /// The program.
    pub program: &'p Program,
    /// The memory model.
    pub model: M,
    registers_at: Vec<usize>,
    eager: bool,
    loop_bound: Option<u16>,
}

impl<'p, M: Model> Stepper<'p, M> {
    /// Whether private stores run at once: the fewest steps, for the engines.
    pub fn new(program: &'p Program, model: M) -> Self {
        let mut at = program.locations.len();
        let registers_at = program.threads.iter().map(|thread| {
            let here = at;
            at += thread.registers.len();
            here
        });
        let registers_at = registers_at.collect();
        let interrupts = |op: &Op| matches!(op, Op::Membarrier | Op::Interrupt { .. });
        let quiet = !program.threads.iter().flat_map(|thread| &thread.code).any(interrupts);
        let eager = model.stores_are_private() && quiet;
        Stepper { program, model, registers_at, eager, loop_bound: None }
    }

    /// Gives every store its own step.
    #[must_use]
    pub fn in_program_order(mut self) -> Self {
        self.eager = false;
        self
    }

    /// Stops a thread after this many backward jumps.
    #[must_use]
    pub fn with_loop_bound(mut self, bound: u16) -> Self {
        self.loop_bound = Some(bound);
        self
    }

    /// The state before the first step. `happened` receives the private stores made before it.
    pub fn start(&self, happened: &mut Vec<Happening>) -> State {
        let mut state = State::default();
        state.words.extend(self.program.locations.iter().map(|location| location.init));
        for thread in &self.program.threads {
            state.words.extend_from_slice(&thread.registers);
            state.threads.push(Control::default());
        }
        for thread in 0..self.program.threads.len() {
            self.advance(&mut state, thread as u8, happened);
        }
        state
    }

    /// The value of a register.
    pub fn register(&self, state: &State, thread: u8, reg: Reg) -> Value {
        state.words[self.registers_at[usize::from(thread)] + usize::from(reg.0)]
    }

    fn set(&self, state: &mut State, thread: u8, reg: Reg, value: Value) {
        state.words[self.registers_at[usize::from(thread)] + usize::from(reg.0)] = value;
    }

    fn value(&self, state: &State, thread: u8, operand: Operand) -> Value {
        match operand {
            Operand::Imm(value) => value,
            Operand::Reg(reg) => self.register(state, thread, reg),
        }
    }

    fn place(&self, state: &State, thread: u8, place: Place) -> Option<Loc> {
        let index = place.index.map_or(0, |reg| self.register(state, thread, reg));
        let loc = u64::from(place.base).checked_add(index)?;
        (loc < self.program.locations.len() as u64).then_some(loc as Loc)
    }

    fn cut(&self, loc: Loc, value: Value) -> Value {
        self.program.locations[usize::from(loc)].cut(value)
    }

    /// The thread's next operation.
    pub fn next_op(&self, state: &State, thread: u8) -> Option<Op> {
        self.program.threads[usize::from(thread)]
            .code
            .get(usize::from(state.thread(thread).pc))
            .copied()
    }

    /// Lists the actors that can take a step.
    pub fn enabled(&self, state: &State, out: &mut Vec<Actor>) {
        out.clear();
        for thread in 0..self.program.threads.len() as u8 {
            if self.can_run(state, thread) {
                out.push(Actor::Thread(thread));
            }
        }
        let mut last = None;
        for entry in &state.buffer {
            if last != Some(entry.thread) {
                out.push(Actor::Drain(entry.thread));
                last = Some(entry.thread);
            }
        }
        let mut delayed = false;
        for (by, control) in state.threads.iter().enumerate() {
            match control.status {
                Status::Interrupting(mask) => {
                    let on = (0..self.program.threads.len() as u8).filter(|on| mask >> on & 1 == 1);
                    let ready = on.filter(|&on| self.at_boundary(state, on) && state.drained(on));
                    out.extend(ready.map(|on| Actor::Interrupt { by: by as u8, on }));
                }
                Status::Delayed(_) => delayed = true,
                _ => {}
            }
        }
        if let Some(delta) = self.model.delta()
            && delayed
            && state.buffer.iter().all(|entry| entry.age < delta)
        {
            out.push(Actor::Tick);
        }
    }

    /// Whether an interrupt may hit the thread now (I2).
    fn at_boundary(&self, state: &State, thread: u8) -> bool {
        !matches!(state.thread(thread).status, Status::Half(..))
    }

    /// Whether the thread can take its next step.
    pub fn can_run(&self, state: &State, thread: u8) -> bool {
        match state.thread(thread).status {
            Status::Half(..) => true,
            Status::Running => match self.next_op(state, thread) {
                None => false,
                Some(op) if op.is_barrier() && !state.drained(thread) => false,
                Some(Op::Lock { at }) => {
                    self.place(state, thread, at).is_none_or(|loc| state.memory(loc) == 0)
                }
                Some(_) => true,
            },
            _ => false,
        }
    }

    /// The locations that a step of an enabled actor would touch.
    pub fn touch(&self, state: &State, actor: Actor) -> Touch {
        match actor {
            Actor::Thread(thread) => self.touch_of_thread(state, thread),
            Actor::Drain(thread) => {
                let writes = state.waiting(thread).next().map(|entry| entry.loc);
                Touch { writes, ..Touch::default() }
            }
            Actor::Interrupt { .. } | Actor::Tick => Touch::default(),
        }
    }

    fn touch_of_thread(&self, state: &State, thread: u8) -> Touch {
        let buffered = self.model.stores_are_private() || self.model.delta().is_some();
        if let Status::Half(loc, _) = state.thread(thread).status {
            return Touch { writes: (!buffered).then_some(loc), ..Touch::default() };
        }
        let Some(op) = self.next_op(state, thread) else { return Touch::default() };
        let place = |place: Place| self.place(state, thread, place);
        let unless_own = |loc: Option<Loc>| loc.filter(|&loc| state.newest(thread, loc).is_none());
        match op {
            Op::Load { from, .. } => Touch { reads: unless_own(place(from)), ..Touch::default() },
            Op::Store { to, .. } if !buffered => Touch { writes: place(to), ..Touch::default() },
            Op::Rmw { at, locked: false, .. } | Op::CompareExchange { at, locked: false, .. } => {
                Touch { reads: unless_own(place(at)), ..Touch::default() }
            }
            Op::CompareExchange { at, expected, locked: true, .. } => {
                let loc = place(at);
                let expected = self.value(state, thread, expected);
                let writes = loc.filter(|&loc| state.memory(loc) == self.cut(loc, expected));
                Touch { reads: loc, writes, queue: None }
            }
            Op::Rmw { at, .. } | Op::Lock { at } => {
                Touch { reads: place(at), writes: place(at), queue: None }
            }
            Op::Unlock { at } => Touch { writes: place(at), ..Touch::default() },
            // Whether it sleeps may change before it runs, so it always counts as touching the queue.
            Op::FutexWait { at, .. } => Touch { reads: place(at), writes: None, queue: place(at) },
            Op::FutexWake { at, .. } => Touch { queue: place(at), ..Touch::default() },
            _ => Touch::default(),
        }
    }

    /// Takes one step of `actor`, which must be enabled. `happened` is cleared and receives the effects in order.
    pub fn apply(&self, state: &mut State, actor: Actor, happened: &mut Vec<Happening>) {
        happened.clear();
        match actor {
            Actor::Thread(thread) => {
                self.run(state, thread, happened);
                self.advance(state, thread, happened);
            }
            Actor::Drain(thread) => {
                if let Some(entry) = state.take_oldest(thread) {
                    state.words[usize::from(entry.loc)] = entry.value;
                    happened.push(Happening::Wrote {
                        thread,
                        loc: entry.loc,
                        value: entry.value,
                        drained: true,
                    });
                }
            }
            Actor::Interrupt { by, on } => {
                happened.push(Happening::Interrupted { by, on });
                let control = &mut state.threads[usize::from(by)];
                if let Status::Interrupting(mask) = control.status {
                    let left = mask & !(1 << on);
                    control.status =
                        if left == 0 { Status::Running } else { Status::Interrupting(left) };
                }
                self.advance(state, by, happened);
            }
            Actor::Tick => {
                happened.push(Happening::Ticked);
                for entry in &mut state.buffer {
                    entry.age = entry.age.saturating_add(1);
                }
                for thread in 0..state.threads.len() {
                    if let Status::Delayed(ticks) = state.threads[thread].status {
                        let left = ticks - 1;
                        state.threads[thread].status =
                            if left == 0 { Status::Running } else { Status::Delayed(left) };
                        self.advance(state, thread as u8, happened);
                    }
                }
            }
        }
    }

    /// Runs the private operations up to the next one that other threads can observe (I1).
    fn advance(&self, state: &mut State, thread: u8, happened: &mut Vec<Happening>) {
        let mut private = 0;
        while state.thread(thread).status == Status::Running {
            let pc = state.thread(thread).pc;
            let mut next = pc + 1;
            match self.next_op(state, thread) {
                None => {
                    state.threads[usize::from(thread)].status = Status::Ended;
                    return;
                }
                Some(Op::Compute { to, left, how, right }) => {
                    let result = how
                        .apply(self.value(state, thread, left), self.value(state, thread, right));
                    self.set(state, thread, to, result);
                }
                Some(Op::Branch { left, test, right, target }) => {
                    if test.holds(self.value(state, thread, left), self.value(state, thread, right))
                    {
                        next = target;
                    }
                }
                Some(Op::Delay { ticks }) if self.model.delta().is_none() || ticks == 0 => {}
                Some(Op::Store { to, value }) if self.eager => {
                    self.store(state, thread, to, value, happened)
                }
                Some(_) => return,
            }
            private += 1;
            let control = &mut state.threads[usize::from(thread)];
            control.pc = next;
            if next <= pc {
                control.loops += u16::from(self.loop_bound.is_some());
                if self.loop_bound.is_some_and(|bound| control.loops > bound)
                    || private > PRIVATE_BOUND
                {
                    control.status = Status::Cut;
                }
            }
        }
    }

    fn fault(state: &mut State, thread: u8, happened: &mut Vec<Happening>) {
        happened.push(Happening::Faulted { thread });
        state.threads[usize::from(thread)].status = Status::Faulted;
    }

    fn store(
        &self,
        state: &mut State,
        thread: u8,
        to: Place,
        value: Operand,
        happened: &mut Vec<Happening>,
    ) {
        let Some(loc) = self.place(state, thread, to) else {
            return Self::fault(state, thread, happened);
        };
        let value = self.cut(loc, self.value(state, thread, value));
        self.plain_store(state, thread, loc, value, happened);
    }

    fn plain_store(
        &self,
        state: &mut State,
        thread: u8,
        loc: Loc,
        value: Value,
        happened: &mut Vec<Happening>,
    ) {
        happened.push(if self.model.store(state, thread, loc, value) {
            Happening::Buffered { thread, loc, value }
        } else {
            Happening::Wrote { thread, loc, value, drained: false }
        });
    }

    /// Runs the operation at `pc`, which other threads can observe. If the operation is a barrier, the buffer is empty.
    fn run(&self, state: &mut State, thread: u8, happened: &mut Vec<Happening>) {
        let at = usize::from(thread);
        if let Status::Half(loc, value) = state.threads[at].status {
            state.threads[at].status = Status::Running;
            state.threads[at].pc += 1;
            return self.plain_store(state, thread, loc, value, happened);
        }
        let Some(op) = self.next_op(state, thread) else { return };
        let loc = match op.place().map(|place| self.place(state, thread, place)) {
            Some(None) => return Self::fault(state, thread, happened),
            Some(Some(loc)) => loc,
            None => 0,
        };
        state.threads[at].pc += 1;
        match op {
            Op::Load { to, .. } => {
                let seen = self.read(state, thread, loc, happened);
                self.set(state, thread, to, seen);
            }
            Op::Store { value, .. } => {
                let value = self.cut(loc, self.value(state, thread, value));
                self.plain_store(state, thread, loc, value, happened);
            }
            Op::Rmw { how, by, old, locked, .. } => {
                let by = self.value(state, thread, by);
                let seen = self.read(state, thread, loc, happened);
                let new = self.cut(loc, how.apply(seen, by));
                old.into_iter().for_each(|old| self.set(state, thread, old, seen));
                self.second_half(state, thread, loc, new, locked, happened);
            }
            Op::CompareExchange { expected, new, old, locked, .. } => {
                let expected = self.cut(loc, self.value(state, thread, expected));
                let new = self.cut(loc, self.value(state, thread, new));
                let seen = self.read(state, thread, loc, happened);
                self.set(state, thread, old, seen);
                if seen == expected {
                    self.second_half(state, thread, loc, new, locked, happened);
                } else if !locked {
                    // It writes back the value it read, so a store of another thread in between is lost.
                    self.second_half(state, thread, loc, seen, locked, happened);
                }
            }
            Op::Lock { .. } => {
                self.read(state, thread, loc, happened);
                self.write_memory(state, thread, loc, 1, happened);
                happened.push(Happening::Locked { thread, loc });
            }
            Op::Unlock { .. } => self.write_memory(state, thread, loc, 0, happened),
            Op::FutexWait { expected, .. } => {
                let expected = self.cut(loc, self.value(state, thread, expected));
                if self.read(state, thread, loc, happened) == expected {
                    state.threads[at].status = Status::Asleep;
                    state.put_to_sleep(loc, thread);
                    happened.push(Happening::Slept { thread, loc });
                } else {
                    happened.push(Happening::Passed { thread, loc });
                }
            }
            Op::FutexWake { count, .. } => self.wake(state, thread, loc, count, happened),
            Op::Fence => happened.push(Happening::Fenced { thread }),
            Op::Membarrier => self.ask(state, thread, u32::MAX, happened),
            Op::Interrupt { thread: other } => self.ask(state, thread, 1 << other, happened),
            Op::Delay { ticks } => state.threads[at].status = Status::Delayed(ticks),
            Op::Compute { .. } | Op::Branch { .. } => {}
        }
    }

    fn read(&self, state: &State, thread: u8, loc: Loc, happened: &mut Vec<Happening>) -> Value {
        let seen = self.model.load(state, thread, loc);
        happened.push(Happening::Read {
            thread,
            loc,
            value: seen.value,
            forwarded: seen.forwarded,
        });
        seen.value
    }

    fn write_memory(
        &self,
        state: &mut State,
        thread: u8,
        loc: Loc,
        value: Value,
        happened: &mut Vec<Happening>,
    ) {
        state.words[usize::from(loc)] = value;
        happened.push(Happening::Wrote { thread, loc, value, drained: false });
    }

    fn second_half(
        &self,
        state: &mut State,
        thread: u8,
        loc: Loc,
        value: Value,
        locked: bool,
        happened: &mut Vec<Happening>,
    ) {
        if locked {
            self.write_memory(state, thread, loc, value, happened);
        } else if self.eager || self.model.delta().is_some() {
            self.plain_store(state, thread, loc, value, happened);
        } else {
            let control = &mut state.threads[usize::from(thread)];
            control.pc -= 1;
            control.status = Status::Half(loc, value);
        }
    }

    fn wake(
        &self,
        state: &mut State,
        thread: u8,
        loc: Loc,
        count: u32,
        happened: &mut Vec<Happening>,
    ) {
        let mut woken = 0u32;
        let mut left = count;
        state.sleepers.retain(|&(at, sleeper)| {
            let wakes = at == loc && left > 0;
            if wakes {
                left -= 1;
                woken |= 1 << sleeper;
            }
            !wakes
        });
        happened.push(Happening::Woke { thread, loc, sleepers: woken });
        for sleeper in
            (0..self.program.threads.len() as u8).filter(|sleeper| woken >> sleeper & 1 == 1)
        {
            state.threads[usize::from(sleeper)].status = Status::Running;
            self.advance(state, sleeper, happened);
        }
    }

    fn ask(&self, state: &mut State, thread: u8, mask: u32, happened: &mut Vec<Happening>) {
        let threads = self.program.threads.len();
        let everybody = if threads >= 32 { u32::MAX } else { (1 << threads) - 1 };
        let others = mask & everybody & !(1 << thread);
        happened.push(Happening::Asked { thread, others });
        if others != 0 {
            state.threads[usize::from(thread)].status = Status::Interrupting(others);
        }
    }
}
