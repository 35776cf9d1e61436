//! One word per thread for the preloaded library, read without a call.
//!
//! # Contract
//! [`get`] is 0 in a thread that never called [`set`]. The word lies in the static TLS block (initial-exec model),
//! which is sound for a library loaded at program start, as a preloaded one is. Reading it takes two instructions,
//! while the dynamic model that Rust uses in shared libraries calls a function of the loader.
//! # Invariants
//! I1: `uncontended_thread_word` is 8 bytes, and every thread has its own.
//! # Sources
//! U. Drepper, ELF Handling For Thread-Local Storage, 4.4.6 (x86-64 IE), and the AArch64 ELF TLS ABI.

use std::arch::{asm, global_asm};

global_asm!(
    ".section .tbss.uncontended_thread_word,\"awT\",@nobits",
    ".p2align 3",
    ".hidden uncontended_thread_word",
    ".globl uncontended_thread_word",
    ".type uncontended_thread_word, @object",
    ".size uncontended_thread_word, 8",
    "uncontended_thread_word:",
    ".zero 8",
    ".text",
);

/// The thread's word.
#[inline(always)]
pub fn get() -> usize {
    let word: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread's own word (I1).
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + uncontended_thread_word@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the thread's own word (I1).
    unsafe {
        asm!(
            "mrs {base}, tpidr_el0",
            "adrp {word}, :gottprel:uncontended_thread_word",
            "ldr {word}, [{word}, :gottprel_lo12:uncontended_thread_word]",
            "ldr {word}, [{base}, {word}]",
            base = out(reg) _,
            word = out(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

/// Sets the thread's word.
#[inline(always)]
pub fn set(word: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes the thread's own word (I1), which only this module reads.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + uncontended_thread_word@GOTTPOFF]",
            "mov qword ptr fs:[{at}], {word}",
            at = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: writes the thread's own word (I1), which only this module reads.
    unsafe {
        asm!(
            "mrs {base}, tpidr_el0",
            "adrp {at}, :gottprel:uncontended_thread_word",
            "ldr {at}, [{at}, :gottprel_lo12:uncontended_thread_word]",
            "str {word}, [{base}, {at}]",
            base = out(reg) _,
            at = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_own_word() {
        assert_eq!(get(), 0);
        set(5);
        std::thread::spawn(|| {
            assert_eq!(get(), 0);
            set(7);
        })
        .join()
        .unwrap();
        assert_eq!(get(), 5);
    }
}
