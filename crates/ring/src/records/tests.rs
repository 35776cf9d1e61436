use super::sides::Writer;
use super::{RecordError, mpsc, spsc};
use crate::{CapacityError, ClaimError};
use std::collections::VecDeque;
use std::thread;

impl mpsc::Producer {
    /// Claims this many words and stops there.
    fn claim_and_die(&mut self, span: usize) {
        self.reserve((span - 1) * 8).unwrap();
    }

    fn scribble(&mut self, word: u64) {
        self.words().scribble(word);
    }
}

impl spsc::Producer {
    fn scribble(&mut self, word: u64) {
        self.words().scribble(word);
    }
}

/// Pseudorandom numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The tests that both kinds of ring must pass.
macro_rules! both {
    ($kind:ident, $module:ident) => {
        mod $module {
            use super::*;
            use $kind::{Consumer, ring};

            fn next(consumer: &mut Consumer) -> Result<Vec<u8>, RecordError> {
                let record = consumer.read()?;
                let bytes = record.to_vec();
                record.release();
                Ok(bytes)
            }

            /// Random lengths, aborts and reads, compared with a queue: a claim succeeds exactly when it fits.
            #[test]
            fn what_goes_in_comes_out() {
                let rounds = if cfg!(miri) { 60 } else { 20_000 };
                let capacities = if cfg!(miri) { &[1, 64][..] } else { &[1, 33, 64, 256, 4096] };
                for (seed, &capacity) in capacities.iter().enumerate() {
                    let mut numbers = Numbers(seed as u64);
                    let (mut producer, mut consumer) = ring(capacity).unwrap();
                    let mut queue = VecDeque::new();
                    let longest = producer.longest();
                    for round in 0..rounds {
                        let len = numbers.below(longest + 1);
                        match numbers.below(4) {
                            0 => assert_eq!(next(&mut consumer).ok(), queue.pop_front()),
                            1 => drop(producer.claim(len)),
                            _ => match producer.claim(len) {
                                Ok(mut chunk) => {
                                    chunk.iter_mut().enumerate().for_each(|(at, byte)| {
                                        *byte = (round + at) as u8;
                                    });
                                    queue.push_back(chunk.to_vec());
                                    chunk.commit();
                                }
                                Err(error) => assert_eq!(error, ClaimError::Full),
                            },
                        }
                        drop(consumer.read()); // what is not released stays
                    }
                    drop(producer);
                    while let Some(expected) = queue.pop_front() {
                        assert_eq!(next(&mut consumer), Ok(expected));
                    }
                    assert_eq!(next(&mut consumer), Err(RecordError::Closed));
                }
            }

            #[test]
            fn the_longest_record_fits_wherever_the_ring_stands() {
                for capacity in [32, 64] {
                    let (mut producer, mut consumer) = ring(capacity).unwrap();
                    let longest = producer.longest();
                    assert_eq!(longest, capacity / 2 - 8);
                    let error = ClaimError::TooLong { most: longest };
                    assert_eq!(producer.push(&vec![0; longest + 1]), Err(error));
                    for step in 0..if cfg!(miri) { 9 } else { 50 } {
                        producer.push(&vec![1; step % (longest + 1)]).unwrap();
                        assert!(next(&mut consumer).is_ok());
                        producer.push(&vec![step as u8; longest]).unwrap();
                        assert_eq!(next(&mut consumer), Ok(vec![step as u8; longest]));
                    }
                    assert_eq!(next(&mut consumer), Err(RecordError::Empty));
                }
            }

            #[test]
            fn a_full_ring_refuses_and_takes_more_after_a_release() {
                let (mut producer, mut consumer) = ring(64).unwrap();
                (0..4).for_each(|value| producer.push(&[value; 8]).unwrap());
                assert_eq!(producer.push(&[]), Err(ClaimError::Full));
                assert_eq!(next(&mut consumer), Ok(vec![0; 8]));
                producer.push(&[4; 8]).unwrap();
                drop(consumer);
                assert!(producer.is_closed());
                assert_eq!(producer.push(&[]), Err(ClaimError::Closed));
            }

            #[test]
            fn impossible_capacities_are_refused() {
                assert_eq!(ring(0).err(), Some(CapacityError::Zero));
                assert_eq!(ring(usize::MAX).err(), Some(CapacityError::TooLarge));
            }

            #[test]
            fn a_producer_that_panics_in_a_claim_has_aborted_it_and_gone() {
                let (mut producer, mut consumer) = ring(64).unwrap();
                let panicked = thread::spawn(move || {
                    producer.push(b"one").unwrap();
                    let _chunk = producer.claim(8).unwrap();
                    std::panic::resume_unwind(Box::new("on purpose"));
                });
                assert!(panicked.join().is_err());
                assert_eq!(next(&mut consumer), Ok(b"one".to_vec()));
                assert_eq!(next(&mut consumer), Err(RecordError::Closed));
            }
        }
    };
}

both!(spsc, one_producer);
both!(mpsc, many_producers);

