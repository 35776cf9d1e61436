//! Hints to fetch a cache line before it is needed.
//!
//! # Contract
//! A hint changes nothing but time; any address will do. [`to_write`] takes the line from other CPUs' caches, which
//! core's own intrinsic does not do unless the whole program is built for newer CPUs. Elsewhere than on x86-64 and
//! AArch64: nothing.
//!
//! # Invariants
//! I1: a hint neither faults nor changes memory, registers or flags.
//! # Sources
//! Intel SDM, PREFETCHW (CPUs that lack it take it for a no-op); Arm ARM, PRFM.

/// Fetches the line at `at` to be read.
#[inline(always)]
pub fn to_read<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    let _ = at;
}

/// Fetches the line at `at` to be written.
#[inline(always)]
pub fn to_write<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    let _ = at;
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_address_will_do() {
        let mut value = 7;
        super::to_read(&raw const value);
        super::to_write(&raw mut value);
        super::to_read(core::ptr::null::<u8>());
        super::to_write(core::ptr::without_provenance::<u8>(usize::MAX));
        assert_eq!(value, 7);
    }
}
