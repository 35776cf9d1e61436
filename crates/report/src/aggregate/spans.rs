//! What the slowest spans waited for, next to the median ones: the calls of a function, or what the program announces.
//!
//! # Contract
//! The path of a call is that of its thread from the call to the return, through other threads while it waited. A call
//! counts if all waits since its beginning are in the record.

use super::path::{Known, is_handover, length};
use crate::facts::{SpanFact, SpanFacts};
use crate::path::{Step, What, walk};
use crate::run::{Blamed, RunReport, SpanGroup, SpanKind, SpanPart, Spans};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use uncontended_trace::layout::Unit;
use uncontended_trace::reader::{Record, ThreadRecord};

/// Most calls of a group whose paths are followed.
const MOST: usize = 1_000;
/// Culprits that calls are divided among.
const CULPRITS: usize = 20;
/// Most names of announced spans that are reported, those that took the longest.
const NAMES: usize = 10;

/// A call in the history of its process.
#[derive(Clone, Copy)]
struct Call<'a> {
    known: &'a Known,
    process: usize,
    /// None: it took no lock.
    thread: Option<usize>,
    began: u64,
    ended: u64,
}

impl Call<'_> {
    fn ns(&self) -> u64 {
        self.ended - self.began
    }

    fn steps(&self) -> Vec<Step> {
        let Some(thread) = self.thread else {
            let (from, to) = (self.began, self.ended);
            return vec![Step { thread: usize::MAX, from, to, what: What::Own }];
        };
        walk(&self.known.history, self.began, (thread, self.ended))
    }
}

/// The spans that the programs announced, by name, those that took the longest in all first.
pub(super) fn announced(record: &Record<'_>) -> Vec<SpanFacts> {
    let mut names: BTreeMap<&str, SpanFacts> = BTreeMap::new();
    for image in &record.processes {
        for thread in &image.threads {
            let mut spans = by_name(record, image.pid, thread);
            for name in &thread.spans {
                let kept = spans.remove(&name.unit).unwrap_or_default();
                let of = names.entry(&name.name).or_insert_with(|| empty(&name.name));
                of.earlier =
                    of.earlier.saturating_add(name.count.saturating_sub(kept.len() as u64));
                of.spans.extend(kept);
            }
        }
    }
    let took =
        |of: &SpanFacts| super::sum(of.spans.iter().map(|span| span.ended_ns - span.began_ns));
    let mut names: Vec<SpanFacts> = names.into_values().collect();
    names.sort_by_key(|of| Reverse(took(of)));
    names.truncate(NAMES);
    names
}

/// The spans in a thread's log by the number of their name.
fn by_name(record: &Record<'_>, pid: u32, thread: &ThreadRecord) -> HashMap<Unit, Vec<SpanFact>> {
    let mut names: HashMap<Unit, Vec<SpanFact>> = HashMap::new();
    for entry in thread.log.spans().filter(|entry| entry.began <= entry.ended) {
        let [began_ns, ended_ns] = [entry.began, entry.ended].map(|ticks| record.ns_at(ticks));
        let span = SpanFact { pid, tid: thread.tid, began_ns, ended_ns };
        names.entry(entry.lock).or_default().push(span);
    }
    names
}

fn empty(name: &str) -> SpanFacts {
    SpanFacts {
        name: name.to_owned(),
        kind: SpanKind::Annotation,
        spans: Vec::new(),
        earlier: 0,
        lost: 0,
        cost_ns: None,
    }
}

