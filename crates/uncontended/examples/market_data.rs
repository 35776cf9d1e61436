//! Market data for several readers: a book that must see every tick, a risk check that must not run ahead of the book,
//! and a display that may miss most ticks but must not slow the others down.
//!
//!     cargo run --release -p uncontended --example market_data [TICKS]
//!
//! When its ring is full, the feed waits for the book and the risk check; all of them sleep when there is nothing to
//! do. The display observes a lossy ring that the book writes. At the end every tick is accounted for: seen, or counted
//! as lost.

use std::error::Error;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};
use uncontended::ring::Plain;
use uncontended::ring::broadcast::{Consumer, Plan, Producer};
use uncontended::ring::lossy::{self, ObserveError};
use uncontended::wait::Sleepers;

const INSTRUMENTS: usize = 16;
const CAPACITY: usize = 1024;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Tick {
    number: u64,
    instrument: u32,
    price: u32,
}

// SAFETY: three integers without padding: 8 + 4 + 4 is the size of the struct.
unsafe impl Plain for Tick {}
const _: () = assert!(size_of::<Tick>() == 16);

impl Tick {
    fn new(number: u64) -> Tick {
        let noise = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32;
        let instrument = number % INSTRUMENTS as u64;
        Tick { number, instrument: instrument as u32, price: 10_000 + noise % 1_000 }
    }
}

/// The last price of each instrument, and the number of the last tick.
#[derive(Default)]
struct Book {
    prices: [u32; INSTRUMENTS],
    ticks: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let ticks = std::env::args().nth(1).map_or(Ok(2_000_000), |ticks| ticks.parse())?;
    let plan = Plan::new(CAPACITY).consumer("book", &[]).consumer("risk", &["book"]);
    let (producer, mut consumers) = plan.blocking()?;
    let (display, mut observer) = lossy::blocking(CAPACITY)?;
    let mut take = |stage| consumers.take(stage).expect("it is in the plan");
    let (book_side, risk_side) = (take("book"), take("risk"));
    let book = Mutex::new(Book::default());
    let begun = Instant::now();
    thread::scope(|threads| {
        let feed = threads.spawn(move || feed(producer, ticks));
        threads.spawn(|| keep_book(book_side, &book, display));
        let risk = threads.spawn(|| check_risk(risk_side, &book));
        let seen = watch(&mut observer);
        let lag = feed.join().expect("the feed does not panic");
        let checked = risk.join().expect("the risk check does not panic");
        let seconds = begun.elapsed().as_secs_f64();
        assert_eq!((checked, seen + observer.lost()), (ticks, ticks));
        println!(
            "{ticks} ticks in {:.0} ms: {:.1} million a second",
            seconds * 1e3,
            ticks as f64 / seconds / 1e6
        );
        println!(
            "book and risk check saw all, the risk check never before the book; behind by {lag} at most"
        );
        println!("the display saw {seen} and missed {}: all accounted for", observer.lost());
    });
    Ok(())
}

/// Publishes the ticks; returns the largest lag of the slowest consumer.
fn feed(mut producer: Producer<Tick, Sleepers>, ticks: u64) -> usize {
    let mut lag = 0;
    for number in 0..ticks {
        producer.push_wait(Tick::new(number)).expect("the consumers live");
        if number % 256 == 0 {
            lag = lag.max(producer.lag());
        }
    }
    lag
}

/// Enters each tick, passes it on to the display, and only then releases it.
fn keep_book(
    mut side: Consumer<Tick, Sleepers>,
    book: &Mutex<Book>,
    mut display: lossy::Producer<Tick, Sleepers>,
) {
    while let Some(batch) = side.read_wait(usize::MAX) {
        let mut entered = book.lock().expect("no thread panics with the book");
        for tick in &batch {
            assert_eq!(tick.number, entered.ticks, "in order, none missing");
            entered.prices[tick.instrument as usize] = tick.price;
            entered.ticks += 1;
            display.push(*tick);
        }
        drop(entered);
        batch.release();
    }
}

/// Reads ticks that are in the book already, and returns their number.
fn check_risk(mut side: Consumer<Tick, Sleepers>, book: &Mutex<Book>) -> u64 {
    let mut checked = 0;
    while let Some(batch) = side.read_wait(usize::MAX) {
        checked += batch.len() as u64;
        let last = batch.iter().last().expect("a batch is never empty");
        assert!(book.lock().expect("no thread panics with the book").ticks > last.number);
        batch.release();
    }
    checked
}

/// Draws slowly, and returns the number of ticks it saw.
fn watch(observer: &mut lossy::Observer<Tick, Sleepers>) -> u64 {
    let mut seen = 0;
    loop {
        match observer.read_wait() {
            Ok(tick) => {
                assert_eq!(tick.price, Tick::new(tick.number).price, "nothing is torn");
                seen += 1;
                if seen % 1_000 == 0 {
                    thread::sleep(Duration::from_millis(1));
                    observer.skip_to_newest(); // The next frame shows prices of now.
                }
            }
            Err(ObserveError::Lost(_)) => {}
            Err(_) => return seen,
        }
    }
}
