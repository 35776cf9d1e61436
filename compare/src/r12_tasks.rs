//! Question: what does an item cost that goes between a thread and a task?
//!
//! The task is spawned on tokio's runtime with two workers, which each block makes anew, where the block's threads may
//! run. Rivals: tokio's channel, async-channel, flume. Not measured: other executors, tasks alone.

use std::future::Future;
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_ring::{mpsc, spsc};

/// A task that adds up what comes, until no more does.
macro_rules! summed {
    ($found:ident, $next:expr) => {
        async move {
            let mut sum = 0;
            while let $found(item) = $next {
                sum += item;
            }
            sum
        }
    };
}

/// A task that sends the numbers up to `n`.
macro_rules! all_sent {
    ($n:ident, $item:ident, $send:expr) => {
        async move {
            for $item in 1..=$n {
                $send.await.expect("the thread takes all");
            }
        }
    };
}

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("r12_tasks", "what an item costs between a thread and a task")
        .places([Place::TwoCpus, Place::OneCpu])
        .per("item")
        .summarised()
        .baseline("tokio")
        .block(Duration::from_millis(20));
    for capacity in [64, 1024] {
        bench = bench
            .case(format!("thread to task, {capacity}"))
            .subject("tokio", move |block| {
                let (sender, mut receiver) = tokio::sync::mpsc::channel::<u64>(capacity);
                let send = move |item| sender.blocking_send(item).expect("the task takes all");
                to_task(block, send, summed!(Some, receiver.recv().await));
            })
            .subject("ours, spsc", move |block| {
                let (mut producer, mut consumer) =
                    spsc::blocking::<u64>(capacity).expect("a capacity");
                let send = move |item| producer.push_wait(item).expect("the task takes all");
                to_task(block, send, summed!(Some, consumer.pop_async().await));
            })
            .subject("ours, mpsc", move |block| {
                let (producer, mut consumer) = mpsc::blocking::<u64>(capacity).expect("a capacity");
                let send = move |item| producer.push_wait(item).expect("the task takes all");
                to_task(block, send, summed!(Some, consumer.pop_async().await));
            })
            .subject("async-channel", move |block| {
                let (sender, receiver) = async_channel::bounded::<u64>(capacity);
                let send = move |item| sender.send_blocking(item).expect("the task takes all");
                to_task(block, send, summed!(Ok, receiver.recv().await));
            })
            .subject("flume", move |block| {
                let (sender, receiver) = flume::bounded::<u64>(capacity);
                let send = move |item| sender.send(item).expect("the task takes all");
                to_task(block, send, summed!(Ok, receiver.recv_async().await));
            });
        bench = bench
            .case(format!("task to thread, {capacity}"))
            .subject("tokio", move |block| {
                let (sender, mut receiver) = tokio::sync::mpsc::channel::<u64>(capacity);
                let n = block.operations();
                let task = all_sent!(n, item, sender.send(item));
                from_task(block, task, move || receiver.blocking_recv());
            })
            .subject("ours, spsc", move |block| {
                let (mut producer, mut consumer) =
                    spsc::blocking::<u64>(capacity).expect("a capacity");
                let n = block.operations();
                let task = all_sent!(n, item, producer.push_async(item));
                from_task(block, task, move || consumer.pop_wait());
            })
            .subject("async-channel", move |block| {
                let (sender, receiver) = async_channel::bounded::<u64>(capacity);
                let n = block.operations();
                let task = all_sent!(n, item, sender.send(item));
                from_task(block, task, move || receiver.recv_blocking().ok());
            })
            .subject("flume", move |block| {
                let (sender, receiver) = flume::bounded::<u64>(capacity);
                let n = block.operations();
                let task = all_sent!(n, item, sender.send_async(item));
                from_task(block, task, move || receiver.recv().ok());
            });
    }
    crate::answer(bench, &options)
}

/// Runs `task` on a runtime of this thread's CPUs, and waits for it.
fn spawned<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(async { tokio::spawn(task).await.expect("it does not panic") })
}

/// A thread sends, and goes; a task adds up.
fn to_task(
    block: &mut Block,
    send: impl FnMut(u64) + Send + 'static,
    task: impl Future<Output = u64> + Send + 'static,
) {
    let n = block.operations();
    let mut sum = 0;
    block.pair(|| sum = spawned(task), move || (1..=n).for_each(send));
    assert_eq!(sum, n * (n + 1) / 2);
}

/// A task sends, and goes; a thread adds up.
fn from_task(
    block: &mut Block,
    task: impl Future<Output = ()> + Send + 'static,
    take: impl FnMut() -> Option<u64> + Send + 'static,
) {
    let n = block.operations();
    let mut sum = 0;
    block.pair(|| sum = std::iter::from_fn(take).sum(), move || spawned(task));
    assert_eq!(sum, n * (n + 1) / 2);
}
