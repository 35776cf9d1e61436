//! Whether the calling thread may have left its CPU, told without a system call.
//!
//! # Contract
//! A thread that is registered for restartable sequences names the one that it is in, in a word of memory. The kernel
//! clears the word when it lets the thread go on after a switch, a migration or a signal, unless the thread is inside.
//! So [`Mark::set`] names one that no thread is ever in, and as long as [`Mark::is_set`], the thread has not left its
//! CPU since. The opposite does not hold: signals, and sequences of other code, clear or overwrite the word too.
//! glibc registers threads from 2.35 on. Kernels may leave the word alone after a switch in a system call: ask
//! [`is_told`] first.
//! # Invariants
//! I1: the area of a registered thread lies at the C library's offset from its thread pointer, and lives as long as the
//!     thread. Its second word of eight bytes is what the contract describes; the thread alone and the kernel use it.
//! I2: [`SEQUENCE`] is what the kernel accepts: of version 0, without instructions, with glibc's signature right before
//!     its abort address, where no thread ever goes. It never changes and is never unloaded.
//! I3: a [`Mark`] stays in its thread: it is neither `Send` nor `Sync`.
//! I4: a sequence that is interrupted is aborted before other code runs, so code that is in none may name another.
//! I5: the ABI keeps a thread's own pointer in a register, on x86-64 also in the word that it points to.
//! I6: in glibc, [`OFFSET`] is a constant of 64 bits and [`SIZE`] one of 32, set before the program starts.
//! # Sources
//! Linux, include/uapi/linux/rseq.h, kernel/rseq.c; glibc manual, Restartable Sequences.

use std::arch::asm;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed, compiler_fence};

/// The name of glibc's 64-bit offset of the area from the thread pointer.
pub const OFFSET: &std::ffi::CStr = c"__rseq_offset";
/// The name of glibc's 32-bit size of the area; 0 if threads are not registered.
pub const SIZE: &std::ffi::CStr = c"__rseq_size";

/// `struct rseq_cs`.
#[repr(C, align(32))]
struct Sequence {
    version: u32,
    flags: u32,
    start: *const u32,
    length: usize,
    abort: *const u32,
}

// SAFETY: constants and addresses, which never change (I2).
unsafe impl Sync for Sequence {}

/// What glibc registers threads with, and an abort address.
static SIGNATURE: [u32; 2] =
    [if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 }, 0];

static SEQUENCE: Sequence =
    Sequence { version: 0, flags: 0, start: &SIGNATURE[1], length: 0, abort: &SIGNATURE[1] };

/// The start of `struct rseq`.
#[repr(C)]
struct Area {
    cpu_at_start: AtomicI32,
    /// Negative if the thread is not registered.
    cpu: AtomicI32,
    sequence: AtomicU64,
}

/// A thread's mark.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    word: NonNull<AtomicU64>,
}

impl Mark {
    /// The calling thread's; none if the C library has not registered it.
    ///
    /// # Safety
    /// `offset` is the value of [`OFFSET`] in the program's C library, and that of [`SIZE`] is not 0.
    pub unsafe fn here(offset: isize) -> Option<Mark> {
        let area =
            std::ptr::with_exposed_provenance::<Area>(thread_pointer().wrapping_add_signed(offset));
        // SAFETY: the area of this thread, by the contract (I1).
        let area = unsafe { &*area };
        (area.cpu.load(Relaxed) >= 0).then(|| Mark { word: NonNull::from(&area.sequence) })
    }

    /// Sets the mark. What the thread does next comes after it.
    pub fn set(self) {
        // SAFETY: the thread's own word (I1, I3); the kernel accepts its value (I2), and other code loses nothing (I4).
        unsafe { self.word.as_ref() }.store(own(), Relaxed);
        // Only the compiler reorders what the kernel sees on this CPU. SeqCst: keeps the store before all later loads.
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Whether the thread has stayed on its CPU since the mark was set.
    pub fn is_set(self) -> bool {
        // SeqCst: keeps all earlier stores before the load, as in `set`.
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        // SAFETY: the thread's own word (I1, I3).
        unsafe { self.word.as_ref() }.load(Relaxed) == own()
    }
}

/// What the word holds while the mark is set.
fn own() -> u64 {
    std::ptr::from_ref(&SEQUENCE).addr() as u64
}

fn thread_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread's own pointer (I5).
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the thread's own pointer (I5).
    unsafe {
        asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Whether this kernel clears the mark of a thread that sleeps, tried by sleeping; false without registration. A timer
/// that expires before the thread has left its CPU lets it stay there, so one try may tell too little.
pub fn is_told() -> bool {
    let at = |name: &std::ffi::CStr| {
        // SAFETY: a name that ends in NUL (L7).
        NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
    };
    let (Some(offset), Some(size)) = (at(OFFSET), at(SIZE)) else { return false };
    // SAFETY: the C library's own (I6).
    let size = unsafe { size.cast::<u32>().read() };
    // SAFETY: the C library's own (I6).
    let offset = unsafe { offset.cast::<isize>().read() };
    if size == 0 {
        return false;
    }
    // SAFETY: the value of this program's C library, which registers threads (I6).
    let Some(mark) = (unsafe { Mark::here(offset) }) else { return false };
    const TRIES: usize = 3;
    (0..TRIES).any(|_| {
        mark.set();
        std::thread::sleep(std::time::Duration::from_micros(20));
        !mark.is_set()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_accepts_has_its_shape() {
        assert_eq!((size_of::<Sequence>(), align_of::<Sequence>()), (32, 32));
        assert_eq!(std::mem::offset_of!(Area, sequence), 8);
        assert_eq!(own() % 32, 0);
    }

    #[test]
    fn every_sleep_clears_the_mark_where_one_does() {
        if !is_told() {
            return uncontended_testkit::skip!(
                "switches",
                "the C library or the kernel does not tell switches"
            );
        }
        let sleeps = || (0..100).all(|_| is_told());
        assert!(sleeps(), "in this thread");
        assert!(std::thread::spawn(sleeps).join().unwrap(), "and in another one");
    }
}
