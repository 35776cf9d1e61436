//! Memory that explored code allocates and frees: detects use after free, double free and leaks.
//!
//! # Contract
//! The checker watches memory from [`alloc`], [`dealloc`] and [`Box`] until the execution ends. Freed memory stays
//! mapped until then, so that code which uses it does not harm the checker. Each use of a stand-in (an atomic, an
//! [`UnsafeCell`](super::UnsafeCell)) or of a [`Box`] in freed memory is reported, with the places of the allocation,
//! the free and the use. So is a use that is not ordered before the free, whichever came first in this execution.
//! Memory that is still allocated when all threads have ended is a leak.
//!
//! The checker does not see a plain access through a raw pointer: wrap what is shared in an `UnsafeCell`.
//!
//! An allocator gives a block another address in every execution. So an address inside a block is a named value
//! while it is in an `AtomicPtr`: the thread that allocated the block, the number of its allocations before, and the
//! offset. That is the same in every execution with the same steps before it.
//!
//! # Invariants
//! H1: only [`Heap`] releases a block's memory, when the next execution begins or the exploration ends.
//! H2: only the thread that set a block's `claimed` drops its value, and then frees it: a destructor may use what it
//!     is in.
//!
//! # Sources
//! loom's `alloc` for the shape of the interface; FastTrack (see `cell`) for the clocks.

#![allow(unsafe_code)]

use super::clock::MAX_THREADS;
use super::core::Core;
use super::ending::{Access, Clash};
use super::graph::Location;
use super::op::Op;
use super::verdict::{Bound, Failure};
use super::{runtime, trace};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Site;
use std::ptr::NonNull;

/// The bits of an address. Those above may be a tag, which a name keeps.
const ADDRESS: u64 = (1 << 48) - 1;
/// A mark in values that are named addresses. No address of x86-64 has it, and a sentinel that has it names no block.
const NAMED: u64 = 1 << 47;
/// Under it: the thread, the number of the allocation from 1 on, and the offset in the block.
const THREAD_SHIFT: u32 = 43;
const NUMBER_SHIFT: u32 = 23;
const MOST_NUMBERS: usize = 1 << (THREAD_SHIFT - NUMBER_SHIFT);

#[derive(Debug)]
struct Block {
    layout: Layout,
    /// The value that stands for its address.
    name: u64,
    made: &'static Site<'static>,
    /// The beginning of its free: the value is dropped before the memory goes (H2).
    claimed: Option<Access>,
    freed: Option<Access>,
    /// The last use by each thread.
    uses: Vec<Access>,
}

/// The blocks of one execution, by address.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    blocks: BTreeMap<usize, Block>,
    /// Their addresses, by the thread that allocated them.
    named: [Vec<usize>; MAX_THREADS],
    /// Their total size in bytes.
    bytes: usize,
    /// Objects in memory of others that must be ended before the execution ends.
    watched: BTreeMap<usize, &'static Site<'static>>,
}

impl Heap {
    /// Forgets the last execution's blocks and releases the memory of those that were freed; leaked memory may belong
    /// to a value that is still alive.
    pub(crate) fn clear(&mut self) {
        self.watched.clear();
        self.bytes = 0;
        self.named.iter_mut().for_each(Vec::clear);
        for (address, block) in std::mem::take(&mut self.blocks) {
            if block.freed.is_some() {
                let memory = std::ptr::with_exposed_provenance_mut(address);
                // SAFETY: allocated with this layout, and released only here (H1).
                unsafe { std::alloc::dealloc(memory, block.layout) };
            }
        }
    }

