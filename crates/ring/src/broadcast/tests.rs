use super::*;
use crate::{ClaimError, PopError, PushError};
use std::collections::BTreeSet;
use std::sync::{Arc as Count, Mutex};
use std::thread;

type Sides = (Producer<u64>, Vec<Consumer<u64>>);

/// A ring and its consumers, in the order of `names`.
fn sides(plan: &Plan, names: &[&str]) -> Sides {
    let (producer, mut consumers) = plan.polling().unwrap();
    (producer, names.iter().map(|name| consumers.take(name).unwrap()).collect())
}

fn next(consumer: &mut Consumer<u64>) -> Result<u64, PopError> {
    let batch = consumer.read(1)?;
    let value = *batch.iter().next().unwrap();
    batch.release();
    Ok(value)
}

#[test]
fn every_consumer_sees_everything_and_the_slowest_is_waited_for() {
    for capacity in 1..6 {
        let plan = Plan::new(capacity).consumer("a", &[]).consumer("b", &[]);
        let (mut producer, mut both) = sides(&plan, &["a", "b"]);
        for round in 0..4 {
            let values = round * 10..round * 10 + capacity as u64;
            for value in values.clone() {
                producer.push(value).unwrap();
            }
            assert_eq!(producer.push(99), Err(PushError::Full(99)));
            assert_eq!((producer.room(), producer.lag()), (0, capacity));
            for value in values.clone() {
                assert_eq!(next(&mut both[0]), Ok(value));
            }
            assert_eq!(next(&mut both[0]), Err(PopError::Empty));
            assert_eq!(producer.push(99), Err(PushError::Full(99)), "the other has read nothing");
            assert_eq!((both[0].lag(), both[1].lag()), (0, capacity));
            let batch = both[1].read(usize::MAX).unwrap();
            assert_eq!(batch.len(), capacity);
            assert!(batch.iter().copied().eq(values.clone()));
            let (one, two) = batch.as_slices();
            assert!(one.iter().chain(two).copied().eq(values));
            batch.release();
        }
    }
}

#[test]
fn what_is_not_released_is_read_again() {
    let plan = Plan::new(4).consumer("a", &[]);
    let (mut producer, mut consumers) = sides(&plan, &["a"]);
    let mut claim = producer.claim(4).unwrap();
    (0..4).for_each(|value| claim.push(value).unwrap());
    assert_eq!(claim.push(9), Err(PushError::Full(9)));
    assert_eq!(claim.publish(), 4);
    drop(consumers[0].read(4).unwrap());
    consumers[0].read(4).unwrap().release_first(0);
    consumers[0].read(4).unwrap().release_first(3);
    let batch = consumers[0].read(0).unwrap();
    assert_eq!((batch.len(), batch.first(), batch.iter().copied().next()), (1, 3, Some(3)));
    assert_eq!(producer.room(), 3);
}

#[test]
fn a_loop_over_batches_ends() {
    let plan = Plan::new(3).consumer("a", &[]);
    let (mut producer, mut consumers) = sides(&plan, &["a"]);
    let a = &mut consumers[0];
    let mut seen = Vec::new();
    for lap in 0..4 {
        (0..3).for_each(|value| producer.push(3 * lap + value).unwrap());
        while let Ok(batch) = a.read(2) {
            for value in batch {
                seen.push(value);
            }
            assert!(seen.len() <= 12, "values come again");
        }
    }
    assert!(seen.into_iter().eq(0..12));
}

