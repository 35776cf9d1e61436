//! Shrinks a violation: the same rule broken at the same place, with the fewest switches between threads.
//!
//! # Contract
//! [`shrink`] takes a violation and searches for one of less [`Cost`] (switches, then steps):
//! 1. What the violation does not need is removed: steps that lead to neither of the conflicting accesses, nor to the
//!    panic. The rest is put in the order of least cost.
//! 2. Executions are run in order of cost, starting with those without switches, that switch only at [`Plan::points`]:
//!    where the violation does, or before a write that it ignores. There are few of them. This is repeated from what is
//!    found until nothing better is.
//! 3. All executions of the program are run in order of cost, until a violation is found or the bound on runs is hit.
//!    If the bound was not hit, none has less.
//!
//! Every candidate is run, and counts only if it breaks the same rule at the same place (`place`). The result is a
//! schedule that was followed to its violation. It depends only on the program, not on time.
//!
//! # Sources
//! Musuvathi, Qadeer: Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007. Huang,
//! Zhang: An efficient static trace simplification technique for debugging concurrent programs, SAS 2011.

use super::core::{Core, Stop};
use super::graph::EventId;
use super::guide::{Guide, Turn};
use super::order::{Cost, Plan, Point, Weight};
use super::schedule::{self, Find, Step};
use super::verdict::{Failure, Shrunk, Violation};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::mem::discriminant;
use std::ops::Add;
use std::rc::Rc;

/// The limit on events of all runs together, per run allowed: a bound on time.
const EVENTS_PER_RUN: usize = 100;

/// The identity of a failure: the rule and the places in the code.
pub(crate) type Place = (std::mem::Discriminant<Failure>, Vec<String>);

/// Where in the code the last run broke a rule.
pub(crate) fn place(core: &Core, failure: &Failure) -> Place {
    let sites = match failure {
        Failure::Panic { place, message, .. } => vec![place.clone().unwrap_or(message.clone())],
        Failure::Race { site, other, .. } => vec![site.to_string(), other.to_string()],
        Failure::Unpublished { site, .. } | Failure::Leak { site } => vec![site.to_string()],
        Failure::Condition { site, why, .. } => vec![site.to_string(), (*why).to_owned()],
        Failure::UseAfterFree { site, freed, .. } | Failure::DoubleFree { site, freed, .. } => {
            vec![site.to_string(), freed.to_string()]
        }
        Failure::Deadlock { threads } | Failure::Livelock { threads, .. } => {
            threads.iter().map(|&thread| core.waits_at(thread).unwrap_or_default()).collect()
        }
    };
    let mut sites = sites;
    sites.sort();
    (discriminant(failure), sites)
}

/// An execution that breaks the rule.
struct Candidate {
    steps: VecDeque<Step>,
    cost: Cost,
    /// See [`Plan::points`].
    points: BTreeSet<Point>,
}

impl Candidate {
    /// The last run.
    fn of(core: &Core) -> Candidate {
        let plan = Plan::new(&core.graph, &core.log, &core.progress());
        let cost = plan.costs(&core.log).into_iter().fold(Cost::default(), Add::add);
        let steps = schedule::steps(&core.graph, &core.log);
        Candidate { steps, cost, points: plan.points(&core.log) }
    }
}

struct Shrinking<'c> {
    core: &'c RefCell<Core>,
    /// Makes a run that follows the core's script or guide.
    execute: &'c dyn Fn(),
    /// Whether leaks are allowed.
    leaks: bool,
    place: Place,
    best: Candidate,
    runs: usize,
    events: usize,
    most_runs: usize,
}

/// Shrinks `violation` in at most this many runs. The least violation found is left as the last run; its failure and
/// what was reached are returned. `execute` makes a run that follows the core's script or guide. `None`: the violation
/// does not occur again.
pub(crate) fn shrink(
    core: &RefCell<Core>,
    execute: &dyn Fn(),
    leaks: bool,
    violation: &Violation,
    most_runs: usize,
) -> Option<(Failure, Shrunk)> {
    let (_, steps) = schedule::parse(&violation.schedule).ok()?;
    let place = (discriminant(&violation.failure), Vec::new());
    let best = Candidate { steps, cost: Cost::default(), points: BTreeSet::new() };
    let mut shrinking =
        Shrinking { core, execute, leaks, place, best, runs: 0, events: 0, most_runs };
    core.borrow_mut().growth.single = true;
    let found = shrinking.shrink();
    core.borrow_mut().growth.single = false;
    found
}