    /// Whether nothing has been allocated.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn add(&mut self, thread: usize, address: usize, layout: Layout, made: &'static Site<'static>) {
        self.bytes += layout.size();
        let numbers = &mut self.named[thread];
        // Beyond the numbers there are, the address stays what it is.
        let name = match numbers.len() + 1 {
            number if number < MOST_NUMBERS => {
                NAMED | (thread as u64) << THREAD_SHIFT | (number as u64) << NUMBER_SHIFT
            }
            _ => address as u64,
        };
        numbers.push(address);
        self.blocks.insert(
            address,
            Block { layout, name, made, claimed: None, freed: None, uses: Vec::new() },
        );
    }

    /// The value that stands for a pointer's address; one that points into no block stands for itself.
    pub(crate) fn to_name(&self, value: u64) -> u64 {
        let (tag, address) = (value & !ADDRESS, value & ADDRESS);
        let Some((&begin, block)) = self.blocks.range(..=address as usize).next_back() else {
            return value;
        };
        // One past the end is a pointer into the block too.
        let offset = address - begin as u64;
        let is_inside = offset <= block.layout.size() as u64 && offset >> NUMBER_SHIFT == 0;
        if is_inside { tag | (block.name + offset) } else { value }
    }

    /// The address that a value stands for in this execution.
    pub(crate) fn to_address(&self, value: u64) -> u64 {
        self.named(value).map_or(value, |(thread, number, offset)| {
            value & !ADDRESS | (self.named[thread][number - 1] as u64 + offset)
        })
    }

    /// The block that a value names: its thread, its number from 1 on, and the offset in it.
    pub(crate) fn named(&self, value: u64) -> Option<(usize, usize, u64)> {
        let rest = (value & ADDRESS).checked_sub(NAMED)?;
        let (thread, number) = ((rest >> THREAD_SHIFT) as usize, rest >> NUMBER_SHIFT);
        let number = number as usize % MOST_NUMBERS;
        let is_block = number > 0 && self.named.get(thread)?.len() >= number;
        is_block.then_some((thread, number, rest & ((1 << NUMBER_SHIFT) - 1)))
    }

    /// A request about a pointer, with its operands named.
    pub(crate) fn name_operands(&self, op: Op) -> Op {
        match op {
            Op::Store { value, order } => Op::Store { value: self.to_name(value), order },
            Op::Rmw { function, operand, bits, order } => {
                Op::Rmw { function, operand: self.to_name(operand), bits, order }
            }
            Op::Cas { expected, new, success, failure } => {
                let (expected, new) = (self.to_name(expected), self.to_name(new));
                Op::Cas { expected, new, success, failure }
            }
            op => op,
        }
    }

    fn around(&mut self, address: usize) -> Option<&mut Block> {
        let (&begin, block) = self.blocks.range_mut(..=address).next_back()?;
        (address < begin + block.layout.size()).then_some(block)
    }

    /// Where a block that was never freed was allocated.
    pub(crate) fn leaked(&self) -> Option<&'static Site<'static>> {
        let block = self.blocks.values().find(|block| block.freed.is_none());
        block.map(|block| block.made).or_else(|| self.watched.values().next().copied())
    }

    /// Begins to free the block at `address`. `None`: there is no such block; false: its free has begun before.
    pub(crate) fn claim(&mut self, address: usize, access: Access) -> Option<bool> {
        let block = self.blocks.get_mut(&address)?;
        let is_first = block.claimed.is_none();
        block.claimed.get_or_insert(access);
        Some(is_first)
    }

    /// Marks the claimed block at `address` as freed.
    pub(crate) fn free(&mut self, address: usize, access: Access) {
        self.blocks.get_mut(&address).expect("it was claimed").freed = Some(access);
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Core {
    /// The bound on memory, if `more` bytes would exceed it.
    pub(crate) fn out_of_memory(&self, more: usize) -> Option<Bound> {
        let locations = self.graph.locations.len() * size_of::<Location>();
        let most = self.limits.memory_bytes;
        let is_out = self.heap.bytes.saturating_add(locations).saturating_add(more) > most;
        is_out.then_some(Bound::Memory(most))
    }

    /// Records a use of whatever is at `address`.
    pub(crate) fn touch(
        &mut self,
        thread: usize,
        address: usize,
        site: &'static Site<'static>,
    ) -> Option<Failure> {
        let events = self.threads[thread].executed;
        let block = self.heap.around(address)?;
        block.uses.retain(|earlier| earlier.thread != thread);
        let access = Access { thread, events, site, what: "uses" };
        block.uses.push(access);
        let (made, freed) = (block.made, block.freed?);
        let after = freed.is_known(self, thread);
        self.clash = Some(clash(made, freed, access));
        Some(Failure::UseAfterFree { thread, site, made, freed: freed.site, after })
    }

    fn frees(&self, thread: usize, site: &'static Site<'static>) -> Access {
        Access { thread, events: self.threads[thread].executed, site, what: "frees" }
    }

    /// Begins to free the block at `address`. `None`: there is no such block.
    fn claim(
        &mut self,
        thread: usize,
        address: usize,
        site: &'static Site<'static>,
    ) -> Option<Result<(), Failure>> {
        let access = self.frees(thread, site);
        if self.heap.claim(address, access)? {
            return Some(Ok(()));
        }
        let block = &self.heap.blocks[&address];
        let (made, freed) = (block.made, block.claimed?);
        self.clash = Some(clash(made, freed, access));
        Some(Err(Failure::DoubleFree { thread, site, made, freed: freed.site }))
    }

    /// Frees the block at `address`, which `thread` has claimed.
    fn free(
        &mut self,
        thread: usize,
        address: usize,
        site: &'static Site<'static>,
    ) -> Option<Failure> {
        let access = self.frees(thread, site);
        self.heap.free(address, access);
        let Block { made, uses, .. } = &self.heap.blocks[&address];
        let (made, earlier) = (*made, *uses.iter().find(|use_| !use_.is_known(self, thread))?);
        self.clash = Some(clash(made, earlier, access));
        let (thread, used) = (earlier.thread, earlier.site);
        Some(Failure::UseAfterFree { thread, site: used, made, freed: site, after: false })
    }
}

/// Two accesses to the block allocated at `made`.
fn clash(made: &Site<'_>, earlier: Access, later: Access) -> Clash {
    Clash { of: format!("memory of {}", trace::place(made)), accesses: [earlier, later] }
}

/// Records a use of the memory at `address`; an invalid one ends the run.
pub(crate) fn touch(address: usize, site: &'static Site<'static>) {
    let wrong = runtime::with_core(|core, thread| core.touch(thread, address, site));
    if let Some(Some(failure)) = wrong {
        runtime::fail(failure);
    }
}

/// Requires that the object at `address`, whose memory is not the heap's, is ended by [`unwatch`].
pub(crate) fn watch(address: usize, site: &'static Site<'static>) {
    runtime::with_core(|core, _| core.heap.watched.insert(address, site));
}

pub(crate) fn unwatch(address: usize) {
    runtime::with_core(|core, _| core.heap.watched.remove(&address));
}

/// What releases a value's memory, and whether the value must still be dropped.
#[derive(PartialEq)]
enum Free {
    /// The heap, once the caller has dropped the value and calls [`free`].
    First,
    /// Freed before, or its execution is over: there is nothing to do.
    Done,
    /// Not the checker's memory.
    Foreign,
}

fn claim(address: usize, site: &'static Site<'static>) -> Free {
    match runtime::with_core(|core, thread| core.claim(thread, address, site)) {
        Some(Some(Ok(()))) => Free::First,
        Some(Some(Err(failure))) => runtime::fail(failure),
        Some(None) => Free::Foreign,
        // The thread is unwinding.
        None => {
            match runtime::ended(|core, thread| core.heap.claim(address, core.frees(thread, site)))
            {
                Some(Some(true)) => Free::First,
                Some(Some(false)) => Free::Done,
                Some(None) | None => Free::Foreign,
            }
        }
    }
}

/// Frees what the caller has claimed.
fn free(address: usize, site: &'static Site<'static>) {
    match runtime::with_core(|core, thread| core.free(thread, address, site)) {
        Some(Some(failure)) => runtime::fail(failure),
        Some(None) => {}
        None => {
            _ = runtime::ended(|core, thread| core.heap.free(address, core.frees(thread, site)))
        }
    }
}

/// Frees what the caller has claimed, when it has dropped the value, or that has ended in a panic.
struct Freeing(usize, &'static Site<'static>);

impl Drop for Freeing {
    fn drop(&mut self) {
        free(self.0, self.1);
    }
}

/// Stands in for `std::alloc::alloc`. Panics if there is no memory.
///
/// # Safety
/// As for `std::alloc::alloc`: the size of the layout is not zero.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    if let Some(Some(bound)) = runtime::with_core(|core, _| core.out_of_memory(layout.size())) {
        runtime::cut(bound);
    }
    // SAFETY: the size is not zero (caller); `Box` ensures that (H1).
    let memory = unsafe { std::alloc::alloc(layout) };
    assert!(!memory.is_null(), "no memory");
    let site = Site::caller();
    runtime::with_core(|core, thread| {
        core.heap.add(thread, memory.expose_provenance(), layout, site)
    });
    memory
}

