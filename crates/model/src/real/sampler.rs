//! Executions drawn at random: which thread takes the next step, and what it finds.
//!
//! # Contract
//! Of four runs two follow PCT and read the newest writes, one follows PCT and one POS with what they find drawn
//! uniformly from what the memory model allows there: writes to read, places of a write. Under SC all read the newest
//! writes. Options of a choice are drawn uniformly.
//!
//! - PCT: each thread has a random priority, the highest that can go on takes the next step, and at `depth` - 1 random
//!   steps the thread that is about to take one becomes the lowest. With n threads and k steps a run finds a bug of
//!   this depth with a probability of at least 1 / (n k^(depth - 1)). A bug's depth is the least number of constraints
//!   "this step before that one", of different threads, that make every run which keeps them show it.
//! - POS: each step that could be taken has a random priority; a step redraws those that access its location.
//!
//! The stated probability counts the runs that follow PCT, read the newest writes and drew their change points from a
//! step count that no run exceeded. It covers bugs that show under sequential consistency. None is stated if a thread
//! gives a hint, which moves it behind the others regardless of its priority, or if the code makes a choice, on which
//! the bug may depend too.
//!
//! A wait is taken only when what it waits for has happened, and a loop's next round when something it reads has
//! changed, as long as another thread can continue.
//!
//! # Sources
//! Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs,
//! ASPLOS 2010. Yuan, Yang, Gu: Partial order aware concurrency sampling, CAV 2018.

use super::core::{Core, Request, State};
use super::graph::{Event, EventId, NOWHERE};
use super::op::{Effect, Op};
use super::schedule::Find;
use crate::random::Random;

/// What is drawn for the run with this number.
pub(crate) fn random(seed: u64, run: u64) -> Random {
    let mut mixed = Random(seed ^ run.wrapping_mul(0xd134_2543_de82_ef95));
    Random(mixed.next())
}

/// Random priorities are above those that hints give, which are above those of PCT's change points.
const DRAWN: u64 = 1 << 63;
const HINTED: u64 = 1 << 62;

#[derive(Clone, Debug)]
struct Contender {
    priority: u64,
    /// Its next request, once it has made it.
    asks: Option<Request>,
    /// It has given a hint and waits for a change.
    yields: bool,
    /// Its number of events when it began to evaluate a condition.
    began: usize,
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    random: Random,
    is_pos: bool,
    is_weak: bool,
    contenders: Vec<Contender>,
    /// Steps at which the running thread drops to the lowest priority, with that priority.
    changes: Vec<(u64, u64)>,
    pub(crate) steps: u64,
    /// Why PCT guarantees nothing for this run.
    pub(crate) unstated: Option<&'static str>,
    lowest_hint: u64,
    granted: Option<usize>,
}

impl Sampler {
    /// The run with this number, of at most this many steps.
    pub(crate) fn new(seed: u64, run: u64, depth: u32, steps: u64, is_sc: bool) -> Sampler {
        let mut random = random(seed, run);
        let change = |at| (1 + random.below(steps), u64::from(at));
        let changes = (1..depth).map(change).collect();
        Sampler {
            random,
            is_pos: run % 4 == 3,
            is_weak: run % 2 == 1 && !is_sc,
            contenders: Vec::new(),
            changes,
            steps: 0,
            unstated: None,
            lowest_hint: HINTED,
            granted: None,
        }
    }

    /// Whether the probability of finding a bug is stated for the run with this number.
    pub(crate) fn is_counted(run: u64, is_sc: bool) -> bool {
        run.is_multiple_of(2) || (is_sc && run % 4 == 1)
    }

    fn contender(&mut self, thread: usize) -> &mut Contender {
        while self.contenders.len() <= thread {
            let priority = DRAWN | self.random.next();
            self.contenders.push(Contender { priority, asks: None, yields: false, began: 0 });
        }
        &mut self.contenders[thread]
    }

    /// A thread has given a hint.
    pub(crate) fn hinted(&mut self, thread: usize) {
        self.unstated = Some("threads give hints");
        self.lowest_hint -= 1;
        let priority = self.lowest_hint;
        let contender = self.contender(thread);
        (contender.priority, contender.yields) = (priority, true);
    }

    pub(crate) fn begins_condition(&mut self, thread: usize, executed: usize) {
        self.contender(thread).began = executed;
    }

    /// Whether the thread may take its step; notes what it asks for.
    fn grants(&mut self, thread: usize, request: &Request) -> bool {
        let is_granted = self.granted == Some(thread);
        self.granted = self.granted.filter(|_| !is_granted);
        self.contender(thread).asks = (!is_granted).then_some(*request);
        is_granted
    }

    /// The thread with the highest priority of those that can continue.
    fn grant(&mut self, mut candidates: Vec<usize>) -> Option<usize> {
        if candidates.iter().any(|&thread| !self.contenders[thread].yields) {
            candidates.retain(|&thread| !self.contenders[thread].yields);
        }
        let mut highest = self.highest(&candidates)?;
        self.steps += 1;
        while let Some(at) = self.changes.iter().position(|&(step, _)| step == self.steps) {
            let (_, priority) = self.changes.swap_remove(at);
            if !self.is_pos {
                self.contenders[highest].priority = priority;
                highest = self.highest(&candidates)?;
            }
        }
        if self.is_pos {
            self.redraw(highest);
        }
        self.contenders[highest].yields = false;
        self.granted = Some(highest);
        Some(highest)
    }

