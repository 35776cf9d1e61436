//! The log of a thread's waits and holds, at times that the test sets.

mod common;

use common::{At, image, recorder};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events::{self, Blocked, End};
use uncontended_events::log::{self, By};
use uncontended_events::site::{Recorder, Row, Site};
use uncontended_events::woken::ONE;
use uncontended_events::{generations, passing, spans};
use uncontended_testkit::Random;
use uncontended_trace::layout::{
    LOG_PARTS, LOGGED, LogPart, Logged, SPAN_NAME, SpanName, kind, logged, units,
};

/// Units of a record with room for this many parts of logs, and the size that its header states for that.
fn record(parts: u32) -> (u32, u32) {
    let of_logs = parts * units(size_of::<LogPart>());
    (of_logs + 4_096, 8 * of_logs)
}

/// Threads of an image whose logs may have `parts` parts.
fn threads<const N: usize>(parts: u32) -> [At; N] {
    let (room, capacity) = record(parts);
    let image = image(2 * room);
    image.0.header().capacity.store(capacity, Relaxed);
    std::array::from_fn(|number| At { stack: number as u32 + 1, ..At::new(recorder(image), 1) })
}

/// An entry, as plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    what: u32,
    times: (u64, u64),
    stack: u32,
    by: By,
}

/// The entries of a log, oldest first, and how many were before them.
fn kept(recorder: &Recorder) -> (u64, Vec<Kept>) {
    let first = recorder.thread.log.load(Relaxed);
    let mut parts: Vec<&LogPart> = Vec::new();
    let mut unit = first;
    while unit != 0 && (parts.is_empty() || unit != first) {
        let part: &LogPart = recorder.arena.at(unit);
        assert!(parts.len() <= LOG_PARTS as usize, "the parts form a ring");
        parts.push(part);
        unit = part.after.load(Relaxed);
    }
    parts.sort_by_key(|part| part.first.load(Relaxed));
    let entry = |logged: &Logged| Kept {
        what: logged.what.load(Relaxed),
        times: (logged.began.load(Relaxed), logged.ended.load(Relaxed)),
        stack: logged.stack.load(Relaxed),
        by: By {
            at: logged.by_at.load(Relaxed),
            unit: logged.by.load(Relaxed),
            stack: logged.by_stack.load(Relaxed),
        },
    };
    let entries = parts
        .iter()
        .flat_map(|part| part.entries[..part.noted.load(Relaxed) as usize].iter().map(entry));
    (parts.first().map_or(0, |part| part.first.load(Relaxed)), entries.collect())
}

fn row(at: At, kind: u8) -> Row {
    generations::enter(at, 64, kind).expect("room for a lock")
}

#[test]
fn a_wait_for_a_mutex_names_the_hold_that_ended_it() {
    let [holder, waiter] = threads(1);
    let (held, wanted) = (row(holder, kind::MUTEX), row(waiter, kind::MUTEX));
    holder.set(100);
    events::acquired(holder, held);
    waiter.set(130);
    let blocked = Blocked::begin(waiter, wanted);
    holder.set(200);
    events::release(holder, held, || true, || 0);
    waiter.set(210);
    blocked.acquired();
    let by = By { at: 200, unit: holder.recorder.arena.unit_of(held.cell), stack: 1 };
    let wait = Kept { what: logged::WAIT, times: (130, 210), stack: 2, by };
    assert_eq!(kept(waiter.recorder), (0, vec![wait]));
    let hold = Kept { what: logged::HOLD, times: (100, 200), stack: 1, by: By::default() };
    assert_eq!(kept(holder.recorder), (0, vec![hold]));
}

#[test]
fn of_holds_for_which_no_thread_waited_the_long_ones_are_kept() {
    let [at] = threads(1);
    let row = row(at, kind::MUTEX);
    for (from, to) in [(1_000, 20_999), (30_000, 50_000)] {
        at.set(from);
        events::acquired(at, row);
        at.set(to);
        events::release(at, row, || false, || 0);
    }
    let hold = Kept { what: logged::HOLD, times: (30_000, 50_000), stack: 1, by: By::default() };
    assert_eq!(kept(at.recorder), (0, vec![hold]));
}