#[test]
fn an_iterator_releases_what_it_gave_and_no_more() {
    let plan = Plan::new(4).consumer("a", &[]).consumer("after", &["a"]);
    let (mut producer, mut all) = sides(&plan, &["a", "after"]);
    (0..4).for_each(|value| producer.push(value).unwrap());
    let mut values = all[0].read(4).unwrap().into_iter();
    assert_eq!(
        (values.len(), values.next(), values.next(), values.len()),
        (4, Some(0), Some(1), 2)
    );
    drop(values);
    assert_eq!((all[0].lag(), producer.room()), (2, 0));
    assert_eq!(all[1].read(9).unwrap().into_iter().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(producer.room(), 2);
    drop(all[0].read(4).unwrap().into_iter());
    std::mem::forget(all[0].read(4).unwrap().into_iter());
    assert_eq!(all[0].pop(), Ok(2), "none was given");
    assert_eq!((all[0].pop(), all[0].pop()), (Ok(3), Err(PopError::Empty)));
}

/// A value whose `clone` panics the first time.
struct Shy(u32, Count<Mutex<bool>>);

impl Clone for Shy {
    fn clone(&self) -> Shy {
        assert!(std::mem::replace(&mut self.1.lock().unwrap(), true), "on purpose");
        Shy(self.0, Count::clone(&self.1))
    }
}

#[test]
fn a_value_whose_clone_panics_stays() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let (mut producer, mut consumers) = Plan::new(2).consumer("a", &[]).polling().unwrap();
    let mut a = consumers.take("a").unwrap();
    let shy = |value, is_over| Shy(value, Count::new(Mutex::new(is_over)));
    assert!(producer.push(shy(1, true)).is_ok() && producer.push(shy(2, false)).is_ok());
    let mut values = a.read(2).unwrap().into_iter();
    assert_eq!(values.next().map(|value| value.0), Some(1));
    assert!(catch_unwind(AssertUnwindSafe(|| values.next().is_none())).is_err());
    drop(values);
    assert!(a.pop().is_ok_and(|value| value.0 == 2));
}

#[test]
fn claims_are_exact_and_unpublished_values_are_never_seen() {
    let plan = Plan::new(3).consumer("a", &[]);
    let (mut producer, mut consumers) = sides(&plan, &["a"]);
    assert_eq!(producer.claim(4).err(), Some(ClaimError::TooLong { most: 3 }));
    let mut claim = producer.claim(2).unwrap();
    claim.push(7).unwrap();
    assert_eq!(claim.room(), 1);
    drop(claim);
    assert_eq!(next(&mut consumers[0]), Err(PopError::Empty));
    assert_eq!(producer.claim(0).unwrap().publish(), 0);
    let mut claim = producer.claim(2).unwrap();
    claim.push(8).unwrap();
    assert_eq!(claim.publish(), 1);
    assert_eq!(producer.claim(3).err(), Some(ClaimError::Full));
    assert_eq!((next(&mut consumers[0]), next(&mut consumers[0])), (Ok(8), Err(PopError::Empty)));
}

#[test]
fn a_later_stage_reads_only_what_was_released() {
    let plan = Plan::new(4).consumer("a", &[]).consumer("b", &[]).consumer("c", &["a", "b"]);
    let (mut producer, mut all) = sides(&plan, &["a", "b", "c"]);
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    let expect = [(0, Err(PopError::Empty)), (1, Ok(1)), (0, Err(PopError::Empty)), (1, Ok(2))];
    for (reader, then) in expect {
        next(&mut all[reader]).unwrap();
        assert_eq!(next(&mut all[2]), then);
    }
    assert_eq!(producer.lag(), 0);
}

