//! Tasks and threads on the two sides of every ring: each value comes once, in order, and a future that is dropped
//! costs nothing but itself.

#![cfg(not(unc_model))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use futures_core::Stream;
use futures_sink::Sink;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use uncontended_ring::broadcast::Plan;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::{ClaimError, Closed, lossy, mpsc, records, spsc};
use uncontended_testkit::block_on;

const COUNT: u64 = if cfg!(miri) { 20 } else { 2_000 };

/// Polls once.
fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn next<S: Stream + Unpin>(stream: &mut S) -> impl Future<Output = Option<S::Item>> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context))
}

async fn send<S: Sink<u64, Error = Closed<()>> + Unpin>(
    sink: &mut S,
    value: u64,
) -> Result<(), Closed<()>> {
    poll_fn(|context| Pin::new(&mut *sink).poll_ready(context)).await?;
    Pin::new(sink).start_send(value)
}

async fn close<S: Sink<u64, Error = Closed<()>> + Unpin>(sink: &mut S) -> Result<(), Closed<()>> {
    poll_fn(|context| Pin::new(&mut *sink).poll_close(context)).await
}

macro_rules! a_task_on {
    (pop: $producer:ident, $consumer:ident) => {
        std::thread::scope(|threads| {
            threads.spawn(move || (0..COUNT).try_for_each(|value| $producer.push_wait(value)));
            block_on(async {
                for wanted in 0..COUNT {
                    assert_eq!($consumer.pop_async().await, Some(wanted));
                }
                assert_eq!($consumer.pop_async().await, None);
            });
        })
    };
    (push: $producer:ident, $consumer:ident) => {
        std::thread::scope(|threads| {
            threads.spawn(move || {
                assert!(std::iter::from_fn(|| $consumer.pop_wait()).eq(0..COUNT));
            });
            block_on(async move {
                for value in 0..COUNT {
                    $producer.push_async(value).await.unwrap();
                }
            });
        })
    };
    (both: $producer:ident, $consumer:ident) => {
        std::thread::scope(|threads| {
            threads.spawn(move || {
                block_on(async move {
                    let mut sink = $producer.into_sink();
                    for value in 0..COUNT {
                        send(&mut sink, value).await.unwrap();
                    }
                    close(&mut sink).await.unwrap();
                    assert_eq!(send(&mut sink, 0).await, Err(Closed(())));
                })
            });
            block_on(async move {
                let mut stream = $consumer.into_stream();
                for wanted in 0..COUNT {
                    assert_eq!(next(&mut stream).await, Some(wanted));
                }
                assert_eq!(next(&mut stream).await, None);
            });
        })
    };
}

macro_rules! on_every_side {
    ($ring:expr) => {
        let (mut producer, mut consumer) = $ring;
        a_task_on!(pop: producer, consumer);
        let (mut producer, mut consumer) = $ring;
        a_task_on!(push: producer, consumer);
        let (producer, consumer) = $ring;
        a_task_on!(both: producer, consumer);
    };
}

#[test]
#[allow(unused_mut, reason = "a producer of `mpsc` pushes by shared reference")]
fn values_pass_between_tasks_and_threads() {
    for capacity in [1, 3, 64] {
        on_every_side!(spsc::blocking(capacity).unwrap());
        on_every_side!(mpsc::blocking(capacity).unwrap());
        on_every_side!(lanes::blocking(2, capacity).unwrap());
        on_every_side!(group::blocking(2, capacity).unwrap());
        on_every_side!({
            let plan = Plan::new(capacity).consumer("a", &[]);
            let (producer, mut consumers) = plan.blocking().unwrap();
            (producer, consumers.take("a").unwrap())
        });
    }
}

