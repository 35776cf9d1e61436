//! A thread that catches a panic keeps its side, without `AssertUnwindSafe`.

#![cfg(not(unc_model))]

use std::cell::RefCell;
use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
use uncontended_ring::broadcast;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::{PushError, Silent, Sleepers, lossy, mpsc, notifier::Joint, records, spsc};

/// A type of value that is neither.
type Value = RefCell<&'static mut u32>;

#[test]
fn every_side_may_cross_a_panic() {
    fn may<T: UnwindSafe + RefUnwindSafe>() {}
    may::<(spsc::Producer<Value>, spsc::Consumer<Value>)>();
    may::<(spsc::Producer<Value, Joint>, spsc::Consumer<Value, Joint>)>();
    may::<(spsc::BlockingProducer<Value>, spsc::BlockingConsumer<Value>)>();
    may::<(mpsc::Producer<Value>, mpsc::Consumer<Value>)>();
    may::<(mpsc::BlockingProducer<Value>, mpsc::BlockingConsumer<Value>)>();
    may::<(lanes::Producer<Value>, lanes::Consumer<Value>)>();
    may::<(lanes::BlockingProducer<Value>, lanes::BlockingConsumer<Value>)>();
    may::<(group::Producer<Value>, group::Consumer<Value>)>();
    may::<(group::BlockingProducer<Value>, group::BlockingConsumer<Value>)>();
    may::<(broadcast::Producer<Value>, broadcast::Consumer<Value>, broadcast::Consumers<Value>)>();
    may::<(broadcast::BlockingProducer<Value>, broadcast::BlockingConsumer<Value>)>();
    may::<(lossy::Producer<u32>, lossy::Observer<u32, Sleepers>)>();
    may::<(records::spsc::Producer<Silent>, records::spsc::Consumer<Sleepers>)>();
    may::<(records::mpsc::Producer<Sleepers>, records::mpsc::Consumer<Silent>)>();
    may::<(Joint, uncontended_ring::iter::Values<spsc::BlockingConsumer<Value>>)>();
    may::<records::Bytes<records::mpsc::Consumer<Sleepers>>>();
}

#[test]
fn sides_that_a_closure_panicked_with_tell_the_others() {
    let (mut producer, consumer) = spsc::blocking(2).unwrap();
    producer.push(1).unwrap();
    let caught = catch_unwind(move || {
        let mut consumer = consumer;
        assert_eq!(consumer.pop(), Ok(2), "on purpose");
    });
    assert!(caught.is_err());
    assert_eq!(producer.push(3), Err(PushError::Closed(3)));
}

#[test]
fn by_reference_counts_can_be_read_in_a_closure_that_panics() {
    let (producer, mut consumer) = mpsc::ring(2).unwrap();
    producer.push(1).unwrap();
    let caught = catch_unwind(|| assert_eq!(producer.len(), 2, "on purpose"));
    assert!(caught.is_err());
    let caught = catch_unwind(|| {
        let clone = producer.clone();
        clone.push(2).unwrap();
        panic!("on purpose");
    });
    assert!(caught.is_err());
    assert_eq!((consumer.pop(), consumer.pop(), consumer.is_closed()), (Ok(1), Ok(2), false));
}

#[test]
fn an_iterator_that_panics_while_it_fills_a_claim_publishes_nothing() {
    let (mut producer, mut consumer) = spsc::ring(4).unwrap();
    let (caught, mut producer) = {
        let caught = std::thread::spawn(move || {
            let filled = catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut claim = producer.claim(4).unwrap();
                claim
                    .fill((0..4).map(|value| if value == 2 { panic!("on purpose") } else { value }))
            }));
            (filled.is_err(), producer)
        });
        caught.join().unwrap()
    };
    assert!(caught && consumer.pop().is_err());
    assert_eq!((producer.push_slice(&[7, 8, 9, 10]), consumer.pop()), (4, Ok(7)));
}

/// A value of a claim whose drop panics does not keep the others.
#[test]
fn what_a_claim_did_not_publish_is_dropped_past_a_panic() {
    struct Counts<'c>(u32, &'c RefCell<Vec<u32>>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
            assert_ne!(self.0, 2, "the one that panics");
        }
    }
    let dropped = RefCell::new(Vec::new());
    let (mut producer, _consumer) = spsc::ring(8).unwrap();
    let panics = std::panic::AssertUnwindSafe(|| {
        let mut claim = producer.claim(5).unwrap();
        (0..5).for_each(|number| claim.push(Counts(number, &dropped)).map_err(drop).unwrap());
    });
    assert!(catch_unwind(panics).is_err());
    assert_eq!(*dropped.borrow(), [4, 3, 2, 1, 0]);
}
