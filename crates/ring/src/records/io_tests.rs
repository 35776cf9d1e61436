//! Records as a stream of bytes.

use super::{mpsc, shared, spsc};
use std::io::{BufRead, BufWriter, ErrorKind, Read, Write};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};

/// Longer than the ring, by writes of every length up to more than a record's, and reads of others.
#[test]
fn every_byte_arrives_in_order() {
    let (mut producer, consumer) = spsc::blocking(128).unwrap();
    let text: Vec<u8> = (0..20_000u32).map(|byte| (byte % 251) as u8).collect();
    let expected = text.clone();
    let writer = thread::spawn(move || {
        let mut rest = &text[..];
        for most in (0..2 * producer.longest()).cycle() {
            if rest.is_empty() {
                return;
            }
            let (now, later) = rest.split_at(most.min(rest.len()));
            producer.write_all(now).unwrap();
            rest = later;
        }
    });
    let mut bytes = consumer.into_bytes();
    let mut found: Vec<u8> = Vec::new();
    for room in (0..97).cycle() {
        let mut piece = vec![0; room];
        let read = bytes.read(&mut piece).unwrap();
        if room > 0 && read == 0 {
            break;
        }
        found.extend(&piece[..read]);
    }
    assert_eq!(found, expected);
    writer.join().unwrap();
}

#[test]
fn lines_of_many_producers_do_not_mix() {
    let (producer, consumer) = mpsc::blocking(256).unwrap();
    let writers = ["left", "right"].map(|name| {
        let mut producer = producer.clone();
        thread::spawn(move || {
            for number in 0..300 {
                writeln!(BufWriter::new(&mut producer), "{name} {number}").unwrap();
            }
        })
    });
    drop(producer);
    let lines: Vec<String> = consumer.into_bytes().lines().map(Result::unwrap).collect();
    for name in ["left", "right"] {
        let of_it = lines.iter().filter(|line| line.starts_with(name));
        assert!(
            of_it.eq((0..300).map(|number| format!("{name} {number}")).collect::<Vec<_>>().iter())
        );
    }
    assert_eq!(lines.len(), 600);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

/// The formatter writes a line in pieces; producers that write at once do not mix them.
#[test]
fn a_formatted_line_is_one_record() {
    let (mut producer, mut consumer) = super::mpsc::blocking(256).unwrap();
    let number = std::hint::black_box(7);
    writeln!(producer, "a={number} b={number}").unwrap();
    write!(producer, "constant").unwrap();
    let mut next = || {
        let record = consumer.read().unwrap();
        let text = String::from_utf8(record.to_vec()).unwrap();
        record.release();
        text
    };
    assert_eq!([next(), next()], ["a=7 b=7\n", "constant"]);
    struct Fails;
    impl std::fmt::Display for Fails {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    assert!(write!(producer, "a {Fails}").is_err());
    assert!(consumer.read().is_err(), "nothing of it was written");
}

#[test]
fn an_empty_write_is_no_record_and_an_empty_record_no_end() {
    let (mut producer, consumer) = spsc::blocking(64).unwrap();
    assert_eq!(producer.write(b"").unwrap(), 0);
    producer.push(b"").unwrap();
    producer.push(b"x").unwrap();
    drop(producer);
    let mut found = Vec::new();
    assert_eq!(consumer.into_bytes().read_to_end(&mut found).unwrap(), 1);
    assert_eq!(found, b"x");
}

#[test]
fn a_record_that_was_read_in_part_stays() {
    let (mut producer, consumer) = spsc::blocking(64).unwrap();
    producer.write_all(b"whole").unwrap();
    let mut bytes = consumer.into_bytes();
    let mut two = [0; 2];
    bytes.read_exact(&mut two).unwrap();
    assert_eq!((&two, bytes.fill_buf().unwrap()), (b"wh", &b"ole"[..]));
    let mut consumer = bytes.into_inner();
    assert_eq!(&*consumer.read().unwrap(), b"whole");
}

#[test]
fn a_write_after_the_consumer_has_gone_fails() {
    let (mut producer, consumer) = spsc::blocking(64).unwrap();
    drop(consumer.into_bytes());
    assert_eq!(producer.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

/// As `BufReader` does, which takes no more than it has.
#[test]
fn no_more_is_consumed_than_was_there() {
    let (mut producer, consumer) = mpsc::blocking(64).unwrap();
    producer.push(b"one").unwrap();
    producer.push(b"two").unwrap();
    let mut bytes = consumer.into_bytes();
    bytes.consume(1);
    assert_eq!(bytes.fill_buf().unwrap(), b"one", "nothing was there");
    bytes.consume(1);
    bytes.consume(usize::MAX);
    bytes.consume(usize::MAX);
    assert_eq!(bytes.fill_buf().unwrap(), b"two");
}

/// Memory for a ring that another thread writes to, as another process could.
#[repr(align(128))]
struct Memory([AtomicU64; 128]);

/// Another process writes the record's header while the record is read.
#[test]
fn a_record_that_becomes_shorter_is_taken_at_one_length() {
    if cfg!(miri) {
        uncontended_testkit::skip!("a record that becomes shorter", "Miri finds the race");
        return;
    }
    let memory = Arc::new(Memory([const { AtomicU64::new(0) }; 128]));
    let theirs = Arc::clone(&memory);
    let other = thread::spawn(move || {
        // As long as the test runs.
        while Arc::strong_count(&theirs) > 1 {
            let header = &theirs.0[768 / 8];
            header.store(2 << 32 | 1, Relaxed);
            header.store(2 << 32 | 8, Relaxed);
        }
    });
    let base = NonNull::from(&memory.0).cast();
    for _ in 0..20_000 {
        // SAFETY: the memory outlives the ring, no other ring is in it, and all of it is atomics.
        let ring = unsafe { shared::create(base, 1024, 64, ()) }.unwrap();
        ring.producer().unwrap().push(b"12345678").unwrap();
        ring.close();
        let mut bytes = ring.consumer().unwrap().into_bytes();
        let first = bytes.fill_buf().unwrap().len();
        assert!(first == 8 || first == 1);
        bytes.consume(4);
        for _ in 0..4 {
            assert!(bytes.fill_buf().unwrap().len() <= 7);
        }
    }
    drop(memory);
    other.join().unwrap();
}
