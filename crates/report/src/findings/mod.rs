//! Findings in words: at most five sentences, each with the figures behind it.
//!
//! # Contract
//! A rule speaks only if its figures leave no other interpretation that we know of. If no rule speaks there is no
//! finding, which is the answer for a program without a problem. Rules judge one lock at a time, because comparing the
//! longest wait of one lock with the longest hold of another says nothing. Of several locks of one site, the costliest
//! speaks. A maximum grows with the number of samples, so a rule that reads maxima uses the *fourth* longest, which one
//! unlucky moment cannot cause, and states the number.
//! Of a contended lock with much waiting on which the rules are silent, the plain figures are said.
//! Findings are ordered by the waiting that they explain; a lock has at most two.
//! # Evidence
//! `tests/findings.rs`: for every rule a run in which it speaks, and near misses in which it stays silent;
//! `tests/thresholds.rs`: each threshold.

mod rules;
mod weight;

pub(crate) use rules::cause;

use crate::rows::place;
use crate::run::{Class, Finding, Kind, Lock, Process, RunReport, Thread};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most findings of a run.
pub const MOST: usize = 5;
/// The most findings about one lock.
const MOST_OF_A_LOCK: usize = 2;
/// The share of the run's wall time that a lock's total wait must reach to be worth a finding. Below one percent no
/// change to the lock can show in the run time of a thread.
const MATERIAL_SHARE: f64 = 0.01;
/// Or else its fourth longest wait must reach this: more than a scheduler's time slice with several competitors, so
/// busy neighbours alone do not cause it four times.
const MATERIAL_TAIL_NS: u64 = 50_000_000;

/// The findings of `report`, the one that explains the most waiting first.
pub fn find(report: &RunReport) -> Vec<Finding> {
    let mut claims = Vec::new();
    for process in &report.processes {
        let sides: HashMap<(&str, u32), &Lock> = process
            .locks
            .iter()
            .filter(|lock| lock.kind == Kind::RwlockRead)
            .map(|lock| ((lock.address.as_str(), lock.life), lock))
            .collect();
        let cpu_wanted = cpu_wanted(process);
        for lock in &process.locks {
            let readers = sides.get(&(lock.address.as_str(), lock.life)).copied();
            let subject = Subject { lock, readers, wall_ns: report.wall_ns, process, cpu_wanted };
            claims.extend(about(&subject));
        }
    }
    claims.sort_by_key(|claim| std::cmp::Reverse((claim.cost_ns, claim.lock.id)));
    chosen(claims).into_iter().map(|claim| finding(report, claim)).collect()
}

/// A lock, with what a rule may compare it with.
struct Subject<'a> {
    lock: &'a Lock,
    /// The readers' row of the same read-write lock.
    readers: Option<&'a Lock>,
    wall_ns: u64,
    process: &'a Process,
    /// The share of runnable time that the process's threads spent without a CPU, if the kernel reports it.
    cpu_wanted: Option<f64>,
}

impl Subject<'_> {
    /// Whether threads waited long enough for this lock to be worth a sentence.
    fn is_material(&self) -> bool {
        let Some(wait) = &self.lock.wait_ns else { return false };
        let share = wait.total as f64 / self.wall_ns.max(1) as f64;
        share >= MATERIAL_SHARE || fourth(&wait.worst) >= MATERIAL_TAIL_NS
    }
}

fn cpu_wanted(process: &Process) -> Option<f64> {
    let sum = |figure: fn(&Thread) -> Option<u64>| {
        process.threads.iter().filter_map(figure).fold(0, u64::saturating_add) as f64
    };
    let (ran, wanted) = (sum(|thread| thread.cpu_ns), sum(|thread| thread.runnable_ns));
    (ran + wanted > 0.0).then(|| wanted / (ran + wanted))
}

/// The fourth longest of the worst times; zero if fewer were recorded.
fn fourth(worst: &[u64]) -> u64 {
    worst.get(3).copied().unwrap_or(0)
}

/// What a rule says about a lock.
struct Claim<'a> {
    rule: &'static str,
    lock: &'a Lock,
    pid: u32,
    /// The waiting that the sentence explains, by which findings are ordered.
    cost_ns: u64,
    text: String,
    evidence: Vec<(&'static str, f64)>,
}

fn about<'a>(subject: &Subject<'a>) -> Vec<Claim<'a>> {
    let contended = subject.lock.class == Class::Contention && subject.is_material();
    let claim = |(rule, speak): &rules::Rule| {
        let said = speak(subject)?;
        Some(Claim {
            rule,
            lock: subject.lock,
            pid: subject.process.pid,
            cost_ns: said.cost_ns,
            text: said.text,
            evidence: said.evidence,
        })
    };
    let mut claims: Vec<Claim> =
        rules::OF_CONTENTION.iter().filter(|_| contended).filter_map(claim).collect();
    if claims.is_empty() && contended {
        claims.extend(claim(&rules::OF_HEAVY));
    }
    claims.extend(rules::OF_ANY.iter().filter_map(claim));
    claims
}

fn chosen(claims: Vec<Claim>) -> Vec<Claim> {
    let mut said: HashSet<(&str, u32, String)> = HashSet::new();
    let mut of_lock: HashMap<(u32, u64), usize> = HashMap::new();
    let mut chosen = Vec::new();
    for claim in claims {
        let of_this = of_lock.entry((claim.pid, claim.lock.id)).or_default();
        if *of_this < MOST_OF_A_LOCK && said.insert((claim.rule, claim.pid, place(claim.lock))) {
            *of_this += 1;
            chosen.push(claim);
        }
        if chosen.len() == MOST {
            break;
        }
    }
    chosen
}

/// How many locks the process of `claim` has of the kind and site of its lock.
fn alike(report: &RunReport, claim: &Claim) -> usize {
    let lock = claim.lock;
    let of_process = report.processes.iter().filter(|process| process.pid == claim.pid);
    let same = |other: &&Lock| other.kind == lock.kind && other.site == lock.site;
    lock.site
        .as_ref()
        .map_or(1, |_| of_process.flat_map(|process| &process.locks).filter(same).count())
}

fn finding(report: &RunReport, claim: Claim) -> Finding {
    let lock = claim.lock;
    let alike = alike(report, &claim);
    let one_of = if alike > 1 {
        format!(", one of {}", uncontended_figures::count(alike as u64))
    } else {
        String::new()
    };
    Finding {
        text: format!("lock #{} ({}{one_of}): {}", lock.id, place(lock), claim.text),
        lock: Some(lock.id),
        evidence: claim
            .evidence
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
    }
}
