//! Lock order in words, the same in every form of a report.

use crate::deadlocks::{lock, named, side};
use crate::run::{Frame, Inversion, LockOrder, Nested, RunReport};
use crate::terminal::several;

/// What the block is called.
pub(crate) const TITLE: &str = "Lock order inversion";

/// How to read the block.
pub(crate) const REMARK: &str = "may deadlock: each takes what the next one may hold";

/// The lock that a thread held: the title of the stack of its acquisition.
pub(crate) fn held(report: &RunReport, thread: &Nested) -> String {
    let took = if thread.held_stack.is_empty() { "" } else { ", taken in" };
    let (name, side) = (named(thread.tid, &thread.name), side(report, thread.held));
    format!("{name} held {}{side}{took}", lock(report, thread.held))
}

/// The lock that it took meanwhile: the title of that stack.
pub(crate) fn taken(report: &RunReport, thread: &Nested) -> String {
    format!("and took {}{} in", lock(report, thread.taken), side(report, thread.taken))
}

/// The first of these inversions as one sentence, with how many more there are.
pub(crate) fn sentence(report: &RunReport, inversions: &[Inversion]) -> String {
    let Some(first) = inversions.first() else { return String::new() };
    let part = |thread: &Nested| {
        let who = named(thread.tid, &thread.name);
        let site = first_of(&thread.taken_stack);
        format!(
            "{who} held {} and took {}{}{site}",
            lock(report, thread.held),
            lock(report, thread.taken),
            side(report, thread.taken)
        )
    };
    let parts: Vec<String> = first.threads.iter().map(part).collect();
    let more = match inversions.len() - 1 {
        0 => String::new(),
        more => format!("; {}", several(more as u64, "more inversion", "more inversions")),
    };
    format!(
        "{}: nothing happened this time, but these threads may deadlock: {}; take these locks in the same order \
         everywhere, or never two at a time{more}",
        TITLE.to_lowercase(),
        parts.join("; ")
    )
}

/// Where that was, if it is known.
fn first_of(stack: &[Frame]) -> String {
    crate::rows::callers(stack)
        .next()
        .map_or_else(String::new, |frame| format!(" in {}", crate::rows::code(frame)))
}

/// What else the same code did, and what would prevent a deadlock.
pub(crate) fn advice(report: &RunReport, inversion: &Inversion) -> String {
    let more = match inversion.more {
        0 => String::new(),
        more => {
            let sets = several(more, "other set", "other sets");
            format!("The same code took {sets} of locks in these orders. ")
        }
    };
    let reused = if are_made(report, inversion) {
        ""
    } else {
        " (Not all of them were seen to be made: as std::mutex, that can be different ones, one after the other at one \
         address.)"
    };
    format!("{more}Take these locks in the same order everywhere, or never two at a time.{reused}")
}

/// Whether all of its locks were seen to be made: then each is one and the same for all threads.
fn are_made(report: &RunReport, inversion: &Inversion) -> bool {
    let locks = || report.processes.iter().flat_map(|process| &process.locks);
    let is_made = |id: u64| locks().any(|lock| lock.id == id && !lock.created.is_empty());
    inversion.threads.iter().all(|thread| is_made(thread.held) && is_made(thread.taken))
}

/// What was looked at, in sentences.
pub(crate) fn seen(order: &LockOrder) -> String {
    let sets = several(order.sets, "set of locks", "sets of locks");
    let found = match order.inversions.len() {
        0 => "no two to four threads took the same locks in orders that cross".to_owned(),
        found => several(found as u64, "inversion", "inversions"),
    };
    let mut text = format!("Lock order: {found}, of {sets} held together.");
    if order.lost > 0 {
        let lost = several(order.lost, "acquisition", "acquisitions");
        text.push_str(&format!(" {lost} with locks held found no room and were not compared."));
    }
    if !order.is_complete {
        text.push_str(" There were too many combinations to compare them all.");
    }
    text
}
