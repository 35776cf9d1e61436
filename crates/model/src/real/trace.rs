//! An execution as text: one column for each thread, one line for each event, in an order that explains every read.

use super::core::Core;
use super::graph::{Event, EventId, Kind, NOWHERE};
use super::op::Op;
use std::fmt::Write;

/// Draws the run that `core` has just made.
pub(crate) fn columns(core: &Core) -> String {
    let mut lines: Vec<(usize, String, String)> = Vec::new();
    let order: Vec<EventId> = core.log.iter().copied().chain(waits(core)).collect();
    for (at, &id) in order.iter().enumerate() {
        let event = core.graph.get(id);
        if let Some(text) = describe(core, &order[..at], id, event) {
            let site = format!("{}:{}", short(event.site.file()), event.site.line());
            lines.push((usize::from(id.thread), text, site));
        }
    }
    let threads = core.threads.len();
    let width = |column: usize| {
        let texts = lines.iter().filter(|line| line.0 == column).map(|line| line.1.chars().count());
        texts.max().unwrap_or(0).max(8)
    };
    let widths: Vec<usize> = (0..threads).map(width).collect();
    let mut out = String::new();
    for (column, &width) in widths.iter().enumerate() {
        let _ = write!(out, "{:width$}  ", format!("thread {column}"));
    }
    out.push('\n');
    for (thread, text, site) in &lines {
        for (column, &width) in widths.iter().enumerate() {
            let _ = write!(out, "{:width$}  ", if column == *thread { text } else { "" });
        }
        let _ = writeln!(out, "{site}");
    }
    out
}

/// The waits that the run ends in.
fn waits(core: &Core) -> Vec<EventId> {
    core.graph.iter().filter(|(_, event)| event.kind == Kind::Blocked).map(|(id, _)| id).collect()
}

fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

fn describe(core: &Core, before: &[EventId], id: EventId, event: &Event) -> Option<String> {
    let name = |location: u32| {
        let (creator, count) = core.graph.locations[location as usize].name;
        match creator {
            0..=15 => format!("a{creator}.{count}"),
            255 => format!("static.{count}"),
            127.. => format!("queue of a{}.{count}", creator & 15),
            64.. => format!("token of thread {}", creator & 15),
            _ => format!("location {location}"),
        }
    };
    let half = |event: &Event| matches!(event.op, Op::Unlocked { .. });
    Some(match (event.kind, event.op) {
        (Kind::Read, _) if event.exclusive => {
            let next = EventId { index: id.index + 1, ..id };
            let written = if core.graph.contains(next) { core.graph.get(next).value } else { 0 };
            format!(
                "{}: {:#x} -> {written:#x} {}{}",
                name(event.location),
                event.value,
                event.order.name(),
                origin(event)
            )
        }
        (Kind::Write, _) if event.exclusive => return None,
        (Kind::Read, _) => {
            let place = core.graph.position(event.location, event.from);
            let stale = before.iter().any(|&write| {
                let other = core.graph.get(write);
                other.kind == Kind::Write
                    && other.location == event.location
                    && core.graph.position(event.location, write) > place
            });
            let old = if stale { ", not the newest" } else { "" };
            let what = if half(event) { "unlocked load" } else { event.order.name() };
            format!("{} = {:#x} {what}{}{old}", name(event.location), event.value, origin(event))
        }
        (Kind::Write, _) => {
            format!("{} := {:#x} {}", name(event.location), event.value, event.order.name())
        }
        (Kind::Blocked, _) => format!("{} waited for, for ever", name(event.location)),
        (_, Op::Fence { order }) => format!("fence {}", order.name()),
        (_, Op::Light) => "light fence".into(),
        (_, Op::Heavy) => "heavy fence".into(),
        (_, Op::Spawn { child }) => format!("spawn {child}"),
        (_, Op::Join { child }) => format!("join {child}"),
        (_, Op::Choice { .. }) => format!("choose {}", event.value),
        _ => {
            debug_assert_eq!(event.location, NOWHERE);
            return None;
        }
    })
}

fn origin(event: &Event) -> String {
    if event.from.is_initial() {
        " (initial)".into()
    } else {
        format!(" (thread {})", event.from.thread)
    }
}
