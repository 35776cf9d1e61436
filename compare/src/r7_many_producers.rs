//! Question: how many items per second do many producers hand to one consumer, if all of them sleep while they wait?
//!
//! Items of 64 bytes. Producers take turns as the kernel schedules them; the ring is full most of the time. Rivals:
//! crossbeam's channel, kanal, flume, std's bounded channel.
//! Not measured: producers that poll, one-way latency.

use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{lanes, mpsc};

use crate::rivals::payload::{Payload, Words, checksum};

type Item = Words<8>;

/// A queue from many producers to one consumer.
trait Queue: 'static {
    type Sender: Send;
    type Receiver: Send;

    /// Of this capacity in all, for so many producers.
    fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver);
    fn send(sender: &mut Self::Sender, item: Item);
    fn receive(receiver: &mut Self::Receiver) -> Item;
}

struct Ours;

impl Queue for Ours {
    type Sender = mpsc::Producer<Item, uncontended_wait::Sleepers>;
    type Receiver = mpsc::Consumer<Item, uncontended_wait::Sleepers>;

    fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver) {
        let (sender, receiver) = mpsc::blocking(capacity).expect("a capacity");
        (vec![sender; producers], receiver)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, item: Item) {
        let _ = sender.push_wait(item);
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver) -> Item {
        receiver.pop_wait().expect("a producer lives")
    }
}

/// Lanes: `EACH` has the capacity, or its part of it.
struct Lanes<const EACH: bool>;

impl<const EACH: bool> Queue for Lanes<EACH> {
    type Sender = lanes::Producer<Item, Joint>;
    type Receiver = lanes::Consumer<Item, Joint>;

    fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver) {
        let each = if EACH { capacity } else { capacity / producers };
        let (sender, receiver) = lanes::blocking(producers, each).expect("a capacity");
        let others = (1..producers).map(|_| sender.try_clone().expect("a lane"));
        let mut senders: Vec<_> = others.collect();
        senders.push(sender);
        (senders, receiver)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, item: Item) {
        let _ = sender.push_wait(item);
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver) -> Item {
        receiver.pop_wait().expect("a producer lives")
    }
}

macro_rules! channel {
    ($name:ident, $sender:ty, $receiver:ty, $new:path) => {
        struct $name;

        impl Queue for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver) {
                let (sender, receiver) = $new(capacity);
                (vec![sender; producers], receiver)
            }

            #[inline(always)]
            fn send(sender: &mut Self::Sender, item: Item) {
                let _ = sender.send(item);
            }

            #[inline(always)]
            fn receive(receiver: &mut Self::Receiver) -> Item {
                receiver.recv().expect("a producer lives")
            }
        }
    };
}

channel!(
    Crossbeam,
    crossbeam_channel::Sender<Item>,
    crossbeam_channel::Receiver<Item>,
    crossbeam_channel::bounded
);
channel!(Kanal, kanal::Sender<Item>, kanal::Receiver<Item>, kanal::bounded);
channel!(Flume, flume::Sender<Item>, flume::Receiver<Item>, flume::bounded);
channel!(
    Std,
    std::sync::mpsc::SyncSender<Item>,
    std::sync::mpsc::Receiver<Item>,
    std::sync::mpsc::sync_channel
);

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench =
        Bench::new("r7_many_producers", "how many items a second many producers hand over")
            .places([Place::Free, Place::OneCpu])
            .per("item")
            .summarised()
            .ratio(Ratio::Speed)
            .baseline("crossbeam-channel")
            .block(Duration::from_millis(20));
    for capacity in [64, 1_024] {
        for producers in [1, 2, 4, 8, 16, 64] {
            bench = bench
                .case(format!("{producers} producers, {capacity}"))
                .subject("crossbeam-channel", many::<Crossbeam>(producers, capacity))
                .subject("ours, mpsc", many::<Ours>(producers, capacity))
                .subject("ours, lanes", many::<Lanes<true>>(producers, capacity))
                .subject("ours, lanes of a part", many::<Lanes<false>>(producers, capacity))
                .subject("kanal", many::<Kanal>(producers, capacity))
                .subject("flume", many::<Flume>(producers, capacity))
                .subject("std sync_channel", many::<Std>(producers, capacity));
        }
    }
    crate::answer(bench, &options)
}

/// One block: with a fresh queue, each producer sends its part, and the consumer checks the sum.
fn many<Q: Queue>(producers: u64, capacity: usize) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let each = block.at_least(4 * capacity as u64 * producers) / producers;
        let (senders, mut receiver) = Q::new(capacity, producers as usize);
        let sending = senders.into_iter().zip(0..producers).map(|(mut sender, mine)| {
            let items = mine * each..(mine + 1) * each;
            Box::new(move || items.for_each(|n| Q::send(&mut sender, Item::new(n))))
                as Box<dyn FnOnce() + Send>
        });
        block.team(
            || {
                let sums = (0..each * producers).map(|_| Q::receive(&mut receiver).sum());
                let sum = sums.fold(0, u64::wrapping_add);
                assert_eq!(sum, checksum::<Item>(0, each * producers));
            },
            sending.collect(),
        );
    }
}
