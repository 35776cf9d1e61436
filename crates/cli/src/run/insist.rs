//! A program that does not end when it is asked to.
//!
//! # Contract
//! A time limit (`--for`) or a load that is over asks with SIGTERM, and [`KILL_AFTER`] later with SIGKILL, as
//! `timeout -k` does. A person asks with Ctrl-C or by a signal: the program may have a use for that, so `unc` only
//! says, once and after [`GRACE`], how to go on. [`KEYS`] keys within [`GRACE`] end the program with SIGKILL. The
//! record is complete whatever ends it.

use super::supervise::{KILL, TERMINATE};
use crate::console::tell;
use std::time::{Duration, Instant};
use uncontended_sys::process::Child;

/// A program that is still there this long after it was asked is spoken of.
const GRACE: Duration = Duration::from_secs(2);
/// When a program that was asked by a limit or by a load's end is ended.
const KILL_AFTER: Duration = Duration::from_secs(10);
/// The number of keys in a row that end the program.
const KEYS: usize = 3;

/// What was asked, and when.
#[derive(Debug, Default)]
pub(crate) struct Insist {
    asked: Option<Instant>,
    /// When to send SIGKILL.
    kill: Option<Instant>,
    is_said: bool,
    /// When the last keys were pressed.
    keys: Vec<Instant>,
}

impl Insist {
    /// The time is over, or the load: sends SIGTERM.
    pub(crate) fn end(&mut self, child: &Child, now: Instant) {
        child.signal(TERMINATE);
        self.asked.get_or_insert(now);
        self.kill.get_or_insert(now + KILL_AFTER);
    }

    /// A person asked; `is_key`: with a key of the terminal, which has told the program too.
    pub(crate) fn asked(&mut self, child: &Child, is_key: bool, now: Instant) {
        self.asked.get_or_insert(now);
        if is_key {
            self.keys.retain(|&key| now.duration_since(key) <= GRACE);
            self.keys.push(now);
        }
        if self.keys.len() >= KEYS {
            child.signal(KILL);
        }
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Option<Instant> {
        let say = self.asked.filter(|_| !self.is_said).map(|asked| asked + GRACE);
        [say, self.kill].into_iter().flatten().min()
    }

    /// Says what is due, and ends the program if that is.
    pub(crate) fn look(&mut self, child: &Child, now: Instant) {
        if self.asked.is_some_and(|asked| now >= asked + GRACE) && !self.is_said {
            self.is_said = true;
            tell(&self.words());
        }
        if self.kill.is_some_and(|kill| now >= kill) {
            child.signal(KILL);
            self.kill = None;
        }
    }

    fn words(&self) -> String {
        let [grace, kill] = [GRACE, KILL_AFTER].map(|time| time.as_secs());
        match self.kill {
            Some(_) => format!(
                "unc: the program has not ended {grace} s after SIGTERM\n     it gets SIGKILL in {} s\n",
                kill - grace
            ),
            None => format!(
                "unc: the program has not ended {grace} s after it was asked to\n     kill -USR1 {} reports what was recorded so \
                 far; {KEYS} times Ctrl-C within {grace} s kills it\n",
                std::process::id()
            ),
        }
    }
}
