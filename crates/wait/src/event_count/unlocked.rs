//! The instruction behind the one-word event count: an addition to memory without LOCK, then a test of the flag.
//!
//! # Contract
//! One thread adds; others may set or clear bit 0 by LOCKed instructions. The value added is even, so the upper bits
//! count every addition. A thread that sees the sum sees all writes before the call in program order: x86 keeps the
//! order of stores, and the compiler moves no access across the assembly.
//!
//! # Invariants
//! I1: `add` to memory is a load and a store in one instruction. The flag is lost if and only if another CPU sets it
//!     between the two. The sum is never lost, because no other thread adds.
//! I2: a membarrier falls between two instructions, so when it runs, the addition is visible to all or has not begun.
//!     If it has not, its load sees a flag set before the barrier, and so does the test after it, which reads the sum
//!     that this CPU has just stored, or something newer.
//!
//! # Evidence
//! tests/model_event_counts.rs under TSO, where `fetch_add_unlocked` stands for the instruction.
//! # Sources
//! Intel SDM volume 3, 9.2.3.5 (a load is forwarded from the store buffer), 9.1.2.2 (LOCK is optional for ADD).

#[cfg(any(miri, unc_model, unc_portable, not(target_os = "linux")))]
use uncontended_atomic::Ordering::{Relaxed, Release};
use uncontended_atomic::{AtomicU32, AtomicU64};

/// One event, shifted to the upper bits.
#[cfg(not(any(miri, unc_model, unc_portable, not(target_os = "linux"))))]
const ONE: u8 = 2;

macro_rules! add {
    ($name:ident, $atomic:ident, $value:ident, $size:literal, $register:literal) => {
        /// Adds, and returns whether the flag is set afterwards.
        #[cfg(not(any(miri, unc_model, unc_portable, not(target_os = "linux"))))]
        #[inline(always)]
        pub(crate) fn $name(word: &$atomic, value: $value) -> bool {
            if value == $value::from(ONE) {
                // An immediate operand: with it some processors need not wait until the last addition reaches memory.
                // SAFETY: the word is borrowed, aligned and only ever accessed atomically; an aligned x86 access of
                // this size is atomic, and the race for bit 0 is the algorithm (I1).
                unsafe {
                    std::arch::asm!(
                        concat!("add ", $size, " ptr [{word}], {one}"),
                        "test byte ptr [{word}], 1",
                        "jnz {asleep}",
                        word = in(reg) word.as_ptr(),
                        one = const ONE,
                        asleep = label { return true },
                        options(nostack),
                    );
                }
                return false;
            }
            // SAFETY: the word is borrowed, aligned and only ever accessed atomically; an aligned x86 access of this
            // size is atomic, and the race for bit 0 is the algorithm (I1).
            unsafe {
                std::arch::asm!(
                    concat!("add ", $size, " ptr [{word}], ", $register),
                    "test byte ptr [{word}], 1",
                    "jnz {asleep}",
                    word = in(reg) word.as_ptr(),
                    value = in(reg) value,
                    asleep = label { return true },
                    options(nostack),
                );
            }
            false
        }

        /// The instructions as the checker sees them: an unlocked addition, then a load.
        #[cfg(unc_model)]
        #[track_caller]
        pub(crate) fn $name(word: &$atomic, value: $value) -> bool {
            // EDGE event (release): everything before the event, because x86 keeps the order of stores.
            word.fetch_add_unlocked(value, Release);
            word.load(Relaxed) & 1 != 0
        }

        /// Miri runs no assembly, and without membarrier nothing can fall between two instructions (I2). A LOCKed
        /// addition is stronger.
        #[cfg(all(any(miri, unc_portable, not(target_os = "linux")), not(unc_model)))]
        pub(crate) fn $name(word: &$atomic, value: $value) -> bool {
            // EDGE event (release): everything before the event.
            word.fetch_add(value, Release);
            word.load(Relaxed) & 1 != 0
        }
    };
}

add!(add_u32, AtomicU32, u32, "dword", "{value:e}");
add!(add_u64, AtomicU64, u64, "qword", "{value:r}");