/// Records of random lengths that carry their producer and number: none is torn, lost, duplicated or out of order.
#[test]
fn streams_of_several_producers_keep_their_orders() {
    const PRODUCERS: usize = 3;
    let count = if cfg!(miri) { 6 } else { 5_000 };
    for capacity in [64, 1024] {
        let (producer, mut consumer) = mpsc::ring(capacity).unwrap();
        let threads: Vec<_> = (0..PRODUCERS)
            .map(|me| {
                let mut producer = producer.clone();
                thread::spawn(move || {
                    let mut numbers = Numbers(me as u64);
                    for value in 0..count {
                        let len = 2 + numbers.below(producer.longest() - 1);
                        while let Err(error) = producer.claim(len).map(|mut chunk| {
                            chunk.fill(&vec![value as u8; len]);
                            chunk[0] = me as u8;
                            let aborts = value % 5 == 4;
                            if aborts { drop(chunk) } else { chunk.commit() }
                        }) {
                            assert_eq!(error, ClaimError::Full);
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        drop(producer);
        let mut next = [0; PRODUCERS];
        loop {
            match consumer.read() {
                Ok(record) => {
                    let expected = &mut next[record[0] as usize];
                    assert!(record[1..].iter().all(|&byte| byte == *expected as u8), "whole");
                    *expected += if *expected % 5 == 3 { 2 } else { 1 };
                    record.release();
                }
                Err(RecordError::Empty) => thread::yield_now(),
                Err(error) => break assert_eq!(error, RecordError::Closed),
            }
        }
        assert_eq!(next, [count; PRODUCERS]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// Skips a claim that is in the way, and reads the record after it.
fn passes_over(consumer: &mut mpsc::Consumer, freed: usize, then: &[u8]) {
    assert_eq!(consumer.read().err(), Some(RecordError::Empty));
    // SAFETY: this thread leaked the claims in the way, and no other thread writes.
    assert_eq!(unsafe { consumer.unblock() }, Ok(freed));
    let record = consumer.read().unwrap();
    assert_eq!(&*record, then);
    record.release();
}

#[test]
fn a_leaked_claim_is_skipped() {
    let (mut producer, mut consumer) = mpsc::ring(128).unwrap();
    for round in 0..6 {
        let mut chunk = producer.claim(10).unwrap();
        chunk.fill(&[0xFF; 10]);
        std::mem::forget(chunk);
        producer.push(&[round; 3]).unwrap();
        passes_over(&mut consumer, 24, &[round; 3]);
        // SAFETY: there is no claim, so no producer writes.
        assert_eq!(unsafe { consumer.unblock() }, Ok(0));
    }
    std::mem::forget(producer.claim(10).unwrap());
    drop(producer);
    assert_eq!(consumer.read().err(), Some(RecordError::Closed), "it will never be committed");
}

#[test]
fn a_leaked_claim_is_passed_over_in_a_full_ring() {
    let (mut producer, mut consumer) = mpsc::ring(64).unwrap();
    for round in 0..6 {
        std::mem::forget(producer.claim(8).unwrap());
        (0..3).for_each(|value| producer.push(&[round + value; 8]).unwrap());
        assert_eq!(producer.push(&[]), Err(ClaimError::Full));
        passes_over(&mut consumer, 16, &[round; 8]);
        producer.push(&[99; 8]).unwrap();
        for expected in [round + 1, round + 2, 99] {
            let record = consumer.read().unwrap();
            assert_eq!(&*record, [expected; 8]);
            record.release();
        }
    }
}

#[test]
fn a_producer_that_died_before_it_said_what_it_claimed_is_passed_over() {
    for before in 0..8 {
        let (mut producer, mut consumer) = mpsc::ring(64).unwrap();
        for _ in 0..before {
            producer.push(&[]).unwrap();
            consumer.read().unwrap().release();
        }
        producer.claim_and_die(3);
        let to_end = 8 - before;
        if to_end >= 3 {
            producer.push(&[7; 8]).unwrap();
            passes_over(&mut consumer, 24, &[7; 8]);
        } else {
            // Its padding and its record are two ranges.
            assert_eq!(consumer.read().err(), Some(RecordError::Empty));
            // SAFETY: this thread left the claim, and no other thread writes.
            assert_eq!(unsafe { consumer.unblock() }, Ok(to_end * 8));
            producer.push(&[7; 8]).unwrap();
            passes_over(&mut consumer, 24, &[7; 8]);
        }
    }
}

#[test]
fn a_producer_that_died_like_that_is_passed_over_in_a_full_ring() {
    let (mut producer, mut consumer) = mpsc::ring(64).unwrap();
    for round in 0..5 {
        producer.claim_and_die(4);
        producer.claim_and_die(4);
        assert_eq!(producer.push(&[]), Err(ClaimError::Full));
        // SAFETY: this thread left the claims, and no other thread writes.
        assert_eq!(unsafe { consumer.unblock() }, Ok(64));
        producer.push(&[round]).unwrap();
        let record = consumer.read().unwrap();
        assert_eq!(&*record, [round]);
        record.release();
        (0..6).for_each(|_| {
            producer.push(&[]).unwrap();
            consumer.read().unwrap().release();
        });
    }
}

#[test]
fn words_that_no_producer_wrote_are_reported() {
    let foreign =
        [1, 5 << 32, u64::MAX, 2 << 32 | 57, 3 << 32 | 57, 1 << 32 | 57, 2 << 32 | 0xFFFF_FFFF];
    for word in foreign {
        let (mut producer, mut consumer) = mpsc::ring(64).unwrap();
        producer.push(&[]).unwrap();
        producer.scribble(word);
        assert_eq!(consumer.read().err(), Some(RecordError::Corrupt), "{word:x}");
        let (mut producer, mut consumer) = spsc::ring(64).unwrap();
        producer.push(&[]).unwrap();
        producer.scribble(word);
        assert_eq!(consumer.read().err(), Some(RecordError::Corrupt), "{word:x}");
    }
}
