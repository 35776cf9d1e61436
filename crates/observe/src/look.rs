//! What a mutex says of itself before it is locked.
//!
//! # Contract
//! [`must_not_try`]: trying the mutex first would change what locking it does. The C library's trylock leaves a robust
//! mutex that cannot be recovered locked, and a priority-protected mutex that it refused once may be taken next.
//! [`is_taken`]: locking it now would wait. Another thread may take or leave it before it is locked.
//! # Invariants
//! I1: a mutex is five words long at least: its own, a count, its owner, the number of its users, its kind.
//! # Evidence
//! `tests/programs`: `not_tried.c`, `shared_robust.c`, `blame_dies.c`.
//! # Sources
//! glibc 2.17 to 2.41: `struct __pthread_mutex_s` and the kinds of `pthreadP.h`, which static initialisers fix; how
//! `pthread_mutex_lock.c` uses the word of each kind. `futex(2)`: the word of a robust mutex.

use crate::host::Object;
use libc::{PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE};
use uncontended_atomic::{AtomicU32, Ordering::Relaxed};

const WORD: usize = 0;
const OWNER: usize = 2;
const KIND: usize = 4;

/// The bits of a kind: its type, and two properties.
const TYPE: u32 = 3;
const ROBUST: u32 = 16;
const PROTECTED: u32 = 64;

/// The bits of a robust mutex's word that are the number of the thread that holds it.
const HOLDER: u32 = 0x3fff_ffff;
/// The bits of a protected mutex's word that are 0 while it is free; the others are its ceiling.
const HELD: u32 = (1 << 19) - 1;

/// # Safety
/// `mutex` is a mutex, and `nth` is below five (I1).
#[inline(always)]
unsafe fn word(mutex: *mut Object, nth: usize) -> u32 {
    // SAFETY: a word of the mutex, by the contract (I1), that is only ever used atomically.
    unsafe { &*mutex.cast::<AtomicU32>().wrapping_add(nth) }.load(Relaxed)
}

/// Whether the mutex is robust or priority-protected.
///
/// # Safety
/// `mutex` is a mutex.
#[inline(always)]
pub(crate) unsafe fn must_not_try(mutex: *mut Object) -> bool {
    // SAFETY: a mutex, by the contract, of at least that many words (I1).
    unsafe { word(mutex, KIND) & (ROBUST | PROTECTED) != 0 }
}

/// Whether the calling thread, whose number in its PID namespace is `own`, would wait for such a mutex now.
///
/// # Safety
/// `mutex` is a mutex that [`must_not_try`].
pub(crate) unsafe fn is_taken(mutex: *mut Object, own: u32) -> bool {
    // SAFETY: a mutex, by the contract, of at least that many words (I1).
    let [now, owner, kind] = [WORD, OWNER, KIND].map(|nth| unsafe { word(mutex, nth) });
    let (is_held, holder) = match kind & ROBUST {
        0 => (now & HELD != 0, owner),
        _ => (now & HOLDER != 0, now & HOLDER),
    };
    let returns_to_its_holder =
        [PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK].contains(&((kind & TYPE) as i32));
    is_held && !(holder == own && returns_to_its_holder)
}
