//! A search shared by several processes.
//!
//! # Contract
//! One process searches until enough branches are left; each of them is a part. Then it forks. Every process walks all
//! parts in the order of a single-process search, and explores those that it is the first to claim. The counts of each
//! part go into shared memory and are added up in that order at the end, so the sums are those of one process. If a
//! part breaks a rule, no later part is started, the earlier ones are completed, and the first process explores the
//! first broken part again to report its violation: the one that a single process would have found first.
//!
//! # Invariants
//! J1: the memory is a shared mapping of `words` zeroed `u64`s, accessed only as atomics, and unmapped when its owner
//!     is dropped.
//! J2: a forked process never returns into the code that called the search: it ends with `_exit`.
//!
//! # Sources
//! fork(2), signal-safety(7).
#![allow(unsafe_code)]

use super::exploration::{Exploration, Stepped};
use super::verdict::{Bound, Diverged, Report};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Branches per process that must be left before the search is shared.
const WAYS: usize = 8;
/// Runs after which the search is shared even if fewer are left.
const MOST_RUNS: u32 = 64;

/// Global words: runs so far; 1 more than the first part (in order of search: the highest) that broke a rule.
const HEAD: usize = 2;
/// Words of a part: claimed, outcome, its bound, whether time-outs ran out, the share that is done, then its counts.
const CLAIMED: usize = 0;
const OUTCOME: usize = 1;
const BOUND: usize = 2;
const OUT_OF_TIME: usize = 3;
const DONE: usize = 4;
const COUNTS: usize = 5;
const PART: usize = COUNTS + 8;

/// A part's outcome; 0 means none yet.
const WHOLE: u64 = 1;
const BROKEN: u64 = 2;

/// Memory that the processes share.
#[derive(Debug)]
pub(super) struct Shared {
    base: *const AtomicU64,
    words: usize,
}

impl Shared {
    fn new(parts: usize) -> Shared {
        let words = HEAD + parts * PART;
        // SAFETY: a new mapping, at an address chosen by the kernel (J1).
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * size_of::<u64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert!(base != libc::MAP_FAILED, "no memory for a shared search");
        Shared { base: base.cast::<AtomicU64>(), words }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.words);
        let word = self.base.wrapping_add(at);
        // SAFETY: within the mapping, which lives as long as this (J1).
        unsafe { &*word }
    }

    fn of_part(&self, part: usize, at: usize) -> &AtomicU64 {
        self.word(HEAD + part * PART + at)
    }

    /// Counts a run of any process and returns the number before it.
    pub(super) fn count_run(&self) -> u64 {
        self.word(0).fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether this process is the first to claim the part, and no earlier part broke a rule.
    fn claims(&self, part: usize) -> bool {
        let is_needed = self.word(1).load(Ordering::Relaxed) <= part as u64;
        is_needed && self.of_part(part, CLAIMED).swap(1, Ordering::Relaxed) == 0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference into it outlives this (J1).
        unsafe { libc::munmap(self.base.cast_mut().cast(), self.words * size_of::<u64>()) };
    }
}

