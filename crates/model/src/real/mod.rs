//! Explores the code of a library itself: stand-ins for atomics, threads and waiting, under a checker that enumerates
//! every execution the memory model allows.
//!
//! # Contract
//! Code written against the stand-ins ([`atomics`](self), [`UnsafeCell`], [`spawn`], [`scope`], [`Mutex`], [`RwLock`],
//! [`OnceLock`], [`futex_wait`] …) is run by an [`Explorer`] once for each consistent execution under a [`Memory`]
//! model. The verdict of the [`Report`] is: holds, with the number of executions; violated, with a trace; or unknown,
//! with the bound that was hit. Code that behaves differently under the same schedule is an error ([`Diverged`]), never
//! a verdict.
//!
//! "Holds" covers every execution, or every one within the limits that the same sentence and [`Report::coverage`]
//! state. A loop that calls [`spin_loop`], [`yield_now`] or [`sleep`] is explored for a bounded number of unsuccessful
//! rounds ([`Explorer::rounds`]); the hints themselves have no effect. Then it is followed alone: if it gives up by
//! itself, what it does then is explored too, and if it continues for [`Explorer::spins`] rounds, it is taken to wait
//! forever, which the report says. [`wait_until`] waits without such bounds. A helper that gives up and is called again
//! is one loop: one round in each eighth of it may find something new as well, so each of up to eight equal calls may.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
//! use uncontended_model::real::{AtomicU32, Explorer, Memory, spawn};
//!
//! let report = Explorer::new(Memory::C11).explore(|| {
//!     let (data, ready) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
//!     let (d, r) = (Arc::clone(&data), Arc::clone(&ready));
//!     let writer = spawn(move || {
//!         d.store(1, Relaxed);
//!         r.store(1, Release);
//!     });
//!     if ready.load(Acquire) == 1 {
//!         assert_eq!(data.load(Relaxed), 1);
//!     }
//!     writer.join().unwrap();
//! });
//! assert!(report.unwrap().holds());
//! ```
//!
//! `report.violation()` returns the rule that was broken and an execution with few switches between threads
//! ([`Shrunk`]): `violation.trace.text()`, `.svg()`, or a page with `UNC_HTML=FOLDER` ([`Explorer::html`]). [`Named`]
//! gives objects the names shown there. The violation's `schedule` is the execution as a line of text:
//! [`Explorer::replay`] runs only that execution, and so does the test itself with the line in `UNC_REPLAY`.
//!
//! # What it can't see
//! - Load buffering: a load that reads from a store which a later store of its own thread led to. RC11 forbids it, C11
//!   and AArch64 allow it. Nor out-of-thin-air values. Every model here keeps program order and reads-from acyclic
//!   together.
//! - What a compiler does beyond C11 (no `consume`, no mixed sizes, no non-temporal stores), and everything outside the
//!   stand-ins: `std`'s own atomics, the counters of its `Arc` (this module has an [`Arc`]), thread-locals (shared by
//!   all explored threads), files, clocks.
//! - Under TSO and SC: what a compiler may do to relaxed accesses. Only a C11 result applies to portable code.
//! - What a waiting loop does if it finds something new after more rounds than [`Explorer::rounds`], except in one
//!   round of each eighth of a loop that gives up, and what follows a loop that gives up by itself after more rounds
//!   than [`Explorer::spins`] (the report states both bounds). Loops that agree in place, start, locations and what
//!   their threads have found are taken to give up after equally many rounds: a limit in plain memory that differs
//!   nevertheless is not seen.
//! - Hidden state that does not show in a second run of the sample: the executions whose number is a power of two, and
//!   the last one, run twice; the first one once more at the end.
//! - Spurious failures and wakeups, unless [`Explorer::spurious`] requests them (then two per thread); more time-outs
//!   of a thread than [`Explorer::timeouts`] (the report says both); futex waiters woken in an order other than FIFO.
//! - Steps of a thread that is unwinding; memory that is freed too early or never, unless it comes from [`alloc`] or is
//!   in a [`Box`] or [`Arc`] of this module; plain accesses to it through raw pointers.
//! - An allocator's choice: addresses of memory that does not come from [`alloc`] or [`Box`], or that are not in an
//!   [`AtomicPtr`], differ between executions. Code that compares them can end in the error [`Diverged`].
//! - An atomic's memory: there is no `as_ptr`, and `get_mut` returns a guard ([`AtomicMut`]) instead of a reference.
//! - Statics, except those of atomics ([`AtomicU32::new_static`]): creating an object is a step of the execution, so
//!   other constructors are not `const`. A static in a `OnceLock` of `std`'s is hidden state. Create shared state in
//!   the explored closure.
//! - Poisoning: a panic ends the execution. Policies of other systems for a [`RwLock`]'s waiting threads; and that
//!   `try_read` of a free lock may fail while a writer or a reader that was woken has yet to enter.
//! - Reuse of an address: freed memory stays mapped, so no new value is placed where an old one was (ABA by address).
//! - Threads of std's that explored code starts and does not wait for; one that uses a stand-in in time is an error.
//! - What follows a panic that the program catches, if it unwound through stand-ins: that is an error.
//! - Memory that does not come from [`alloc`], [`Box`] or an atomic, for [`Explorer::memory_bytes`].
//! - At most 16 threads, 15 of them waiting on one word.
//! - What is beyond a bound that was requested: preemptions ([`Explorer::preemptions`]), contexts
//!   ([`Explorer::contexts`]), time, executions; and with [`Explorer::sample`] everything that was not drawn.
//! - Whether threads of [`spawn_symmetric`] are symmetric, if no sample shows that they are not.
//!
//! # Evidence
//! tests/real_litmus.rs: outcome sets. tests/real_random.rs: every execution of random programs against an enumerator
//! of all candidate graphs, count by count. tests/real_waiting.rs: every order under every kind of lock, and no other.
//! tests/real_rounds.rs: waiting loops and `wait_until` against the same enumerator, with the same number of failed
//! rounds; bugs that show after a failed round. tests/real_patience.rs: loops that give up. tests/real_endless.rs:
//! waits that nothing ends, and that only a bound keeps from ending. tests/real_heap.rs, real_reclaim.rs: memory.
//! tests/real_spurious.rs: spurious failures and wakeups.
//! tests/real_preemptions.rs, real_contexts.rs: executions by preemptions and contexts, against the enumerator and
//! every row of events. tests/real_symmetric.rs, symmetry/tests.rs: symmetric threads, against all executions in
//! classes.
//! tests/real_sampling.rs: how often drawn executions find bugs of depth 1 to 3. tests/real_checkpoint.rs: a search
//! that is killed. tests/real_jobs.rs: a search that processes share. tests/real_threads.rs: waiting, bounds, hidden
//! state. tests/real_shrink.rs, shrink/tests.rs, real_replay.rs, real_trace.rs: violations, shrunk, replayed and drawn.
//! tests/real_rwlock.rs, real_rwlock_random.rs: reader-writer locks, against every interleaving of random programs.
//! tests/real_ports.rs: values made once, scoped threads, barriers. tests/real_exclusive.rs: exclusive borrows.
//! tests/real_bad.rs: programs that misbehave. tests/real_code.rs: a ring, a lock, event counts, a hazard
//! pointer, a stack and a queue, and 39 mutants. crates/trace/tests/model.rs: the record's writer. compare/: loom.
//!
//! # Sources
//! Each file's header; Lahav et al., PLDI 2017; Kokologiannakis et al., POPL 2022; Kokologiannakis, Ren, Vafeiadis:
//! Dynamic partial order reductions for spinloops, FMCAD 2021; Goldblatt, WG21 P1202.