#[test]
fn batches_and_broadcasts_pass_between_tasks_and_threads() {
    let (mut producer, mut consumer) = spsc::blocking(4).unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            block_on(async move {
                let mut left = 0..COUNT;
                while !left.is_empty() {
                    let mut claim = producer.claim_up_to_async(3).await.unwrap();
                    claim.fill(left.by_ref());
                    claim.publish();
                }
            })
        });
        block_on(async {
            let mut came = Vec::new();
            while let Some(batch) = consumer.read_async(2).await {
                came.extend(batch);
            }
            assert!(came.into_iter().eq(0..COUNT));
        });
    });
    let (mut producer, mut consumers) = Plan::new(4).consumer("a", &[]).blocking().unwrap();
    let mut a = consumers.take("a").unwrap();
    drop(consumers);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            block_on(async move {
                for value in 0..COUNT {
                    producer.push_async(value).await.unwrap();
                }
            })
        });
        block_on(async {
            let mut sum = 0;
            while let Some(batch) = a.read_async(9).await {
                sum += batch.iter().sum::<u64>();
                batch.release();
            }
            assert_eq!(sum, (0..COUNT).sum());
        });
    });
}

#[test]
fn records_and_the_newest_values_pass_between_tasks_and_threads() {
    let (mut producer, mut consumer) = records::mpsc::blocking(64).unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            block_on(async move {
                for value in 0..COUNT {
                    let mut chunk = producer.claim_async(8).await.unwrap();
                    chunk.copy_from_slice(&value.to_ne_bytes());
                    chunk.commit();
                }
            })
        });
        block_on(async {
            for wanted in 0..COUNT {
                let record = consumer.read_async().await.unwrap();
                assert_eq!(*record, wanted.to_ne_bytes());
                record.release();
            }
            assert!(consumer.read_async().await.is_err());
        });
    });
    let (mut producer, mut observer) = lossy::blocking(8).unwrap();
    std::thread::scope(|threads| {
        let read = threads.spawn(move || block_on(observer.read_async()));
        // Once, for an observer that is overtaken gets an error.
        std::thread::sleep(std::time::Duration::from_millis(2));
        producer.push(7_u64);
        assert!(read.join().unwrap().is_ok_and(|value| value == 7));
    });
}

#[test]
fn a_future_that_is_dropped_has_taken_nothing() {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    {
        let mut popping = pin!(consumer.pop_async());
        assert!(poll(popping.as_mut()).is_pending());
        producer.push(1).unwrap();
    }
    assert_eq!(consumer.pop(), Ok(1));
    producer.push(2).unwrap();
    assert!(poll(pin!(producer.push_async(3))).is_pending());
    assert_eq!(consumer.pop(), Ok(2));
    assert_eq!(poll(pin!(consumer.pop_async())), Poll::Pending, "3 was dropped with its future");
    drop(consumer);
    assert_eq!(poll(pin!(producer.push_async(4))), Poll::Ready(Err(Closed(4))));
    let claimed = poll(pin!(producer.claim_up_to_async(1)));
    assert!(matches!(claimed, Poll::Ready(Err(ClaimError::Closed))));
}

/// One producer that threads and tasks share.
#[test]
fn a_shared_producer_pushes_from_tasks() {
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    let producer = std::sync::Arc::new(producer);
    let other = std::sync::Arc::clone(&producer);
    let task = std::thread::spawn(move || {
        block_on(async {
            for value in [1, 2, 3] {
                other.push_async(value).await.unwrap();
            }
        })
    });
    assert_eq!(std::array::from_fn(|_| consumer.pop_wait()), [Some(1), Some(2), Some(3)]);
    task.join().unwrap();
    drop(producer);
    assert_eq!(consumer.pop_wait(), None);
}

