//! The data of each thread: its rows, and whether it is recording right now.
//!
//! # Contract
//! [`current`] is the calling thread's data, attached at its first event. It is none while there is no record, while
//! recording is switched off, and in a signal handler that interrupted recording (which is counted). A forked child
//! starts afresh, whether forked by `fork`, `_Fork` or a bare `clone`: its copy of a [`Local`] is not alive.
//! # State
//! The thread's word ([`tls`]): 0 before attaching; [`CLOSED`] after the end; [`SHUT`] in a sandbox's strict mode;
//! [`ATTACHING`] plus the address of the frame that is attaching it; otherwise the address of its [`Local`] in private
//! memory.
//! # Invariants
//! I1: only its own thread (and that thread's signal handlers) reaches a `Local`, through the thread's word or the
//!     value of its key, until the word is [`CLOSED`].
//! I2: while `ready` is false, one frame of the thread changes `rows` and `calls`; handlers that interrupt it
//!     leave them alone.
//! I3: no table is freed before its thread ends.
//! I4: a `Local` begins [`BEFORE`] bytes into its mapping, of which a forked child finds the first [`WIPED`] zero: its
//!     `alive` is false there, and true elsewhere. The rest is copied, for what a signal handler interrupted uses it in
//!     the child too.
//! I5: recording, once switched on, stays on, and a row is found only then.
//! I6: KEY is a key of ours with room in every thread ([`ROOMY_KEYS`]), or none.
//! # Evidence
//! `tests/programs`: `signal_handler_locks.c`, `stepped.c` (a handler after each instruction), `fork_held.c`,
//! `many_keys.c`, `full_record.c`, `fork_in_wait.c`.

use crate::caller::Caller;
use crate::errno::Errno;
use crate::frame::stack_here;
use crate::pieces::Pieces;
use crate::sandbox;
use crate::slept::Sleeps;
use crate::{image, joined, kernel, stack, tables};
use std::cell::Cell as Own;
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, Ordering::*, compiler_fence};
use uncontended_events::calls::Calls;
use uncontended_events::cancelled::InWait;
use uncontended_events::events::Blocked;
use uncontended_events::nested::Nest;
use uncontended_events::rows::{self, Rows, Table};
use uncontended_events::seen::Seen;
use uncontended_events::site::{Recorder, Row, Site};
use uncontended_events::summed::is_summed;
use uncontended_sys::{affinity, clock, tls};
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{self, Process, Thread, Unit};
use uncontended_trace::setup::Holds;

const CLOSED: usize = 1;
/// No address of a program has this bit.
const ATTACHING: usize = 1 << 63;
const SHUT: usize = ATTACHING;
/// A thread with this many rows keeps no more rows of sums: it finds a sum by the place of its call as fast as by the
/// addresses of a hundred thousand locks.
const MOST_SUMMED: usize = 1024;
/// Rows whose table is near to the CPU anyway.
const FEW_ROWS: usize = 2048;
/// Rounds in which the C library runs the destructors of keys; we leave in the last one.
const ROUNDS: u32 = 4;
/// Keys below this have room in each thread from the start. For others the C library allocates room at the first value,
/// from the program's allocator, which may be waiting for us while it holds a lock of its own.
const ROOMY_KEYS: u32 = 32;

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// The largest page, since the kernel wipes whole ones.
const WIPED: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };
/// The fields of a `Local` that are wiped end where the wiped bytes do.
const BEFORE: usize = WIPED - offset_of!(Front, recorder);
/// The bytes of the mapping.
const MAPPED: usize = BEFORE + size_of::<Local>();

/// The observer's data for one thread.
#[repr(C)]
pub(crate) struct Local {
    front: Front,
    calls: Calls,
    nest: Nest,
    seen: Seen,
}

/// All of it but what is large, for which the thread's stack may have no room.
#[repr(C)]
pub(crate) struct Front {
    head: Head,
    pub(crate) recorder: Recorder,
    /// The stack address where recording began.
    busy_at: Own<usize>,
    rounds: Own<u32>,
    rows: Rows,
    sleeps: Sleeps,
    /// The wait that the program announced (annotations).
    pub(crate) announced: Own<Option<Blocked<Here>>>,
    /// A wait that cancellation may end.
    pub(crate) in_wait: InWait<Here>,
}