#[test]
fn each_value_goes_to_one_member_and_is_held_until_released() {
    let plan = Plan::new(4).group("g", 2, &[]).consumer("after", &["g"]);
    let (mut producer, mut all) = sides(&plan, &["g", "g", "after"]);
    (0..4).for_each(|value| producer.push(value).unwrap());
    assert_eq!(all[0].read(2).unwrap().len(), 2); // 0 and 1 are the first member's now
    assert_eq!((next(&mut all[1]), next(&mut all[1])), (Ok(2), Ok(3)));
    assert_eq!(next(&mut all[1]), Err(PopError::Empty));
    assert_eq!(next(&mut all[2]), Err(PopError::Empty));
    assert_eq!(producer.push(9), Err(PushError::Full(9)));
    assert_eq!(next(&mut all[0]), Ok(0));
    assert_eq!((next(&mut all[2]), next(&mut all[2])), (Ok(0), Err(PopError::Empty)));
    assert_eq!(producer.push(4), Ok(()));
    assert_eq!(next(&mut all[0]), Ok(1));
    assert_eq!((1..=3).map(|_| next(&mut all[2]).unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_stage_that_goes_is_not_waited_for_but_never_passed() {
    let plan = Plan::new(2).consumer("a", &[]).consumer("b", &["a"]).consumer("c", &[]);
    let (mut producer, mut all) = sides(&plan, &["a", "b", "c"]);
    producer.push(0).unwrap();
    producer.push(1).unwrap();
    assert_eq!(next(&mut all[0]), Ok(0));
    drop(all.remove(0));
    assert_eq!((next(&mut all[0]), next(&mut all[0])), (Ok(0), Err(PopError::Closed)));
    drop(all.remove(0));
    assert_eq!(producer.push(2), Err(PushError::Full(2)), "c is still waited for");
    assert!(!producer.is_closed());
    assert_eq!(next(&mut all[0]), Ok(0));
    producer.push(2).unwrap();
    drop(all);
    assert!(producer.is_closed());
    assert_eq!(producer.push(3), Err(PushError::Closed(3)));
    assert_eq!(producer.claim(1).err(), Some(ClaimError::Closed));
}

#[test]
fn members_go_one_by_one() {
    let plan = Plan::new(2).group("g", 3, &[]).consumer("after", &["g"]);
    let (mut producer, mut all) = sides(&plan, &["g", "g", "g", "after"]);
    let mut after = all.pop().unwrap();
    producer.push(0).unwrap();
    producer.push(1).unwrap();
    drop(all.pop());
    assert_eq!(next(&mut all[0]), Ok(0));
    assert_eq!(next(&mut after), Ok(0));
    drop(all[1].read(1).unwrap()); // 1 is held
    drop(all.pop()); // and goes with its holder
    producer.push(2).unwrap();
    assert_eq!(producer.push(3), Err(PushError::Full(3)), "the later stage has not read 1");
    assert_eq!(next(&mut after), Err(PopError::Closed), "and was never released");
    drop(after);
    producer.push(3).unwrap();
    assert_eq!((next(&mut all[0]), next(&mut all[0])), (Ok(2), Ok(3)));
    assert!(!producer.is_closed());
    drop(all);
    assert!(producer.is_closed());
}

#[test]
fn published_values_are_read_after_the_producer_has_gone() {
    let plan = Plan::new(4).consumer("a", &[]).consumer("b", &["a"]).group("g", 2, &["a"]);
    let (mut producer, mut all) = sides(&plan, &["a", "b", "g", "g"]);
    producer.push(1).unwrap();
    drop(producer);
    assert!(all[1].is_closed());
    assert_eq!(next(&mut all[1]), Err(PopError::Empty), "a may still release it");
    assert_eq!((next(&mut all[0]), next(&mut all[0])), (Ok(1), Err(PopError::Closed)));
    assert_eq!((next(&mut all[1]), next(&mut all[1])), (Ok(1), Err(PopError::Closed)));
    assert_eq!((next(&mut all[2]), next(&mut all[3])), (Ok(1), Err(PopError::Closed)));
}

#[test]
fn a_consumer_that_panics_while_it_reads_has_gone_and_released_nothing() {
    let plan = Plan::new(2).consumer("a", &[]).consumer("b", &["a"]);
    let (mut producer, mut all) = sides(&plan, &["a", "b"]);
    producer.push(1).unwrap();
    let mut a = all.remove(0);
    let panicked = thread::spawn(move || {
        let _batch = a.read(1).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
    assert_eq!(next(&mut all[0]), Err(PopError::Closed));
    drop(all);
    assert!(producer.is_closed());
}

#[test]
fn every_value_is_dropped_once_wherever_it_ends() {
    let value = Count::new(());
    let count = || Count::strong_count(&value) - 1;
    for capacity in [1, 2, 3, 4] {
        for pushed in 0..3 * capacity {
            let plan = Plan::new(capacity).consumer("a", &[]);
            let (mut producer, mut consumers) = plan.polling().unwrap();
            let mut consumer = consumers.take("a").unwrap();
            for _ in 0..pushed {
                producer.push(Count::clone(&value)).unwrap();
                consumer.read(1).unwrap().release();
            }
            let slots = capacity.next_power_of_two();
            assert_eq!(count(), pushed.min(slots), "values stay until others take their place");
            let mut claim = producer.claim(1).unwrap();
            claim.push(Count::clone(&value)).unwrap();
            assert_eq!(claim.push(Count::clone(&value)).map_err(drop), Err(()));
            drop(claim);
            assert_eq!(count(), (pushed + 1).min(slots));
            drop(producer);
            assert!(consumer.read(1).is_err());
            drop(consumer);
            assert_eq!(count(), 0);
        }
    }
}

#[test]
fn values_of_any_size_and_alignment() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(256))]
    struct Wide([u8; 300]);
    let (mut producer, mut consumers) = Plan::new(3).consumer("a", &[]).polling().unwrap();
    let mut consumer = consumers.take("a").unwrap();
    for value in 0..7 {
        producer.push(Wide([value; 300])).unwrap();
        let batch = consumer.read(1).unwrap();
        let seen = batch.iter().next().unwrap();
        assert_eq!((std::ptr::from_ref(seen).addr() % 256, *seen), (0, Wide([value; 300])));
        batch.release();
    }
    let (mut producer, mut consumers) = Plan::new(3).consumer("a", &[]).polling().unwrap();
    (0..3).for_each(|_| producer.push(()).unwrap());
    assert_eq!(producer.push(()), Err(PushError::Full(())));
    assert_eq!(consumers.take("a").unwrap().read(9).unwrap().as_slices(), (&[(); 3][..], &[][..]));
    assert!(consumers.take("a").is_none());
}

/// Reads values to the end, and passes each to `see`.
fn drain(mut consumer: Consumer<u64>, most: usize, mut see: impl FnMut(u64)) {
    loop {
        match consumer.read(most) {
            Ok(batch) => {
                batch.iter().for_each(|&value| see(value));
                batch.release();
            }
            Err(PopError::Empty) => thread::yield_now(),
            Err(PopError::Closed) => return,
        }
    }
}

/// Pushes 0 to `count`, with claims of one to three at a time in between.
fn feed(mut producer: Producer<u64>, count: u64) {
    let mut value = 0;
    while value < count {
        let many = (value % 4).min(count - value);
        let done = match many {
            0 => producer.push(value).map_or(0, |()| 1),
            _ => producer.claim(many as usize).map_or(0, |mut claim| {
                (value..value + many).for_each(|value| claim.push(value).unwrap());
                claim.publish() as u64
            }),
        };
        value += done;
        if done == 0 {
            thread::yield_now();
        }
    }
}

#[test]
fn a_stream_reaches_every_consumer_in_order_and_one_member_each() {
    let (count, most) = if cfg!(miri) { (16, 3) } else { (20_000, 64) };
    for capacity in [3, 4, 64].into_iter().filter(|&capacity| capacity <= most) {
        let plan = Plan::new(capacity).consumer("a", &[]).consumer("b", &["g"]);
        let (producer, mut all) = sides(&plan.group("g", 2, &["a"]), &["a", "b", "g", "g"]);
        let shared = Mutex::new(BTreeSet::new());
        thread::scope(|scope| {
            scope.spawn(|| feed(producer, count));
            for member in all.drain(2..) {
                scope.spawn(|| {
                    let mut last = None;
                    drain(member, 2, |value| {
                        assert!(Some(value) > last, "in order for each member");
                        last = Some(value);
                        assert!(shared.lock().unwrap().insert(value), "{value} came twice");
                    });
                });
            }
            for consumer in all.drain(..) {
                let mut expected = 0;
                scope.spawn(move || {
                    drain(consumer, usize::MAX, |value| {
                        assert_eq!(value, expected);
                        expected += 1;
                    });
                    assert_eq!(expected, count);
                });
            }
        });
        assert_eq!(shared.lock().unwrap().len() as u64, count);
    }
}
