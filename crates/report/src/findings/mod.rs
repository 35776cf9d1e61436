//! Findings in words: at most five sentences, each with the figures behind it.
//!
//! # Contract
//! A rule speaks only if its figures leave no other interpretation that we know of. If no rule speaks there is no
//! finding, which is the answer for a program without a problem. A deadlock comes first. Rules judge one lock at a
//! time, because comparing the longest wait of one lock with the longest hold of another says nothing. Of several locks
//! of one kind and site, in one process or several, that wait for the same code, the costliest speaks, and names the
//! others. A maximum grows with the number of samples, so a rule
//! that reads maxima uses the *fourth* longest, which one unlucky moment cannot cause, and states the number. If no
//! rule speaks about a contended lock with much waiting, the finding states the plain figures. A finding follows cost:
//! its lock's waiting must take much of the threads' time, or be long at times; the finding then says so. Ratios of
//! waits to holds choose the words alone. Futex waiting that was not seen comes first; the others are ordered by what
//! the run could gain, if culprits are, and then by the waiting that they explain. A lock has at most two.
//! # Evidence
//! `tests/findings.rs`: for every rule a run in which it speaks, and near misses in which it stays silent;
//! `tests/thresholds.rs`: each threshold.

mod arrivals;
mod chain;
mod deadlock;
mod died;
mod herd;
mod hold;
mod hung;
mod lost;
mod none;
mod order;
mod rules;
mod sleep;
mod sleepers;
mod trial;
mod unseen;
mod weight;

pub use none::none;
pub(crate) use rules::cause;
pub use trial::{Trial, tried_by};
pub(crate) use unseen::waited_at;
pub(crate) use weight::{HEAVY_NS, NOT_SEEN, why_unknown};

use crate::code::line;
use crate::helpers::{blamed, blamed_function};
use crate::rows::{called, function, place};
use crate::run::{
    Class, Finding, Frame, GAINS, Holds, Kind, Lock, Process, RankedBy, RunReport, Thread,
};
use crate::terminal::{mainly, then};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use uncontended_figures::percent;

/// The most findings of a run.
pub const MOST: usize = 5;
/// The most findings about one lock.
const MOST_OF_A_LOCK: usize = 2;
/// The share of the time of all threads that a lock's total wait must reach to be worth a finding. Without it, a
/// program is at most 1 / (1 - 0.05) = 1.05 times as fast; runs of one program differ by as much.
pub(crate) const MATERIAL_SHARE: f64 = 0.05;
/// Or else, on average, this many threads must wait: of hundreds that sleep, the two that wait are a small share.
const MATERIAL_QUEUE: f64 = 0.5;
/// Or else its fourth longest wait must reach this: more than a scheduler's time slice with several competitors, so
/// busy neighbours alone do not cause it four times.
const MATERIAL_TAIL_NS: u64 = 50_000_000;

/// The findings of `report`, the one that explains the most waiting first.
pub fn find(report: &RunReport) -> Vec<Finding> {
    let mut claims = Vec::new();
    let sleepers: Vec<Vec<Lock>> = report.processes.iter().map(sleepers::joined).collect();
    for (process, joined) in report.processes.iter().zip(&sleepers) {
        let sides: HashMap<(&str, u32), &Lock> = process
            .locks
            .iter()
            .filter(|lock| lock.kind == Kind::RwlockRead)
            .map(|lock| ((lock.address.as_str(), lock.life), lock))
            .collect();
        let of_process = cpu_wanted(&[process]);
        let waited_only = report.holds == Some(Holds::Waited);
        let alone = process.locks.iter().filter(|lock| !lock.is_sleepers());
        for lock in alone.chain(joined) {
            let readers = sides.get(&(lock.address.as_str(), lock.life)).copied();
            let sharers = |of: &&Process| lock.processes.contains(&of.pid);
            let (processes, cpu_wanted) = match lock.processes.len() {
                0 | 1 => (vec![process], of_process),
                _ => {
                    let processes: Vec<&Process> =
                        report.processes.iter().filter(sharers).collect();
                    let cpu_wanted = cpu_wanted(&processes);
                    (processes, cpu_wanted)
                }
            };
            let (pid, wall_ns) = (process.pid, report.wall_ns);
            let subject =
                Subject { report, lock, readers, wall_ns, pid, processes, cpu_wanted, waited_only };
            claims.extend(about(&subject));
        }
    }
    claims.retain(|claim| claim.rule != UNFINISHED || !deadlock::has(report, claim.lock.id));
    let hangs: Vec<u64> =
        claims.iter().filter(|of| of.rule == UNFINISHED).map(|claim| claim.lock.id).collect();
    claims.retain(|claim| claim.rule != UNFINISHED || !hung::is_said(claim.lock, &hangs));
    let gains = |claim: &Claim| report.gain_at(claim.lock.id);
    let order = |claim: &Claim| (gains(claim).unwrap_or(0.0), claim.cost_ns, claim.lock.id);
    claims.sort_by(|a, b| order(b).partial_cmp(&order(a)).unwrap_or(Ordering::Equal));
    let mut chosen = chosen(claims);
    say_once(&mut chosen);
    let mut met: HashSet<(u32, u64)> = HashSet::new();
    let of_locks = chosen.into_iter().map(|claim| {
        let is_first = met.insert((claim.pid, claim.lock.id));
        finding(report, claim, is_first)
    });
    let first =
        deadlock::find(report).chain(hung::find(report, &hangs)).chain(unseen::find(report));
    let first = first.chain(lost::find(report));
    // A deadlock to come is worth more than the fifth of what costs time.
    let last = order::find(report);
    first.chain(of_locks).take(MOST - usize::from(last.is_some())).chain(last).collect()
}