/// What a forked child finds wiped.
#[repr(align(64))]
struct Head {
    /// False while the thread is recording, and in a forked child.
    ready: Own<bool>,
    alive: Own<bool>,
}

const _: () = assert!(BEFORE.is_multiple_of(align_of::<Local>()), "I4");
// SAFETY: the compiler checks the value: no call is known where all is zero (M1).
const _: Calls = unsafe { std::mem::zeroed() };
// SAFETY: the compiler checks the value: the thread holds no lock where all is zero (M1).
const _: Nest = unsafe { std::mem::zeroed() };
// SAFETY: the compiler checks the value: no key was seen where all is zero (M1).
const _: Seen = unsafe { std::mem::zeroed() };

impl Deref for Local {
    type Target = Front;

    #[inline(always)]
    fn deref(&self) -> &Front {
        &self.front
    }
}

/// Makes the key whose destructor notices the end of a thread. Without one (I6), threads seem never to end.
pub(crate) fn prepare() {
    let mut key = 0;
    // SAFETY: room for the answer (L2), and a destructor of the type (L9).
    let made = unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0;
    if made && key < ROOMY_KEYS {
        KEY.store(key, Relaxed);
    } else if made {
        // SAFETY: a number (L1): the key made just now.
        unsafe { libc::pthread_key_delete(key) };
    }
}

/// Sets the key's value, so that [`ended`] is called (again) when the thread ends.
fn await_end(local: *const Local) {
    let key = KEY.load(Relaxed);
    if key != u32::MAX {
        debug_assert!(key < ROOMY_KEYS, "I6");
        // SAFETY: a number and an address that is only kept (L1), for a key of ours (I6).
        unsafe { libc::pthread_setspecific(key, local.cast()) };
    }
}

/// Whether a thread's word is the address of its `Local`.
#[inline(always)]
fn is_local(word: usize) -> bool {
    word as isize > CLOSED as isize
}

/// The calling thread's data, if it may record now.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Local> {
    let word = tls::get();
    if !is_local(word) {
        return attach(word);
    }
    // SAFETY: such a word is the address of this thread's Local (I1).
    let local = unsafe { &*(word as *const Local) };
    if !local.head.ready.get() {
        return unready(local);
    }
    (local.recorder.arena.header().enabled.load(Relaxed) != 0).then_some(local)
}

/// Called in a signal handler that interrupted recording, for a forked child's first event, or for the first event
/// after a handler jumped out of recording for good. In the last case the frames that recorded are gone, and this one
/// is where they were or further out.
#[cold]
fn unready(local: &'static Local) -> Option<&'static Local> {
    if !local.head.alive.get() {
        return attach(0);
    }
    if was_abandoned(local.busy_at.get(), stack_here()) {
        local.make_ready();
        return current();
    }
    local.recorder.arena.header().dropped_busy.fetch_add(1, Relaxed);
    None
}

/// The calling thread's row of the lock of `kind` at `address`, if there is one and the thread may record now.
#[inline(always)]
pub(crate) fn find(address: u64, kind: u8) -> Option<(&'static Local, Row)> {
    let key = rows::key(address, kind);
    let word = tls::get();
    if is_local(word) {
        // SAFETY: as in `current` (I1).
        let local = unsafe { &*(word as *const Local) };
        if local.head.ready.get()
            && let Some(row) = local.rows.find_last(key)
        {
            return Some((local, row)); // Recording is on (I5).
        }
    }
    let local = current()?;
    if local.rows.count() > FEW_ROWS && !local.seen.may_have(key) {
        return None;
    }
    Some((local, local.rows.find(key)?))
}

/// Whether the frame at `place` is gone without having returned, now that the stack ends at `here`.
fn was_abandoned(place: usize, here: usize) -> bool {
    here > place && !on_signal_stack()
}

/// Whether a call whose frame was at `place` is gone, now that another one's is at `here`.
#[inline(always)]
pub(crate) fn was_left(place: usize, here: usize) -> bool {
    here >= place && !on_signal_stack()
}

/// Whether a signal handler runs on its own stack; true if that is unknown.
fn on_signal_stack() -> bool {
    if sandbox::is_filtered() {
        return true;
    }
    kernel::signal_stack().is_none_or(|stack| stack.ss_flags & libc::SS_ONSTACK != 0)
}

#[cold]
#[inline(never)]
fn attach(word: usize) -> Option<&'static Local> {
    let arena = image::arena()?;
    if arena.header().enabled.load(Relaxed) == 0 {
        return None;
    }
    if word == SHUT {
        arena.header().dropped_room.fetch_add(1, Relaxed);
        return None;
    }
    let here = stack_here();
    // A handler may have jumped out of attaching as well.
    if word == CLOSED || (word != 0 && !was_abandoned(word & !ATTACHING, here)) {
        arena.header().dropped_busy.fetch_add(1, Relaxed);
        return None;
    }
    // Locks taken during attaching (by a preloaded allocator, say) are not recorded: they are deeper in the stack.
    tls::set((here - 1) | ATTACHING);
    let errno = Errno::keep();
    let local = Local::new(arena);
    tls::set(local.map_or(0, |local| std::ptr::from_ref(local) as usize));
    drop(errno);
    local
}