impl Exploration {
    pub(super) fn run_shared(&mut self, processes: usize) -> Result<Report, Diverged> {
        for run in 0.. {
            match self.step()? {
                Stepped::Over(report) => return Ok(*report),
                Stepped::Reached => return self.finish(),
                Stepped::On => {}
            }
            let left = self.run.core.borrow().growth.count_left();
            if left > 0 && (left >= WAYS * processes || run >= MOST_RUNS) {
                break;
            }
            if !self.advance() {
                return self.finish();
            }
        }
        let parts = self.run.core.borrow_mut().growth.part();
        let shared = Rc::new(Shared::new(parts));
        let own = self.executions + self.cut + self.beyond;
        shared.word(0).store(own, Ordering::Relaxed);
        let mut children = Vec::new();
        for _ in 0..processes {
            // SAFETY: the child runs this exploration alone, and ends without unwinding or returning (J2).
            match unsafe { libc::fork() } {
                0 => self.end_as_child(&shared),
                -1 => return Err(Diverged("no process could be forked for the search".into())),
                child => children.push(child),
            }
        }
        let mut are_sound = true;
        for child in children {
            let mut status = 0;
            // SAFETY: writes to `status` alone; the child is ours and has not been waited for (J2).
            while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
                assert_eq!(std::io::Error::last_os_error().kind(), std::io::ErrorKind::Interrupted);
            }
            are_sound &= status == 0;
        }
        self.collect(&shared, parts, are_sound)
    }

    /// Explores parts until none is left to claim.
    fn end_as_child(&mut self, shared: &Rc<Shared>) -> ! {
        self.shared = Some(Rc::clone(shared));
        let work = std::panic::AssertUnwindSafe(|| {
            while let Some(part) = self.next_part() {
                let is_wanted = shared.claims(part);
                self.begin_part(is_wanted);
                if is_wanted && !self.explore_part(shared, part) {
                    return true;
                }
            }
            self.repeat_samples().is_ok()
        });
        let status = i32::from(!std::panic::catch_unwind(work).unwrap_or(false));
        // SAFETY: ends this process without running any code of the one it was forked from (J2).
        unsafe { libc::_exit(status) }
    }

    fn next_part(&self) -> Option<usize> {
        let mut core = self.run.core.borrow_mut();
        let core = &mut *core;
        core.growth.next_part(&mut core.graph)
    }

    fn begin_part(&self, is_wanted: bool) {
        self.run.core.borrow_mut().growth.begin_part(is_wanted);
    }

    /// Explores the part that was begun and records it. False: a bound ends the search.
    fn explore_part(&mut self, shared: &Shared, part: usize) -> bool {
        self.counts().into_iter().for_each(|count| *count = 0);
        (self.bound, self.is_out_of_time, self.done) = (None, false, 0.0);
        let barren = self.run.core.borrow().growth.barren;
        let (mut outcome, mut goes_on) = (WHOLE, true);
        while goes_on && self.advance() {
            match self.step() {
                Ok(Stepped::On) => {}
                Ok(Stepped::Reached) => goes_on = false,
                Ok(Stepped::Over(_)) | Err(_) => {
                    outcome = BROKEN;
                    shared.word(1).fetch_max(part as u64 + 1, Ordering::Relaxed);
                    break;
                }
            }
        }
        let done = self.done + self.run.core.borrow().growth.barren - barren;
        let bound = self.bound.map_or(0, |bound| 1 + number(bound));
        let is_out_of_time = u64::from(self.is_out_of_time);
        let counts = self.counts().map(|count| *count);
        let words = [(BOUND, bound), (OUT_OF_TIME, is_out_of_time), (DONE, done.to_bits())];
        let counts = counts.into_iter().enumerate().map(|(at, count)| (COUNTS + at, count));
        for (at, word) in words.into_iter().chain(counts).chain([(OUTCOME, outcome)]) {
            shared.of_part(part, at).store(word, Ordering::Release);
        }
        goes_on && outcome == WHOLE
    }

    /// Adds up the counts of the parts, in the order of the search.
    fn collect(
        &mut self,
        shared: &Shared,
        parts: usize,
        are_sound: bool,
    ) -> Result<Report, Diverged> {
        for part in (0..parts).rev() {
            let word = |at: usize| shared.of_part(part, at).load(Ordering::Acquire);
            if word(OUTCOME) == BROKEN {
                return self.explore_again(part);
            }
            if word(OUTCOME) != WHOLE {
                if self.bound.is_none() {
                    return Err(Diverged(
                        "a process that shared the search terminated early".into(),
                    ));
                }
                continue;
            }
            for (at, count) in self.counts().into_iter().enumerate() {
                *count += word(COUNTS + at);
            }
            self.is_out_of_time |= word(OUT_OF_TIME) != 0;
            self.done += f64::from_bits(word(DONE));
            if word(BOUND) > 0 {
                self.bound = Some(self.numbered(word(BOUND) - 1));
            }
        }
        if !are_sound {
            let why = "a process that shared the search terminated early, or an execution behaves differently when it is \
            run again";
            return Err(Diverged(why.into()));
        }
        self.finish()
    }

    /// Explores the broken part again to report its violation.
    fn explore_again(&mut self, broken: usize) -> Result<Report, Diverged> {
        while let Some(part) = self.next_part() {
            self.begin_part(part == broken);
            while part == broken && self.advance() {
                if let Stepped::Over(report) = self.step()? {
                    return Ok(*report);
                }
            }
        }
        Err(Diverged("one process of the search breaks a rule that another does not break".into()))
    }

    /// The bound with this number.
    fn numbered(&self, number: u64) -> Bound {
        match number {
            0 => Bound::Executions(self.bounds.executions),
            1 => Bound::Time(self.bounds.time.unwrap_or_default()),
            2 => Bound::Events(self.bounds.events),
            3 => Bound::Threads(super::MAX_THREADS),
            4 => Bound::Memory(self.bounds.memory_bytes),
            spins => Bound::Spins((spins - 5) as u32),
        }
    }
}

fn number(bound: Bound) -> u64 {
    match bound {
        Bound::Executions(_) => 0,
        Bound::Time(_) => 1,
        Bound::Events(_) => 2,
        Bound::Threads(_) => 3,
        Bound::Spins(rounds) => 5 + u64::from(rounds),
        _ => 4,
    }
}
