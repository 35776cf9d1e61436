//! Searches several keys in parallel.
//!
//! # State
//! - P1: each worker takes keys from the list one by one; no key is taken twice.
//! - P2: only the calling thread writes the report and calls [`Limits::go_on`]; workers send it their results.
//! - P3: once `stop` is set, searches end at their next check, and their results then are not verdicts.

use super::super::spec::{OperationOf, Spec};
use super::keys::Keys;
use super::{Bound, Decision, Limits, Progress, Report, Verdict};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two calls of `go_on`.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The input: the spec, the history and its keys.
type Subject<'a, S> = (&'a S, &'a [OperationOf<S>], &'a Keys);

/// State that workers share.
struct Shared<'a, S: Spec> {
    subject: Subject<'a, S>,
    hard: &'a [usize],
    memory_bytes: usize,
    /// P1. Relaxed: an index that publishes nothing.
    next: AtomicUsize,
    /// P3. Relaxed: it publishes nothing.
    stop: AtomicBool,
    /// The progress of each worker's search.
    progress: Vec<Mutex<Progress>>,
}

/// Adds the results of the `hard` keys to the report. Returns the keys that did not fit alongside others.
pub(super) fn search<S>(
    threads: usize,
    subject: Subject<'_, S>,
    hard: &[usize],
    limits: &mut Limits<'_>,
    report: &mut Report,
) -> Vec<usize>
where
    S: Spec + Sync,
    S::Call: Sync,
    S::Output: Sync,
{
    let workers = threads.min(hard.len());
    let shared = Shared {
        subject,
        hard,
        memory_bytes: limits.memory_bytes,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        progress: (0..workers).map(|_| Mutex::default()).collect(),
    };
    let mut crowded_out = Vec::new();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for worker in 0..workers {
            let (shared, sender) = (&shared, sender.clone());
            scope.spawn(move || shared.work(worker, &sender));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(BETWEEN_LOOKS) {
                Ok((_, Some(decision))) => report.add(decision),
                Ok((key, None)) => crowded_out.push(key),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let progress = shared.sum(report.configurations);
            if !report.is_final() && !(limits.go_on)(&progress) {
                report.verdict = Verdict::Undecided(Bound::Stopped);
            }
            if report.is_final() {
                shared.stop.store(true, Ordering::Relaxed);
            }
        }
    });
    crowded_out
}

impl<S: Spec> Shared<'_, S> {
    /// Searches keys until none is left. Sends no verdict for a key if other searches use the memory it needs.
    fn work(&self, worker: usize, found: &Sender<(usize, Option<Decision>)>) {
        let _guard = StopsOnPanic(&self.stop);
        let (spec, history, keys) = self.subject;
        while let Some(key) = self.hard.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut is_crowded = false;
            let mut go_on = |progress: &Progress| {
                *self.progress[worker].lock().unwrap_or_else(PoisonError::into_inner) = *progress;
                is_crowded = self.sum(0).memory_bytes > self.memory_bytes;
                !is_crowded && !self.stop.load(Ordering::Relaxed)
            };
            let mut limits = Limits { memory_bytes: self.memory_bytes, go_on: &mut go_on };
            let timeline = keys.timeline::<S>(history, *key);
            let decision = Decision::by_search(spec, &timeline, &mut limits);
            *self.progress[worker].lock().unwrap_or_else(PoisonError::into_inner) =
                Progress::default();
            let was_stopped = decision.verdict == Verdict::Undecided(Bound::Stopped);
            if was_stopped && !is_crowded {
                return; // P3.
            }
            // The calling thread receives until all workers have gone.
            let _ = found.send((*key, (!is_crowded).then_some(decision)));
        }
    }

    /// The progress of all searches together, plus what was entered before.
    fn sum(&self, configurations: u64) -> Progress {
        let mut sum = Progress { configurations, ..Progress::default() };
        for progress in &self.progress {
            let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            sum.configurations += progress.configurations;
            sum.met += progress.met;
            sum.returns += progress.returns;
            sum.memory_bytes += progress.memory_bytes;
        }
        sum
    }
}

/// A panic in a spec ends all searches; the scope then propagates it.
struct StopsOnPanic<'a>(&'a AtomicBool);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