impl Local {
    fn new(arena: Arena) -> Option<&'static Local> {
        let process = image::process(arena)?;
        let Some((memory, table)) = memory() else {
            arena.header().dropped_room.fetch_add(1, Relaxed);
            return None;
        };
        let Some((unit, thread)) = arena.make::<Thread>() else {
            // SAFETY: not used yet (I3, M1).
            unsafe { free(memory, table) };
            return None;
        };
        enter_thread(arena, process, unit, thread);
        // SAFETY: there are more bytes than that (M1, I4).
        let memory = unsafe { memory.add(BEFORE) }.cast::<Local>();
        let flags = arena.header().flags.load(Relaxed);
        let front = Front {
            head: Head { ready: Own::new(true), alive: Own::new(true) },
            recorder: Recorder {
                arena,
                process,
                thread,
                holds: Holds::of(flags),
                lock_order: flags & layout::flag::LOCK_ORDER != 0,
            },
            busy_at: Own::new(0),
            rounds: Own::new(0),
            rows: Rows::new(table),
            sleeps: Sleeps::of_this(),
            announced: Own::new(None),
            in_wait: InWait::none(),
        };
        // SAFETY: fresh memory of this size (M1, I4), of which the rest is zero, as the other parts begin.
        unsafe { memory.cast::<Front>().write(front) };
        await_end(memory.as_ptr());
        // SAFETY: just written; it lives until the thread's last destructor has run (I1).
        Some(unsafe { memory.as_ref() })
    }

    /// Marks the thread as recording until the guard is dropped; keeps `errno`.
    pub(crate) fn begin(&'static self) -> Busy {
        debug_assert_eq!(tls::get(), std::ptr::from_ref(self) as usize, "I1");
        let before = self.head.ready.replace(false);
        if before {
            self.busy_at.set(stack_here());
        }
        compiler_fence(SeqCst); // Keeps the store of `ready` before all changes, as a handler sees them (I2).
        Busy { local: self, before, _errno: Errno::keep() }
    }

    /// Whether this is not the copy of a forked child.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        self.head.alive.get()
    }

    /// Marks the thread as no longer recording; not so the copy of a child that a signal handler forked just before.
    fn make_ready(&self) {
        self.head.ready.set(true);
        compiler_fence(SeqCst); // A child forked before the store is not here; in a later one it is wiped (I4).
        if !self.is_here() {
            self.head.ready.set(false);
        }
    }

    /// Whether the thread is marked as recording.
    pub(crate) fn is_busy(&self) -> bool {
        !self.head.ready.get()
    }

    /// Keeps the row of the lock of `kind` at `address`, replacing an earlier one (of which it `has` one). The thread
    /// must be marked as recording.
    pub(crate) fn remember(&self, address: u64, kind: u8, row: Row, has: bool) {
        debug_assert!(self.is_busy(), "I2");
        let key = rows::key(address, kind);
        if has || !is_summed(row.lock) || self.rows.count() < MOST_SUMMED {
            self.seen.add(key);
            // A row without room is made again at the next event.
            self.rows.remember(key, row, tables::fresh);
        } else {
            self.rows.remember_last(key, row);
        }
    }
}

