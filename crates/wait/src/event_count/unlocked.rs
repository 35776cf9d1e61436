//! The one instruction that the one-word event count rests on: an addition to memory without LOCK, then a test of the
//! flag.
//!
//! # Contract
//! One thread adds; others may set or clear bit 0 by LOCKed instructions. The value added is even, so the upper bits
//! count every addition. Writes that stand before the call in the program are seen by whoever sees the sum (x86 keeps
//! the order of stores, and the compiler moves no access across the assembly).
//!
//! # Invariants
//! I1: `add` to memory is a load and a store of the same instruction. The flag is lost if another CPU sets it between
//!     the two, and only then; the sum never is, because nobody else adds.
//! I2: a membarrier falls between two instructions, so in its eyes the addition has been seen by all or has not begun.
//!     If it has not, its load sees a flag set before the barrier, and so does the test after it: the test's load is
//!     given the sum that this CPU has just stored, or something newer.
//!
//! # Evidence
//! tests/model_event_counts.rs under TSO, where the same is `fetch_add_unlocked`.
//! # Sources
//! Intel SDM volume 3, 9.2.3.5 (a load is forwarded from the store buffer), 9.1.2.2 (LOCK is optional for ADD).

#[cfg(any(miri, unc_model))]
use uncontended_atomic::Ordering::{Relaxed, Release};
use uncontended_atomic::{AtomicU32, AtomicU64};

/// One event, as it stands in the upper bits.
#[cfg(not(any(miri, unc_model)))]
const ONE: u8 = 2;

macro_rules! add {
    ($name:ident, $atomic:ident, $value:ident, $size:literal, $register:literal) => {
        /// Adds, and tells whether the flag is set afterwards.
        #[cfg(not(any(miri, unc_model)))]
        #[inline(always)]
        pub(crate) fn $name(word: &$atomic, value: $value) -> bool {
            if value == $value::from(ONE) {
                // An immediate operand: some processors then need not wait for the last addition to reach memory.
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

        /// What the instructions are to the checker: an unlocked addition, and a load.
        #[cfg(unc_model)]
        #[track_caller]
        pub(crate) fn $name(word: &$atomic, value: $value) -> bool {
            // EDGE event (release): what happened, in the order of x86's stores.
            word.fetch_add_unlocked(value, Release);
            word.load(Relaxed) & 1 != 0
        }

        /// Miri runs no assembly. A LOCKed addition does more.
        #[cfg(all(miri, not(unc_model)))]
        pub(crate) fn $name(word: &$atomic, value: $value) -> bool {
            // EDGE event (release): what happened.
            word.fetch_add(value, Release);
            word.load(Relaxed) & 1 != 0
        }
    };
}

add!(add_u32, AtomicU32, u32, "dword", "{value:e}");
add!(add_u64, AtomicU64, u64, "qword", "{value:r}");
