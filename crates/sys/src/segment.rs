//! Whether a switch of threads resets a segment's base, which older kernels did.
//!
//! # Contract
//! A thread that sets the base of its segment GS by a system call, and then loads the selector 0, has a base of 0 until
//! it is switched out: kernels that save no base next to a selector of 0 then load the one that was set. So a thread
//! could see, without a system call, that it had left its CPU. Kernels that use FSGSBASE (5.9 and later, on processors
//! that have it) save the base itself.
//! # Invariants
//! I1: the C library does not use GS on x86-64, and the thread that is asked ends afterwards.
//! I2: with either base, 0 or 8, an access at the address of the first word reads a word of the array.
//! # Sources
//! P. Khuong, on restartable sequences without the kernel's help; arch_prctl(2); Linux
//! arch/x86/kernel/process_64.c, save_fsgs.

use std::arch::asm;
use std::time::Duration;

const SET_GS: libc::c_long = 0x1001;
const BASE: libc::c_long = 8;

/// Whether a thread's base of GS is reset when it is switched out, tried in a thread of its own by sleeping; none if
/// the processor keeps the base when the selector is loaded, or the base cannot be set.
pub fn is_reset_by_a_switch() -> Option<bool> {
    std::thread::spawn(tried).join().ok().flatten()
}

fn tried() -> Option<bool> {
    const TRIES: usize = 20;
    let words = [0_u64, 1];
    // SAFETY: it changes the thread's own base alone (I1), and takes numbers (L1).
    if unsafe { libc::syscall(libc::SYS_arch_prctl, SET_GS, BASE) } != 0 || read(&words) != 1 {
        return None;
    }
    load_null();
    if read(&words) != 0 {
        return None;
    }
    Some((0..TRIES).any(|_| {
        std::thread::sleep(Duration::from_micros(100));
        read(&words) == 1
    }))
}

/// The word that the base of GS selects.
fn read(words: &[u64; 2]) -> u64 {
    let word: u64;
    // SAFETY: a word of the array (I2).
    unsafe {
        asm!("mov {word}, qword ptr gs:[{at}]", word = out(reg) word, at = in(reg) words.as_ptr(),
            options(nostack, readonly, preserves_flags));
    }
    word
}

fn load_null() {
    // SAFETY: GS is the thread's own and unused (I1); a null selector may be loaded.
    unsafe {
        asm!("mov gs, {null:e}", null = in(reg) 0, options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_kernel_that_saves_the_base_does_not_reset_it() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let release = crate::host::Host::here().kernel.unwrap_or_default();
        let is_saved = cpuinfo.contains(" fsgsbase") && !release.starts_with("4.");
        match super::is_reset_by_a_switch() {
            Some(is_reset) if is_saved => assert!(!is_reset, "{release}"),
            told => uncontended_testkit::skip!("segment", "{release} tells {told:?}"),
        }
    }
}
