//! The worst cases of a row with the code of everybody involved.

use crate::rows::{Row, function, source};
use crate::run::Frame;
use crate::svg::escape;
use crate::terminal::{cause, member, several};
use std::fmt::Write;
use uncontended_figures as figures;

/// Frames of a stack that are shown.
const FRAMES: usize = 16;

/// The longest wait and the longest idle of the locks of `row`.
pub(super) fn worst(row: &Row) -> String {
    let mut html = String::new();
    // Writing to a String cannot fail.
    let waited = row.longest_waited().and_then(|lock| Some((lock, lock.worst_wait.as_ref()?)));
    if let Some((lock, worst)) = waited {
        let of = several(row.wait.as_ref().map_or(0, |wait| wait.count), "wait", "waits");
        let (longest, member) = (figures::duration(worst.ns), member(row, lock));
        let _ = write!(html, "<h3>Longest wait {longest} of {of}{member}</h3>");
        html.push_str(&stack("waited in", &worst.waiter));
        html.push_str(&stack("held, until the release, in", &worst.holder));
    }
    let idle = row.longest_idle().and_then(|lock| Some((lock, lock.worst_idle.as_ref()?)));
    if let Some((lock, worst)) = idle {
        let of = several(row.idle.as_ref().map_or(0, |idle| idle.count), "interval", "intervals");
        let (longest, member) = (figures::duration(worst.ns), member(row, lock));
        let why = cause(worst.cause);
        let _ = write!(
            html,
            "<h3>Longest idle {longest} of {of}{member}</h3><p class=\"remark\">{why}</p>"
        );
        html.push_str(&stack("released in", &worst.releaser));
        html.push_str(&stack("ended in", &worst.waiter));
    }
    let created = row.first();
    let origin = if created.created.is_empty() {
        ("first taken in", &created.first_taken)
    } else {
        ("created in", &created.created)
    };
    if !origin.1.is_empty() {
        let _ = write!(html, "<h3>The lock</h3>{}", stack(origin.0, origin.1));
    }
    html
}

fn stack(title: &str, frames: &[Frame]) -> String {
    if frames.is_empty() {
        return String::new();
    }
    let mut html = format!("<div class=\"remark\">{title}</div><ul class=\"stack\">");
    for frame in frames.iter().take(FRAMES) {
        let place = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => Some(format!("{file}:{line}")),
            _ => source(frame).filter(|_| frame.function.is_some()),
        };
        let place = place.map_or_else(String::new, |place| format!("<i>{}</i>", escape(&place)));
        let _ = write!(html, "<li>{}{place}</li>", escape(&function(frame)));
    }
    if frames.len() > FRAMES {
        let _ = write!(html, "<li>… {} more</li>", frames.len() - FRAMES);
    }
    html.push_str("</ul>");
    html
}