/// The spans of a run, divided among the culprits of `report`. `known` has its processes in their order.
pub(super) fn spans(facts: SpanFacts, known: &[Known], report: &RunReport) -> Spans {
    let mut calls: Vec<Call<'_>> =
        facts.spans.iter().filter_map(|span| call(span, known, report)).collect();
    calls.sort_by_key(Call::ns);
    let count = calls.len();
    let at = |share: f64| {
        let place = (count as f64 * share) as usize;
        calls.get(place.min(count.saturating_sub(1))).map_or(0, Call::ns)
    };
    let most = count.div_ceil(100).min(MOST);
    let (slowest, middle) = (count - most, (count - most) / 2);
    let not_kept = facts.spans.len() - count;
    Spans {
        name: facts.name,
        kind: facts.kind,
        count: count as u64,
        not_kept: facts.earlier.saturating_add(not_kept as u64),
        lost: facts.lost,
        cost_ns: facts.cost_ns,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        max_ns: at(1.0),
        slowest: group(&calls[slowest..], report),
        median: group(&calls[middle..middle + most], report),
    }
}

/// The call in the history of its thread, if all waits since its beginning are known.
fn call<'a>(span: &SpanFact, known: &'a [Known], report: &RunReport) -> Option<Call<'a>> {
    let processes = report.processes.iter().zip(known).enumerate();
    let mut of = processes.filter(|(_, (process, _))| process.pid == span.pid);
    of.find_map(|(process, (_, known))| {
        let threads = known.tids.iter().enumerate().rev();
        let mut own = threads.filter(|&(thread, &tid)| {
            tid == span.tid && known.history.threads[thread].start <= span.ended_ns
        });
        let thread = own.next().map(|(thread, _)| thread);
        let (began, ended) = (span.began_ns, span.ended_ns);
        (began >= known.history.from && began <= ended).then_some(Call {
            known,
            process,
            thread,
            began,
            ended,
        })
    })
}

/// The means of some calls.
fn group(calls: &[Call<'_>], report: &RunReport) -> SpanGroup {
    let count = calls.len() as u64;
    let mean = |sum: u64| sum.checked_div(count).unwrap_or(0);
    let steps: Vec<(usize, Vec<Step>)> =
        calls.iter().map(|call| (call.process, call.steps())).collect();
    let culprits = report.culprits.iter().take(CULPRITS).enumerate();
    let parts = culprits
        .map(|(place, culprit)| (place, culprit, in_culprit(calls, &steps, culprit, report)));
    let parts: Vec<(usize, &Blamed, [u64; 2])> = parts.filter(|(.., ns)| *ns != [0, 0]).collect();
    let all = |nth: usize| super::sum(parts.iter().map(|(.., ns)| ns[nth]));
    let of = |is: fn(What) -> bool| super::sum(steps.iter().map(|(_, steps)| length(steps, is)));
    let mut group = SpanGroup {
        count,
        ns: mean(super::sum(calls.iter().map(Call::ns))),
        own_ns: mean(of(|what| what == What::Own).saturating_sub(all(0))),
        handed_over_ns: mean(of(is_handover).saturating_sub(all(1))),
        unknown_ns: mean(of(|what| what == What::Unknown)),
        parts: Vec::new(),
    };
    group.parts.extend(parts.into_iter().map(|(place, culprit, [own, handed_over])| SpanPart {
        culprit: Some(place as u64),
        site: culprit.site.clone(),
        kind: culprit.kind,
        ns: mean(own.saturating_add(handed_over)),
    }));
    group.parts.sort_by_key(|part| Reverse(part.ns));
    group
}

/// The time of calls in a culprit: threads' own, and handovers.
fn in_culprit(
    calls: &[Call<'_>],
    steps: &[(usize, Vec<Step>)],
    culprit: &Blamed,
    report: &RunReport,
) -> [u64; 2] {
    let mut sum = [0u64; 2];
    for (number, process) in report.processes.iter().enumerate() {
        let Some(known) = calls.iter().find(|call| call.process == number).map(|call| call.known)
        else {
            continue;
        };
        let Some(of) = known.of(culprit, &process.locks) else { continue };
        let inside = known.inside(&of);
        let nth = usize::from(matches!(inside, super::path::Inside::Handovers(_)));
        for (_, steps) in steps.iter().filter(|(process, _)| *process == number) {
            sum[nth] = sum[nth].saturating_add(inside.time(steps));
        }
    }
    sum
}