/// A lock, with what a rule may compare it with.
struct Subject<'a> {
    report: &'a RunReport,
    lock: &'a Lock,
    /// The readers' row of the same read-write lock.
    readers: Option<&'a Lock>,
    wall_ns: u64,
    /// The process of its row.
    pid: u32,
    /// The processes whose threads use it: that one, or all that share it.
    processes: Vec<&'a Process>,
    /// The share of runnable time that their threads spent without a CPU, if the kernel reports it.
    cpu_wanted: Option<f64>,
    /// Whether only holds are recorded that a thread waited for.
    waited_only: bool,
}

impl Subject<'_> {
    /// The lock's total wait as a share of the time of all threads of its processes.
    fn share(&self) -> f64 {
        self.share_of(self.waited_ns())
    }

    /// That share of so much waiting.
    fn share_of(&self, waited_ns: u64) -> f64 {
        let lives = self.processes.iter().map(|process| process.lived_ns(self.wall_ns));
        waited_ns as f64 / crate::aggregate::sum(lives).max(1) as f64
    }

    /// The lock with this number.
    fn lock_of(&self, id: u64) -> Option<&'_ Lock> {
        let mut locks = self.report.processes.iter().flat_map(|process| &process.locks);
        locks.find(|lock| lock.id == id)
    }

    /// Whether, as far as was seen, a change to the lock would hardly make the run shorter.
    fn is_off_path(&self) -> bool {
        self.report.gain_at(self.lock.id).is_some_and(|gain| gain < GAINS)
    }

    /// The thread that the path is in, if that slept, and no code to blame for the lock's waiting is on it: the thread
    /// may have waited for this in a way that was not seen, or not.
    fn other_path(&self) -> Option<String> {
        let few = |ns: u64| (ns as f64) < GAINS * self.wall_ns as f64;
        let path = self.report.longest_path()?;
        let is_known = few(path.outside_ns.saturating_add(path.unknown_ns));
        let culprits = self.report.culprits.iter();
        let mut of = culprits.filter(|culprit| culprit.locks.contains(&self.lock.id)).peekable();
        let is_off = of.peek().is_some() && of.all(|culprit| culprit.path_ns.is_some_and(few));
        let thread = mainly(self.report, path).filter(|_| is_known && is_off);
        let thread = thread.filter(|_| !path.tells_gains(self.wall_ns));
        thread.map(|thread| format!("{thread}: see whether that waits for this"))
    }

    /// Whether no change to any lock would make the run much shorter, as far as was seen, and none to this one: a run
    /// of fixed length may get more done all the same.
    fn hardly_shortens(&self) -> bool {
        let culprits = self.report.culprits.iter();
        let of = culprits.filter(|culprit| culprit.locks.contains(&self.lock.id));
        let is_known = !of.clone().any(|culprit| culprit.lacks_gain(self.wall_ns));
        let gain_ns = of.filter_map(|culprit| culprit.gain_at_most_ns).max();
        self.report.ranked_by == RankedBy::Wait
            && is_known
            && gain_ns.is_some_and(|ns| (ns as f64) < GAINS * self.wall_ns as f64)
    }

    /// The threads of its processes.
    fn threads(&self) -> impl Iterator<Item = &'_ Thread> + Clone {
        self.processes.iter().flat_map(|process| &process.threads)
    }

    /// Whether threads also wait for a condition in the function in which this lock is: they hand work over.
    fn is_queue(&self) -> bool {
        let site = self.lock.site.as_ref().and_then(|site| site.function.as_deref());
        let is_there = |frame: &Frame| site.is_some() && frame.function.as_deref() == site;
        let mut locks = self.processes.iter().flat_map(|process| &process.locks);
        locks.any(|lock| {
            lock.kind == Kind::Condition
                && lock.wait_ns.is_some()
                && lock.waited_in.iter().any(|at| at.stack.iter().chain(&at.site).any(is_there))
        })
    }

    /// Which of its holds the figures are of, after their name.
    fn which_holds(&self) -> &'static str {
        if self.waited_only { " that threads waited for" } else { "" }
    }

    /// A share of the run that the recorded holds took.
    fn held_for(&self, share: f64) -> String {
        let at_least = if self.waited_only { "at least " } else { "" };
        format!("{at_least}{}", percent(share))
    }

    /// How many threads waited for the lock on average.
    fn queue(&self) -> f64 {
        self.waited_ns() as f64 / self.wall_ns.max(1) as f64
    }

    fn waited_ns(&self) -> u64 {
        self.lock.wait_ns.as_ref().map_or(0, |wait| wait.total)
    }

    /// Whether the waiting takes much of the threads' time.
    fn is_costly(&self) -> bool {
        let gains = self.report.gain_at(self.lock.id).is_some_and(|gain| gain >= MATERIAL_SHARE);
        self.share() >= MATERIAL_SHARE || self.queue() >= MATERIAL_QUEUE || gains
    }

    /// Whether threads waited for long at times.
    fn is_long(&self) -> bool {
        self.lock.wait_ns.as_ref().is_some_and(|wait| fourth(&wait.worst) >= MATERIAL_TAIL_NS)
    }

    /// Whether its waiting is for a lock, and not for work or for an end.
    fn is_lock(&self) -> bool {
        let is_taken = !matches!(self.lock.kind, Kind::Condition | Kind::Barrier | Kind::Futex);
        match self.lock.class {
            Class::Contention => true,
            Class::HandOff => is_taken && self.lock.kind != Kind::Semaphore,
            Class::Gate => is_taken,
            Class::Queue | Class::Unknown => false,
        }
    }
}

