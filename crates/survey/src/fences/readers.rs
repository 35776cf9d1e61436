//! What a reader pays for a light fence, and a worker for a ticket.

use super::QUESTION;
use super::peers::CHECKING_IN;
use crate::{Class, Plan, Topic};
use std::hint::black_box;
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_atomic::{AtomicU64, fence};
use uncontended_bench::{Bench, Block, Place};
use uncontended_fence::Fences;

/// A store and a load, with each fence between them. Takes that part of the time.
pub(super) fn measure(plan: &Plan, part: f64) -> Topic {
    let plan = Plan { budget: plan.budget.mul_f64(part), ..plan.clone() };
    let best = Fences::best();
    let bench = Bench::new("fences", QUESTION)
        .places([Place::Free])
        .per("step")
        .baseline("no fence")
        .subject("no fence", steps(|| ()))
        .subject("light fence", steps(uncontended_fence::light))
        .subject("light fence of a chosen pair", steps(move || best.light()))
        // SeqCst: keeps the store of a step before its load.
        .subject("SeqCst fence", steps(|| fence(SeqCst)))
        .subject("check-in", |block: &mut Block| {
            let member = CHECKING_IN.register();
            let count = block.operations();
            block.measure(|| (0..count).for_each(|_| member.check_in()));
        })
        .subject("asking for a ticket", |block: &mut Block| {
            let (fences, count) = (Fences::best(), block.operations());
            block.measure(|| {
                for _ in 0..count {
                    let _ = black_box(fences.ticket());
                }
            });
        });
    let report = bench.until(plan.is_over).run(&plan.options());
    Topic::of(("fences", QUESTION), &report, |_, _| (1, Class::Other))
}

/// A block of stores, each with the fence and a load behind it.
fn steps(fence: impl Fn() + Copy + Send + 'static) -> impl FnMut(&mut Block) + Send + 'static {
    let words: &[AtomicU64; 2] = Box::leak(Box::default());
    move |block| {
        let count = block.operations();
        block.measure(|| {
            for step in 0..count {
                words[0].store(step, Relaxed);
                fence();
                black_box(words[1].load(Relaxed));
            }
        });
    }
}
