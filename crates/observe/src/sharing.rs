//! Whether processes share a lock, by its attribute, and where it is for all of them.
//!
//! # Contract
//! [`of`] answers for a lock that this process meets for the first time: an object with the attribute, in memory that
//! the kernel says is shared, is known by the file that is mapped there and the offset in it. Memory without a name
//! that a fork shares has such a file, too. An object with the attribute in private memory (every robust mutex has it)
//! is its process's own. Where the kernel may not be asked, the lock is apart. A spinlock has no such attribute: only
//! its memory tells, and its initialisation.
//! # State
//! Set at start, by [`prepare`]. ATTRIBUTES: for each kind of object, which bits of which word the attribute sets;
//! HOLDERS: of mutexes and read-write locks, the word with the number of the thread that holds it alone. Both are found
//! out by making an object with the attribute and one without it, and by taking one, since C libraries differ.
//! MAY_QUERY: how the kernel is asked. LOWEST, HIGHEST: between these are all locks with a place that this process met.
//! # Invariants
//! I1: an object is at least as long as the word of its attribute is far from its beginning, and aligned as that.
//! # Evidence
//! `tests/programs`: `shared_locks.c`, `shared_apart.c`, `shared_unseen.c`.

use crate::host::{self, Object};
use crate::kernel::{self, Descriptor, Mapped};
use crate::{module, sandbox};
use libc::{c_int, c_void};
use std::ops::Range;
use std::ptr::null;
use uncontended_atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use uncontended_events::sharing::{Location, Sharing};
use uncontended_trace::layout::{READERS, kind};

/// The attribute of a kind of objects.
struct Attribute {
    /// The number of its word, plus one; 0 if it is unknown.
    word: AtomicU32,
    /// Its bits.
    mask: AtomicU32,
    /// Their values in an object that processes share.
    shared: AtomicU32,
}

static ATTRIBUTES: [Attribute; 5] = [const {
    Attribute { word: AtomicU32::new(0), mask: AtomicU32::new(0), shared: AtomicU32::new(0) }
}; 5];

fn attribute(kind: u8) -> Option<&'static Attribute> {
    let number = match kind {
        kind::MUTEX => 0,
        kind::RWLOCK_READ | kind::RWLOCK_WRITE => 1,
        kind::CONDITION => 2,
        kind::SEMAPHORE => 3,
        kind::BARRIER => 4,
        _ => return None,
    };
    ATTRIBUTES.get(number)
}

/// Finds out where the C library keeps the attribute in each kind of objects.
pub(crate) fn prepare() {
    MAY_QUERY.store(!kernel::has_filter(), Relaxed);
    macro_rules! learn {
        ($kind:ident $type:ident $begin:ident $set:ident $make:ident ($($argument:expr)?)) => {
            learn(kind::$kind, |object, shared| {
                // SAFETY: plain numbers (L5).
                let mut attributes: libc::$type = unsafe { std::mem::zeroed() };
                // SAFETY: room for the attributes (L2).
                let begun = unsafe { libc::$begin(&mut attributes) } == 0;
                // SAFETY: attributes just made (L2).
                let set = unsafe { libc::$set(&mut attributes, shared) } == 0;
                let given = (&raw const attributes).cast();
                // SAFETY: room for an object (P1), and attributes.
                begun && set && unsafe { host::$make(object, given $(, $argument)?) } == 0
            });
        };
    }
    learn!(MUTEX pthread_mutexattr_t pthread_mutexattr_init pthread_mutexattr_setpshared pthread_mutex_init ());
    learn!(RWLOCK_READ pthread_rwlockattr_t pthread_rwlockattr_init pthread_rwlockattr_setpshared
        pthread_rwlock_init ());
    learn!(CONDITION pthread_condattr_t pthread_condattr_init pthread_condattr_setpshared pthread_cond_init ());
    learn!(BARRIER pthread_barrierattr_t pthread_barrierattr_init pthread_barrierattr_setpshared
        pthread_barrier_init (1));
    // SAFETY: room for a semaphore (P1).
    learn(kind::SEMAPHORE, |object, shared| unsafe { host::sem_init(object, shared, 1) } == 0);
    learn_holder(
        &HOLDERS[0],
        host::pthread_mutex_init,
        host::pthread_mutex_trylock,
        host::pthread_mutex_unlock,
    );
    learn_holder(
        &HOLDERS[1],
        host::pthread_rwlock_init,
        host::pthread_rwlock_trywrlock,
        host::pthread_rwlock_unlock,
    );
}

/// For mutexes and read-write locks, the number of the word that has its holder's number, plus one; 0 if unknown.
static HOLDERS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Finds out in which word of an object, made and then taken by these functions, the holder's number is.
fn learn_holder(
    holder: &AtomicU32,
    make: unsafe fn(*mut Object, *const c_void) -> c_int,
    take: unsafe fn(*mut Object) -> c_int,
    leave: unsafe fn(*mut Object) -> c_int,
) {
    let mut room = Room([0; WORDS]);
    let object = (&raw mut room).cast();
    // SAFETY: room for an object (P1).
    if unsafe { make(object, null()) } != 0 {
        return;
    }
    // SAFETY: the object just made (P1).
    let taken = unsafe { take(object) } == 0;
    let number = kernel::thread_id();
    let mut words = (1..).zip(room.0).filter(|&(_, word)| word == number);
    if let (Some((word, _)), None, true) = (words.next(), words.next(), taken) {
        holder.store(word, Relaxed);
    }
    // SAFETY: the object just taken (P1).
    unsafe { leave(object) };
}