/// Less than this part of the threads' lives is too little to explain their waits.
const MUCH_WANTED: f64 = 0.05;

fn cpu_wanted(processes: &[&Process]) -> Option<f64> {
    let threads = || processes.iter().flat_map(|process| &process.threads);
    let sum = |figure: fn(&Thread) -> Option<u64>| {
        threads().filter_map(figure).fold(0, u64::saturating_add) as f64
    };
    let (ran, wanted) = (sum(|thread| thread.cpu_ns), sum(|thread| thread.runnable_ns));
    let lived = sum(|thread| thread.lived_ns);
    // Threads that nearly always sleep lack no CPU, however long each wakes.
    (ran + wanted > 0.0 && wanted >= MUCH_WANTED * lived).then(|| wanted / (ran + wanted))
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
    /// The lock's total wait as a share of the threads' time, if any thread waited.
    share: Option<f64>,
    /// The waiting that the sentence explains, by which findings are ordered.
    cost_ns: u64,
    text: String,
    evidence: Vec<(&'static str, f64)>,
    /// The sentence that its process lacked CPUs, which it may contain.
    no_cpu: Option<String>,
    /// Locks of which the same is to be said, the costliest first, each with the process of its row.
    others: Vec<(u32, &'a Lock)>,
}

fn about<'a>(subject: &Subject<'a>) -> Vec<Claim<'a>> {
    let is_costly = subject.is_costly();
    let is_material = is_costly || subject.is_long();
    let contended = subject.lock.class == Class::Contention && is_material;
    let claim = |(rule, speak): &rules::Rule| {
        let said = speak(subject)?;
        Some(Claim {
            rule,
            lock: subject.lock,
            pid: subject.pid,
            share: subject.lock.wait_ns.as_ref().map(|_| subject.share()),
            cost_ns: said.cost_ns,
            text: holder(subject, rule, said.text) + &end(subject, rule, said.advice),
            evidence: said.evidence,
            no_cpu: subject.cpu_wanted.map(rules::without_cpu),
            others: Vec::new(),
        })
    };
    let mut claims: Vec<Claim> =
        rules::OF_CONTENTION.iter().filter(|_| contended).filter_map(claim).collect();
    // That the lock moves between threads explains nothing if something else does.
    if claims.len() > 1 {
        claims.retain(|claim| claim.rule != "owner");
    }
    let explained = claims.len();
    claims.extend(rules::OF_ANY.iter().filter_map(claim));
    let explains = |claim: &Claim| ["gate", "woken-into", "passed-on"].contains(&claim.rule);
    let is_explained = explained > 0 || claims.iter().any(explains) || died::explains(subject);
    if !is_explained && is_costly && subject.is_lock() {
        claims.extend(claim(&rules::OF_HEAVY));
    }
    claims
}

