//! The worst cases of a row with the stacks of all threads involved.

use crate::deadlocks::{behind, holder, waits};
use crate::frames::{self, Line};
use crate::hangs;
use crate::inversions::{advice, held, taken};
use crate::rows::{Row, function, source};
use crate::run::{Deadlock, Distribution, Frame, Inversion, RunReport};
use crate::terminal::{both_ends, cause, lost, member, several, slept};
use maud::{Markup, html};
use uncontended_figures::duration;

/// How many lines of a stack are shown.
const FRAMES: usize = 16;

/// The longest wait and the longest idle interval of the locks of `row`.
pub(super) fn worst(row: &Row) -> Markup {
    let count = |times: &Option<Distribution>| times.as_ref().map_or(0, |times| times.count);
    let waited = row.longest_waited().and_then(|lock| Some((lock, lock.worst_wait.as_ref()?)));
    let idle = row.longest_idle().and_then(|lock| Some((lock, lock.worst_idle.as_ref()?)));
    let lock = row.first();
    let (how, origin) = match lock.created.is_empty() {
        true => ("first taken in", &lock.first_taken),
        false => ("created in", &lock.created),
    };
    html! {
        @if let Some((lock, worst)) = waited {
            @let of = several(count(&row.wait), "wait", "waits");
            h3 { "Longest wait " (duration(worst.ns)) " of " (of) (lost(row)) (slept(row)) (member(row, lock)) }
            (stack("waited in", &worst.waiter))
            (stack("held until the release in", &worst.holder))
            @for line in both_ends(lock) { p class="remark" { (line) "." } }
        }
        @if let Some((lock, worst)) = idle {
            @let of = several(count(&row.idle), "interval", "intervals");
            h3 { "Longest idle " (duration(worst.ns)) " of " (of) (member(row, lock)) }
            p class="remark" { (cause(worst)) }
            (stack("released in", &worst.releaser))
            (stack("ended in", &worst.waiter))
        }
        @if !origin.is_empty() {
            h3 { "The lock" }
            (stack(how, origin))
        }
    }
}

/// How many stacks of threads that still waited are shown.
const GROUPS: usize = 20;

/// A deadlock: each thread with the stacks of its wait and of the acquisition that it waits for.
pub(super) fn deadlock(report: &RunReport, deadlock: &Deadlock) -> Markup {
    html! {
        @for thread in &deadlock.threads {
            (stack(&waits(report, thread), &thread.stack))
            @if thread.stack.is_empty() { div class="remark" { (waits(report, thread)) " code not recorded" } }
            @if let Some(holder) = holder(deadlock, thread) {
                (stack(&holder, &thread.taken))
                @if thread.taken.is_empty() { div class="remark" { (holder) } }
            }
        }
        @if let Some(behind) = behind(deadlock) { p class="remark" { (behind) } }
    }
}

/// What threads waited for when the run ended, if that kept them from going on.
pub(super) fn still_waiting(report: &RunReport) -> Option<Markup> {
    let groups = hangs::shown(report);
    let more = hangs::beyond(&groups, GROUPS);
    (!groups.is_empty()).then(|| {
        html! {
            @for group in groups.iter().take(GROUPS) {
                (stack(&group.waits(report), group.stack()))
                @if group.stack().is_empty() { div class="remark" { (group.waits(report)) " code not recorded" } }
                @if let Some((holder, taken)) = hangs::holder(report, group) {
                    (stack(&holder, taken))
                    @if taken.is_empty() { div class="remark" { (holder) } }
                }
            }
            @if more > 0 { p class="remark" { "… and " (more) " more threads" } }
        }
    })
}

/// A lock order inversion: each thread with the stacks of both acquisitions.
pub(super) fn inversion(report: &RunReport, inversion: &Inversion) -> Markup {
    html! {
        @for thread in &inversion.threads {
            (stack(&held(report, thread), &thread.held_stack))
            @if thread.held_stack.is_empty() { div class="remark" { (held(report, thread)) } }
            (stack(&taken(report, thread), &thread.taken_stack))
        }
        p class="remark" { (advice(report, inversion)) }
    }
}

fn stack(title: &str, frames: &[Frame]) -> Markup {
    let place = |frame: &Frame| match (&frame.file, frame.line) {
        (Some(file), Some(line)) => Some(format!("{file}:{line}")),
        _ => source(frame).filter(|_| frame.function.is_some()),
    };
    let lines = frames::lines(frames);
    let more: usize = lines.iter().skip(FRAMES).map(|line| line.frames()).sum();
    let names = |left: &[Frame]| left.iter().map(function).collect::<Vec<_>>().join(", ");
    html! {
        @if !frames.is_empty() {
            div class="remark" { (title) }
            ul class="stack" {
                @for line in lines.iter().take(FRAMES) {
                    @match line {
                        Line::Frame(frame) => {
                            li { (function(frame)) @if let Some(place) = place(frame) { i { (place) } } }
                        }
                        Line::Left(left, what) => { li title=(names(left)) { i { "… " (left.len()) " " (what) } } }
                    }
                }
                @if more > 0 { li { "… " (more) " more" } }
            }
        }
    }
}
