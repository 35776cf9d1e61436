//! Rings in memory that the caller provides, mapped by one process or by several.
//!
//! # Contract
//! [`create`] lays out a ring in memory. [`attach`] accepts it after checking its header: the kind of ring, layout,
//! element and capacity. The resulting [`Shared`] hands out the two roles, each to one holder in any process. They are
//! the usual [`Producer`] and [`Consumer`], polling or sleeping.
//!
//! A holder that dies without giving up its role (killed, say) is reported by [`Shared::producer_holder`] and
//! [`Shared::consumer_holder`] ([`role`](uncontended_wait::role) explains how), and its role can be taken over. Both
//! are up to the caller. A new producer continues after the last published value; a new consumer pops again what was
//! not given back. To close a dead side, take over its role and drop it.
//!
//! No thread sleeps forever because a process died while waking it: taking over a role wakes all sleepers, and until
//! then each checks again after [`LONGEST_SHARED_SLEEP`](uncontended_wait::LONGEST_SHARED_SLEEP). To detect a death
//! without taking over, wait with a deadline and ask for the holder.
//!
//! A side belongs to the process that made it. The copy that a fork leaves in a child changes nothing when it is
//! dropped, and must not be used.
//!
//! # Trust
//! A [`Batch`](super::Batch) and a [`Claim`](super::Claim) are borrowed from memory that other processes map, too, and
//! safe code relies on its values not to change meanwhile. So the caller of `create` or `attach` promises that the
//! other processes write to the memory only through this library.
//!
//! For other processes that are not trusted, there are the calls that copy values in and out before they return:
//! `push`, `push_slice`, `pop`, `pop_slice`, and the same with `_wait`, `_deadline`, `_timeout` and `_async`. They
//! access nothing outside the memory, whatever another process writes: positions are masked, and after `attach` this
//! process uses its own copy of the capacity and the offsets. Values are [`Plain`], so any bytes are a valid value.
//! Batches and claims are not for such memory; neither is a mapping that another process can make shorter
//! (`ftruncate`; seal a memfd).
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32 | element size u64 | element alignment u64 | capacity u64
//! 40   producer u64 | consumer u64      holder of the role: 0 not yet held, all ones given up, else process and start
//! 128  tail | 256  head | 384  sleepers for values, consumer gone u32 | 512  sleepers for room
//! 640  slots, from the next multiple of the element's alignment on
//! ```
//! All in native byte order: this is memory, not a file.
//! I1: as long as its keeper lives, the memory is mapped, aligned, and large enough for the layout.
//!
//! # Edges
//! made: the edge of the stamp (`given`).
//!
//! # Evidence
//! Tests in `spsc`; tests/processes.rs; tests/killed.rs; fuzz/fuzz_targets/ring_header.rs.

pub use crate::given::{AttachError, RoleError};
pub use uncontended_wait::role::Holder;

use super::{Consumer, Control, Keeper, Place, Producer};
use crate::Plain;
use crate::given::{Held, Kind, Stamp};
use crate::notifier::Listeners;
use crate::position::{Cursor, Position};
use crate::slots::{Slot, slots_for};
use crate::view::View;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_atomic::{Arc, AtomicU64, Scope};
use uncontended_wait::Sleepers;
use uncontended_wait::role::Role;

#[repr(C)]
struct Header {
    stamp: Stamp,
    element_size: AtomicU64,
    element_align: AtomicU64,
    capacity: AtomicU64,
    producer: Role,
    consumer: Role,
}

#[repr(C, align(128))]
struct Memory {
    header: Header,
    control: ControlBlock,
}

#[repr(C, align(128))]
struct ControlBlock(Control<Sleepers>);

const _: () = assert!(size_of::<Memory>() == 640 && std::mem::offset_of!(Memory, control) == 128);
const _: () = assert!(std::mem::offset_of!(Header, producer) == 40);

/// The bytes of memory that a ring needs.
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the address space.
pub const fn bytes_for<T: Plain>(capacity: usize) -> Result<usize, crate::CapacityError> {
    match slots_for(capacity) {
        Err(error) => Err(error),
        Ok(slots) => match size_of::<T>().checked_mul(slots) {
            Some(bytes) if bytes <= isize::MAX as usize - slots_at::<T>() => {
                Ok(slots_at::<T>() + bytes)
            }
            _ => Err(crate::CapacityError::TooLarge),
        },
    }
}

/// The alignment that the memory needs; pages always have it.
pub const fn align_for<T: Plain>() -> usize {
    if align_of::<T>() > align_of::<Memory>() { align_of::<T>() } else { align_of::<Memory>() }
}

const fn slots_at<T>() -> usize {
    size_of::<Memory>().next_multiple_of(align_of::<T>())
}

