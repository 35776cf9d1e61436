//! Question: what does it cost to publish, payload included, when no thread waits?
//!
//! Every operation writes an item into a slot of a small ring, then publishes it. Rivals: a bare release store (the
//! lower bound: it wakes no thread); the building blocks of event counts, written by hand; Concurrency Kit's event
//! count in C, with the loop compiled together with its inline functions; event-listener; a mutex with a condition
//! variable; ours in all forms. Not measured: a concurrent consumer (r1), a thread to wake (u2), cold caches.

use event_listener::Event;
use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, compiler_fence, fence};
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place};
use uncontended_wait::{Sleepers, many, single};

use crate::rivals::concurrency_kit::{self, Count};

const SLOTS: usize = 1_024;

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench = Bench::new("u1_publish", "what does it cost to publish when no thread waits")
        .places([Place::TwoCpus])
        .per("publish")
        .baseline("bare release store")
        .block(Duration::from_millis(1));
    bench = subjects::<1>(bench.case("8 B"));
    bench = subjects::<8>(bench.case("64 B"));
    if concurrency_kit::forms().is_empty() {
        bench = bench.note(concurrency_kit::MISSING);
    }
    crate::answer(bench, &options)
}

fn subjects<const WORDS: usize>(mut bench: Bench) -> Bench {
    let word = || &*black_box(Box::leak(Box::new(Line::default())));
    let (bare, two, fenced, slept) = (word(), word(), word(), word());
    let sleepers = &*black_box(Box::leak(Box::new(Sleepers::new())));
    bench = bench
        .subject("bare release store", publish::<WORDS>(move |i| bare.cursor.store(i, Release)))
        .subject(
            "two words by hand",
            publish::<WORDS>(move |i| {
                two.cursor.store(i, Release);
                compiler_fence(SeqCst);
                if two.flag.load(Relaxed) != 0 {
                    unexpected();
                }
            }),
        );
    bench = ours::<WORDS>(bench);
    bench = bench.subject(
        "ours, Sleepers",
        publish::<WORDS>(move |i| {
            slept.cursor.store(i, Release);
            sleepers.wake();
        }),
    );
    #[cfg(target_arch = "x86_64")]
    {
        bench = by_instruction::<WORDS>(bench);
    }
    for &form in concurrency_kit::forms() {
        bench = bench.subject(form.name, from_c::<WORDS>(Count::new(form)));
    }
    let event = &*Box::leak(Box::new(Event::new()));
    let locked = &*Box::leak(Box::new((Mutex::new(0u64), Condvar::new())));
    let cursor = word();
    bench
        .subject("locked xadd", {
            let line = word();
            publish::<WORDS>(move |_| {
                if line.flag.fetch_add(2, AcqRel) & 1 != 0 {
                    unexpected();
                }
            })
        })
        .subject(
            "store, full fence, flag",
            publish::<WORDS>(move |i| {
                fenced.cursor.store(i, Relaxed);
                fence(SeqCst);
                if fenced.flag.load(Relaxed) != 0 {
                    unexpected();
                }
            }),
        )
        .subject(
            "event-listener",
            publish::<WORDS>(move |i| {
                cursor.cursor.store(i, Release);
                event.notify(usize::MAX);
            }),
        )
        .subject(
            "Mutex and Condvar",
            publish::<WORDS>(move |i| {
                *locked.0.lock().expect("no thread panics") = i;
                locked.1.notify_all();
            }),
        )
}

/// Ours in all forms, each behind an address that is opaque to the compiler.
fn ours<const WORDS: usize>(bench: Bench) -> Bench {
    macro_rules! single {
        ($count:ty) => {{
            let count = &*black_box(Box::leak(Box::<Alone<$count>>::default()));
            let slots = slots();
            move |block: &mut Block| {
                // A local variable, as in a real publishing loop: if the handle came from outside, it would be in memory,
                // and each increment would wait for the store of the last.
                run::<WORDS>(block, &slots, |slots, n| {
                    let mut producer = count.0.producer().expect("the only one");
                    for i in 0..n {
                        write(slots, i);
                        producer.increment();
                    }
                    producer.release();
                });
            }
        }};
    }
    macro_rules! many {
        ($count:ty) => {{
            let count = &*black_box(Box::leak(Box::<Alone<$count>>::default()));
            publish::<WORDS>(move |_| {
                count.0.increment();
            })
        }};
    }
    let bench = bench
        .subject("ours, two words, 32 bit", single!(single::portable::EventCount32))
        .subject("ours, two words, 64 bit", single!(single::portable::EventCount64))
        .subject("ours, many, 32 bit", many!(many::EventCount32))
        .subject("ours, many, 64 bit", many!(many::EventCount64));
    #[cfg(target_arch = "x86_64")]
    let bench = bench
        .subject("ours, one word, 32 bit", single!(single::one_word::EventCount32))
        .subject("ours, one word, 64 bit", single!(single::one_word::EventCount64));
    bench
}

