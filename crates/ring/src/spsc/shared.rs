//! Rings in memory that the caller gives: mapped by several processes, or by one.
//!
//! # Contract
//! [`create`] lays a ring out in memory, [`attach`] finds it there and checks all that its header says: what kind of
//! ring it is, of what layout, for which element and capacity. A [`Shared`] then gives out the two roles, each to one
//! holder in any process. They are the usual [`Producer`] and [`Consumer`], polling or sleeping.
//!
//! A holder that dies without giving its role up (killed, say) can be found out ([`Shared::producer_holder`],
//! [`Shared::consumer_holder`]; how, says [`role`](uncontended_wait::role)), and its role taken over; nothing of that
//! happens by itself. A producer's successor goes on after what was published; a consumer's pops again what was not
//! given back. To close for one who died: take its role over and drop it.
//!
//! Nobody sleeps for ever because a process died in the middle of waking it: who takes over wakes all, and until then a
//! sleeper looks again by itself after [`LONGEST_SHARED_SLEEP`](uncontended_wait::LONGEST_SHARED_SLEEP). To hear of a
//! death nobody has to follow, wait to a deadline and ask.
//!
//! Whatever another process writes there, nothing outside of the memory is touched: positions are masked, and capacity
//! and offsets are this process's own after `attach`. Values are [`Plain`], so that any bytes are one; whether they are
//! what was pushed is up to the other processes' following the same rules.
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32 | element size u64 | element alignment u64 | capacity u64
//! 40   producer u64 | consumer u64      who holds the role: 0 nobody yet, all ones given up, else process and start
//! 128  tail | 256  head | 384  sleepers for values, consumer gone u32 | 512  sleepers for room
//! 640  slots, from the next multiple of the element's alignment on
//! ```
//! All in the machine's own byte order: it is memory, not a file.
//! I1: the memory is there, aligned, and large enough for the layout, as long as its keeper.
//!
//! # Edges
//! made: that of the stamp (`given`).
//!
//! # Evidence
//! Tests in `spsc`; tests/processes.rs; tests/killed.rs; fuzz/fuzz_targets/ring_header.rs.

pub use crate::given::{AttachError, RoleError};

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
use uncontended_wait::role::{Holder, Role};

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

/// How many bytes a ring takes in memory.
///
/// # Errors
/// Zero, or more than [`MAX_CAPACITY`](crate::MAX_CAPACITY) or than can be addressed.
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

/// To what the memory has to be aligned; pages always are.
pub const fn align_for<T: Plain>() -> usize {
    if align_of::<T>() > align_of::<Memory>() { align_of::<T>() } else { align_of::<Memory>() }
}

const fn slots_at<T>() -> usize {
    size_of::<Memory>().next_multiple_of(align_of::<T>())
}

/// Lays out an empty ring for at most `capacity` values in the `bytes` bytes at `base`, and attaches to it. `keep` is
/// dropped when the last that was made of it is: what unmaps the memory, say.
///
/// # Errors
/// The memory is too small or not aligned, or the capacity cannot be.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped, and nobody uses it as a ring yet, nor as anything else
/// ever.
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
    // SAFETY: the memory is large enough and aligned, as was checked, and the caller's to give (I1).
    unsafe { memory.write(made) };
    // SAFETY: as for the write (I1); from now on it is reached by shared references only.
    let header = unsafe { &memory.as_ref().header };
    header.stamp.set();
    Ok(Shared::new(memory, capacity, keep))
}

