//! Question: what does it cost to publish when one thread sleeps, and how long until that thread runs again?
//!
//! Before every publish, the kernel reports the waiter as asleep. The processor's counter times the publisher's call;
//! the percentiles run from just before that call until the waiter runs. Rivals: the futex call by itself, unpark,
//! Condvar, event-listener, Concurrency Kit, ours.
//! Not measured: waiters that are still spinning; more than one sleeper.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_sys::clock::{Moment, ticks};

use crate::rivals::concurrency_kit::{self, Count};
use crate::rivals::signal::{
    BareFutex, Condition, Listened, Many32, Many64, OurParker, OurSleepers, Signal, TimedFutex,
    TwoWords32, TwoWords64, Unpark,
};

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench =
        Bench::new("u2_wake", "what does it cost to wake one sleeper, and when does it run")
            .places([Place::TwoCpus, Place::OneCpu])
            .per("wake")
            .subject("futex call", wake(BareFutex::default))
            .subject("futex call, waiter looks every 2 ms", wake(TimedFutex::default))
            .subject("ours, Sleepers", wake(OurSleepers::default))
            .subject("ours, two words, 32 bit", wake(TwoWords32::default))
            .subject("ours, two words, 64 bit", wake(TwoWords64::default))
            .subject("ours, many, 32 bit", wake(Many32::default))
            .subject("ours, many, 64 bit", wake(Many64::default))
            .subject("ours, Parker", wake(OurParker::default))
            .subject("unpark", wake(Unpark::default))
            .subject("Condvar", wake(Condition::default))
            .subject("event-listener", wake(Listened::default));
    #[cfg(target_arch = "x86_64")]
    {
        use crate::rivals::signal::{OneWord32, OneWord64};
        bench = bench
            .subject("ours, one word, 32 bit", wake(OneWord32::default))
            .subject("ours, one word, 64 bit", wake(OneWord64::default));
    }
    for &form in concurrency_kit::forms() {
        bench = bench.subject(form.name, wake(move || Count::new(form)));
    }
    if concurrency_kit::forms().is_empty() {
        bench = bench.note(concurrency_kit::MISSING);
    }
    crate::answer(bench, &options)
}

/// One block: wakes one sleeper again and again.
fn wake<S: Signal>(
    new: impl Fn() -> S + Send + 'static,
) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        let (n, signal, back) = (block.operations(), new(), AtomicU64::new(0));
        let (name, names) = mpsc::channel();
        let (mut called, mut returned) = (Vec::new(), Vec::new());
        let mut ran = Vec::with_capacity(n as usize);
        let start = Moment::now();
        block.pair(
            || {
                let mut publish = signal.publisher();
                let sleeper = Sleeper::new(names.recv().expect("the waiter sends its thread ID"));
                for value in 1..=n {
                    while back.load(Acquire) < value - 1 || !sleeper.sleeps() {
                        std::thread::yield_now();
                    }
                    called.push(ticks());
                    publish(value);
                    returned.push(ticks());
                }
            },
            || {
                signal.enlist();
                name.send(thread_id()).expect("the publisher listens");
                for value in 1..=n {
                    signal.wait_for(value);
                    ran.push(ticks());
                    back.store(value, Release);
                }
            },
        );
        let tick_ns = start.tick_ns(Moment::now());
        let ns = |from: &u64, to: &u64| (to.saturating_sub(*from) as f64 * tick_ns) as u64;
        let spent = called.iter().zip(&returned).map(|(from, to)| ns(from, to)).sum();
        block.counts(spent, n);
        block.latencies_ns(called.iter().zip(&ran).map(|(from, to)| ns(from, to)));
    }
}

/// A thread, as the kernel reports it.
struct Sleeper(File);

impl Sleeper {
    fn new(id: i32) -> Sleeper {
        let path = format!("/proc/self/task/{id}/stat");
        Sleeper(File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    /// Whether it sleeps: the letter after the name in parentheses.
    fn sleeps(&self) -> bool {
        let mut text = [0u8; 128];
        let length = self.0.read_at(&mut text, 0).unwrap_or(0);
        let name_ends = text[..length].iter().rposition(|&byte| byte == b')');
        name_ends.is_some_and(|at| text.get(at + 2) == Some(&b'S'))
    }
}

fn thread_id() -> i32 {
    // The target of the link ends in the thread ID.
    let link = std::fs::read_link("/proc/thread-self").expect("/proc is there");
    let number = link.file_name().and_then(|name| name.to_str()?.parse().ok());
    number.expect("the link's target ends in a number")
}