/// A value alone on its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Alone<T>(T);

/// A word to publish and a flag, alone on their cache lines; the compiler must assume other users.
#[derive(Default)]
#[repr(align(128))]
struct Line {
    cursor: AtomicU64,
    flag: AtomicU32,
}

/// The slow path, which would wake a thread.
#[cold]
#[inline(never)]
fn unexpected() {
    panic!("no thread waits here");
}

type Slots<const WORDS: usize> = Box<[[AtomicU64; WORDS]; SLOTS]>;

fn slots<const WORDS: usize>() -> Slots<WORDS> {
    Box::new(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))))
}

/// Blocks in which each operation writes an item and publishes it.
fn publish<const WORDS: usize>(
    publish: impl FnMut(u64) + Send + Copy + 'static,
) -> impl FnMut(&mut Block) + Send + 'static {
    publish_after::<WORDS>(|| {}, publish)
}

/// The same, with a preparation of each block.
fn publish_after<const WORDS: usize>(
    prepare: impl Fn() + Send + 'static,
    publish: impl FnMut(u64) + Send + Copy + 'static,
) -> impl FnMut(&mut Block) + Send + 'static {
    let slots = slots();
    move |block| {
        prepare();
        let mut publish = publish;
        run::<WORDS>(block, &slots, |slots, n| {
            for i in 0..n {
                write(slots, i);
                publish(i);
            }
        });
    }
}

/// One block: `work` writes and publishes this many items.
#[inline(always)]
fn run<const WORDS: usize>(
    block: &mut Block,
    slots: &Slots<WORDS>,
    work: impl FnOnce(&[[AtomicU64; WORDS]; SLOTS], u64),
) {
    let n = block.operations();
    let slots = black_box(&**slots);
    block.measure(|| work(slots, n));
    let last = &slots[(n - 1) as usize % SLOTS];
    assert!(last.iter().all(|word| word.load(Relaxed) == n - 1));
}

/// Writes the item `i` into its slot.
#[inline(always)]
fn write<const WORDS: usize>(slots: &[[AtomicU64; WORDS]; SLOTS], i: u64) {
    slots[i as usize % SLOTS].iter().for_each(|word| word.store(i, Relaxed));
}

/// The same in C.
fn from_c<const WORDS: usize>(count: Count) -> impl FnMut(&mut Block) + Send + 'static {
    let mut slots = vec![0u64; WORDS * SLOTS];
    move |block| {
        let (n, before) = (block.operations(), count.value());
        block.measure(|| count.publish(&mut slots, WORDS as u64, n));
        assert_eq!((count.value().wrapping_sub(before) ^ n) as u32 & 0x3fff_ffff, 0);
        assert_eq!(slots[WORDS * ((n - 1) as usize % SLOTS)], n - 1);
    }
}

/// Single instructions: no other thread on this CPU can interleave with one, but it is not atomic to other CPUs.
#[cfg(target_arch = "x86_64")]
fn by_instruction<const WORDS: usize>(bench: Bench) -> Bench {
    use std::arch::asm;
    let line = || &*black_box(Box::leak(Box::new(Line::default())));
    let word = || line().cursor.as_ptr() as usize;
    let (counted, add, xadd) = (line(), word(), word());
    let inc = counted.cursor.as_ptr() as usize;
    bench
        .subject(
            "inc, by hand",
            // From zero in each block: the sign is the flag, which the count must not reach.
            publish_after::<WORDS>(
                move || counted.cursor.store(0, Relaxed),
                move |_| {
                // SAFETY: the word is never freed, and no other thread writes it; a jump leads to a call that panics.
                unsafe {
                    asm!("inc dword ptr [{word}]", "jle {cold}", word = in(reg) inc, cold = label { unexpected() })
                }
            }),
        )
        .subject(
            "add and flag test, by hand",
            publish::<WORDS>(move |_| {
                // SAFETY: as above.
                unsafe {
                    asm!(
                        "add qword ptr [{word}], 2", "test byte ptr [{word}], 1", "jnz {cold}",
                        word = in(reg) add, cold = label { unexpected() }
                    )
                }
            }),
        )
        .subject(
            "plain xadd",
            publish::<WORDS>(move |_| {
                let mut old = 2u64;
                // SAFETY: as above, without a jump.
                unsafe { asm!("xadd qword ptr [{word}], {old}", word = in(reg) xadd, old = inout(reg) old) };
                if old & 1 != 0 {
                    unexpected();
                }
            }),
        )
}