#[test]
fn a_producer_that_is_dropped_while_it_waits_passes_the_room_on() {
    let (first, mut consumer) = mpsc::blocking(1).unwrap();
    let second = first.clone();
    first.push(1).unwrap();
    let mut waits = Box::pin(first.push_async(2));
    assert!(poll(waits.as_mut()).is_pending());
    std::thread::scope(|threads| {
        let pushed = threads.spawn(move || block_on(second.push_async(3)));
        // The room may be offered to either; the first takes no notice of it.
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(consumer.pop(), Ok(1));
        drop(waits);
        assert_eq!(pushed.join().unwrap(), Ok(()));
    });
    assert_eq!(consumer.pop(), Ok(3));
}

#[test]
fn a_sink_tells_that_the_consumer_has_gone() {
    let (producer, consumer) = mpsc::blocking(1).unwrap();
    let mut sink = producer.into_sink();
    let mut sent = 0;
    while poll(pin!(send(&mut sink, sent))).is_ready() {
        sent += 1;
    }
    assert_eq!(sent, 2, "one in the ring, one that waits");
    drop(consumer);
    assert_eq!(poll(pin!(send(&mut sink, 9))), Poll::Ready(Err(Closed(()))));
}

/// Counts its wakeups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn poll_with<T>(count: &Arc<Count>, future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(count))))
}

#[test]
fn an_idle_stream_or_sink_keeps_no_value_and_no_room_from_others() {
    let (mut producer, consumer) = group::blocking(1, 1).unwrap();
    let (idle, woken) = (Arc::default(), Arc::default());
    let (mut stream, mut other) = (consumer.clone().into_stream(), consumer.into_stream());
    assert!(poll_with(&idle, pin!(next(&mut stream))).is_pending());
    assert!(poll_with(&woken, pin!(next(&mut other))).is_pending());
    producer.push(7).unwrap();
    assert_eq!(woken.0.load(Relaxed), 1);
    assert_eq!(poll_with(&woken, pin!(next(&mut other))), Poll::Ready(Some(7)));
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    let (mut sink, mut other) = (producer.clone().into_sink(), producer.into_sink());
    assert!(poll(pin!(send(&mut sink, 1))).is_ready() && poll(pin!(send(&mut sink, 2))).is_ready());
    assert!(poll(pin!(send(&mut other, 3))).is_ready());
    assert!(poll_with(&idle, pin!(send(&mut sink, 4))).is_pending());
    assert!(poll_with(&woken, pin!(send(&mut other, 5))).is_pending());
    assert_eq!((consumer.pop(), woken.0.load(Relaxed)), (Ok(1), 2));
    assert!(poll_with(&woken, pin!(send(&mut other, 5))).is_ready());
    assert_eq!(consumer.pop(), Ok(3));
}

#[test]
fn a_stream_or_a_sink_that_goes_drops_its_waker() {
    let (_producer, consumer) = group::blocking::<u32>(1, 1).unwrap();
    let (_other, woken) = (consumer.clone(), Arc::default());
    let mut stream = consumer.into_stream();
    assert!(poll_with(&woken, pin!(next(&mut stream))).is_pending());
    assert_eq!(Arc::strong_count(&woken), 2);
    drop(stream);
    assert_eq!(Arc::strong_count(&woken), 1, "a stream");
    let (producer, _consumer) = mpsc::blocking(1).unwrap();
    let (_other, mut sink) = (producer.clone(), producer.into_sink());
    assert!(poll(pin!(send(&mut sink, 1))).is_ready() && poll(pin!(send(&mut sink, 2))).is_ready());
    assert!(poll_with(&woken, pin!(send(&mut sink, 3))).is_pending());
    assert_eq!(Arc::strong_count(&woken), 2);
    drop(sink);
    assert_eq!(Arc::strong_count(&woken), 1, "a sink");
}

#[test]
fn futures_may_move_to_other_threads() {
    fn is_send(_: &impl Send) {}
    let (mut producer, mut consumer) = spsc::blocking::<Box<u32>>(1).unwrap();
    is_send(&producer.push_async(Box::new(1)));
    is_send(&consumer.pop_async());
    is_send(&producer.into_sink());
    is_send(&consumer.into_stream());
}
