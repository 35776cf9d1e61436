//! Counts executions that differ only in the names of symmetric threads as one.

use super::{Model, Program, Question, What, last, permutations, reads, visit};
use std::collections::{BTreeMap, BTreeSet};

/// The results of a program like `executions`, but threads of a group, which have the same instructions, are symmetric:
/// executions that differ only in their names count as one, and their reads come sorted.
pub(crate) fn classes(
    program: &Program,
    locations: usize,
    model: Model,
    groups: &[Vec<usize>],
) -> BTreeMap<Vec<u32>, u64> {
    let namings = namings(program.len(), groups);
    let mut known = BTreeSet::new();
    let mut found = BTreeMap::new();
    let question = Question { model, within: None };
    visit(program, locations, question, &mut |events, from, orders| {
        let renamed = |naming: &Vec<usize>| {
            let place = |e: usize| {
                let thread = events[e].thread;
                let start = |thread| events.iter().position(|event| event.thread == thread);
                match naming.get(thread) {
                    Some(&other) => start(other).unwrap() + e - start(thread).unwrap(),
                    None => e,
                }
            };
            let mut sources = vec![usize::MAX; events.len()];
            for e in (0..events.len()).filter(|&e| events[e].what == What::Read) {
                sources[place(e)] = place(from[e]);
            }
            let order = |order: &Vec<usize>| order.iter().map(|&e| place(e)).collect();
            (sources, orders.iter().map(order).collect::<Vec<Vec<usize>>>())
        };
        if known.insert(namings.iter().map(renamed).min()) {
            let mut reads = reads(events);
            for group in groups {
                let mut sorted: Vec<_> =
                    group.iter().map(|&thread| reads[thread].clone()).collect();
                sorted.sort();
                group.iter().zip(sorted).for_each(|(&thread, values)| reads[thread] = values);
            }
            let outcome = reads.into_iter().flatten().chain(last(events, orders)).collect();
            *found.entry(outcome).or_insert(0) += 1;
        }
    });
    found
}

/// All permutations of the names of the threads within each group.
fn namings(threads: usize, groups: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut namings = vec![(0..threads).collect::<Vec<usize>>()];
    for group in groups {
        let mut more = Vec::new();
        permutations(&mut group.clone(), 0, &mut |names| {
            for naming in &namings {
                let mut naming = naming.clone();
                group.iter().zip(names).for_each(|(&thread, &name)| naming[thread] = name);
                more.push(naming);
            }
        });
        namings = more;
    }
    namings
}