/// The number of the thread that holds a mutex, or a read-write lock alone, as the object says; 0 if none or unknown.
///
/// # Safety
/// There is an object of `kind` at `object`.
pub(crate) unsafe fn holder(object: *mut Object, kind: u8) -> u32 {
    let word = HOLDERS[usize::from(kind != kind::MUTEX)].load(Relaxed);
    let Some(word) = word.checked_sub(1) else { return 0 };
    // SAFETY: a word of the object, by the contract (I1), that is only ever used atomically.
    unsafe { &*object.cast::<AtomicU32>().wrapping_add(word as usize) }.load(Relaxed)
}

/// Words of the longest object.
const WORDS: usize = 16;

/// Room for any object.
#[repr(align(16))]
struct Room([u32; WORDS]);

/// Makes a shared object and a private one, which need no end, and compares them.
fn learn(kind: u8, make: impl Fn(*mut Object, i32) -> bool) {
    let (mut private, mut shared) = (Room([0; WORDS]), Room([0; WORDS]));
    let made = make((&raw mut private).cast(), libc::PTHREAD_PROCESS_PRIVATE)
        && make((&raw mut shared).cast(), libc::PTHREAD_PROCESS_SHARED);
    let pairs = private.0.iter().zip(&shared.0);
    let mut differing = (1..).zip(pairs).filter(|(_, (private, shared))| private != shared);
    let (Some((word, (private, shared))), None) = (differing.next(), differing.next()) else {
        return;
    };
    if let Some(attribute) = attribute(kind).filter(|_| made) {
        attribute.mask.store(private ^ shared, Relaxed);
        attribute.shared.store(shared & (private ^ shared), Relaxed);
        attribute.word.store(word, Relaxed);
    }
}

/// Whether the object may be used by several processes, as far as the object says.
///
/// # Safety
/// There is an object of `kind` at `address`.
unsafe fn may_be_shared(address: usize, kind: u8) -> bool {
    let Some(attribute) = attribute(kind) else {
        return kind == kind::SPIN && !sandbox::is_filtered();
    };
    let Some(word) = attribute.word.load(Relaxed).checked_sub(1) else { return false };
    let place = (address as *const AtomicU32).wrapping_add(word as usize);
    // SAFETY: a word of the object, by the contract (I1), that is only ever used atomically.
    let value = unsafe { &*place }.load(Relaxed);
    value & attribute.mask.load(Relaxed) == attribute.shared.load(Relaxed)
}

/// Whether the kernel may be asked by an `ioctl`, which a filter from before this program may forbid: it is the only
/// kind of call here that starting a program does not need.
static MAY_QUERY: AtomicBool = AtomicBool::new(false);

/// Whether processes share the lock of `kind` at `key`, and where.
///
/// # Safety
/// `key` is the address of an object of `kind`, of which the program has called a function that has yet to return.
#[cold]
pub(crate) unsafe fn of(key: u64, kind: u8) -> Sharing {
    let address = (key & !READERS) as usize;
    // SAFETY: by the contract, there is an object of this kind (I1).
    if !unsafe { may_be_shared(address, kind) } {
        return Sharing::Private;
    }
    match mapped(address) {
        Some(Mapped { is_shared: false, .. }) => Sharing::Private,
        Some(Mapped { device, inode, offset, .. }) if inode != 0 => {
            LOWEST.fetch_min(address, Relaxed);
            HIGHEST.fetch_max(address, Relaxed);
            Sharing::At(Location { device, inode, offset })
        }
        _ => Sharing::Apart,
    }
}

static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Whether a lock that processes share may be among these addresses.
#[inline(always)]
pub(crate) fn may_be_in(addresses: &Range<usize>) -> bool {
    addresses.start <= HIGHEST.load(Relaxed) && LOWEST.load(Relaxed) < addresses.end
}

/// What is mapped at `address`; none if the kernel may not be asked, or does not answer.
fn mapped(address: usize) -> Option<Mapped> {
    if sandbox::is_filtered() {
        return None;
    }
    let query = || Descriptor::open(c"/proc/self/maps", libc::O_RDONLY)?.mapped(address);
    let answer = if MAY_QUERY.load(Relaxed) { query() } else { None };
    answer.or_else(|| listed(address))
}

/// The same from the list of all mappings, as kernels before 6.11 need it.
fn listed(address: usize) -> Option<Mapped> {
    module::for_places(|place| {
        let mapping = place.mapping();
        (mapping.start..mapping.end).contains(&address).then(|| {
            let (device, inode) = mapping.device_and_inode()?;
            let offset = (mapping.offset + (address - mapping.start)) as u64;
            Some(Mapped { is_shared: mapping.shared, device, inode, offset })
        })
    })?
}
