//! Byte records from many producers to one consumer, in memory that the caller provides, mapped by one process or by
//! several.
//!
//! # Contract
//! [`create`] lays out a ring, and [`attach`] accepts it after checking its header. A [`Shared`] hands out any number
//! of producers, and the consumer's role to one holder in any process. They are the sides of [`mpsc`](super::mpsc),
//! polling or sleeping. The ring is open until a process calls [`Shared::close`]; after that, the consumer gets
//! [`RecordError::Closed`](super::RecordError) once no producer is left.
//!
//! A producer that dies in a claim blocks the consumer until the consumer calls
//! [`unblock`](super::mpsc::Consumer::unblock). A producer that dies outside a claim matters only at the end: it still
//! counts as a producer, so the ring does not close. The role of a consumer that died can be taken over. The new
//! consumer reads again what was not released, and must call `unblock` first: the dead one may have been in the middle
//! of giving room back. No thread sleeps forever because a process died while waking it: taking over the role wakes all
//! sleepers, and each checks again after [`LONGEST_SHARED_SLEEP`](uncontended_wait::LONGEST_SHARED_SLEEP) in any case.
//!
//! A side belongs to the process that made it. The copy that a fork leaves in a child changes nothing when it is
//! dropped, and must not be used for anything but to clone a producer.
//!
//! # Trust
//! A record and a chunk are borrowed as slices of memory that other processes map, too, and safe code relies on them
//! not to change meanwhile: another process that writes to a record while it is read can make the reader access memory
//! outside it. So the caller of `create` or `attach` promises that the other processes write to the memory only through
//! this library.
//!
//! For other processes that are not trusted, there are the calls that borrow nothing:
//! [`Record::to_vec`](super::Record::to_vec) and [`copy_into`](super::Record::copy_into), which copy by atomic loads,
//! and [`push`](super::mpsc::Producer::push). They access nothing outside the memory, whatever another process writes:
//! positions are masked, after `attach` this process uses its own copy of the size, and a record that would exceed the
//! end is [`RecordError::Corrupt`](super::RecordError). What they copy may be anything. The slices of records and
//! chunks, and [`Bytes`](super::Bytes), are not for such memory; neither is a mapping that another process can make
//! shorter (`ftruncate`; seal a memfd).
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32 | words u64 | consumer u64: holder of the role
//! 128  tail | 256  head | 384  sleepers for records, consumer gone u32 | 512  sleepers for room
//! 640  producers, and whether open
//! 768  words
//! ```
//! All in native byte order: this is memory, not a file.
//! I1: as long as its keeper lives, the memory is mapped, aligned, and large enough for the layout.
//! I2: the consumer's role lies in that memory, which the ring keeps.
//!
//! # Edges
//! made: the edge of the stamp (`given`).
//!
//! # Evidence
//! Tests in `records`; fuzz/fuzz_targets/records.rs.

use super::door::{Door, Living};
use super::mpsc::{Consumer, Control, Producer, Ring};
use super::words::{Words, count_for};
use crate::CapacityError;
pub use crate::given::{AttachError, RoleError};
use crate::given::{Held, Kind, Stamp};
use crate::notifier::Listeners;
use crate::position::{Cursor, Position};
use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicU64, Scope};
use uncontended_wait::Sleepers;
pub use uncontended_wait::role::Holder;
use uncontended_wait::role::Role;

#[repr(C)]
struct Header {
    stamp: Stamp,
    words: AtomicU64,
    consumer: Role,
}

#[repr(C, align(128))]
struct Memory {
    header: Header,
    control: Aligned,
}

#[repr(C, align(128))]
struct Aligned(Control<Sleepers>);

const _: () = assert!(size_of::<Memory>() == 768 && std::mem::offset_of!(Memory, control) == 128);

/// The alignment that the memory needs; pages always have it.
pub const ALIGN: usize = align_of::<Memory>();

/// The bytes of memory that a ring of at least `capacity` bytes needs.
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY).
pub const fn bytes_for(capacity: usize) -> Result<usize, CapacityError> {
    match count_for(capacity) {
        Ok(words) => Ok(size_of::<Memory>() + words * size_of::<u64>()),
        Err(error) => Err(error),
    }
}

