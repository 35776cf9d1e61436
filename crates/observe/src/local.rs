//! The data of each thread: its rows, and whether it is recording right now.
//!
//! # Contract
//! [`current`] is the calling thread's data, attached at its first event. It is none while there is no record, while
//! recording is switched off, and in a signal handler that interrupted recording (which is counted). A forked child
//! starts afresh, whether forked by `fork`, `_Fork` or a bare `clone`: its copy of a [`Local`] is empty.
//! # State
//! The thread's word ([`tls`]): 0 before attaching; [`CLOSED`] after the end; [`ATTACHING`] plus the address of the
//! frame that is attaching it; otherwise the address of its [`Local`] in private memory. `table`: open-addressed, from
//! the address and kind of a lock to its row, at most half full.
//! # Edges
//! row: `put` stores a slot's key -> `row_of` loads it, in a signal handler or in the code that it interrupted. Carries
//! the row.
//! # Invariants
//! I1: only its own thread (and that thread's signal handlers) reaches a `Local`, through the thread's word or the
//!     value of its key, until the word is [`CLOSED`].
//! I2: a slot's row is set before its key, and stays in the record for good: a handler that runs between two
//!     instructions, and may never return, leaves no key without a row.
//! I3: while `ready` is false, one frame of the thread changes the table and the cache of stacks; handlers that
//!     interrupt it leave them alone.
//! I4: a table is `mask + 1` slots after its head in one mapping. One word refers to it, and it stays until its thread
//!     ends: whatever a signal handler does, a lookup that it interrupted ends in the table where it began. `recent`
//!     is one word for the same reason.
//! I5: `alive` is always 1, except in the copy of a forked child, all of which is zero.
//! I6: recording, once switched on, stays on, and `recent` is set only then.
//! I7: KEY is a key of ours with room in every thread ([`ROOMY_KEYS`]), or none.
//! I8: the address of errno belongs to the thread as long as the thread lives.
//! # Evidence
//! `tests/programs`: `signal_handler_locks.c`, `stepped.c` (a handler after each instruction), `fork_held.c`,
//! `many_keys.c`, `full_record.c`.

use crate::here::Here;
use crate::{image, kernel, sandbox, stack};
use std::cell::Cell as Own;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, AtomicU64, Ordering::*, compiler_fence};
use uncontended_events::events::Blocked;
use uncontended_events::site::{Recorder, Row};
use uncontended_sys::{clock, tls};
use uncontended_trace::arena::Arena;
use uncontended_trace::layout::{self, Process, Thread, Unit};

const CLOSED: usize = 1;
/// No address of a program has this bit.
const ATTACHING: usize = 1 << 63;
/// Slots of a new table.
const FRESH_SLOTS: usize = 256;
/// Rounds in which the C library runs the destructors of keys; we leave in the last one.
const ROUNDS: u32 = 4;
/// Keys below this have room in each thread from the start. For others the C library allocates room at the first value,
/// from the program's allocator, which may be waiting for us while it holds a lock of its own.
const ROOMY_KEYS: u32 = 32;

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// The observer's data for one thread.
pub(crate) struct Local {
    pub(crate) recorder: Recorder,
    /// False while the thread is recording, and in a forked child.
    ready: Own<bool>,
    alive: u8,
    /// The stack address where recording began.
    busy_at: Own<usize>,
    rounds: Own<u32>,
    table: Own<NonNull<Table>>,
    /// The slot found last.
    recent: Own<Option<NonNull<Slot>>>,
    pub(crate) stacks: stack::Cache,
    /// The wait that the program announced (annotations).
    pub(crate) announced: Own<Option<Blocked<Here>>>,
    /// A wait that cancellation may end (semaphores).
    pub(crate) cancellable: Own<Option<Blocked<Here>>>,
}

/// A table, followed by its slots.
struct Table {
    /// The number of slots minus one.
    mask: usize,
    /// The number of slots with a key.
    used: Own<usize>,
    /// The previous table, half as large: a signal handler may grow the table while its thread still searches that one.
    older: Option<NonNull<Table>>,
}