mod again;
mod arc;
mod atomics;
mod barrier;
mod c11;
mod cell;
mod checkpoint;
mod clock;
mod condition;
mod context;
mod core;
mod coverage;
mod ending;
mod evaluation;
mod exclusive;
mod exploration;
mod explorer;
mod fingerprint;
mod foreign;
mod futex;
mod graph;
mod growth;
mod guide;
mod heap;
mod jobs;
mod maximal;
mod memory;
mod named;
mod once;
mod op;
mod order;
mod ordered;
mod panics;
mod probing;
mod results;
mod rounds;
mod runtime;
mod rwlock;
mod sampler;
mod sampling;
mod schedule;
mod scope;
mod sentence;
mod shrink;
mod signals;
mod symmetric;
mod symmetry;
mod sync;
mod thread;
mod trace;
mod trial;
mod turns;
mod twin;
mod verdict;
mod waiting;
mod watch;

pub use self::arc::{Arc, Weak};
pub use self::atomics::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, choose, compiler_fence, fence,
    heavy_fence, light_fence,
};
pub use self::barrier::{Barrier, BarrierWaitResult};
pub use self::cell::UnsafeCell;
pub use self::clock::MAX_THREADS;
pub use self::coverage::{Coverage, Limit};
pub use self::exclusive::AtomicMut;
pub use self::explorer::Explorer;
pub use self::futex::{FutexWord, Wait, futex_wait, futex_wait_timeout, futex_wake};
pub use self::heap::{Box, alloc, dealloc};
pub use self::memory::Memory;
pub use self::named::Named;
pub use self::once::{LazyLock, Once, OnceLock};
pub use self::order::Cost;
pub use self::rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use self::scope::{Scope, ScopedJoinHandle, scope};
pub use self::symmetric::{SymmetricHandle, spawn_symmetric};
pub use self::sync::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use self::thread::{
    JoinHandle, Thread, assume, current, park, park_timeout, sleep, spawn, spin_loop,
    thread_number, wait_until, yield_now,
};
pub use self::verdict::{
    Bound, Diverged, Estimate, Failure, Misfit, Report, Sampled, Shrunk, Verdict, Violation,
};