/// The code must cause this share of a lock's waiting to be named in a sentence about something else.
const MOSTLY: f64 = 0.5;

/// The sentence of a rule, with the code that held the lock meanwhile, if that is known and not in it.
fn holder(subject: &Subject, rule: &str, text: String) -> String {
    let is_about_holds = !["unfinished", "polling", "passed-on", "gate"].contains(&rule);
    let first = subject.lock.held_by.first().filter(|_| is_about_holds);
    let is_said = |site: &Frame| {
        let with_caller = first.and_then(blamed_function);
        [Some(function(site)), with_caller].iter().flatten().any(|code| text.contains(code))
            || subject.lock.site.as_ref().map(line) == Some(line(site))
    };
    let site = first.and_then(|by| by.site.as_ref()).filter(|site| !is_said(site));
    let code = site.and(holder_code(subject.lock)).zip(first);
    let named = code.map(|(code, by)| {
        format!("; {} of its waiting was for {code}", percent(by.share.min(1.0)))
    });
    text + &named.unwrap_or_default()
}

/// The code whose holds caused most of the waiting for a lock.
fn holder_code(lock: &Lock) -> Option<String> {
    let by = lock.held_by.first().filter(|by| by.share >= MOSTLY)?;
    blamed(by)
}

/// How the sentence of a rule ends: with what to do, or with why that would not help.
fn end(subject: &Subject, rule: &str, advice: String) -> String {
    // Of these, the cost is not in waits that ended.
    if [UNFINISHED, "polling", "woken-for-nothing"].contains(&rule) {
        return advice;
    }
    match (subject.is_off_path(), subject.is_costly()) {
        (true, _) => OFF_PATH.to_owned(),
        (false, true) if subject.hardly_shortens() && !advice.is_empty() => advice + FIXED,
        (false, true) => advice + &then(subject.other_path()),
        (false, false) => advice + RARE,
    }
}

/// What to expect of a change to a lock that is not what made the run long: it is advised to none.
const OFF_PATH: &str = "; but as far as was seen, other work set the run's length, and a change here alone hardly makes \
                        it shorter, unless that work only lasts until this is done";

/// What to expect of a change where nothing would make the run shorter.
const FIXED: &str = "; as far as was seen, that hardly makes the run shorter, but a program that runs for a fixed time gets more done";

/// What to expect of a change to a lock whose waits are long but few.
const RARE: &str =
    "; these waits are rare: shorter ones would make single delays shorter, and hardly the run";

/// That a process lacked CPUs is about the process: of several findings, the first says it.
fn say_once(claims: &mut [Claim]) {
    let mut said: HashSet<String> = HashSet::new();
    for claim in claims {
        let Some(sentence) = claim.no_cpu.take() else { continue };
        if claim.text.contains(&sentence) && !said.insert(sentence.clone()) {
            claim.text = claim.text.replace(&sentence, "its threads lacked CPUs, as said above");
        }
    }
}

