//! The calls that a thread made lately: which of them are the same, by a stack that the test writes.

use std::cell::Cell;
use uncontended_events::calls::{Call, Calls, Return, Seen};

const SP: usize = 0x7000_0000;

/// A call at [`SP`] whose `n`th caller is `callers[n]`, the last word of a frame of `frame` words.
fn seen(pc: usize, callers: &[usize], frame: usize) -> Seen {
    let mut seen = Seen::new(Call { pc, sp: SP });
    for (nth, &pc) in callers.iter().enumerate() {
        seen.note_caller(nth, Return { pc, at: SP + 8 * (frame * (nth + 1) - 1) });
    }
    seen
}

/// What the calls know of a call at [`SP`] in such a stack, and how many words they read.
fn known(calls: &Calls, pc: usize, callers: &[usize], frame: usize) -> (Option<u32>, usize) {
    let reads = Cell::new(0);
    let word = |at: usize| {
        reads.set(reads.get() + 1);
        let words = (at - SP) / 8 + 1;
        assert!(words.is_multiple_of(frame), "no return address is there");
        callers[words / frame - 1]
    };
    (calls.known(Call { pc, sp: SP }, word), reads.get())
}

#[test]
fn a_call_is_known_by_where_it_returns_to() {
    let calls = Calls::new();
    let call = |pc, sp| calls.known(Call { pc, sp }, |_| unreachable!("no callers"));
    assert_eq!(call(100, SP), None);
    calls.keep(&Seen::new(Call { pc: 100, sp: SP }), 7);
    assert_eq!((call(100, SP), call(101, SP), call(100, SP + 16)), (Some(7), None, None));
}

#[test]
fn calls_in_a_wrapper_are_told_apart_by_its_callers() {
    let calls = Calls::new();
    for (stack, last) in [(1, 13), (2, 23)] {
        assert_eq!(known(&calls, 100, &[11, 12, last, 14], 4).0, None);
        calls.keep(&seen(100, &[11, 12, last, 14], 4), stack);
    }
    for (stack, last) in [(1, 13), (2, 23)] {
        assert_eq!(known(&calls, 100, &[11, 12, last, 14], 4).0, Some(stack));
    }
    // A fifth caller makes no difference.
    calls.keep(&seen(200, &[1, 2, 3, 4, 5], 2), 3);
    assert_eq!(known(&calls, 200, &[1, 2, 3, 4, 6], 2), (Some(3), 4));
}

/// A word beyond a caller that differs may be in no frame.
#[test]
fn no_word_is_read_beyond_a_caller_that_differs() {
    let calls = Calls::new();
    calls.keep(&seen(100, &[11, 12, 13, 14], 3), 1);
    assert_eq!(known(&calls, 100, &[11, 12, 13, 14], 3), (Some(1), 4));
    assert_eq!(known(&calls, 100, &[11, 99, 13, 14], 3), (None, 2));
    assert_eq!(known(&calls, 100, &[99, 12, 13, 14], 3), (None, 1));
}

#[test]
fn callers_behind_a_large_frame_are_not_looked_for() {
    let calls = Calls::new();
    // The third frame ends more than 256 words above; the fourth was noted nearer than is possible.
    let mut seen = seen(100, &[11, 12], 128);
    seen.note_caller(2, Return { pc: 13, at: SP + 8 * 256 });
    seen.note_caller(3, Return { pc: 14, at: SP + 8 * 199 });
    calls.keep(&seen, 1);
    assert_eq!(known(&calls, 100, &[11, 12], 128), (Some(1), 2));
    // Nor is a caller whose stack is not above.
    let mut seen = Seen::new(Call { pc: 200, sp: SP });
    seen.note_caller(0, Return { pc: 11, at: SP - 8 });
    seen.note_caller(1, Return { pc: 12, at: SP + 8 * 3 });
    calls.keep(&seen, 2);
    assert_eq!(known(&calls, 200, &[], 1), (Some(2), 0));
}

#[test]
fn the_last_eight_calls_of_one_place_are_known() {
    let calls = Calls::new();
    let most = if cfg!(miri) { 12 } else { 50 };
    // These begin at one place: their low bits are equal, and so are those seven further up.
    let call = |number: u32| Call { pc: (number as usize) << 20, sp: SP };
    let find = |number: u32| calls.known(call(number), |_| unreachable!("no callers"));
    for number in 1..=most {
        assert_eq!(find(number), None);
        calls.keep(&Seen::new(call(number)), number);
        let known: Vec<u32> = (1..=most).filter(|&number| find(number).is_some()).collect();
        assert!((1..=most).all(|number| find(number).is_none_or(|stack| stack == number)));
        let expected: Vec<u32> = (number.saturating_sub(7).max(1)..=number).collect();
        assert_eq!(known, expected, "after {number} calls");
    }
}

#[test]
fn the_first_unknown_calls_are_unwound_and_then_few() {
    let calls = Calls::new();
    let unwound = |calls: &Calls, of| (0..of).filter(|_| calls.may_unwind()).count();
    assert_eq!(unwound(&calls, 1024), 1024);
    if cfg!(miri) {
        return; // The rest takes a minute there.
    }
    assert_eq!(unwound(&calls, 1024), 0);
    assert_eq!(unwound(&calls, 10 * 1025), 10);
}