/// Lays out an empty ring of at least `capacity` bytes in the `bytes` bytes at `base`, and attaches to it. `keep` is
/// dropped together with the last handle made from the result: pass what unmaps the memory then, or `()`.
///
/// # Errors
/// The memory is too small or not aligned, or the capacity is impossible.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped. It is not in use as a ring yet, and is never used as
/// anything else: all processes write to it only through this library. If others may break that rule, this process uses
/// only the calls that borrow nothing ([Trust](self#trust)).
pub unsafe fn create(
    base: NonNull<u8>,
    bytes: usize,
    capacity: usize,
    keep: impl Send + Sync + 'static,
) -> Result<Shared, AttachError> {
    check_memory(base, bytes, capacity)?;
    let words = count_for(capacity).map_err(AttachError::Capacity)?;
    let memory = base.cast::<Memory>();
    let made = Memory {
        header: Header {
            stamp: Stamp::unset(Kind::Records),
            words: AtomicU64::new(words as u64),
            consumer: Role::new(),
        },
        control: Aligned(Control {
            tail: CachePadded::new(Cursor::new("tail", Position::new(0))),
            head: CachePadded::new(Cursor::new("head", Position::new(0))),
            values: CachePadded::new(Listeners::at(Sleepers::shared())),
            room: CachePadded::new(Sleepers::shared()),
            living: CachePadded::new(Living::open()),
        }),
    };
    // SAFETY: the memory is large enough and aligned, as checked above, and the caller provides it for this (I1).
    unsafe { memory.write(made) };
    // SAFETY: the words follow the header, and the size was checked above (I1).
    unsafe { words_of(memory).cast::<u64>().write_bytes(0, words) };
    // SAFETY: as for the write (I1); from now on only shared references to it exist.
    let header = unsafe { &memory.as_ref().header };
    header.stamp.set();
    Ok(Shared::new(memory, words, keep))
}

/// Attaches to the ring in the `bytes` bytes at `base`. `keep` is dropped together with the last handle made from the
/// result.
///
/// # Errors
/// The memory holds no ring, a ring of another kind or layout, or one that exceeds the memory.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped, and is used only as a ring: all processes write to it
/// only through this library. If others may break that rule, this process uses only the calls that borrow nothing
/// ([Trust](self#trust)).
pub unsafe fn attach(
    base: NonNull<u8>,
    bytes: usize,
    keep: impl Send + Sync + 'static,
) -> Result<Shared, AttachError> {
    check_memory(base, bytes, 1)?;
    let memory = base.cast::<Memory>();
    // SAFETY: the memory is large enough and aligned, as checked above; any bytes are a valid header; and all accesses
    // are atomic (I1).
    let header = unsafe { &memory.as_ref().header };
    header.stamp.check(Kind::Records)?;
    let words = usize::try_from(header.words.load(Relaxed)).unwrap_or(usize::MAX);
    let capacity = words.saturating_mul(size_of::<u64>());
    if count_for(capacity) != Ok(words) {
        return Err(AttachError::Corrupt);
    }
    check_memory(base, bytes, capacity)?;
    Ok(Shared::new(memory, words, keep))
}

/// The words, which follow the header.
fn words_of(memory: NonNull<Memory>) -> NonNull<AtomicU64> {
    NonNull::new(memory.as_ptr().wrapping_add(1).cast()).expect("the words follow the header")
}

/// Checks that the memory can hold a ring of this capacity.
fn check_memory(base: NonNull<u8>, bytes: usize, capacity: usize) -> Result<(), AttachError> {
    let needed = bytes_for(capacity).map_err(AttachError::Capacity)?;
    crate::given::check_memory(base, bytes, needed, ALIGN)
}

