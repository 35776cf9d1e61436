//! The longest waits, idle intervals and holds as a trace for ui.perfetto.dev and chrome://tracing.
//!
//! # Contract
//! One complete event for each moment of each lock, on the row of its thread; moments without a thread lie on row 0 of
//! their process. It is no complete history: the record keeps the longest times only, and the trace's name says so.
//! # Sources
//! The trace event format of Chromium ("X" for complete events, "M" for names; times in microseconds).

use crate::run::{Lock, Moment, RunReport, Span};
use serde_json::{Value, json};

/// The trace of `report`.
pub fn render(report: &RunReport) -> Value {
    let mut events = Vec::new();
    for process in &report.processes {
        let name = format!("{} (longest times only)", process.command.join(" "));
        events.push(
            json!({"ph": "M", "name": "process_name", "pid": process.pid, "args": {"name": name}}),
        );
        for thread in &process.threads {
            let args = json!({"name": thread.name});
            events.push(json!({"ph": "M", "name": "thread_name", "pid": process.pid, "tid": thread.tid, "args": args}));
        }
        for lock in &process.locks {
            events.extend(lock.moments.iter().map(|moment| event(process.pid, lock, moment)));
        }
    }
    json!({"displayTimeUnit": "ns", "traceEvents": events})
}

fn event(pid: u32, lock: &Lock, moment: &Moment) -> Value {
    let what = match moment.what {
        Span::Wait => "wait for",
        Span::Idle => "idle:",
        Span::Hold => "hold",
    };
    let site = lock.site.as_ref().and_then(|site| site.function.as_deref()).unwrap_or("");
    json!({
        "ph": "X",
        "cat": moment.what,
        "name": format!("{what} {} {site}", lock.address),
        "ts": moment.at_ns as f64 / 1000.0,
        "dur": moment.ns as f64 / 1000.0,
        "pid": pid,
        "tid": moment.tid.unwrap_or(0),
        "args": {"lock": lock.id, "kind": lock.kind, "class": lock.class, "cause": moment.cause},
    })
}
