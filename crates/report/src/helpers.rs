//! Functions that hold a lock, or end waits, for those that call them: the caller says what for.
//!
//! # Contract
//! A function counts as one if several functions call it there, if its name says so, or if it only wakes others: the
//! time was mostly spent before. A report then names the caller of the most waiting next to it. A caller that merely
//! waited makes it such a function, too, but is not to blame.
//! # Evidence
//! `tests/helpers.rs`.

use crate::names::shortened_of_two;
use crate::rows::{code_in, function, source};
use crate::run::{Blamed, BlamedKind, Frame};
use uncontended_figures::text::clean;

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

/// The code that caused waiting, with the caller for which it did.
pub(crate) fn blamed(by: &Blamed) -> Option<String> {
    let site = by.site.as_ref()?;
    Some(match caller(by) {
        Some(caller) => format!("{} ← {}{}", in_short(site), in_short(caller), others(by)),
        None => code_in(site, Some(&by.stack)),
    })
}

/// The same by the names of functions alone.
pub(crate) fn blamed_function(by: &Blamed) -> Option<String> {
    let site = by.site.as_ref()?;
    Some(match caller(by) {
        Some(caller) => format!("{} ← {}{}", name(site), name(caller), others(by)),
        None => function(site),
    })
}

/// The code of a frame that stands next to another one.
fn in_short(frame: &Frame) -> String {
    source(frame).map_or_else(|| name(frame), |source| format!("{} {source}", name(frame)))
}

fn name(frame: &Frame) -> String {
    let name = frame.function.as_deref().map(|name| shortened_of_two(&clean(name)));
    name.unwrap_or_else(|| function(frame))
}

/// The caller of the most waiting.
fn caller(by: &Blamed) -> Option<&Frame> {
    let function = by.site.as_ref()?.function.as_deref()?;
    let is_wakeup = by.kind == BlamedKind::Wake;
    let is_helper = by.callers.len() > 1 || is_named_as_lock(function) || is_wakeup;
    let caused = by.callers_wait_ns.first().is_some_and(|&wait_ns| wait_ns > 0);
    by.callers.first().filter(|_| is_helper && caused)
}

/// A sign that other callers have more of the waiting together.
fn others(by: &Blamed) -> &'static str {
    let first_ns = by.callers_wait_ns.first().map_or(0, |&wait_ns| wait_ns);
    if first_ns < by.wait_ns / 2 { ", …" } else { "" }
}

/// Whether the function is inlined in its caller.
pub(crate) fn is_inlined(by: &Blamed) -> bool {
    let mut outwards = by.stack.iter().skip_while(|&frame| Some(frame) != by.site.as_ref());
    let site = outwards.next();
    let place = |frame: &Frame| (frame.module.clone(), frame.address.clone());
    outwards.next().map(place).is_some_and(|outer| site.map(place) == Some(outer))
}

/// Whether the name is one of a function that takes a lock or gives it back.
pub(crate) fn is_named_as_lock(name: &str) -> bool {
    words(name).any(|word| WORDS.contains(&&*word))
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
