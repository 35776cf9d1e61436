use super::*;
use std::thread;
use std::time::Duration;
use uncontended_wait::Deadline;

#[test]
fn an_observer_that_keeps_up_sees_everything() {
    for capacity in 1..5 {
        let (mut producer, mut observer) = ring::<u64>(capacity).unwrap();
        for value in 0..20 {
            assert_eq!(observer.read(), Err(ObserveError::Empty));
            producer.push(value);
            assert_eq!((observer.lag(), observer.read()), (1, Ok(value)));
        }
        assert_eq!((observer.count(), observer.lost(), producer.count()), (20, 0, 20));
        drop(producer);
        assert_eq!(observer.read(), Err(ObserveError::Closed));
    }
}

#[test]
fn a_lapped_observer_learns_its_loss_and_continues_in_the_middle() {
    for (capacity, left) in [(1, 1), (2, 1), (3, 2), (4, 2), (8, 4)] {
        let (mut producer, mut observer) = ring::<u32>(capacity).unwrap();
        (0..100).for_each(|value| producer.push(value));
        let mut late = producer.observer();
        drop(producer);
        assert_eq!(observer.read(), Err(ObserveError::Lost(100 - left)));
        for value in 100 - left..100 {
            assert_eq!(observer.read(), Ok(value as u32));
        }
        assert_eq!(observer.read(), Err(ObserveError::Closed));
        assert_eq!((observer.count(), observer.lost()), (100, 100 - left));
        assert_eq!(late.read(), Err(ObserveError::Closed), "it began after them all");
    }
}

#[test]
fn a_clone_reads_on_its_own_and_may_skip() {
    let (mut producer, mut observer) = ring::<u8>(8).unwrap();
    (0..5).for_each(|value| producer.push(value));
    assert_eq!(observer.read(), Ok(0));
    let mut clone = observer.clone();
    assert_eq!((clone.skip_to_newest(), clone.lost(), clone.read()), (3, 3, Ok(4)));
    assert_eq!((clone.skip_to_newest(), clone.read()), (0, Err(ObserveError::Empty)));
    assert_eq!((observer.lag(), observer.read()), (4, Ok(1)));
}

#[test]
fn impossible_capacities_are_refused() {
    assert_eq!(ring::<u8>(0).err(), Some(CapacityError::Zero));
    assert_eq!(ring::<u8>(usize::MAX).err(), Some(CapacityError::TooLarge));
    assert_eq!(
        ring::<[u64; 1 << (usize::BITS - 24)]>(1 << 24).err(),
        Some(CapacityError::TooLarge)
    );
}

#[test]
fn a_producer_that_panics_has_gone() {
    let (mut producer, mut observer) = ring::<u8>(1).unwrap();
    let panicked = thread::spawn(move || {
        producer.push(1);
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
    assert_eq!((observer.read(), observer.read()), (Ok(1), Err(ObserveError::Closed)));
}

/// Values whose words are all equal, so that a torn one is recognised.
#[test]
fn nothing_is_torn_and_everything_is_seen_or_counted() {
    let count = if cfg!(miri) { 30 } else { 100_000 };
    for capacity in [1, 2, 64] {
        let (mut producer, observer) = ring::<[u32; 7]>(capacity).unwrap();
        thread::scope(|scope| {
            for mut observer in [observer.clone(), observer] {
                scope.spawn(move || {
                    let (mut seen, mut lost, mut next) = (0, 0, 0);
                    loop {
                        match observer.read() {
                            Ok(value) => {
                                assert_eq!(value, [value[0]; 7]);
                                assert_eq!(value[0], next, "in order, after what was lost");
                                (seen, next) = (seen + 1, next + 1);
                            }
                            Err(ObserveError::Lost(more)) => {
                                (lost, next) = (lost + more, next + more as u32);
                            }
                            Err(ObserveError::Empty) => thread::yield_now(),
                            Err(ObserveError::Closed) => break,
                        }
                    }
                    assert_eq!((seen + lost, observer.lost()), (u64::from(count), lost));
                });
            }
            scope.spawn(move || {
                for value in 0..count {
                    producer.push([value; 7]);
                    if value % 1000 == 0 {
                        thread::yield_now();
                    }
                }
            });
        });
    }
}

#[test]
fn a_sleeping_observer_sees_all_that_is_not_lost_and_the_end() {
    let count = if cfg!(miri) { 16 } else { 20_000 };
    for capacity in [1, 64] {
        let (mut producer, observer) = blocking::<[u64; 2]>(capacity).unwrap();
        thread::scope(|scope| {
            for mut observer in [observer.clone(), observer] {
                scope.spawn(move || {
                    let mut next = 0;
                    loop {
                        match observer.read_wait() {
                            Ok(value) => {
                                assert_eq!(value, [next; 2]);
                                next += 1;
                            }
                            Err(ObserveError::Lost(more)) => next += more,
                            Err(error) => break assert_eq!(error, ObserveError::Closed),
                        }
                    }
                    assert_eq!(next, count);
                });
            }
            scope.spawn(move || {
                for value in 0..count {
                    producer.push([value; 2]);
                    if value % 100 == 0 {
                        thread::yield_now();
                    }
                }
            });
        });
    }
    let (_producer, mut observer) = blocking::<u8>(1).unwrap();
    let deadline = Deadline::after(Duration::from_millis(2));
    assert_eq!(observer.read_deadline(deadline), Err(ObserveError::Empty));
    assert!(deadline.has_passed());
}