/// Lays out an empty ring for at most `capacity` values in the `bytes` bytes at `base`, and attaches to it. `keep` is
/// dropped together with the last handle made from the result: pass what unmaps the memory then, or `()`.
///
/// # Errors
/// The memory is too small or not aligned, or the capacity is impossible.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped. It is not in use as a ring yet, and is never used as
/// anything else: all processes write to it only through this library. If others may break that rule, this process uses
/// only the calls that copy ([Trust](self#trust)).
pub unsafe fn create<T: Plain>(
    base: NonNull<u8>,
    bytes: usize,
    capacity: usize,
    keep: impl Send + Sync + 'static,
) -> Result<Shared<T>, AttachError> {
    check_memory::<T>(base, bytes, capacity)?;
    let start = Position::new(0);
    let memory = base.cast::<Memory>();
    let made = Memory {
        header: Header {
            stamp: Stamp::unset(Kind::Spsc),
            element_size: AtomicU64::new(size_of::<T>() as u64),
            element_align: AtomicU64::new(align_of::<T>() as u64),
            capacity: AtomicU64::new(capacity as u64),
            producer: Role::new(),
            consumer: Role::new(),
        },
        control: ControlBlock(Control {
            tail: uncontended_atomic::CachePadded::new(Cursor::new("tail", start)),
            head: uncontended_atomic::CachePadded::new(Cursor::new("head", start)),
            values: uncontended_atomic::CachePadded::new(Listeners::at(Sleepers::shared())),
            room: uncontended_atomic::CachePadded::new(Sleepers::shared()),
        }),
    };
    // SAFETY: the memory is large enough and aligned, as checked above, and the caller provides it for this (I1).
    unsafe { memory.write(made) };
    // SAFETY: as for the write (I1); from now on only shared references to it exist.
    let header = unsafe { &memory.as_ref().header };
    header.stamp.set();
    Ok(Shared::new(memory, capacity, keep))
}

/// Attaches to the ring in the `bytes` bytes at `base`. `keep` is dropped together with the last handle made from the
/// result.
///
/// # Errors
/// The memory holds no ring, a ring for another type than `T` or of another layout, or one that exceeds the memory.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped, and is used only as a ring: all processes write to it
/// only through this library. If others may break that rule, this process uses only the calls that copy
/// ([Trust](self#trust)).
pub unsafe fn attach<T: Plain>(
    base: NonNull<u8>,
    bytes: usize,
    keep: impl Send + Sync + 'static,
) -> Result<Shared<T>, AttachError> {
    check_memory::<T>(base, bytes, 1)?;
    let memory = base.cast::<Memory>();
    // SAFETY: the memory is large enough and aligned, as checked above; any bytes are a valid header; and all accesses
    // are atomic (I1).
    let header = unsafe { &memory.as_ref().header };
    header.stamp.check(Kind::Spsc)?;
    let (size, align) = (header.element_size.load(Relaxed), header.element_align.load(Relaxed));
    if (size, align) != (size_of::<T>() as u64, align_of::<T>() as u64) {
        return Err(AttachError::Element { size, align });
    }
    let capacity = usize::try_from(header.capacity.load(Relaxed)).unwrap_or(usize::MAX);
    check_memory::<T>(base, bytes, capacity)?;
    let shared = Shared::new(memory, capacity, keep);
    shared.check_positions()?;
    Ok(shared)
}

/// Checks that the memory can hold a ring of this capacity.
fn check_memory<T: Plain>(
    base: NonNull<u8>,
    bytes: usize,
    capacity: usize,
) -> Result<(), AttachError> {
    let needed = bytes_for::<T>(capacity).map_err(AttachError::Capacity)?;
    crate::given::check_memory(base, bytes, needed, align_for::<T>())
}

/// This process's attachment to a ring in provided memory.
pub struct Shared<T: Plain> {
    memory: NonNull<Memory>,
    capacity: usize,
    keep: Arc<dyn Send + Sync>,
    elements: PhantomData<T>,
}

// SAFETY: all accesses to the memory are atomic, except to slots, whose values may move between threads. The memory
// lives as long as `keep`, which may move too (I1).
unsafe impl<T: Plain> Send for Shared<T> {}
// SAFETY: as for `Send` (I1).
unsafe impl<T: Plain> Sync for Shared<T> {}

impl<T: Plain> Shared<T> {
    fn new(
        memory: NonNull<Memory>,
        capacity: usize,
        keep: impl Send + Sync + 'static,
    ) -> Shared<T> {
        let shared = Shared { memory, capacity, keep: Arc::new(keep), elements: PhantomData };
        let control = shared.control();
        // If the kernel refuses the fence that reaches other processes, sleepers use bounded sleeps.
        let _ = control.values.attach();
        let _ = control.room.attach();
        shared
    }

    fn header(&self) -> &Header {
        // SAFETY: the memory lives as long as `keep` (I1).
        unsafe { &self.memory.as_ref().header }
    }

    fn control(&self) -> &Control<Sleepers> {
        // SAFETY: as for the header (I1).
        unsafe { &self.memory.as_ref().control.0 }
    }

