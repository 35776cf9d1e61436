//! Market data for several readers: a book that must see every tick, a risk check that must not run ahead of the book,
//! and a display that may miss most ticks but must not slow the others down. An operator tells it what to show.
//!
//!     cargo run --release -p uncontended --example market_data [TICKS]
//!
//! When its ring is full, the feed waits for the book and the risk check; all of them sleep when there is nothing to
//! do. The display observes a lossy ring that the book writes, and takes commands from a queue: it sleeps for both on
//! one joint. At the end every tick is accounted for: seen, or counted as lost.

use std::error::Error;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};
use uncontended::ring::broadcast::{Consumer, Plan, Producer};
use uncontended::ring::lossy::{self, ObserveError};
use uncontended::ring::notifier::Joint;
use uncontended::ring::{Plain, PopError, spsc};
use uncontended::wait::Sleepers;

const INSTRUMENTS: usize = 16;
const CAPACITY: usize = 1024;
const COMMANDS: u64 = 10;

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
    let joint = Joint::new();
    let (display, observer) = lossy::blocking_at(CAPACITY, &joint)?;
    let (operator, control) = spsc::blocking_at(4, &joint)?;
    let mut take = |stage| consumers.take(stage).expect("it is in the plan");
    let (book_side, risk_side) = (take("book"), take("risk"));
    let book = Mutex::new(Book::default());
    let begun = Instant::now();
    thread::scope(|threads| {
        let feed = threads.spawn(move || feed(producer, ticks));
        threads.spawn(|| keep_book(book_side, &book, display));
        let risk = threads.spawn(|| check_risk(risk_side, &book));
        threads.spawn(move || operate(operator));
        let watched = Display { joint, control, observer }.watch();
        let lag = feed.join().expect("the feed does not panic");
        let checked = risk.join().expect("the risk check does not panic");
        let seconds = begun.elapsed().as_secs_f64();
        let Watched { seen, missed, commands, shown } = watched;
        assert_eq!((checked, seen + missed, commands), (ticks, ticks, COMMANDS));
        println!(
            "{ticks} ticks in {:.0} ms: {:.1} million a second",
            seconds * 1e3,
            ticks as f64 / seconds / 1e6
        );
        println!(
            "book and risk check saw all, the risk check never before the book; behind by {lag} at most"
        );
        println!("the display saw {seen} and missed {missed}: all accounted for");
        println!("it was told {commands} times what to show, and showed instrument {shown} last");
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
    mut display: lossy::Producer<Tick, Joint>,
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

/// Tells the display which instruments to show, one after another.
fn operate(mut operator: spsc::Producer<u32, Joint>) {
    for command in 0..COMMANDS {
        operator.push_wait(command as u32 % INSTRUMENTS as u32).expect("the display lives");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Draws ticks slowly, and obeys commands at once.
struct Display {
    joint: Joint,
    control: spsc::Consumer<u32, Joint>,
    observer: lossy::Observer<Tick, Joint>,
}

/// What the display has done.
#[derive(Default)]
struct Watched {
    seen: u64,
    missed: u64,
    commands: u64,
    shown: u32,
}

/// What the display does next.
enum Next {
    Show(u32),
    Draw(Tick),
    /// Ticks were lost; the observer counts them.
    GoOn,
    End,
}

impl Display {
    fn watch(mut self) -> Watched {
        let mut watched = Watched::default();
        loop {
            let (control, observer) = (&mut self.control, &mut self.observer);
            match self.joint.sleep_until(|| next(control, observer)) {
                Next::Show(instrument) => {
                    watched.commands += 1;
                    watched.shown = instrument;
                }
                Next::Draw(tick) => {
                    assert_eq!(tick.price, Tick::new(tick.number).price, "nothing is torn");
                    watched.seen += 1;
                    if watched.seen % 1_000 == 0 {
                        thread::sleep(Duration::from_millis(1));
                        observer.skip_to_newest(); // The next frame shows prices of now.
                    }
                }
                Next::GoOn => {}
                Next::End => return Watched { missed: self.observer.lost(), ..watched },
            }
        }
    }
}

/// Looks at both rings, commands first. `None`: there is nothing in either, and more may come.
fn next(
    control: &mut spsc::Consumer<u32, Joint>,
    observer: &mut lossy::Observer<Tick, Joint>,
) -> Option<Next> {
    let command = control.pop();
    if let Ok(instrument) = command {
        return Some(Next::Show(instrument));
    }
    match observer.read() {
        Ok(tick) => Some(Next::Draw(tick)),
        Err(ObserveError::Lost(_)) => Some(Next::GoOn),
        Err(ObserveError::Closed) if command == Err(PopError::Closed) => Some(Next::End),
        Err(_) => None,
    }
}
