//! Waits, holds and idle intervals as a trace for `ui.perfetto.dev` and `chrome://tracing`.
//!
//! # Contract
//! JSON in the trace event format: each thread has a track with its newest waits, holds and spans, each lock one with
//! its longest idle intervals; an arrow goes from what ended a wait to its end. The longest waits and holds of each
//! lock are shown even if they were too early to be among the newest. Times are microseconds from the start of the
//! program. On a track, an interval lies within those in which it begins: the part of a hold that outlasts an earlier
//! one is cut off, and its full length given.
//! # Sources
//! "Trace Event Format", the Chromium project: complete events `X`, metadata events `M`, flow events `s` and `f`.

use crate::aggregate::{Activity, Event, Timeline};
use crate::rows::{kind_of, place};
use crate::run::{Lock, Moment, Process, RunReport, Span};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Lock tracks are numbered above Linux's largest thread id (2^22).
const LOCK_TRACKS: u64 = 1 << 23;
/// A wakeup by a thread that held nothing is shown as long as this, in nanoseconds.
const WAKEUP_NS: u64 = 1_000;

/// What a trace has.
const CONTENTS: &str = "the newest waits and spans of each thread, the newest holds for which others waited or that were \
    long, and the four longest waits, idle intervals and holds of each lock";

/// The trace of `report`, with the timelines of its processes in their order.
pub fn render(report: &RunReport, timelines: &[Timeline]) -> Value {
    let mut events = Vec::new();
    let (mut lost, mut arrows) = (0u64, 0);
    for (nth, process) in report.processes.iter().enumerate() {
        events.extend(names(process));
        let timeline = timelines.get(nth).filter(|timeline| timeline.pid == process.pid);
        let none = Timeline::default();
        let track = Tracks::new(process, timeline.unwrap_or(&none));
        events.extend(track.slices());
        events.extend(track.arrows(&mut arrows));
        events.extend(idle(process));
        lost = lost.saturating_add(timeline.map_or(0, |timeline| timeline.lost));
    }
    json!({
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "command": report.command.join(" "),
            "contents": CONTENTS,
            "not_kept": lost,
        },
    })
}

/// Names of the tracks: the process, its threads, and the locks that have idle intervals.
fn names(process: &Process) -> Vec<Value> {
    let name = |what: &str, tid: u64, name: String| {
        let arguments = json!({ "name": name });
        json!({ "ph": "M", "name": what, "pid": process.pid, "tid": tid, "args": arguments })
    };
    let mut names = vec![name("process_name", 0, process.command.join(" "))];
    names.extend(
        process
            .threads
            .iter()
            .map(|thread| name("thread_name", u64::from(thread.tid), thread.name.clone())),
    );
    let has_track = |lock: &&Lock| lock.moments.iter().any(of_lock);
    let locks = process.locks.iter().filter(has_track);
    names.extend(locks.map(|lock| {
        name("thread_name", track(lock), format!("lock #{} {}", lock.id, place(lock)))
    }));
    names
}

/// Whether a moment is on its lock's track.
fn of_lock(moment: &Moment) -> bool {
    moment.what == Span::Idle || moment.tid.is_none()
}

fn track(lock: &Lock) -> u64 {
    LOCK_TRACKS.saturating_add(lock.id)
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn word(what: Span) -> &'static str {
    match what {
        Span::Wait => "wait",
        Span::Hold => "hold",
        Span::Idle => "idle",
    }
}

/// The longest times that are on locks' tracks.
fn idle(process: &Process) -> impl Iterator<Item = Value> {
    let of = |lock: &Lock, moment: &Moment| {
        let what = word(moment.what);
        json!({
            "ph": "X",
            "cat": what,
            "name": format!("{what} #{} {}", lock.id, place(lock)),
            "pid": process.pid,
            "tid": track(lock),
            "ts": us(moment.at_ns),
            "dur": us(moment.ns),
            "args": { "kind": kind_of(lock), "cause": moment.cause, "thread": moment.tid },
        })
    };
    process.locks.iter().flat_map(move |lock| {
        let moments = lock.moments.iter().filter(|moment| of_lock(moment));
        moments.map(move |moment| of(lock, moment)).collect::<Vec<_>>()
    })
}