    fn highest(&self, candidates: &[usize]) -> Option<usize> {
        candidates.iter().copied().max_by_key(|&thread| self.contenders[thread].priority)
    }

    /// New priorities for the step that is taken and for those that race with it.
    fn redraw(&mut self, taken: usize) {
        let Some(step) = self.contenders[taken].asks else { return };
        for thread in 0..self.contenders.len() {
            let races = self.contenders[thread].asks.is_some_and(|other| {
                let is_write = |request: &Request| !matches!(request.op, Op::Load { .. });
                other.location == step.location
                    && step.location != NOWHERE
                    && (is_write(&other) || is_write(&step))
            });
            if races || thread == taken {
                self.contenders[thread].priority = DRAWN | self.random.next();
            }
        }
    }
}

impl Core {
    /// Whether a run drawn at random lets the thread take its step now.
    pub(crate) fn is_granted(&mut self, thread: usize, request: &Request) -> bool {
        self.sampler.as_mut().is_none_or(|sampler| sampler.grants(thread, request))
    }

    /// The thread that moves next in a random run.
    pub(crate) fn drawn(&mut self) -> Option<usize> {
        let mut sampler = self.sampler.take()?;
        let threads = self.threads.len();
        (0..threads).for_each(|thread| {
            sampler.contender(thread);
        });
        let comes_to_ask = |thread: &usize| {
            let has_news =
                self.threads[*thread].state == State::Awaiting && !self.is_up_to_date(*thread);
            has_news || (self.can_move(*thread) && sampler.contenders[*thread].asks.is_none())
        };
        let next = (0..threads).find(comes_to_ask).or_else(|| {
            let asking: Vec<usize> = (0..threads)
                .filter(|&thread| {
                    self.can_move(thread) && sampler.contenders[thread].asks.is_some()
                })
                .collect();
            for &thread in &asking {
                sampler.contenders[thread].yields &= self.is_up_to_date(thread);
            }
            let goes_on = |thread: &usize| !self.would_wait(sampler.contenders[*thread].asks);
            let able: Vec<usize> = asking.iter().copied().filter(goes_on).collect();
            sampler.grant(if able.is_empty() { asking } else { able })
        });
        self.sampler = Some(sampler);
        next
    }

    /// Whether a request waits for a thread's end, or for a write other than the newest.
    fn would_wait(&self, request: Option<Request>) -> bool {
        request.is_some_and(|Request { op, location, .. }| {
            if let Op::Join { child } = op {
                return self.threads[usize::from(child)].state != State::Finished;
            }
            let newest = || self.graph.value_of(location, self.graph.newest(location));
            op.is_wait() && op.effect(newest()) == Some(Effect::Blocked)
        })
    }

    /// What a request finds in a run drawn at random, if that is left open.
    pub(crate) fn draw(&mut self, thread: usize, request: &Request, draft: &Event) -> Option<Find> {
        let mut sampler = self.sampler.take()?;
        let found = match request.op {
            Op::Choice { options } => {
                if options > 1 {
                    sampler.unstated.get_or_insert("the code makes choices");
                }
                Some(Find::Choice(sampler.random.below(options)))
            }
            Op::Store { order, .. } if sampler.is_weak => {
                let places = self.growth.possible_places(&mut self.graph, thread, draft, order);
                places
                    .get(sampler.random.below(places.len() as u64) as usize)
                    .copied()
                    .map(Find::Place)
            }
            Op::Load { .. }
            | Op::Rmw { .. }
            | Op::Cas { .. }
            | Op::AwaitCas { .. }
            | Op::RwLock(_)
                if sampler.is_weak =>
            {
                let at = request.location;
                let newest = self.graph.locations[at as usize].order.len();
                let floor = self.graph.floor(at, thread);
                let mut writes: Vec<EventId> =
                    (floor..newest).map(|position| self.graph.write_at(at, position)).collect();
                writes.retain(|&from| self.growth.may_read(&mut self.graph, thread, draft, from));
                writes.push(self.graph.newest(at));
                Some(Find::From(writes[sampler.random.below(writes.len() as u64) as usize], None))
            }
            _ => None,
        };
        self.sampler = Some(sampler);
        found
    }

    /// Whether something has changed for a thread whose condition did not hold. Its last evaluation is then undone.
    pub(crate) fn is_awaited(&mut self, thread: usize) -> bool {
        let Some(sampler) = &mut self.sampler else { return false };
        let began = sampler.contender(thread).began;
        if self.is_up_to_date(thread) {
            return false;
        }
        while self.graph.threads[thread].len() > began {
            let id = self.graph.last(thread);
            self.log.retain(|&other| other != id);
            self.graph.pop(thread);
        }
        let run = &mut self.threads[thread];
        run.rounds.undo_wait();
        (run.executed, run.state) = (began, State::Ready);
        true
    }
}