    /// Loads both positions, `tail` and `head`, and checks that they are consistent. Other processes may move both in
    /// the meantime: if `head` is the same before and after the load of `tail`, the pair existed at one time. If `head`
    /// moved at every try, a consumer is making progress with them.
    fn check_positions(&self) -> Result<(Position, Position), AttachError> {
        const TRIES: usize = 8;
        let control = self.control();
        let mut found = (Position::new(0), Position::new(0));
        for _ in 0..TRIES {
            // EDGE vacate (acquire): the slots before `head` have been read; for a producer that succeeds another.
            let head = control.head.load(Acquire).position();
            // EDGE publish (acquire): the values; and orders this load before the second load of `head`.
            let tail = control.tail.load(Acquire).position();
            found = (tail, head);
            if control.head.load(Relaxed).position() == head {
                let can_be = tail.since(head) <= self.capacity as u64;
                return if can_be { Ok(found) } else { Err(AttachError::Corrupt) };
            }
        }
        Ok(found)
    }

    /// Claims the producer's role.
    ///
    /// # Errors
    /// Another holder has the role, died holding it, or gave it up, which closed the ring.
    pub fn producer(&self) -> Result<Producer<T, Sleepers>, RoleError> {
        self.header().producer.claim(Scope::Shared)?;
        self.make_producer()
    }

    /// Takes over the producer's role from a holder that died.
    ///
    /// # Errors
    /// A living holder has the role, or it was given up. A role that was never held is claimed.
    pub fn take_over_producer(&self) -> Result<Producer<T, Sleepers>, RoleError> {
        self.take_over(&self.header().producer)?;
        self.make_producer()
    }

    fn make_producer(&self) -> Result<Producer<T, Sleepers>, RoleError> {
        let role = self.held(&self.header().producer);
        let control = self.control();
        if control.tail.load(Relaxed).is_gone() {
            return Err(RoleError::GivenUp);
        }
        let (tail, head) = self.check_positions().map_err(|_| RoleError::Corrupt)?;
        // SAFETY: this process holds the role, which keeps the memory (I1); the positions were loaded just now.
        Ok(unsafe { Producer::new(self.place(), tail, head, Keeper::Given(role)) })
    }

    /// Claims the consumer's role.
    ///
    /// # Errors
    /// Another holder has the role, died holding it, or gave it up, which closed the ring.
    pub fn consumer(&self) -> Result<Consumer<T, Sleepers>, RoleError> {
        self.header().consumer.claim(Scope::Shared)?;
        self.make_consumer()
    }

    /// Takes over the consumer's role from a holder that died.
    ///
    /// # Errors
    /// A living holder has the role, or it was given up. A role that was never held is claimed.
    pub fn take_over_consumer(&self) -> Result<Consumer<T, Sleepers>, RoleError> {
        self.take_over(&self.header().consumer)?;
        self.make_consumer()
    }

    fn make_consumer(&self) -> Result<Consumer<T, Sleepers>, RoleError> {
        let role = self.held(&self.header().consumer);
        // Check the flag first: a consumer that died after setting it had begun to close.
        if self.control().values.have_gone() {
            return Err(RoleError::GivenUp);
        }
        let (_, head) = self.check_positions().map_err(|_| RoleError::Corrupt)?;
        // SAFETY: as for the producer (I1).
        Ok(unsafe { Consumer::new(self.place(), head, Keeper::Given(role)) })
    }

    /// The holder of the producer's role.
    pub fn producer_holder(&self) -> Holder {
        self.header().producer.holder()
    }

    /// The holder of the consumer's role.
    pub fn consumer_holder(&self) -> Holder {
        self.header().consumer.holder()
    }

    /// Takes over a role, and wakes all sleepers: the dead holder may have been about to wake them.
    fn take_over(&self, role: &Role) -> Result<(), RoleError> {
        role.take_over(Scope::Shared)?;
        self.control().values.wake_after_a_death();
        self.control().room.wake_after_a_death();
        Ok(())
    }

    fn held(&self, role: &Role) -> Held {
        // SAFETY: the role lies in the memory that `keep` keeps (I1).
        unsafe { Held::new(NonNull::from(role), Arc::clone(&self.keep)) }
    }

    fn place(&self) -> Place<T, Sleepers> {
        let slots = slots_for(self.capacity).expect("`create` or `attach` checked the capacity");
        // SAFETY: the slots follow the header, and the memory has room for them (I1).
        let base = unsafe { self.memory.cast::<u8>().add(slots_at::<T>()) };
        // SAFETY: `base` is aligned for slots, any bytes are a valid slot, and they live as long as `keep` (I1).
        let view = unsafe { View::new(base.cast::<Slot<T>>(), slots) };
        Place {
            control: NonNull::from(self.control()),
            slots: view,
            capacity: self.capacity as u64,
        }
    }

    /// The capacity, in values.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T: Plain> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