/// The memory of each [`Local`], which a child finds wiped (I4).
static LOCALS: Pieces = Pieces::of(MAPPED);

/// Gets memory for when the kernel may not be asked for any.
pub(crate) fn provide() {
    LOCALS.provide(wipe);
    tables::provide();
}

fn wipe(memory: NonNull<u8>) {
    kernel::keep_from_children(memory, WIPED);
}

/// Memory for a [`Local`], and its first table.
fn memory() -> Option<(NonNull<u8>, &'static Table)> {
    let memory = LOCALS.get(wipe)?;
    let table = tables::first();
    if table.is_none() {
        // SAFETY: not used yet (M1).
        unsafe { LOCALS.give(memory) };
    }
    Some((memory, table?))
}

/// # Safety
/// Nothing uses them.
unsafe fn free(memory: NonNull<u8>, table: &'static Table) {
    // SAFETY: a `Local`'s tables, by the contract unused (I3).
    unsafe { tables::free(table) };
    // SAFETY: of a `Local` (I4), by the contract unused.
    unsafe { LOCALS.give(memory) };
}

/// Adds the calling thread to the record.
fn enter_thread(arena: Arena, process: &Process, unit: Unit, thread: &Thread) {
    let number = joined::this_thread();
    thread.number.store(number, Relaxed);
    thread.tid.store(image::thread_id(process, number), Relaxed);
    // SAFETY: a call without arguments (L1).
    thread.handle.store(unsafe { libc::pthread_self() }, Relaxed);
    thread.start_ticks.store(clock::ticks(), Relaxed);
    write_name(thread);
    arena.push::<Thread>(&process.threads, unit);
}

fn write_name(thread: &Thread) {
    if sandbox::is_filtered() {
        return;
    }
    for (to, from) in thread.name.iter().zip(kernel::thread_name()) {
        to.store(from, Relaxed);
    }
}

/// In a forked child: its only thread starts afresh.
pub(crate) fn forked() {
    if is_local(tls::get()) {
        attach(0);
    }
}

/// The destructor of our key: stays for the rounds in which other destructors may still lock, then records the end and
/// leaves.
extern "C" fn ended(local: *mut libc::c_void) {
    // SAFETY: the key's value is this thread's Local (I1).
    let this = unsafe { &*local.cast::<Local>() };
    if !this.head.alive.get() || tls::get() == SHUT {
        return;
    }
    // The places where it waited are gone.
    let at = Here { local: this, caller: Caller::nowhere() };
    if let Some(left) = this.announced.take() {
        left.moved_to(at).gave_up();
    }
    if let Some(left) = this.in_wait.take() {
        left.left(at, true); // A mutex that it has again from then was not unlocked.
    }
    this.rounds.set(this.rounds.get() + 1);
    if this.rounds.get() < ROUNDS {
        await_end(this);
        return;
    }
    note_end(this.recorder.thread);
    let table = this.rows.table();
    tls::set(CLOSED);
    // SAFETY: that is where its mapping begins (I4).
    let memory = unsafe { NonNull::from(this).cast::<u8>().sub(BEFORE) };
    // SAFETY: no lookup uses the tables, and nothing reaches the `Local` after this (I1).
    unsafe { free(memory, table) };
}

/// From now on the calling thread records nothing, and reads no clock. Returns what [`reopen`] needs.
pub(crate) fn shut() -> usize {
    let word = tls::get();
    tls::set(SHUT);
    word
}

/// It may record again.
pub(crate) fn reopen(word: usize) {
    tls::set(word);
}

