//! Which function of a stack caused waiting, and which called it.
//!
//! # Contract
//! No function is named that merely implements locks, or that `--skip-frames` passes over, where the stack has another.

use crate::code::Skipped;
use crate::run::Frame;

/// The code that held a lock: the innermost function of the acquisition's stack whose return address is also in that of
/// the release. Functions that wrap the acquisition have returned by then. A function that released by a tail call has
/// left the stack, but its return address has not. Of inlined functions, the innermost that the release's stack
/// contains too. Without such a function, the acquisition's site. A function that is passed over held it for its
/// caller.
pub(super) fn holding(
    acquisition: &[Frame],
    release: &[Frame],
    skipped: &Skipped,
) -> Option<Frame> {
    let is_at = |a: &Frame, b: &Frame| a.module == b.module && a.address == b.address;
    let common = acquisition.iter().position(|a| release.iter().any(|b| is_at(a, b)));
    let called = common.and_then(|at| acquisition.get(at.checked_sub(1)?));
    // All functions inlined at one address have it.
    let from = called.and_then(|called| acquisition.iter().position(|a| is_at(a, called)));
    let first = skipped.site(&acquisition[from.unwrap_or(0)..])?;
    let outwards = acquisition.iter().skip_while(|&frame| frame != first);
    let inlined = outwards.take_while(|frame| called.is_none() || is_at(frame, first));
    let is_both = |a: &&Frame| {
        !skipped.contains(a) && release.iter().any(|released| is_function(a, released))
    };
    Some(inlined.into_iter().find(is_both).unwrap_or(first).clone())
}

/// Whether both frames are of the same function.
fn is_function(a: &Frame, b: &Frame) -> bool {
    a.module == b.module && a.function == b.function && a.function.is_some()
}

/// The function that called `site` in this stack: of the same module, for a library's callers are not its wrappers.
pub(super) fn caller<'s>(site: &Frame, stack: &'s [Frame], skipped: &Skipped) -> Option<&'s Frame> {
    let is_caller = |frame: &&Frame| {
        let is_other = frame.function.is_some() && frame.function != site.function;
        is_other && frame.module == site.module && !skipped.contains(frame)
    };
    stack.iter().skip_while(|frame| *frame != site).skip(1).find(is_caller)
}

/// The function that called that of `site` in another stack.
pub(super) fn called_by<'s>(
    site: &Frame,
    stack: &'s [Frame],
    skipped: &Skipped,
) -> Option<&'s Frame> {
    let same = stack.iter().find(|frame| is_function(frame, site))?;
    caller(same, stack, skipped)
}

#[cfg(test)]
/// Frames of functions with addresses, innermost first.
pub(super) fn stack(frames: &[(&str, &str)]) -> Vec<Frame> {
    let frame = |&(function, address): &(&str, &str)| Frame {
        function: Some(function.into()),
        file: None,
        line: None,
        module: Some("/bin/program".into()),
        address: address.into(),
    };
    frames.iter().map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_in(acquisition: &[(&str, &str)], release: &[(&str, &str)]) -> String {
        held_without(&[], acquisition, release)
    }

    /// The same with `--skip-frames`.
    fn held_without(
        skipped: &[&str],
        acquisition: &[(&str, &str)],
        release: &[(&str, &str)],
    ) -> String {
        let skipped: Vec<String> = skipped.iter().map(|&pattern| pattern.to_owned()).collect();
        let skipped = Skipped::with(&skipped);
        let holding = holding(&stack(acquisition), &stack(release), &skipped);
        holding.unwrap().function.unwrap().to_string()
    }

    #[test]
    fn functions_that_wrap_a_lock_do_not_hold_it() {
        let taken = [("lock", "1"), ("locked", "2"), ("work", "3"), ("main", "4")];
        assert_eq!(held_in(&taken, &[("unlock", "5"), ("work", "6"), ("main", "4")]), "work");
        let [.., work, main] = taken;
        assert_eq!(held_in(&[work, main], &[("work", "6"), ("main", "4")]), "work");
        // Taken and released by two functions that a third calls.
        assert_eq!(held_in(&taken, &[("end", "7"), ("work", "8"), ("main", "4")]), "work");
    }

    #[test]
    fn a_function_that_releases_by_a_tail_call_holds_it() {
        let taken = [("std::lock", "1"), ("work", "1"), ("loop", "2"), ("main", "3")];
        assert_eq!(held_in(&taken, &[("loop", "2"), ("main", "3")]), "work");
        assert_eq!(held_in(&taken, &[("unlock", "9"), ("loop", "2"), ("main", "3")]), "work");
    }

    #[test]
    fn of_functions_inlined_the_innermost_that_releases_holds_it() {
        let taken =
            [("std::lock", "1"), ("lock", "1"), ("work", "1"), ("loop", "1"), ("main", "2")];
        let released = [("std::unlock", "3"), ("work", "3"), ("loop", "3"), ("main", "2")];
        assert_eq!(held_in(&taken, &released), "work");
    }

    #[test]
    fn without_a_common_caller_it_is_the_site_of_the_acquisition() {
        assert_eq!(held_in(&[("std::lock", "1"), ("take", "2")], &[]), "take");
        assert_eq!(held_in(&[("take", "1"), ("run", "2")], &[("give", "3"), ("run", "4")]), "run");
    }
    #[test]
    fn a_function_that_is_passed_over_held_it_for_its_caller() {
        let released = [("unlock", "5"), ("with_lock", "6"), ("work", "3"), ("main", "4")];
        for lock in
            [&[("lock", "1"), ("with_lock", "2")][..], &[("std::lock", "2"), ("with_lock", "2")]]
        {
            let taken = [lock, &[("work", "3"), ("main", "4")]].concat();
            assert_eq!(held_in(&taken, &released), "with_lock");
            assert_eq!(held_without(&["with_*"], &taken, &released), "work");
            assert_eq!(held_without(&["with_*", "work"], &taken, &released), "main");
        }
        let inlined = [("take", "2"), ("with_lock", "2"), ("work", "2"), ("main", "4")];
        let released = [("give", "6"), ("with_lock", "6"), ("work", "6"), ("main", "4")];
        assert_eq!(held_without(&["with_lock"], &inlined, &released), "work");
    }

    #[test]
    fn a_caller_is_another_function_of_the_program() {
        let called = |by: &str| {
            let stack =
                stack(&[("lock", "1"), ("walk", "2"), ("walk", "3"), (by, "4"), ("main", "5")]);
            let caller = caller(&stack[1], &stack, &Skipped::default());
            caller.unwrap().function.clone().unwrap().to_string()
        };
        assert_eq!(called("work"), "work");
        assert_eq!(called("std::invoke"), "main");
        let alone = stack(&[("unlock", "1")]);
        assert_eq!(caller(&alone[0], &alone, &Skipped::default()), None);
        let waited = stack(&[("lock", "1"), ("walk", "7"), ("other", "8")]);
        let site = &stack(&[("walk", "2")])[0];
        assert_eq!(called_by(site, &waited, &Skipped::default()), Some(&waited[2]));
        assert_eq!(called_by(&alone[0], &waited, &Skipped::default()), None);
    }
}
