//! The longest waits, idle intervals and holds as a trace for `ui.perfetto.dev` and `chrome://tracing`.
//!
//! # Contract
//! JSON in the trace event format: each thread has a track with its longest waits and holds, each lock one with its
//! longest idle intervals. Times are microseconds from the start of the program. The record keeps the four longest of
//! each kind per lock; the trace contains only these, and its metadata says so.
//! # Sources
//! "Trace Event Format", the Chromium project: complete events `X`, metadata events `M`.

use crate::rows::{kind_of, place};
use crate::run::{Lock, Moment, Process, RunReport, Span};
use serde_json::{Value, json};

/// Lock tracks are numbered above Linux's largest thread id (2^22).
const LOCK_TRACKS: u64 = 1 << 23;

/// The trace of `report`.
pub fn render(report: &RunReport) -> Value {
    let mut events = Vec::new();
    for process in &report.processes {
        events.extend(names(process));
        for lock in &process.locks {
            events.extend(lock.moments.iter().map(|moment| event(process.pid, lock, moment)));
        }
    }
    json!({
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "command": report.command.join(" "),
            "contents": "the four longest waits, idle intervals and holds of each lock; shorter ones are omitted",
        },
    })
}

/// Names of the tracks: the process, its threads, and the locks that have idle intervals.
fn names(process: &Process) -> Vec<Value> {
    let name = |what: &str, tid: u64, name: String| json!({ "ph": "M", "name": what, "pid": process.pid, "tid": tid, "args": { "name": name } });
    let mut names = vec![name("process_name", 0, process.command.join(" "))];
    names.extend(
        process
            .threads
            .iter()
            .map(|thread| name("thread_name", u64::from(thread.tid), thread.name.clone())),
    );
    let idle = |lock: &&Lock| {
        lock.moments.iter().any(|moment| moment.what == Span::Idle || moment.tid.is_none())
    };
    let locks = process.locks.iter().filter(idle);
    names.extend(locks.map(|lock| {
        name("thread_name", track(lock), format!("lock #{} {}", lock.id, place(lock)))
    }));
    names
}

fn track(lock: &Lock) -> u64 {
    LOCK_TRACKS.saturating_add(lock.id)
}

fn event(pid: u32, lock: &Lock, moment: &Moment) -> Value {
    let (what, tid) = match (moment.what, moment.tid) {
        (Span::Wait, Some(tid)) => ("wait", u64::from(tid)),
        (Span::Hold, Some(tid)) => ("hold", u64::from(tid)),
        (Span::Wait, None) => ("wait", track(lock)),
        (Span::Hold, None) => ("hold", track(lock)),
        (Span::Idle, _) => ("idle", track(lock)),
    };
    json!({
        "ph": "X",
        "cat": what,
        "name": format!("{what} #{} {}", lock.id, place(lock)),
        "pid": pid,
        "tid": tid,
        "ts": moment.at_ns as f64 / 1e3,
        "dur": moment.ns as f64 / 1e3,
        "args": {
            "kind": kind_of(lock),
            "address": lock.address,
            "cause": moment.cause,
            "thread": moment.tid,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::IdleCause;

    #[test]
    fn each_moment_lies_on_the_track_of_its_thread_or_lock() {
        let lock = json!({
            "id": 7, "kind": "mutex", "class": "contention", "site": null, "created": [], "first_taken": [], "address": "0x1",
            "life": 0, "acquisitions": 1, "blocked": 1, "try_failed": 0, "threads": 2, "owner_changes": 1, "utilisation": null,
            "mean_queue": null, "wait_ns": null, "idle_ns": null, "hold_ns": null, "worst_wait": null, "worst_idle": null,
        });
        let mut lock: Lock = serde_json::from_value(lock).unwrap();
        let moment = |what, cause| Moment { what, at_ns: 1_500, ns: 2_000, tid: Some(42), cause };
        lock.moments = vec![moment(Span::Wait, None), moment(Span::Idle, Some(IdleCause::Barged))];
        let process =
            Process { pid: 9, command: vec!["p".into()], locks: vec![lock], threads: vec![] };
        let report = json!({
            "schema": crate::run::SCHEMA, "command": ["p"], "exit_status": 0, "signal": null, "wall_ns": 10_000,
            "clock": { "source": "tsc", "step_ns": 0.5 }, "processes": [],
            "coverage": { "processes_observed": 1, "unseen": [], "nothing_seen": null, "futex_share_unaccounted": null, "futex_sites": [] },
            "observer": { "cost_ns_per_pair": null, "records_dropped": 0 }, "findings": [],
        });
        let mut report: RunReport = serde_json::from_value(report).unwrap();
        report.processes.push(process);
        let trace = render(&report);
        let events: Vec<&Value> = trace["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["ph"] == "X")
            .collect();
        assert_eq!(
            (&events[0]["tid"], &events[0]["ts"], &events[0]["dur"]),
            (&json!(42), &json!(1.5), &json!(2.0))
        );
        assert_eq!(
            (&events[1]["tid"], &events[1]["args"]["cause"]),
            (&json!(LOCK_TRACKS + 7), &json!("barged"))
        );
        assert!(
            trace["traceEvents"]
                .as_array()
                .unwrap()
                .iter()
                .any(|event| event["args"]["name"] == "lock #7 at 0x1")
        );
    }
}
