//! Culprits that are functions of a lock of the program's own: the option that names their callers, ready to use.
//!
//! # Contract
//! The observer does not know which functions only take or give back a lock. A culprit is taken for one if its name
//! says so, or if several functions call it to wake others, or one that it is inlined in; the sentence leaves it to the
//! reader. Nothing is said if its callers are not known.
//! # Evidence
//! `tests/nature.rs`.

use super::shown;
use crate::helpers::{is_inlined, is_named_as_lock};
use crate::rows::function;
use crate::run::{Blamed, BlamedKind, RunReport};
use crate::terminal::command_line;

/// How many callers are named.
const CALLERS: usize = 3;
/// A sentence about the first culprit that may be one.
pub(super) fn wrapper(report: &RunReport) -> Option<String> {
    shown(report).find_map(of_culprit)
}

fn of_culprit(culprit: &Blamed) -> Option<String> {
    let name = culprit.site.as_ref()?.function.as_deref()?;
    let is_named = is_named_as_lock(name);
    let is_wake = culprit.kind == BlamedKind::Wake;
    let is_shared = is_wake && (culprit.callers.len() > 1 || is_inlined(culprit));
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
        command_line(&["--skip-frames".to_owned(), pattern(name)?])
    ))
}

/// What matches the function and, of C++, its overloads; of an operator, or of what is in a lambda or in a namespace
/// without a name, itself alone. An operator without its class is any class's: nothing matches that alone.
fn pattern(name: &str) -> Option<String> {
    let start = name.find(['(', '<', '{']).map_or(name, |at| &name[..at]);
    let own = start.rsplit("::").next().unwrap_or(start);
    if start.starts_with("operator") {
        return None;
    }
    let is_any = own.is_empty() || own.starts_with("operator") || name.contains("::{");
    Some(if start == name || is_any { name.to_owned() } else { format!("{start}*") })
}
