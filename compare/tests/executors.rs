//! Rings under tokio and smol: tasks of each on both sides, and threads beside them.

use futures_util::{StreamExt, stream};
use std::time::Duration;
use uncontended_ring::{lanes, mpsc, spsc};

const COUNT: u64 = 20_000;

fn is_sum_of_all(sum: u64) {
    assert_eq!(sum, (0..COUNT).sum());
}

async fn forward_and_fold() {
    let (producer, consumer) = spsc::blocking(16).unwrap();
    let send = stream::iter((0..COUNT).map(Ok)).forward(producer.into_sink());
    let sum = consumer.into_stream().fold(0, |sum, value| async move { sum + value });
    let (sent, sum) = futures_util::join!(send, sum);
    assert_eq!(sent, Ok(()));
    is_sum_of_all(sum);
}

#[test]
fn a_stream_and_a_sink_on_one_thread_of_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(forward_and_fold());
}

#[test]
fn a_stream_and_a_sink_on_smol() {
    smol::block_on(forward_and_fold());
}

#[test]
fn many_tasks_of_tokio_push_to_a_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (producer, mut consumer) = mpsc::blocking(8).unwrap();
    for first in 0..10 {
        let mut producer = producer.clone();
        runtime.spawn(async move {
            for value in (first..COUNT).step_by(10) {
                producer.push_async(value).await.unwrap();
            }
        });
    }
    drop(producer);
    is_sum_of_all(std::iter::from_fn(|| consumer.pop_wait()).sum());
}

#[test]
fn a_task_of_smol_pops_what_threads_push() {
    let (first, mut consumer) = lanes::blocking(4, 8).unwrap();
    let sum = std::thread::scope(|threads| {
        for start in 0..3 {
            let mut producer = first.try_clone().expect("a free lane");
            threads.spawn(move || {
                let mut values = (start..COUNT).step_by(3);
                values.try_for_each(|value| producer.push_wait(value)).unwrap();
            });
        }
        drop(first);
        smol::block_on(async {
            let mut sum = 0;
            while let Some(value) = consumer.pop_async().await {
                sum += value;
            }
            sum
        })
    });
    is_sum_of_all(sum);
}

#[test]
fn a_timeout_of_tokio_takes_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
        let short = Duration::from_millis(2);
        assert!(tokio::time::timeout(short, consumer.pop_async()).await.is_err());
        producer.push(1).unwrap();
        assert!(tokio::time::timeout(short, producer.push_async(2)).await.is_err());
        assert_eq!(consumer.pop_async().await, Some(1));
        assert!(tokio::time::timeout(short, consumer.pop_async()).await.is_err());
    });
}
