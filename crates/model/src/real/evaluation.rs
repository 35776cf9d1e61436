//! The evaluation of the condition of a `wait_until`.
//!
//! # Contract
//! A condition that does not hold is evaluated twice again, with the recorded answers: it must make the same requests,
//! and have no effect. Then its thread waits.

use super::condition::Condition;
use super::core::State;
use super::runtime::{self, current, with_core};
use super::verdict::Failure;
use std::panic::Location as Site;

/// Begins to record the requests of a condition. `None` outside an exploration.
pub(crate) fn begin(site: &'static Site<'static>) -> Option<()> {
    refuse("waits for another condition");
    current()?.until(|core| (!core.refuses_wait(site)).then_some(()));
    with_core(|core, thread| {
        let executed = core.threads[thread].executed;
        if let Some(sampler) = &mut core.sampler {
            sampler.begins_condition(thread, executed);
        }
        let run = &mut core.threads[thread];
        run.condition = Some(Condition::new(run.effects, run.rounds.read_so_far()));
    })
}

/// Fails if a condition of a `wait_until` is being evaluated, which must not do this.
pub(crate) fn refuse(why: &'static str) {
    let site = with_core(|core, thread| {
        let asked = core.threads[thread].condition.as_ref()?;
        Some(asked.asked.last().map_or(Site::caller(), |(request, _)| request.site))
    });
    if let Some(Some(site)) = site {
        fail(why, site);
    }
}

/// The condition holds.
pub(crate) fn end() {
    with_core(|core, thread| core.threads[thread].condition = None);
}

/// The condition does not hold: it must have had no effect. Prepares to evaluate it again.
pub(crate) fn rehearse(site: &'static Site<'static>) {
    let is_pure = with_core(|core, thread| {
        let run = &mut core.threads[thread];
        let condition = run.condition.as_mut().expect("a condition is being evaluated");
        condition.again();
        condition.effects == run.effects
    });
    if is_pure == Some(false) {
        fail("writes although it does not hold (to lock is to write)", site);
    }
}

/// The condition did not hold when it was evaluated again.
pub(crate) fn end_rehearsal(site: &'static Site<'static>) {
    let is_repeated = with_core(|core, thread| {
        let condition = core.threads[thread].condition.as_ref();
        condition.expect("a condition is being evaluated").is_repeated()
    });
    if is_repeated == Some(false) {
        fail("makes fewer requests when it is evaluated again", site);
    }
}

/// The condition of a `wait_until` breaks its contract.
pub(crate) fn fail(why: &'static str, site: &'static Site<'static>) -> ! {
    let thread = current().expect("only explored code waits").running.get();
    runtime::fail(Failure::Condition { thread, site, why })
}

/// Ends the run of a thread whose condition does not hold: executions in which it reads something else continue.
/// Returns in a random run, once something has changed.
pub(crate) fn await_news(site: &'static Site<'static>) {
    let run = current().expect("only explored code waits");
    let thread = run.running.get();
    {
        let mut core = run.core.borrow_mut();
        let waiting = &mut core.threads[thread];
        let condition = waiting.condition.take().expect("a condition is being evaluated");
        waiting.rounds.wait_since(condition.read_before, site);
        waiting.state = State::Awaiting;
    }
    run.until(|core| core.is_awaited(thread).then_some(()))
}
