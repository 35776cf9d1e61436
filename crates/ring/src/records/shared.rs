//! Byte records from many producers to one consumer in memory that the caller gives: mapped by several processes, or by
//! one.
//!
//! # Contract
//! [`create`] lays a ring out, [`attach`] finds it there and checks all that its header says. A [`Shared`] gives out
//! any number of producers, and the one consumer's role, to one holder in any process. Sides are those of
//! [`mpsc`](super::mpsc), polling or sleeping. The ring is open until somebody calls [`Shared::close`]: only then, when
//! no producer is left, is the consumer told [`RecordError::Closed`](super::RecordError).
//!
//! A producer that dies in a claim holds the consumer up, until it calls [`unblock`](super::mpsc::Consumer::unblock).
//! One that dies without that is only missed at the end, as one that has not gone. A consumer that died has its role
//! taken over; its successor reads again what was not released, and calls `unblock` first: the dead may have been about
//! to give room back. Nobody sleeps for ever because a process died in the middle of waking it: who takes over wakes
//! all, and in any case a sleeper looks again by itself after
//! [`LONGEST_SHARED_SLEEP`](uncontended_wait::LONGEST_SHARED_SLEEP).
//!
//! Whatever another process writes there, nothing outside of the memory is touched: positions are masked, the size is
//! this process's own after `attach`, and a record that would go over the end is
//! [`RecordError::Corrupt`](super::RecordError). Whether its bytes are what was committed is up to the others'
//! following the same rules.
//!
//! # State
//! ```text
//! 0    magic u64 | version u32 | kind u32 | words u64 | consumer u64: who holds the role
//! 128  tail | 256  head | 384  sleepers for records, consumer gone u32 | 512  sleepers for room
//! 640  producers, and whether open
//! 768  words
//! ```
//! All in the machine's own byte order: it is memory, not a file.
//! I1: the memory is there, aligned, and large enough for the layout, as long as its keeper.
//! I2: the consumer's role lies in that memory, which the ring keeps.
//!
//! # Edges
//! made: that of the stamp (`given`).
//!
//! # Evidence
//! Tests in `records`; fuzz/fuzz_targets/records.rs.

use super::mpsc::{Consumer, Control, OPEN, Producer, Ring};
use super::words::{Words, count_for};
use crate::CapacityError;
pub use crate::given::{AttachError, RoleError};
use crate::given::{Held, Kind, Stamp};
use crate::notifier::Listeners;
use crate::position::{Cursor, Position};
use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU64, Named, Scope};
use uncontended_wait::Sleepers;
use uncontended_wait::role::{Holder, Role};

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

/// To what the memory has to be aligned; pages always are.
pub const ALIGN: usize = align_of::<Memory>();

/// How many bytes of memory a ring of at least `capacity` bytes takes.
///
/// # Errors
/// Zero, or more than [`MAX_CAPACITY`](crate::MAX_CAPACITY).
pub const fn bytes_for(capacity: usize) -> Result<usize, CapacityError> {
    match count_for(capacity) {
        Ok(words) => Ok(size_of::<Memory>() + words * size_of::<u64>()),
        Err(error) => Err(error),
    }
}

/// Lays out an empty ring of at least `capacity` bytes in the `bytes` bytes at `base`, and attaches to it. `keep` is
/// dropped when the last that was made of it is: what unmaps the memory, say.
///
/// # Errors
/// The memory is too small or not aligned, or the capacity cannot be.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped, and nobody uses it as a ring yet, nor as anything else
/// ever.
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
            living: CachePadded::new(AtomicU64::new(OPEN).named("living")),
        }),
    };
    // SAFETY: the memory is large enough and aligned, as was checked, and the caller's to give (I1).
    unsafe { memory.write(made) };
    // SAFETY: the words are behind that, as was checked too (I1).
    unsafe { words_of(memory).cast::<u64>().write_bytes(0, words) };
    // SAFETY: as for the write (I1); from now on it is reached by shared references only.
    let header = unsafe { &memory.as_ref().header };
    header.stamp.set();
    Ok(Shared::new(memory, words, keep))
}