/// What a thread did for a time.
struct Slice<'a> {
    tid: u32,
    from_ns: u64,
    to_ns: u64,
    name: String,
    what: &'static str,
    lock: Option<&'a Lock>,
    code: Option<&'a str>,
}

/// The tracks of a process's threads.
struct Tracks<'a> {
    process: &'a Process,
    timeline: &'a Timeline,
    locks: HashMap<u64, &'a Lock>,
    /// Ends of holds, by their threads.
    ends: HashSet<(u32, u64)>,
}

impl<'a> Tracks<'a> {
    fn new(process: &'a Process, timeline: &'a Timeline) -> Self {
        let holds = timeline.events.iter().filter(|event| event.what == Activity::Hold);
        Tracks {
            process,
            timeline,
            locks: process.locks.iter().map(|lock| (lock.id, lock)).collect(),
            ends: holds.map(|hold| (hold.tid, hold.at_ns + hold.ns)).collect(),
        }
    }

    /// The events that are shown: those of the report's locks, and joins.
    fn events(&self) -> impl Iterator<Item = (&'a Event, Option<&'a Lock>)> {
        self.timeline.events.iter().filter_map(|event| match event.lock {
            Some(id) => Some((event, Some(*self.locks.get(&id)?))),
            None => Some((event, None)),
        })
    }

    /// The waits that another thread of the report ended: its number, and when.
    fn ended(&self) -> impl Iterator<Item = (&'a Event, Option<&'a Lock>, (u32, u64))> {
        self.events().filter_map(|(event, lock)| Some((event, lock, event.by?)))
    }

    fn slices(&self) -> Vec<Value> {
        let mut slices: Vec<Slice<'_>> =
            self.events().map(|(event, lock)| self.slice(event, lock)).collect();
        let shown: HashSet<(&str, u32, u64)> =
            slices.iter().map(|slice| (slice.what, slice.tid, slice.from_ns / 1_000)).collect();
        for lock in &self.process.locks {
            for moment in lock.moments.iter().filter(|moment| !of_lock(moment)) {
                let (what, tid) = (word(moment.what), moment.tid.unwrap_or(0));
                let at = moment.at_ns / 1_000;
                if (at.saturating_sub(1)..=at + 1).any(|at| shown.contains(&(what, tid, at))) {
                    continue;
                }
                let to_ns = moment.at_ns.saturating_add(moment.ns);
                let name = format!("{what} #{} {}", lock.id, place(lock));
                slices.push(Slice {
                    tid,
                    from_ns: moment.at_ns,
                    to_ns,
                    name,
                    what,
                    lock: Some(lock),
                    code: None,
                });
            }
        }
        let mut woken: HashSet<(u32, u64)> = HashSet::new();
        for (_, lock, (tid, at)) in self.ended() {
            if self.ends.contains(&(tid, at)) || !woken.insert((tid, at)) {
                continue;
            }
            let name = match lock {
                Some(lock) => format!("wakes #{} {}", lock.id, place(lock)),
                None => "ends".to_owned(),
            };
            let to_ns = at.saturating_add(WAKEUP_NS);
            slices.push(Slice { tid, from_ns: at, to_ns, name, what: "wakeup", lock, code: None });
        }
        self.nested(slices)
    }