/// Notes that the calling thread ends the process.
pub(crate) fn note_exit(process: &Process) {
    let word = tls::get();
    if word == SHUT {
        return;
    }
    if is_local(word) {
        // SAFETY: as in `current` (I1).
        let Recorder { arena, thread, .. } = &unsafe { &*(word as *const Local) }.recorder;
        process.ended_by.store(arena.unit_of(*thread), Relaxed);
        if !sandbox::is_filtered() {
            note_figures(thread);
        }
    }
    process.end_ticks.store(clock::ticks(), Relaxed);
}

fn note_end(thread: &Thread) {
    if sandbox::is_filtered() {
        return; // The kernel may not be asked.
    }
    note_figures(thread);
    write_name(thread);
    thread.end_ticks.store(clock::ticks(), Relaxed);
}

/// Notes the kernel's figures of the calling thread, which is about to end.
fn note_figures(thread: &Thread) {
    let used = kernel::thread_usage();
    thread.cpu_ns.store(kernel::thread_cpu_ns(), Relaxed);
    thread.system_ns.store(kernel::system_ns(&used), Relaxed);
    thread.voluntary.store(used.ru_nvcsw as u64, Relaxed);
    thread.involuntary.store(used.ru_nivcsw as u64, Relaxed);
}

/// A thread that may record now, and the place of the call.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    pub(crate) local: &'static Local,
    pub(crate) caller: Caller,
}

impl Site for Here {
    type Thread = &'static Local;
    type Place = Caller;
    type Busy = Busy;

    #[inline(always)]
    fn split(self) -> (&'static Local, Caller) {
        (self.local, self.caller)
    }

    #[inline(always)]
    fn join(local: &'static Local, caller: Caller) -> Self {
        Here { local, caller }
    }

    #[inline(always)]
    fn recorder(self) -> &'static Recorder {
        &self.local.recorder
    }

    #[inline(always)]
    fn is_here(self) -> bool {
        self.local.is_here()
    }

    #[inline(always)]
    fn ticks(self) -> u64 {
        clock::ticks()
    }

    #[inline(always)]
    fn begin(self) -> Busy {
        self.local.begin()
    }

    #[inline(always)]
    fn known_stack(self) -> Option<u32> {
        stack::known(&self.local.calls, self.caller)
    }

    #[inline(always)]
    fn site(self) -> u32 {
        self.known_stack().unwrap_or_else(|| self.new_site())
    }

    fn sleeps(self) -> Option<u64> {
        debug_assert!(self.local.is_busy(), "I2");
        self.local.sleeps.count()
    }

    #[inline(always)]
    fn cpu(self) -> Option<u32> {
        affinity::current()
    }

    fn stack(self) -> u32 {
        debug_assert!(self.local.is_busy(), "I2");
        stack::number(&self.local.calls, self.caller, &self.local.recorder)
    }

    fn releases_unseen(self, row: Row) {
        if let Some(left) = self.local.in_wait.take_with(row) {
            left.left(self, true);
        }
    }
}

impl Here {
    /// The thread took the lock of `row` by a call that `waits` without a limit.
    #[inline(always)]
    pub(crate) fn took(self, row: Row, waits: bool) {
        if self.recorder().lock_order {
            self.took_in_order(row, waits);
        }
    }

    #[cold]
    #[inline(never)]
    fn took_in_order(self, row: Row, waits: bool) {
        if self.is_here() {
            let busy = self.begin();
            let is_alone = || !sandbox::is_filtered() && kernel::is_only_thread();
            self.local.nest.took(self, row, waits, is_alone);
            drop(busy);
        }
    }

    #[cold]
    #[inline(never)]
    fn new_site(self) -> u32 {
        let busy = self.begin();
        let stack = if self.local.calls.may_unwind() { self.stack() } else { 0 };
        drop(busy);
        stack
    }
}

/// Marks the thread as recording.
pub(crate) struct Busy {
    local: &'static Local,
    /// False if an outer guard exists.
    before: bool,
    _errno: Errno,
}

impl Drop for Busy {
    fn drop(&mut self) {
        compiler_fence(SeqCst); // Keeps all changes before the store of `ready`, as a handler sees them (I2).
        if self.before {
            self.local.make_ready();
        }
    }
}