/// Attaches to the ring in the `bytes` bytes at `base`. `keep` is dropped when the last that was made of it is.
///
/// # Errors
/// There is no ring, or one of another kind or layout, or it does not fit into the memory.
///
/// # Safety
/// The memory can be read and written until `keep` is dropped, and is used by nobody but as a ring.
pub unsafe fn attach(
    base: NonNull<u8>,
    bytes: usize,
    keep: impl Send + Sync + 'static,
) -> Result<Shared, AttachError> {
    check_memory(base, bytes, 1)?;
    let memory = base.cast::<Memory>();
    // SAFETY: it is large enough and aligned, as was checked, any bytes are a header, and it is reached by atomics only
    // (I1).
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

/// Where the words are.
fn words_of(memory: NonNull<Memory>) -> NonNull<AtomicU64> {
    NonNull::new(memory.as_ptr().wrapping_add(1).cast()).expect("memory is behind it")
}

/// Whether a ring can be there.
fn check_memory(base: NonNull<u8>, bytes: usize, capacity: usize) -> Result<(), AttachError> {
    let needed = bytes_for(capacity).map_err(AttachError::Capacity)?;
    crate::given::check_memory(base, bytes, needed, ALIGN)
}

/// A ring in given memory, as this process has attached to it.
///
/// ```
/// use std::ptr::NonNull;
/// use uncontended_ring::records::shared::{attach, create};
///
/// #[repr(align(128))]
/// struct Memory([u8; 4096]);
/// let memory = Box::leak(Box::new(Memory([0; 4096])));
/// let base = NonNull::from(&mut memory.0).cast();
/// // SAFETY: the memory is never given back, and a ring and nothing else.
/// let (made, found) = unsafe { (create(base, 4096, 1024, ())?, attach(base, 4096, ())?) };
/// made.producer().push(b"hello")?;
/// let mut consumer = found.consumer()?;
/// assert_eq!(&*consumer.read()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared {
    ring: Arc<Ring<Sleepers>>,
    /// The consumer's role (I2).
    consumer: NonNull<Role>,
}

// SAFETY: a role is an atomic in memory that is kept (I2).
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
        // SAFETY: so many words are behind the header (I1), any bytes are one, and nobody has them but rings.
        let words = unsafe { Words::given(words_of(memory), words) };
        // SAFETY: all of it is there as long as `keep` (I1).
        let ring = unsafe { Ring::given(control, words, keep) };
        // Where the fence that reaches other processes is refused, sleepers wake up by themselves now and then.
        let _ = ring.values().attach();
        let _ = ring.room().attach();
        Shared { ring: Arc::new(ring), consumer }
    }

    /// One more producer.
    pub fn producer(&self) -> Producer<Sleepers> {
        Producer::join(Arc::clone(&self.ring))
    }

    /// Takes the consumer's role.
    ///
    /// # Errors
    /// Somebody holds it, or died with it, or has given it up, which closed the ring.
    pub fn consumer(&self) -> Result<Consumer<Sleepers>, RoleError> {
        self.role().claim(Scope::Shared)?;
        self.make_consumer()
    }

    /// Takes the consumer's role over from who died with it.
    ///
    /// # Errors
    /// Somebody lives who holds it, or it has been given up. One that nobody holds is taken.
    pub fn take_over_consumer(&self) -> Result<Consumer<Sleepers>, RoleError> {
        self.role().take_over(Scope::Shared)?;
        self.ring.values().wake_after_a_death();
        self.ring.room().wake_after_a_death();
        self.make_consumer()
    }

    /// By who has just come to hold the role.
    fn make_consumer(&self) -> Result<Consumer<Sleepers>, RoleError> {
        // SAFETY: the role lies in the memory that the ring keeps (I2).
        let role = unsafe { Held::new(self.consumer, Arc::clone(&self.ring) as _) };
        if self.ring.values().have_gone() {
            return Err(RoleError::GivenUp);
        }
        // SAFETY: this process holds the role (I2).
        let mut consumer = unsafe { Consumer::go_on(Arc::clone(&self.ring)) };
        consumer.role = Some(role);
        Ok(consumer)
    }

    /// The holder of the consumer's role. Producers are as many as like, and nobody knows them.
    pub fn consumer_holder(&self) -> Holder {
        self.role().holder()
    }

    fn role(&self) -> &Role {
        // SAFETY: it lies in the memory that the ring keeps (I2), and is reached by shared references only.
        unsafe { self.consumer.as_ref() }
    }

    /// Says that there will be no more producers than there are. When they have gone, the ring is closed.
    pub fn close(&self) {
        // EDGE records-last (release): as when the last producer goes.
        self.ring.control().living.fetch_and(!OPEN, Release);
        self.ring.values().wake();
    }

    /// The longest record, in bytes.
    pub fn longest(&self) -> usize {
        self.ring.words.longest()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("longest", &self.longest()).finish_non_exhaustive()
    }
}