/// Attaches to the ring in the `bytes` bytes at `base`. `keep` is dropped when the last that was made of it is.
///
/// # Errors
/// There is no ring, or not one for `T`, or one of another layout, or it does not fit into the memory.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped, and is used by nobody but as a ring.
pub unsafe fn attach<T: Plain>(
    base: NonNull<u8>,
    bytes: usize,
    keep: impl Send + Sync + 'static,
) -> Result<Shared<T>, AttachError> {
    check_memory::<T>(base, bytes, 1)?;
    let memory = base.cast::<Memory>();
    // SAFETY: it is large enough and aligned, as was checked, any bytes are a header, and it is reached by atomics only
    // (I1).
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

/// Whether a ring can be there.
fn check_memory<T: Plain>(
    base: NonNull<u8>,
    bytes: usize,
    capacity: usize,
) -> Result<(), AttachError> {
    let needed = bytes_for::<T>(capacity).map_err(AttachError::Capacity)?;
    crate::given::check_memory(base, bytes, needed, align_for::<T>())
}

/// A ring in given memory, as this process has attached to it.
pub struct Shared<T: Plain> {
    memory: NonNull<Memory>,
    capacity: usize,
    keep: Arc<dyn Send + Sync>,
    elements: PhantomData<T>,
}

// SAFETY: the memory is reached by atomics alone, except for slots, whose values may move between threads; and it is
// there as long as `keep`, which may too (I1).
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
        // Where the fence that reaches other processes is refused, sleepers wake up by themselves now and then.
        let _ = control.values.attach();
        let _ = control.room.attach();
        shared
    }

    fn header(&self) -> &Header {
        // SAFETY: the memory is there as long as `keep` (I1).
        unsafe { &self.memory.as_ref().header }
    }

    fn control(&self) -> &Control<Sleepers> {
        // SAFETY: as for the header (I1).
        unsafe { &self.memory.as_ref().control.0 }
    }

    /// Where producer and consumer stand, and that they can. While others run, both go on: if `head` has not moved
    /// around the look at `tail`, the two were so at one time; if it always has, somebody gets on with them.
    fn check_positions(&self) -> Result<(Position, Position), AttachError> {
        const TRIES: usize = 8;
        let control = self.control();
        let mut found = (Position::new(0), Position::new(0));
        for _ in 0..TRIES {
            // EDGE vacate (acquire): slots before have been read, for a producer that comes after another.
            let head = control.head.load(Acquire).position();
            // EDGE publish (acquire): and before the second look at `head`.
            let tail = control.tail.load(Acquire).position();
            found = (tail, head);
            if control.head.load(Relaxed).position() == head {
                let can_be = tail.since(head) <= self.capacity as u64;
                return if can_be { Ok(found) } else { Err(AttachError::Corrupt) };
            }
        }
        Ok(found)
    }

    /// Takes the producer's role.
    ///
    /// # Errors
    /// Somebody holds it, or died with it, or has given it up, which closed the ring.
    pub fn producer(&self) -> Result<Producer<T, Sleepers>, RoleError> {
        self.header().producer.claim(Scope::Shared)?;
        self.make_producer()
    }

    /// Takes the producer's role over from who died with it.
    ///
    /// # Errors
    /// Somebody lives who holds it, or it has been given up. One that nobody holds is taken.
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
        // SAFETY: the role is this one's, and keeps the memory (I1); the positions were read just now.
        Ok(unsafe { Producer::new(self.place(), tail, head, Keeper::Given(role)) })
    }

    /// Takes the consumer's role.
    ///
    /// # Errors
    /// Somebody holds it, or died with it, or has given it up, which closed the ring.
    pub fn consumer(&self) -> Result<Consumer<T, Sleepers>, RoleError> {
        self.header().consumer.claim(Scope::Shared)?;
        self.make_consumer()
    }

    /// Takes the consumer's role over from who died with it.
    ///
    /// # Errors
    /// Somebody lives who holds it, or it has been given up. One that nobody holds is taken.
    pub fn take_over_consumer(&self) -> Result<Consumer<T, Sleepers>, RoleError> {
        self.take_over(&self.header().consumer)?;
        self.make_consumer()
    }

    fn make_consumer(&self) -> Result<Consumer<T, Sleepers>, RoleError> {
        let role = self.held(&self.header().consumer);
        // The flag comes first: who died after it had begun to close.
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

    /// Takes a role over, and wakes whom the dead may have been about to wake.
    fn take_over(&self, role: &Role) -> Result<(), RoleError> {
        role.take_over(Scope::Shared)?;
        self.control().values.wake_after_a_death();
        self.control().room.wake_after_a_death();
        Ok(())
    }

    fn held(&self, role: &Role) -> Held {
        // SAFETY: the role is in the memory that `keep` keeps (I1).
        unsafe { Held::new(NonNull::from(role), Arc::clone(&self.keep)) }
    }

    fn place(&self) -> Place<T, Sleepers> {
        let slots = slots_for(self.capacity).expect("it was checked when the ring was found");
        // SAFETY: there is room for so many behind the header (I1).
        let base = unsafe { self.memory.cast::<u8>().add(slots_at::<T>()) };
        // SAFETY: `base` is aligned for slots, any bytes are one, and they are there as long as `keep` (I1).
        let view = unsafe { View::new(base.cast::<Slot<T>>(), slots) };
        Place {
            control: NonNull::from(self.control()),
            slots: view,
            capacity: self.capacity as u64,
        }
    }

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T: Plain> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
