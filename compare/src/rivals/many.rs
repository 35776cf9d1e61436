//! Queues from many producers to one consumer, both of which sleep while they wait.

use uncontended_ring::notifier::Joint;
use uncontended_ring::{lanes, mpsc};

use super::payload::Words;

pub type Item = Words<8>;

/// A queue from many producers to one consumer.
pub trait Queue: 'static {
    type Sender: Send;
    type Receiver: Send;

    /// Of this capacity in all, for so many producers.
    fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver);
    fn send(sender: &mut Self::Sender, item: Item);
    fn receive(receiver: &mut Self::Receiver) -> Item;
}

/// How items pass: by these methods of the two sides.
macro_rules! passes {
    ($send:ident, $receive:ident) => {
        #[inline(always)]
        fn send(sender: &mut Self::Sender, item: Item) {
            let _ = sender.$send(item);
        }

        #[inline(always)]
        fn receive(receiver: &mut Self::Receiver) -> Item {
            receiver.$receive().expect("a producer lives")
        }
    };
}

pub struct Ours;

impl Queue for Ours {
    type Sender = mpsc::Producer<Item, uncontended_wait::Sleepers>;
    type Receiver = mpsc::Consumer<Item, uncontended_wait::Sleepers>;

    fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver) {
        let (sender, receiver) = mpsc::blocking(capacity).expect("a capacity");
        (vec![sender; producers], receiver)
    }

    passes!(push_wait, pop_wait);
}

/// Lanes: `EACH` has the capacity, or its part of it.
pub struct Lanes<const EACH: bool>;

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

    passes!(push_wait, pop_wait);
}

macro_rules! channel {
    ($name:ident, $sender:ty, $receiver:ty, $new:path) => {
        pub struct $name;

        impl Queue for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn new(capacity: usize, producers: usize) -> (Vec<Self::Sender>, Self::Receiver) {
                let (sender, receiver) = $new(capacity);
                (vec![sender; producers], receiver)
            }

            passes!(send, recv);
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