impl Shrinking<'_> {
    fn shrink(&mut self) -> Option<(Failure, Shrunk)> {
        let failure = self.follow(self.best.steps.clone())?;
        {
            let core = self.core.borrow();
            self.place = place(&core, &failure);
            self.best = Candidate::of(&core);
        }
        let before = self.best.cost;
        self.tidy(&failure);
        self.narrow();
        let is_least = self.search(None);
        let failure = self.follow(self.best.steps.clone())?;
        let (from, to, runs) = (before, self.best.cost, self.runs as u64);
        Some((failure, Shrunk { from, to, runs, is_least }))
    }

    fn may_go_on(&self) -> bool {
        self.runs < self.most_runs && self.events < self.most_runs * EVENTS_PER_RUN
    }

    /// Makes a run; returns its failure, if that is the same rule at the same place.
    fn run(&mut self) -> Option<Failure> {
        (self.execute)();
        self.runs += 1;
        let mut core = self.core.borrow_mut();
        self.events += core.log.len();
        let failure = match core.stop.take() {
            Some(Stop::Failure(failure)) => Some(failure),
            Some(_) => None,
            None => core.ending(self.leaks),
        };
        failure.filter(|failure| {
            let place = place(&core, failure);
            place == self.place || (self.place.1.is_empty() && place.0 == self.place.0)
        })
    }

    /// Runs these steps.
    fn follow(&mut self, steps: VecDeque<Step>) -> Option<Failure> {
        self.core.borrow_mut().script = steps;
        let failure = self.run();
        self.core.borrow_mut().script.clear();
        failure
    }

    /// Runs these turns and continues; returns the guide as the run left it.
    fn guide(
        &mut self,
        turns: VecDeque<Turn>,
        options: &[VecDeque<u64>],
    ) -> (Option<Failure>, Guide) {
        let options = options.to_vec();
        self.core.borrow_mut().guide = Some(Guide::new(turns, options));
        let failure = self.run();
        let guide = self.core.borrow_mut().guide.take().expect("given before the run");
        (failure, guide)
    }

    /// The last run ended in `failure`: takes it up, without what it does not need and in its best order.
    fn tidy(&mut self, failure: &Failure) {
        let orders = {
            let core = self.core.borrow();
            let whole = core.progress();
            let needed = core.needed(failure);
            let order = |keep| Plan::new(&core.graph, &core.log, keep).cheapest();
            let steps = |order: Option<Vec<EventId>>| {
                order.map(|order| schedule::steps(&core.graph, &order))
            };
            let as_run = schedule::steps(&core.graph, &core.log);
            [steps(order(&needed)), steps(order(&whole)), Some(as_run)]
        };
        for steps in orders.into_iter().flatten() {
            let is_same = self.follow(steps).is_some();
            if is_same && self.take() {
                return;
            }
        }
    }

    /// The last run broke the rule: it becomes the best one if it costs less.
    fn take(&mut self) -> bool {
        let made = Candidate::of(&self.core.borrow());
        let is_better = made.cost.weight() < self.best.cost.weight();
        if is_better {
            self.best = made;
        }
        is_better
    }

    /// Runs executions in order of cost: all of them, or those that differ at these points only. True: none has fewer
    /// switches than the best one.
    fn search(&mut self, points: Option<&BTreeSet<Point>>) -> bool {
        let options = self.options();
        let mut open = BinaryHeap::from([Reverse((Cost::default().weight(), 0))]);
        let mut entries: Vec<Entry> = vec![Entry { base: Rc::new(Vec::new()), at: 0, turn: None }];
        let mut known: HashMap<(u64, usize), Weight> = HashMap::new();
        while let Some(Reverse((weight, number))) = open.pop() {
            if weight >= self.best.cost.weight() {
                return true;
            }
            if !self.may_go_on() {
                return weight.0 >= self.best.cost.weight().0;
            }
            let turns = entries[number].turns();
            let decided = turns.len();
            let (failure, guide) = self.guide(turns, &options);
            let (costs, states) = {
                let core = self.core.borrow();
                let plan = Plan::new(&core.graph, &core.log, &core.progress());
                (plan.costs(&core.log), Plan::states(&core.graph, &core.log))
            };
            if let Some(failure) = failure {
                self.tidy(&failure);
            }
            let base: Rc<Vec<Turn>> = Rc::new(guide.trail.iter().map(|made| made.turn).collect());
            let (mut spent, mut steps) = (Cost::default(), HashMap::new());
            for (at, made) in guide.trail.iter().enumerate() {
                let count = |thread| steps.get(&thread).copied().unwrap_or(0);
                let is_point =
                    |thread| points.is_none_or(|them| them.contains(&(thread, count(thread))));
                if at >= decided {
                    let before = at.checked_sub(1);
                    let state = before.map_or(0, |before| states[before]);
                    let last = before.map_or(0, |before| base[before].thread);
                    let here = known.entry((state, last)).or_insert((usize::MAX, 0, 0));
                    if *here <= spent.weight() {
                        break;
                    }
                    *here = spent.weight();
                    let may_switch = last != made.turn.thread || is_point(last);
                    let may_differ = may_switch || is_point(made.turn.thread);
                    let others = made.instead(before.map(|_| last)).into_iter();
                    for (turn, more) in others.filter(|_| may_differ) {
                        let weight = (spent + more).weight();
                        if weight < self.best.cost.weight() {
                            open.push(Reverse((weight, entries.len())));
                            entries.push(Entry { base: Rc::clone(&base), at, turn: Some(turn) });
                        }
                    }
                }
                let Some(&cost) = costs.get(at) else { break };
                spent = spent + cost;
                *steps.entry(made.turn.thread).or_default() += 1;
            }
        }
        true
    }

    /// Searches among the executions that differ from each other at the best one's points, as long as that helps.
    fn narrow(&mut self) {
        let mut before = None;
        while before != Some(self.best.cost) {
            before = Some(self.best.cost);
            let points = self.best.points.clone();
            self.search(Some(&points));
        }
    }

    /// The options that each thread takes in the best execution.
    fn options(&self) -> Vec<VecDeque<u64>> {
        let mut options: Vec<VecDeque<u64>> = Vec::new();
        for step in &self.best.steps {
            if let Find::Choice(option) = step.find {
                options.resize_with(options.len().max(step.thread + 1), VecDeque::new);
                options[step.thread].push_back(option);
            }
        }
        options
    }
}

/// A run to make: the first steps of an earlier one, then a step that differs.
struct Entry {
    base: Rc<Vec<Turn>>,
    at: usize,
    turn: Option<Turn>,
}

impl Entry {
    fn turns(&self) -> VecDeque<Turn> {
        self.base[..self.at].iter().copied().chain(self.turn).collect()
    }
}

#[cfg(test)]
mod tests;