/// What two claims have in common that ask for the same change: the rule, the kind and place of the lock, and the code
/// to blame for most of its waiting.
type Change = (&'static str, Kind, String, Option<(Option<Arc<str>>, Option<u32>)>);

fn change(claim: &Claim) -> Change {
    let lock = claim.lock;
    let first = lock.held_by.first().or(lock.ended_by.first()).filter(|by| by.share >= MOSTLY);
    let site = first.and_then(|by| by.site.as_ref());
    let code = site.map(|site| (site.function.clone(), site.line));
    (claim.rule, lock.kind, place(lock), code)
}

/// The claims that become findings. Of several that ask for the same change, the first has the locks of the others.
fn chosen(claims: Vec<Claim>) -> Vec<Claim> {
    let mut said: HashMap<Change, usize> = HashMap::new();
    let mut of_lock: HashMap<(u32, u64), usize> = HashMap::new();
    let mut chosen: Vec<Claim> = Vec::new();
    for claim in claims {
        let change = change(&claim);
        if let Some(same) = said.get(&change).and_then(|&nth| chosen.get_mut(nth)) {
            same.others.push((claim.pid, claim.lock));
            continue;
        }
        let of_this = of_lock.entry((claim.pid, claim.lock.id)).or_default();
        if *of_this < MOST_OF_A_LOCK && chosen.len() < MOST {
            *of_this += 1;
            said.insert(change, chosen.len());
            chosen.push(claim);
        }
    }
    chosen
}

/// The share of the threads' time that they waited for all locks of a claim, if there are several.
fn share_of_all(report: &RunReport, claim: &Claim) -> Option<f64> {
    claim.share.filter(|_| !claim.others.is_empty())?;
    let all = || claim.others.iter().copied().chain([(claim.pid, claim.lock)]);
    let users = all().flat_map(|(pid, lock)| lock.processes.iter().copied().chain([pid]));
    let users: HashSet<u32> = users.collect();
    let processes = report.processes.iter().filter(|process| users.contains(&process.pid));
    let lived_ns = crate::aggregate::sum(processes.map(|of| of.lived_ns(report.wall_ns)));
    let waits = all().filter_map(|(_, lock)| lock.wait_ns.as_ref());
    let waited_ns = crate::aggregate::sum(waits.map(|wait| wait.total));
    Some(waited_ns as f64 / lived_ns.max(1) as f64)
}

/// How many of a claim's other locks are named.
const NAMED: usize = 3;

/// What the waits for a claim's lock cost, and with those for its others.
fn cost(claim: &Claim, of_all: Option<f64>) -> String {
    let Some(share) = claim.share else { return String::new() };
    let share = format!(", waits take {} of the threads' time", percent(share.min(1.0)));
    let Some(of_all) = of_all else { return share };
    let ids: Vec<String> =
        claim.others.iter().take(NAMED).map(|(_, lock)| format!("#{}", lock.id)).collect();
    let more = match claim.others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {} more", uncontended_figures::count(more as u64)),
    };
    format!("{share}, {} with those for {}{more}", percent(of_all.min(1.0)), ids.join(", "))
}

/// That there are several locks of the kind, class and site of the one of `claim`, in how many processes.
fn alike(report: &RunReport, claim: &Claim) -> String {
    let lock = claim.lock;
    let key = |lock: &'_ Lock| (lock.kind, lock.class);
    let same = |other: &&Lock| key(other) == key(lock) && other.site == lock.site;
    let count = |process: &Process| process.locks.iter().filter(same).count();
    let counts = report.processes.iter().filter(|_| lock.site.is_some()).map(count);
    let counts: Vec<usize> = counts.filter(|&count| count > 0).collect();
    let one_of = uncontended_figures::count(counts.iter().sum::<usize>() as u64);
    match counts.len() {
        2.. => format!(", one of {one_of} in {} processes", counts.len()),
        1 if counts[0] > 1 => format!(", one of {one_of}"),
        _ => String::new(),
    }
}

/// The rule of waits that did not end.
const UNFINISHED: &str = "unfinished";
/// `is_first`: the first about its lock, which says where that is and what its waits cost.
fn finding(report: &RunReport, claim: Claim, is_first: bool) -> Finding {
    let lock = claim.lock;
    let one_of = alike(report, &claim);
    let of_all = share_of_all(report, &claim);
    let which = match is_first {
        true => format!("lock #{} ({}{one_of}{})", lock.id, called(lock), cost(&claim, of_all)),
        false => format!("lock #{} again", lock.id),
    };
    Finding {
        rule: claim.rule.to_owned(),
        text: format!("{which}: {}", claim.text),
        lock: Some(lock.id),
        locks: claim.others.iter().map(|(_, other)| other.id).collect(),
        wait_share: claim.share,
        evidence: claim
            .evidence
            .into_iter()
            .chain(of_all.map(|share| ("wait_share_of_all", share)))
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
    }
}
