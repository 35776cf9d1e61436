//! Question: how many items per second do many producers hand to many consumers, if all of them sleep while they wait?
//!
//! Items of 64 bytes. All threads share the CPUs as the kernel schedules them; the queue is full or empty most of the
//! time. Ours has a lane for each producer: of the capacity, or of its part of it. Rivals: crossbeam's channel, kanal,
//! flume.
//! Not measured: sides that poll, one-way latency.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_ring::lanes::group;

use crate::rivals::payload::{Payload, Words, checksum};

type Item = Words<8>;

/// A queue from many producers to many consumers. It ends once its senders are dropped.
trait Queue: 'static {
    type Sender: Send;
    type Receiver: Send;

    /// Of this capacity in all, for so many producers and consumers.
    fn new(capacity: usize, sides: Sides) -> (Vec<Self::Sender>, Vec<Self::Receiver>);
    fn send(sender: &mut Self::Sender, item: Item);
    fn receive(receiver: &mut Self::Receiver) -> Option<Item>;
}

/// The numbers of producers and of consumers.
type Sides = (usize, usize);

/// Ours: each lane of the capacity, or of its part of it.
struct Ours<const EACH: bool>;

impl<const EACH: bool> Queue for Ours<EACH> {
    type Sender = group::Producer<Item, uncontended_wait::Sleepers>;
    type Receiver = group::Consumer<Item, uncontended_wait::Sleepers>;

    fn new(capacity: usize, sides: Sides) -> (Vec<Self::Sender>, Vec<Self::Receiver>) {
        let each = if EACH { capacity } else { capacity / sides.0 };
        let (sender, receiver) = group::blocking(sides.0, each).expect("a capacity");
        let others = (1..sides.0).map(|_| sender.try_clone().expect("a lane"));
        let mut senders: Vec<_> = others.collect();
        senders.push(sender);
        (senders, vec![receiver; sides.1])
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, item: Item) {
        let _ = sender.push_wait(item);
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.pop_wait()
    }
}

macro_rules! channel {
    ($name:ident, $crate_:ident) => {
        struct $name;

        impl Queue for $name {
            type Sender = $crate_::Sender<Item>;
            type Receiver = $crate_::Receiver<Item>;

            fn new(capacity: usize, sides: Sides) -> (Vec<Self::Sender>, Vec<Self::Receiver>) {
                let (sender, receiver) = $crate_::bounded(capacity);
                (vec![sender; sides.0], vec![receiver; sides.1])
            }

            #[inline(always)]
            fn send(sender: &mut Self::Sender, item: Item) {
                let _ = sender.send(item);
            }

            #[inline(always)]
            fn receive(receiver: &mut Self::Receiver) -> Option<Item> {
                receiver.recv().ok()
            }
        }
    };
}

channel!(Crossbeam, crossbeam_channel);
channel!(Kanal, kanal);
channel!(Flume, flume);

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r9_many_to_many", "how many items a second many hand to many")
        .places([Place::Free])
        .per("item")
        .summarised()
        .ratio(Ratio::Speed)
        .baseline("crossbeam-channel")
        .block(Duration::from_millis(20));
    for capacity in [64, 1_024] {
        for sides in [(2, 2), (4, 4), (8, 2), (2, 8)] {
            bench = bench
                .case(format!("{} to {}, {capacity}", sides.0, sides.1))
                .subject("crossbeam-channel", many::<Crossbeam>(sides, capacity))
                .subject("ours", many::<Ours<true>>(sides, capacity))
                .subject("ours, lanes of a part", many::<Ours<false>>(sides, capacity))
                .subject("kanal", many::<Kanal>(sides, capacity))
                .subject("flume", many::<Flume>(sides, capacity));
        }
    }
    crate::answer(bench, &options)
}

/// One block: with a fresh queue, each producer sends its part, and the consumers' sums are checked.
fn many<Q: Queue>(sides: Sides, capacity: usize) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let producers = sides.0 as u64;
        let each = block.at_least(4 * capacity as u64 * producers) / producers;
        let (senders, receivers) = Q::new(capacity, sides);
        let sum = Arc::new(AtomicU64::new(0));
        let sending = senders.into_iter().zip(0..producers).map(|(mut sender, mine)| {
            let items = mine * each..(mine + 1) * each;
            Box::new(move || items.for_each(|n| Q::send(&mut sender, Item::new(n))))
                as Box<dyn FnOnce() + Send>
        });
        let receiving = receivers.into_iter().map(|mut receiver| {
            let sum = Arc::clone(&sum);
            Box::new(move || {
                let items = std::iter::from_fn(|| Q::receive(&mut receiver));
                sum.fetch_add(items.map(|item| item.sum()).fold(0, u64::wrapping_add), Relaxed);
            }) as Box<dyn FnOnce() + Send>
        });
        block.team(|| (), sending.chain(receiving).collect());
        assert_eq!(sum.load(Relaxed), checksum::<Item>(0, each * producers));
    }
}