#[repr(C)]
struct Slot {
    /// 0 if the slot is free.
    key: AtomicU64,
    row: Own<Option<Row>>,
}

/// Makes the key whose destructor notices the end of a thread. Without one (I7), threads seem never to end.
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
        debug_assert!(key < ROOMY_KEYS, "I7");
        // SAFETY: a number and an address that is only kept (L1), for a key of ours (I7).
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
    if !local.ready.get() {
        return unready(local);
    }
    debug_assert_eq!(local.alive, 1, "I5");
    (local.recorder.arena.header().enabled.load(Relaxed) != 0).then_some(local)
}

/// Called in a signal handler that interrupted recording, for a forked child's first event, or for the first event
/// after a handler jumped out of recording for good. In the last case the frames that recorded are gone, and this one
/// is where they were or further out.
#[cold]
fn unready(local: &'static Local) -> Option<&'static Local> {
    if local.alive == 0 {
        return attach(0);
    }
    if was_abandoned(local.busy_at.get(), stack_here()) {
        local.ready.set(true);
        return current();
    }
    local.recorder.arena.header().dropped_busy.fetch_add(1, Relaxed);
    None
}

/// The calling thread's row of the lock of `kind` at `address`, if there is one and the thread may record now.
#[inline(always)]
pub(crate) fn find(address: u64, kind: u8) -> Option<(&'static Local, Row)> {
    let key = key(address, kind);
    let word = tls::get();
    if is_local(word) {
        // SAFETY: as in `current` (I1).
        let local = unsafe { &*(word as *const Local) };
        // An unlock mostly follows the lock of the same mutex.
        if let (Some(slot), true) = (local.recent.get(), local.ready.get()) {
            // SAFETY: a slot of one of this thread's tables (I1), none of which is gone (I4).
            let slot = unsafe { slot.as_ref() };
            if let Some(row) = slot.row_of(key) {
                return Some((local, row)); // Recording is on (I6).
            }
        }
    }
    let local = current()?;
    Some((local, local.look_up(key)?))
}

/// One address may hold locks of several kinds in turn. A program's addresses do not use the highest byte.
#[inline(always)]
fn key(address: u64, kind: u8) -> u64 {
    address ^ u64::from(kind) << 56
}

/// Whether the frame at `place` is gone without having returned, now that the stack ends at `here`.
fn was_abandoned(place: usize, here: usize) -> bool {
    here > place && !on_signal_stack()
}

/// Roughly where the stack ends now; it grows towards lower addresses.
#[inline(always)]
pub(crate) fn stack_here() -> usize {
    let here = 0u8;
    (&raw const here) as usize
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
        let (unit, thread) = arena.make::<Thread>()?; // First: if there is no room, nothing has to be freed.
        let memory = kernel::private_memory(size_of::<Local>())?;
        let Some(table) = fresh_table(FRESH_SLOTS, None) else {
            // SAFETY: mapped just now and not used yet (M1).
            unsafe { kernel::unmap(memory, size_of::<Local>()) };
            return None;
        };
        enter_thread(arena, process, unit, thread);
        let local = Local {
            recorder: Recorder {
                arena,
                process,
                thread,
                holds: arena.header().flags.load(Relaxed) & layout::flag::NO_HOLD == 0,
            },
            ready: Own::new(true),
            alive: 1,
            busy_at: Own::new(0),
            rounds: Own::new(0),
            table: Own::new(table),
            recent: Own::new(None),
            stacks: stack::Cache::new(),
            announced: Own::new(None),
            cancellable: Own::new(None),
        };
        kernel::keep_from_children(memory, size_of::<Local>());
        let memory = memory.cast::<Local>();
        // SAFETY: fresh memory of this size (M1).
        unsafe { memory.write(local) };
        await_end(memory.as_ptr());
        // SAFETY: just written; it lives until the thread's last destructor has run (I1).
        Some(unsafe { memory.as_ref() })
    }

    /// Marks the thread as recording until the guard is dropped; keeps `errno`.
    pub(crate) fn begin(&'static self) -> Busy {
        debug_assert_eq!(tls::get(), std::ptr::from_ref(self) as usize, "I1");
        let before = self.ready.replace(false);
        if before {
            self.busy_at.set(stack_here());
        }
        compiler_fence(SeqCst); // Keeps the store of `ready` before all changes, as a handler sees them (I3).
        Busy { local: self, before, _errno: Errno::keep() }
    }

    /// The row of `key`, if there is one.
    #[inline(never)]
    fn look_up(&self, key: u64) -> Option<Row> {
        let table = self.table.get();
        // SAFETY: this thread's table (I1, I4).
        let mask = unsafe { table.as_ref() }.mask;
        let mut at = place(key) & mask;
        loop {
            let place = slot_of(table, at);
            // SAFETY: one of the table's slots (I4).
            let slot = unsafe { place.as_ref() };
            if let Some(row) = slot.row_of(key) {
                self.recent.set(Some(place));
                return Some(row);
            }
            if slot.key.load(Relaxed) == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Whether the thread is marked as recording.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.get()
    }

    /// Keeps the row of the lock of `kind` at `address`, replacing an earlier one. The thread must be marked as
    /// recording.
    pub(crate) fn remember(&self, address: u64, kind: u8, row: Row) {
        debug_assert!(self.is_busy(), "I3");
        let key = key(address, kind);
        self.recent.set(None);
        let mut table = self.table.get();
        // SAFETY: this thread's table (I1, I4).
        let Table { mask, used, .. } = unsafe { table.as_ref() };
        if (used.get() + 1) * 2 > mask + 1 {
            let Some(larger) = grown(table) else { return }; // The next event looks it up in the record again.
            self.table.set(larger);
            table = larger;
        }
        put(table, key, row);
    }
}

/// A table twice as large with the same rows.
fn grown(table: NonNull<Table>) -> Option<NonNull<Table>> {
    // SAFETY: the thread's table (I4).
    let old = unsafe { table.as_ref() };
    let larger = fresh_table(2 * (old.mask + 1), Some(table))?;
    for at in 0..=old.mask {
        // SAFETY: one of the table's slots (I4).
        let slot = unsafe { slot_of(table, at).as_ref() };
        let key = slot.key.load(Relaxed);
        if let Some(row) = slot.row_of(key).filter(|_| key != 0) {
            put(larger, key, row);
        }
    }
    Some(larger)
}

/// Puts `row` into a table that has room.
fn put(table: NonNull<Table>, key: u64, row: Row) {
    // SAFETY: one of the thread's tables (I4).
    let Table { mask, used, .. } = unsafe { table.as_ref() };
    let mut at = place(key) & mask;
    loop {
        // SAFETY: one of the table's slots (I4).
        let slot = unsafe { slot_of(table, at).as_ref() };
        let there = slot.key.load(Relaxed);
        if there == 0 || there == key {
            used.set(used.get() + usize::from(there == 0));
            slot.row.set(Some(row));
            // EDGE row (release): the row, for handlers (I2).
            compiler_fence(Release);
            slot.key.store(key, Relaxed);
            return;
        }
        at = (at + 1) & mask;
    }
}

impl Slot {
    /// The row, if the slot holds `key`.
    #[inline(always)]
    fn row_of(&self, key: u64) -> Option<Row> {
        if self.key.load(Relaxed) != key {
            return None;
        }
        // EDGE row (acquire): the row.
        compiler_fence(Acquire);
        self.row.get()
    }
}

impl Table {
    const fn bytes(slots: usize) -> usize {
        size_of::<Table>() + slots * size_of::<Slot>()
    }
}

/// The slot with number `at`, at most the table's `mask`.
#[inline(always)]
fn slot_of(table: NonNull<Table>, at: usize) -> NonNull<Slot> {
    // SAFETY: a table that its thread has not freed (I4).
    debug_assert!(at <= unsafe { table.as_ref() }.mask, "I4");
    let slots = table.as_ptr().wrapping_add(1).cast::<Slot>();
    // SAFETY: the slots follow the table in its mapping (I4), which does not begin at 0.
    unsafe { NonNull::new_unchecked(slots.wrapping_add(at)) }
}

/// An empty table. Zeroed memory is slots without a key or a row (a null reference).
fn fresh_table(slots: usize, older: Option<NonNull<Table>>) -> Option<NonNull<Table>> {
    let table = kernel::private_memory(Table::bytes(slots))?.cast::<Table>();
    // SAFETY: fresh memory of this size (M1).
    unsafe { table.write(Table { mask: slots - 1, used: Own::new(0), older }) };
    Some(table)
}

/// Frees a table and all its predecessors.
///
/// # Safety
/// No lookup uses any of them.
unsafe fn free_tables(newest: NonNull<Table>) {
    let mut next = Some(newest);
    while let Some(table) = next {
        // SAFETY: a table of the list (I4), which is freed only below.
        let &Table { older, mask, .. } = unsafe { table.as_ref() };
        // SAFETY: a mapping of ours (M1) of that size (I4), unused by the contract.
        unsafe { kernel::unmap(table.cast(), Table::bytes(mask + 1)) };
        next = older;
    }
}

#[inline(always)]
fn place(key: u64) -> usize {
    ((key >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

/// Adds the calling thread to the record.
fn enter_thread(arena: Arena, process: &Process, unit: Unit, thread: &Thread) {
    thread.tid.store(kernel::thread_id(), Relaxed);
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

/// The destructor of our key: records the end, stays for the rounds in which other destructors may still lock, then
/// leaves.
extern "C" fn ended(local: *mut libc::c_void) {
    // SAFETY: the key's value is this thread's Local (I1).
    let this = unsafe { &*local.cast::<Local>() };
    if this.alive == 0 {
        return;
    }
    for left in [this.announced.take(), this.cancellable.take()].into_iter().flatten() {
        // The place where it waited is gone.
        left.moved_to(Here { local: this, caller: stack::Caller::nowhere() }).gave_up();
    }
    note_end(this.recorder.thread);
    this.rounds.set(this.rounds.get() + 1);
    if this.rounds.get() < ROUNDS {
        await_end(this);
        return;
    }
    let table = this.table.get();
    tls::set(CLOSED);
    // SAFETY: no lookup uses the tables (I1).
    unsafe { free_tables(table) };
    // SAFETY: the `Local`'s own mapping (M1), which nothing reaches after this (I1).
    unsafe { kernel::unmap(NonNull::from(this).cast(), size_of::<Local>()) };
}

fn note_end(thread: &Thread) {
    if sandbox::is_filtered() {
        return; // The kernel may not be asked.
    }
    let used = kernel::thread_usage();
    thread.cpu_ns.store(kernel::thread_cpu_ns(), Relaxed);
    thread.voluntary.store(used.ru_nvcsw as u64, Relaxed);
    thread.involuntary.store(used.ru_nivcsw as u64, Relaxed);
    write_name(thread);
    thread.end_ticks.store(clock::ticks(), Relaxed);
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
        compiler_fence(SeqCst); // Keeps all changes before the store of `ready`, as a handler sees them (I3).
        self.local.ready.set(self.before);
    }
}

/// The C library's error number of this thread.
pub(crate) fn errno() -> libc::c_int {
    let place = errno_place();
    // SAFETY: the thread's errno (I8).
    unsafe { *place }
}

fn errno_place() -> *mut libc::c_int {
    // SAFETY: a call without arguments (L1).
    unsafe { libc::__errno_location() }
}

/// Restores `errno` when dropped.
pub(crate) struct Errno {
    kept: libc::c_int,
}

impl Errno {
    pub(crate) fn keep() -> Self {
        Errno { kept: errno() }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        let place = errno_place();
        // SAFETY: the thread's errno (I8).
        unsafe { *place = self.kept };
    }
}