    fn slice(&self, event: &'a Event, lock: Option<&'a Lock>) -> Slice<'a> {
        let code = event.code.and_then(|code| self.timeline.codes.get(code));
        let what = match event.what {
            Activity::Wait => "wait",
            Activity::Hold => "hold",
            Activity::Span => "span",
        };
        let name = match (event.what, lock) {
            (Activity::Span, _) => code.cloned().unwrap_or_default(),
            (_, Some(lock)) => format!("{what} #{} {}", lock.id, place(lock)),
            (_, None) => "wait for a thread's end".to_owned(),
        };
        let to_ns = event.at_ns.saturating_add(event.ns);
        Slice {
            tid: event.tid,
            from_ns: event.at_ns,
            to_ns,
            name,
            what,
            lock,
            code: code.map(String::as_str),
        }
    }

    /// The slices as events, none of which outlasts one that it begins in.
    fn nested(&self, mut slices: Vec<Slice<'_>>) -> Vec<Value> {
        slices.sort_by_key(|slice| (slice.tid, slice.from_ns, Reverse(slice.to_ns)));
        let mut open: Vec<(u32, u64)> = Vec::new();
        let mut events = Vec::with_capacity(slices.len());
        for slice in slices {
            while open.last().is_some_and(|&(tid, end)| tid != slice.tid || end <= slice.from_ns) {
                open.pop();
            }
            let to_ns = open.last().map_or(slice.to_ns, |&(_, end)| end.min(slice.to_ns));
            open.push((slice.tid, to_ns));
            let full = (to_ns < slice.to_ns).then(|| us(slice.to_ns - slice.from_ns));
            events.push(json!({
                "ph": "X",
                "cat": slice.what,
                "name": slice.name,
                "pid": self.process.pid,
                "tid": slice.tid,
                "ts": us(slice.from_ns),
                "dur": us(to_ns.saturating_sub(slice.from_ns)),
                "args": { "kind": slice.lock.map(kind_of), "code": slice.code, "full_us": full },
            }));
        }
        events
    }

    /// From what ended each wait to its end. An arrow begins and ends within an interval: a nanosecond before its end.
    fn arrows(&self, number: &mut u64) -> Vec<Value> {
        let mut events = Vec::new();
        for (wait, lock, (tid, at)) in self.ended().filter(|(wait, ..)| wait.ns > 0) {
            *number += 1;
            let from = if self.ends.contains(&(tid, at)) { at.saturating_sub(1) } else { at };
            let name = match lock {
                Some(lock) => format!("ends the wait for #{}", lock.id),
                None => "ends".to_owned(),
            };
            let (id, pid) = (*number, self.process.pid);
            let mut arrow = |kind: &str, tid: u32, ns: u64| {
                events.push(json!({
                    "ph": kind, "bp": "e", "cat": "ends", "name": name, "id": id, "pid": pid, "tid": tid, "ts": us(ns),
                }));
            };
            arrow("s", tid, from);
            arrow("f", wait.tid, wait.at_ns + wait.ns - 1);
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::IdleCause;

    fn lock() -> Lock {
        let lock = json!({
            "id": 7, "kind": "mutex", "class": "contention", "site": null, "created": [], "first_taken": [], "address": "0x1",
            "life": 0, "acquisitions": 1, "blocked": 1, "try_failed": 0, "threads": 2, "owner_changes": 1, "utilisation": null,
            "mean_queue": null, "wait_ns": null, "idle_ns": null, "hold_ns": null, "worst_wait": null, "worst_idle": null,
        });
        serde_json::from_value(lock).unwrap()
    }

    fn trace(moments: Vec<Moment>, events: Vec<Event>) -> Vec<Value> {
        let lock = Lock { moments, ..lock() };
        let process = Process {
            pid: 9,
            command: vec!["p".into()],
            locks: vec![lock],
            threads: vec![],
            joins: vec![],
            hung: None,
            ended_ns: None,
        };
        let report = json!({
            "schema": crate::run::SCHEMA, "command": ["p"], "exit_status": 0, "signal": null, "wall_ns": 10_000,
            "clock": { "source": "tsc", "step_ns": 0.5 }, "processes": [],
            "coverage": { "processes_observed": 1, "unseen": [], "nothing_seen": null, "futex_share_unaccounted": null, "futex_sites": [] },
            "observer": { "cost_ns_per_pair": null, "records_dropped": 0 }, "findings": [],
        });
        let mut report: RunReport = serde_json::from_value(report).unwrap();
        report.processes.push(process);
        let timeline = Timeline { pid: 9, events, codes: vec!["work a.c:3".into()], lost: 0 };
        render(&report, &[timeline])["traceEvents"].as_array().unwrap().clone()
    }

    fn slices(trace: &[Value]) -> Vec<(&str, u64, f64, f64)> {
        let of = |event: &&Value| event["ph"] == "X";
        let slice = |event: &'_ Value| {
            (
                event["tid"].as_u64().unwrap(),
                event["ts"].as_f64().unwrap(),
                event["dur"].as_f64().unwrap(),
            )
        };
        trace
            .iter()
            .filter(of)
            .map(|event| {
                let (tid, ts, dur) = slice(event);
                (event["cat"].as_str().unwrap(), tid, ts, dur)
            })
            .collect()
    }

    #[test]
    fn each_moment_lies_on_the_track_of_its_thread_or_lock() {
        let moment = |what, cause| Moment { what, at_ns: 1_500, ns: 2_000, tid: Some(42), cause };
        let moments = vec![moment(Span::Wait, None), moment(Span::Idle, Some(IdleCause::Barged))];
        let trace = trace(moments, Vec::new());
        assert_eq!(slices(&trace), [("wait", 42, 1.5, 2.0), ("idle", LOCK_TRACKS + 7, 1.5, 2.0)]);
        let idle = trace.iter().find(|event| event["cat"] == "idle").unwrap();
        assert_eq!(idle["args"]["cause"], "barged");
        assert!(trace.iter().any(|event| event["args"]["name"] == "lock #7 at 0x1"));
    }

    fn event(what: Activity, tid: u32, (at_ns, end): (u64, u64), by: Option<(u32, u64)>) -> Event {
        Event { what, tid, lock: Some(7), at_ns, ns: end - at_ns, by, code: Some(0) }
    }

    #[test]
    fn an_arrow_goes_from_the_hold_that_ended_a_wait_to_its_end() {
        let hold = event(Activity::Hold, 1, (1_000, 5_000), None);
        let wait = event(Activity::Wait, 2, (2_000, 6_000), Some((1, 5_000)));
        // The longest wait is among the newest: it is shown once.
        let moment =
            Moment { what: Span::Wait, at_ns: 2_001, ns: 4_000, tid: Some(2), cause: None };
        let trace = trace(vec![moment], vec![hold, wait]);
        assert_eq!(slices(&trace), [("hold", 1, 1.0, 4.0), ("wait", 2, 2.0, 4.0)]);
        let arrows: Vec<_> = trace
            .iter()
            .filter(|event| event["id"] == 1)
            .map(|event| (&event["ph"], &event["tid"], &event["ts"]))
            .collect();
        assert_eq!(
            arrows,
            [(&json!("s"), &json!(1), &json!(4.999)), (&json!("f"), &json!(2), &json!(5.999))]
        );
        assert!(trace.iter().any(|event| event["args"]["code"] == "work a.c:3"));
    }

    #[test]
    fn a_thread_that_held_nothing_has_a_slice_for_its_wakeup() {
        let waits = [2, 3].map(|tid| event(Activity::Wait, tid, (2_000, 6_000), Some((1, 5_000))));
        let trace = trace(Vec::new(), waits.to_vec());
        assert_eq!(
            slices(&trace),
            [("wakeup", 1, 5.0, 1.0), ("wait", 2, 2.0, 4.0), ("wait", 3, 2.0, 4.0)]
        );
    }

    #[test]
    fn a_span_has_its_name() {
        let span = Event { lock: None, ..event(Activity::Span, 1, (1_000, 5_000), None) };
        let trace = trace(Vec::new(), vec![span]);
        assert_eq!(slices(&trace), [("span", 1, 1.0, 4.0)]);
        assert!(trace.iter().any(|event| event["name"] == "work a.c:3"));
    }

    #[test]
    fn holds_that_overlap_are_cut_where_the_earlier_one_ends() {
        let first = event(Activity::Hold, 1, (1_000, 5_000), None);
        let second = event(Activity::Hold, 1, (2_000, 9_000), None);
        let third = event(Activity::Hold, 1, (5_000, 6_000), None);
        let trace = trace(Vec::new(), vec![first, third, second]);
        assert_eq!(
            slices(&trace),
            [("hold", 1, 1.0, 4.0), ("hold", 1, 2.0, 3.0), ("hold", 1, 5.0, 1.0)]
        );
        let cut = trace.iter().find(|event| event["ts"] == 2.0).unwrap();
        assert_eq!(cut["args"]["full_us"], 7.0);
    }
}