/// Of a pool of two permits: one holder's waiter gets the other's permit.
#[test]
fn of_permits_those_are_kept_during_which_a_thread_waited() {
    let [first, second, waiter] = threads(3);
    let rows = [first, second, waiter].map(|at| row(at, kind::SEMAPHORE));
    let gives_back = |at: At, row: Row, now: u64| {
        at.set(now);
        events::permit_back(at, row);
        events::release(at, row, || true, || 0);
    };
    for (at, row, now) in [(first, rows[0], 100), (second, rows[1], 110)] {
        at.set(now);
        events::acquired(at, row);
    }
    waiter.set(130);
    let blocked = Blocked::begin(waiter, rows[2]);
    gives_back(second, rows[1], 200);
    waiter.set(210);
    blocked.acquired();
    gives_back(first, rows[0], 300);
    gives_back(waiter, rows[2], 310);
    let holds = |at: At| {
        let all = kept(at.recorder).1;
        let holds = all.into_iter().filter(|kept| kept.what == logged::HOLD);
        holds.map(|hold| (hold.times, hold.stack)).collect::<Vec<_>>()
    };
    assert_eq!(holds(first), [((100, 300), 1)], "a thread waited, and was served by another");
    assert_eq!(holds(second), [((110, 200), 2)], "a thread waited until the end");
    assert_eq!(holds(waiter), [], "no thread has waited since it began");
}

#[test]
fn a_wakeup_is_named_by_its_thread_unless_it_came_before_the_wait() {
    let [waker, waiter] = threads(1);
    let (wakes, waits) = (row(waker, kind::FUTEX), row(waiter, kind::FUTEX));
    let sleep = |from: u64, woken: u64, until: u64, end: End| {
        waiter.set(from);
        let wait = || {
            waker.set(woken);
            passing::signals(waker.recorder, wakes.lock, Some(wakes.cell), true);
            events::ends(waker, wakes.lock, ONE);
            waiter.set(until);
        };
        events::sleep(Some((waiter, waits)), |at, _| at.ticks(), wait, |()| Some(end));
    };
    sleep(10, 50, 60, End::Came);
    sleep(100, 90, 160, End::Came);
    sleep(200, 250, 260, End::TimedOut);
    let woken = By { at: 50, unit: waker.recorder.arena.unit_of(waker.recorder.thread), stack: 1 };
    let (_, entries) = kept(waiter.recorder);
    let found: Vec<_> = entries.iter().map(|entry| (entry.times, entry.by)).collect();
    let unknown = By::default();
    assert_eq!(found, [((10, 60), woken), ((100, 160), unknown), ((200, 260), unknown)]);
}

/// Entries `from..to`, as [`fill`] makes them.
fn numbered(from: u64, to: u64) -> Vec<(u64, u64)> {
    (from..to).map(|number| (10 * number, 10 * number + 5)).collect()
}

fn fill(recorder: &Recorder, from: u64, to: u64) {
    for (began, ended) in numbered(from, to) {
        log::join(recorder, (7, 0), (began, ended));
    }
}

fn times(recorder: &Recorder) -> (u64, Vec<(u64, u64)>) {
    let (lost, entries) = kept(recorder);
    (lost, entries.iter().map(|entry| entry.times).collect())
}

#[test]
fn the_newest_are_kept_and_the_number_of_the_others_is_known() {
    let mut random = Random(9);
    // Miri takes milliseconds for each entry.
    let (many, rounds) = if cfg!(miri) { (2, 5) } else { (5, 40) };
    for parts in [1, 2, many] {
        let [at] = threads(parts);
        let mut written = 0;
        for _ in 0..rounds {
            let next = written + random.below(LOGGED as u64);
            fill(at.recorder, written, next);
            written = next;
            // Full parts, but the one being filled.
            let full = written.saturating_sub(1) / LOGGED as u64;
            let lost = (full + 1).saturating_sub(u64::from(parts)) * LOGGED as u64;
            assert_eq!(times(at.recorder), (lost, numbered(lost, written)), "{parts} parts");
        }
        assert_eq!(at.recorder.thread.log_parts.load(Relaxed), parts);
    }
}