/// Stands in for `std::alloc::dealloc`.
///
/// # Safety
/// As for `std::alloc::dealloc`, but inside an exploration a double free is allowed: it is reported.
#[track_caller]
pub unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    let site = Site::caller();
    match claim(memory.addr(), site) {
        Free::First => free(memory.addr(), site),
        Free::Done => {}
        // SAFETY: not of the heap (H1), so the caller's contract with `std` holds.
        Free::Foreign => unsafe { std::alloc::dealloc(memory, layout) },
    }
}

/// Stands in for `std::boxed::Box`, in memory that the checker watches. The reported place of a free is where the box
/// that frees was created or taken back.
///
/// ```
/// use uncontended_model::real::{Box, Explorer, Failure, Memory};
///
/// let report = Explorer::new(Memory::C11).explore(|| {
///     Box::into_raw(Box::new(7));
/// });
/// let report = report.unwrap();
/// assert!(matches!(report.violation().unwrap().failure, Failure::Leak { .. }));
/// ```
pub struct Box<T> {
    value: NonNull<T>,
    /// The run in which it was created or taken back: after it the value is not touched.
    epoch: u32,
    /// Where that was: a drop does not know its own place.
    site: &'static Site<'static>,
}

// SAFETY: it owns its value, as `std`'s does (H2).
unsafe impl<T: Send> Send for Box<T> {}
// SAFETY: a shared box gives shared references alone (H2).
unsafe impl<T: Sync> Sync for Box<T> {}