/// This process's attachment to a ring in provided memory.
///
/// ```
/// use std::ptr::NonNull;
/// use uncontended_ring::records::shared::{attach, create};
///
/// #[repr(align(128))]
/// struct Memory([u8; 4096]);
/// let memory = Box::leak(Box::new(Memory([0; 4096])));
/// let base = NonNull::from(&mut memory.0).cast();
/// // SAFETY: the memory is never freed, and is used only as a ring.
/// let (made, found) = unsafe { (create(base, 4096, 1024, ())?, attach(base, 4096, ())?) };
/// made.producer()?.push(b"hello")?;
/// let mut consumer = found.consumer()?;
/// assert_eq!(&*consumer.read()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared {
    door: Door<Sleepers>,
    /// The consumer's role (I2).
    consumer: NonNull<Role>,
}

// SAFETY: a role is an atomic in memory that the ring keeps (I2).
unsafe impl Send for Shared {}
// SAFETY: as for `Send` (I2).
unsafe impl Sync for Shared {}

impl Shared {
    fn new(memory: NonNull<Memory>, words: usize, keep: impl Send + Sync + 'static) -> Shared {
        // SAFETY: both are parts of the memory (I1).
        let (control, consumer) = unsafe {
            let memory = memory.as_ref();
            (NonNull::from(&memory.control.0), NonNull::from(&memory.header.consumer))
        };
        // SAFETY: `words` words follow the header (I1), any bytes are a valid word, and only rings use them.
        let words = unsafe { Words::given(words_of(memory), words) };
        // SAFETY: all of it lives as long as `keep` (I1).
        let ring = unsafe { Ring::given(control, words, keep) };
        // If the kernel refuses the fence that reaches other processes, sleepers use bounded sleeps.
        let _ = ring.values().attach();
        let _ = ring.room().attach();
        Shared { door: Door::to(Arc::new(ring)), consumer }
    }

    fn ring(&self) -> &Arc<Ring<Sleepers>> {
        self.door.ring()
    }

    /// Adds a producer.
    ///
    /// # Errors
    /// The ring was closed ([`RoleError::GivenUp`]): a producer can only be cloned from one that is left.
    pub fn producer(&self) -> Result<Producer<Sleepers>, RoleError> {
        self.door.producer().ok_or(RoleError::GivenUp)
    }

    /// Claims the consumer's role.
    ///
    /// # Errors
    /// Another holder has the role, died holding it, or gave it up, which closed the ring.
    pub fn consumer(&self) -> Result<Consumer<Sleepers>, RoleError> {
        self.role().claim(Scope::Shared)?;
        self.make_consumer()
    }

    /// Takes over the consumer's role from a holder that died.
    ///
    /// # Errors
    /// A living holder has the role, or it was given up. A role that was never held is claimed.
    pub fn take_over_consumer(&self) -> Result<Consumer<Sleepers>, RoleError> {
        self.role().take_over(Scope::Shared)?;
        self.ring().values().wake_after_a_death();
        self.ring().room().wake_after_a_death();
        self.make_consumer()
    }

    /// Makes the consumer, for the process that has just claimed the role.
    fn make_consumer(&self) -> Result<Consumer<Sleepers>, RoleError> {
        // SAFETY: the role lies in the memory that the ring keeps (I2).
        let role = unsafe { Held::new(self.consumer, Arc::clone(self.ring()) as _) };
        if self.ring().values().have_gone() {
            return Err(RoleError::GivenUp);
        }
        // SAFETY: this process holds the role (I2).
        let mut consumer = unsafe { Consumer::go_on(Arc::clone(self.ring())) };
        consumer.role = Some(role);
        Ok(consumer)
    }

    /// The holder of the consumer's role. Producers are only counted.
    pub fn consumer_holder(&self) -> Holder {
        self.role().holder()
    }

    fn role(&self) -> &Role {
        // SAFETY: the role lies in the memory that the ring keeps (I2), and only shared references to it exist.
        unsafe { self.consumer.as_ref() }
    }

    /// Lets no more producers join, in any process. The ring closes once the existing ones have gone.
    pub fn close(&self) {
        self.door.close();
    }

    /// The length of the longest record, in bytes.
    pub fn longest(&self) -> usize {
        self.ring().words.longest()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("longest", &self.longest()).finish_non_exhaustive()
    }
}
