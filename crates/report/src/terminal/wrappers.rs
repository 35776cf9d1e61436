//! Culprits that are functions of a lock of the program's own: the option that names their callers, ready to use.
//!
//! # Contract
//! The observer does not know which functions only take or give back a lock. A culprit is taken for one if its name
//! says so, or if several functions call it to wake others; the sentence leaves it to the reader. Nothing is said if
//! its callers are not known.
//! # Evidence
//! `tests/nature.rs`.

use super::shown;
use crate::rows::function;
use crate::run::{Blamed, BlamedKind, RunReport};
use crate::terminal::command_line;

/// How many callers are named.
const CALLERS: usize = 3;
/// Words in the names of functions that take a lock or give it back.
const WORDS: [&str; 10] = [
    "lock",
    "unlock",
    "trylock",
    "acquire",
    "release",
    "mutex",
    "barrier",
    "semaphore",
    "latch",
    "spinlock",
];

/// A sentence about the first culprit that may be one.
pub(super) fn wrapper(report: &RunReport) -> Option<String> {
    shown(report).find_map(of_culprit)
}

fn of_culprit(culprit: &Blamed) -> Option<String> {
    let name = culprit.site.as_ref()?.function.as_deref()?;
    let is_named = words(name).any(|word| WORDS.contains(&&*word));
    let is_shared = culprit.kind == BlamedKind::Wake && culprit.callers.len() > 1;
    let mut callers: Vec<String> = culprit.callers.iter().map(function).collect();
    if !(is_named || is_shared) || callers.is_empty() {
        return None;
    }
    let more = if callers.len() > CALLERS { ", …" } else { "" };
    callers.truncate(CALLERS);
    Some(format!(
        "{} is called by {}{more}. If it only takes the lock or gives it back, this names its callers: {}",
        culprit.site.as_ref().map(function)?,
        callers.join(", "),
        command_line(&["--skip-frames".to_owned(), pattern(name)])
    ))
}

/// What matches the function and, of C++, its overloads.
fn pattern(name: &str) -> String {
    match name.find(['(', '<']).filter(|&at| at > 0) {
        Some(at) => format!("{}*", &name[..at]),
        None => name.to_owned(),
    }
}

/// The words of a name, in lower case: parts of `my_lock`, `MyLock` and `my::lock`, without its parameters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let name = &name[..name.find('(').filter(|&at| at > 0).unwrap_or(name.len())];
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for sign in name.chars() {
        if !sign.is_alphabetic() || sign.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = sign.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphabetic()) {
            word.extend(sign.to_lowercase());
        }
    }
    words.into_iter()
}