#[test]
fn logs_leave_room_for_the_rest_and_one_part_for_each_thread() {
    let [greedy, modest, late] = threads(2);
    let header = greedy.recorder.arena.header();
    fill(greedy.recorder, 0, 3 * LOGGED as u64);
    assert_eq!(greedy.recorder.thread.log_parts.load(Relaxed), 2);
    fill(modest.recorder, 0, 2 * LOGGED as u64);
    fill(late.recorder, 0, 3);
    assert_eq!(modest.recorder.thread.log_parts.load(Relaxed), 1, "a first one beyond the eighth");
    assert_eq!(times(late.recorder), (0, numbered(0, 3)));
    assert_eq!((header.log_parts.load(Relaxed), header.dropped_room.load(Relaxed)), (4, 0));
}

#[test]
fn without_room_nothing_is_kept_and_nothing_counted_as_dropped() {
    let [at] = threads(0);
    fill(at.recorder, 0, 5);
    assert_eq!(times(at.recorder), (0, Vec::new()));
    assert_eq!(at.recorder.arena.header().dropped_room.load(Relaxed), 0);
}

#[test]
#[cfg_attr(miri, ignore = "it fills 259 parts, which takes Miri minutes")]
fn a_thread_has_a_bounded_number_of_parts() {
    let more = LOG_PARTS + 3;
    let [at] = threads(more);
    fill(at.recorder, 0, u64::from(more) * LOGGED as u64);
    assert_eq!(at.recorder.thread.log_parts.load(Relaxed), LOG_PARTS);
    assert_eq!(times(at.recorder).0, 3 * LOGGED as u64);
}

/// A name, padded.
fn text(name: &str) -> [u8; SPAN_NAME] {
    std::array::from_fn(|place| name.as_bytes().get(place).copied().unwrap_or(0))
}

/// The names of a thread's spans, the newest first: where they are, and how many spans have ended.
fn names(recorder: &Recorder) -> Vec<(u64, u64, [u8; SPAN_NAME])> {
    let names = recorder.arena.list::<SpanName>(&recorder.thread.spans).map(|(_, name)| {
        let text = std::array::from_fn(|place| name.text[place].load(Relaxed));
        (name.at.load(Relaxed), name.count.load(Relaxed), text)
    });
    names.collect()
}

#[test]
fn a_span_is_kept_by_the_thread_that_ends_it_and_its_name_read_once() {
    let [at] = threads(1);
    let span = |began: u64, ended: u64, name: u64| {
        at.set(ended);
        spans::end(at, began, name, || text(&format!("name {name} at {ended}")));
    };
    span(10, 20, 7);
    span(30, 45, 8);
    span(50, 60, 7);
    span(90, 85, 7);
    let kept = |times| Kept { what: logged::SPAN, times, stack: 0, by: By::default() };
    assert_eq!(self::kept(at.recorder), (0, [(10, 20), (30, 45), (50, 60)].map(kept).to_vec()));
    assert_eq!(names(at.recorder), [(8, 1, text("name 8 at 45")), (7, 2, text("name 7 at 20"))]);
}

#[test]
#[cfg_attr(miri, ignore = "each name searches all before it, which takes Miri minutes")]
fn a_thread_has_a_limited_number_of_names() {
    let [at] = threads(1);
    for name in 1..=spans::NAMES as u64 + 1 {
        for _ in 0..2 {
            spans::end(at, at.ticks(), name, || text("name"));
        }
    }
    let names = names(at.recorder);
    assert_eq!(names.len(), spans::NAMES);
    assert!(names.iter().all(|&(at, count, _)| at != spans::NAMES as u64 + 1 && count == 2));
}