impl<T> Box<T> {
    const LAYOUT: Layout = {
        let layout = Layout::new::<T>();
        let size = if layout.size() == 0 { 1 } else { layout.size() };
        match Layout::from_size_align(size, layout.align()) {
            Ok(layout) => layout,
            Err(_) => panic!("the layout of a type is one"),
        }
    };

    /// Allocates memory and moves `value` into it.
    #[track_caller]
    pub fn new(value: T) -> Box<T> {
        // SAFETY: the size of `LAYOUT` is not zero (H1).
        let memory = unsafe { alloc(Self::LAYOUT) }.cast::<T>();
        // SAFETY: fresh memory of the value's layout (H1).
        unsafe { memory.write(value) };
        let value = NonNull::new(memory).expect("alloc gives memory");
        Box { value, epoch: runtime::epoch(), site: Site::caller() }
    }

    /// Releases ownership as a pointer, to be freed through [`Box::from_raw`].
    pub fn into_raw(this: Box<T>) -> *mut T {
        let this = std::mem::ManuallyDrop::new(this);
        this.value.as_ptr()
    }

    /// Takes ownership back.
    ///
    /// # Safety
    /// `value` comes from [`Box::into_raw`]. Inside an exploration it may have been freed since: that is reported.
    #[track_caller]
    pub unsafe fn from_raw(value: *mut T) -> Box<T> {
        let value = NonNull::new(value).expect("a pointer that `into_raw` gave");
        Box { value, epoch: runtime::epoch(), site: Site::caller() }
    }

    /// Takes the value out and frees the memory.
    #[track_caller]
    pub fn into_inner(this: Box<T>) -> T {
        let site = Site::caller();
        touch(this.value.as_ptr().addr(), site);
        let pointer = Box::into_raw(this);
        // SAFETY: the value is alive: freed memory would have ended the run above (H2), and nothing drops it after
        // this.
        let value = unsafe { pointer.read() };
        // SAFETY: the memory is ours, with this layout (H1).
        unsafe { dealloc(pointer.cast(), Self::LAYOUT) };
        value
    }
}

impl<T> Deref for Box<T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        touch(self.value.as_ptr().addr(), Site::caller());
        // SAFETY: owned, and its memory stays mapped while the execution runs (H1).
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for Box<T> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        touch(self.value.as_ptr().addr(), Site::caller());
        // SAFETY: owned, and its memory stays mapped while the execution runs (H1).
        unsafe { self.value.as_mut() }
    }
}

impl<T> Drop for Box<T> {
    fn drop(&mut self) {
        if self.epoch != 0 && runtime::epoch() != self.epoch {
            return; // Its execution is over, and its memory gone (H1).
        }
        let address = self.value.as_ptr().addr();
        let claimed = claim(address, self.site);
        if claimed == Free::Done {
            return;
        }
        let freeing = (claimed == Free::First).then(|| Freeing(address, self.site));
        // SAFETY: only this thread has claimed the value (H2).
        unsafe { self.value.as_ptr().drop_in_place() };
        drop(freeing);
        if claimed == Free::Foreign {
            // SAFETY: from `alloc` with this layout, and not the heap's (H1).
            unsafe { std::alloc::dealloc(self.value.as_ptr().cast(), Self::LAYOUT) };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Box<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
